"""Where the kernel counts (--pmu=hw): what perf_event_open gives arrives in the file, for programs that are started, and for
those that run already; what it refuses is told by name. Software events only: every machine has those."""
import contextlib
import json
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


def opened_by(pid):
    """What its descriptors are."""
    folder, names = f"/proc/{pid}/fd", []
    for descriptor in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            names.append(os.readlink(f"{folder}/{descriptor}"))
    return names


def is_asleep(pid):
    """In read(): it runs nothing any more."""
    with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
        return file.read().startswith("0 ")


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
        child = subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.stdin.close)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child


    def wait_until(self, condition):
        end = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)


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
        program = self.program("read go; " + BUSY + "; echo done")
        recording = self.start(*CLOCK, "-q", "-p", program.pid)
        self.wait_until(lambda: any("perf_event" in name for name in opened_by(recording.pid)))
        print(file=program.stdin, flush=True)
        self.assertEqual(recording.wait(60), 0)
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

    @unittest.skipUnless(shutil.which("perf"), "stock perf is not installed")
    def test_it_samples_for_as_long_as_stock_perf_does(self):
        """Not from before the kernel's symbols are read: medians of the time from the first sample to the last, in turns."""
        program = self.program("while :; do :; done")
        windows = {tool.ZEROSKID: [], "perf": []}
        for who in list(windows) * 3:
            subprocess.run([who, *CLOCK, "-q", "-p", str(program.pid), "-o", "w.data", "--", "sleep", "0.5"], cwd=self.folder,
                           capture_output=True, check=True)
            times = [float(line.strip(" :")) for line in self.samples("-i", "w.data", "-F", "time")]
            windows[who].append(times[-1] - times[0])
        ours, theirs = (sorted(all_of_them)[1] for all_of_them in windows.values())
        self.assertLess(ours, 1.3 * theirs + 0.05)

    def test_the_whole_system(self):
        outcome = self.run_here(*CLOCK, "-a", "--", "sh", "-c", BUSY)
        if "perf_event_paranoid" in outcome.err:
            self.skipTest("a whole CPU may not be watched here")
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertGreater(len(self.samples()), 20)


class Counted(PerfEvents):
    """stat --pmu=hw."""
    OURS = "task-clock,page-faults,context-switches"

    def columns(self, *words, status=0):
        """{event: [value, unit, event, time, percent]} of -x."""
        outcome = self.run_here("stat", "-x,", *words)
        self.assertEqual(outcome.status, status, outcome.err)
        return {line.split(",")[2]: line.split(",") for line in outcome.err.splitlines()}

    def test_a_page_says_who_counted_and_why(self):
        outcome = self.run_here("stat", "--pmu=hw", "-e", self.OURS, "--", "sh", "-c", "exit 7")
        self.assertEqual(outcome.status, 7, outcome.err)
        first, page = outcome.err.split("\n", 1)
        self.assertEqual(first, "# perf_event_open: task-clock page-faults context-switches, because --pmu=hw asks for it")
        self.assertRegex(page, r"""\A
 Performance counter stats for 'sh -c exit 7':

 +\d+\.\d\d msec task-clock  +# measured by the kernel
 +\d+      page-faults +# measured by the kernel
 +\d+      context-switches +# measured by the kernel

 +\d+\.\d+ seconds time elapsed

 +\d+\.\d+ seconds user
 +\d+\.\d+ seconds sys

\Z""")

    def test_auto_says_whom_it_took(self):
        self.assertIn("# perf_event_open: task-clock, because task-clock is an event of the kernel\n",
                      self.run_here("stat", "-e", "task-clock", "true").err)
        self.assertEqual("# software PMU, model skylake-server@1",
                         self.run_here("stat", "-q", "-e", "task-clock,instructions", "true").err.splitlines()[0])
        for pmu, why in (("auto", "because (this machine has no other|it can do all of this)"),
                         ("sw", "because --pmu=sw asks for it$")):
            first = self.run_here("stat", "-q", f"--pmu={pmu}", "-e", "instructions", "true").err.splitlines()[0]
            self.assertRegex(first, f"# software PMU, model skylake-server@1, {why}")

    def test_auto_leaves_the_kernels_events_to_the_software_pmu_where_its_options_are_given(self):
        outcome = self.run_here("stat", "-q", "--virtual-time", "-e", "page-faults", "true")
        self.assertIn("zeroskid's share included", outcome.err)

    @unittest.skipUnless(shutil.which("perf"), "stock perf is not installed")
    def test_counts_are_those_of_stock_perf(self):
        """Page faults of a program that makes some thousand itself, its children's too: in turns, the medians."""
        touches = ["python3", "-I", "-S", "-c",
                   "import os; b = bytearray(16 << 20)\nif os.fork() == 0: c = bytearray(8 << 20)\nelse: os.wait()"]
        ours, theirs = [], []
        for _ in range(3):
            ours.append(int(self.columns("--pmu=hw", "-e", "page-faults", "--", *touches)["page-faults"][0]))
            perf = subprocess.run(["perf", "stat", "-x,", "-e", "page-faults", "--", *touches], capture_output=True, text=True)
            theirs.append(int(perf.stderr.split(",")[0]))
        self.assertGreater(sorted(theirs)[1], 6000)
        self.assertAlmostEqual(sorted(ours)[1], sorted(theirs)[1], delta=0.05 * sorted(theirs)[1])

    def test_the_clock_is_that_of_the_program_and_nobody_elses(self):
        outcome = self.run_here("stat", "-j", "--pmu=hw", "-e", "{task-clock,page-faults}", "sh", "-c", BUSY)
        clock, faults = (json.loads(line) for line in outcome.err.splitlines())
        self.assertEqual(clock["unit"], "msec")
        self.assertAlmostEqual(float(clock["counter-value"]), clock["event-runtime"] / 1e6, places=3)
        self.assertEqual(faults["event-runtime"], clock["event-runtime"])  # a group is on at the same time
        self.assertEqual(clock["pcnt-running"], 100.0)
        idle = self.columns("--pmu=hw", "-e", "task-clock", "sleep", "0.3")["task-clock"]
        self.assertLess(float(idle[0]), 100)

    def test_children_are_counted_unless_they_are_not_wanted(self):
        words = ["-e", "page-faults", "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do /bin/true; done"]
        with_children = int(self.columns("--pmu=hw", *words)["page-faults"][0])
        alone = int(self.columns("--pmu=hw", "--no-inherit", *words)["page-faults"][0])
        self.assertGreater(with_children, alone + 100)

    def test_a_running_process(self):
        program = self.program("while :; do :; done")
        outcome = self.run_here("stat", "-e", "task-clock", "-p", program.pid, "--", "sleep", "0.3")
        self.assertIn("# perf_event_open: task-clock, because -p watches a running process\n", outcome.err)
        self.assertIn(f" Performance counter stats for process id '{program.pid}':\n", outcome.err)
        self.assertNotIn("seconds user", outcome.err)  # those of sleep would be no answer
        self.assertIsNone(program.poll())
        thread = self.columns("-e", "task-clock", "-t", program.pid, "--", "sleep", "0.3")["task-clock"]
        self.assertGreater(float(thread[0]), 20)

    def test_until_the_process_ends_or_we_are_asked_to(self):
        program = self.program("sleep 0.3")
        self.assertIn("context-switches", self.columns("-e", "context-switches", "-p", program.pid))
        endless = self.program("while :; do :; done")
        counting = subprocess.Popen([tool.ZEROSKID, "stat", "-x,", "-e", "task-clock", "-p", str(endless.pid)],
                                    env=tool.ENVIRONMENT, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)
        counting.send_signal(signal.SIGINT)
        self.assertIn(",msec,task-clock,", counting.communicate(timeout=20)[1])
        self.assertEqual(counting.returncode, 0)
        self.assertIsNone(endless.poll())

    def test_a_line_for_each_thread(self):
        busy, idle = self.program("while :; do :; done"), self.program("read go")
        self.wait_until(lambda: is_asleep(idle.pid))
        outcome = self.run_here("stat", "-x,", "--per-thread", "-e", "task-clock", "-p", f"{busy.pid},{idle.pid}", "--",
                                "sleep", "0.3")
        rows = dict(line.split(",")[:2] for line in outcome.err.splitlines())
        self.assertGreater(float(rows[f"sh-{busy.pid}"]), 20)
        self.assertEqual(rows[f"sh-{idle.pid}"], "<not counted>")  # it never ran, which is not 0 ms

    def test_whole_cpus(self):
        outcome = self.run_here("stat", "-a", "-e", "cpu-clock", "sleep", "0.2")
        if "perf_event_paranoid" in outcome.err:
            self.skipTest("a whole CPU may not be watched here")
        self.assertIn(" Performance counter stats for 'system wide':\n", outcome.err)
        cpu = self.columns("-C", "0", "-e", "cpu-clock", "sleep", "0.2")["cpu-clock"]
        self.assertAlmostEqual(float(cpu[0]), 200, delta=150)  # however busy it is

    def test_intervals_add_up_to_the_whole(self):
        """Nothing is counted twice or left out, the last rest included."""
        touches = ["python3", "-I", "-S", "-c",
                   "import time\nfor _ in range(9): b = bytearray(8 << 20)\nwhile time.process_time() < 0.4: pass"]
        outcome = self.run_here("stat", "-j", "-I", "50", "-e", "task-clock,page-faults", *touches)
        self.assertEqual(outcome.status, 0, outcome.err)
        rows = [json.loads(line) for line in outcome.err.splitlines()]
        clock, faults = ([row for row in rows if row["event"] == name] for name in ("task-clock", "page-faults"))
        self.assertGreater(len(clock), 3)
        self.assertEqual([row["interval"] for row in clock], [row["interval"] for row in faults])
        self.assertEqual(sorted({row["interval"] for row in clock}), [row["interval"] for row in clock])
        whole = int(self.columns("--pmu=hw", "-e", "page-faults", "--", *touches)["page-faults"][0])
        sum_of_all = sum(float(row["counter-value"]) for row in faults if row["counter-value"] != "<not counted>")
        self.assertAlmostEqual(sum_of_all, whole, delta=0.05 * whole)

    def test_the_intervals_of_a_page_and_of_columns(self):
        words = ["-I", "40", "-e", "task-clock", "sh", "-c", BUSY]
        head, first = self.run_here("stat", "--pmu=hw", *words).err.splitlines()[1:3]
        self.assertEqual(head, "#           time             counts unit events")
        self.assertRegex(first, r"^ {5}\d\.\d{9} +\d+\.\d\d msec task-clock +# measured by the kernel$")
        self.assertRegex(self.run_here("stat", "-x;", *words).err.splitlines()[0],
                         r"^ {5}\d\.\d{9};\d+\.\d\d;msec;task-clock;\d+;100\.00;;$")
        program = self.program("while :; do :; done")
        outcome = self.run_here("stat", "--per-thread", "-I", "100", "-e", "task-clock", "-p", program.pid, "sleep", "0.25")
        self.assertGreater(len(re.findall(rf"^ +\d\.\d{{9}} +sh-{program.pid} ", outcome.err, re.M)), 1)

    def test_plot_draws_intervals(self):
        self.run_here("stat", "-I", "40", "-x,", "-o", "rows.csv", "-e", "task-clock", "sh", "-c", BUSY)
        self.assertIn("task-clock (msec) per second", self.run_here("plot", "rows.csv").out)

    def test_intervals_that_the_kernel_does_not_know(self):
        for words, said in ((["-I", "100i"], "-I in other units than milliseconds: only the software PMU knows it"),
                            (["-I", "5", "-I", "7"], "more than one -I: only the software PMU knows it"),
                            (["-I", "0"], "-I 0: a window of 0 never begins"),
                            (["-I", "5", "-r", "2"], "-I and -r exclude each other")):
            outcome = self.run_here("stat", "--pmu=hw", "-e", "task-clock", *words, "true")
            self.assertIn(said, outcome.err)
            self.assertEqual(outcome.status, 129)

    def test_repeated_runs(self):
        outcome = self.run_here("stat", "--pmu=hw", "-r", "3", "-e", "page-faults", "true")
        self.assertIn(" Performance counter stats for 'true' (3 runs):\n", outcome.err)
        self.assertRegex(outcome.err, r"page-faults +# measured by the kernel +\( \+- +\d+\.\d\d% \)\n")


class Accesses(PerfEvents):
    """mem record and c2c record --pmu=hw: where no PMU has such events, what can be had is what is asked of each sample."""
    VERBS = (["mem", "record"], ["c2c", "record"])

    def test_events_that_are_not_there_are_refused_by_name(self):
        if any(pathlib.Path("/sys/bus/event_source/devices", name).exists() for name in ("cpu", "cpu_core", "ibs_op")):
            self.skipTest("this machine has a PMU")
        for verb in self.VERBS:
            for words in (["--pmu=hw", "true"], ["-p", str(os.getpid())], ["-a", "true"]):
                outcome = self.run_here(*verb, *words)
                self.assertEqual(outcome.status, 129)
                self.assertIn(f"{' '.join(verb)}: mem-loads, mem-stores: no PMU of this machine has such events, nor is there "
                              "an ibs_op\n", outcome.err)
        self.assertIn("mem record: mem-stores: no PMU", self.run_here("mem", "record", "--pmu=hw", "-t", "store", "true").err)
        outcome = self.run_here("mem", "record", "--pmu=hw", "-e", "cycles", "true")
        self.assertIn("cycles: cannot be opened: ENOENT", outcome.err)
        self.assertEqual(os.listdir(self.folder), [])

    def test_auto_is_the_software_pmu_and_says_why(self):
        outcome = self.run_here("mem", "record", "--pmu=auto", "true")
        self.assertRegex(outcome.err, r"\A# software PMU, .*, because (this machine has no other|it can do all of this)")
        self.assertNotIn("because", self.run_here("mem", "record", "true").err.splitlines()[0])
        outcome = self.run_here("mem", "record", "--pmu=sw", "-p", "1")
        self.assertIn("--pmu=sw: -p watches a running process", outcome.err)
        outcome = self.run_here("mem", "record", "--pmu=gpu", "true")
        self.assertIn("--pmu=gpu: no such PMU", outcome.err)

    def test_options_of_the_software_pmu_are_not_passed_over(self):
        for verb, option in (("mem", "--heap"), ("c2c", "--no-heap"), ("c2c", "--schedule-seed=1"), ("mem", "--virtual-time")):
            outcome = self.run_here(verb, "record", "--pmu=hw", "-e", "cpu-clock", option, "true")
            self.assertIn(f"{option.split('=')[0]}: only the software PMU knows it", outcome.err)

    @unittest.skipUnless(shutil.which("perf"), "stock perf is not installed")
    def test_what_is_asked_of_the_kernel_is_what_perf_asks(self):
        """Both files' attr, as perf evlist -v prints it: perf's, ours, and what differs on purpose."""
        def attr(name):
            printed = subprocess.run(["perf", "evlist", "-v", "-i", name], cwd=self.folder, capture_output=True, text=True)
            parts = printed.stdout.replace("{ sample_period, ", "{ ").strip().split(", ")
            fields = dict(part.rsplit(": ", 1) for part in parts[1:])
            return fields, set(fields.pop("sample_type").split("|"))

        for verb, perfs in ((["mem", "record"], []), (["c2c", "record"], ["--phys-data", "--sample-cpu"])):
            subprocess.run(["perf", "record", "-q", "-W", "-d", *perfs, "-e", "cpu-clock", "-F", "997", "-o", "theirs", "true"],
                           cwd=self.folder, capture_output=True, check=True)
            outcome = self.run_here(*verb, "--pmu=hw", "-e", "cpu-clock", "-F", "997", "-o", "ours", "true")
            self.assertEqual(outcome.status, 0, outcome.err)
            (theirs, their_samples), (ours, our_samples) = attr("theirs"), attr("ours")
            self.assertEqual(our_samples - their_samples - {"CPU", "IDENTIFIER"}, set())
            if os.geteuid() == 0:
                self.assertEqual(their_samples - our_samples, set())
            for unlike in ("read_format", "ksymbol", "bpf_event", "build_id"):
                theirs.pop(unlike, None)
                ours.pop(unlike, None)
            self.assertEqual(ours, theirs)


class Calibrated(PerfEvents):
    def test_without_a_pmu_it_says_so_and_nothing_runs(self):
        if pathlib.Path("/sys/bus/event_source/devices/cpu").exists():
            self.skipTest("this machine has a PMU")
        outcome = self.run_here("calibrate", "-e", "cycles", "--", "touch", "ran",
                                environment={"XDG_CACHE_HOME": str(self.folder)})
        self.assertEqual(outcome.status, 125)
        self.assertIn("zeroskid: calibrate: cycles: cannot be opened: ENOENT: this machine has no PMU that counts it\n"
                      "hint: without hardware's counts nothing is compared\n", outcome.err)
        self.assertFalse((self.folder / "ran").exists())
        self.assertFalse(list(self.folder.rglob("calibration.tsv")))

    def test_events_of_the_kernel_are_refused(self):
        for event in ("page-faults", "task-clock"):
            outcome = self.run_here("calibrate", "--model", "zen4", "-e", event, "true")
            self.assertEqual(outcome.status, 129)
            self.assertIn(f"zeroskid: {event}: is the kernel's, so there is no processor's count", outcome.err)

    def test_list_shows_what_was_measured_on_this_processor(self):
        brand = json.loads(self.run_here("doctor", "--json").out)["machine"]["cpu_brand"]
        (self.folder / "zeroskid").mkdir()
        (self.folder / "zeroskid/calibration.tsv").write_text(
            f"{brand}\tzen4@1\tcycles\t4.25\t2026-11-28\t./orders\nanother\tzen4@1\tinstructions\t9\t2026-11-28\tx\n")
        page = self.run_here("list", "-v", "--cpu", "zen4", environment={"XDG_CACHE_HOME": str(self.folder)}).out
        self.assertEqual(re.findall("on this machine.*", page), ["on this machine: +4.25 % (./orders, 2026-11-28)"])


class CountedByNobody(PerfEvents):
    def refused(self, message, *words, status=129):
        outcome = self.run_here("stat", *words)
        self.assertEqual(outcome.status, status, outcome.err)
        self.assertIn(message, outcome.err)
        self.assertNotIn("Performance counter stats", outcome.err)

    def test_an_event_of_a_pmu_that_is_not_there(self):
        if pathlib.Path("/sys/bus/event_source/devices/cpu").exists():
            self.skipTest("this machine has a PMU")
        for words in (["--pmu=hw", "-e", "cycles"], ["--pmu=hw", "-e", "page-faults,cycles"], ["-a", "-e", "cycles"]):
            self.refused("cycles", *words, "true", status=125)
            self.refused("ENOENT: this machine has no PMU that counts it", *words, "true", status=125)

    def test_options_of_the_software_pmu_are_not_passed_over(self):
        for words in (["-M", "IPC"], ["-d"], ["--per-process"], ["--comm", "x"], ["--virtual-time"], ["--detail", "full"],
                      ["--model", "zen4"], ["--region", "main"], ["--follow", "none"]):
            self.refused(f"{words[0]}: only the software PMU knows it", "--pmu=hw", *words, "true")

    def test_what_cannot_be(self):
        self.refused("--per-thread: the kernel counts threads", "--pmu=hw", "--per-thread", "true")
        self.refused("-r: what runs already", "-p", str(os.getpid()), "-r", "2", "-e", "task-clock")
        self.refused("-p 2147483632: there is no such process", "-p", "2147483632", status=125)
        self.refused("no such PMU", "--pmu=gpu", "true")
        self.refused("./nothing", "--pmu=hw", "-e", "task-clock", "./nothing", status=127)


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
