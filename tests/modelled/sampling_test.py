"""Modelled events sample through PEBS: as often as they are counted, on instructions that can cause them, and the same each time."""
import collections
import re
import tempfile
import unittest

import tool


def samples(event, program, *options):
    """(ip, address) of each sample, in order."""
    with tempfile.TemporaryDirectory() as folder:
        ran = tool.zeroskid("record", "-q", "-o", "perf.data", "-e", event, *options, "--", *program, folder=folder)
        assert ran.returncode == 0, ran.stderr
        shown = tool.zeroskid("script", "-i", "perf.data", "-F", "ip,addr", folder=folder)
        assert shown.returncode == 0, shown.stderr
    return [tuple(re.findall(r"[0-9a-f]+", line)) for line in shown.stdout.splitlines() if line.strip()]


def by_instruction(event, program, *options):
    """{ip: samples}"""
    with tempfile.TemporaryDirectory() as folder:
        ran = tool.zeroskid("record", "-q", "-o", "perf.data", "-e", event, *options, "--virtual-time", "--", *program, folder=folder)
        assert ran.returncode == 0, ran.stderr
        return collections.Counter(tool.zeroskid("script", "-i", "perf.data", "-F", "ip", folder=folder).stdout.split())


class Sampling(unittest.TestCase):
    PROGRAM = ("qsort_static",)

    def test_as_many_samples_as_the_count_holds_periods(self):
        for event in ("mem_load_retired.l1_miss:pp", "br_misp_retired.conditional:pp", "l1d.replacement"):
            with self.subTest(event=event):
                program = tool.guest(*self.PROGRAM)
                name = event.partition(":")[0]
                counted = tool.numbers([name], program, "--virtual-time")[name]
                self.assertGreater(counted, 60)
                period = counted // 20
                # An ordinary PEBS event records one after each period.
                step = period + 1 if ":" in event else period
                self.assertEqual(len(samples(event, program, "-c", period, "--virtual-time")), counted // step)

    def test_what_instructions_issue_is_sampled_where_all_of_it_is(self):
        """Slots and uops are an instruction's own, not its block's: the shares by instruction are those of all occurrences."""
        program = tool.guest(*self.PROGRAM)
        every = by_instruction("instructions", program, "-c", 1)
        often = [ip for ip, times in every.items() if times > every.total() / 100]
        self.assertGreater(len(often), 30)
        for event, model in (("ex_ret_ops", "zen4"), ("uops_retired.retire_slots", "skylake-server"), ("uops_executed.thread", "skylake-server"),
                             ("uops_retired.any", "westmere")):
            taken = by_instruction(event, program, "-c", 97, "--model", model)
            self.assertGreater(taken.total(), 3000)
            for ip in often:
                with self.subTest(event=event, ip=ip):
                    # An instruction has none (the second of a fused pair) to five uops; the mean is about one.
                    self.assertLess(taken[ip] / taken.total(), 6 * every[ip] / every.total())
            named = sum(1 for ip in often if taken[ip] > 0.4 * taken.total() * every[ip] / every.total())
            self.assertGreater(named, 0.7 * len(often), event)

    def test_a_latency_threshold_of_nothing_is_one(self):
        program = tool.guest(*self.PROGRAM)
        for model, events in (("westmere", ["mem_inst_retired.latency_above_threshold_0",
                                            "mem_inst_retired.latency_above_threshold_4"]),
                              ("skylake-server", ["cpu/mem-loads,ldlat=0/", "cpu/mem-loads,ldlat=4/"])):
            with self.subTest(model=model):
                every, slow = (tool.numbers([event], program, "--cpu", model)[event] for event in events)
                self.assertGreater(every, 2 * slow)
                self.assertGreater(slow, 0)

    def test_cycles_are_sampled_as_often_with_records_as_with_interrupts(self):
        program = tool.guest(*self.PROGRAM)
        counted = tool.numbers(["cycles"], program, "--virtual-time")["cycles"]
        for event in ("cycles", "cycles:p", "cycles:pp"):
            for period in (1009, 10007):
                with self.subTest(event=event, period=period):
                    # Time is told at the end of a timing block, and a record is of the instruction after that. Only then is the
                    # counter loaded anew, so what passed between belongs to no period: at most some 32 instructions.
                    taken = len(samples(event, program, "-c", period, "--virtual-time"))
                    self.assertLessEqual(taken, counted / period + 1)
                    self.assertGreaterEqual(taken, 0.99 * counted / (period + 70 * event.count(":")) - 1)

    def test_last_branches_say_which_were_mispredicted(self):
        program = tool.guest(*self.PROGRAM)
        taken, mispredicted = "br_inst_retired.near_taken", "br_misp_retired.near_taken"
        with tempfile.TemporaryDirectory() as folder:
            def stacks(event, *options):
                ran = tool.zeroskid("record", "-q", "-b", "-o", "perf.data", "-e", event, *options, "--", *program,
                                    folder=folder)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                shown = tool.zeroskid("script", "-i", "perf.data", "-F", "ip,brstack", folder=folder).stdout
                rows = [line.split() for line in shown.splitlines() if line.strip()]
                return [(int(row[0], 16), [entry.split("/")[:3] for entry in row[1:]]) for row in rows]

            # Each sample is of a branch that was mispredicted, and the newest of its stack is that branch.
            found = stacks(f"{mispredicted}:pp", "-c", "7")
            self.assertGreater(len(found), 100)
            for address, stack in found:
                self.assertEqual((int(stack[0][0], 16), stack[0][2]), (address, "M"))
            # Samples of any branches: as many are mispredicted as are counted.
            flags = [entry[2] for _, stack in stacks(f"{taken}:pp", "-c", "37", "--detail", "full") for entry in stack]
            counted = tool.numbers([taken, mispredicted], program)
            self.assertAlmostEqual(flags.count("M") / len(flags), counted[mispredicted] / counted[taken], delta=0.005)
            self.assertEqual(set(flags), {"M", "P"})
            # Without a core model nobody knows.
            self.assertEqual({entry[2] for _, stack in stacks(f"{taken}:pp", "-c", "997") for entry in stack}, {"-"})

    def test_last_branches_say_how_many_cycles_lie_between_them(self):
        program = tool.guest(*self.PROGRAM)
        taken = "br_inst_retired.near_taken"
        counted = tool.numbers([taken, "cycles"], program)
        with tempfile.TemporaryDirectory() as folder:
            ran = tool.zeroskid("record", "-q", "-b", "-o", "perf.data", "-e", f"{taken}:pp", "-c", "37", "--detail", "full", "--",
                                *program, folder=folder)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            shown = tool.zeroskid("script", "-i", "perf.data", "-F", "brstack", folder=folder).stdout
        # The oldest of a stack counts from where recording began, or from what fell out.
        cycles = [int(entry.split("/")[5]) for line in shown.splitlines() for entry in line.split()[:-1]]
        self.assertGreater(len(cycles), 1000)
        between = counted["cycles"] / counted[taken]
        self.assertAlmostEqual(sum(cycles) / len(cycles), between, delta=0.1 * between)

    def test_two_events_together_have_the_samples_that_each_has_alone(self):
        program = tool.guest(*self.PROGRAM)
        for model in ("westmere", "haswell", "skylake-server"):
            loads, stores = ("mem_inst_retired.loads:p", "mem_inst_retired.stores:p") if model == "westmere" else (
                "mem_load_uops_retired.l1_hit:pp", "mem_uops_retired.all_stores:pp") if model == "haswell" else (
                "mem_load_retired.l1_hit:pp", "mem_inst_retired.all_stores:pp")
            with self.subTest(model=model):
                options = ("-c", "61", "--virtual-time", "--cpu", model)
                alone = [len(samples(event, program, *options)) for event in (loads, stores)]
                self.assertGreater(min(alone), 100)
                self.assertEqual(len(samples(f"{loads},{stores}", program, *options)), sum(alone))

    def test_the_same_samples_each_time(self):
        program = tool.guest(*self.PROGRAM)
        first = samples("mem_load_retired.l1_miss:pp", program, "-c", "5", "--virtual-time")
        self.assertGreater(len(first), 10)
        self.assertEqual(first, samples("mem_load_retired.l1_miss:pp", program, "-c", "5", "--virtual-time"))

    # Overflows are found after the fact, with the registers that the program left on its way.
    def test_stepping_each_instruction_gives_the_same(self):
        cases = [("known_loop", "mem_load_retired.l1_hit:pp,br_misp_retired.all_branches:pp -c 1", "")]
        for event in ("mem_load_retired.l1_hit:ppp -c 97", "mem_load_retired.l1_miss:ppp -c 7 --detail full",
                      "mem_inst_retired.all_stores:pp,br_misp_retired.all_branches:pp -c 23"):
            cases += [(program, event, ",data_src") for program in
                      ("indirect_branches", "rip_relative", "r11_forms", "loops_and_jrcxz", "rep_strings", "x87_mmx", "smc_stack",
                       "smc_mprotect", "signal_faults", "signal_edit_rip", "ret_imm16", "qsort_static")]
        # Events that belong to an instruction only where it is told alone; last branches; interrupts, which skid.
        cases += [("qsort_static", "l1d.replacement,uops_retired.retire_slots -c 301", ""),
                  ("qsort_static", "-b br_misp_retired.conditional:pp,mem_load_retired.l1_miss:pp -c 61", ",brstack"),
                  ("indirect_branches", "-b mem_inst_retired.all_loads:pp -c 61 --detail full", ",brstack"),
                  ("qsort_static", "instructions:ppp,mem_load_retired.l2_hit,branches -c 5003", ""),
                  ("qsort_static", "-g mem_load_retired.l1_miss:pp -c 97", "")]
        for name, words, fields in cases:
            with self.subTest(program=name, words=words):
                usual = self.everything(name, words, fields)
                self.assertEqual(usual, self.everything(name, f"{words} --precise-only", fields))

    def everything(self, program, words, fields):
        """All that samples of `program` tell."""
        options = [word for word in words.split() if word != "-g"]
        events = next(word for word in options if "." in word)
        options.remove(events)
        chain = ["-g"] if "-g" in words.split() else ["-d"]
        with tempfile.TemporaryDirectory() as folder:
            ran = tool.zeroskid("record", "-q", "-o", "perf.data", "--virtual-time", "--intr-regs", "-e", events, *options, *chain, "--",
                                *tool.guest(program), folder=folder)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            shown = tool.zeroskid("script", "-i", "perf.data", "-F", "tid,time,event,ip,period,iregs" +
                                  (",addr" if chain == ["-d"] else "") + fields, folder=folder)
            self.assertEqual(shown.returncode, 0, shown.stderr)
        return shown.stdout


if __name__ == "__main__":
    tool.main()
