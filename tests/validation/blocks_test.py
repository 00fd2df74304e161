#!/usr/bin/env python3
"""Cycles of blocks that others have measured, against the modelled core's: docs/generated/published-blocks.md.
  blocks_test.py ZEROSKID BLOCKS PAGE.md            the median error is at most 10 %, and each block is where the page says
  blocks_test.py ZEROSKID BLOCKS PAGE.md --write    writes the table and its summary
"""
import os
import statistics
import subprocess
import sys
import unittest

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": "/"}
CPU = "skylake-server"
BEGIN, END = "<!-- blocks: made by tests/validation/blocks_test.py --write -->", "<!-- end of blocks -->"
ROUNDS, INSTRUCTIONS = 500, 32
MOST_MEDIAN = 10  # % of cycles

ZEROSKID = BLOCKS = PAGE = ""


def blocks():
    """[(kind, published cycles of one instruction, text)]"""
    listed = subprocess.run([BLOCKS], capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in listed.splitlines()]
    return [(kind, float(cycles), text.replace("%%", "%").replace("\\d", "*")) for kind, cycles, text in rows]


def cycles(number, rounds):
    ran = subprocess.run([ZEROSKID, "stat", "-x,", "--detail", "complete", "--cpu", CPU, "-e", "cycles", "--", BLOCKS, str(number), str(rounds)],
                         env=ENVIRONMENT, capture_output=True, text=True, timeout=600, check=True)
    return next(int(line.split(",")[0]) for line in ran.stderr.splitlines() if ",cycles," in line)


def measured(number):
    """Of one instruction: what twice as many rounds take more."""
    return (cycles(number, 2 * ROUNDS) - cycles(number, ROUNDS)) / (ROUNDS * INSTRUCTIONS)


def error(published, ours):
    return 100 * (ours - published) / published


def table():
    rows = [(kind, text, published, measured(number)) for number, (kind, published, text) in enumerate(blocks())]
    errors = sorted(abs(error(published, ours)) for _, _, published, ours in rows)
    within = sum(one <= 10 for one in errors)
    head = [f"{len(rows)} blocks on {CPU}: median error {statistics.median(errors):.1f} %, {within} within 10 %, the worst "
            f"{errors[-1]:.0f} %.", "", "| block | instructions | published | modelled | error |", "|---|---|---|---|---|"]
    return head + [f"| {kind} | `{text}` | {published:g} | {ours:.3g} | {error(published, ours) + 0.0:+.0f} % |"
                   for kind, text, published, ours in rows]


class Blocks(unittest.TestCase):
    def test_the_median_error_is_small_and_each_block_is_where_the_page_says(self):
        with open(PAGE, encoding="utf-8") as file:
            told = [line for line in file.read().partition(BEGIN)[2].partition(END)[0].splitlines() if line.startswith("| ")][1:]
        known = blocks()
        self.assertGreaterEqual(len(known), 100)
        self.assertEqual(len(told), len(known))
        errors = []
        for number, ((kind, published, text), line) in enumerate(zip(known, told)):
            with self.subTest(block=text, kind=kind):
                cells = [cell.strip() for cell in line.strip("|").split("|")]
                ours = measured(number)
                errors.append(abs(error(published, ours)))
                self.assertEqual(cells[:3], [kind, f"`{text}`", f"{published:g}"])
                self.assertAlmostEqual(ours, float(cells[3]), delta=0.03 * ours)
        self.assertLessEqual(statistics.median(errors), MOST_MEDIAN)


def write():
    with open(PAGE, encoding="utf-8") as file:
        before, _, rest = file.read().partition(BEGIN)
    after = rest.partition(END)[2]
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(before + "\n".join([BEGIN, *table(), END]) + after)


if __name__ == "__main__":
    ZEROSKID, BLOCKS, PAGE = (os.path.abspath(word) for word in sys.argv[1:4])
    if "--write" in sys.argv:
        write()
    else:
        unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
