"""Pages on terminals of 80, 120 and 200 columns: no line is wider.   widths_test.py ZEROSKID"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import tool

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import terminal

PROGRAM = r"""
#include <pthread.h>
static struct { long a, b; } shared;
__attribute__((noinline)) long a_function_with_a_long_name_that_calls_itself(long n) {
  volatile long x = n;
  return n == 0 ? 1 : a_function_with_a_long_name_that_calls_itself(n - 1) + x;
}
static void* add(void* p) { for (int i = 0; i < 20000; i++) __atomic_fetch_add((long*)p, 1, __ATOMIC_RELAXED); return 0; }
int main(void) {
  pthread_t threads[2];
  pthread_create(threads, 0, add, &shared.a); pthread_create(threads + 1, 0, add, &shared.b);
  pthread_join(threads[0], 0); pthread_join(threads[1], 0);
  return a_function_with_a_long_name_that_calls_itself(150) == 42;
}
"""
RECORDINGS = {"calls": ["trace"], "memory": ["mem", "record"], "chains": ["record", "-g", "-e", "instructions", "-c", "20011"],
              "branches": ["record", "-b", "-e", "branches", "-c", "20011"], "sharing": ["c2c", "record"]}
#: Not these: script and c2c's tables, which are perf's to the byte, and stat -I's rows of one window each.
PAGES = [["trace", "report", "-i", "calls"], ["trace", "report", "-i", "calls", "--percent-limit", "0"], ["list"], ["list", "-v"],
         ["list", "metrics"], ["list", "models"], ["list", "0x004100C4"], ["doctor"], ["stat", "./program"], ["stat", "-d", "./program"],
         ["stat", "-d", "-d", "-d", "./program"], ["stat", "-r", "2", "./program"], ["stat", "-M", "TopdownL1", "./program"],
         ["topdown", "./program"], ["report", "-i", "chains"], ["report", "-i", "branches"], ["report", "-i", "chains", "-n", "-g", "none"],
         ["report", "-i", "chains", "-F", "overhead,sample,period,comm,dso,sym"], ["annotate", "-i", "chains"], ["mem", "report", "-i", "memory"],
         ["record", "--help", "--perf"], ["report", "--help", "--perf"]]


class Widths(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        (cls.folder / "program.c").write_text(PROGRAM)
        subprocess.run(["gcc", "-O1", "-g", "-pthread", "-o", "program", "program.c"], cwd=cls.folder, check=True)
        for name, verb in RECORDINGS.items():
            done = tool.run(*verb, "-q", "-o", name, "./program", folder=cls.folder)
            assert done.status == 0, done.err

    def test_no_line_is_wider_than_the_terminal(self):
        environment = {**tool.ENVIRONMENT, "TERM": "xterm", "LC_ALL": "C.UTF-8", "ZEROSKID_PAGER": ""}
        for page in PAGES:
            for columns in (80, 120, 200):
                status, text, _ = terminal.run([tool.ZEROSKID, *page], environment, columns, self.folder)
                lines = [re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", line).rstrip("\r") for line in text.split("\n")]
                lines = [line.rpartition("\r")[2] for line in lines]  # of a line of progress, what is left
                with self.subTest(page=page, columns=columns):
                    self.assertEqual(status, 0)
                    self.assertGreater(len(lines), 5)
                    self.assertEqual([line for line in lines if len(line) > columns], [])

    def test_deep_calls_are_numbered(self):
        _, text, _ = terminal.run([tool.ZEROSKID, "trace", "report", "-i", "calls", "--percent-limit", "0", "--no-pager"],
                                  {**tool.ENVIRONMENT, "TERM": "xterm"}, 80, self.folder)
        levels = [int(level) for level in re.findall(r"\[(\d+)\] a_", text)]
        self.assertGreater(len(levels), 100)
        self.assertEqual(levels, sorted(levels))


if __name__ == "__main__":
    tool.main()
