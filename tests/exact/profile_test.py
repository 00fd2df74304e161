"""zeroskid profile: each count is right, whatever the program does.
  profile_test.py ZEROSKID GUESTS

Sums are held against counters, counts of instructions and branches against records of each of them and against a trace,
lines against gcov. The programs are those of tests/guests, and some that a generator writes anew in each run.
"""
import collections
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import unittest

import in_folder
from in_folder import SEED, run

#: What these begin with do depends on the moment (signals, threads, what /proc says), or a process of theirs is killed in a system call,
#: of which a profile knows more than a counter.
UNSTEADY = ("alignment", "closed", "confined", "descriptors", "exec", "faults", "file", "fork", "futex", "io_uring", "kill", "leak",
            "maps", "own", "posix", "proc", "random", "rdtsc", "restartable", "seccomp", "set", "shared", "signal", "thread", "time",
            "trac", "user", "vfork", "virtual", "wait")
EVENTS = "instructions:u,br_inst_retired.near_taken:u"


def fields(folder, recording, *names):
    """The samples of a recording, as lists of the fields that were asked for; the event's name is the first."""
    text = run(ZEROSKID, "script", "-i", recording, "-F", ",".join(names), folder=folder, status=0).stdout
    return [line.split() for line in text.splitlines()]


def counts_of(folder, recording="p.data"):
    """{address: times} and {(from, to): times} of an exact profile."""
    instructions, branches = collections.Counter(), collections.Counter()
    for line in fields(folder, recording, "period,event,ip,addr"):
        times, event, rest = int(line[0]), line[1], line[2:]
        if event.startswith("instructions"):
            instructions[int(rest[-1], 16)] += times
        else:
            branches[int(rest[-1], 16), int(rest[0], 16)] += times
    return instructions, branches


def program_text(random_numbers):
    """A C program of loops, conditions, calls, recursion and tables of functions; it prints what it has computed."""
    pick = random_numbers.randrange
    functions = pick(3, 7)

    def statement(depth, number):
        kind = pick(7 if depth < 3 else 3)
        if kind == 0:
            return f"x = x * {pick(3, 99)} + {pick(1000)};"
        if kind == 1:
            return f"if ((x >> {pick(1, 9)}) % {pick(2, 7)} == {pick(2)}) x ^= {pick(1, 5000)}; else x += n;"
        if kind == 2:
            return f"x += n & {pick(1, 255)};"
        if kind == 3:
            name = f"i{depth}{pick(100)}"
            return f"for (unsigned {name} = 0; {name} < (x & {pick(1, 15)}) + {pick(1, 6)}; {name}++) {{\n{block(depth + 1, number)}\n}}"
        if kind == 4:
            return f"if (n > {pick(1, 20)} && (x & {1 << pick(5)})) {{\n{block(depth + 1, number)}\n}}"
        if kind == 5:
            return f"switch (x % {pick(4, 9)}) {{\n" + "\n".join(
                f"case {i}: x += {pick(100)}; break;" for i in range(pick(3, 9))) + f"\ndefault: x -= {pick(100)};\n}}"
        target = pick(functions)
        call = f"table[(x + {pick(9)}) % {functions}](n / 2, x)" if pick(2) else f"f{target}(n - {pick(1, 4)}, x)"
        return f"if (n > {pick(3, 6)}) x += {call};"

    def block(depth, number):
        return "\n".join(statement(depth, number) for _ in range(pick(1, 4)))

    text = "#include <stdio.h>\n" + "".join(f"static unsigned f{i}(int n, unsigned x);\n" for i in range(functions))
    text += f"static unsigned (*const table[{functions}])(int, unsigned) = {{" + ", ".join(f"f{i}" for i in range(functions)) + "};\n"
    for i in range(functions):
        text += f"__attribute__((noinline)) static unsigned f{i}(int n, unsigned x) {{\n{block(0, i)}\nreturn x;\n}}\n"
    return text + f"int main(void) {{\nunsigned x = {pick(1 << 30)};\nx = table[x % {functions}](12, x);\nprintf(\"%u\\n\", x);\nreturn 0;\n}}\n"


class InFolder(in_folder.InFolder):
    def profile(self, *words, status=0):
        return self.run_here(ZEROSKID, "profile", "-q", "--virtual-time", "-o", "p.data", *words, status=status)

    def counted(self, *words, timeout=120):
        """Instructions and taken branches, by counters."""
        self.run_here(ZEROSKID, "stat", "--virtual-time", "-x", ";", "-o", "counts", "-e", EVENTS, *words, timeout=timeout)
        lines = [line.split(";") for line in (self.folder / "counts").read_text().splitlines() if ";" in line]
        found = {line[2]: int(line[0]) for line in lines if line[0].isdigit()}
        return found[EVENTS.split(",")[0]], found[EVENTS.split(",")[1]]

    def compiled(self, *options):
        """A program of this run's seed, few enough instructions for a record of each."""
        numbers = random.Random(SEED + len(options))
        for _ in range(60):
            source = self.folder / "program.c"
            source.write_text(program_text(numbers))
            self.run_here("gcc", "-g", *options, "-w", "-o", "program", "program.c", status=0)
            try:
                self.run_here("./program", status=0, timeout=2)
            except subprocess.TimeoutExpired:
                continue
            if self.counted("./program")[0] < 3_000_000:
                return "./program"
        raise AssertionError(f"seed {SEED}: no short program in sixty")


class Sums(InFolder):
    """The sum of all counts is what a counter counts."""

    def test_of_forty_guests(self):
        numbers = random.Random(SEED)
        compared, differ = 0, []
        for guest in numbers.sample(GUEST_NAMES, min(40, len(GUEST_NAMES))):
            program = GUESTS / guest
            try:
                if self.run_here(program, timeout=2).returncode != 0:
                    continue  # it wants words
                counted = {self.counted(program, timeout=15) for _ in range(3)}
            except subprocess.TimeoutExpired:
                continue
            if len(counted) != 1:
                continue  # it does something else each time
            compared += 1
            profiled = set()
            for _ in range(4):  # some do something else in one run of ten
                self.run_here(ZEROSKID, "profile", "-q", "--virtual-time", "-o", "p.data", program)
                profiled.add(tuple(sum(counts.values()) for counts in counts_of(self.folder)))
                if profiled & counted:
                    break
                counted.add(self.counted(program))
            if not profiled & counted:
                differ.append((guest, counted, profiled))
        self.assertEqual(differ, [], f"seed {SEED}")
        self.assertGreater(compared, 15, f"seed {SEED}")

    def test_of_a_shell_with_children(self):
        words = ["sh", "-c", "for i in 1 2 3; do ls / | wc -l; expr $i + 1; done"]
        self.profile(*words)
        instructions, branches = counts_of(self.folder)
        self.assertEqual((sum(instructions.values()), sum(branches.values())), self.counted(*words))


class Each(InFolder):
    """Each count is what records of all instructions, and a trace of all branches, say."""

    def compare(self, *options):
        program = self.compiled(*options)
        self.profile(program)
        instructions, branches = counts_of(self.folder)
        self.run_here(ZEROSKID, "record", "-q", "--virtual-time", "-e", "instructions:ppp", "-c", "1", "--intr-regs=none",
                      "-o", "all.data", program, status=0, timeout=300)
        recorded = collections.Counter(int(ip, 16) for (ip,) in fields(self.folder, "all.data", "ip"))
        self.assertEqual(instructions, recorded, f"seed {SEED}")
        self.run_here(ZEROSKID, "trace", "-q", "--virtual-time", "-o", "trace.data", program, status=0)
        traced = collections.Counter()
        for line in self.run_here(ZEROSKID, "script", "-i", "trace.data", "-F", "ip,addr", status=0).stdout.splitlines():
            words = [word for word in line.split() if word != "=>"]
            traced[int(words[0], 16), int(words[1], 16)] += 1
        at_calls_to_system = {pair for pair in traced.keys() - branches.keys() if pair[1] - pair[0] == 2}
        self.assertEqual(branches, collections.Counter({pair: times for pair, times in traced.items()
                                                        if pair not in at_calls_to_system}), f"seed {SEED}")

    def test_of_a_program_with_many_branches(self):
        self.compare("-O0")

    def test_of_an_optimised_program(self):
        self.compare("-O2", "-static")


class Lines(InFolder):
    @unittest.skipIf(shutil.which("gcov") is None, "gcov is not installed")
    def test_are_those_that_gcov_counts(self):
        program = self.compiled("-O0")
        self.profile("--to", "lcov", program)
        ours = dict(map(int, line) for line in re.findall(r"^DA:(\d+),(\d+)", self.of_source("program.c"), re.M))
        self.run_here("gcc", "-O0", "-w", "--coverage", "-o", "counting", "program.c", status=0)
        self.run_here("./counting", status=0)
        self.run_here("gcov", "-o", ".", "counting-program.gcda", status=0)
        theirs = {int(line): int(times.rstrip("*")) if times.rstrip("*").isdigit() else 0
                  for times, line in re.findall(r"^ *([0-9#=]+\*?): *([1-9]\d*):", (self.folder / "program.c.gcov").read_text(), re.M)}
        self.assertEqual({line: ours.get(line) for line in theirs}, theirs, f"seed {SEED}")

    def of_source(self, name):
        return next(part for part in (self.folder / "p.data.lcov").read_text().split("end_of_record") if f"/{name}\n" in part)

    def test_of_several_runs_are_added_up(self):
        (self.folder / "program.c").write_text("""
            #include <stdlib.h>
            int main(int argc, char **argv) {
              int x = 0;
              if (argc > 2)
                x += 3;
              for (int i = 0; i < atoi(argv[1]); i++)
                x += i;
              return x == 1;
            }""")
        self.run_here("gcc", "-g", "-O0", "-o", "program", "program.c", status=0)
        for name, words in ("one", ("5",)), ("two", ("7", "x")):
            self.run_here(ZEROSKID, "profile", "-q", "-o", name, "./program", *words, status=0)
        merge = (ZEROSKID, "profile", "--to", "lcov=p.data.lcov", "--merge", "one", "--merge", "two")
        self.run_here(*merge, status=0)
        lines = dict(re.findall(r"^DA:(\d+),(\d+)", self.of_source("program.c"), re.M))
        self.assertEqual([lines[number] for number in "4678"], ["2", "1", "14", "12"])
        self.run_here("gcc", "-g", "-O1", "-o", "program", "program.c", status=0)
        self.run_here(ZEROSKID, "profile", "-q", "-o", "two", "./program", "5", status=0)
        refused = self.run_here(*merge, status=125)
        self.assertRegex(refused.stderr, "two: .*/program is another build here: its counts cannot be added to those before")
        self.assertIn("--merge: adds up recordings", self.run_here(*merge, "./program", status=129).stderr)
        self.assertIn("-o x: no recording is made", self.run_here(*merge, "-o", "x", status=129).stderr)
        self.run_here(ZEROSKID, "record", "-q", "-o", "sampled", "./program", "5", status=0)
        self.assertIn("sampled: no recording of zeroskid profile", self.run_here(*merge, "--merge", "sampled", status=125).stderr)

    @unittest.skipIf(shutil.which("genhtml") is None, "genhtml is not installed")
    def test_are_read_by_genhtml(self):
        self.profile("--to", "lcov", self.compiled("-O2"))
        self.run_here("genhtml", "-q", "--branch-coverage", "-o", "page", "p.data.lcov", status=0)
        self.assertTrue((self.folder / "page" / "index.html").exists())


class HandedOver(InFolder):
    def test_bolts_counts_are_those_of_a_trace(self):
        program = self.compiled("-O1")
        self.profile("--to", "fdata", program)
        self.run_here(ZEROSKID, "trace", "-q", "--virtual-time", "-o", "t.data", "--to", "fdata", program, status=0)
        self.assertEqual((self.folder / "p.data.fdata").read_text(), (self.folder / "t.data.fdata").read_text())

    def test_autofdos_ranges_cover_each_instruction_as_often_as_it_ran(self):
        program = self.compiled("-O1", "-no-pie")
        self.profile("--to", "autofdo", program)
        instructions, _ = counts_of(self.folder)
        ranges = re.findall(r"^([0-9a-f]+)-([0-9a-f]+):(\d+)$", (self.folder / "p.data.autofdo").read_text(), re.M)
        self.assertGreater(len(ranges), 4)
        covered = collections.Counter()
        for first, last, times in ranges:
            for address in filter(lambda a, ends=(int(first, 16), int(last, 16)): ends[0] <= a <= ends[1], instructions):
                covered[address] += int(times)
        self.assertEqual(covered, {address: instructions[address] for address in covered}, f"seed {SEED}")
        self.assertEqual(sum(covered.values()), sum(times for address, times in instructions.items() if address < 1 << 24),
                         f"seed {SEED}")

    def test_a_recording_repeats_to_the_byte(self):
        program = self.compiled("-O1")
        written = []
        for _ in range(2):
            self.profile(program)
            written.append((self.folder / "p.data").read_bytes())
        self.assertEqual(*written)


if __name__ == "__main__":
    ZEROSKID, GUESTS = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    GUEST_NAMES = sorted(path.name for path in GUESTS.iterdir()
                         if path.is_file() and os.access(path, os.X_OK) and not path.name.startswith(UNSTEADY))
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
