"""stat --timeout, --interval-count and -D: when is counted, by the software PMU and by the kernel, beside stock perf.

  stat_times_test.py ZEROSKID
"""
import random
import re
import shutil
import subprocess
import time
import unittest

import tool

SEED = random.randrange(1 << 32)
PMUS = ("sw", "hw")
EVENTS = {"sw": "instructions", "hw": "task-clock"}
#: Ends by itself, with a status of its own, when it is told to.
OBEYS = ["sh", "-c", "trap 'exit 7' TERM; while :; do sleep 0.01; done"]
NEVER_ENDS = ["sh", "-c", "while :; do :; done"]


def perf(*words):
    done = subprocess.run(["perf", "stat", *words], capture_output=True, text=True, env=tool.ENVIRONMENT, timeout=60)
    return done.returncode, done.stderr


class StatTimes(tool.InFolder):
    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        if "cannot be opened" in self.run_here("stat", "--pmu=hw", "-e", "task-clock", "true").err:
            self.skipTest("perf_event_open is forbidden here")

    def stat(self, *words):
        begun = time.monotonic()
        done = self.run_here("stat", "-q", "-x,", *words, timeout=60)
        return done, time.monotonic() - begun

    def test_a_program_ends_when_its_time_is_over(self):
        for pmu in PMUS:
            milliseconds = self.random.randrange(100, 900)
            for runs in (1, 2):
                with self.subTest(pmu=pmu, milliseconds=milliseconds, runs=runs, seed=SEED):
                    done, seconds = self.stat("--pmu", pmu, "-e", EVENTS[pmu], "--timeout", milliseconds, "-r", runs, *NEVER_ENDS)
                    self.assertEqual(done.status, 0, done.err)
                    self.assertGreaterEqual(seconds * 1000, milliseconds * runs)
                    *said, row = done.err.splitlines()
                    self.assertEqual(said, ["zeroskid: sh was killed by signal 15 (Terminated)"] * runs)
                    self.assertGreater(float(row.split(",")[0]), 0)

    def test_a_program_has_its_own_status_if_it_ends_by_itself(self):
        for pmu in PMUS:
            for words, status in ((OBEYS, 7), (["sh", "-c", "exit 3"], 3), (["sh", "-c", "kill -9 $$"], 137)):
                with self.subTest(pmu=pmu, words=words):
                    self.assertEqual(self.stat("--pmu", pmu, "-e", EVENTS[pmu], "--timeout", "2000", *words)[0].status, status)

    def test_what_runs_already_goes_on(self):
        child = subprocess.Popen(NEVER_ENDS)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        for words, rows in ((["--timeout", "200"], 1), (["-I", "50", "--interval-count", "3"], 3)):
            done, seconds = self.stat("-e", "task-clock", *words, "-p", child.pid)
            self.assertEqual((done.status, len(done.err.splitlines())), (0, rows), done.err)
            self.assertGreaterEqual(seconds, 0.15)
        self.assertIsNone(child.poll())

    def test_so_many_intervals_and_the_program_runs_on(self):
        number = self.random.randrange(1, 4)
        for words in (["--pmu=hw", "-e", "task-clock", "-I", "20"], ["-e", "instructions", "-I", "5000i"]):
            with self.subTest(words=words, number=number, seed=SEED):
                done, _ = self.stat(*words, "--interval-count", number, "sh", "-c", "sleep 0.2; echo whole")
                self.assertEqual((done.status, done.out), (0, "whole\n"), done.err)
                threads = 1 if "--pmu=hw" in words else 2
                self.assertEqual(len(done.err.splitlines()), number * threads, done.err)

    @unittest.skipUnless(shutil.which("perf"), "stock perf is not installed")
    def test_as_stock_perf(self):
        """Times and counts, which are of two runs, aside."""
        def shape(text):
            rows = re.findall(r"^ +\d\.\d{9},([^,]+),([^,]*),([^,]+),", text, re.MULTILINE)
            return [(count if count.startswith("<") else "N", unit, name) for count, unit, name in rows]

        words = ["-x,", "-e", "task-clock,page-faults", "-I", "200", "--interval-count", "2", "sleep", "0.7"]
        status, theirs = perf(*words)
        ours = self.run_here("stat", *words)
        self.assertEqual((ours.status, shape(ours.err)), (status, shape(theirs)))
        self.assertEqual(len(shape(theirs)), 4, theirs)
        for program in (NEVER_ENDS, OBEYS):
            words = ["-x,", "-e", "task-clock", "--timeout", "200", *program]
            self.assertEqual(self.run_here("stat", *words).status, perf(*words)[0])

    def test_what_is_before_a_delay_is_not_counted(self):
        """The program makes its page faults at once and then sleeps, or sleeps and then makes them."""
        touch = "b = bytearray(32 << 20)"
        for before, after in ((touch, ""), ("", touch)):
            words = ["-x,", "-e", "page-faults", "-D", "600", "python3", "-I", "-S", "-c",
                     f"import time\n{before}\ntime.sleep(1.2)\n{after}"]
            done = self.run_here("stat", *words)
            for status, text in [(done.status, done.err)] + ([perf(*words)] if shutil.which("perf") else []):
                counted = [int(line.split(",")[0]) for line in text.splitlines() if ",page-faults," in line]
                with self.subTest(before=before, text=text):
                    self.assertEqual((status, len(counted)), (0, 1))
                    (self.assertGreater if after else self.assertLess)(counted[0], 4000)

    def test_times_are_from_the_end_of_the_delay(self):
        delay = self.random.randrange(100, 400)
        done = self.run_here("stat", "-e", "task-clock", "-D", delay, "sleep", "0.6")
        elapsed = float(re.search(r"([\d.]+) seconds time elapsed", done.err)[1])
        self.assertGreater(elapsed, 0.1)
        self.assertLess(elapsed, 0.6 - delay / 1000 + 0.3, f"seed {SEED}")
        rows = self.run_here("stat", "-x,", "-e", "task-clock", "-D", "250", "-I", "100", "sleep", "0.6").err.splitlines()
        self.assertLess(abs(float(rows[0].split(",")[0]) - 0.1), 0.09, rows)
        timed, seconds = self.stat("-e", "task-clock", "-D", "200", "--timeout", "200", *NEVER_ENDS)
        self.assertGreaterEqual(seconds, 0.4)
        self.assertLess(float(timed.err.splitlines()[-1].split(",")[0]), 300)

    def test_what_ends_before_its_delay_was_not_counted(self):
        for words, said in ((["true"], "<not counted>,msec,task-clock,0,100.00,,\n"), (["-I", "100", "true"], "")):
            done = self.run_here("stat", "-x,", "-e", "task-clock", "-D", "5000", *words)
            self.assertEqual((done.status, done.err), (0, said))

    def test_the_software_pmu_says_that_it_counts_whole_runs(self):
        said = "-D: the software PMU's counts are of the whole run"
        words = ["-x,", "-e", "instructions", "-D", "100", "true"]
        self.assertIn(said, self.run_here("stat", *words).err)
        self.assertNotIn(said, self.run_here("stat", "-q", *words).err)

    def test_a_table_of_runs_is_that_of_stock_perf(self):
        """Its form, but for how many decimal places there are: perf shows as many as the deviation asks for."""
        runs = self.random.randrange(2, 5)
        words = ["-r", str(runs), "--table", "-e", "task-clock"]
        sleeps = ["sh", "-c", f"echo >> {self.folder}/run; [ $(wc -l < {self.folder}/run) = 1 ] && sleep 0.6 || sleep 0.3"]
        forms = set()
        for pmu in PMUS + (("perf",) if shutil.which("perf") else ()):
            (self.folder / "run").unlink(missing_ok=True)
            page = perf(*words, *sleeps)[1] if pmu == "perf" else self.run_here("stat", "--pmu", pmu, *words, *sleeps).err
            table = re.search(r"\n\n +# Table[^%]+%", page)[0]
            rows = re.findall(r"^ +([\d.]+) \(([+-][\d.]+)\) (#+)$", table, re.MULTILINE)
            mean = float(re.search(r"([\d.]+) \+- ", table)[1])
            self.assertEqual(len(rows), runs, page)
            self.assertGreater(len(rows[0][2]), 2, page)
            for seconds, off, marks in rows:
                self.assertAlmostEqual(float(seconds) - mean, float(off), delta=2 * 10.0 ** -len(off.partition(".")[2]))
                self.assertAlmostEqual(len(marks) - 1, abs(100 * float(off) / float(seconds)) / 5, delta=1.1)
            margin = re.match(r"\n\n( +)#", table)[1]
            self.assertTrue(table.splitlines()[3].startswith(margin + rows[0][0] + " ("), table)
            forms.add(re.sub(r"#+$|\d[\d.]*", "N", re.sub(r"[+-](?=\d)|(?<=-) +| {2,}", "", table), flags=re.MULTILINE))
        self.assertEqual(len(forms), 1, f"seed {SEED}: {forms}")

    def test_what_excludes_each_other_is_said(self):
        for words, said in ((["--timeout", "9"], "--timeout: 9 is not a whole number from 10 up"),
                            (["--timeout", "soon"], "--timeout: soon is not a whole number"),
                            (["--table"], "--table: is of several runs"),
                            (["-D", "-1"], "--delay: -1 is not a whole number from 0 up"),
                            (["-D", "9999999999999"], "-D: too long"),
                            (["--timeout", "9999999999999"], "--timeout: too long"),
                            (["--interval-count", "0", "-I", "10"], "--interval-count: 0 is not a whole number from 1 up"),
                            (["--interval-count", "2"], "--interval-count: without -I there are no intervals"),
                            (["--timeout", "100", "-I", "100"], "--timeout and -I exclude each other"),
                            (["--timeout", "100", "--virtual-time"], "--timeout: a run in virtual time does not depend")):
            for pmu in PMUS:
                done = self.run_here("stat", "--pmu", pmu, "-e", EVENTS[pmu], *words, "true")
                with self.subTest(words=words, pmu=pmu):
                    self.assertEqual(done.status, 129)
                    self.assertIn(said, done.err)


if __name__ == "__main__":
    tool.main()
