#!/usr/bin/env python3
"""Page faults of /bin/true under the tool, of both its processes: page_faults_test.py ZEROSKID

In a virtual machine a page fault takes as long as ten system calls, so they are most of what a short program costs. A bound that is passed means
that something large is written before it is needed, or that untouched parts of the direct table are no longer mapped from the tool's file: without
both there were 1,090.
"""
import os
import resource
import subprocess
import sys
import unittest

ZEROSKID = os.path.abspath(sys.argv.pop(1))
PROGRAM = "/bin/true"
MOST = 800  # measured: 720 to 770


def faults(*words):
    """Of the command and all that it starts; those that need no disk."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before


class PageFaults(unittest.TestCase):
    def test_a_short_program_touches_few_pages(self):
        command = (ZEROSKID, "stat", "-e", "instructions", "--", PROGRAM)
        faults(*command)  # brings files into memory
        native, tool = faults(PROGRAM), faults(*command)
        self.assertLessEqual(tool, MOST, f"natively {native}")


if __name__ == "__main__":
    unittest.main()
