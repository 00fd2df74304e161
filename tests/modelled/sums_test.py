"""What must add up does, of every program of the corpus: loads by source, requests of the second level by kind, what misses it and what
comes to the last one, and the slots of top-down analysis.
  sums_test.py ZEROSKID GUESTS          programs of less than LONG instructions
  sums_test.py ZEROSKID GUESTS --all    all, as long as they take
"""
import concurrent.futures
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import sys
import tempfile
import types
import unittest

LONG = 5_000_000
SOURCES = ["l1_hit", "l1_miss", "fb_hit", "l2_hit", "l2_miss", "l3_hit", "l3_miss"]
SNOOPS = ["xsnp_none", "xsnp_miss", "xsnp_hit", "xsnp_hitm"]
REQUESTS = ["references", "miss", "all_demand_data_rd", "demand_data_rd_hit", "demand_data_rd_miss", "all_rfo", "rfo_hit", "rfo_miss",
            "all_code_rd", "code_rd_miss", "all_pf"]
WALKS = ["dtlb_load_misses.walk_completed", "dtlb_store_misses.walk_completed", "itlb_misses.walk_completed"]
SLOTS = ["cycles", "idq_uops_not_delivered.core", "uops_issued.any", "uops_retired.retire_slots", "int_misc.recovery_cycles"]
EVENTS = ["mem_inst_retired.all_loads", *(f"mem_load_retired.{kind}" for kind in SOURCES),
          *(f"mem_load_l3_hit_retired.{kind}" for kind in SNOOPS), *(f"l2_rqsts.{kind}" for kind in REQUESTS),
          "longest_lat_cache.reference", "longest_lat_cache.miss", "l2_lines_in.all", *WALKS, *SLOTS]
MOST_LEVELS = 4  # of page tables: so many lines can a walk ask for
WIDTH = 4        # slots in a cycle of the default CPU model

ZEROSKID = GUESTS = ""
ALL = False


def corpus():
    """The script that runs the corpus, as a module."""
    path = str(pathlib.Path(__file__).parent.parent / "corpus_run" / "run_corpus")
    loader = importlib.machinery.SourceFileLoader("run_corpus", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_corpus", loader))
    loader.exec_module(module)
    return module


def differences(found):
    """[what does not add up]"""
    load = {kind: found[f"mem_load_retired.{kind}"] for kind in SOURCES}
    snoop = sum(found[f"mem_load_l3_hit_retired.{kind}"] for kind in SNOOPS)
    l2 = {kind: found[f"l2_rqsts.{kind}"] for kind in REQUESTS}
    llc, walks = found["longest_lat_cache.reference"], sum(found[kind] for kind in WALKS)
    slots = WIDTH * found["cycles"]
    front = found["idq_uops_not_delivered.core"]
    speculated = found["uops_issued.any"] - found["uops_retired.retire_slots"] + WIDTH * found["int_misc.recovery_cycles"]
    back = slots - front - speculated - found["uops_retired.retire_slots"]
    rules = {
        "loads are L1 hits, L1 misses and fill-buffer hits": load["l1_hit"] + load["l1_miss"] + load["fb_hit"] == found["mem_inst_retired.all_loads"],
        "L1 misses are L2 hits and L2 misses": load["l2_hit"] + load["l2_miss"] == load["l1_miss"],
        "L2 misses are L3 hits and L3 misses": load["l3_hit"] + load["l3_miss"] == load["l2_miss"],
        "L3 hits are of one kind each": snoop == load["l3_hit"],
        "requests of L2 are loads, stores, code and prefetches":
            l2["references"] == l2["all_demand_data_rd"] + l2["all_rfo"] + l2["all_code_rd"] + l2["all_pf"],
        "data reads of L2 hit or miss": l2["all_demand_data_rd"] == l2["demand_data_rd_hit"] + l2["demand_data_rd_miss"],
        "reads for ownership of L2 hit or miss": l2["all_rfo"] == l2["rfo_hit"] + l2["rfo_miss"],
        "misses of L2 are those of loads, stores and code, and at most all prefetches":
            0 <= l2["miss"] - l2["demand_data_rd_miss"] - l2["rfo_miss"] - l2["code_rd_miss"] <= l2["all_pf"],
        "what misses L2, and what page walks ask for beside, comes to the last level": 0 <= llc - l2["miss"] <= MOST_LEVELS * walks,
        "what comes to the last level comes into L2, and beside it only lines that were written in L1 and had left L2":
            0 <= found["l2_lines_in.all"] - llc <= l2["all_rfo"],
        "no more misses the last level than comes to it": found["longest_lat_cache.miss"] <= llc,
        "slots are those of front end, speculation, retirement and back end": min(front, speculated, back) >= 0,
    }
    return [rule for rule, holds in rules.items() if not holds]


class Sums(unittest.TestCase):
    def setUp(self):
        self.corpus = corpus()
        self.runner = self.corpus.Runner(types.SimpleNamespace(tool=ZEROSKID, tool_arguments=None, timeout=None if ALL else 100,
                                                               patience=1))

    def counts(self, case, events):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)  # a program that gives up root's rights must still reach its files
            self.runner.once(case, os.path.join(folder, "run"), ["stat", "-j", "--detail", "complete", "-e", ",".join(events)])
            with open(os.path.join(folder, "run", "counts"), encoding="utf-8") as file:
                rows = [json.loads(line) for line in file]
        return {row["event"]: round(float(row["counter-value"])) for row in rows if "counter-value" in row}

    def look_at(self, case):
        """What does not add up; None: it is too long."""
        try:
            return self.look(case)
        except TimeoutError:
            return None

    def look(self, case):
        instructions = self.counts(case, ["instructions"]).get("instructions")
        if not ALL and instructions is not None and instructions > LONG:
            return None
        found = self.counts(case, EVENTS)
        if set(found) != set(EVENTS):
            return [f"not counted: {set(EVENTS) - set(found)}"]
        return [f"{rule}: {found}" for rule in differences(found)]

    def test_of_every_program(self):
        cases = [*self.corpus.guest_cases(GUESTS), *self.corpus.listed_cases()]
        cases = [case for case in cases if (ALL or case.quick) and all(self.corpus.shutil.which(word) for word in case.needs)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = dict(zip((case.name for case in cases), pool.map(self.look_at, cases)))
        looked_at = {name: wrong for name, wrong in results.items() if wrong is not None}
        self.assertGreater(len(looked_at), 60)
        for name, wrong in looked_at.items():
            with self.subTest(program=name):
                self.assertEqual(wrong, [])
        print(f"{len(looked_at)} programs of {len(cases)}", file=sys.stderr)


if __name__ == "__main__":
    ZEROSKID, GUESTS = (os.path.abspath(word) for word in sys.argv[1:3])
    ALL = "--all" in sys.argv
    unittest.main(argv=[sys.argv[0], *(word for word in sys.argv[3:] if word != "--all")])
