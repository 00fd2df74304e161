#!/usr/bin/env python3
"""Samples of events that few instructions have, which run in blocks without them close to an overflow, are those of single steps.
  rare_events_test.py ZEROSKID GUESTS
"""
import os
import subprocess
import sys
import tempfile
import unittest

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C"}
ZEROSKID = GUESTS = ""

#: Stores come by the thousand, and then none for 12,000 times three instructions; calls and system calls are few.
PROGRAM = ("region_work", "3")


def samples(folder, *options):
    data = os.path.join(folder, "perf.data")
    for words in (["record", "-q", "--virtual-time", *options, "-o", data, "--", os.path.join(GUESTS, PROGRAM[0]), *PROGRAM[1:]],
                  ["script", "-i", data, "-F", "event,ip,period,addr,iregs" + (",brstack" if "-b" in options else "")]):
        ran = subprocess.run([ZEROSKID, *words], env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             timeout=600, check=False)
        assert ran.returncode == 0, (words, ran.stderr)
    return ran.stdout


class RareEvents(unittest.TestCase):
    def test_samples_are_those_of_single_steps(self):
        for options in (["-e", "mem_inst_retired.all_stores:pp", "-c", "1"], ["-e", "mem_inst_retired.all_stores", "-c", "7"],
                        ["-e", "mem_inst_retired.all_stores:pp", "-c", "101"], ["-e", "mem_inst_retired.all_stores:pp", "-b", "-c", "997"],
                        ["-e", "br_inst_retired.near_call:pp", "-c", "1"], ["-e", "br_inst_retired.far_branch", "-c", "1"],
                        ["-e", "br_inst_retired.near_return:pp", "-c", "3", "-e", "instructions", "-c", "20011"],
                        ["-e", "mem_inst_retired.all_stores:pp", "-F", "100000"]):
            with self.subTest(options=options), tempfile.TemporaryDirectory() as folder:
                found = samples(folder, *options)
                self.assertGreater(found.count("\n"), 10)
                self.assertEqual(found, samples(folder, "--precise-only", *options))


if __name__ == "__main__":
    ZEROSKID, GUESTS = (os.path.abspath(path) for path in sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
