"""Recordings that are compressed (`record -z`) against those that are not: stock perf and zeroskid print the same of both.
compression_test.py ZEROSKID GUESTS
"""
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

from recordings import AUXTRACE, COMPRESSED, records, run

HAS_PERF = shutil.which("perf") is not None
TOOLS = ["perf"] if HAS_PERF else []


def bytes_by_type(path):
    found = {}
    for kind, record, behind in records(path):
        found[kind] = found.get(kind, 0) + len(record) + len(behind)
    return found


class Compression(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def record(self, verb, options, program, output, status=0):
        return run(ZEROSKID, *verb, "--virtual-time", "-o", output, *options, "--", os.path.join(GUESTS, program),
                   folder=self.folder, status=status)

    def same(self, *words):
        """What each tool prints of the recording rec1.data it prints of rec2.data."""
        for tool in (ZEROSKID, *TOOLS):
            plain, packed = (run(tool, *words, "-i", name, folder=self.folder) for name in ("rec1.data", "rec2.data"))
            self.assertGreater(plain.stdout.count("\n"), 20)
            self.assertEqual(plain.stdout.replace("rec1.data", "rec2.data"), packed.stdout, (tool, words))
            self.assertEqual(packed.stderr.replace("rec2.data", "rec1.data"), plain.stderr, (tool, words))

    def test_samples_are_the_same_and_take_less(self):
        for options, level in (([], "-z"), (["-g"], "--compression-level=3"), (["--call-graph", "dwarf,4096"], "-z=22"),
                               (["-b", "-R"], "-z9")):
            self.record(["record"], ["-c", "2003", *options], "qsort_static", "rec1.data")
            self.record(["record"], ["-c", "2003", level, *options], "qsort_static", "rec2.data")
            self.same("script")
            plain, packed = bytes_by_type(self.folder / "rec1.data"), bytes_by_type(self.folder / "rec2.data")
            self.assertGreater(sum(plain.values()), 3 * packed[COMPRESSED])
            self.assertLess(sum(packed.values()), packed[COMPRESSED] + 3000, "what is said of the recording at its beginning")

    def test_memory_records_with_blocks_of_the_heap(self):
        for options, output in (([], "rec1.data"), (["-z"], "rec2.data")):
            self.record(["mem", "record"], ["-c", "997", *options], "heap_sites", output)
        plain, packed = (run(ZEROSKID, "mem", "report", "-i", name, folder=self.folder).stdout for name in ("rec1.data", "rec2.data"))
        self.assertEqual(plain.replace("rec1.data", "rec2.data"), packed)

    @unittest.skipIf(not HAS_PERF, "perf is not installed (apt install linux-perf)")
    def test_perf_is_told_of_it(self):
        self.record(["record"], ["-c", "2003", "-z=5"], "qsort_static", "rec2.data")
        head = run("perf", "report", "--header-only", "-i", "rec2.data", folder=self.folder).stdout
        self.assertRegex(head, r"# compressed : Zstd, level = 5, ratio = \d+\n")

    def test_branches_of_a_trace_stay_as_they_are(self):
        """perf 6.1 looks for them at their places in the file; packed ones it would take for branches as they are."""
        self.record(["trace"], [], "threads_pthread", "rec1.data")
        self.record(["trace"], ["-z"], "threads_pthread", "rec2.data")
        self.same("script", "--itrace=b", "-F", "tid,ip,addr,sym")
        plain, packed = bytes_by_type(self.folder / "rec1.data"), bytes_by_type(self.folder / "rec2.data")
        self.assertEqual(plain[AUXTRACE], packed[AUXTRACE])
        self.assertEqual(set(packed) - set(plain), {COMPRESSED})

    def test_a_bound_holds(self):
        for size in (20_000, 100_001, 400_000):
            self.record(["trace"], ["-z", "--max-size", str(size)], "qsort_static", "rec2.data")
            self.assertLessEqual((self.folder / "rec2.data").stat().st_size, size)
            self.assertGreater((self.folder / "rec2.data").stat().st_size, size * 0.9)
            for tool in TOOLS:
                shown = run(tool, "script", "--itrace=b", "-F", "ip,addr", "-i", "rec2.data", folder=self.folder)
                self.assertGreater(shown.stdout.count("\n"), (size - 16_000) / 27)

    def test_what_the_kernel_sampled(self):
        said = run(ZEROSKID, "record", "--pmu=hw", "-e", "cpu-clock", "-z", "-o", "rec2.data", "--",
                   os.path.join(GUESTS, "qsort_static"), folder=self.folder, status=None)
        if said.returncode >= 125:
            self.skipTest("the kernel samples nothing here: " + said.stderr)
        self.assertIn(COMPRESSED, bytes_by_type(self.folder / "rec2.data"))
        counts = {run(tool, "script", "-F", "ip", "-i", "rec2.data", folder=self.folder).stdout.count("\n")
                  for tool in (ZEROSKID, *TOOLS)}
        self.assertEqual(len(counts), 1, counts)

    def test_a_recording_that_was_killed_is_read_as_far_as_it_is_there(self):
        self.record(["record"], ["-c", "101", "-z"], "qsort_static", "rec2.data")
        data = bytearray((self.folder / "rec2.data").read_bytes())
        whole = run(ZEROSKID, "script", "-F", "ip", "-i", "rec2.data", folder=self.folder).stdout
        data[72:104] = bytes(32)  # no features, as of a file that was not closed
        (self.folder / "rec2.data").write_bytes(data)
        self.assertEqual(run(ZEROSKID, "script", "-F", "ip", "-i", "rec2.data", folder=self.folder).stdout, whole)

    def test_words_of_the_program_are_its_own(self):
        said = run(ZEROSKID, "record", "-q", "-z", "-o", "rec1.data", "-c", "1000", "echo", "-z5", "-z=5", folder=self.folder)
        self.assertEqual(said.stdout, "-z5 -z=5\n")
        self.record(["record"], ["-o", "-z5", "-z5", "-o", "rec2.data"], "qsort_static", "rec1.data")
        self.assertIn(COMPRESSED, bytes_by_type(self.folder / "rec2.data"))

    def test_levels_that_there_are_not_are_named(self):
        for level in ("0", "23", "much", "-1"):
            said = self.record(["record"], [f"--compression-level={level}"], "qsort_static", "rec2.data", status=129).stderr
            self.assertRegex(said, rf"zeroskid: -z={level}: no level of compression\nhint: 1, which is the fastest, to 22\n")


if __name__ == "__main__":
    ZEROSKID, GUESTS = (os.path.abspath(path) for path in sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
