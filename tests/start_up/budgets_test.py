#!/usr/bin/env python3
"""What a short program costs under the tool beyond what it does itself: budgets_test.py ZEROSKID

Counted, not timed, and of later runs: what was translated is kept. A bound that is passed means that something more is
done in every process: a page touched by itself, a question asked again that has an answer already. The bounds are a
fifth or so above what was measured.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILT = os.path.abspath(sys.argv.pop(1))
FORKS = ("/bin/sh", "-c", "expr 1 + 1; :")
GIT = (shutil.which("git"), "status")
PYTHON = (sys.executable, "-S", "-c", "pass")
PAGE_KIB = os.sysconf("SC_PAGESIZE") // 1024


def read_anew(path, folder):
    """A copy that the kernel has read from disk: pages of a file that was just written lie in memory in other sizes, which one fault
    maps at once. returns its path"""
    copy = shutil.copy(path, folder)
    with open(copy, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return copy


class Budgets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(dir=os.path.dirname(BUILT))
        cls.addClassCleanup(folder.cleanup)
        read_anew(BUILT + "-run", folder.name)
        cls.zeroskid = read_anew(BUILT, folder.name)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.file = os.path.join(self.folder, "counted")
        if GIT[0]:
            subprocess.run([GIT[0], "init", "-q", self.folder], check=True)

    def run_in_folder(self, *words, **options):
        return subprocess.run(words, cwd=self.folder, stderr=subprocess.DEVNULL, **{"stdout": subprocess.DEVNULL, **options})

    def tool(self, *program):
        cache = os.path.join(self.folder, "cache")
        return (self.zeroskid, "stat", "-e", "instructions", "--cache-dir", cache, "-o", os.devnull, "--", *program)

    def beyond_native(self, count, program):
        for _ in range(2):
            self.run_in_folder(*self.tool(*program))  # fills the cache, brings files into memory
        # Of three each the least: what else the machine does, and what it has dropped from memory, only adds.
        return min(count(*self.tool(*program)) for _ in range(3)) - min(count(*program) for _ in range(3))

    def faults(self, *words):
        """Of the command and all that it starts."""
        done = self.run_in_folder("perf", "stat", "-x,", "-e", "page-faults", "-o", self.file, "--", *words)
        with open(self.file) as file:
            counted = [line.split(",")[0] for line in file if ",page-faults" in line]
        if done.returncode != 0 or not counted or not counted[0].isdigit():
            self.skipTest("perf may not count page faults here")
        return int(counted[0])

    def calls(self, *words):
        """System calls, of all processes but the collector."""
        if self.run_in_folder("strace", "-f", "-qq", "-e", "signal=none", "-o", self.file, "--", *words).returncode != 0:
            self.skipTest("strace may not follow programs here")
        with open(self.file) as file:
            lines = [line.split(None, 1) for line in file]
        collector = lines[0][0] if words[0] == self.zeroskid else None
        return sum(pid != collector and not what.startswith(("<...", "+++")) for pid, what in lines)

    def check(self, count, budgets):
        for program, most in budgets.items():
            if program[0] and shutil.which(program[0]):
                with self.subTest(program=program):
                    self.assertLessEqual(self.beyond_native(count, program), most)

    @unittest.skipUnless(shutil.which("perf"), "needs perf")
    def test_page_faults(self):
        self.check(self.faults, {("/bin/true",): 255, GIT: 360, PYTHON: 610, FORKS: 465})

    @unittest.skipUnless(shutil.which("strace"), "needs strace")
    def test_system_calls(self):
        self.check(self.calls, {("/bin/true",): 360, GIT: 450, PYTHON: 520, FORKS: 530})

    def test_pages_that_are_present(self):
        """Those of a shell's process, and of the collector."""
        shell = ("/bin/sh", "-c", "cat /proc/$$/status /proc/$PPID/status")

        def pages(*words):
            text = self.run_in_folder(*words, stdout=subprocess.PIPE, text=True).stdout
            return [int(line.split()[1]) // PAGE_KIB for line in text.splitlines() if line.startswith("VmHWM:")]
        if not pages(*shell):
            self.skipTest("the kernel does not say how many pages are present")
        for _ in range(2):
            self.run_in_folder(*self.tool(*shell))
        runs, collector = pages(*self.tool(*shell))
        self.assertLessEqual(runs - pages(*shell)[0], 2100)
        self.assertLessEqual(collector, 1350)


if __name__ == "__main__":
    unittest.main()
