"""What must add up on every run does: loads by source, requests by kind, mispredicts by kind, and exact counts stay exact."""
import unittest

import tool

LOADS = "mem_inst_retired.all_loads"
SOURCES = ["l1_hit", "l1_miss", "fb_hit", "l2_hit", "l2_miss", "l3_hit", "l3_miss"]
SNOOPS = ["xsnp_none", "xsnp_miss", "xsnp_hit", "xsnp_hitm"]

PROGRAMS = {
    "qsort": ["qsort_static"],
    "software prefetches": ["prefetches"],
    "string instructions": ["rep_strings"],
    "gathers": ["avx2_kernels"],
    "indirect branches": ["indirect_branches"],
    "signals": ["signal_nested"],
    "threads": ["threads_pthread"],
    "processes": ["fork_basic"],
}


class Identities(unittest.TestCase):
    def test_retired_loads_by_source_sum_to_the_loads_of_the_program(self):
        for model in tool.INTEL_CORES:
            for what, program in PROGRAMS.items():
                with self.subTest(model=model, program=what):
                    self.loads_add_up(model, tool.guest(*program))

    def loads_add_up(self, model, program):
        if model == "westmere":
            names = ["mem_load_retired." + kind for kind in
                     ("l1d_hit", "hit_lfb", "l2_hit", "llc_unshared_hit", "other_core_l2_hit_hitm", "llc_miss")]
            found = tool.numbers([LOADS, *names], program, "--cpu", model)
            self.assertEqual(sum(found[name] for name in names), found[LOADS])
            return
        names = {kind: f"mem_load_retired.{kind}" for kind in SOURCES}
        names |= {kind: f"mem_load_l3_hit_retired.{kind}" for kind in SNOOPS}
        counted = tool.numbers([LOADS, *names.values()], program, "--cpu", model)
        found = {kind: counted[name] for kind, name in names.items()}
        self.assertEqual(found["l1_hit"] + found["l1_miss"] + found["fb_hit"], counted[LOADS])
        self.assertEqual(found["l2_hit"] + found["l2_miss"], found["l1_miss"])
        self.assertEqual(found["l3_hit"] + found["l3_miss"], found["l2_miss"])
        self.assertEqual(sum(found[kind] for kind in SNOOPS), found["l3_hit"])
        self.assertGreater(found["l1_hit"], 0)

    def test_a_core_model_changes_nothing_that_is_counted_exactly(self):
        events = ["instructions", "branches", LOADS, "mem_inst_retired.all_stores", "mem_inst_retired.split_loads"]
        for program in ("qsort_static", "rep_strings", "avx2_kernels", "fork_basic"):
            with self.subTest(program=program):
                alone, modelled = [tool.numbers(events, tool.guest(program), "--virtual-time", "--detail", detail)
                                   for detail in ("exact", "full")]
                self.assertEqual(modelled, alone)

    def test_requests_of_the_second_level_are_hits_and_misses(self):
        for model in tool.INTEL_CORES:
            with self.subTest(model=model):
                found = tool.numbers(["l2_rqsts." + kind for kind in
                                      ("all_demand_data_rd", "demand_data_rd_hit", "demand_data_rd_miss", "all_rfo",
                                       "rfo_hit", "rfo_miss", "references", "miss")],
                                     tool.guest("qsort_static"), "--cpu", model)
                of = {name.partition(".")[2]: number for name, number in found.items()}
                self.assertEqual(of["demand_data_rd_hit"] + of["demand_data_rd_miss"], of["all_demand_data_rd"])
                self.assertEqual(of["rfo_hit"] + of["rfo_miss"], of["all_rfo"])
                self.assertGreaterEqual(of["references"], of["miss"])
                self.assertGreater(of["miss"], 0)

    def test_mispredicts_by_kind_sum_and_are_branches(self):
        for model in tool.INTEL_CORES:
            with self.subTest(model=model):
                found = tool.numbers(["br_inst_retired.all_branches", "br_misp_retired.all_branches",
                                      "br_misp_retired.conditional"], tool.guest("qsort_static"), "--cpu", model)
                self.assertLess(found["br_misp_retired.all_branches"], found["br_inst_retired.all_branches"])
                self.assertLessEqual(found["br_misp_retired.conditional"], found["br_misp_retired.all_branches"])
                self.assertGreater(found["br_misp_retired.conditional"], 0)

    def test_two_runs_count_the_same(self):
        events = ["cycles", "cache-misses", "branch-misses", "mem_load_retired.l1_miss", "uops_issued.any"]
        program = tool.guest("qsort_static")
        first = tool.numbers(events, program, "--virtual-time")
        self.assertEqual(first, tool.numbers(events, program, "--virtual-time"))
        self.assertTrue(all(first.values()), first)


class WhatIf(unittest.TestCase):
    def test_a_smaller_cache_misses_more(self):
        event = "mem_load_retired.l1_miss"
        program = tool.guest("qsort_static")
        usual = tool.numbers([event], program)[event]
        small = tool.numbers([event], program, "--model-set", "l1d.bytes=4K")[event]
        self.assertGreater(small, usual)


if __name__ == "__main__":
    tool.main()
