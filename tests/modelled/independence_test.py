"""What is counted of an event does not depend on what else is counted, nor on windows: on its modelled core a program takes one course."""
import json
import os
import random
import tempfile
import unittest

import tool

#: One thread; two that fight over lines; eight that meet at locks, conditions and barriers.
PROGRAMS = {"one thread": ["qsort_static"], "two threads": ["threads_sharing", "2"], "eight threads": ["threads_sharing", "8"]}
HITM, RFO = "mem_load_l3_hit_retired.xsnp_hitm", "l2_rqsts.rfo_miss"
SHARING = [HITM, RFO, "mem_load_retired.l1_hit", "mem_load_retired.fb_hit", "offcore_requests.demand_rfo"]
SETS = 20  # pairs and triples of each program, drawn by a fixed seed


def modelled_events():
    """What `list` shows as modelled on the default CPU model, under its own name."""
    listed = json.loads(tool.zeroskid("list", "--json").stdout)
    events = listed["events"] if isinstance(listed, dict) else listed
    # Each threshold of the load-latency event needs the facility to itself.
    return sorted(event["name"] for event in events
                  if event["class"] == "modelled" and "latency" not in event["name"])


def counted(events, program, *options):
    return tool.numbers(events, program, "--virtual-time", *options)


class Independence(unittest.TestCase):
    def setUp(self):
        self.events = modelled_events()
        self.assertGreater(len(self.events), 90)

    def together(self, program):
        return counted(self.events, program)

    def test_pairs_and_triples_count_what_all_together_do(self):
        chance = random.Random(33)
        for what, words in PROGRAMS.items():
            program = tool.guest(*words)
            all_at_once = self.together(program)
            drawn = [[event] for event in SHARING if event in all_at_once]
            drawn += [chance.sample(self.events, 2 + i % 2) for i in range(SETS)]
            for events in drawn:
                with self.subTest(program=what, events=events):
                    self.assertEqual(counted(events, program), {event: all_at_once[event] for event in events})

    def test_sharing_counts_the_same_alone_and_with_cycles(self):
        for words in PROGRAMS.values():
            program = tool.guest(*words)
            for event in (HITM, RFO):
                with self.subTest(program=program, event=event):
                    self.assertEqual(counted([event], program)[event], counted([event, "cycles"], program)[event])
        self.assertGreater(counted([HITM], tool.guest("threads_sharing", "2"))[HITM], 100)

    def test_windows_change_nothing(self):
        events = [HITM, "mem_load_retired.l1_miss", "cycles"]
        program = tool.guest("qsort_static")
        whole = counted(events, program)
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "windows")
            ran = tool.zeroskid("stat", "--virtual-time", "-I", "50000i", "-x,", "-o", output, "-e", ",".join(events), "--", *program)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            with open(output, encoding="ascii") as file:
                rows = [line.split(",") for line in file if not line.startswith("#")]
        for event in events:
            with self.subTest(event=event):
                parts = [float(row[row.index(event) - 2]) for row in rows if event in row]
                self.assertGreater(len(parts), 5)
                self.assertEqual(sum(parts), whole[event])

    def test_a_sampled_counter_counts_what_it_does_unsampled(self):
        program = tool.guest("qsort_static")
        events = ["mem_load_retired.l1_miss", "mem_load_retired.fb_hit", "br_misp_retired.all_branches"]
        whole = counted(events, program)
        for event in events:
            for period in (101, 1009):
                with self.subTest(event=event, period=period), tempfile.TemporaryDirectory() as folder:
                    data = os.path.join(folder, "perf.data")
                    ran = tool.zeroskid("record", "-q", "--virtual-time", "-e", event + ":pp", "-c", period, "-o", data, "--", *program)
                    self.assertEqual(ran.returncode, 0, ran.stderr)
                    samples = len(tool.zeroskid("script", "-i", data, "-F", "ip").stdout.splitlines())
                    # The overflow arms, the next one is recorded: N + 1 to a sample.
                    self.assertEqual(samples, whole[event] // (period + 1))


if __name__ == "__main__":
    tool.main()
