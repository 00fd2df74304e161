"""zeroskid profile -g --to callgrind: callgrind_annotate reads it, and it says what the recording, and Callgrind itself, say.
  callgrind_test.py ZEROSKID
The programs are written anew in each run.
"""
import bisect
import collections
import os
import re
import shutil
import sys
import unittest

import contexts_test
from contexts_test import Drawn, Recording
from in_folder import SEED

PLACE = r"0x[0-9a-f]+ \d+"
LINE = re.compile(rf"|# callgrind format|version: 1|(creator|cmd): .+|positions: instr line|events: Ir|(summary|totals): \d+|"
                  rf"(ob|fl|fi|fe|fn|cob|cfi|cfn)=\(\d+\)( [^\x00-\x1f]+)?|calls=\d+ {PLACE}|{PLACE} \d+")
OF_THE_PROGRAM = re.compile(r"(main|f\d+\(int, unsigned int\).*)$")
needs_valgrind = unittest.skipIf(shutil.which("valgrind") is None or shutil.which("callgrind_annotate") is None,
                                 "valgrind is not installed")


class Profile:
    """What a file in Callgrind's format says: costs by function, calls and costs by (caller, callee), costs of calls by address, sums by
    header."""

    def __init__(self, path):
        self.own, self.calls, self.inside, self.inside_at, self.sums = (collections.Counter() for _ in range(5))
        names, function, callee, is_call = {}, None, None, False
        for line in path.read_text().splitlines():
            if found := re.match(r"(c?fn)=\((\d+)\)(?: (.*))?$", line):
                # Callgrind calls what is entered again "f'2".
                name = names[found[2]] = re.sub(r"'\d+$", "", found[3]) if found[3] else names[found[2]]
                function, callee = (name, callee) if found[1] == "fn" else (function, name)
            elif found := re.match(r"calls=(\d+)", line):
                self.calls[function, callee] += int(found[1])
                is_call = True
            elif re.match(r"[0-9+*-]", line):
                if is_call:
                    self.inside[function, callee] += int(line.split()[-1])
                    self.inside_at[line.split()[0]] += int(line.split()[-1])
                else:
                    self.own[function] += int(line.split()[-1])
                is_call = False
            elif found := re.match(r"(summary|totals): (\d+)", line):
                self.sums[found[1]] = int(found[2])


class Callgrind(Drawn):
    maxDiff = None

    def exported(self, *program):
        self.run_here(contexts_test.ZEROSKID, "profile", "-q", "-g", "-o", "p.data", "--to", "callgrind=p.out", "--", *program)
        for line in (self.folder / "p.out").read_bytes().decode().split("\n"):
            self.assertIsNotNone(LINE.fullmatch(line), f"seed {SEED}: {line!r}")
        return Profile(self.folder / "p.out"), Recording(self.folder / "p.data").events

    def annotated(self, *options):
        """The costs of main and of the program, which it may repeat: where a caller in another file names main's, too."""
        text = self.run_here("callgrind_annotate", "--threshold=100", "--show-percs=no", "--auto=no", *options, "p.out").stdout
        found = collections.defaultdict(set)
        for cost, name in re.findall(r"^ *([\d,]+) +(?:\S*:)?(PROGRAM TOTALS|main)(?: \[.*\])?$", text, re.MULTILINE):
            found[name].add(int(cost.replace(",", "")))
        return found

    @needs_valgrind
    def test_sums_are_those_of_the_recording(self):
        for number, kinds in enumerate((("loop", "call", "tail", "table"), ("loop", "call", "longjmp", "throw", "raise"))):
            self.compiled(kinds, number)
            written, events = self.exported("./program")
            total = sum(events[0].values())
            self.assertEqual([total] * 3, [sum(written.own.values()), written.sums["summary"], written.sums["totals"]], f"seed {SEED}")
            self.assertEqual(self.annotated()["PROGRAM TOTALS"], {total}, f"seed {SEED}")
            inside, ran = collections.Counter(), sorted(pc for _, pc, _ in events[0])
            for (_, _, callers), period in events[2].items():
                for caller in callers:
                    call = ran[bisect.bisect_left(ran, caller) - 1]
                    if caller - call <= 15:  # not where a signal's handler returns to
                        inside[hex(call)] += period
            wrong = [(at, cost, written.inside_at[at]) for at, cost in inside.items() if written.inside_at[at] != cost]
            self.assertEqual(wrong, [], f"seed {SEED}, {number}: address, inside, written")
            start, size = next((int(line.split()[0], 16), int(line.split()[1], 16))
                               for line in self.run_here("nm", "-S", "program").stdout.splitlines() if line.endswith(" main"))
            of_main = sum(period for (_, pc, callers), period in events[2].items()
                          if any(start <= at < start + size for at in (pc, *(caller - 1 for caller in callers))))
            self.assertGreater(of_main, 1000)
            self.assertEqual(self.annotated("--inclusive=yes")["main"], {of_main}, f"seed {SEED}")

    @needs_valgrind
    def test_functions_and_calls_are_those_that_callgrind_counts(self):
        # What the C library does before main and after it depends on the processor, which is another one there.
        for number in range(int(os.environ.get("PROGRAMS", 2))):
            self.compiled(("loop", "call", "table", "tail", "room"), number)
            written, _ = self.exported("./program")
            self.run_here("valgrind", "--tool=callgrind", "--callgrind-out-file=c.out", "./program")
            counted = Profile(self.folder / "c.out")
            for what in ("own", "calls"):
                ours, theirs = ({name: times for name, times in getattr(profile, what).items() if
                                 all(OF_THE_PROGRAM.match(part) for part in ((name,) if what == "own" else name))}
                                for profile in (written, counted))
                self.assertGreater(len(theirs), 1)
                self.assertEqual(ours, theirs, f"seed {SEED}, {number}: {what}")
            called = {pair: cost for pair, cost in written.inside.items() if pair[0] == "main" and OF_THE_PROGRAM.match(pair[1])}
            self.assertEqual(called, {pair: counted.inside[pair] for pair in called}, f"seed {SEED}, {number}")

    @needs_valgrind
    def test_names_stay_on_their_lines(self):
        source = "sour\tce\nfn=(1).c"
        (self.folder / source).write_text("__attribute__((noinline)) void work(void) { for (volatile int i = 0; i < 99; ++i); }\n"
                                          "int main() { work(); return 0; }")
        self.run_here("gcc", "-g", "-static", "-o", "program", source)
        self.run_here("objcopy", "--redefine-sym", "work=wo\nob=(1)\trk", "program", "pro\ngram\t")
        written, events = self.exported("./pro\ngram\t", "one\ntwo")
        self.assertEqual(self.annotated()["PROGRAM TOTALS"], {sum(events[0].values())})
        self.assertEqual(written.calls["main", "wo?ob=(1)?rk"], 1)
        text = (self.folder / "p.out").read_text()
        for name in ("/pro?gram?\n", "sour?ce?fn=(1).c\n", " one?two\n"):
            self.assertIn(name, text)

    def test_without_contexts_it_is_refused(self):
        hint = "hint: zeroskid profile -g --to callgrind PROGRAM counts them\n"
        words = (contexts_test.ZEROSKID, "profile", "-q", "-o", "p.data")
        said = self.run_here(*words, "--to", "callgrind", "true", status=129).stderr
        self.assertEqual(said, "zeroskid: --to callgrind: needs calling contexts\n" + hint)
        self.run_here(*words, "true")
        said = self.run_here(contexts_test.ZEROSKID, "profile", "--input", "p.data", "--to", "callgrind", status=125).stderr
        self.assertEqual(said, "zeroskid: p.data: has no calling contexts, which callgrind needs\n" + hint)
        self.assertFalse((self.folder / "p.data.callgrind").exists())

    def test_merged_recordings_add_up(self):
        self.compiled(("loop", "call", "tail"), 0)
        once, _ = self.exported("./program")
        self.run_here(contexts_test.ZEROSKID, "profile", "-q", "--to", "callgrind=p.out", "--merge", "p.data", "--merge", "p.data")
        twice = Profile(self.folder / "p.out")
        for what in ("own", "calls", "inside", "sums"):
            self.assertEqual({name: 2 * times for name, times in getattr(once, what).items()}, dict(getattr(twice, what)))


if __name__ == "__main__":
    contexts_test.ZEROSKID = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
