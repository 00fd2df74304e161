#!/usr/bin/env python3
"""Under --virtual-time threads that wait with a limit, and write where nobody waits, count the same in each run, also under load.
  threads_test.py ZEROSKID GUESTS
"""
import os
import subprocess
import sys
import unittest

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C"}
RUNS = 3
ZEROSKID = GUEST = ""


def counts():
    """Of one run, as printed."""
    ran = subprocess.run([ZEROSKID, "stat", "--virtual-time", "-x,", "-e", "instructions,branches", "--", GUEST],
                         env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=True)
    return [line.split(",")[0] for line in ran.stderr.splitlines() if ",instructions," in line or ",branches," in line]


class Threads(unittest.TestCase):
    def test_each_run_counts_the_same(self):
        first = counts()
        self.assertGreater(int(first[0]), 1_000_000)
        for run in range(RUNS):
            with self.subTest(run=run):
                self.assertEqual(counts(), first)

    def test_also_under_load(self):
        first = counts()
        load = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count())]
        try:
            self.assertEqual(counts(), first)
        finally:
            for process in load:
                process.kill()
                process.wait()


if __name__ == "__main__":
    ZEROSKID, GUEST = os.path.abspath(sys.argv[1]), os.path.join(os.path.abspath(sys.argv[2]), "threads_timed_waits")
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
