"""Estimates of runs of which units were modelled: what is exact stays exact, intervals hold the complete value, and a seed repeats."""
import csv
import json
import math
import os
import re
import tempfile
import unittest

import tool

EXACT = ["instructions", "branches", "mem_inst_retired.all_loads", "mem_inst_retired.all_stores"]
ESTIMATED = ["cycles", "uops_retired.retire_slots", "br_misp_retired.all_branches", "mem_load_retired.l1_miss"]
RARE = "dtlb_load_misses.miss_causes_a_walk"
#: Small units, so that a short program has hundreds.
SAMPLED = ["--detail", "sampled", "--units", "2000:2000:8000:16000"]


def program(rounds=25):
    return tool.guest("mixed_work", str(rounds))


def rows(*options, rounds=25, command=None):
    """What stat -j prints: {event: its object}."""
    with tempfile.TemporaryDirectory() as folder:
        ran = tool.zeroskid("stat", "-j", "-o", f"{folder}/counts", "--virtual-time", *options, "--", *(command or program(rounds)))
        assert ran.returncode == 0, ran.stderr
        with open(f"{folder}/counts", encoding="ascii") as file:
            return {row["event"]: row for row in map(json.loads, file) if "event" in row}


def between_units(value, half, sampled=1):
    """The part of an interval of cycles that follows from how units differ: without what warm-ups leave out of what is sampled."""
    return math.sqrt(max(half ** 2 - (0.04 * sampled * value) ** 2, 0))


class Estimates(unittest.TestCase):
    def test_the_interval_contains_what_a_complete_run_counts(self):
        """Of 16 intervals of 95 % one may miss, but not by more than its width again."""
        complete = rows("--detail", "complete", "-e", ",".join(ESTIMATED))
        missed = []
        for seed in (1, 2, 3, 4):
            sampled = rows(*SAMPLED, "--seed", seed, "-e", ",".join(ESTIMATED))
            for event in ESTIMATED:
                row = sampled[event]
                self.assertEqual((row["class"], complete[event]["class"]), ("estimated", "modelled"))
                self.assertTrue(5 < row["detail-percent"] < 40, row)
                true, half = float(complete[event]["counter-value"]), row["half-width"]
                off = abs(float(row["counter-value"]) - true)
                self.assertLess(half, (0.3 if event == "br_misp_retired.all_branches" else 0.15) * true, (event, seed))
                self.assertLess(off, 2 * half, (event, seed, row, true))
                if off > half:
                    missed.append((event, seed, off / half))
        self.assertLessEqual(len(missed), 1, missed)

    def test_exact_events_are_what_they_are_without_a_model(self):
        alone, beside = rows("-e", ",".join(EXACT)), rows(*SAMPLED, "-e", ",".join(EXACT + ESTIMATED))
        for event in EXACT:
            self.assertEqual(beside[event]["counter-value"], alone[event]["counter-value"])
            self.assertEqual(beside[event]["class"], "exact")
            self.assertNotIn("half-width", beside[event])

    def test_hard_cases_count_exactly_with_units_of_fifty_instructions(self):
        """REP strings, signals, forks, self-modifying code and exceptions, at the edges of thousands of units."""
        for guest in ("rep_strings", "fp_kernels", "setjmp_longjmp", "signal_nested", "fork_basic", "smc_patched_loop", "trap_flag"):
            with self.subTest(guest):
                alone = rows("-e", ",".join(EXACT), command=tool.guest(guest))
                beside = rows("--detail", "sampled", "--units", "50:50:200:400:0", "-e", ",".join([*EXACT, "cycles"]), command=tool.guest(guest))
                for event in EXACT:
                    self.assertEqual(beside[event]["counter-value"], alone[event]["counter-value"], event)
                self.assertEqual(beside["cycles"]["class"], "estimated")

    def test_a_seed_repeats_and_another_one_does_not(self):
        def page(seed):
            ran = tool.zeroskid("stat", "--virtual-time", *SAMPLED, "--seed", seed, "-e", ",".join(EXACT + ESTIMATED), *program())
            self.assertEqual(ran.returncode, 0, ran.stderr)
            return ran.stderr.split("seconds time elapsed")[0].rsplit("\n", 1)[0]
        first = page(7)
        self.assertEqual(page(7), first)
        self.assertNotEqual(page(8), first)

    def test_a_seed_repeats_with_and_without_a_translation_cache(self):
        """The file names its command, so that the cache is full or empty in one place."""
        def recorded(folder):
            ran = tool.zeroskid("record", "-q", "--virtual-time", *SAMPLED, "--cache-dir", f"{folder}/cache", "-e", "cycles", "-c", "20011",
                                "-o", "r.data", *program(), folder=folder)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            with open(f"{folder}/r.data", "rb") as file:
                return file.read()
        with tempfile.TemporaryDirectory() as folder:
            without = recorded(folder)
            counted = tool.zeroskid("stat", "-e", "instructions", "--cache-dir", f"{folder}/cache", *program(), folder=folder)
            self.assertEqual(counted.returncode, 0, counted.stderr)
            self.assertNotEqual(os.listdir(f"{folder}/cache"), [])
            self.assertEqual(recorded(folder), without)

    def test_a_recording_repeats_byte_for_byte_and_says_what_was_done(self):
        def recorded(folder):
            ran = tool.zeroskid("record", "--virtual-time", *SAMPLED, "-e", "cycles", "-c", "20011", "-o", "r.data", *program(),
                                folder=folder)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            return ran.stderr, tool.zeroskid("script", "-i", "r.data", "-F", "time,event,ip,period", folder=folder).stdout
        with tempfile.TemporaryDirectory() as folder:
            said, samples = recorded(folder)
            self.assertEqual(recorded(folder), (said, samples))
            header = tool.zeroskid("report", "--header", "-i", "r.data", folder=folder).stdout
            report = tool.zeroskid("report", "-i", "r.data", folder=folder).stdout
        done = r"the first 2,000,000 instructions, then units of 2,000"
        self.assertRegex(said, rf"\[ zeroskid record: in detail: {done} \(\d+ % of the run\); samples of estimates are taken there, "
                               "and their periods scaled \\]\n")
        self.assertRegex(header, rf"# zeroskid: units = {done}; samples of estimates are taken there, and their periods scaled\n")
        self.assertRegex(header, r"# zeroskid: in detail = \d+ % of the run\n")
        self.assertRegex(report, rf"# Class: estimated by skylake-server@1\n# In detail: \d+ % of the run: {done}; ")
        periods = [int(line.split()[1]) for line in samples.splitlines()]
        self.assertGreater(len(set(periods)), 1, "periods are scaled by what a unit stands for")
        cycles = float(rows(*SAMPLED, "-e", "cycles")["cycles"]["counter-value"])
        self.assertLess(abs(sum(periods) / cycles - 1), 0.1, "and add up to the estimate")

    def test_data_sources_of_an_exact_event_are_known_in_units_and_the_recording_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            ran = tool.zeroskid("record", "-d", "-e", "mem_inst_retired.all_stores:pp", "-e", "cycles", *SAMPLED, "-c", "1009",
                                "-o", "r.data", *program(), folder=folder)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            header = tool.zeroskid("report", "--header", "-i", "r.data", folder=folder).stdout
        self.assertIn("# Class: exact, its data sources modelled in units by skylake-server@1\n", header)

    def test_accesses_are_sampled_in_units_and_stand_for_the_whole_run(self):
        with tempfile.TemporaryDirectory() as folder:
            ran = tool.zeroskid("mem", "record", "-t", "store", *SAMPLED, "-c", "1009", "-o", "r.data", *program(), folder=folder)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            header = tool.zeroskid("report", "--header", "-i", "r.data", folder=folder).stdout
            script = tool.zeroskid("script", "-F", "period,data_src", "-i", "r.data", folder=folder).stdout
        self.assertRegex(ran.stderr, r"in detail: the first 2,000,000 instructions, then units of 2,000 \(\d+ % of the run\)")
        self.assertRegex(header, r"# zeroskid: in detail = \d+ % of the run\n")
        self.assertIn("# Class: estimated by skylake-server@1\n", header)
        samples = [line.split(maxsplit=1) for line in script.splitlines()]
        self.assertGreater(len({period for period, _ in samples}), 1, "scaled by what a unit stands for")
        self.assertFalse([source for _, source in samples if "OP STORE|LVL L1" not in source], "each knows its source")
        stores = int(float(rows("-e", "mem_inst_retired.all_stores")["mem_inst_retired.all_stores"]["counter-value"]))
        self.assertLess(abs(sum(int(period) for period, _ in samples) / stores - 1), 0.1)

    def test_units_tag_more_loads_so_that_a_report_has_as_many_samples_as_that_of_a_complete_run(self):
        def periods(*options):
            with tempfile.TemporaryDirectory() as folder:
                ran = tool.zeroskid("mem", "record", "-q", "-t", "load", "--ldlat", "3", "-c", "1", "--virtual-time", "-o", "r.data", *options,
                                    *program(), folder=folder)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                return [int(period) for period in tool.zeroskid("script", "-F", "period", "-i", "r.data", folder=folder).stdout.split()]
        complete, sampled = periods("--detail", "complete"), periods(*SAMPLED)
        # Each record has one load in front that arms for it, which periods of what is complete leave out, as perf does.
        self.assertLess(abs(sum(max(period, 2) for period in sampled) / (2 * len(complete)) - 1), 0.1)
        self.assertGreater(len(sampled), 0.7 * len(complete), "though a quarter of the run at most is modelled")

    def test_behaviour_that_changes_is_met_wherever_it_lies(self):
        """A turn as long as the period, long turns, and a slow stretch that comes once: the estimate holds, and is less sure."""
        units = ["--detail", "sampled", "--units", "2000:2000:16000:16000:48000"]

        def cycles(fast, slow, turns, *options):
            row = rows(*options, "-e", "cycles", command=tool.guest("fast_and_slow", str(fast), str(slow), str(turns)))["cycles"]
            return float(row["counter-value"]), row.get("half-width")
        for fast, slow, turns in ((3998, 1600, 1000), (250_000, 100_000, 16), (5_000_000, 150_000, 1)):
            with self.subTest(f"{turns} turns"):
                true, _ = cycles(fast, slow, turns, "--detail", "complete")
                estimates = [cycles(fast, slow, turns, *units, "--seed", seed) for seed in (1, 2, 3, 4)]
                for value, half in estimates:
                    self.assertLess(abs(value - true), 2 * half, (value, half, true))
                    self.assertTrue(0.002 * true < between_units(value, half) < 0.06 * true, (half, true))
                self.assertLess(sum(abs(value - true) > half for value, half in estimates), 3, estimates)
        def doubt(runs):
            return sum(between_units(value, half) / value for value, half in runs) / len(runs)
        steady = [cycles(5_000_000, 1, 1, *units, "--seed", seed) for seed in (1, 2, 3, 4)]
        self.assertLess(doubt(steady), 0.7 * doubt(estimates), "where nothing changes it is surer")

    def test_lines_that_other_instructions_brought_while_a_program_starts_are_where_they_are(self):
        """Loads find in the last level what stores brought that no second unit saw: none misses it."""
        events = ["mem_load_retired.l2_miss", "mem_load_retired.l3_miss"]

        def misses(*options):
            counted = rows(*options, "-e", ",".join(events), command=tool.guest("written_once"))
            return [0 if counted[event]["counter-value"].startswith("<") else float(counted[event]["counter-value"]) for event in events]
        complete, sampled = misses("--detail", "complete"), misses("--detail", "sampled", "--units", "2000:2000:16000:16000:0")
        self.assertGreater(complete[0], 40_000)
        self.assertLess(complete[1], 0.01 * complete[0])
        self.assertLess(abs(sampled[0] / complete[0] - 1), 0.3)
        self.assertLess(sampled[1], 0.25 * sampled[0], "95 % are, where only what asks beyond L2 is told of")

    def test_units_of_many_short_processes_lie_elsewhere_in_each(self):
        command = ["bash", "-c", "for i in {1..60}; do /bin/true; done"]
        sampled, complete = (float(rows("--detail", detail, "-e", "cycles", command=command)["cycles"]["counter-value"])
                             for detail in ("sampled", "complete"))
        # Units of the same places in each, which lie in the loader, say a quarter.
        self.assertTrue(complete / 3 < sampled < 3 * complete, (sampled, complete))

    def test_regions_have_estimates_of_their_own(self):
        def regions(*options):
            with tempfile.TemporaryDirectory() as folder:
                ran = tool.zeroskid("stat", "-j", "-o", f"{folder}/counts", "--virtual-time", *options, "-e", "cycles,instructions", "-M",
                                    "IPC", "--", *tool.guest("region_work", "250"))
                assert ran.returncode == 0, ran.stderr
                with open(f"{folder}/counts", encoding="ascii") as file:
                    lines = [row for row in map(json.loads, file) if "region" in row]
            return {(row["region"], row.get("event", row.get("metric-unit"))): row for row in lines}
        complete, sampled = regions("--detail", "complete"), regions(*SAMPLED)
        for region in ("walk", "add"):
            true, row = complete[region, "cycles"], sampled[region, "cycles"]
            self.assertEqual((true["class"], row["class"], row["entries"]), ("modelled", "estimated", 250))
            self.assertLess(abs(row["sum"] - true["sum"]), 2 * row["half-width"], row)
            self.assertLess(row["half-width"], 0.2 * row["sum"], row)
            self.assertNotIn("min", row, "of single entries units say nothing")
            self.assertEqual(sampled[region, "instructions"], complete[region, "instructions"])
            self.assertEqual(sampled[region, "IPC"]["metric-class"], "estimated")
        self.assertGreater(sampled["add", "IPC"]["metric-value"], 1.3 * sampled["walk", "IPC"]["metric-value"], "not the whole run's")
        page = tool.zeroskid("stat", *SAMPLED, "-e", "cycles", *tool.guest("region_work", "250")).stderr
        self.assertRegex(page, r"(?s) Region 'walk': 250 entries\n.* cycles +# estimated \( \+- [\d.]+ % \)\n")

    def test_windows_have_estimates_of_their_own(self):
        """Of a program whose kinds of work take turns: each window's number is of its own units, and their sum is the run's."""
        command = tool.guest("fast_and_slow", "250000", "100000", "8")

        def windows(*options):
            with tempfile.TemporaryDirectory() as folder:
                ran = tool.zeroskid("stat", "--virtual-time", "-I", "400000i", "--format", "csv", "-o", f"{folder}/w.csv", *options, "-e",
                                    "instructions,cycles", "--", *command)
                assert ran.returncode == 0, ran.stderr
                with open(f"{folder}/w.csv", encoding="ascii") as file:
                    return list(csv.DictReader(line for line in file if not line.startswith("#")))
        complete = windows("--detail", "complete")
        for seed in (1, 2):
            sampled = windows("--detail", "sampled", "--units", "2000:2000:8000:16000:48000", "--seed", seed)
            self.assertGreater(len(sampled), 12)
            missed, total = [], 0
            for true, row in zip(complete, sampled, strict=True):
                for exact in ("tid", "start", "end", "reason", "instructions"):
                    self.assertEqual(row[exact], true[exact])
                if row["reason"] == "end":
                    continue
                value, half, off = (int(row["cycles"]), int(row["cycles half-width"]),
                                    abs(int(row["cycles"]) - int(true["cycles"])))
                self.assertLess(half, 0.6 * value, row)
                self.assertLess(off, 2 * half, (row, true))
                missed += [row] if off > half else []
                total += value
            self.assertLess(len(missed), 1 + len(sampled) / 10, missed)
            true = sum(int(row["cycles"]) for row in complete)
            self.assertLess(abs(total - true), 0.06 * true)
        rates = [int(row["cycles"]) / int(row["instructions"]) for row in complete]
        self.assertGreater(max(rates), 3 * min(rates), "turns that windows do not see would show nothing")

    def test_windows_of_threads_are_each_ones_own(self):
        """Two threads, of which units hold parts: instructions are exact, and cycles estimates, of each."""
        with tempfile.TemporaryDirectory() as folder:
            ran = tool.zeroskid("stat", "--virtual-time", "-I", "100000i", "-j", "-o", f"{folder}/w.json", "--detail", "sampled", "--units",
                                "1000:1000:4000:8000:0", "-e", "instructions,cycles", "-M", "IPC", "--",
                                *tool.guest("threads_futex_ping_pong"))
            self.assertEqual(ran.returncode, 0, ran.stderr)
            with open(f"{folder}/w.json", encoding="ascii") as file:
                lines = [row for row in map(json.loads, file) if "event" in row and row["ended-by"] != "end"]
        cycles = [row for row in lines if row["event"] == "cycles"]
        self.assertGreater(len({row["tid"] for row in cycles}), 1)
        for row in cycles:
            self.assertEqual(row["class"], "estimated")
            self.assertGreater(float(row["counter-value"]), row["half-width"])
        for row in lines:
            if row["event"] == "instructions":
                self.assertEqual((row["counter-value"], row["class"]), ("100000.000000", "exact"))

    def test_windows_say_their_intervals_on_the_page_and_those_in_detail_have_none(self):
        page = tool.zeroskid("stat", "-I", "400000i", "--detail", "sampled", "--units", "2000:2000:8000:16000:1000000", "-e", "cycles", "-M",
                             "IPC", *program()).stderr.splitlines()
        self.assertIn("# in detail: the first 1,000,000 instructions, then units of 2,000", page)
        rows_ = [line for line in page if " 400000i " in line]
        for line in rows_[:2]:
            self.assertNotIn("+-", line)
        for line in rows_[3:]:
            self.assertRegex(line, r"400000i +[\d,]+  \+- [\d.]+ % +400,000( +[\d.]+  \+- [\d.]+ %)+$")

    def test_several_runs_take_other_units_each(self):
        once, often = (rows(*SAMPLED, "-e", "cycles", "-r", str(runs))["cycles"] for runs in (1, 8))
        self.assertNotEqual(once["counter-value"], often["counter-value"])
        between = [between_units(float(row["counter-value"]), row["half-width"], 0.75) for row in (once, often)]
        self.assertLess(between[1], 0.7 * between[0])

    def test_units_stay_dense_until_an_error_is_reached(self):
        thin, dense = (rows(*SAMPLED, *error, "-e", "cycles")["cycles"] for error in ([], ["--error", "0.1%"]))
        self.assertGreater(dense["detail-percent"], thin["detail-percent"] + 5)
        said = tool.zeroskid("stat", *SAMPLED, "--error", "20%", "-e", "cycles", *program())
        self.assertRegex(said.stderr, r"\n# in detail: .*\(\d+ % of the run\); \+- 20 % of cycles: reached\n")

    def test_a_budget_thins_units_out(self):
        """Nothing is held of the clock but that it is asked."""
        said = tool.zeroskid("stat", *SAMPLED, "--budget", "2x", "-e", "cycles", *program())
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertRegex(said.stderr, r"\n# in detail: .*; as many as 2 times native allows\n")

    def test_what_cannot_be_asked_of_units_is_refused_by_name(self):
        for options, message in ((["--budget", "1x"], "--budget 1x: cannot be kept"),
                                 (["--budget", "x"], "--budget x: not a number of times native"),
                                 (["--error", "0"], "--error 0: cannot be asked for"),
                                 (["--error", "2%", "--budget", "3x"], "--error and --budget exclude each other"),
                                 (["--budget", "3x", "--virtual-time"], "--budget and --virtual-time exclude each other")):
            ran = tool.zeroskid("stat", "--detail", "sampled", *options, "-e", "cycles", *program())
            self.assertEqual(ran.returncode, 129, ran.stderr)
            self.assertIn(f"zeroskid: {message}", ran.stderr)
        ran = tool.zeroskid("stat", "--detail", "complete", "--budget", "3x", "-e", "cycles", *program())
        self.assertEqual(ran.returncode, 129, ran.stderr)
        self.assertIn("zeroskid: --budget 3x: no units are taken\n", ran.stderr)

    def test_a_recording_of_a_program_that_ends_early_has_no_estimates(self):
        with tempfile.TemporaryDirectory() as folder:
            ran = tool.zeroskid("mem", "record", "-o", "m.data", "--", "/bin/true", folder=folder)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            report = tool.zeroskid("mem", "report", "-i", "m.data", folder=folder).stdout
        self.assertIn("# Class: modelled by ", report)
        self.assertNotIn("estimated", report)

    def test_a_program_that_ends_early_is_complete(self):
        row, whole = (rows(*options, "-e", "cycles", rounds=1)["cycles"] for options in (SAMPLED, ["--detail", "complete"]))
        self.assertEqual(row["class"], "modelled")
        self.assertEqual(row["counter-value"], whole["counter-value"])
        self.assertNotIn("half-width", row)

    def test_what_is_seen_too_rarely_has_no_number(self):
        row = rows(*SAMPLED, "-e", RARE)[RARE]
        self.assertEqual((row["counter-value"], row["class"], row["half-width"]), ("<not counted>", "estimated", None))
        self.assertRegex(row["too-few"], "^(below [0-9,]+|seen (once|[0-9]+ times))$")

    def test_shares_of_slots_have_intervals_and_add_up(self):
        ran = tool.zeroskid("topdown", "-j", "-l", "1", "--virtual-time", *SAMPLED, *program())
        self.assertEqual(ran.returncode, 0, ran.stderr)
        page = json.loads(ran.stderr)
        self.assertAlmostEqual(sum(node["percent"] for node in page["nodes"]), 100, places=6)
        for node in page["nodes"]:
            self.assertEqual(node["class"], "estimated")
            self.assertTrue(0 < node["half-width"] < 7, node)
        complete = json.loads(tool.zeroskid("topdown", "-j", "-l", "1", "--virtual-time", "--detail", "complete", *program()).stderr)
        for node, true in zip(page["nodes"], complete["nodes"]):
            self.assertLess(abs(node["percent"] - true["percent"]), max(2 * node["half-width"], 1), node)

    def test_each_thread_has_its_own_interval(self):
        ran = tool.zeroskid("stat", "--per-thread", *SAMPLED, "-e", "cycles", *program())
        self.assertRegex(ran.stderr, r"mixed_work-\d+ +[\d,]+ +cycles +# estimated \( \+- [\d.]+ % \), \d+ % in detail\n")

    def test_the_page_says_what_was_in_detail(self):
        ran = tool.zeroskid("stat", *SAMPLED, "-e", "cycles", *program())
        self.assertRegex(ran.stderr, r"^# software PMU, .*\n# in detail: the first 2,000,000 instructions, then units of 2,000 "
                                     r"\(\d+ % of the run\)\n")
        said = tool.zeroskid("stat", "-v", *SAMPLED, "-e", "cycles", *program(1)).stderr
        self.assertRegex(said, r"^zeroskid: in detail: the first 2,000,000 instructions, then units of 2,000, about [\d.]+ times native")
        self.assertFalse(re.search("times native", tool.zeroskid("stat", *SAMPLED, "-e", "cycles", *program(1)).stderr))


if __name__ == "__main__":
    tool.main()
