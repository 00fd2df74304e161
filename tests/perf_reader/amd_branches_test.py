"""The last-branch stack of zen4 in recordings: against that of another processor, which is deeper, and as stock perf reads it.
amd_branches_test.py ZEROSKID GUESTS
"""
import os
import pathlib
import re
import shutil
import struct
import sys
import tempfile
import unittest

from recordings import records, run

EVERY = "997"
ZEROSKID = GUESTS = ""


class Branches(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def record(self, model, *options, status=0):
        return run(ZEROSKID, "record", "-q", "--model", model, "--virtual-time", "-e", "instructions:u", "-c", EVERY, *options, "-o",
                   model + ".data", "--", os.path.join(GUESTS, "qsort_static"), folder=self.folder, status=status)

    def stacks(self, model, tool=None):
        """[(ip, [(from, to)])] of each sample."""
        text = run(tool or ZEROSKID, "script", "-F", "ip,brstack", "-i", model + ".data", folder=self.folder).stdout
        found = []
        for line in text.splitlines():
            words = line.split()
            found.append((words[0], [tuple(word.split("/")[:2]) for word in words[1:]]))
        return found

    def test_are_the_newest_16_of_those_that_skylake_has(self):
        for filter in ("any", "any_call", "any_ret", "ind_call", "ind_jmp", "cond", "call"):
            with self.subTest(filter=filter):
                for model in ("zen4", "skylake-server"):
                    self.record(model, "-j", filter)
                amd, intel = self.stacks("zen4"), self.stacks("skylake-server")
                self.assertGreater(len(amd), 50)
                self.assertEqual(amd, [(ip, branches[:16]) for ip, branches in intel])
                if filter in ("any", "cond"):
                    self.assertEqual({len(branches) for _, branches in amd[10:]}, {16})

    def test_one_leads_to_the_next(self):
        self.record("zen4", "-b")
        for _, branches in self.stacks("zen4"):
            for (newer, _), (_, older) in zip(branches, branches[1:]):
                self.assertLess(int(newer, 16) - int(older, 16), 4096, "straight code from one's target to the next one")

    @unittest.skipIf(shutil.which("perf") is None, "perf is not installed (apt install linux-perf)")
    def test_stock_perf_reads_them(self):
        self.record("zen4", "-b")
        self.assertEqual(self.stacks("zen4", "perf"), self.stacks("zen4"))
        self.assertRegex(run("perf", "report", "--stdio", "--branch-history", "-i", "zen4.data", folder=self.folder).stdout, r"\[\.\] \w+")
        dump = run("perf", "script", "-D", "-i", "zen4.data", folder=self.folder).stdout
        self.assertRegex(dump, r"branch stack: nr:16")
        self.assertRegex(run("perf", "report", "--header-only", "-i", "zen4.data", folder=self.folder).stdout, r"branches=16|branches: 16")

    def flags(self, model):
        """The flags of each entry of the recorded stacks."""
        samples = iter([record for kind, record, _ in records(self.folder / (model + ".data")) if kind == 9])
        for (_, branches), sample in zip(self.stacks(model), samples):
            at = 0
            for branch in branches:
                entry = struct.pack("<QQ", *(int(address, 16) for address in branch))
                at = sample.index(entry, at) + 24
                yield struct.unpack_from("<Q", sample, at - 8)[0]

    def test_each_is_valid_and_not_speculative_as_the_kernel_writes_it(self):
        for model, speculation in (("zen4", 2), ("skylake-server", 0)):
            self.record(model, "-b")
            found = list(self.flags(model))
            self.assertGreater(len(found), 1000)
            self.assertEqual({flags >> 24 & 3 for flags in found}, {speculation}, "PERF_BR_NON_SPEC_CORRECT_PATH")

    def test_predictions_are_told_where_something_is_modelled(self):
        self.record("zen4", "-b", "-e", "ex_ret_brn_misp")
        shown = run(ZEROSKID, "script", "-F", "brstack", "-i", "zen4.data", folder=self.folder).stdout
        self.assertTrue(re.search(r"/M/-/-/", shown) and re.search(r"/P/-/-/", shown))

    def test_call_stacks_of_them_are_refused_by_every_processor_without_that_mode(self):
        for model in ("zen4", "westmere", "nehalem", "ivybridge", "core2"):
            told = self.record(model, "--call-graph", "lbr", status=129).stderr
            self.assertIn(f"{model}@1: its last-branch records have no call-stack mode", told)
        self.record("haswell", "--call-graph", "lbr")


if __name__ == "__main__":
    ZEROSKID, GUESTS = map(os.path.abspath, sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
