"""Command lines that other tools have instead of perf's, and options of stat by habit.   recipes_test.py ZEROSKID"""
import os
import re
import unittest

import tool

LOOP = ["python3", "-c", "x = 0\nfor i in range(1000000): x += i"]


class Jmh(tool.InFolder):
    """What the profilers perfasm, perfnorm and perf of the Java Microbenchmark Harness start, and read."""

    def good(self, *words, **options):
        done = self.run_here(*words, **options)
        self.assertEqual(done.status, 0, done.err)
        return done

    def test_perfasm(self):
        self.good("record", "-q", "--event", "cycles", "-o", "-", "echo", "1")
        self.good("record", "--freq", "1000", "--event", "cycles", "--output", "bin.data", *LOOP)
        text = self.good("script", "--fields", "time,event,ip,sym,dso", "--input", "bin.data").out
        lines = [re.sub(" +", " ", line) for line in text.splitlines() if line.strip() and not line.startswith("#")]
        self.assertGreater(len(lines), 20)
        for line in lines:
            self.assertRegex(line, r"^ ?\d+\.\d+: cycles\S*: [0-9a-f]+ .+ \(.+\)$")

    def test_perfnorm(self):
        for words in (["-I", "100"], ["--interval-print", "100"], ["--detailed", "--detailed", "--detailed", "-I", "100"], []):
            self.good("stat", "--log-fd", "2", "--field-separator", ",", *words, "echo", "1")
        seen = {}
        done = self.good("stat", "--log-fd", "2", "--field-separator", ",", "--event", "cycles,instructions,branches", "-I", "10", *LOOP)
        for line in done.err.splitlines():
            columns = line.split(",")
            if len(columns) > 3 and re.fullmatch(r" *[\d.]+", columns[0]) and columns[1].isdigit():
                seen[columns[3]] = seen.get(columns[3], 0) + 1
        self.assertEqual(set(seen), {"cycles", "instructions", "branches"})
        self.assertGreater(min(seen.values()), 2)

    def test_perf(self):
        done = self.good("stat", "--log-fd", "2", "--delay", "1", "echo", "1")
        self.assertIn("counts are of the whole run", done.err)
        self.assertIn("instructions", done.err)


class FlameGraphs(tool.InFolder):
    def test_cargo_flamegraph_folds_what_script_prints(self):
        """Its two commands, and the folding of inferno: a blank line ends a stack, a frame is ADDRESS NAME (FILE)."""
        source = "def down(n):\n  return 0 if n == 0 else down(n - 1) + 1\nfor i in range(30000): down(20)"
        done = self.run_here("record", "-F", "997", "--call-graph", "dwarf,64000", "-g", "python3", "-c", source)
        self.assertEqual(done.status, 0, done.err)
        stacks, stack, roots = 0, [], 0
        for line in self.run_here("script", "--force", "-i", "perf.data").out.splitlines():
            if frame := re.match(r"\s+([0-9a-f]+) (.+) \((\S*)\)$", line):
                stack.append(frame[2].rsplit("+0x", 1)[0])
            elif not line and stack:
                stacks, roots, stack = stacks + 1, roots + (stack[-1] in ("_start", "_dl_start")), []
        self.assertGreater(stacks, 50)
        self.assertGreater(roots, stacks * 0.9)


class Stat(tool.InFolder):
    def test_output_goes_to_a_descriptor_or_behind_what_is_there(self):
        ours, theirs = os.pipe()
        done = self.run_here("stat", "-x,", "-e", "instructions", "--log-fd", str(theirs), "true", pass_fds=[theirs])
        os.close(theirs)
        self.assertEqual((done.status, done.err), (0, ""))
        self.assertRegex(os.read(ours, 1000).decode(), r"^\d+,,instructions,")
        os.close(ours)
        for _ in range(3):
            self.run_here("stat", "-x,", "-e", "instructions", "-o", "counts", "--append", "true")
        self.assertEqual(len((self.folder / "counts").read_text().splitlines()), 3)
        self.assertEqual(self.run_here("stat", "--log-fd", "77", "true").status, 125)
        self.assertEqual(self.run_here("stat", "--log-fd", "2", "-o", "counts", "true").status, 129)

    def test_commands_run_around_each_run(self):
        done = self.run_here("stat", "-n", "-r", "3", "--pre", "echo before >> said", "--post", "echo behind >> said", "sh", "-c", "echo run >> said")
        self.assertEqual(done.status, 0, done.err)
        self.assertEqual((self.folder / "said").read_text(), "before\nrun\nbehind\n" * 3)
        self.assertNotIn("instructions", done.err)
        done = self.run_here("stat", "--pre", "exit 3", "true")
        self.assertEqual(done.status, 125)
        self.assertIn("--pre exit 3: ended with status 3", done.err)

    def test_topdown_is_the_verb(self):
        self.assertIn("Retiring", self.run_here("stat", "--topdown", "true").out + self.run_here("stat", "--topdown", "true").err)

    def test_rings_can_be_chosen_for_all_events(self):
        self.assertIn("true", self.run_here("stat", "--all-user", "-e", "instructions", "true").err)
        done = self.run_here("stat", "--pmu=sw", "--all-kernel", "true")
        self.assertEqual(done.status, 129)
        self.assertIn("--all-kernel looks at the kernel alone", done.err)


if __name__ == "__main__":
    tool.main()
