#!/usr/bin/env python3
"""record --skid and report --skid: three loads, of which one misses, and which of them is blamed for it.
  skid_test.py ZEROSKID
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "tests"))
import console_page

PAGE = os.path.join(ROOT, "docs", "how-to", "skid.md")
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": "/"}
MISSES = "mem_load_retired.l1_miss"
ZEROSKID = ""


def run(*words, status=0):
    result = subprocess.run([str(word) for word in words], env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=300)
    assert result.returncode == status, (words, result.returncode, result.stdout[-500:], result.stderr[-2000:])
    return result


class Laboratory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = cls.temporary.name
        cls.program = os.path.join(cls.folder, "three_loads")
        run("cc", "-O1", "-g", "-static", "-o", cls.program, os.path.join(ROOT, "examples/three_loads/three_loads.c"))

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def record(self, *options, event=MISSES, count=97):
        path = os.path.join(self.folder, "perf.data")
        run(ZEROSKID, "record", "-q", "--virtual-time", *options, "-e", event, "-c", count, "-o", path, "--", self.program)
        return path

    def refused(self, *options, verb="record", words=None):
        result = run(ZEROSKID, verb, *options, *(words if words is not None else ("--", self.program)), status=129)
        return result.stderr

    def blamed(self, *options, **more):
        """Shares of the functions that samples show, by stock report."""
        text = run(ZEROSKID, "report", "-s", "symbol", "-i", self.record(*options, **more)).stdout
        return {name: float(share) for share, name in re.findall(r"^ +([\d.]+)% +\[\.\] (\S+)", text, re.MULTILINE)}

    def pairs(self, *options, **more):
        """(overflowed in, shown in) -> share; and the histogram of instructions."""
        text = run(ZEROSKID, "report", "--skid", "-i", self.record(*options, **more)).stdout
        pairs = {(true, shown): float(share) for share, true, shown in re.findall(r"^ +([\d.]+)%  (\S+) +(\S+)$", text, re.MULTILINE)}
        return text, pairs

    def test_interrupts_blame_another_load_and_precise_distribution_the_one_that_misses(self):
        for options, blamed in (("pdist",), "load1"), (("pebs",), "load1"), (("pmi",), "load3"), (("pmi", "--seed", "7"), "load3"):
            with self.subTest(options):
                shares = self.blamed("--skid", *options)
                self.assertGreater(shares.get(blamed, 0), 90)
                self.assertEqual("load1" in shares, blamed == "load1", shares)
        _, pairs = self.pairs("--skid", "pmi")
        self.assertGreater(pairs["load1", "load3"], 90)
        _, pairs = self.pairs("--skid", "pdist")
        self.assertTrue(all(true == shown for true, shown in pairs), pairs)

    def test_a_skid_of_nothing_is_an_ordinary_interrupt(self):
        """Which shows what is next, so the same places as without --skid."""
        where = []
        for options in ((), ("--skid", "0")):
            text = run(ZEROSKID, "script", "-F", "ip,sym,period", "-i", self.record("--detail", "complete", *options)).stdout
            where.append(text.splitlines())
        self.assertGreater(len(where[0]), 100)
        self.assertEqual(*where)

    def test_the_histograms_sum_up_to_the_samples(self):
        for mode in ("pmi", "pebs", "pdist", "85"):
            with self.subTest(mode):
                text, pairs = self.pairs("--skid", mode)
                (samples,) = re.findall(r"^# Samples: (\d+) of", text, re.MULTILINE)
                by_distance, by_bytes = re.findall(r"(?:^ +(?:-?\d+|-?\d+ to -?\d+|\.\.\.)(?:  +\d+  +[\d.]+%.*)?\n)+", text, re.MULTILINE)
                for histogram in by_distance, by_bytes:
                    rows = re.findall(r"^ +-?\d+(?: to -?\d+)?  +(\d+)  +([\d.]+)%", histogram, re.MULTILINE)
                    self.assertEqual(sum(int(count) for count, _ in rows), int(samples))
                    self.assertAlmostEqual(sum(float(share) for _, share in rows), 100, delta=0.1)
                script = run(ZEROSKID, "script", "-F", "ip", "-i", os.path.join(self.folder, "perf.data")).stdout
                self.assertEqual(len(script.splitlines()), int(samples))
                self.assertGreater(sum(pairs.values()), 95)

    def test_distances_are_those_that_were_asked_for(self):
        text, _ = self.pairs("--skid", "85", event="instructions", count=9973)
        self.assertRegex(text, r"\n +64 to 127 +\d+ +100\.00%")
        text, _ = self.pairs("--skid", "pmi", event="instructions", count=9973)
        rows = re.findall(r"^ +(\d+)(?: to (\d+))?  +\d+  ", text.split("Bytes further")[0], re.MULTILINE)
        self.assertTrue(all(4 <= int(first) <= 128 for first, _ in rows), rows)
        self.assertIn("# Skid: pmi: interrupts are late by 5 to 205 instructions, as one machine was seen to (median 78) (modelled); seed 1", text)

    def test_a_run_repeats_and_another_seed_is_another_run(self):
        files = []
        for seed in ("1", "1", "2"):
            with open(self.record("--skid", "pmi", "--seed", seed), "rb") as file:
                files.append(file.read())
        where = []
        for seed in ("1", "1", "2"):
            where.append(run(ZEROSKID, "script", "-F", "ip", "-i", self.record("--skid", "pmi", "--seed", seed)).stdout)
        self.assertEqual(files[0], files[1])
        self.assertEqual(where[0], where[1])
        self.assertNotEqual(where[0], where[2])

    def test_threads_and_processes_are_each_late_by_themselves(self):
        path = os.path.join(self.folder, "many")
        run(ZEROSKID, "record", "-q", "--skid", "pmi", "-e", "instructions", "-c", "9973", "-o", path, "--",
            "/bin/sh", "-c", f"{self.program} & {self.program}; wait")
        text = run(ZEROSKID, "report", "--skid", "-i", path).stdout
        (samples,) = re.findall(r"^# Samples: (\d+) of", text, re.MULTILINE)
        self.assertGreater(int(samples), 2000)

    def test_every_way_samples_the_usual_event_and_branches(self):
        for how in ("pmi", "pebs", "pdist", "3"):
            for event in ((), ("-e", "branches")):
                with self.subTest(how=how, event=event):
                    path = os.path.join(self.folder, "usual")
                    run(ZEROSKID, "record", "-q", "--skid", how, *event, "-o", path, "--", "/bin/true")
                    text = run(ZEROSKID, "report", "--skid", "-i", path).stdout
                    self.assertGreater(int(re.search(r"^# Samples: (\d+) of", text, re.MULTILINE)[1]), 10)

    def test_raw_samples_are_decoded(self):
        text = run(ZEROSKID, "script", "--raw", "-i", self.record("--skid", "3")).stdout
        self.assertRegex(text, r"\nskid: overflowed at [0-9a-f]+, 4 instructions before what is shown\n")

    @unittest.skipUnless(shutil.which("perf"), "there is no perf")
    def test_perf_reads_it_and_blames_the_same(self):
        path = self.record("--skid", "pmi")
        theirs = run("perf", "script", "-f", "-i", path, "-F", "ip,sym").stdout.split()
        ours = run(ZEROSKID, "script", "-i", path, "-F", "ip,sym").stdout.split()
        self.assertGreater(len(ours), 200)
        self.assertEqual(theirs, ours)

    def test_a_file_that_does_not_say_where_counters_overflowed_is_refused(self):
        path = self.record()
        message = run(ZEROSKID, "report", "--skid", "-i", path, status=129).stderr
        self.assertIn("its samples do not say which instructions made their counters overflow\nhint: record --skid pmi", message)

    def test_what_it_does_not_go_with_is_refused_by_name(self):
        for options, message in (
                (("--skid", "late"), "--skid late: neither a number of instructions nor pmi, pebs or pdist\nhint: --skid pmi"),
                (("--skid", "-1"), "--skid -1: no interrupt is early"),
                (("--skid", "99999999999999999999"), "--skid 99999999999999999999: too large"),
                (("--skid", "pmi", "-e", "instructions:pp"), "instructions:pp and --skid pmi exclude each other"),
                (("--skid", "pmi", "-e", "cycles"), "cycles: belongs to no instruction that --skid pmi could be late after"),
                (("--skid", "pmi", "--pmu=sw", "-e", "page-faults"), "page-faults: the kernel counts it, and no PMU can sample it"),
                (("--skid", "pmi", "-e", "intel_bts//u"), "of which --skid is"),
                (("--skid", "pebs", "--model", "zen4", "-e", "instructions"), "--skid pebs: zen4@1 has no PEBS"),
                (("--skid", "pmi", "-R"), "-R and --skid exclude each other"),
                (("--skid", "pmi", "-d"), "-d and --skid exclude each other"),
                (("--skid", "pmi", "--pmu=hw"), "--skid: only the software PMU knows it"),
                (("--skid", "pmi", "--detail", "sampled", "-e", MISSES), "--skid and --detail sampled exclude each other")):
            with self.subTest(options):
                self.assertIn(message, self.refused(*options))
        self.assertIn("--skid pebs: an interrupt ends a window; PEBS writes records, and ends none",
                      self.refused("-I", "5000i", "--skid", "pebs", verb="stat"))

    def test_the_page_says_what_is_so(self):
        console_page.check(self, PAGE, ZEROSKID)


if __name__ == "__main__":
    ZEROSKID = os.path.abspath(sys.argv.pop(1))
    unittest.main()
