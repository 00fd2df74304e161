"""Exact profiles of a part of a run (--from-main, --region, --toggle, --filter, --thread), what their instructions are (stat --mix,
--opcodes), and pprof's form of them: against single steps, objdump, and the whole profile.
  parts_test.py ZEROSKID STEPPER
The programs are written anew in each run.
"""
import collections
import glob
import gzip
import os
import pathlib
import re
import shutil
import sys
import unittest

import contexts_test
from contexts_test import COUNT, SIZE, Drawn, Recording, sums
from in_folder import SEED

KINDS = ("loop", "call", "table", "room")
INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"


class Stepped(Drawn):
    maxDiff = 600

    def draw(self, number, kinds=KINDS):
        """A program, {function: (first address, end)}, and what single steps say: [(pc, callers, times)] from main on."""
        self.compiled(kinds, number)
        lines = [line.split() for line in self.run_here("nm", "-S", "program").stdout.splitlines()]
        self.functions = {line[3]: (int(line[0], 16), int(line[0], 16) + int(line[1], 16)) for line in lines if len(line) == 4}
        at = {line[-1]: line[0] for line in lines if len(line) >= 3}
        self.run_here(STEPPER, "steps", at["main"], at["stacks"], SIZE, COUNT, "--", "./program", timeout=300)
        self.stepped = []
        for line in (self.folder / "steps").read_text().splitlines():
            times, pc, *callers = line.split()
            self.stepped.append((int(pc, 16), [int(caller, 16) for caller in callers], int(times)))

    def inside(self, pc, function):
        return self.functions[function][0] <= pc < self.functions[function][1]

    def stepped_times(self, passes=lambda pc, callers: True):
        found = collections.Counter()
        for pc, callers, times in self.stepped:
            if passes(pc, callers):
                found[pc] += times
        return found

    def counted(self, *options, events=False):
        self.run_here(contexts_test.ZEROSKID, "profile", "-q", "-o", "p.data", *options, "./program")
        found = Recording(self.folder / "p.data").events
        return found if events else sums(found[0])

    def drawn_function(self):
        """One that ran, and is not all that ran."""
        ran = {name for pc, _, _ in self.stepped for name in self.functions if name.startswith("_Z2f") and self.inside(pc, name)}
        return sorted(ran)[-1]


class Parts(Stepped):
    def test_from_main_on(self):
        for number in range(PROGRAMS):
            self.draw(number)
            self.assertEqual(self.counted("--from-main"), self.stepped_times(), f"seed {SEED}, {number}")

    def test_a_region_is_a_function_and_what_it_calls(self):
        for number in range(PROGRAMS):
            self.draw(number)
            name = self.drawn_function()
            expected = self.stepped_times(lambda pc, callers: self.inside(pc, name) or
                                          any(self.inside(caller - 1, name) for caller in callers))
            for option in "--region", "--toggle":
                self.assertEqual(self.counted(option, name), expected, f"seed {SEED}, {number}: {name}")
            contexts = self.counted("-g", "--region", name, events=True)
            self.assertEqual(sums(contexts[0]), expected, f"seed {SEED}, {number}: {name}")
            self.assertEqual(sum(contexts[2].values()), sum(expected.values()))
            of_contexts = collections.Counter()
            for (_, _, callers), period in contexts[2].items():
                of_contexts[callers] += period
            stepped = collections.Counter()
            for pc, callers, times in self.stepped:
                if pc in expected and (self.inside(pc, name) or any(self.inside(caller - 1, name) for caller in callers)):
                    stepped[tuple(callers)] += times
            below_main = {callers[:len(callers)]: times for callers, times in of_contexts.items()}
            self.assertEqual(sorted(below_main.values()), sorted(stepped.values()), f"seed {SEED}, {number}: {name}")

    def test_code_of_a_function_and_of_a_file(self):
        self.draw(0)
        name = self.drawn_function()
        whole = self.counted()
        of_function = {pc: times for pc, times in whole.items() if self.inside(pc, name)}
        self.assertEqual(self.counted("--filter", f"filter {name}"), of_function, f"seed {SEED}")
        self.assertEqual(self.counted("--filter", "filter * @ ./program"), whole, f"seed {SEED}")
        self.assertEqual(self.counted("--from-main", "--filter", f"filter {name}"), of_function, f"seed {SEED}")
        branches = self.counted("--filter", f"filter {name}", events=True)[1]
        self.assertGreater(sum(branches.values()), 0)

    def test_threads_and_children_go_on_as_who_made_them(self):
        (self.folder / "program.c").write_text("""
            #include <pthread.h>
            #include <sys/wait.h>
            #include <unistd.h>
            __attribute__((noinline)) void leaf(int n) { for (volatile int i = 0; i < n; ++i); }
            __attribute__((constructor)) void before() { leaf(1000); }
            void *work(void *n) { leaf(10); return 0; }
            int main() {
              pthread_t thread;
              pthread_create(&thread, 0, work, 0);
              pthread_join(thread, 0);
              if (fork() == 0) { leaf(100); _exit(0); }
              wait(0);
              return 0;
            }""")
        self.run_here("gcc", "-O1", "-g", "-static", "-no-pie", "-o", "program", "program.c", "-lpthread")
        lines = [line.split() for line in self.run_here("nm", "-S", "program").stdout.splitlines()]
        start, size = next((int(line[0], 16), int(line[1], 16)) for line in lines if line[-1] == "leaf")

        def of_leaf(*options):
            """By thread, how often the instruction ran that ran most often."""
            most = collections.Counter()
            for (tid, pc, _), times in self.counted(*options, events=True)[0].items():
                if start <= pc < start + size:
                    most[tid] = max(most[tid], times)
            return sorted(times // 10 for times in most.values())

        self.assertEqual(of_leaf("--from-main"), [1, 10])
        self.assertEqual(of_leaf(), [1, 10, 100])
        self.assertEqual(of_leaf("--thread", "2"), [1])

    def test_a_marked_region_has_what_a_counter_counts_in_it(self):
        (self.folder / "program.c").write_text("""
            #include "zeroskid/region.h"
            volatile int sum;
            __attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; ++i) sum += i; }
            int main() {
              leaf(100);
              for (int i = 0; i < 3; ++i) { ZS_REGION_BEGIN("hot"); leaf(1000 + i); ZS_REGION_END("hot"); leaf(10000); }
              return 0;
            }""")
        self.run_here("gcc", "-O1", "-g", "-I", INCLUDE, "-o", "program", "program.c")
        text = self.run_here(contexts_test.ZEROSKID, "stat", "-e", "instructions:u", "./program").stderr.partition("Region 'hot'")[2]
        counted = int(re.search(r"([\d,]+).*instructions:u", text)[1].replace(",", ""))
        self.assertGreater(counted, 9000)
        for options in ((), ("-g",)):
            self.assertEqual(sum(self.counted("--region", "hot", *options).values()), counted)

    def test_places_that_are_not_there_are_refused(self):
        self.draw(0)
        for words, said in ((("--region", "nowhere:3"), "--region nowhere:3: "), (("--filter", "filter nowhere"), "no function is called nowhere"),
                            (("--filter", "track main"), "'track' is none of filter, start and stop")):
            self.assertIn(said, self.run_here(contexts_test.ZEROSKID, "profile", "-o", "p.data", *words, "./program", status=129).stderr)
        self.run_here("strip", "program")
        self.assertIn("--from-main: ", self.run_here(contexts_test.ZEROSKID, "profile", "-o", "p.data", "--from-main", "./program",
                                                     status=129).stderr)


class Mix(Stepped):
    """Kinds are judged by objdump's text, counts are those of single steps."""

    def code(self):
        found = {}
        for line in self.run_here("objdump", "-d", "-M", "intel", "--no-show-raw-insn", "program").stdout.splitlines():
            if place := re.match(r" *([0-9a-f]+):\t(.+)$", line):
                found[int(place[1], 16)] = re.sub(r"^(bnd|notrack|cs|ds|data16|rex\.\w+) +", "", place[2].strip())
        return found

    @staticmethod
    def kind(text):
        name = text.split()[0]
        operands = text.partition(" ")[2].split("#")[0]
        if name.startswith("j"):
            return "jumps" if name == "jmp" and re.match(r" *[0-9a-f]+\b", operands) else "indirect jumps" if name == "jmp" else "conditional branches"
        if name == "call":
            return "calls" if re.match(r" *[0-9a-f]+\b", operands) else "indirect calls"
        if name == "ret":
            return "returns"
        if name == "syscall":
            return "system calls"
        if name.startswith("rep"):
            return "REP strings"
        if re.search(r"\b[xyz]mm\d", operands):
            return "floating point or vector"
        if name == "nop" or name.startswith("endbr"):
            return "nop"
        return "x87" if name.startswith("f") and not name.startswith("fs") else "integer"

    def rows(self, *options):
        text = self.run_here(contexts_test.ZEROSKID, "stat", *options, "--region", "main", "./program").stderr
        self.assertTrue(text.startswith("# class: exact\n"), text)
        return {name: int(times.replace(",", "")) for times, name in re.findall(r"^ *([\d,]+) +[\d.]+ %  (.+)$", text, re.M)}

    def test_kinds(self):
        for number in range(PROGRAMS):
            self.draw(number)
            code, expected = self.code(), collections.Counter()
            region = self.counted("--region", "main")
            self.assertEqual({pc: times for pc, times in region.items()}, {pc: times for pc, times in self.stepped_times().items()})
            for pc, times in region.items():
                expected[self.kind(code[pc])] += times
            rows = self.rows("--mix")
            found = collections.Counter()
            for name, times in rows.items():
                kind = name.partition(",")[0]
                if kind not in ("instructions", "read memory", "write memory"):
                    found["floating point or vector" if kind in ("floating point", "vector") else kind] += times
            self.assertEqual(found, expected, f"seed {SEED}, {number}")
            self.assertEqual(rows["instructions"], sum(region.values()))
            counted = self.run_here(contexts_test.ZEROSKID, "stat", "-x", ";", "-e", "instructions:u,mem_inst_retired.all_stores", "./program").stderr
            self.assertLessEqual(rows["write memory"], int(counted.splitlines()[1].split(";")[0]))
            mnemonics = self.rows("--opcodes")
            self.assertEqual(sum(mnemonics.values()), 2 * mnemonics["instructions"])
            for name in "call", "ret", "push", "lea", "cmp", "imul":
                of_code = sum(times for pc, times in region.items() if code[pc].split()[0] == name)
                self.assertEqual(mnemonics.get(name, 0), of_code, f"seed {SEED}, {number}: {name}")

    def test_of_each_function(self):
        self.draw(0)
        text = self.run_here(contexts_test.ZEROSKID, "stat", "--mix=function", "--region", "main", "./program").stderr
        shown = collections.Counter()
        for line in text.splitlines()[2:]:
            shown[line.split()[-2]] += int(line.split()[0].replace(",", ""))
        region, name = self.stepped_times(), self.drawn_function()
        self.assertEqual(shown[re.sub(r"_Z2(f\d)ij", r"\1", name)], sum(times for pc, times in region.items() if self.inside(pc, name)))
        self.assertEqual(int(text.splitlines()[2].split()[0].replace(",", "")), sum(region.values()))

    def test_options_that_count_events_are_refused(self):
        self.draw(0)
        for words, said in ((("--mix", "-e", "cycles"), "-e and --mix exclude each other"), (("--mix=what",), "--mix=what: no such rows"),
                            (("--opcodes", "-I", "100"), "-I and --mix exclude each other")):
            self.assertIn(said, self.run_here(contexts_test.ZEROSKID, "stat", *words, "./program", status=129).stderr)


def message(data):
    """The fields of a message of Protocol Buffers: {number: [values]}."""
    found, at = collections.defaultdict(list), 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            found[key >> 3].append(varint())
        else:
            size = varint()
            found[key >> 3].append(data[at:at + size])
            at += size
    return found


def packed(data):
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            values.append(value)
            value = shift = 0
    return values


#: The fields that are written, with their published numbers.
PROTO = """syntax = "proto3";
message Profile { repeated ValueType sample_type = 1; repeated Sample sample = 2; repeated Mapping mapping = 3; repeated Location location = 4;
  repeated Function function = 5; repeated string string_table = 6; ValueType period_type = 11; int64 period = 12; int64 default_sample_type = 14; }
message ValueType { int64 type = 1; int64 unit = 2; }
message Sample { repeated uint64 location_id = 1; repeated int64 value = 2; }
message Mapping { uint64 id = 1; uint64 memory_start = 2; uint64 memory_limit = 3; uint64 file_offset = 4; int64 filename = 5; int64 build_id = 6;
  bool has_functions = 7; bool has_filenames = 8; bool has_line_numbers = 9; bool has_inline_frames = 10; }
message Location { uint64 id = 1; uint64 mapping_id = 2; uint64 address = 3; repeated Line line = 4; }
message Line { uint64 function_id = 1; int64 line = 2; }
message Function { uint64 id = 1; int64 name = 2; int64 system_name = 3; int64 filename = 4; int64 start_line = 5; }
"""


class Pprof(Stepped):
    def read(self):
        """{function: instructions of its own}, the same with what it calls, and the whole message."""
        whole = message(gzip.decompress((self.folder / "p.data.pprof").read_bytes()))
        texts = [text.decode() for text in whole[6]]
        names = {one[1][0]: texts[one[2][0]] for one in map(message, whole[5])}
        lines = {one[1][0]: [names[message(line)[1][0]] for line in one[4]] for one in map(message, whole[4])}
        own, inclusive, values = collections.Counter(), collections.Counter(), [0, 0]
        for sample in map(message, whole[2]):
            numbers, (instructions, taken) = packed(sample[1][0]), packed(sample[2][0])
            values = [values[0] + instructions, values[1] + taken]
            own[(lines[numbers[0]] or ["?"])[-1]] += instructions
            for name in {name for number in numbers for name in lines[number]}:
                inclusive[name] += instructions
        return own, inclusive, values, whole

    def test_sums_are_those_of_the_recording(self):
        for options in (), ("-g",):
            self.draw(0)
            events = self.counted("--to", "pprof", *options, events=True)
            own, inclusive, values, whole = self.read()
            self.assertEqual(values, [sum(events[0].values()), sum(events[1].values())])
            for name in (name for name in self.functions if name.startswith("_Z2f")):
                times = sum(times for (_, pc, _), times in events[0].items() if self.inside(pc, name))
                self.assertEqual(own[re.sub(r"_Z2(f\d)ij", r"\1", name)], times, f"seed {SEED}: {name}")
            if options:
                called = sum(times for (_, pc, callers), times in events[2].items() if self.inside(pc, "main") or
                             any(self.inside(caller - 1, "main") for caller in callers))
                self.assertEqual(inclusive["main"], called, f"seed {SEED}")
            self.assertEqual([whole[6][message(kind)[1][0]] for kind in whole[1]], [b"instructions", b"taken-branches"])

    def test_inlined_functions_are_lines_of_their_place(self):
        (self.folder / "program.c").write_text("""
            static inline __attribute__((always_inline)) int inner(int x) { return x * x + 7; }
            __attribute__((noinline)) int outer(int n) { volatile int s = 0; for (int i = 0; i < n; ++i) s += inner(s); return s; }
            int main() { return outer(1000) == 1; }""")
        self.run_here("gcc", "-O1", "-g", "-static", "-no-pie", "-o", "program", "program.c")
        self.counted("--to", "pprof")
        own, inclusive, _, whole = self.read()
        self.assertGreaterEqual(inclusive["inner"], 1000)
        self.assertGreater(own["outer"], inclusive["inner"])
        self.assertIn(os.path.realpath(self.folder / "program.c").encode(), [os.path.realpath(text) for text in whole[6] if text])

    @unittest.skipIf(shutil.which("protoc") is None, "protoc is not installed (apt install protobuf-compiler)")
    def test_protoc_reads_each_field(self):
        self.draw(0)
        self.counted("--to", "pprof", "-g")
        (self.folder / "profile.proto").write_text(PROTO)
        (self.folder / "plain").write_bytes(gzip.decompress((self.folder / "p.data.pprof").read_bytes()))
        text = self.run_here("sh", "-c", "protoc --decode=Profile profile.proto < plain").stdout
        self.assertNotRegex(text, r"(?m)^ *\d+:")  # a field of another number
        self.assertEqual(len(re.findall(r"^sample \{", text, re.M)), len(self.read()[3][2]))

    @unittest.skipIf(not glob.glob("/usr/lib/go*/bin/go"), "go is not installed (apt install golang-go)")
    def test_go_tool_pprof_reads_it(self):
        self.draw(0)
        total = sum(self.counted("--to", "pprof", "-g").values())
        go = sorted(glob.glob("/usr/lib/go*/bin/go"))[0]
        text = self.run_here(go, "tool", "pprof", "-top", "-nodecount=10000", "-nodefraction=0", "-sample_index=instructions", "p.data.pprof").stdout
        self.assertRegex(text, rf"of {total} total")


if __name__ == "__main__":
    contexts_test.ZEROSKID, STEPPER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    PROGRAMS = int(os.environ.get("PROGRAMS", 2))
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
