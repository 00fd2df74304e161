#!/usr/bin/env python3
"""Programs drawn at random: functions that call one another and themselves, in front of tail calls, loops, parts that the
compiler puts elsewhere, exceptions and longjmp. Each counts its own calls; regions of functions and the tree of calls find as many.
  nests_test.py ZEROSKID [SEED]
"""
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
ZEROSKID = ""
SEED = random.SystemRandom().randrange(1 << 30)
FUNCTIONS = 6
WAYS = (["-e", "instructions"], [], ["--max-block", "1"], ["--precise-only"])

BEGINNING = """
#include <csetjmp>
#include <cstdio>
#define HERE __attribute__((noipa))
static unsigned long calls[FUNCTIONS + 1];
static unsigned state = 1;
static int budget;
static volatile long sink;
static jmp_buf* landing;
static inline unsigned draw(unsigned below) { return ((state = state * 1103515245 + 12345) >> 16) % below; }
HERE __attribute__((cold)) void rarely(int n) { ++calls[FUNCTIONS]; sink += n; }
struct Lands {
  jmp_buf here;
  jmp_buf* before = landing;
  Lands() { landing = &here; }
  ~Lands() { landing = before; }
};
"""
END = """
int main() {
  for (int round = 0; round < 12; ++round) {
    budget = 60;
    try {
      Lands lands;
      if (setjmp(lands.here) == 0) sink += f0(6);
    } catch (int) {
      sink += 1;
    }
  }
  for (int i = 0; i < FUNCTIONS; ++i) std::printf("f%d %lu\\n", i, calls[i]);
  std::printf("rarely %lu\\n", calls[FUNCTIONS]);
}
"""
PLAIN = {
    "work": "for (unsigned i = draw(9); i > 0; --i) sink += i;",
    "call": "sink += f{other}(n - 1);",
    "calls": "for (int i = 0; i < 3; ++i) sink += f{other}(n - 1);",
    "seldom": "if (draw(5) == 0) rarely(n);",
}
LEFT = {
    "throw": "if (draw(5) == 0) throw n;",
    "try": "try {{ sink += f{other}(n - 1); }} catch (int) {{ rarely(n); }}",
    "tries": "for (int i = 0; i < 3; ++i) try {{ sink += f{other}(n - 1); }} catch (int) {{ sink += 2; }}",
    "longjmp": "if (draw(9) == 0) longjmp(*landing, 1);",
    "setjmp": "{{ Lands lands; if (setjmp(lands.here) == 0) sink += f{other}(n - 1); }}",
}


def source(draw, left, tails):
    """A program, in which functions are left without a return, or by a jump to another."""
    kinds = {**PLAIN, **(LEFT if left else {})}
    text = BEGINNING + "".join(f"int f{one}(int);\n" for one in range(FUNCTIONS))
    for one in range(FUNCTIONS):
        text += f"HERE int f{one}(int n) {{\n  ++calls[{one}];\n  if (n <= 0 || --budget < 0) return 1;\n"
        for kind in draw.choices(list(kinds), k=draw.randint(1, 4)):
            text += "  " + kinds[kind].format(other=draw.randrange(FUNCTIONS)) + "\n"
        tail = draw.choice([other for other in range(FUNCTIONS) if other != one])  # in itself it would be a loop
        text += f"  return f{tail}(n - 1);\n}}\n" if tails and draw.random() < 0.5 else f"  sink += f{tail}(n - 2);\n  return 2;\n}}\n"
    return (text + END).replace("FUNCTIONS", str(FUNCTIONS))


def covered(spans):
    """How much lies in at least one of these stretches."""
    total = end = 0
    for begin, stop in sorted(spans):
        total += max(0, stop - max(begin, end))
        end = max(end, stop)
    return total


class Nests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_in(self, *words):
        result = subprocess.run(words, cwd=self.folder, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(result.returncode, 0, (SEED, words, result.stderr[-600:]))
        return result.stdout

    def build(self, draw, left, tails):
        """Its calls by function."""
        with open(os.path.join(self.folder, "p.cc"), "w", encoding="utf-8") as file:
            file.write(source(draw, left, tails))
        self.run_in("g++", "-O2", "-g", "-o", "p", "p.cc")
        return {name: int(times) for name, times in map(str.split, self.run_in("./p").splitlines())}

    def regions(self, names, *way):
        """By region: entries, sum, least, most of its instructions; and those of the whole run."""
        self.run_in(ZEROSKID, "stat", "-j", "-o", "counts", *(word for name in names for word in ("--region", name)), *way, "--", "./p")
        found, whole = {}, 0
        with open(os.path.join(self.folder, "counts"), encoding="utf-8") as file:
            for fields in map(json.loads, file):
                if fields.get("event") != "instructions":
                    continue
                if "region" in fields:
                    found[fields["region"]] = tuple(fields.get(key) for key in ("entries", "sum", "min", "max"))
                else:
                    whole = float(fields["counter-value"])
        return found, whole

    def tree(self):
        """By function: how often the tree of calls has it, and the instructions in it where it is in no other of its name."""
        self.run_in(ZEROSKID, "trace", "-q", "--", "./p")
        times, inside, above = collections.Counter(), collections.Counter(), []
        for line in self.run_in(ZEROSKID, "trace", "report", "--percent-limit", "0").splitlines():
            found = re.match(r"^ +[\d.]+% +([\d,]+) +([\d,]+) {1,10} *([\d,]*)  ( *)([^\s(]+)", line)
            if not found or line.startswith("#"):
                continue
            del above[len(found[4]) // 2:]
            times[found[5]] += int(found[3].replace(",", "") or 0)
            if found[5] not in above:
                inside[found[5]] += int(found[1].replace(",", ""))
            above.append(found[5])
        return times, inside

    def check(self, number, left, tails):
        draw = random.Random(f"{SEED} {number}")
        calls = self.build(draw, left, tails)
        names = [name for name, times in calls.items() if times]
        first = None
        for way in WAYS:
            found, whole = self.regions(names, *way)
            self.assertEqual({name: found[name][0] for name in names}, {name: calls[name] for name in names}, (SEED, number, way))
            first = first or found
            self.assertEqual(found, first, (SEED, number, way))
            for name, (_, total, least, most) in found.items():
                self.assertLessEqual(least, most)
                self.assertTrue(most <= total <= whole, (SEED, number, name))
        times, inside = self.tree()
        self.assertEqual({name: times[name] for name in names}, {name: calls[name] for name in names}, (SEED, number))
        self.run_in(ZEROSKID, "stat", "-I", "999i", "--format", "csv", "-o", "windows", "--region", names[0], "--", "./p")
        with open(os.path.join(self.folder, "windows"), encoding="utf-8") as file:
            spans = [tuple(map(int, line.split(",")[-2:])) for line in file if line.startswith(f"# region,{names[0]},")]
        self.assertEqual((len(spans), covered(spans)), self.regions(names[:1], *WAYS[0])[0][names[0]][:2], (SEED, number))
        if not left and not tails:
            self.assertEqual({name: found[name][1] for name in names}, {name: inside[name] for name in names}, (SEED, number))

    def test_functions_that_return(self):
        for number in range(2):
            self.check(number, left=False, tails=False)

    def test_functions_that_end_in_others(self):
        for number in range(2):
            self.check(number, left=False, tails=True)

    def test_functions_that_are_left(self):
        for number in range(3):
            self.check(number, left=True, tails=number % 2 == 1)


if __name__ == "__main__":
    ZEROSKID = os.path.abspath(sys.argv[1])
    if len(sys.argv) > 2:
        SEED = int(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
