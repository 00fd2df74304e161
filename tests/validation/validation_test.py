#!/usr/bin/env python3
"""Published measurements against what zeroskid counts of the same loops, from outside: docs/generated/published-measurements.md.
  validation_test.py ZEROSKID KERNELS PAGE.md            every case is where the page says, within 3 % of the page's value
  validation_test.py ZEROSKID KERNELS PAGE.md --write    writes the table
A case that is outside its tolerance is listed so, and stays in the table.
"""
import functools
import os
import subprocess
import sys
import unittest

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": "/"}
BEGIN, END = "<!-- validation: made by tests/validation/validation_test.py --write -->", "<!-- end of validation -->"
KIB, MIB = 1 << 10, 1 << 20

CYCLES, MISSES = "cycles", "br_misp_retired.conditional"
ROUNDS = 100_000
MATRICES = "memory-latency matrices, InstLatx64"
LOOPS = MATRICES + "; how many loads their loops have, they do not say"
STORES = "Downs, random stores (Skylake)"
FORWARDING = "store forwarding of 5 cycles (Skylake: 4 to 5), Optimization manual, and 1"
ATOMICS = "Downs, atomics at 2.6 GHz (Skylake)"


def chase(cpu, sizes, references):
    """Random chases that lie in L1, L2, L3 and memory; 5, 5, 10 and 15 % are allowed."""
    for level, size, reference, allowed in zip(("L1", "L2", "L3", "memory"), sizes, references, (5, 5, 10, 15)):
        shown = f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB"
        yield (f"random chase, {level} ({shown})", cpu, CYCLES, ("chase", size), reference, allowed, MATRICES)


def strides(cpu, *walks):
    """Walks by one load: how far apart the lines are, level, size, reference, % allowed."""
    for stride, level, size, reference, allowed in walks:
        yield (f"walk by one load, {stride} bytes apart, {level} ({size // MIB} MiB)", cpu, CYCLES, (f"stride_{stride}", size), reference, allowed, LOOPS)


BLOCKED = "13 cycles each in Intel's top-down formulas (Store_Fwd_Blk)"
PAGES = "Optimization manual, page splits: 100 cycles before Skylake, 5 since"
PORTS = "Optimization manual: two loads a cycle, of a line each"
ALIASES = "5 cycles each in Intel's tuning guides (ADDRESS_ALIAS), as FreeBSD's pmcstudy has them"
DAXPY = "Lemire, 4K aliasing and 32-byte alignment (2018)"
DIVISIONS = "Fog, instruction tables (Skylake): DIV r32"

SPLIT_LOCKS = "Linux, bus lock detection and handling: more than 1,000 cycles; ~1,000 as Rigtorp quotes Intel"
MODELS = ("westmere", "haswell", "skylake-server", "icelake-server", "sapphire-rapids", "zen4")
SPLITS = "one cycle each in Intel's top-down formulas (Split_Stores)"


# case, CPU model, event, kernel, reference per round, % allowed, source. L2 is chased where L1's TLB still reaches. A kernel with a third
# word: what it takes more with the second than with the third.
CASES = [
    *chase("westmere", (16 * KIB, 128 * KIB, 1 * MIB, 32 * MIB), (4, 10, 50, 358)),
    *chase("haswell", (16 * KIB, 128 * KIB, 1 * MIB, 64 * MIB), (4, 12, 41, 279)),
    *chase("skylake-server", (16 * KIB, 128 * KIB, 4 * MIB, 128 * MIB), (4, 14, 75, 291)),
    *chase("zen4", (16 * KIB, 128 * KIB, 4 * MIB, 128 * MIB), (4, 14, 52, 413)),
    *strides("westmere", (512, "L3", 1 * MIB, 46, 10), (256, "memory", 32 * MIB, 199, 25)),
    *strides("haswell", (512, "L3", 1 * MIB, 36, 10), (256, "memory", 32 * MIB, 177, 25)),
    *strides("skylake-server", (128, "L3", 4 * MIB, 25, 25), (512, "L3", 4 * MIB, 70, 10)),
    ("random 64-byte store, L2 (128 KiB)", "skylake-server", CYCLES, ("stores", 128 * KIB), 3, 30, STORES),
    ("random 64-byte store, L3 (4 MiB)", "skylake-server", CYCLES, ("stores", 4 * MIB), 5.5, 30, STORES),
    ("locked add, alone", "skylake-server", CYCLES, ("add", 0), 18.2, 35, ATOMICS),
    *(("locked add on two lines, beyond one on one", cpu, CYCLES, ("add_at", 60, 0), 1000, 30, SPLIT_LOCKS) for cpu in MODELS),
    *(("split loads of one, each", cpu, loads, ("add_at", 60), 1, 1, "arithmetic: a locked addition is one load and one store") for cpu, loads in
      (("skylake-server", "mem_inst_retired.split_loads"), ("haswell", "mem_uops_retired.split_loads"), ("zen4", "ls_misal_loads.ma64"))),
    *(("split stores of one, each", cpu, stores, ("add_at", 60), 1, 1, "arithmetic: a locked addition is one load and one store") for cpu, stores in
      (("skylake-server", "mem_inst_retired.split_stores"), ("haswell", "mem_uops_retired.split_stores"))),
    ("compare and swap, alone", "skylake-server", CYCLES, ("cas", 0), 31.2, 35, ATOMICS),
    ("addition to memory, each to the one before", "haswell", CYCLES, ("count", 0), 6, 10, FORWARDING),
    ("addition to memory, each to the one before", "skylake-server", CYCLES, ("count", 0), 5.5, 10, FORWARDING),
    ("load of a store's part and more, beyond one that is forwarded", "skylake-server", CYCLES, ("through_memory", 1, 8), 13, 30, BLOCKED),
    ("ten of them in flight together", "skylake-server", CYCLES, ("ten_forwards", 1, 4), 130, 30, BLOCKED),
    ("independent loads of one line", "skylake-server", CYCLES, ("loads_at", 0), 0.5, 5, PORTS),
    ("independent loads of two lines", "skylake-server", CYCLES, ("loads_at", 60), 1, 30, PORTS),
    ("load of two pages, beyond two lines", "haswell", CYCLES, ("chase_at", 4092, 60), 100, 30, PAGES),
    ("load of two pages, beyond two lines", "skylake-server", CYCLES, ("chase_at", 4092, 60), 5, 30, PAGES),
    ("load behind a store 4 KiB away, beyond one elsewhere", "skylake-server", CYCLES, ("chase_behind", 4096, 256), 5, 30, ALIASES),
    ("a[i] += s * b[i], b a page behind a", "haswell", CYCLES, ("daxpy", 0), 0.543, 30, DAXPY),
    ("the same, 32 bytes less", "haswell", CYCLES, ("daxpy", 32), 0.648, 30, DAXPY),
    ("the same, 8 bytes less", "haswell", CYCLES, ("daxpy", 8), 0.707, 30, DAXPY),
    ("a[i] += s * b[i], b a page behind a", "skylake-server", CYCLES, ("daxpy", 0), 0.477, 30, DAXPY),
    ("the same, 32 bytes less", "skylake-server", CYCLES, ("daxpy", 32), 0.586, 30, DAXPY),
    ("the same, 8 bytes less", "skylake-server", CYCLES, ("daxpy", 8), 0.797, 30, DAXPY),
    ("store of two lines, beyond one of one", "skylake-server", CYCLES, ("stores_at", 60, 0), 1, 30, SPLITS),
    ("forwards blocked, a load of a store's part and more", "skylake-server", "ld_blocks.store_forward", ("through_memory", 1), 1, 3,
     "arithmetic"),
    ("page walks of loads, 64 MiB in 2 MiB pages, beyond small ones", "skylake-server", "dtlb_load_misses.walk_completed",
     ("chase_large", 64 * MIB, 0), -0.906, 5, "arithmetic: 1536 entries hold 6 MiB of small pages, or all of large ones"),
    ("independent divisions", "skylake-server", CYCLES, ("divisions", 0), 6, 30, DIVISIONS),
    ("divisions, each of the quotient before", "skylake-server", CYCLES, ("divisions", 1), 26, 30, DIVISIONS),
    ("mutex taken and released, alone", "skylake-server", CYCLES, ("mutex", 0), 54.6, 35, ATOMICS),
    ("mispredicts of a decision at 1/2", "skylake-server", MISSES, ("branches", 0), 0.5, 1, "arithmetic"),
    ("mispredicts of a decision at 1/2", "zen4", "ex_ret_msprd_brnch_instr_dir_msmtch", ("branches", 0), 0.5, 1,
     "arithmetic"),
    ("L1D replacements, 8 lines of a set", "skylake-server", "l1d.replacement", ("set", 8), 0, 0, "arithmetic"),
    ("L1D fills, 8 lines of a set", "zen4", "ls_any_fills_from_sys.all", ("set", 8), 0, 0, "arithmetic"),
]

ZEROSKID = KERNELS = PAGE = ""


@functools.lru_cache(maxsize=None)
def counts(cpu, name, size, rounds):
    """{event: count} of all events that some case wants of this kernel: what is counted of one does not depend on the others."""
    events = sorted({event for _, other, event, (kernel, *sizes), *_ in CASES if (other, kernel) == (cpu, name) and size in sizes})
    ran = subprocess.run([ZEROSKID, "stat", "-x,", "--detail", "complete", "--cpu", cpu, "-e", ",".join(events), "--", KERNELS, name, str(rounds), str(size)],
                         env=ENVIRONMENT, capture_output=True, text=True, timeout=600, check=True)
    return {event: next(int(line.split(",")[0]) for line in ran.stderr.splitlines() if f",{event}," in line) for event in events}


def measure(case):
    """Per round: what twice as many rounds have more."""
    _, cpu, event, (name, *sizes), *_ = case
    values = [(counts(cpu, name, size, 2 * ROUNDS)[event] - counts(cpu, name, size, ROUNDS)[event]) / ROUNDS for size in sizes]
    return values[0] - sum(values[1:])


def row(case, value):
    name, cpu, _, _, reference, allowed, source = case
    error = 100 * (value - reference) / reference if reference else 0 if value == 0 else float("inf")
    verdict = "" if abs(error) <= allowed else " **outside**"
    error = round(error, 0) + 0.0  # no -0
    # Sizes of a few decimals: enough to see a change.
    return f"| {name} | {cpu} | {reference:g} | {value:.3g} | {error:+.0f} % of {allowed} %{verdict} | {source} |"


def table():
    return [row(case, measure(case)) for case in CASES]


class Validation(unittest.TestCase):
    def test_every_case_is_where_the_page_says(self):
        with open(PAGE, encoding="utf-8") as file:
            rows = file.read().partition(BEGIN)[2].partition(END)[0].strip().splitlines()[2:]
        self.assertEqual(len(rows), len(CASES))
        for case, told in zip(CASES, rows):
            with self.subTest(case=case[0], cpu=case[1]):
                cells = [cell.strip() for cell in told.strip("|").split("|")]
                value = measure(case)
                self.assertEqual(cells[:2], [case[0], case[1]])
                self.assertAlmostEqual(value, float(cells[3]), delta=0.03 * abs(value) + 0.01)
                self.assertEqual("outside" in cells[4], "outside" in row(case, value))


def write():
    with open(PAGE, encoding="utf-8") as file:
        before, _, rest = file.read().partition(BEGIN)
    after = rest.partition(END)[2]
    head = ["| case | CPU model | reference | modelled | error | source |", "|---|---|---|---|---|---|"]
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(before + "\n".join([BEGIN, *head, *table(), END]) + after)


if __name__ == "__main__":
    ZEROSKID, KERNELS, PAGE = (os.path.abspath(word) for word in sys.argv[1:4])
    if "--write" in sys.argv:
        write()
    else:
        unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
