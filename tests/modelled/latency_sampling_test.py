"""The load-latency facility tags loads at random: where sampled loads were is where all loads were, within the error of the sample.

On westmere, whose events of retired loads count a locked load where it was and no prefetches, as samples do."""
import math
import os
import pathlib
import re
import tempfile
import unittest

import tool

MIB, KIB = 1 << 20, 1 << 10
SOURCES = {"L1 or L1": "l1d_hit", "LFB": "hit_lfb", "L2 or L2": "l2_hit", "L3 or L3": "llc_unshared_hit",
           "Local RAM": "llc_miss"}


def kernel(*words):
    return [str(tool.GUESTS.parent / "validation" / "validation_kernels"), *map(str, words)]


PROGRAMS = {
    "a chase in L1": lambda: kernel("chase", 60_000, 16 * KIB),
    "a chase in L2": lambda: kernel("chase", 60_000, 128 * KIB),
    "a chase in L3": lambda: kernel("chase", 60_000, 1 * MIB),
    "a chase in memory": lambda: kernel("chase", 60_000, 32 * MIB),
    "a walk": lambda: kernel("walk", 200_000, 8 * MIB),
    "a walk of two loads a line": lambda: kernel("pairs", 100_000, 8 * MIB),
    "a chase beside hits": lambda: kernel("mixed", 40_000, 16 * MIB),
    "sorting": lambda: tool.guest("qsort_static"),
    "string instructions": lambda: tool.guest("rep_strings"),
    "gathers": lambda: tool.guest("avx2_kernels"),
}


def sampled(program):
    """How many samples there are of each source."""
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "perf.data")
        ran = tool.zeroskid("mem", "record", "-q", "--detail", "complete", "--cpu", "westmere", "--virtual-time", "-t", "load", "--ldlat", 3, "-c", 1,
                            "-o", data, "--", *program)
        assert ran.returncode == 0, ran.stderr
        levels = re.findall(r"LVL ([^|]+)", tool.zeroskid("script", "-i", data, "-F", "data_src").stdout)
    found = dict.fromkeys(SOURCES, 0)
    for level in levels:
        found[next(source for source in SOURCES if level.startswith(source))] += 1
    return found


class LatencySampling(unittest.TestCase):
    def test_sources_of_samples_are_those_of_all_loads(self):
        seen = set()
        for what, program in PROGRAMS.items():
            counts = tool.numbers(["mem_load_retired." + event for event in SOURCES.values()], program(), "--cpu", "westmere",
                                  "--virtual-time")
            loads = sum(counts.values())
            samples = sampled(program())
            size = sum(samples.values())
            with self.subTest(program=what):
                # 8 to 23 are passed over, and of what is tagged every second one is recorded.
                self.assertAlmostEqual(size, loads / 33, delta=0.02 * loads / 33 + 5)
            for source, event in SOURCES.items():
                share = counts["mem_load_retired." + event] / loads
                error = 4 * math.sqrt(share * (1 - share) / size) + 2 / size
                seen |= {source} if share > 0.05 else set()
                with self.subTest(program=what, source=source):
                    self.assertAlmostEqual(samples[source] / size, share, delta=error)
        self.assertEqual(seen, set(SOURCES))


if __name__ == "__main__":
    tool.main()
