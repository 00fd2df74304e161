#!/usr/bin/env python3
"""Page faults of /bin/true under the tool, of both its processes: page_faults_test.py ZEROSKID

In a virtual machine a page fault takes as long as ten system calls, so they are most of what a short program costs.
Counted are those that interrupt a program, not pages that it asks for many at a time. A bound that is passed means
that something is touched page by page: without any of engine/memory/populate.h and base/start_up.h, and with shared
libraries, there were 690 (and 1,090 without the untouched entries).
"""
import os
import subprocess
import sys
import tempfile
import unittest

ZEROSKID = os.path.abspath(sys.argv.pop(1))
PROGRAM = "/bin/true"
MOST = 280  # measured: 183


def faults(*words):
    """Of the command and all that it starts; None where perf may not count them."""
    with tempfile.NamedTemporaryFile("r") as file:
        done = subprocess.run(["perf", "stat", "-x,", "-e", "page-faults", "-o", file.name, "--", *words],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        counted = [line.split(",")[0] for line in file if ",page-faults" in line]
    return int(counted[0]) if done.returncode == 0 and counted and counted[0].isdigit() else None


class PageFaults(unittest.TestCase):
    def test_a_short_program_touches_few_pages(self):
        with tempfile.TemporaryDirectory() as folder:
            command = (ZEROSKID, "stat", "-e", "instructions", "--cache-dir", folder, "-o", os.devnull, "--", PROGRAM)
            for _ in range(2):
                tool = faults(*command)  # fills the cache, brings files into memory
            native = faults(PROGRAM)
        if native is None or tool is None:
            self.skipTest("perf may not count page faults here")
        self.assertLessEqual(tool, MOST, f"natively {native}")


if __name__ == "__main__":
    unittest.main()
