"""record -D and --control: which samples are kept, by their times.   recorded_times_test.py ZEROSKID"""
import os
import random
import re
import subprocess
import unittest

import tool

SEED = random.randrange(1 << 32)
#: Runs, asks for samples, runs, asks for no more, runs; says when it had the two answers.
ASKS = """
import os, sys, time
commands, answers = (os.open(sys.argv[1], os.O_WRONLY), os.open(sys.argv[2], os.O_RDONLY))
def run():
    for i in range(200000): pass
def ask(word):
    os.write(commands, word + b"\\n")
    assert os.read(answers, 5).startswith(b"ack"), word
    return time.monotonic_ns()
run()
before = time.monotonic_ns(); enabled = ask(b"enable"); run(); asked = time.monotonic_ns(); disabled = ask(b"disable")
run()
ask(b"ping")
print(before, enabled, asked, disabled)
"""
RUNS = ["python3", "-c", "for i in range(400000): pass"]


class RecordedTimes(tool.InFolder):
    def times(self):
        """Of the samples, in nanoseconds."""
        done = self.run_here("script", "--ns", "-F", "time")
        return [int(a) * 10**9 + int(b) for a, b in re.findall(r"(\d+)\.(\d{9})", done.out)]

    def record(self, *words, **options):
        done = self.run_here("record", "-e", "instructions", "-c", "10007", *words, **options)
        self.assertEqual(done.status, 0, done.err)
        return done

    def test_samples_are_those_between_enable_and_disable(self):
        for name in ("commands", "answers"):
            os.mkfifo(self.folder / name)
        done = self.record("-D", "-1", "--control", "fifo:commands,answers", "--", "python3", "-c", ASKS, "commands", "answers")
        before, enabled, asked, disabled = map(int, done.out.split())
        times = self.times()
        self.assertGreater(len(times), 50)
        self.assertLessEqual(before, min(times))
        self.assertLessEqual(max(times), disabled)
        self.assertGreater(sum(enabled <= time <= asked for time in times), len(times) * 0.9)
        self.assertRegex(done.err, r"[\d,]+ samples, [\d,]+ of other times left out")

    def test_commands_come_by_a_descriptor_too(self):
        ours, theirs = os.pipe()
        os.write(theirs, b"disable\nnonsense\n")
        done = self.record("--control", f"fd:{ours}", "-v", *RUNS, pass_fds=[ours])
        os.close(theirs)
        self.assertIn("'nonsense' is none of enable, disable, stop, ping", done.err)
        self.assertIn("of other times left out", done.err)

    def test_a_delay_and_spans_are_milliseconds_of_the_program(self):
        chance = random.Random(SEED)
        whole = self.record("--virtual-time", *RUNS) and self.times()
        first, last = chance.randrange(2, 8), chance.randrange(9, 12)
        for words, wanted in ((f"{first}", lambda ms: ms >= first),
                              (f"1-{first},{last}-{last + 4}", lambda ms: 1 <= ms < first or last <= ms < last + 4)):
            with self.subTest(seed=SEED, delay=words):
                self.record("--virtual-time", "-D", words, *RUNS)
                kept = self.times()
                self.assertEqual(kept, [time for time in whole if wanted(time / 1e6)])
                self.assertTrue(0 < len(kept) < len(whole))

    def test_what_is_no_time_or_place_is_refused(self):
        for words in (("-D", "x"), ("-D", "20-10"), ("-D", "10-20,15-30"), ("-D", "10,20-30"), ("--control", "fd:x"),
                      ("--control", "fifo:/nonexistent"), ("--control", "file:x"), ("--control", "fd:0,1,2")):
            done = self.run_here("record", *words, "true")
            self.assertEqual(done.status, 129, words)
            self.assertIn(f"{words[0]} {words[1]}: ", done.err)

    def test_the_highest_frequency_is_the_kernels(self):
        done = self.run_here("record", "-F", "max", "true")
        most = subprocess.run(["cat", "/proc/sys/kernel/perf_event_max_sample_rate"], capture_output=True, text=True, check=False)
        said = self.run_here("script", "--header-only").out
        self.assertEqual(done.status, 0)
        self.assertIn(f"sample_freq }} = {most.stdout.strip() or 100000},", said)

    def test_more_of_the_stack_than_a_sample_holds_is_said(self):
        done = self.run_here("record", "--call-graph", "dwarf,65528", "true")
        self.assertEqual(done.status, 0)
        self.assertIn("a sample has room for 57344 bytes of the stack", done.err)
        self.assertNotIn("has room", self.run_here("record", "--call-graph", "dwarf,1001", "true").err)
        self.assertEqual(self.run_here("record", "--call-graph", "dwarf,65536", "true").status, 129)


if __name__ == "__main__":
    tool.main()
