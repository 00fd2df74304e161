"""Branch traces, read: branch by branch and by symbol as stock perf does, as a tree of calls against what the programs do
and what is counted, and as counts for BOLT and AutoFDO.   trace_test.py ZEROSKID GUESTS
"""
import collections
import os
import pathlib
import re
import shutil
import struct
import sys
import tempfile
import unittest

import recordings

BOLT = "/usr/lib/llvm-16/bin"
LLVM = "/usr/lib/llvm-14/bin"
ENVIRONMENT = {**recordings.ENVIRONMENT, "PATH": recordings.ENVIRONMENT["PATH"] + ":" + BOLT}
PROGRAM = r"""
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#define HERE __attribute__((noinline, noclone))
static jmp_buf back;
static volatile int sink;
HERE static int leaf(int x) { return sink += x; }
HERE static int tail(int x) { return leaf(x + 1); }            /* jumps */
HERE static int even(int n);
HERE static int odd(int n) { return n == 0 ? leaf(1) : even(n - 1); }
HERE static int even(int n) { return n == 0 ? leaf(2) : odd(n - 1); }  /* jump to each other */
HERE static int deep(int n) {
  if (n == 0) return leaf(3) + 1;
  const int below = deep(n - 1);
  sink += below;
  return below + 1;
}
HERE static void escape(int n) { if (n == 0) longjmp(back, 1); escape(n - 1); sink += n; }
HERE static void on_signal(int s) { leaf(s); sink += 1; }
int main(void) {
  for (int i = 0; i < 7; ++i) leaf(i);
  for (int i = 0; i < 5; ++i) sink += tail(i);
  sink += even(10);
  sink += deep(20);
  for (volatile int i = 0; i < 3; ++i) if (setjmp(back) == 0) escape(4);
  signal(SIGUSR1, on_signal);
  raise(SIGUSR1);
  raise(SIGUSR1);
  for (int i = 0; i < 4; ++i) sink += (int)strlen((const char*)&sink);
  printf("%d\n", sink != 0);
  return 0;
}
"""

#: Of tests/guests: how they are linked, and their words.
RELOCATED = [("qsort_static.c", "-static"), ("deep_recursion.c", "-pie"), ("computed_goto.c", "-pie"),
             ("setjmp_longjmp.c", "-pie"), ("threads_pthread.c", "-pie"), ("signal_nested.c", "-pie"),
             ("fork_basic.c", "-no-pie"), ("branch_bodies.c", "-static", "threads"), ("fp_kernels.c", "-pie"),
             ("static_pie.cc", "-static-pie")]
SOURCES = pathlib.Path(__file__).resolve().parent.parent / "guests"

PROFILED = r"""
#include <stdio.h>
#define HERE __attribute__((noinline))
static volatile int sink, many = 100;
HERE int often(int x) { return x * 3 + 1; }
HERE int seldom(int x) { return x / 7; }
HERE int work(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    if (i % 16 == 0) sum += seldom(i);
    else sum += often(i);
  }
  return sum;
}
int main(void) { for (int i = 0; i < 50; ++i) sink += work(many); printf("%d\n", sink); return 0; }
"""


def run(*words, **more):
    return recordings.run(*words, environment=ENVIRONMENT, **more)


def traced(path):
    """[(from, to), ...] of each thread of a perf.data file."""
    threads = collections.defaultdict(list)
    for kind, record, behind in recordings.records(path):
        if kind == recordings.AUXTRACE:
            pieces = struct.iter_unpack("<QQQ", behind)
            threads[struct.unpack_from("<I", record, 36)[0]] += [(start, target) for start, target, _ in pieces if start or target]
    return list(threads.values())


def number(text):
    return int(text.replace(",", ""))


class Traces(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def guest(self, name):
        return os.path.join(GUESTS, name)

    def trace(self, *program):
        run(ZEROSKID, "trace", "-q", "--", *program, folder=self.folder, status=None)

    def build(self, *flags):
        (self.folder / "p.c").write_text(PROGRAM)
        run("cc", "-O1", "-fno-pie", "-no-pie", "-foptimize-sibling-calls", "-fno-inline", *flags, "-o", "p", "p.c", folder=self.folder)
        return self.folder / "p"

    def tree(self, *options):
        """[(depth, function, times entered), ...], and the sums below it."""
        text = run(ZEROSKID, "trace", "report", "--percent-limit", "0", *options, folder=self.folder).stdout
        lines = []
        for line in text.splitlines():
            found = re.match(r"^ +[\d.]+% +[\d,]+ +[\d,]+ {1,10} *([\d,]*)  ( *)(\S.*)$", line)
            if found and not line.startswith("#"):
                lines.append((len(found[2]) // 2, found[3], number(found[1] or "0")))
        return lines, text

    def below(self, lines, name):
        """Children of the first line of this name, by name."""
        at = next(index for index, line in enumerate(lines) if line[1] == name)
        children = {}
        for depth, child, times in lines[at + 1:]:
            if depth <= lines[at][0]:
                break
            if depth == lines[at][0] + 1:
                children[child] = times
        return children


@unittest.skipIf(shutil.which("perf") is None, "perf is not installed (apt install linux-perf)")
class AsPerf(Traces):
    def shown(self, tool, *words):
        return run(tool, *words, "-i", "perf.data", folder=self.folder).stdout.splitlines()

    def without_stubs(self, lines):
        """perf 6.1 has other names for stubs of linkage tables and for functions of stripped files: none, which is an address, or _init."""
        return [re.sub(r"(?<= )(\S*@plt|func@0x[0-9a-f]+|_init|\[unknown\]|0x[0-9a-f]{16})(\+0x[0-9a-f]+)?(?= |$)", "STUB", line) for line in lines]

    def test_branches_line_by_line(self):
        for program in (self.build("-static"), self.build(), "/bin/true"):
            self.trace(program)
            for words in (("script", "--itrace=b", "-F", "ip,addr,sym"), ("script", "--itrace=b"),
                          ("script", "--itrace=b", "-F", "comm,tid,ip,sym,symoff,dso,addr")):
                ours, theirs = (self.without_stubs(self.shown(tool, *words)) for tool in (ZEROSKID, "perf"))
                self.assertGreater(len(ours), 500)
                for index, (mine, its) in enumerate(zip(ours, theirs)):
                    self.assertEqual(mine, its, (program, words, index))
                self.assertEqual(len(ours), len(theirs))

    def test_branches_of_threads_and_children_thread_by_thread(self):
        for program in ("threads_pthread", "fork_basic", "exec_chain"):
            self.trace(self.guest(program))
            by_thread = []
            for tool in (ZEROSKID, "perf"):
                threads = collections.defaultdict(list)
                for line in self.shown(tool, "script", "--itrace=b", "-F", "tid,ip,addr"):
                    threads[line.split()[0]].append(line)
                by_thread.append(threads)
            self.assertGreater(len(by_thread[0]), 1 if program != "exec_chain" else 0)
            self.assertEqual(*by_thread)

    def test_counts_of_symbols(self):
        self.trace("/bin/true")
        counts = []
        for tool in (ZEROSKID, "perf"):
            text = "\n".join(self.shown(tool, "report", "--stdio", "--no-children", "-n", "--itrace=b"))
            symbols = collections.Counter()
            for times, *where in re.findall(r"^ +[\d.]+% +(\d+)  (\S+) +(\S+) +(\[.\] .+?) *$", text, re.M):
                symbols[tuple(self.without_stubs(where))] += int(times)
            counts.append(symbols)
        self.assertGreater(len(counts[0]), 20)
        self.assertEqual(*counts)


class Calls(Traces):
    def test_a_landing_pad_that_lies_apart_is_no_entry(self):
        self.trace(self.guest("region_cold"))
        lines, text = self.tree()
        self.assertEqual([times for _, name, times in lines if "catcher" in name], [200], text)
        self.assertEqual([times for _, name, times in lines if "spins" in name], [3], text)

    def check_sums(self, text):
        """What was called was left in some way, or is still there."""
        made, returned, left, still = map(number, re.search(
            r"# ([\d,]+) calls: ([\d,]+) returned, ([\d,]+) left otherwise .*, ([\d,]+) not left", text).groups())
        inherited = re.search(r"# ([\d,]+) more were open", text)
        self.assertEqual(made + (number(inherited[1]) if inherited else 0), returned + left + still, text)
        return made, returned, left, still

    def counted(self, event, *program):
        text = run(ZEROSKID, "stat", "-x,", "-e", event, "-o", "stat", "--", *program, folder=self.folder, status=None)
        self.assertEqual(text.stderr, "")
        return int((self.folder / "stat").read_text().split(",")[0])

    def test_of_a_program_that_does_what_there_is(self):
        for flags in (["-static"], []):
            self.trace(self.build(*flags))
            lines, text = self.tree()
            main = self.below(lines, "main")
            self.assertEqual({name: main[name] for name in ("deep", "escape", "raise")},
                             {"deep": 1, "escape": 3, "raise": 2})
            # Jumps take the place of what jumps: 7 calls, 5 of tail's jumps, and one at the end of even and odd.
            self.assertEqual((main["tail"], main["leaf"], main["even"], main["odd"]), (5, 13, 6, 5))
            self.assertEqual(next(name for name in main if "strlen" in name and main[name] == 4)[:2] in ("st", "__", "*A"),
                             True)
            self.assertEqual(self.below(lines, "on_signal"), {"leaf": 2})
            self.assertEqual(len([line for line in lines if line[1] == "deep"]), 21)
            made, _, left, _ = self.check_sums(text)
            # Each longjmp leaves escape five times and what led to the jump.
            self.assertGreaterEqual(left, 15)
            self.assertLess(left, 15 + 3 * 4)
            self.assertIn("# 2 signal handlers", text)
            self.assertEqual(made, self.counted("br_inst_retired.near_call", self.folder / "p"))

    def test_of_programs_with_threads_children_signals_and_exceptions(self):
        for name in ("threads_pthread", "fork_basic", "signal_nested", "setjmp_longjmp", "exceptions", "exec_chain",
                     "indirect_branches", "smc_rwx", "computed_goto"):
            self.trace(self.guest(name))
            _, text = self.tree()
            made = self.check_sums(text)[0]
            with self.subTest(program=name):
                if name not in ("smc_rwx", "indirect_branches"):
                    self.assertEqual(made, self.counted("br_inst_retired.near_call", self.guest(name)))

    def test_instructions_are_those_that_were_counted(self):
        self.trace(self.guest("deep_recursion"))
        _, text = self.tree()
        told = number(re.search(r"^# [\d,]+ branches, ([\d,]+) instructions$", text, re.M)[1])
        counted = self.counted("instructions", self.guest("deep_recursion"))
        self.assertLess(abs(counted - told), 20, "those up to the first branch and behind the last are not in a trace")

    def test_a_deeper_call_stands_on_the_last_level(self):
        self.trace(self.build("-static"))
        lines, _ = self.tree("--max-stack", "8")
        self.assertEqual(max(depth for depth, _, _ in lines), 8)
        self.assertEqual(sum(times for _, name, times in lines if name == "deep"), 21)

    def test_a_recording_without_a_trace_is_named(self):
        run(ZEROSKID, "record", "-q", "--", "true", folder=self.folder)
        outcome = run(ZEROSKID, "trace", "report", folder=self.folder, status=125)
        self.assertEqual(outcome.stderr, "zeroskid: perf.data: holds no branch trace\n"
                                         "hint: record one: zeroskid trace -- PROGRAM\n")


class Counts(Traces):
    def expected(self, program, low, high):
        """Branches and stretches of the addresses between. A system call is no branch to optimisers."""
        code = run("objdump", "-d", "--no-show-raw-insn", program).stdout
        system = {int(address, 16) for address in re.findall(r"^ *([0-9a-f]+):\s+syscall", code, re.M)}
        branches, stretches = collections.Counter(), collections.Counter()
        for thread in traced(self.folder / "perf.data"):
            begin = 0
            for start, target in thread:
                if low <= start < high:
                    if low <= target < high and start not in system:
                        branches[start, target] += 1
                    if low <= begin <= start:
                        stretches[begin, start] += 1
                begin = target
        return branches, stretches

    def test_autofdo_has_every_branch_and_stretch(self):
        program = self.build("-static")
        run(ZEROSKID, "trace", "-q", "--to", "autofdo", "--", program, folder=self.folder)
        text = (self.folder / "perf.data.autofdo").read_text().split("\n")
        count = int(text[0])
        stretches = {tuple(int(end, 16) for end in line.split(":")[0].split("-")): int(line.split(":")[1])
                     for line in text[1:count + 1]}
        self.assertEqual(text[count + 1], "0")
        branches = {tuple(int(end, 16) for end in line.split(":")[0].split("->")): int(line.split(":")[1])
                    for line in text[count + 3:-1]}
        self.assertEqual(int(text[count + 2]), len(branches))
        expected_branches, expected_stretches = self.expected(program, 0x400000, 0x800000)
        self.assertEqual(branches, expected_branches)
        # Stretches that a signal interrupted are none of the code.
        self.assertLess(len(expected_stretches.keys() - stretches.keys()), 5)
        self.assertEqual(stretches, {key: expected_stretches[key] for key in stretches})

    @unittest.skipIf(not os.path.exists(LLVM + "/llvm-profgen"), "not installed: llvm-profgen (apt install llvm clang)")
    def test_llvm_makes_a_profile_of_the_counts_that_clang_uses(self):
        """llvm-profgen reads AutoFDO's form without the list of sampled addresses, which is empty in ours."""
        (self.folder / "h.c").write_text(PROFILED)
        clang = [LLVM + "/clang", "-g", "-no-pie", "-fdebug-info-for-profiling"]
        run(*clang, "-O1", "-o", "h", "h.c", folder=self.folder)
        output = run(ZEROSKID, "trace", "-q", "--to", "autofdo=counts", "--", "./h", folder=self.folder).stdout
        lines = (self.folder / "counts").read_text().split("\n")
        stretches = int(lines[0])
        self.assertEqual(lines.pop(stretches + 1), "0")
        (self.folder / "counts").write_text("\n".join(lines))
        run(LLVM + "/llvm-profgen", "--binary=h", "--unsymbolized-profile=counts", "--use-offset=0", "--format=extbinary",
            "--output=profile", folder=self.folder)
        run(LLVM + "/llvm-profdata", "merge", "--sample", "--text", "profile", "-o", "text", folder=self.folder)
        entered = dict(re.findall(r"^(\w+):\d+:(\d+)$", (self.folder / "text").read_text(), re.M))
        self.assertEqual({name: entered[name] for name in ("often", "seldom", "work")},
                         {"often": "4650", "seldom": "350", "work": "50"})
        said = run(*clang, "-O2", "-fprofile-sample-use=profile", "-o", "h2", "h.c", folder=self.folder)
        self.assertEqual(said.stderr, "")
        self.assertEqual(run("./h2", folder=self.folder).stdout, output)

    @unittest.skipIf(not os.path.exists(BOLT + "/perf2bolt"), "not installed: perf2bolt (apt install bolt-16)")
    def test_bolt_has_what_perf2bolt_makes_of_the_same_branches(self):
        program = self.build("-static", "-Wl,-q")
        run(ZEROSKID, "trace", "-q", "--", program, folder=self.folder)
        run(ZEROSKID, "trace", "--to", "fdata=ours", folder=self.folder)
        branches, stretches = self.expected(program, 0x400000, 0x800000)
        with open(self.folder / "aggregated", "w") as file:
            for (start, target), times in branches.items():
                file.write(f"B {start:x} {target:x} {times} 0\n")
            for (begin, last), times in stretches.items():
                file.write(f"F {begin:x} {last:x} {times}\n")
        run(BOLT + "/perf2bolt", "-p", "aggregated", "--pa", "-o", "theirs", program, folder=self.folder)
        ours, theirs = (set((self.folder / name).read_text().splitlines()) for name in ("ours", "theirs"))
        # perf2bolt may call a function by another of its names, and makes one of what lies between functions.
        mine = [line for line in theirs if re.match(r"1 (\w+(?:/1)?) [0-9a-f]+ 1 \1 ", line) and
                re.match(r"1 (main|leaf|tail|even|odd|deep|escape|on_signal)\b", line)]
        self.assertGreater(len(mine), 20)
        self.assertEqual([line for line in mine if line not in ours], [])

    def check_optimised(self, program, *words, options=("-reorder-blocks=ext-tsp",)):
        run(ZEROSKID, "trace", "-q", "--to", "fdata=profile", "--", program, *words, folder=self.folder)
        said = run(BOLT + "/llvm-bolt", program, "-o", "optimised", "-data=profile", *options, folder=self.folder)
        said = said.stdout + said.stderr
        self.assertNotIn("stale", said)
        self.assertRegex(said, r"BOLT-INFO: [1-9]\d* out of \d+ functions in the binary .* have non-empty execution profile")
        self.assertEqual(run("./optimised", *words, folder=self.folder).stdout, run(program, *words, folder=self.folder).stdout)

    @unittest.skipIf(not os.path.exists(BOLT + "/llvm-bolt"), "not installed: llvm-bolt (apt install bolt-16)")
    def test_the_optimised_program_does_the_same(self):
        for guest in ("qsort_static", "deep_recursion"):
            with self.subTest(guest):
                self.check_optimised(self.guest(guest))

    @unittest.skipIf(not os.path.exists(BOLT + "/llvm-bolt"), "not installed: llvm-bolt (apt install bolt-16)")
    def test_ten_programs_whose_functions_move_do_the_same(self):
        # Linked with relocations, so that BOLT writes all code anew. Without C++ exceptions: bolt-16 breaks them in these
        # programs without a profile, too.
        for source, how, *words in RELOCATED:
            with self.subTest(source):
                code = "-fno-pie" if how in ("-static", "-no-pie") else "-fPIE"
                run("c++" if source.endswith(".cc") else "cc", "-O2", "-msse4.1", code, how, "-Wl,-q", "-pthread", "-o", "moved",
                    SOURCES / source, "-lm", folder=self.folder)
                self.check_optimised(self.folder / "moved", *words, options=(
                    "-reorder-blocks=ext-tsp", "-reorder-functions=hfsort", "-split-functions"))

    def test_a_library_is_chosen_by_its_name(self):
        self.trace(self.guest("deep_recursion"))
        run(ZEROSKID, "trace", "--to", "autofdo=libc", "--dso", "libc.so.6", folder=self.folder)
        self.assertGreater(int((self.folder / "libc").read_text().split("\n")[0]), 50)
        outcome = run(ZEROSKID, "trace", "--to", "autofdo", "--dso", "libnone", folder=self.folder, status=125)
        self.assertRegex(outcome.stderr, r"--dso libnone: no code of it was mapped\nhint: files with code: .*libc\.so\.6")

    def test_a_format_that_there_is_not_is_named(self):
        outcome = run(ZEROSKID, "trace", "--to", "gcov", folder=self.folder, status=129)
        self.assertEqual(outcome.stderr, "zeroskid: --to gcov: no such format: 'gcov'\n"
                                         "hint: fdata is BOLT's, autofdo is AutoFDO's, lcov is genhtml's, callgrind is KCachegrind's, pprof is Go's\n")


if __name__ == "__main__":
    ZEROSKID, GUESTS = (os.path.abspath(path) for path in sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
