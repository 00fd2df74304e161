"""Programs with one known cause and place, drawn anew in each run: topdown names the cause, the command that it shows names the line, and
what the cause is not has no share.
  causes_test.py ZEROSKID                 programs of some kinds, drawn by a fresh seed, which is printed
  causes_test.py ZEROSKID --seed N        those of that seed again
  causes_test.py ZEROSKID --programs N    N of each kind
"""
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

import kinds

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": "/"}
KINDS_DRAWN = 9
ZEROSKID, SEED, PROGRAMS = "", None, 0

MAIN = """
#include <pthread.h>
#include <stdlib.h>
void kernel(unsigned long turns, unsigned long* memory);
static const unsigned long kTurns = %dul;
static void* thread(void* memory) { kernel(kTurns, memory); return 0; }
int main(void) {
  unsigned long* memory = aligned_alloc(4096, %d);
  %s
  pthread_t others[8];
  for (int i = 1; i < %d; ++i) pthread_create(&others[i], 0, thread, memory + i);
  kernel(kTurns, memory);
  for (int i = 1; i < %d; ++i) pthread_join(others[i], 0);
  return 0;
}
"""


class Causes(unittest.TestCase):
    def zeroskid(self, *words):
        ran = subprocess.run([ZEROSKID, *map(str, words)], cwd=self.folder, capture_output=True, text=True, env=ENVIRONMENT,
                             stdin=subprocess.DEVNULL, check=False, timeout=300)
        self.assertEqual(ran.returncode, 0, f"{words}: {ran.stderr}")
        return ran

    def build(self, program):
        """returns the lines of the kernel's source to blame"""
        size = (program.bytes + 4095) // 4096 * 4096
        (self.folder / "main.c").write_text(MAIN % (program.turns, size, program.prepare, program.threads, program.threads))
        source = kinds.KERNEL % program.kernel
        (self.folder / "kernel.S").write_text(source.replace("# GUILTY", "// GUILTY"))
        subprocess.run(["cc", "-O1", "-g", "-pthread", "-o", "program", "main.c", "kernel.S"], cwd=self.folder, check=True)
        return [number for number, line in enumerate(source.splitlines(), 1) if "GUILTY" in line]

    def check(self, program):
        guilty = self.build(program)
        self.zeroskid("topdown", "-q", "-j", "-o", "tree", "--virtual-time", "--cpu-level", "host", "--", "./program")
        tree = json.loads((self.folder / "tree").read_text())
        share = {node["node"]: node["percent"] for node in tree["nodes"]}
        self.assertGreaterEqual(share[program.node], program.least, f"{program.node} of {share}")
        for node, most in program.must_not.items():
            self.assertLessEqual(share[node], most, f"{node} of {share}")
        names = list(program.events)
        self.zeroskid("stat", "-q", "-j", "-o", "counts", "--virtual-time", "--cpu-level", "host", "--detail", "complete", "-e", ",".join(names), "--", "./program")
        rows = [json.loads(line) for line in (self.folder / "counts").read_text().splitlines()]
        for row in rows:
            least, most = program.events[row["event"]]
            self.assertTrue(least <= float(row["counter-value"]) <= most, f"{row['event']}: {row['counter-value']}, not {least} to {most}")
        return guilty, {node["node"]: node.get("next", "") for node in tree["nodes"]}[program.node]

    def leads_to(self, command, guilty):
        """The command as it is shown, and the line that most of its samples are of."""
        words = command.split()
        self.assertEqual(words[0], "zeroskid", command)
        place = words.index("record") + 1
        self.zeroskid(*words[1:place], "-q", "--virtual-time", "--cpu-level", "host", *words[place:])
        shown = self.zeroskid("report", "--stdio", "--sort=srcline").stdout
        first = next(line for line in shown.splitlines() if re.search(r"\d%", line))
        found = re.search(r"kernel\.S:(\d+)", first)
        self.assertTrue(found and int(found[1]) in guilty, f"{command}: {first.strip()}, not one of the lines {guilty}")

    def test_each_kind_is_named_and_found(self):
        seed = SEED if SEED is not None else random.SystemRandom().randrange(1 << 32)
        print(f"causes_test.py --seed {seed}", flush=True)
        names = list(kinds.KINDS) if PROGRAMS else random.Random(seed).sample(list(kinds.KINDS), KINDS_DRAWN)
        for name in names:
            kind = kinds.KINDS[name]
            for number in range(max(PROGRAMS, 1)):
                program = kind(random.Random(f"{seed} {name} {number}"))
                with self.subTest(kind=name, seed=seed), tempfile.TemporaryDirectory() as folder:
                    self.folder = pathlib.Path(folder)
                    guilty, command = self.check(program)
                    if program.has_line:
                        self.leads_to(command, guilty)

    def test_threads_that_fight_over_lines_take_as_long_as_in_a_complete_run(self):
        """Long enough that units would be taken, between which threads would not meet each other."""
        seed = SEED if SEED is not None else random.SystemRandom().randrange(1 << 32)
        print(f"causes_test.py --seed {seed}", flush=True)
        for name in ("false_sharing", "true_sharing"):
            program = kinds.KINDS[name](random.Random(f"{seed} {name} long"))
            program.turns *= 40
            with self.subTest(kind=name, seed=seed), tempfile.TemporaryDirectory() as folder:
                self.folder = pathlib.Path(folder)
                self.build(program)
                rows = []
                for options in ((), ("--detail", "complete")):
                    self.zeroskid("stat", "-q", "-j", "-o", "counts", "--virtual-time", "--cpu-level", "host", *options, "-e", "instructions,cycles", "--", "./program")
                    rows.append([json.loads(line) for line in (self.folder / "counts").read_text().splitlines()])
                usual, complete = ([float(row["counter-value"]) for row in run] for run in rows)
                self.assertGreater(usual[0], 12_000_000, "more than what is modelled in front of units")
                self.assertLess(abs(usual[1] / complete[1] - 1), 0.1, (usual, complete))


if __name__ == "__main__":
    ZEROSKID = str(pathlib.Path(sys.argv[1]).resolve())
    options = sys.argv[2:]
    if "--seed" in options:
        SEED = int(options[options.index("--seed") + 1])
    if "--programs" in options:
        PROGRAMS = int(options[options.index("--programs") + 1])
    unittest.main(argv=sys.argv[:1])
