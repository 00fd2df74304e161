"""zeroskid profile -g: each instruction has the callers that single steps and a stack of calls say.
  contexts_test.py ZEROSKID STEPPER
The programs are written anew in each run: recursion, longjmp, exceptions, handlers of signals, stacks of their own.
"""
import bisect
import collections
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import unittest

import in_folder
from in_folder import SEED

SIZE, COUNT = 1 << 16, 4  # of the stacks


class Recording:
    """The samples of a perf.data file, by event: (tid, pc, callers) -> sum of periods."""

    def __init__(self, path):
        data = path.read_bytes()
        attrs_at, attrs_size, at, size = struct.unpack_from("<4Q", data, 24)
        fields = struct.unpack_from("<Q", data, attrs_at + 24)[0]
        step = struct.unpack_from("<Q", data, 16)[0]
        numbers = {}
        for i in range(attrs_size // step):
            ids_at, ids_size = struct.unpack_from("<2Q", data, attrs_at + i * step + step - 16)
            for j in range(ids_size // 8):
                numbers[struct.unpack_from("<Q", data, ids_at + 8 * j)[0]] = i
        self.events = collections.defaultdict(collections.Counter)
        end = at + size
        while at < end:
            kind, _, length = struct.unpack_from("<IHH", data, at)
            if kind == 9:
                self.add(data, at + 8, fields, numbers)
            at += length

    def add(self, data, at, fields, numbers):
        values = {}
        #: bits of the sample's fields in the order in which they come, all of eight bytes
        for name, bit in (("id", 16), ("ip", 0), ("tid", 1), ("time", 2), ("addr", 3), ("id2", 6), ("stream", 9), ("cpu", 7), ("period", 8)):
            if fields >> bit & 1:
                values[name] = struct.unpack_from("<Q", data, at)[0]
                at += 8
        callers = ()
        if fields >> 5 & 1:
            entries = struct.unpack_from("<Q", data, at)[0]
            callers = struct.unpack_from(f"<{entries}Q", data, at + 8)
        number = numbers[values.get("id", values.get("id2"))]
        self.events[number][values["tid"] >> 32, values["ip"], tuple(callers[2:])] += values["period"]


def function(pick, number, functions, kinds):
    """One that does some of what `kinds` names, and calls the others while n lasts."""
    lines = []
    for _ in range(pick(2, 5)):
        kind = kinds[pick(len(kinds))]
        other = f"f{pick(functions)}(n - {pick(1, 4)}, x ^ {pick(999)})"
        if kind == "loop":
            lines.append(f"for (int i = 0; i < (int)(x & {pick(1, 7)}) + 1; ++i) x = x * {pick(3, 99)} + n;")
        elif kind == "call":
            lines.append(f"if (n > {pick(1, 4)}) x += {other};")
        elif kind == "table":
            lines.append(f"if (n > {pick(2, 5)}) x += table[(x + {pick(9)}) % {functions}](n - {pick(2, 4)}, x);")
        elif kind == "tail":
            lines.append(f"if (n > {pick(3, 6)} && (x & {pick(1, 8)}) == 0) return {other};")
        elif kind == "longjmp":
            lines.append(f"if (n > {pick(3, 6)}) {{ jmp_buf *outer = place, here; if (setjmp(here) == 0) {{ place = &here; x += {other}; }} place = outer; }}")
            lines.append(f"if (place && (x & 15) == {pick(16)}) longjmp(*place, 1);")
        elif kind == "throw":
            lines.append(f"if (n > {pick(3, 6)}) {{ try {{ ++tries; x += {other}; }} catch (int y) {{ x ^= y; }} --tries; }}")
            lines.append(f"if (tries && (x & 15) == {pick(16)}) throw {pick(100)};")
        elif kind == "raise":
            lines.append(f"if (!handling && (x & 7) == {pick(8)}) raise(SIGUSR1);")
        elif kind == "yield":
            lines.append(f"if ((x & 3) == {pick(4)}) yield();")
        elif kind == "room":
            lines.append(f"{{ volatile char room[(x & {pick(16, 255)}) + 1]; room[0] = n; x += room[0]; }}")
    return f"__attribute__((noinline)) unsigned f{number}(int n, unsigned x) {{\n  " + "\n  ".join(lines) + "\n  return x;\n}\n"


def program(pick, kinds):
    functions = pick(4, 9)
    text = """#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>
"""
    text += f"extern \"C\" {{ char stacks[{COUNT}][{SIZE}] __attribute__((aligned(4096))); }}\n"
    text += "static jmp_buf *place; static int tries, handling, running, live;\n"
    text += "".join(f"unsigned f{i}(int n, unsigned x);\n" for i in range(functions))
    text += f"static unsigned (*const table[{functions}])(int, unsigned) = {{" + ", ".join(f"f{i}" for i in range(functions)) + "};\n"
    text += f"static ucontext_t turns[{COUNT}];\n"
    text += f"__attribute__((noinline)) static void yield() {{ if (live < 2) return; int from = running; do running = (running + 1) % {COUNT}; while (!turns[running].uc_link); swapcontext(&turns[from], &turns[running]); }}\n"
    text += "static volatile unsigned result;\n"
    text += f"static void coroutine(int i) {{ result += f0({pick(5, 9)}, i); turns[i].uc_link = nullptr; --live; "
    text += f"if (live) {{ do running = (running + 1) % {COUNT}; while (!turns[running].uc_link); setcontext(&turns[running]); }} _exit(0); }}\n"
    text += f"static void handler(int) {{ handling = 1; result += f{pick(functions)}({pick(2, 5)}, result); handling = 0; }}\n"
    text += "".join(function(pick, i, functions, kinds) for i in range(functions))
    text += "int main() {\n"
    if "raise" in kinds:
        if pick(2):
            text += f"  stack_t alternate = {{stacks[{COUNT - 1}], 0, {SIZE}}}; sigaltstack(&alternate, nullptr);\n"
        text += "  struct sigaction action = {}; action.sa_handler = handler; action.sa_flags = SA_ONSTACK; sigaction(SIGUSR1, &action, nullptr);\n"
    if "yield" in kinds:
        text += f"  for (int i = 0; i < {COUNT}; ++i) {{ getcontext(&turns[i]); turns[i].uc_stack.ss_sp = stacks[i]; turns[i].uc_stack.ss_size = {SIZE}; turns[i].uc_link = &turns[0]; ++live; makecontext(&turns[i], (void (*)())coroutine, 1, i); }}\n"
        text += "  setcontext(&turns[0]);\n"
    text += f"  result += f0({pick(8, 14)}, {pick(1 << 20)});\n  _exit(0);\n}}\n"
    return text


def sums(samples):
    """Without threads, whose numbers differ."""
    found = collections.Counter()
    for (_, pc, _), period in samples.items():
        found[pc] += period
    return found


class InFolder(in_folder.InFolder):
    def run_here(self, *words, status=0, **options):
        return super().run_here(*words, status=status, **options)


class Drawn(InFolder):
    def compiled(self, kinds, number):
        numbers = random.Random(f"{SEED} {kinds} {number}")
        for _ in range(200):
            (self.folder / "program.cc").write_text(program(numbers.randrange, kinds))
            self.run_here("g++", f"-O{numbers.randrange(3)}", "-g", "-w", "-static", "-no-pie", "-o", "program", "program.cc")
            try:
                if self.run_here("./program", status=None, timeout=2).returncode != 0:
                    continue
            except subprocess.TimeoutExpired:
                continue
            text = self.run_here(ZEROSKID, "stat", "-x", ";", "-e", "instructions:u", "./program").stderr
            if int(text.split(";")[0]) in range(11_000, 400_000):
                return
        raise AssertionError(f"seed {SEED}: no program of some length in 200")


class Contexts(Drawn):
    def compare(self, *kinds):
        for number in range(int(os.environ.get("PROGRAMS", 2))):
            self.compiled(kinds, number)
            at = dict(reversed(line.split()[::2]) for line in self.run_here("nm", "program").stdout.splitlines()
                      if len(line.split()) == 3)
            self.run_here(STEPPER, "steps", at["main"], at["stacks"], SIZE, COUNT, "--", "./program", timeout=300)
            stepped, times = collections.Counter(), collections.Counter()
            for line in (self.folder / "steps").read_text().splitlines():
                count, pc, *callers = line.split()
                times[int(pc, 16)] += int(count)
                stepped[tuple(int(caller, 16) for caller in callers)] += int(count)
            self.run_here(ZEROSKID, "profile", "-q", "-g", "-o", "p.data", "./program")
            recording = Recording(self.folder / "p.data")
            name = {int(a, 16): n for n, a in at.items()}
            starts = sorted(name)

            def named(pc):
                below = bisect.bisect_right(starts, pc) - 1
                return f"{name[starts[below]]}+{pc - starts[below]:x}"

            counted, told = collections.Counter(), collections.Counter()
            for (_, pc, callers), period in recording.events[2].items():
                counted[callers] += 0 if named(pc).startswith("_start+") else period
            for (_, pc, _), period in recording.events[0].items():
                told[pc] += period
            # Before main nothing is stepped, and what runs there may run again later.
            shown = [([named(pc - 1) for pc in callers], stepped[callers], counted[callers])
                     for callers in stepped.keys() | {c for c in counted if any(named(pc - 1).startswith("main+") for pc in c)}
                     if stepped[callers] != counted[callers]]
            self.assertEqual(sorted(shown)[:6], [], f"seed {SEED}, {kinds} {number}: callers, stepped, counted")
            wrong = [(named(pc), times[pc], told[pc]) for pc in times.keys() | told.keys()
                     if (times[pc] != told[pc] if re.match(r"_Z|main", named(pc)) else times[pc] > told[pc])]
            self.assertEqual(wrong, [], f"seed {SEED}, {kinds} {number}: instruction, stepped, counted")

    def test_in_recursion(self):
        self.compare("loop", "call", "table", "tail", "room")

    def test_with_longjmp(self):
        self.compare("loop", "call", "longjmp", "table", "room")

    def test_with_exceptions(self):
        self.compare("loop", "call", "throw", "tail", "room")

    def test_with_handlers_of_signals(self):
        self.compare("loop", "call", "raise", "table")

    def test_with_stacks_of_their_own(self):
        self.compare("loop", "call", "yield", "table", "room")

    def test_with_all_of_that(self):
        self.compare("loop", "call", "longjmp", "throw", "raise", "room")


class Others(InFolder):
    def recorded(self, *options, program="./program"):
        self.run_here(ZEROSKID, "profile", "-q", "--virtual-time", "-o", "p.data", *options, program)
        return Recording(self.folder / "p.data").events

    def compile(self, text, *options):
        (self.folder / "program.c").write_text(text)
        self.run_here("gcc", "-O1", "-g", "-w", "-static", "-no-pie", *options, "-o", "program", "program.c", "-lpthread")

    def test_threads_and_children_have_their_own_callers(self):
        self.compile("""
            #include <pthread.h>
            #include <sys/wait.h>
            #include <unistd.h>
            __attribute__((noinline)) void leaf(int n) { for (volatile int i = 0; i < n; ++i); }
            __attribute__((noinline)) void middle(int n) { leaf(n); leaf(2 * n); }
            void *work(void *n) { for (int i = 0; i < 50; ++i) middle((long)n); return 0; }
            int main() {
              pthread_t threads[4];
              for (long i = 0; i < 4; ++i) pthread_create(&threads[i], 0, work, (void *)(10 * i + 10));
              for (int i = 0; i < 4; ++i) pthread_join(threads[i], 0);
              if (fork() == 0) { middle(1000); _exit(0); }
              wait(0);
              return 0;
            }""")
        symbols = {name: (int(at, 16), int(size, 16)) for at, size, _, name in
                   (line.split() for line in self.run_here("nm", "-S", "program").stdout.splitlines() if len(line.split()) == 4)}

        def within(pc, name):
            return symbols[name][0] <= pc < sum(symbols[name])

        of_leaf = collections.Counter()
        for (tid, pc, callers), period in self.recorded("-g")[2].items():
            if not within(pc, "leaf"):
                continue
            of_leaf[tid] += period
            self.assertTrue(within(callers[0] - 1, "middle"))
            self.assertNotEqual(any(within(caller - 1, "work") for caller in callers),
                                any(within(caller - 1, "main") for caller in callers))
        plain = collections.Counter()
        for (tid, pc, _), period in self.recorded()[0].items():
            plain[tid] += period if within(pc, "leaf") else 0
        self.assertEqual(of_leaf, collections.Counter({tid: times for tid, times in plain.items() if times}))
        self.assertEqual(len(of_leaf), 5)

    def test_nothing_else_changes_by_contexts(self):
        words = ("sh", "-c", "for i in 1 2 3; do ls / | wc -l; expr $i + 1; done")
        for _ in range(5):  # the shell does something else in one run of ten
            with_contexts, without = (self.recorded(*option, "--", *words[:-1], program=words[-1]) for option in (("-g",), ()))
            self.assertEqual(sum(with_contexts[2].values()), sum(with_contexts[0].values()))
            equal = [sums(with_contexts[event]) == sums(without[event]) for event in (0, 1)]
            if all(equal):
                break
        self.assertEqual(equal, [True, True])

    @unittest.skipIf(shutil.which("perf") is None, "perf is not installed")
    def test_perf_adds_up_the_same(self):
        self.compile("""
            __attribute__((noinline)) int few(int n) { return n < 2 ? n : few(n - 1) + few(n - 2); }
            __attribute__((noinline)) int many(int n) { return few(n) * 3 + few(n - 3); }
            int main() { return many(15) == 1; }""")
        self.recorded("-g")
        shown = []
        for words in ((ZEROSKID, "report", "-g", "none", "--no-inline"), ("perf", "report", "--stdio", "--children", "-g", "none", "--no-inline")):
            text = self.run_here(*words, "-i", "p.data").stdout.partition("instructions-in-contexts:u")[2]
            shown.append({line.split()[-1]: line.split()[:2] for line in text.splitlines() if re.search(r" (few|many|main)$", line)})
        self.assertEqual(len(shown[0]), 3)
        self.assertEqual(*shown)

    def test_more_than_are_wanted_lack_their_last_callers(self):
        self.run_here(ZEROSKID, "profile", "-g", "--contexts", "100", "-o", "p.data", "ls", "/")
        events = Recording(self.folder / "p.data").events
        self.assertEqual(sum(events[2].values()), sum(events[0].values()))
        self.assertLessEqual(len({callers for _, _, callers in events[2]}), 101)
        said = self.run_here(ZEROSKID, "profile", "-g", "--contexts", "100", "-o", "p.data", "ls", "/").stderr
        self.assertIn("more than 100 calling contexts: what ran in others lacks its last callers", said)

    def test_a_recording_repeats_to_the_byte(self):
        written = []
        for _ in range(2):
            self.recorded("-g", "--", "sh", "-c", program="ls / | wc -l")
            written.append((self.folder / "p.data").read_bytes())
        self.assertEqual(*written)


if __name__ == "__main__":
    ZEROSKID, STEPPER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
