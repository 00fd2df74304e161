"""perf2bolt and llvm-bolt take a recording with -b: every branch fits the code, and the optimised program does the same.
  bolt_test.py ZEROSKID GUESTS
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BOLT = "/usr/lib/llvm-16/bin"
TOOLS = {name: shutil.which(name, path=os.environ["PATH"] + os.pathsep + BOLT) for name in ("perf", "perf2bolt", "llvm-bolt")}


def output_of(*words, folder=None):
    result = subprocess.run(words, cwd=folder, capture_output=True, text=True, errors="replace", timeout=200, check=False)
    assert result.returncode == 0, (words, result.returncode, result.stderr[-600:])
    return result.stdout + result.stderr


@unittest.skipIf(None in TOOLS.values(), f"not installed: {', '.join(name for name, path in TOOLS.items() if path is None)}")
class Bolt(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def aggregate(self, guest):
        """Records `guest` and returns what perf2bolt says: {words before the colon: number}."""
        program = os.path.join(GUESTS, guest)
        output_of(ZEROSKID, "record", "-q", "-b", "-e", "br_inst_retired.near_taken:ppp", "-c", "97", "--", program, folder=self.folder)
        said = output_of(TOOLS["perf2bolt"], "-p", "perf.data", "-o", "profile", program, folder=self.folder)
        return {name: int(number) for name, number in re.findall(r"^PERF2BOLT: ([^:\n]+): (\d+) \(", said, re.M)} | {
            "samples": int(re.search(r"read (\d+) samples", said)[1])}

    def optimise(self, guest):
        program = os.path.join(GUESTS, guest)
        said = output_of(TOOLS["llvm-bolt"], program, "-o", "optimised", "-data=profile", "-reorder-blocks=ext-tsp", folder=self.folder)
        self.assertNotIn("stale", said)
        self.assertEqual(output_of("./optimised", folder=self.folder), output_of(program, folder=self.folder))

    def test_of_a_static_program_every_trace_is_one_of_its_code(self):
        said = self.aggregate("qsort_static")
        self.assertGreater(said["samples"], 100)
        self.assertEqual(said["traces mismatching disassembled function contents"], 0)
        self.assertEqual(said["out of range traces involving unknown regions"], 0)
        self.optimise("qsort_static")

    def test_of_a_dynamic_program_traces_out_of_range_are_those_of_its_libraries(self):
        said = self.aggregate("deep_recursion")
        self.assertEqual(said["traces mismatching disassembled function contents"], 0)
        self.assertGreater(said["out of range traces involving unknown regions"], 0)
        self.assertEqual(said["out of range traces involving unknown regions"], self.traces_elsewhere("deep_recursion"))
        self.optimise("deep_recursion")

    def traces_elsewhere(self, guest):
        """How many stretches between two branches of a stack have an end outside the executable mapping of the guest."""
        mappings = output_of(TOOLS["perf"], "script", "--show-mmap-events", "-F", "comm,ip", "-i", "perf.data", folder=self.folder)
        start, length = (int(digits, 16) for digits in re.search(
            r"\[0x([0-9a-f]+)\(0x([0-9a-f]+)\)[^\n]* r-xp [^\n]*/" + guest + "$", mappings, re.M).groups())
        elsewhere = 0
        for stack in output_of(TOOLS["perf"], "script", "-F", "brstack", "-i", "perf.data", folder=self.folder).splitlines():
            later = None  # where the next branch leaves, newest first
            for branch in stack.split():
                source, target = (int(end, 16) for end in branch.split("/")[:2])
                if later is not None:
                    elsewhere += not all(start <= end < start + length for end in (target, later))
                later = source
        return elsewhere


if __name__ == "__main__":
    ZEROSKID, GUESTS = (os.path.abspath(path) for path in sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
