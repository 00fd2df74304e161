#!/usr/bin/env python3
"""Each fast way of the engine is taken: what runs in it comes out of translated code no more often when there is more of it, or a few
times for each sample. Counts and samples are the same without it, so no other test fails where one is off.
  visits_test.py ZEROSKID GUESTS CC
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C"}
ZEROSKID = GUESTS = CC = ""

#: Indirect calls and returns, in the program's own code, and in code that lies where no direct table reaches.
CALLS = r"""
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
typedef unsigned (*Function)(unsigned);
__attribute__((noinline)) static unsigned twice(unsigned x) { return 2 * x; }
__attribute__((noinline)) static unsigned thrice(unsigned x) { return 3 * x; }
int main(int count, char** words) {
  static const uint8_t text[] = {0x8D, 0x47, 0x01, 0xC3}; /* lea eax, [rdi + 1]; ret */
  uint8_t* far = mmap((void*)0x500000000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(far, text, sizeof text);
  mprotect(far, 4096, PROT_READ | PROT_EXEC);
  Function volatile functions[] = {twice, thrice, (Function)(uintptr_t)far};
  const int kinds = words[1][0] == 'f' ? 3 : 2;
  unsigned sum = 1;
  for (int i = 0; i < atoi(words[2]); ++i) sum = functions[i % kinds](sum);
  printf("%u\n", sum);
  return 0;
}
"""


class Visits(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def visits(self, verb, *program):
        """By reason, by what ran next, `passed` and `visits`: all."""
        ran = subprocess.run([ZEROSKID, *verb, "--virtual-time", "--cache-statistics", "-o", os.path.join(self.folder, "out"), "--",
                              *program], env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        told = re.search(r": (\d+ visits) \((.*)\) into (.*); (\d+) overflow points passed", ran.stderr)
        self.assertIsNotNone(told, ran.stderr)
        found = {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", ", ".join(told.group(1, 2, 3)))}
        self.assertEqual(sum(found[reason] for reason in ("unlinked", "stepped", "indirect", "guard", "fault", "stopped")), found["visits"])
        samples = re.search(r"(\d+) samples", ran.stderr)
        return {**found, "passed": int(told[4]), "samples": int(samples[1]) if samples else 0}

    def guest(self, verb, name, rounds):
        return self.visits(verb, os.path.join(GUESTS, name), str(rounds))

    def calls(self, kind, rounds, verb=("stat", "-e", "instructions")):
        program = os.path.join(self.folder, "calls")
        if not os.path.exists(program):
            subprocess.run([CC, "-O1", "-fno-pie", "-no-pie", "-x", "c", "-", "-o", program], input=CALLS, text=True, check=True)
        return self.visits(verb, program, kind, str(rounds))

    def test_linked_blocks_lead_on_without_a_visit(self):
        for events in ("instructions", "instructions,branches"):
            few, many = (self.guest(["stat", "-e", events], "mixed_work", rounds) for rounds in (3, 30))
            self.assertLess(many["unlinked"], few["unlinked"] + 50)

    def test_indirect_branches_find_their_targets(self):
        few, many = (self.calls("near", rounds) for rounds in (1000, 100_000))
        self.assertLess(many["indirect"], few["indirect"] + 50)

    def test_indirect_branches_of_far_code_find_theirs(self):
        few, many = (self.calls("far", rounds) for rounds in (1000, 100_000))
        self.assertLess(many["indirect"], few["indirect"] + 50)

    def test_indirect_branches_close_to_an_overflow_find_theirs(self):
        for verb in (["-e", "br_inst_retired.far_branch", "-c", "1"], ["-e", "mem_load_retired.l1_miss", "-c", "11", "--detail", "complete"]):
            few, many = (self.calls("near", rounds, ["record", *verb]) for rounds in (1000, 30_000))
            self.assertLess(many["indirect"], few["indirect"] + 50, verb)

    def test_blocks_look_for_themselves_how_close_the_overflow_is(self):
        # A brake leads out, or to the last blocks before the overflow; the guard would be a fault for each period.
        few, many = (self.guest(["record", "-e", "instructions", "-c", "20011"], "mixed_work", rounds) for rounds in (3, 30))
        self.assertGreater(many["samples"], 300)
        self.assertLess(many["guard"], few["guard"] + many["samples"] / 10)

    def test_translated_code_passes_overflows(self):
        ran = self.guest(["record", "-e", "instructions:ppp", "-c", "1009"], "mixed_work", 30)
        self.assertGreater(ran["passed"], 10_000)
        self.assertLess(ran["visits"], ran["passed"] / 2)

    def test_few_instructions_run_alone_close_to_an_overflow(self):
        for verb, way in ((["-e", "instructions", "-c", "1009"], "near"), (["-e", "instructions", "-b", "-c", "10007"], "bounded"),
                          (["-e", "cycles", "-c", "10007", "--detail", "complete"], "bounded")):
            ran = self.guest(["record", *verb], "mixed_work", 3)
            self.assertGreater(ran[way], ran["samples"], way)
            self.assertLess(ran["step"], 2 * ran["samples"] + 50, way)

    def test_of_rare_events_only_the_instructions_that_have_them_run_alone(self):
        # As many system calls, whatever runs in between.
        few, many = (self.guest(["record", "-e", "br_inst_retired.far_branch", "-c", "1"], "region_work", rounds) for rounds in (3, 30))
        self.assertGreater(few["quiet"], 100)
        self.assertLess(many["visits"], few["visits"] + 50)
        ran = self.guest(["record", "-e", "mem_inst_retired.all_stores:pp", "-c", "1"], "region_work", 3)
        self.assertGreater(ran["quiet"], 15_000)
        self.assertLess(ran["visits"], 2 * ran["quiet"] + 1000)

    def test_modelled_overflows_are_found_in_the_log(self):
        ran = self.guest(["record", "-e", "mem_load_retired.l1_miss:pp", "-c", "101", "--detail", "complete"], "mixed_work", 3)
        self.assertGreater(ran["logged"], ran["samples"])
        self.assertLess(ran["step"], 200)


if __name__ == "__main__":
    ZEROSKID, GUESTS = (os.path.abspath(path) for path in sys.argv[1:3])
    CC = sys.argv[3]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
