"""Branch traces of which only a part is recorded, against the whole trace of the same run: by address range, from a place
to a place, by region, by thread; what passes once and in its order, gaps where others were.
trace_filter_test.py ZEROSKID INCLUDE
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

from recordings import AUXTRACE, MMAP2, records, run

PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "zeroskid/region.h"
#define HERE __attribute__((noinline, noclone))
static volatile int sink;
HERE static int leaf(int x) { return sink += x; }
HERE static int middle(int n) { for (volatile int i = 0; i < n; ++i) leaf(i); return leaf(n); }
HERE static int outer(int n) { const int got = middle(n) + leaf(1); return got + 1; }
HERE static int deep(int n) { return n == 0 ? leaf(3) : deep(n - 1) + 1; }
HERE static void marked(int n) {
  ZS_REGION_BEGIN("hot");
  for (volatile int i = 0; i < n; ++i) leaf(i);
  ZS_REGION_END("hot");
}
static void* work(void* name) {
  pthread_setname_np(pthread_self(), (const char*)name);
  outer(9);
  marked(3);
  return 0;
}
int main(void) {
  pthread_t threads[2];
  leaf(1);
  for (int i = 0; i < 3; ++i) outer(4);
  marked(5);
  deep(6);
  pthread_create(&threads[0], 0, work, "reader");
  pthread_join(threads[0], 0);
  pthread_create(&threads[1], 0, work, "writer");
  pthread_join(threads[1], 0);
  if (fork() == 0) { outer(2); marked(2); _exit(0); }
  wait(0);
  outer(5);
  marked(1);
  for (int i = 0; i < 20000; ++i) leaf(i);
  printf("done\n");
  return 0;
}
"""
GAP = (0, 0)


def traced(path):
    """{thread: [(from, to), ...]} of a perf.data file; GAP where a record of zeros is, but for the last of a piece."""
    threads = collections.defaultdict(list)
    for kind, record, behind in records(path):
        if kind == AUXTRACE:
            piece = [pair[:2] for pair in struct.iter_unpack("<QQQ", behind)]
            assert piece.pop() == GAP
            threads[struct.unpack_from("<I", record, 36)[0]] += piece
    return dict(threads)


def mapped(path):
    """(start, bytes, file) of each mapping of code."""
    for kind, record, _ in records(path):
        if kind == MMAP2:
            start, size = struct.unpack_from("<QQ", record, 16)
            yield start, size, record[72:].split(b"\0")[0].decode()


def kept(thread, passes):
    """What is recorded of a thread's whole trace: passes(begin, from, to) says which branches."""
    found, begin, missing = [], 0, False
    for start, target in thread:
        if passes(begin, start, target):
            if missing and found:
                found.append(GAP)
            found.append((start, target))
            missing = False
        else:
            missing = True
        begin = target
    return found


class Switch:
    """On from one address to another, as stretches of code come by them."""

    def __init__(self, on_at, off_at, on=False):
        self.on_at, self.off_at, self.on = on_at, off_at, on

    def __call__(self, begin, start, _):
        if begin != 0 and begin <= start:
            for place in sorted(self.on_at | self.off_at):
                if begin <= place <= start:
                    self.on = place in self.on_at
        return self.on


class Filters(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.holder.cleanup)
        cls.folder = pathlib.Path(cls.holder.name)
        (cls.folder / "p.c").write_text(PROGRAM)
        run("cc", "-g", "-O1", "-fno-pie", "-no-pie", "-fno-inline", "-fno-optimize-sibling-calls", "-I", INCLUDE, "-pthread",
            "-o", "p", "p.c", folder=cls.folder)
        cls.symbols = {}
        for address, size, name in re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [tT] (\w+)$", run("nm", "-S", cls.folder / "p").stdout,
                                              re.M):
            cls.symbols[name] = (int(address, 16), int(address, 16) + int(size, 16))
        cls.code = run("objdump", "-d", cls.folder / "p").stdout
        cls.trace("whole")
        cls.whole = traced(cls.folder / "whole")
        assert len(cls.whole) == 4, cls.whole.keys()

    @classmethod
    def trace(cls, output, *options, status=0):
        return run(ZEROSKID, "trace", "--virtual-time", "-o", output, *options, "--", "./p", folder=cls.folder, status=status)

    def expect(self, make_passes, *options, whole=None):
        """make_passes() is made anew for each thread."""
        told = self.trace("part", *options).stderr
        whole = self.whole if whole is None else whole
        expected = {thread: kept(branches, make_passes()) for thread, branches in whole.items()}
        expected = {thread: branches for thread, branches in expected.items() if branches}
        self.assertGreater(sum(map(len, expected.values())), 5)
        found = traced(self.folder / "part")
        self.assertEqual(found.keys(), expected.keys())
        for thread, branches in expected.items():
            self.assertEqual(found[thread], branches)
        passed = sum(branch != GAP for branches in expected.values() for branch in branches)
        out = sum(map(len, self.whole.values())) - passed
        self.assertIn(f"record: {passed:,} branches, {out:,} filtered out -> part", told)
        self.assertRegex(told.splitlines()[0], "^# software PMU, .*; of branches only: ")
        return told

    def in_range(self, *ranges):
        return lambda: lambda _, start, target: any(low <= end < high for low, high in ranges for end in (start, target))

    def test_a_function(self):
        self.expect(self.in_range(self.symbols["leaf"]), "--filter", "filter leaf")

    def test_several_functions_and_from_one_to_another(self):
        leaf, outer, deep = (self.symbols[name] for name in ("leaf", "outer", "deep"))
        self.expect(self.in_range(leaf, deep), "--filter", "filter leaf , filter deep @ ./p")
        self.expect(self.in_range((leaf[0], outer[1])), "--filter", "filter leaf / outer")

    def test_an_offset_in_a_file(self):
        segment = re.search(r"LOAD +0x0*([0-9a-f]+) 0x0*([0-9a-f]+) .* R E ",
                            run("readelf", "-lW", self.folder / "p").stdout)
        offset = self.symbols["middle"][0] - int(segment[2], 16) + int(segment[1], 16)
        size = self.symbols["middle"][1] - self.symbols["middle"][0]
        self.expect(self.in_range(self.symbols["middle"]), "--filter", f"filter {offset:#x}/{size:#x}@{self.folder}/p")

    def test_a_library(self):
        low, size, library = next(place for place in mapped(self.folder / "whole") if place[2].endswith("libc.so.6"))
        self.expect(self.in_range((low, low + size)), "--filter", f"filter * @ {library}")

    def test_from_a_place_to_a_place(self):
        outer, deep = self.symbols["outer"][0], self.symbols["deep"][0]
        self.expect(lambda: Switch({outer}, {deep}), "--filter", "start outer, stop deep")
        self.expect(lambda: Switch({outer}, set()), "--filter", "start outer")
        self.expect(lambda: Switch(set(), {deep}, True), "--filter", "stop deep")

    def test_a_range_from_a_place_on(self):
        low, high = self.symbols["leaf"]

        def both():
            switch = Switch({self.symbols["deep"][0]}, set())
            return lambda *ends: switch(*ends) and (low <= ends[1] < high or low <= ends[2] < high)
        self.expect(both, "--filter", "start deep filter leaf")

    def test_a_region_that_the_source_marks(self):
        low, high = self.symbols["marked"]
        marks = [int(found, 16) for found in re.findall(r"^ +([0-9a-f]+):\s+0f 1f 05 ", self.code, re.M)]
        begin, end = (mark for mark in marks if low <= mark < high)
        self.expect(lambda: Switch({begin}, {end}), "--region", "hot")

    def test_a_function_and_what_it_calls(self):
        entry = self.symbols["outer"][0]
        behind = set()
        for address in re.findall(r"call +[0-9a-f]+ <outer>\n +([0-9a-f]+):", self.code):
            behind.add(int(address, 16))
        self.assertGreater(len(behind), 2)
        self.expect(lambda: Switch({entry}, behind), "--region", "outer")
        self.expect(lambda: Switch({entry, self.symbols["deep"][0]}, behind), "--region", "outer", "--filter", "stop deep",
                    whole={thread: branches for thread, branches in self.whole.items() if
                           not any(target == self.symbols["deep"][0] for _, target in branches)} |
                          {thread: branches[:next(at for at, (_, target) in enumerate(branches) if
                                                  target == self.symbols["deep"][0])]
                           for thread, branches in self.whole.items() if
                           any(target == self.symbols["deep"][0] for _, target in branches)})

    def test_threads(self):
        numbers = sorted(self.whole)
        self.expect(lambda: lambda *_: True, "--thread", "1", whole={key: self.whole[key] for key in (numbers[0], numbers[3])})
        self.expect(lambda: lambda *_: True, "--thread", "3", whole={numbers[2]: self.whole[numbers[2]]})

    def test_a_thread_by_its_name(self):
        self.trace("part", "--thread", "writer")
        found = traced(self.folder / "part")
        (thread, branches), = found.items()
        whole = self.whole[sorted(self.whole)[2]]
        self.assertEqual(thread, sorted(self.whole)[2])
        self.assertNotIn(GAP, branches)
        # From the call on that gave it its name.
        self.assertEqual(whole[-len(branches):], branches)
        self.assertLess(len(whole) - len(branches), 60)
        entry = self.symbols["outer"][0]
        self.assertIn(entry, [target for _, target in branches])

    def test_the_file_and_its_readers_say_so(self):
        self.trace("part", "--filter", "filter leaf", "--thread", "1")
        head = run(ZEROSKID, "script", "--header-only", "-i", "part", folder=self.folder).stdout
        self.assertIn("# zeroskid: trace filter = filter leaf; thread 1\n", head)
        self.assertRegex(head, r"# zeroskid: branches filtered out = \d+\n")
        page = run(ZEROSKID, "trace", "report", "-i", "part", folder=self.folder).stdout
        self.assertEqual(page.splitlines()[0], "# only: filter leaf; thread 1")
        stretches = []
        for recording in ("whole", "part"):
            run(ZEROSKID, "trace", "--input", recording, "--to", "autofdo=counts", folder=self.folder)
            stretches.append(set(re.findall("^([0-9a-f]+-[0-9a-f]+):", (self.folder / "counts").read_text(), re.M)))
        self.assertGreater(len(stretches[1]), 1)
        self.assertLessEqual(stretches[1], stretches[0])  # none goes over a gap

    @unittest.skipIf(shutil.which("perf") is None, "perf is not installed (apt install linux-perf)")
    def test_stock_perf_finds_the_same_branches(self):
        self.trace("part", "--filter", "filter leaf, filter deep")
        shown = run("perf", "script", "--itrace=b", "-F", "tid,ip,addr", "-i", "part", folder=self.folder)
        self.assertEqual(shown.stderr, "")
        found = collections.defaultdict(list)
        for line in shown.stdout.splitlines():
            thread, *ends = line.replace("=>", " ").split()
            found[int(thread)].append(tuple(int(end, 16) for end in ends))
        expected = {thread: [branch for branch in branches if branch != GAP]
                    for thread, branches in traced(self.folder / "part").items()}
        self.assertEqual(found, expected)

    def test_a_file_is_never_larger_than_it_may_be(self):
        everything = sum(map(len, self.whole.values()))
        for size in (9_000, 30_000, 100_001, 131_072, 1_000_003, 3_000_000):
            for options in ([], ["--filter", "filter leaf"]):
                told = self.trace("part", "--max-size", str(size), *options).stderr
                bytes_now = (self.folder / "part").stat().st_size
                found = traced(self.folder / "part")
                kept_now = sum(branch != GAP for branches in found.values() for branch in branches)
                self.assertLessEqual(bytes_now, size)
                if "before them dropped" not in told:
                    self.assertGreater(size, 1_000_000)
                    continue
                self.assertGreater(bytes_now, size - 300)
                dropped = int(re.search(r"the ([\d,]+) before them dropped", told)[1].replace(",", ""))
                if not options:  # otherwise gaps take room too
                    self.assertGreater(kept_now, (size - 16_000) / 27)
                    self.assertEqual(dropped + kept_now, everything)
                    for thread, branches in found.items():
                        self.assertEqual(branches, self.whole[thread][-len(branches):])
        told = self.trace("part", "--max-size", "2000").stderr
        self.assertRegex(told, "zeroskid: --max-size 2000: there is no room for branches: what else is in the file takes "
                               r"[\d,]+ bytes\nhint: choose a larger size\n")

    def test_what_is_wrong_is_named(self):
        for options, message, hint in (
                (["--filter", "filter nowhere"], "--filter 'filter nowhere': ./p: no function is called nowhere", "hint: "),
                (["--filter", "trace main"], "--filter 'trace main': 'trace' is none of filter, start and stop", "hint: filter main"),
                (["--filter", "filter 0x401136/8"], "0x401136 lies behind the end of ./p", "hint: what objdump shows at 0x401136 is at 0x1136"),
                (["--filter", "filter 0x1136"], "0x1136: a range of no bytes", "hint: filter 0x1130/0x40"),
                (["--filter", "filter"], "filter: of what?", "hint: filter FUNCTION"),
                (["--filter", "start main/8"], "start main: is one place, without a size", "hint: leave /8 out"),
                (["--filter", "tracestop main"], "tracestop: only one instruction can end a trace here", "hint: stop FUNCTION"),
                (["--filter", ""], "--filter '': says nothing", "hint: filter main"),
                (["--filter", "filter main @ /nowhere"], "/nowhere: no such file", "hint: an ELF file"),
                (["--filter", "filter 0x11q6/8"], "0x11q6: no number", "hint: 0x1130"),
                (["--region", "p.c:9999"], "no code of line 9999", "hint: "),
                (["--thread", "a,,b"], "--thread a,,b: a name is missing", "hint: --thread worker,1")):
            told = self.trace("none", *options, status=129).stderr
            self.assertIn(message, told)
            self.assertIn(hint, told)
        told = run(ZEROSKID, "record", "--filter", "filter main", "--", "./p", folder=self.folder, status=129).stderr
        self.assertIn("only a trace of branches is filtered\nhint: -e intel_bts//u traces\n", told)

    def test_nothing_that_passes_is_said(self):
        told = self.trace("part", "--region", "cold").stderr
        self.assertIn("record: 0 branches, ", told)
        self.assertIn("zeroskid: no branch passed: region cold\nhint: ", told)


if __name__ == "__main__":
    ZEROSKID, INCLUDE = (os.path.abspath(path) for path in sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
