"""A recording stays readable whatever happens to the tool, the program or the file, and what is missing is said."""
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest

import tool

PERIOD = ["-e", "instructions:ppp", "-c", "1009"]


class Recording(tool.InFolder):
    def samples(self, name="perf.data", *options):
        """(how many samples, what was said) of a recording as zeroskid reads it."""
        outcome = self.run_here("script", "-i", name, "-F", "ip", *options)
        self.assertEqual(outcome.status, 0, outcome.err)
        return len(outcome.out.splitlines()), outcome.err

    def start(self, *words):
        return subprocess.Popen([tool.ZEROSKID, *words], cwd=self.folder, env=tool.ENVIRONMENT, start_new_session=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait_for_bytes(self, count, name="perf.data"):
        path = self.folder / name
        for _ in range(600):
            if path.exists() and path.stat().st_size > count:
                return
            time.sleep(0.05)
        self.fail(f"{name} does not grow")


class Whole(Recording):
    def test_the_last_line_says_how_much_is_where(self):
        outcome = self.run_here("record", *PERIOD, *tool.SHORT_LOOP)
        self.assertEqual(outcome.status, 0)
        lines = outcome.err.splitlines()
        self.assertEqual(lines[0], "# software PMU, model skylake-server@1")
        count = len(self.run_here("script", "-F", "ip").out.splitlines())
        self.assertRegex(lines[-1], rf"\A\[ zeroskid record: {count:,} samples -> perf\.data \([\d.]+ [kM]B\) \]\Z")

    def test_verbose_says_how_the_records_came(self):
        outcome = self.run_here("record", "-v", "--ds-records", "10", *PERIOD, *tool.SHORT_LOOP)
        count = len(self.run_here("script", "-F", "ip").out.splitlines())
        self.assertIn(f"[ zeroskid record: {count // 10:,} PMIs, {count:,} PEBS records, 0 lost ]\n", outcome.err)

    def test_quiet_says_nothing(self):
        self.assertEqual(self.run_here("record", "-q", *PERIOD, *tool.SHORT_LOOP).err, "")

    def test_the_old_recording_is_kept(self):
        for _ in range(2):
            self.run_here("record", "-q", *PERIOD, "true")
        self.assertEqual(sorted(os.listdir(self.folder)), ["perf.data", "perf.data.old"])

    def test_a_recording_without_samples_says_why(self):
        outcome = self.run_here("record", "-e", "instructions:ppp", "-c", "1000000000000", "true")
        self.assertTrue(outcome.err.endswith("zeroskid: no event came as often as its period\n"
                                             "hint: -c 1 samples every event\n"), outcome.err)

    def test_the_number_of_samples_follows_from_the_count_and_the_period(self):
        count = int(self.run_here("stat", "-x,", "--virtual-time", "-e", "instructions", *tool.SHORT_LOOP).err.split(",")[0])
        self.run_here("record", "-q", "--virtual-time", *PERIOD, *tool.SHORT_LOOP)
        self.assertEqual(self.samples()[0], count // 1009)

    def test_two_runs_in_virtual_time_give_the_same_samples_at_the_same_times(self):
        recordings = []
        for name in ("one", "two"):
            self.run_here("record", "-q", "--virtual-time", *PERIOD, "-o", "perf.data", *tool.SHORT_LOOP)
            recordings.append(self.run_here("script", "-F", "comm,time,event,ip,sym,period").out)
        self.assertEqual(recordings[0], recordings[1])
        self.assertGreater(len(recordings[0]), 1000)

    def test_processes_that_meet_in_pipes_count_the_same_again_in_virtual_time(self):
        script = ("seq 1 20000 | sort -rn | head -5; for i in 1 2 3; do seq $i 500 | cksum & done; wait; "
                  "(echo $$ $!) | cat; sh -c 'echo $$ $PPID' & echo $!; wait")
        runs = []
        for _ in range(3):
            outcome = self.run_here("stat", "-x,", "--virtual-time", "-e", "instructions", "sh", "-c", script)
            self.assertEqual(outcome.status, 0, outcome.err)
            runs.append((outcome.err.split(",")[0], outcome.out))
        self.assertEqual(runs[0], runs[1])
        self.assertEqual(runs[0], runs[2])

    def test_ids_in_virtual_time_are_good_for_what_ids_are_good_for(self):
        script = ("sleep 60 & p=$!; test -d /proc/$p && grep -q sleep /proc/$p/cmdline && kill -TERM $p; wait $p; echo $?; "
                  "setsid sh -c 'kill -0 $PPID && ps -o pid= -p $$ >/dev/null; trap \"echo caught; exit 3\" USR1; kill -USR1 $$'; echo $?; "
                  "readlink /proc/self >/dev/null; kill -0 $p 2>/dev/null; echo $?")
        plain, virtual = (self.run_here("stat", *options, "-e", "instructions", "bash", "-c", script).out
                          for options in ([], ["--virtual-time"]))
        self.assertEqual(virtual, plain)
        self.assertEqual(virtual, "143\ncaught\n3\n1\n")

    def test_a_wait_moves_the_clock_in_virtual_time(self):
        script = ("import select, threading, time\n"
                  "def rounds(wait):\n"
                  "    begin, count = time.monotonic(), 0\n"
                  "    while time.monotonic() - begin < 0.1 and count < 20:\n"
                  "        wait(); count += 1\n"
                  "    return count\n"
                  "poll, event = select.poll(), threading.Event()\n"
                  "print(rounds(lambda: time.sleep(0.026)), rounds(lambda: select.select([], [], [], 0.026)),\n"
                  "      rounds(lambda: poll.poll(26)), rounds(lambda: event.wait(0.026)), rounds(lambda: select.epoll().poll(0.026)))\n")
        self.file("waits.py", script.encode())
        outcome = self.run_here("stat", "--virtual-time", "-e", "instructions", sys.executable, "waits.py")
        self.assertEqual(outcome.out, "4 4 4 4 4\n", outcome.err)

    def test_a_file_is_as_if_never_read_in_virtual_time(self):
        path = self.file("file", b"x")
        os.utime(path, (10**9, 1.5 * 10**9))
        for tool_options, expected in (([], 10**9), (["--virtual-time"], 1.5 * 10**9)):
            outcome = self.run_here("stat", *tool_options, "-e", "instructions", "stat", "-c", "%X", "file")
            self.assertEqual(int(outcome.out), expected)

    def test_random_bytes_repeat_in_virtual_time_and_differ_between_processes(self):
        script = "for i in 1 2; do head -c 9000 /dev/urandom | cksum; done; dd if=/dev/random bs=9000 count=1 2>/dev/null | cksum"
        first, again = (self.run_here("stat", "--virtual-time", "-e", "instructions", "sh", "-c", script).out for _ in range(2))
        self.assertEqual(first, again)
        self.assertEqual(len(set(first.splitlines())), 3, first)
        self.assertEqual([line.split()[1] for line in first.splitlines()], ["9000"] * 3)

    def test_events_beyond_one_processors_counters_are_said_and_sampled(self):
        events = ["br_inst_retired.near_taken:pp"] * 5
        outcome = self.run_here("record", "-e", ",".join(events), "-c", "100", *tool.SHORT_LOOP)
        self.assertTrue(outcome.err.startswith("# software PMU, model skylake-server@1; 5 events take 2 PMUs of it, "
                                               "and all count all the time\n"), outcome.err)
        self.assertEqual(self.samples()[0] % 5, 0)

    def test_the_program_is_killed(self):
        outcome = self.run_here("record", *PERIOD, "sh", "-c",
                                "i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done; kill -9 $$")
        self.assertEqual(outcome.status, 128 + signal.SIGKILL)
        self.assertIn("zeroskid: sh was killed by signal 9 (Killed)\n", outcome.err)
        self.assertGreater(self.samples()[0], 100)


class Cut(Recording):
    def test_the_tool_is_killed_and_the_program_runs_on(self):
        process = self.start("record", "-q", *PERIOD, *tool.LONG_LOOP)
        self.wait_for_bytes(2_000_000)
        process.kill()
        out, _ = process.communicate(timeout=300)  # until the program closes its end: it was not disturbed
        self.assertEqual(out, "done\n")
        count, _ = self.samples("perf.data", "--truncated")
        self.assertGreater(count, 1000)

    def test_the_program_is_killed_from_outside(self):
        process = self.start("record", "-q", *PERIOD, "sh", "-c", "echo $$; " + tool.LONG_LOOP[2])
        program = int(process.stdout.readline())
        self.wait_for_bytes(2_000_000)
        os.kill(program, signal.SIGKILL)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + signal.SIGKILL)
        self.assertGreater(self.samples()[0], 1000)

    def test_the_file_reaches_its_size_limit(self):
        process = subprocess.run(
            [tool.ZEROSKID, "record", *PERIOD, "sh", "-c", "ulimit -f unlimited; " + tool.LONG_LOOP[2]], cwd=self.folder,
            env=tool.ENVIRONMENT, capture_output=True, text=True, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY)))
        self.assertEqual(process.returncode, 125, process.stderr)
        self.assertEqual(process.stdout, "done\n")
        self.assertRegex(process.stderr, r"zeroskid: perf\.data: cannot write: File too large; [\d,]+ samples are in the "
                                         r"file and readable, [\d,]+ samples? and the summary missing\n")
        self.assertIn("zeroskid: the program runs on, unrecorded\n", process.stderr)
        self.assertGreater(self.samples("perf.data", "--truncated")[0], 1000)

    def test_the_file_of_a_trace_reaches_its_size_limit(self):
        limit = 100_000
        outcome = self.run_here("record", "-e", "intel_bts//u", *tool.SHORT_LOOP,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertEqual(outcome.status, 125, outcome.err)
        self.assertRegex(outcome.err, r"File too large; \d+ branches are in the file and readable, \d+ branches and the")
        said = re.search(r"^zeroskid: ([\d,]+) of ([\d,]+) branches are not in perf\.data\n"
                         r"\[ zeroskid record: ([\d,]+) branches -> perf\.data", outcome.err, re.M)
        missing, all_of_them, kept = (int(number.replace(",", "")) for number in said.groups())
        self.assertEqual(all_of_them - missing, kept)
        self.assertNotIn("samples", outcome.err)

    def test_the_file_vanishes(self):
        process = self.start("record", *PERIOD, *tool.LONG_LOOP)
        self.wait_for_bytes(1_000_000)
        (self.folder / "perf.data").unlink()
        out, said = process.communicate(timeout=300)
        self.assertEqual((process.returncode, out), (125, "done\n"))
        self.assertRegex(said, r"zeroskid: perf\.data: the file was removed or replaced while it was written; "
                               r"all [\d,]+ samples went with it\n")


class NoPlace(Recording):
    def test_a_folder_that_does_not_exist(self):
        outcome = self.run_here("record", "-o", "no/such/file", "touch", "started")
        self.assertEqual(outcome.status, 125)
        self.assertTrue(outcome.err.startswith("zeroskid: no/such/file: cannot create: No such file or directory\n"))
        self.assertEqual(os.listdir(self.folder), [], "the program must not run unrecorded")

    def test_a_device_that_is_full(self):
        outcome = self.run_here("record", "-o", "/dev/full", "touch", "started")
        self.assertEqual(outcome.status, 125)
        self.assertTrue(outcome.err.startswith("zeroskid: /dev/full: cannot write: No space left on device\n"), outcome.err)
        self.assertEqual(os.listdir(self.folder), [])

    def test_how_many_samples_a_full_disk_lost(self):
        limit = 100_000
        outcome = self.run_here("record", *PERIOD, *tool.SHORT_LOOP,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertEqual(outcome.status, 125, outcome.err)
        said = re.search(r"^zeroskid: ([\d,]+) of ([\d,]+) samples are not in perf\.data\n"
                         r"\[ zeroskid record: ([\d,]+) samples -> perf\.data", outcome.err, re.M)
        self.assertIsNotNone(said, outcome.err)
        lost, taken, kept = (int(number.replace(",", "")) for number in said.groups())
        self.assertEqual(kept, self.samples()[0])
        self.assertEqual(lost + kept, taken)
        whole = self.run_here("record", "-o", "whole", *PERIOD, *tool.SHORT_LOOP)
        self.assertIn(f" {taken:,} samples -> whole", whole.err)

    def test_a_file_that_may_not_be_written(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        self.file("perf.data", b"", 0o444)
        outcome = self.run_here("record", "true")
        self.assertEqual(outcome.status, 125)
        self.assertIn("perf.data: cannot create: Permission denied", outcome.err)

    def test_counts_for_a_full_device(self):
        outcome = self.run_here("stat", "-o", "/dev/full", "-e", "instructions", "true")
        self.assertEqual(outcome.status, 125)
        self.assertEqual(outcome.err, "zeroskid: /dev/full: No space left on device; the counts are not in it, or not all "
                                      "of them\nhint: choose another place with -o FILE\n")

    def test_counts_for_a_folder_that_does_not_exist(self):
        outcome = self.run_here("stat", "-o", "no/such/file", "touch", "started")
        self.assertEqual(outcome.status, 125)
        self.assertEqual(outcome.err, "zeroskid: no/such/file: cannot create: No such file or directory\n"
                                      "hint: choose another place with -o FILE\n")
        self.assertEqual(os.listdir(self.folder), [])


class RawRecords(Recording):
    ASKED = ["record", "-q", "--virtual-time", "-e", "mem_inst_retired.all_loads:pp", "-c", "1009"]

    def test_every_sample_has_the_record_that_it_was_made_of(self):
        self.run_here(*self.ASKED, "-R", *tool.SHORT_LOOP)
        ips = re.findall(r"^\s*(\w+)$", self.run_here("script", "-F", "ip").out, re.MULTILINE)
        addresses = re.findall(r"^\s*(\w+)$", self.run_here("script", "-F", "addr").out, re.MULTILINE)
        raw = self.run_here("script", "--raw").out
        field = lambda name: [f"{int(value, 16):x}" for value in re.findall(rf"^  \+... {name} +(\w+)$", raw, re.MULTILINE)]
        self.assertGreater(len(ips), 100)
        self.assertEqual(field("eventing_ip"), ips)
        self.assertEqual(field("data_address"), addresses)
        self.assertIn("\ndebug store at fffffe0000001000, 64-bit layout\n  +000 bts_base       0000000000000000\n", raw)

    def test_two_runs_have_the_same_raw_records(self):
        texts = []
        for _ in range(2):
            self.run_here(*self.ASKED, "-R", *tool.SHORT_LOOP)
            texts.append(self.run_here("script", "--raw").out)
        self.assertEqual(texts[0], texts[1])

    def test_a_sample_of_an_overflow_interrupt_has_none(self):
        self.run_here("record", "-q", "-R", "-e", "instructions", "-c", "100000", *tool.SHORT_LOOP)
        lines = self.run_here("script", "--raw").out.splitlines()
        self.assertGreater(len(lines), 10)
        self.assertEqual(set(lines[1::2]), {"no record: an overflow interrupt made this sample"})

    def test_without_raw_records_the_option_that_keeps_them_is_named(self):
        self.run_here(*self.ASKED, *tool.SHORT_LOOP)
        outcome = self.run_here("script", "--raw")
        self.assertEqual((outcome.status, outcome.out), (125, ""))
        self.assertEqual(outcome.err, "zeroskid: script: perf.data: its samples hold no raw records\n"
                                      "hint: record with -R (--raw-samples)\n")


@unittest.skipUnless(shutil.which("perf"), "perf is not installed")
class Perf(Recording):
    def test_stock_perf_reads_a_recording_with_raw_records(self):
        self.run_here("record", "-q", "-R", "-b", "-e", "instructions:ppp,branches", "-c", "1009", *tool.SHORT_LOOP)
        count, _ = self.samples()
        fields = "ip,addr,period,iregs,brstack"
        result = subprocess.run(["perf", "script", "-F", fields], cwd=self.folder, capture_output=True, text=True,
                                check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(len(result.stdout.splitlines()), count)
        self.assertEqual(result.stdout.split(), self.run_here("script", "-F", fields).out.split())

    def test_stock_perf_reads_what_was_recorded(self):
        self.run_here("record", "-q", *PERIOD, *tool.SHORT_LOOP)
        count, _ = self.samples()
        result = subprocess.run(["perf", "script", "-F", "ip"], cwd=self.folder, capture_output=True, text=True,
                                check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(result.stdout.split()), count)

    def test_stock_perf_unwinds_copied_stacks_down_to_main_and_beyond(self):
        self.run_here("record", "-q", "--call-graph", "dwarf", "-e", "instructions:ppp", "-c", "50021", *tool.SHORT_LOOP)
        result = subprocess.run(["perf", "script", "-F", "ip,sym"], cwd=self.folder, capture_output=True, text=True,
                                check=False)
        chains = [chain for chain in result.stdout.split("\n\n") if chain.strip()]
        outermost = [chain for chain in chains if "__libc_start_call_main" in chain]
        self.assertGreater(len(outermost), 0.8 * len(chains), f"{len(chains)} chains")


if __name__ == "__main__":
    tool.main()
