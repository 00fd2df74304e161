"""Where the kernel counts (--pmu=hw): what perf_event_open gives arrives in the file, for programs that are started, and for
those that run already; what it refuses is told by name. Software events only: every machine has those."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import unittest

import tool

CLOCK = ["record", "-e", "cpu-clock", "-F", "997"]
BUSY = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"


def allowed():
    """Whether this user may sample a program's ring 3 at all."""
    probe = tool.run(*CLOCK, "-q", "-o", "/dev/null", "--", "true")
    return "cannot be opened" not in probe.err


class PerfEvents(tool.InFolder):
    def setUp(self):
        super().setUp()
        if not allowed():
            self.skipTest("perf_event_open is forbidden here")

    def samples(self, *options):
        outcome = self.run_here("script", "-F", "pid,ip", *options)
        self.assertEqual(outcome.status, 0, outcome.err)
        return outcome.out.splitlines()

    def start(self, *words):
        return subprocess.Popen([tool.ZEROSKID, *map(str, words)], cwd=self.folder, env=tool.ENVIRONMENT,
                                stdin=subprocess.DEVNULL)

    def program(self, script):
        child = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child


class Started(PerfEvents):
    def test_a_program_is_sampled_and_its_status_passed_on(self):
        outcome = self.run_here(*CLOCK, "sh", "-c", BUSY + "; exit 7")
        self.assertEqual(outcome.status, 7, outcome.err)
        self.assertEqual(outcome.err.splitlines()[0],
                         "# perf_event_open: cpu-clock, because cpu-clock is an event of the kernel")
        self.assertGreater(len(self.samples()), 20)

    @unittest.skipUnless(shutil.which("perf"), "stock perf is not installed")
    def test_stock_perf_reads_the_same_samples(self):
        self.run_here(*CLOCK, "-g", "sh", "-c", BUSY)
        theirs = subprocess.run(["perf", "script", "-F", "ip", "-G"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(theirs.returncode, 0, theirs.stderr)
        self.assertEqual(len(theirs.stdout.splitlines()), len(self.samples("-G")))
        report = subprocess.run(["perf", "report", "--stdio", "--no-children", "-g", "none", "-s", "comm"],
                                cwd=self.folder, capture_output=True, text=True)
        self.assertRegex(report.stdout, r"100\.00%\s+sh")

    def test_children_and_what_they_execute_are_followed(self):
        self.run_here(*CLOCK, "sh", "-c", f"sh -c '{BUSY}'; sh -c '{BUSY}'; true")
        self.assertGreaterEqual(len({line.split()[0] for line in self.samples()}), 2)

    def test_a_storm_of_short_children_loses_nothing_silently(self):
        outcome = self.run_here("record", "-e", "cpu-clock", "-c", "100000", "--", "sh", "-c",
                                "i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i+1)); done")
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertGreater(len({line.split()[0] for line in self.samples()}), 50)

    def test_every_fault_is_a_sample(self):
        self.run_here("record", "-e", "page-faults:u", "-c", "1", "--", "true")
        self.assertGreater(len(self.samples()), 10)

    def test_a_program_that_is_not_there(self):
        outcome = self.run_here(*CLOCK, "./nothing")
        self.assertEqual(outcome.status, 127)
        self.assertEqual(os.listdir(self.folder), [])


class Attached(PerfEvents):
    def test_until_the_process_ends(self):
        program = self.program(BUSY + "; echo done")
        outcome = self.run_here(*CLOCK, "-p", program.pid)
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertEqual(program.stdout.read(), "done\n")
        self.assertEqual({line.split()[0] for line in self.samples()}, {str(program.pid)})

    def test_until_we_are_asked_to_end(self):
        program = self.program("while :; do :; done")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            recording = self.start(*CLOCK, "-q", "-p", program.pid)
            time.sleep(0.6)
            recording.send_signal(number)
            self.assertEqual(recording.wait(20), 0)
            self.assertGreater(len(self.samples()), 0)
            self.assertIsNone(program.poll())

    def test_as_long_as_another_program_runs(self):
        program = self.program("while :; do :; done")
        outcome = self.run_here(*CLOCK, "-p", program.pid, "--", "sleep", "0.5")
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertEqual({line.split()[0] for line in self.samples()}, {str(program.pid)})

    def test_names_and_mappings_from_before_are_known(self):
        program = self.program("while :; do :; done")
        self.run_here(*CLOCK, "-p", program.pid, "--", "sleep", "0.5")
        report = self.run_here("report", "--stdio", "-s", "comm,dso")
        self.assertRegex(report.out, r"sh +(dash|sh|bash)\b")

    def test_ten_times_on_and_off(self):
        program = self.program("while :; do :; done")
        for _ in range(10):
            self.assertEqual(self.run_here(*CLOCK, "-q", "-p", program.pid, "--", "sleep", "0.05").status, 0)
        self.assertIsNone(program.poll())

    def test_the_whole_system(self):
        outcome = self.run_here(*CLOCK, "-a", "--", "sh", "-c", BUSY)
        if "perf_event_paranoid" in outcome.err:
            self.skipTest("a whole CPU may not be watched here")
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertGreater(len(self.samples()), 20)


class Refused(PerfEvents):
    def refused(self, message, *words, status=129):
        outcome = self.run_here("record", *words)
        self.assertEqual(outcome.status, status, outcome.err)
        self.assertIn(message, outcome.err)
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_process_that_is_not_there(self):
        self.refused("-p 2147483632: there is no such process", "-p", "2147483632", status=125)

    def test_the_software_pmu_attaches_to_nothing(self):
        self.refused("--pmu=sw: -p watches a running process", "--pmu=sw", "-p", "1")

    def test_options_of_the_software_pmu_are_not_passed_over(self):
        for words in (["-R"], ["--virtual-time"], ["--detail", "full"], ["--model", "zen4"], ["--cores", "2"]):
            self.refused(f"{words[0]}: only the software PMU knows it", "-e", "cpu-clock", *words, "true")

    def test_what_excludes_each_other(self):
        self.refused("-a and -p", "-a", "-p", "1", "-e", "cpu-clock")
        self.refused("-c and -F", "-e", "cpu-clock", "-c", "1", "-F", "1", "true")
        self.refused("not a power of two", "-e", "cpu-clock", "-m", "3", "true")
        self.refused("no such PMU", "--pmu=gpu", "true")
        self.refused("--call-graph exact", "-e", "cpu-clock", "--call-graph", "exact", "true")

    def test_events_of_a_pmu_that_is_not_there(self):
        if pathlib.Path("/sys/bus/event_source/devices/cpu").exists():
            self.skipTest("this machine has a PMU")
        self.refused("cycles: cannot be opened: ENOENT: this machine has no PMU that counts it", "--pmu=hw", "-e",
                     "cycles", "true", status=125)

    def test_no_program(self):
        self.refused("no program to record", "-e", "cpu-clock")


if __name__ == "__main__":
    tool.main()
