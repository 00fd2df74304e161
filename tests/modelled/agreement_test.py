"""One event, one number: whatever way an event is asked for, samples and counts say the same of it.
  agreement_test.py ZEROSKID GUESTS                events and ways drawn by a fresh seed, which is printed, for SECONDS
  agreement_test.py ZEROSKID GUESTS --seed N       those of that seed again
  agreement_test.py ZEROSKID GUESTS --all          every event, precision and way of every CPU model that has a core
"""
import collections
import json
import pathlib
import random
import sys
import tempfile
import time
import unittest

import tool

SECONDS = 60
PROGRAMS = [("known_loop",), ("qsort_static",), ("waiting_kernels",)]
#: What an event may occur in one instruction beyond the occurrence that is recorded, which is not counted into the next period
#: (docs/architecture.md, the arming rule).
MOST_AT_ONCE = 16
#: They count nothing.
SAMPLE_ONLY = ("intel_bts//", "ibs_op//", "ibs_fetch//")
#: No event of an instruction, and yet recorded with the one that retirement waits for.
TIME = ("cycles", "bus-cycles", "cpu_clk_unhalted.thread")

#: Instructions, branches and time of the core begin with this part of the wanted distance and not with 1
#: (docs/formats/perf-data.md), so that a shorter run has no sample of them.
INSTRUCTIONS_PER_SECOND, FIRST_PART, DEFAULT_FREQUENCY = 10**9, 64, 4000
FREQUENT = ("instructions", "branch-instructions", "cycles", "ref-cycles", "slots")

ALL = False
SEED = None

Case = collections.namedtuple("Case", "model program event precision way")


def events_of(model):
    """{name: highest precision} of the events that are counted and can be sampled."""
    listed = json.loads(tool.zeroskid("list", "--json", "--cpu", model).stdout)["events"]
    precise = {event["name"] for event in listed if event.get("precise", "no") != "no" or (event["name"] in TIME and model != "zen4")}
    return {event["name"]: 3 if event["name"] in precise else 0 for event in listed
            if event["class"] in ("exact", "modelled") and event["name"] not in SAMPLE_ONLY}


def frequent_of(model):
    """The names of those that mean instructions, branches or time of the core."""
    listed = json.loads(tool.zeroskid("list", "--json", "--cpu", model).stdout)["events"]
    configs = {event.get("config") for event in listed if event["name"] in FREQUENT} - {None}
    return {event["name"] for event in listed
            if event.get("config") in configs or event["name"].startswith(("inst_retired.", "cpu_clk_unhalted.thread"))}


def in_strings(case, counted):
    """What string instructions bring beyond one occurrence each, where an event counts micro-operations: the event of that name of another
    model counts instructions."""
    if case.model != "haswell" or tool.zeroskid("stat", "--cpu", "skylake-server", "-e", case.event, "--", "true").returncode:
        return 0
    return max(counted - tool.numbers([case.event], tool.guest(*case.program), "--cpu", "skylake-server", "--virtual-time")[case.event], 0)


def first_period(case):
    """What a run without a sample may have had of the event, and a little more."""
    words = ways()[case.way]
    if "-c" in words:
        return int(words[words.index("-c") + 1])
    frequency = int(words[words.index("-F") + 1]) if "-F" in words else DEFAULT_FREQUENCY
    return max(INSTRUCTIONS_PER_SECOND // frequency // FIRST_PART, 1) if case.event in frequent_of(case.model) else 1


def ways():
    """{name: the words for record}; with None the words for stat."""
    return {"-c 1009": ["-c", "1009"], "-F 20000": ["-F", "20000"], "default": [], "-F max": ["-F", "100000"],
            "-I": None, "--per-thread": None, "report": ["-F", "20000"]}


def spelled(event, precision):
    if not precision:
        return event
    marks = "p" * precision
    return f"{event[:-1]},{'precise=' + str(precision)}/" if event.endswith("/") else f"{event}:{marks}"


class Agreement(unittest.TestCase):
    def counted(self, case):
        return tool.numbers([case.event], tool.guest(*case.program), "--cpu", case.model, "--virtual-time")[case.event]

    def intervals(self, case):
        """The sum of stat's windows, or of its threads."""
        words = ["-I", "100000"] if case.way == "-I" else ["--per-thread"]
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder) / "rows"
            ran = tool.zeroskid("stat", "-j", "-o", output, "--detail", "complete", "--virtual-time", "--cpu", case.model, *words, "-e",
                                case.event, "--", *tool.guest(*case.program))
            self.assertEqual(ran.returncode, 0, ran.stderr)
            rows = [json.loads(line) for line in output.read_text().splitlines()]
        return sum(round(float(row["counter-value"])) for row in rows if row.get("event") == case.event)

    def sampled(self, case):
        """The periods of the samples."""
        with tempfile.TemporaryDirectory() as folder:
            ran = tool.zeroskid("record", "-q", "--detail", "complete", "--virtual-time", "-o", "d", "--cpu", case.model, "-e",
                                spelled(case.event, case.precision), *ways()[case.way], "--", *tool.guest(*case.program), folder=folder)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            if case.way != "report":
                return [int(period) for period in tool.zeroskid("script", "-i", "d", "-F", "period", folder=folder).stdout.split()]
            shown = tool.zeroskid("report", "-i", "d", "--stdio", "--sort=symbol", "--show-total-period", "-g", "none", folder=folder).stdout
            rows = [line.split() for line in shown.splitlines() if line.strip() and not line.startswith("#")]
            return [int(row[1].replace(",", "")) for row in rows]

    def check(self, case):
        counted = self.counted(case)
        if ways()[case.way] is None:
            self.assertEqual(self.intervals(case), counted, case)
            return
        periods = self.sampled(case)
        stands_for, longest, samples = sum(periods), max(periods) if periods else first_period(case), len(periods)
        if case.way == "-c 1009" and case.precision:
            stands_for += samples  # the one that arming takes is in no period there
        # Behind the last sample a period may have begun, and one that follows the program grows by up to an eighth.
        if not case.way.startswith("-c"):
            longest += longest // 8 + 1
        missing = counted - stands_for
        self.assertGreaterEqual(missing, -samples, case)
        most = longest + 1 + samples * MOST_AT_ONCE
        if missing > most and case.precision:
            most += in_strings(case, counted)
        self.assertLessEqual(missing, most, f"{case}: counted {counted}, samples stand for {stands_for}")

    def cases(self):
        models = {model: events_of(model) for model in tool.CORES}
        return [Case(model, program, event, precision, way) for model, events in models.items() for event, most in events.items()
                for program in PROGRAMS for way, words in ways().items()
                for precision in (range(most + 1) if words is not None else [0])]

    def test_every_way_says_the_same(self):
        cases = self.cases()
        if not ALL:
            seed = SEED if SEED is not None else random.SystemRandom().randrange(1 << 32)
            print(f"agreement_test.py --seed {seed}", flush=True)
            random.Random(seed).shuffle(cases)
            # Time at every precision is looked at each time: it goes another way than all others.
            cases = [Case("skylake-server", PROGRAMS[1], "cycles", precision, "default") for precision in range(4)] + cases
        end, done = time.monotonic() + SECONDS, 0
        for case in cases:
            if not ALL and time.monotonic() > end:
                break
            done += 1
            with self.subTest(case=case):
                self.check(case)
        print(f"{done} of {len(cases)} cases", flush=True)
        self.assertGreater(done, 4)


if __name__ == "__main__":
    words = sys.argv[3:]
    ALL = "--all" in words
    if "--seed" in words:
        SEED = int(words[words.index("--seed") + 1])
    sys.argv[3:] = []
    tool.main()
