"""zen4 has AMD's events, and no PEBS: what must add up does, exact counts are those of every CPU model, and what it lacks is
refused by name."""
import pathlib
import tempfile
import unittest

import tool

MODEL = ("--model", "zen4")
BRANCHES = ["ex_ret_instr", "ex_ret_brn", "ex_ret_brn_tkn", "ex_ret_brn_far", "ex_ret_near_ret", "ex_ret_cond"]


class Zen4(unittest.TestCase):
    def test_counts_instructions_and_branches_as_every_cpu_model_does(self):
        for program in ("qsort_static", "rep_strings", "indirect_branches", "signal_nested"):
            with self.subTest(program=program):
                found = tool.counts(BRANCHES, tool.guest(program), *MODEL, "--virtual-time")
                intel = tool.numbers(["instructions", "branches", "br_inst_retired.far_branch",
                                      "br_inst_retired.near_return", "br_inst_retired.conditional",
                                      "br_inst_retired.near_taken"], tool.guest(program), "--virtual-time")
                self.assertEqual({kind for _, kind in found.values()}, {"exact"})
                number = {name: count for name, (count, _) in found.items()}
                self.assertEqual(number["ex_ret_instr"], intel["instructions"])
                self.assertEqual(number["ex_ret_brn"], intel["branches"])
                self.assertEqual(number["ex_ret_brn_far"], intel["br_inst_retired.far_branch"])
                self.assertEqual(number["ex_ret_near_ret"], intel["br_inst_retired.near_return"])
                self.assertEqual(number["ex_ret_cond"], intel["br_inst_retired.conditional"])
                self.assertEqual(number["ex_ret_brn_tkn"],
                                 intel["br_inst_retired.near_taken"] + intel["br_inst_retired.far_branch"])

    def test_a_core_model_changes_nothing_that_is_counted_exactly(self):
        alone, modelled = [tool.numbers(BRANCHES, tool.guest("qsort_static"), *MODEL, "--virtual-time", "--detail", depth)
                           for depth in ("exact", "full")]
        self.assertEqual(modelled, alone)

    def test_requests_of_the_second_level_are_hits_and_misses(self):
        kinds = ["all", "ic_access_in_l2", "dc_access_in_l2", "ic_dc_hit_in_l2", "ic_dc_miss_in_l2", "ls_rd_blk_c",
                 "ic_fill_miss"]
        for program in ("qsort_static", "threads_pthread"):
            with self.subTest(program=program):
                found = tool.numbers(["l2_cache_req_stat." + kind for kind in kinds] + ["cache-misses", "cache-references"],
                                     tool.guest(program), *MODEL)
                of = {name.partition(".")[2]: number for name, number in found.items()}
                self.assertEqual(of["ic_access_in_l2"] + of["dc_access_in_l2"], of["all"])
                self.assertEqual(of["ic_dc_hit_in_l2"] + of["ic_dc_miss_in_l2"], of["all"])
                self.assertEqual(of["ls_rd_blk_c"] + of["ic_fill_miss"], of["ic_dc_miss_in_l2"])
                self.assertEqual(found["cache-misses"], of["ic_dc_miss_in_l2"])
                self.assertGreaterEqual(found["cache-references"], of["all"])
                self.assertGreater(of["ic_dc_miss_in_l2"], 0)

    def test_dispatch_slots_are_six_a_cycle_and_each_has_one_cause(self):
        found = tool.numbers(["cycles", "de_src_op_disp.all", "de_no_dispatch_per_slot.no_ops_from_frontend",
                              "de_no_dispatch_per_slot.backend_stalls", "ex_ret_ops"], tool.guest("qsort_static"), *MODEL)
        parts = (found["de_src_op_disp.all"] + found["de_no_dispatch_per_slot.no_ops_from_frontend"]
                 + found["de_no_dispatch_per_slot.backend_stalls"])
        self.assertAlmostEqual(parts / (6 * found["cycles"]), 1, delta=1e-4)
        self.assertGreater(found["de_src_op_disp.all"], found["ex_ret_ops"])

    def test_is_asked_in_every_spelling(self):
        same = ["ex_ret_cond", "r00d1", "cpu/event=0xd1/", "0x4100D1"]
        found = tool.numbers(same, tool.guest("known_loop"), *MODEL)
        self.assertEqual(len(set(found.values())), 1, found)
        found = tool.numbers(["ex_ret_fused_instr", "r1000000d0", "cpu/event=0x1d0/"], tool.guest("known_loop"), *MODEL)
        self.assertEqual(len(set(found.values())), 1, found)

    def test_samples_at_the_overflow_and_again_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for _ in range(2):
                ran = tool.zeroskid("record", *MODEL, "--detail", "complete", "--virtual-time", "-e", "cycles", "-c", "1009", "-o", "perf.data", "--",
                                    *tool.guest("qsort_static"), folder=folder)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                files.append((pathlib.Path(folder) / "perf.data").read_bytes())
            self.assertEqual(files[0], files[1])
            lines = tool.zeroskid("script", "-F", "event,period", folder=folder).stdout.splitlines()
        cycles = tool.numbers(["cycles"], tool.guest("qsort_static"), *MODEL, "--virtual-time")["cycles"]
        # An interrupt comes at the end of a timing block (docs/models/machine.md).
        self.assertLessEqual(len(lines), cycles // 1009)
        self.assertGreater(len(lines), 0.93 * (cycles // 1009))

    def test_refuses_by_name_what_needs_pebs_or_call_stacks_of_last_branches(self):
        for words, lacks in ((["record", "-e", "instructions:ppp"], "zen4@1 has no PEBS"),
                             (["record", "-e", "ex_ret_brn:p"], "zen4@1 has no PEBS"),
                             (["mem", "record", "-t", "load"], "zen4@1 samples ops"),
                             (["record", "--call-graph", "lbr"],
                              "zen4@1: its last-branch records have no call-stack mode")):
            ran = tool.zeroskid(*words, *MODEL, "--", "/bin/true")
            self.assertEqual(ran.returncode, 129, words)
            self.assertIn(lacks, ran.stderr)
            self.assertIn("--model skylake-server@1", ran.stderr)


if __name__ == "__main__":
    tool.main()
