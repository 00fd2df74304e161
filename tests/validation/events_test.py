#!/usr/bin/env python3
"""What each modelled event counts of loops whose count is known: docs/generated/published-events.md, and what `zeroskid list` says of it.
  events_test.py ZEROSKID KERNELS ROOT            the page has each modelled event of each CPU model, `list` says the same, and on the
                                                  default CPU model each count is where the page says
  events_test.py ZEROSKID KERNELS ROOT --write    measures on all CPU models, writes the page and src/events/measured_errors.inc
"""
import collections
import concurrent.futures
import json
import math
import os
import subprocess
import sys
import unittest

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": "/"}
BEGIN, END = "<!-- events: made by tests/validation/events_test.py --write -->", "<!-- end of events -->"
DEFAULT = "skylake-server"
KIB, MIB, LINE, PAGE_BYTES = 1 << 10, 1 << 20, 64, 4096

#: Bytes of L1D and L2; of walks that lie in L1, L2, L3 and memory; entries of the first TLB of loads, of stores, of the second one, of the
#: first of instructions; published cycles of a load from memory (memory-latency matrices, InstLatx64), if there are any.
Core = collections.namedtuple("Core", "l1_bytes l2_bytes l1 l2 l3 memory dtlb store_dtlb stlb itlb latency")
CORES = {
    "westmere": Core(32 * KIB, 256 * KIB, 16 * KIB, 128 * KIB, 1 * MIB, 32 * MIB, 64, 64, 512, 128, 358),
    "haswell": Core(32 * KIB, 256 * KIB, 16 * KIB, 128 * KIB, 1 * MIB, 64 * MIB, 64, 64, 1024, 128, 279),
    "skylake-server": Core(32 * KIB, 1 * MIB, 16 * KIB, 128 * KIB, 4 * MIB, 64 * MIB, 64, 64, 1536, 128, 291),
    "icelake-server": Core(48 * KIB, 1280 * KIB, 16 * KIB, 128 * KIB, 8 * MIB, 64 * MIB, 64, 16, 2048, 128, None),
    "sapphire-rapids": Core(48 * KIB, 2 * MIB, 16 * KIB, 128 * KIB, 8 * MIB, 64 * MIB, 96, 16, 2048, 256, None),
    "zen4": Core(32 * KIB, 1 * MIB, 16 * KIB, 128 * KIB, 4 * MIB, 64 * MIB, 72, 72, 3072, 64, 413),
}

ARITHMETIC, MATRICES = "arithmetic", "memory-latency matrices, InstLatx64"
#: A miss of L2 brings its neighbour of 128 bytes too (spatial prefetcher, Optimization manual), which may still be there when it is asked for.
FEWER = "arithmetic, less lines that prefetchers brought or the making of the circle left"
NEIGHBOURS = "arithmetic, each line with its neighbour (spatial prefetcher, Optimization manual)"
UOPS = "instruction tables: uops.info, Fog"


def beyond(entries, size):
    """Of a walk through so many bytes in pages that nobody expects: how many of its pages a TLB of so many entries does not have."""
    return max(0.0, 1 - entries / (size / PAGE_BYTES))


def chase(size_of, reference, allowed=5, source=ARITHMETIC):
    return lambda core: ("chase", size_of(core), 100_000, reference(core), allowed, source)


def always(value):
    return lambda core: value


def stores(size_of, reference, allowed=10):
    return lambda core: ("stores", size_of(core), 100_000, reference(core), allowed, ARITHMETIC)


def code(size_of, reference, allowed=10):
    return lambda core: ("code", size_of(core), size_of(core) // LINE, reference(core), allowed, ARITHMETIC)


def loop(kernel, size, reference, allowed=5, source=ARITHMETIC):
    return lambda core: (kernel, size, 100_000, reference, allowed, source)


L1, L2 = (lambda core: core.l1), (lambda core: core.l2)
L3, MEMORY = (lambda core: core.l3), (lambda core: core.memory)
WALKED = lambda core: 4 * core.stlb * PAGE_BYTES
LARGE_CODE = lambda core: 16 * MIB
OF_L1, OF_L2 = chase(L1, always(1)), chase(L2, always(1))
OF_L3, OF_MEMORY = (chase(size, always(1), 20, FEWER) for size in (L3, MEMORY))
PAIRS_OF_L3, PAIRS_OF_MEMORY = chase(L3, always(2), 20, NEIGHBOURS), chase(MEMORY, always(2), 50, NEIGHBOURS)
LOAD_WALK = chase(WALKED, always(0.75))
STORE_WALK = stores(WALKED, always(0.75), 15)
CODE_WALK = code(LARGE_CODE, lambda core: beyond(core.stlb, 16 * MIB))
WAITS = chase(MEMORY, lambda core: core.latency, 30, MATRICES)
RFO_OF_L2 = stores(L2, lambda core: 1 - core.l1_bytes / core.l2)
RFO_OF_L3 = stores(L3, lambda core: 1 - core.l2_bytes / core.l3)

#: How an event is measured, under the first of its names that is here; per round of the loop.
MEASURED = {
    "mem_load_retired.l1_hit": OF_L1, "mem_load_retired.l1d_hit": OF_L1,
    "mem_load_retired.l1_miss": OF_L2, "mem_load_retired.l2_hit": OF_L2, "mem_load_uops_retired.l2_hit": OF_L2,
    "mem_load_retired.l2_miss": OF_L3, "mem_load_retired.l3_hit": OF_L3, "mem_load_retired.llc_unshared_hit": OF_L3,
    "mem_load_retired.l3_miss": OF_MEMORY, "mem_load_uops_misc_retired.llc_miss": OF_MEMORY,
    "mem_load_l3_miss_retired.local_dram": OF_MEMORY, "mem_load_uops_l3_miss_retired.local_dram": OF_MEMORY,
    "mem_uncore_retired.local_dram": OF_MEMORY,
    "mem_load_l3_hit_retired.xsnp_none": OF_L3, "mem_load_l3_hit_retired.xsnp_hitm": loop("chase", MIB, 0),
    "mem_load_l3_hit_retired.xsnp_hit": loop("chase", MIB, 0), "mem_load_l3_hit_retired.xsnp_miss": loop("chase", MIB, 0),
    "mem_uncore_retired.other_core_l2_hitm": loop("chase", MIB, 0),
    "mem_load_retired.other_core_l2_hit_hitm": loop("chase", MIB, 0),
    "l1d.replacement": OF_L2, "ls_any_fills_from_sys.all": OF_L2,
    "l2_rqsts.all_demand_data_rd": OF_L2, "l2_rqsts.demand_data_rd_hit": OF_L2, "l2_rqsts.demand_data_rd_miss": OF_L3,
    "l2_rqsts.references": OF_L2, "l2_rqsts.miss": PAIRS_OF_L3, "l2_lines_in.all": PAIRS_OF_L3,
    "l2_lines_out.any": PAIRS_OF_L3, "l2_lines_out.non_silent": PAIRS_OF_L3,
    "offcore_requests.demand_data_rd": OF_L3, "longest_lat_cache.reference": PAIRS_OF_L3, "longest_lat_cache.miss": PAIRS_OF_MEMORY,
    "l2_rqsts.all_rfo": RFO_OF_L2, "l2_rqsts.rfo_hit": RFO_OF_L2,
    "l2_rqsts.rfo_miss": RFO_OF_L3,
    "l1d.m_evict": RFO_OF_L2,
    "dtlb_load_misses.stlb_hit": chase(lambda core: core.stlb * PAGE_BYTES // 2, lambda core: beyond(core.dtlb, core.stlb * PAGE_BYTES // 2)),
    "dtlb_load_misses.walk_completed": LOAD_WALK, "dtlb_load_misses.walk_completed_4k": LOAD_WALK,
    "dtlb_load_misses.miss_causes_a_walk": LOAD_WALK, "mem_inst_retired.stlb_miss_loads": LOAD_WALK,
    "ls_l1_d_tlb_miss.all_l2_miss": LOAD_WALK,
    "ls_l1_d_tlb_miss.all": chase(WALKED, lambda core: beyond(core.dtlb, WALKED(core))),
    "dtlb_load_misses.walk_completed_2m_4m": loop("chase_large", 1, 0),
    "dtlb_store_misses.walk_completed": STORE_WALK, "dtlb_store_misses.miss_causes_a_walk": STORE_WALK, "dtlb_misses.any": LOAD_WALK,
    "mem_inst_retired.stlb_miss_stores": STORE_WALK,
    "dtlb_store_misses.stlb_hit": stores(lambda core: MIB, lambda core: beyond(core.store_dtlb, MIB)),
    "itlb_misses.stlb_hit": code(lambda core: MIB, lambda core: beyond(core.itlb, MIB)),
    "bp_l1_tlb_miss_l2_tlb_hit": code(lambda core: MIB, lambda core: beyond(core.itlb, MIB)),
    "itlb_misses.walk_completed": CODE_WALK, "itlb_misses.miss_causes_a_walk": CODE_WALK, "itlb_miss_retired": code(LARGE_CODE, lambda core: beyond(core.itlb, 16 * MIB)),
    "icache_64b.iftag_miss": code(L2, always(1)), "icache_64b.iftag_hit": code(L1, always(1)), "l1i.reads": code(L2, always(1)),
    "ic_tag_hit_miss.instruction_cache_miss": code(L2, always(1)), "ic_cache_fill_l2": code(L2, always(1)),
    "ic_cache_fill_sys": code(LARGE_CODE, always(1)),
    "l2_rqsts.all_code_rd": code(L2, always(1)), "l2_rqsts.code_rd_miss": code(LARGE_CODE, always(1)),
    "l2_request_g1.cacheable_ic_read": code(L2, always(1)), "l2_cache_req_stat.ic_access_in_l2": code(L2, always(1)),
    "l2_cache_req_stat.ic_hit_in_l2": code(L2, always(1)), "l2_cache_req_stat.ic_fill_miss": code(LARGE_CODE, always(1)),
    "baclears.any": code(LARGE_CODE, always(1)), "bp_de_redirect": code(LARGE_CODE, always(1)),
    "l2_cache_req_stat.dc_access_in_l2": OF_L2, "l2_cache_req_stat.dc_hit_in_l2": OF_L2, "l2_cache_req_stat.all": OF_L2,
    "l2_cache_req_stat.ic_dc_hit_in_l2": OF_L2, "l2_cache_req_stat.ic_dc_miss_in_l2": OF_L3, "l2_cache_req_stat.ls_rd_blk_c": OF_L3,
    "l2_cache_req_stat.ls_rd_blk_x": RFO_OF_L2, "l2_request_g1.all": OF_L2, "l2_request_g1.all_dc": OF_L2,
    "l2_request_g1.all_no_prefetch": OF_L2, "l2_request_g1.rd_blk_l": OF_L2, "l2_request_g1.dc_misses": OF_L2,
    "cycle_activity.cycles_l1d_miss": WAITS, "cycle_activity.cycles_l2_miss": WAITS, "cycle_activity.cycles_l3_miss": WAITS,
    "cycle_activity.stalls_l1d_miss": WAITS, "cycle_activity.stalls_l2_miss": WAITS, "cycle_activity.stalls_l3_miss": WAITS,
    "cycle_activity.stalls_mem_any": WAITS, "cycle_activity.stalls_total": WAITS,
    "l1d_pend_miss.pending": WAITS, "l1d_pend_miss.pending_cycles": WAITS,
    "ld_blocks.store_forward": loop("through_memory", 1, 1), "ls_bad_status2.stli_other": loop("through_memory", 1, 1),
    "ls_stlf": loop("through_memory", 8, 1),
    "ld_blocks_partial.address_alias": loop("daxpy", 32, 63 / 256),
    "ls_misal_loads.ma64": loop("loads_at", 60, 1), "ls_dispatch.any_load": loop("loads_at", 0, 1), "ls_dispatch.any_store": loop("stores_at", 0, 1),
    "uops_retired.retire_slots": loop("loads_at", 0, 1, 5, UOPS), "uops_retired.all": loop("loads_at", 0, 1, 5, UOPS),
    "uops_retired.any": loop("loads_at", 0, 1, 5, UOPS),
    "uops_issued.any": loop("loads_at", 0, 1, 5, UOPS), "uops_executed.thread": loop("loads_at", 0, 1, 5, UOPS),
    "ex_ret_ops": loop("loads_at", 0, 1, 5, UOPS), "de_src_op_disp.all": loop("loads_at", 0, 1, 5, UOPS),
    "branch-misses": loop("branches", 0, 0.5, 1), "br_misp_retired.conditional": loop("branches", 0, 0.5, 1),
    "br_misp_retired.all_branches": loop("branches", 0, 0.5, 1),
    "br_misp_retired.all_branches_pebs": loop("branches", 0, 0.5, 1), "br_misp_retired.near_taken": loop("branches", 0, 0.25, 5),
    "br_misp_retired.cond_taken": loop("branches", 0, 0.25, 5), "br_misp_retired.cond_ntaken": loop("branches", 0, 0.25, 5),
    "ex_ret_brn_tkn_misp": loop("branches", 0, 0.25, 5),
    "br_misp_retired.all_branches_arch": loop("branches", 0, 0.5, 1), "ex_ret_brn_misp": loop("branches", 0, 0.5, 1),
    "ex_ret_msprd_brnch_instr_dir_msmtch": loop("branches", 0, 0.5, 1),
    "cpu_clk_unhalted.ref_tsc": chase(MEMORY, lambda core: core.latency, 15, MATRICES),
    "cycles": chase(MEMORY, lambda core: core.latency, 15, MATRICES),
}

ZEROSKID = KERNELS = ROOT = ""


def run(*words):
    return subprocess.run([ZEROSKID, *words], env=ENVIRONMENT, capture_output=True, text=True, timeout=1200, check=True)


def modelled(cpu):
    """[[names]] of the modelled events: one list for each encoding. The load-latency event tags loads, and counts none; no more does
    ibs_op// and ibs_fetch//, which tag and have no encoding."""
    encodings = collections.defaultdict(list)
    for event in json.loads(run("list", "--json", "--cpu", cpu).stdout)["events"]:
        if event["class"] == "modelled" and "latency" not in event["name"] and event["name"] not in (
                "mem-loads", "ibs_op//", "ibs_fetch//"):
            encodings[event["config"]].append(event)
    return list(encodings.values())


def how(listed):
    """Of these names of an encoding, and of what else they are called: how it is measured; None: no figure is known."""
    for event in listed:
        for name in (event["name"], *event["aliases"]):
            if MEASURED.get(name):
                return MEASURED[name]
    return None


def name_of(listed):
    return next((event["name"] for event in listed if "." in event["name"] or "_" in event["name"]), listed[0]["name"])


def counts(cpu, kernel, rounds, size, events):
    ran = run("stat", "-j", "--detail", "complete", "--cpu", cpu, "-e", ",".join(events), "--", KERNELS, kernel, str(rounds), str(size))
    rows = [json.loads(line) for line in ran.stderr.splitlines() if line.startswith("{")]
    return {row["event"]: float(row["counter-value"]) for row in rows}


def measure(cpu):
    """{name: (per round, reference, % allowed, source, loop)}; without a reference: None."""
    wanted, found = collections.defaultdict(dict), {}
    for listed in modelled(cpu):
        name, case = name_of(listed), how(listed)
        kernel, size, rounds, reference, allowed, source = case(CORES[cpu]) if case else (None,) * 6
        if reference is None:
            found[name] = None
        else:
            wanted[kernel, size, rounds][name] = (reference, allowed, source)
    for (kernel, size, rounds), events in wanted.items():
        once, twice = (counts(cpu, kernel, many * rounds, size, events) for many in (1, 2))
        for name, (reference, allowed, source) in events.items():
            shown = f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB" if size >= KIB else str(size)
            found[name] = ((twice[name] - once[name]) / rounds, reference, allowed, source, f"{kernel} {shown}")
    return found


def error(value, reference):
    return abs(value - reference) / reference * 100 if reference else 0 if abs(value) < 0.005 else math.inf


def row(name, cpu, measured):
    if measured is None:
        return f"| `{name}` | {cpu} | | | no public figure found | |"
    value, reference, allowed, source, what = measured
    off = error(value, reference)
    verdict = f"{off:.0f} % of {allowed} %" if off <= allowed else f"{off:.0f} % of {allowed} % **outside**" if off < 1000 else "**outside**"
    return f"| `{name}` | {cpu} | {reference:.3g} | {value:.3g} | {verdict} | {what}; {source} |"


def sentence(errors):
    """What `list` says: the worst of all CPU models."""
    if not errors:
        return "no public figure found"
    worst = max(off for off, _ in errors)
    against = "published figures" if any(source in (MATRICES, UOPS) for _, source in errors) else "arithmetic"
    if worst >= 1000:
        return f"not what {against} says of a plain loop"
    return f"within {next(step for step in (1, 2, 5, 10, 15, 20, 30, 50, 100, 200, 500, 1000) if worst <= step)} % of {against} on a plain loop"


def table():
    """The page's rows, and {name: what `list` says of it}."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = dict(zip(CORES, pool.map(measure, CORES)))
    rows, errors = [], collections.defaultdict(list)
    for cpu, events in found.items():
        names = {name_of(listed): [event["name"] for event in listed] for listed in modelled(cpu)}
        for name, measured in sorted(events.items()):
            rows.append(row(name, cpu, measured))
            for known in names[name]:
                errors[known] += [] if measured is None else [(error(*measured[:2]), measured[3])]
    return rows, {name: sentence(known) for name, known in errors.items()}


def told():
    with open(os.path.join(ROOT, "docs/generated/published-events.md"), encoding="utf-8") as file:
        rows = file.read().partition(BEGIN)[2].partition(END)[0].splitlines()
    return {tuple(cell.strip().strip("`") for cell in line.split("|")[1:3]): line for line in rows if line.startswith("| `")}


class Events(unittest.TestCase):
    def test_the_page_has_every_modelled_event_of_every_cpu_model(self):
        rows = told()
        for cpu in CORES:
            for listed in modelled(cpu):
                self.assertIn((name_of(listed), cpu), rows)

    def test_list_says_of_each_how_far_it_is_off_or_that_nothing_is_known(self):
        for cpu in CORES:
            for listed in modelled(cpu):
                line = told()[name_of(listed), cpu]
                for event in listed:
                    if "no public figure" not in line:
                        self.assertNotEqual(event["error"], "no public figure found", event["name"])
                    elif all("no public figure" in other for (name, _), other in told().items() if name == name_of(listed)):
                        self.assertEqual(event["error"], "no public figure found", event["name"])

    def test_counts_on_the_default_cpu_model_are_where_the_page_says(self):
        rows = told()
        for name, measured in measure(DEFAULT).items():
            with self.subTest(event=name):
                if measured is None:
                    self.assertIn("no public figure found", rows[name, DEFAULT])
                    continue
                self.assertAlmostEqual(measured[0], float(rows[name, DEFAULT].split("|")[4]), delta=0.03 * abs(measured[0]) + 0.005)
                self.assertEqual("outside" in rows[name, DEFAULT], "outside" in row(name, DEFAULT, measured))


def write():
    rows, sentences = table()
    page = os.path.join(ROOT, "docs/generated/published-events.md")
    with open(page, encoding="utf-8") as file:
        before, _, rest = file.read().partition(BEGIN)
    head = ["| event | CPU model | reference | modelled | error | loop, source |", "|---|---|---|---|---|---|"]
    with open(page, "w", encoding="utf-8") as file:
        file.write(before + "\n".join([BEGIN, *head, *rows, END]) + rest.partition(END)[2])
    with open(os.path.join(ROOT, "src/events/measured_errors.inc"), "w", encoding="utf-8") as file:
        file.write("// Made by tests/validation/events_test.py --write.\n")
        file.writelines(f'{{"{name}",\n "{said}"}},\n' for name, said in sorted(sentences.items()) if said != "no public figure found")


if __name__ == "__main__":
    ZEROSKID, KERNELS, ROOT = (os.path.abspath(word) for word in sys.argv[1:4])
    if "--write" in sys.argv:
        write()
    else:
        unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
