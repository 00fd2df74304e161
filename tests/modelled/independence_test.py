"""What is counted of an event does not depend on what else is counted, nor on windows, nor on whether it is sampled: on its modelled
core a program takes one course. Of several threads that is held but for samples that show registers or stacks, and for overflows of time (docs/models/machine.md)."""
import json
import os
import random
import tempfile
import unittest

import tool

#: One thread; two that fight over lines; eight that meet at locks, conditions and barriers.
PROGRAMS = {"one thread": ["qsort_static"], "two threads": ["threads_sharing", "2"], "eight threads": ["threads_sharing", "8"]}
HITM, RFO = "mem_load_l3_hit_retired.xsnp_hitm", "l2_rqsts.rfo_miss"
#: What is said where threads take another course than without samples.
ANOTHER_COURSE = "threads fight over cache lines"


def modelled_events():
    """Of what `list` shows as modelled on the default CPU model, one name for each encoding: {name: its entry in the list}."""
    listed = json.loads(tool.zeroskid("list", "--json").stdout)["events"]
    # Each threshold of the load-latency event needs the facility to itself, and tags loads instead of counting them.
    modelled = [event for event in listed if event["class"] == "modelled" and event["config"] != "0x1cd"]
    return {event["name"]: event for event in {event["config"]: event for event in modelled}.values()}


def counted(events, program, *options):
    return tool.numbers(events, program, "--virtual-time", *options)


def dealt(events, chance):
    """Pairs and triples of all events, each in one of them."""
    left = sorted(events)
    chance.shuffle(left)
    while left:
        size = chance.choice((2, 3))
        yield left[:size]
        left = left[size:]


def recorded(event, period, program, *options):
    """PERIOD of each sample, and what was said."""
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "perf.data")
        ran = tool.zeroskid("record", "--detail", "complete", "--virtual-time", *options, "-e", event, "-c", period, "-o", data, "--",
                            *program)
        assert ran.returncode == 0, ran.stderr
        return [int(line) for line in tool.zeroskid("script", "-i", data, "-F", "period").stdout.split()], " ".join(ran.stderr.split())


def sampled(event, period, program):
    return recorded(event, period, program)[0]


class Independence(unittest.TestCase):
    def setUp(self):
        self.events = modelled_events()
        self.assertGreater(len(self.events), 70)
        self.assertIn(HITM, self.events)
        self.assertIn(RFO, self.events)

    def test_every_event_counts_in_a_pair_or_triple_what_it_does_with_all_others(self):
        chance = random.Random(33)
        for what, words in PROGRAMS.items():
            program = tool.guest(*words)
            all_at_once = counted(self.events, program)
            for events in dealt(self.events, chance):
                with self.subTest(program=what, events=events):
                    self.assertEqual(counted(events, program), {event: all_at_once[event] for event in events})

    def test_sharing_counts_the_same_alone_and_with_cycles(self):
        for words in PROGRAMS.values():
            program = tool.guest(*words)
            for event in (HITM, RFO):
                with self.subTest(program=program, event=event):
                    self.assertEqual(counted([event], program)[event], counted([event, "cycles"], program)[event])
        self.assertGreater(counted([HITM], tool.guest("threads_sharing", "2"))[HITM], 100)

    def windows_sum_to(self, whole, program, length, *options):
        """What each event is in windows of that length, against {event: number}."""
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "windows")
            ran = tool.zeroskid("stat", "--virtual-time", *(options or ("--detail", "complete")), "-I", length, "-x,", "-o", output,
                                "-e", ",".join(whole), "--", *program)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            with open(output, encoding="ascii") as file:
                rows = [line.split(",") for line in file if not line.startswith("#")]
        for event in whole:
            with self.subTest(event=event, windows=length, program=program):
                parts = [float(row[row.index(event) - 2]) for row in rows if event in row]
                self.assertGreater(len(parts), 5)
                self.assertEqual(sum(parts), whole[event])

    def test_windows_change_nothing_of_any_event(self):
        for words in PROGRAMS.values():
            program = tool.guest(*words)
            whole = counted(self.events, program)
            for length in ("50000i", "7777i", "1000:branches"):
                self.windows_sum_to(whole, program, length)

    def test_windows_change_nothing_beside_exact_counts_of_memory(self):
        """REP strings then run alone, so that the elements of each are in their window."""
        for words in (PROGRAMS["two threads"], ["threads_strings"]):
            program = tool.guest(*words)
            whole = counted([HITM, RFO, "mem_inst_retired.all_loads", "mem_inst_retired.all_stores"], program)
            for length in ("3333i", "500:mem_inst_retired.all_loads", "20:mem_load_retired.l1_miss"):
                self.windows_sum_to(whole, program, length)

    def test_windows_that_modelled_events_end_change_nothing(self):
        """Threads' cores play later than the threads run, and windows end where the cores have got to."""
        events = [HITM, RFO, "mem_load_retired.l1_miss", "br_misp_retired.all_branches", "cycles", "instructions"]
        for words in PROGRAMS.values():
            program = tool.guest(*words)
            whole = counted(events, program)
            for length in ("11:" + RFO, "7:mem_load_retired.l1_miss", "400:mem_load_retired.l1_hit"):
                self.windows_sum_to(whole, program, length)

    def test_samples_without_registers_stand_for_what_threads_are_counted(self):
        """Of each event whose samples need not stop a thread: of those of time that is not so, and it is said. A thread's last ones make
        no sample."""
        chance = random.Random(35)
        left_out = 0
        for words, threads in ((PROGRAMS["two threads"], 3), (PROGRAMS["eight threads"], 9)):
            program = tool.guest(*words)
            whole = counted(self.events, program)
            for event in sorted(self.events)[::1 if threads == 3 else 4]:
                listed = self.events[event]
                precise = ":pp" if listed.get("precise", "no") != "no" else ""
                period = max(min(chance.randrange(11, 700), whole[event] // 50), 1)
                if whole[event] // period > 10_000:
                    period = whole[event] // 5000
                samples, said = recorded(event + precise, period, program, "--intr-regs=none")
                if ANOTHER_COURSE in said:
                    left_out += 1
                    continue
                each = period + (1 if precise else 0)
                with self.subTest(program=words, event=event + precise, period=period, counted=whole[event]):
                    stand_for = sum(samples) // period * each
                    self.assertLessEqual(stand_for, whole[event])
                    self.assertGreater(stand_for, whole[event] - threads * each)
        self.assertLess(left_out, 0.6 * len(self.events))

    def test_samples_without_registers_are_those_with_registers(self):
        """Of one thread: with registers the thread waits for its core at each overflow, and its registers come from a log."""
        program = tool.guest("qsort_static")
        fields = {"-d": "addr,data_src", "-W": "weight"}
        for event, options in (("mem_load_retired.l1_miss:pp", ("-d", "-W")), ("mem_load_retired.l1_hit:pp", ("-d", "-W")),
                               ("mem_trans_retired.load_latency_gt_4:pp", ("-d", "-W")), ("br_misp_retired.all_branches:pp", ()),
                               ("br_misp_retired.all_branches", ()), ("l1d.replacement", ()), ("icache_64b.iftag_miss", ())):
            with self.subTest(event=event), tempfile.TemporaryDirectory() as folder:
                shown = []
                for registers in ("--intr-regs", "--intr-regs=none"):
                    data = os.path.join(folder, "perf.data")
                    ran = tool.zeroskid("record", "-q", "--detail", "complete", "--virtual-time", *options, registers, "-e", event, "-c", 13,
                                        "-o", data, "--", *program)
                    self.assertEqual(ran.returncode, 0, ran.stderr)
                    wanted = ",".join(["tid,time,period,ip", *(fields[option] for option in options)])
                    shown.append(tool.zeroskid("script", "-i", data, "-F", wanted).stdout.splitlines())
                self.assertEqual(*shown)
                self.assertGreater(len(shown[0]), 5)

    def test_samples_of_any_event_at_any_period_stand_for_what_is_counted(self):
        """By interrupt and, where the event has it, by PEBS, whose overflow arms and whose next occurrence is recorded: N + 1 to a sample."""
        chance = random.Random(34)
        program = tool.guest("qsort_static")
        whole = counted(self.events, program)
        for event, listed in self.events.items():
            for precise in {"no": [""], "only": [":pp"]}.get(listed.get("precise", "no"), ["", ":pp"]):
                most = max(whole[event] // 3, 1)
                period = min(chance.choice((chance.randrange(2, 50), chance.randrange(50, 3000))), most)
                if whole[event] // period > 20_000:
                    period = chance.randrange(101, 1009)
                with self.subTest(event=event + precise, period=period, counted=whole[event]):
                    each = period + (1 if precise else 0)
                    self.assertEqual(sum(sampled(event + precise, period, program)) // period * each, whole[event] // each * each)

    def test_says_where_threads_take_another_course_than_without_samples(self):
        with tempfile.TemporaryDirectory() as folder:
            data = os.path.join(folder, "perf.data")

            def said(program, *verb):
                ran = tool.zeroskid(*verb, "--", *tool.guest(*program))
                self.assertEqual(ran.returncode, 0, ran.stderr)
                return ANOTHER_COURSE in " ".join(ran.stderr.split())

            record = ["record", "--detail", "complete", "-e", HITM + ":pp", "-c", "101", "-o", data]
            self.assertTrue(said(PROGRAMS["two threads"], *record))
            self.assertFalse(said(PROGRAMS["two threads"], *record, "--intr-regs=none"))
            self.assertTrue(said(PROGRAMS["two threads"], *record, "--intr-regs=none", "-g"))
            self.assertFalse(said(PROGRAMS["two threads"], "stat", "-e", HITM, "-I", "100:" + HITM))
            self.assertTrue(said(PROGRAMS["two threads"], "stat", "-e", HITM, "-I", "10000:cycles"))
            self.assertFalse(said(PROGRAMS["two threads"], "stat", "-e", HITM, "-I", "50000i"))
            self.assertFalse(said(PROGRAMS["two threads"], "stat", "--detail", "complete", "-e", HITM))
            self.assertFalse(said(PROGRAMS["one thread"], *record))

    def test_cycles_sampled_with_pebs_stand_for_what_is_counted(self):
        program = tool.guest("qsort_static")
        cycles = counted(["cycles"], program)["cycles"]
        for period in (1009, 10007):
            with self.subTest(period=period):
                # The cycles of the last block come as it ends, with up to five lines from memory; an overflow in them arms, and nothing is
                # left to record.
                self.assertAlmostEqual(sum(sampled("cycles:pp", period, program)), cycles, delta=period + 5 * 300)


if __name__ == "__main__":
    tool.main()
