#!/usr/bin/env python3
"""Windows and regions hold what arithmetic says, at every length, with one thread and with eight, in every way the engine runs
a program; and what cannot be measured is refused or told of.
  windows_test.py ZEROSKID GUESTS
"""
import collections
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
ZEROSKID = GUESTS = ""

#: Ways to run the same program: translated with and without records of what ran, in small pieces, instruction by instruction.
WAYS = (["-e", "instructions"], ["-e", "instructions,branches"], [], ["--max-block", "1"], ["--precise-only"])


def guest(name):
    return os.path.join(GUESTS, name)


def stat(*words, status=0):
    """What stat said, on stderr."""
    result = subprocess.run([ZEROSKID, "stat", *words], env=ENVIRONMENT, capture_output=True, text=True, check=False,
                            timeout=300)
    assert result.returncode == status, (words, result.returncode, result.stderr)
    return result.stderr


def to_file(*words):
    """The bytes of stat's output file."""
    with tempfile.NamedTemporaryFile() as file:
        stat("-o", file.name, *words)
        return file.read()


def windows(*words):
    """Rows of the CSV, by thread; numbers as numbers."""
    return rows_of(to_file("--format", "csv", *words).decode())


def rows_of(table):
    lines = [line for line in table.splitlines() if not line.startswith("#")]
    threads = collections.defaultdict(list)
    for row in csv.DictReader(lines):
        threads[row["pid"], row["tid"]].append({key: int(value) if value.isdigit() else value
                                                for key, value in row.items()})
    return threads


def regions(*words):
    """By name and event: entries, cut short, ends without begin, sum, least, most."""
    found = {}
    for line in to_file("-j", *words).decode().splitlines():
        fields = json.loads(line)
        if "region" in fields and "event" in fields:
            found[fields["region"], fields["event"]] = tuple(
                fields.get(key) for key in ("entries", "cut-short", "ends-without-begin", "sum", "min", "max"))
    return found


def spans_of(table):
    """By region and thread, between which instructions each entry lay."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for line in table.splitlines():
        if line.startswith("# region,"):
            _, name, _, thread, begin, end = next(csv.reader([line]))
            found[name][thread].append((int(begin), int(end)))
    return found


def covered(spans):
    """How much lies in at least one of these stretches."""
    total = end = 0
    for begin, stop in sorted(spans):
        total += max(0, stop - max(begin, end))
        end = max(end, stop)
    return total


def place_of(mnemonic):
    """Addresses of these instructions of known_loop, hexadecimal."""
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", guest("known_loop")], capture_output=True, text=True,
                             check=True).stdout
    lines = map(str.split, listing[listing.index("<_start>:"):].splitlines())
    return [words[0].rstrip(":") for words in lines if len(words) > 1 and words[1] == mnemonic]


def addresses_of(program):
    """Of the instructions in a program's own functions, hexadecimal, in their order."""
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", guest(program)], capture_output=True, text=True,
                             check=True).stdout
    start = min(at for at in (listing.find(f"<{name}>:") for name in ("_start", "main")) if at >= 0)
    return re.findall(r"^ +([0-9a-f]+):\t\w", listing[start:], re.MULTILINE)


class Windows(unittest.TestCase):
    #: Of known_loop, without and with an argument.
    SHORT, LONG = 3 + 2 * 1000 + 3, 4 + 2 * 12_000_000 + 3

    def check(self, rows, length, total):
        self.assertEqual(len(rows), -(-total // length))
        at = 0
        for number, row in enumerate(rows, 1):
            expected = min(length, total - at)
            self.assertEqual((row["window"], row["start"], row["end"]), (number, at, at + expected))
            self.assertEqual(row["instructions"], expected)
            self.assertEqual(row["reason"], f"{length}i" if expected == length else "end")
            at += expected

    def test_hold_exactly_their_instructions(self):
        for way in WAYS:
            for length in (1, 2, 7, 999, 50_000):
                (rows,) = windows("-I", f"{length}i", *way, guest("known_loop")).values()
                self.check(rows, length, self.SHORT)

    def test_of_a_long_run_too(self):
        for way in WAYS[:3]:
            for length in (50_000, 10_000_000, 24_000_007):
                (rows,) = windows("-I", f"{length}i", *way, guest("known_loop"), "long").values()
                self.check(rows, length, self.LONG)

    def test_branches_in_a_window_are_arithmetic(self):
        # The first window begins with three instructions of which one is a branch.
        (rows,) = windows("-I", "100i", "-e", "instructions,branches", guest("known_loop")).values()
        self.assertEqual([row["branches"] for row in rows], [49] + [50] * 19 + [3])

    def test_end_by_any_event(self):
        (rows,) = windows("-I", "100:branches", "-e", "instructions", guest("known_loop")).values()
        # je, then every second instruction from the fifth on: the hundredth branch is instruction 3 + 2 * 99.
        self.assertEqual(rows[0]["end"], 3 + 2 * 99)
        self.assertEqual({row["instructions"] for row in rows[1:-1]}, {200})
        self.assertEqual([row["reason"] for row in rows], ["100:branches"] * 10 + ["end"])

    def test_are_those_of_single_steps_whatever_ends_them(self):
        # Jumps, strings, faults, system calls, code that changes unseen: every way that a trace can be cut.
        for program in ("setjmp_longjmp", "rep_strings", "computed_goto", "signal_faults", "smc_two_views"):
            for ends in ("1009i", "101:br_inst_retired.near_taken", "307:mem_inst_retired.all_loads"):
                runs = [windows("-I", ends, "-e", "instructions,branches,br_inst_retired.near_taken,mem_inst_retired.all_stores",
                                "--virtual-time", *way, guest(program))
                        for way in ((), ("--precise-only",))]
                self.assertEqual(runs[0], runs[1], (program, ends))
                self.assertGreater(max(map(len, runs[0].values())), 20)

    def test_of_instructions_alone_are_those_of_single_steps_too(self):
        for program in ("setjmp_longjmp", "rep_strings", "computed_goto", "signal_faults", "smc_two_views"):
            for length in (1, 97, 1009):
                runs = [windows("-I", f"{length}i", "-e", "instructions", "--virtual-time", *way, guest(program))
                        for way in ((), ("--max-block", "3"), ("--precise-only",))]
                self.assertEqual(runs[0], runs[2], (program, length))
                self.assertEqual(runs[1], runs[2], (program, length))

    def test_end_by_whichever_of_several_comes_first(self):
        (rows,) = windows("-I", "150i", "-I", "100:branches", guest("known_loop")).values()
        self.assertEqual({row["reason"] for row in rows[:-1]}, {"150i"})
        (rows,) = windows("-I", "200i", "-I", "100:branches", guest("known_loop")).values()
        self.assertEqual(rows[0]["reason"], "200i")  # 99 branches
        self.assertEqual(rows[1]["reason"], "100:branches")  # begins and ends with one
        self.assertEqual({row["reason"] for row in rows[2:-1]}, {"200i+100:branches"})

    def test_of_threads_are_each_ones_own(self):
        for count in ("1", "8"):
            for length in (1 if count == "1" else 2, 999, 50_000, 10_000_000):
                threads = windows("-I", f"{length}i", guest("region_marks"), count)
                self.assertEqual(len(threads), 1 + int(count))
                for rows in threads.values():
                    at = 0
                    for row in rows:
                        self.assertEqual(row["start"], at)
                        at = row["end"]
                        self.assertEqual(row["instructions"], at - row["start"])
                        self.assertEqual(row["instructions"] == length, row["reason"] != "end")
                    self.assertGreater(at, 20_000)  # every thread works so much

    def test_sum_to_what_is_counted_without_them(self):
        program = "/bin/ls", "/etc"
        whole = {event["event"]: float(event["counter-value"])
                 for event in map(json.loads, to_file("-j", "--virtual-time", *program).decode().splitlines())
                 if "counter-value" in event}
        rows = [row for thread in windows("-I", "999i", "--virtual-time", *program).values() for row in thread]
        for event in ("branches", "mem_inst_retired.all_loads", "mem_inst_retired.all_stores", "instructions"):
            self.assertEqual(sum(row[event] for row in rows), whole[event])

    def test_of_milliseconds_are_of_nominal_time(self):
        (rows,) = windows("-I", "5", guest("known_loop"), "long").values()
        self.assertEqual([row["instructions"] for row in rows], [5_000_000] * 4 + [4_000_007])
        self.assertEqual((rows[1]["start_ns"], rows[1]["end_ns"]), (5_000_000, 10_000_000))

    def test_with_a_skid_are_late_by_it_and_say_so(self):
        (rows,) = windows("-I", "500i", "--skid", "7", guest("known_loop")).values()
        self.assertEqual([row["instructions"] for row in rows], [507, 507, 507, self.SHORT - 3 * 507])
        text = stat("-I", "500i", "--skid", "dist", guest("known_loop"))
        self.assertIn("windows end late on purpose", text)
        late = ["-I", "500i", "--skid", "dist", "--virtual-time", guest("known_loop")]
        self.assertEqual(stat(*late), stat(*late))
        self.assertNotEqual(stat(*late), stat("--seed", "2", *late))
        self.assertEqual(stat(*late), stat(*["pmi" if word == "dist" else word for word in late]))

    def test_that_a_modelled_event_ends_may_end_late(self):
        (rows,) = windows("-I", "50:mem_load_retired.l1_miss", "--skid", "dist", "/bin/true").values()
        self.assertGreater(len(rows), 5)

    def test_hpctools_csv_has_its_columns_and_line_ends(self):
        data = to_file("-I", "50000i", "--format", "hpctool-csv", guest("known_loop"), "long")
        lines = data.split(b"\r\n")
        self.assertEqual(lines[0], b"ins,l_cycle,ref_cycle,event1,event2,event3,event4")
        self.assertEqual(lines[-1], b"")
        self.assertNotIn(b"\n", data.replace(b"\r\n", b""))
        rows = [line.split(b",") for line in lines[1:-1]]
        self.assertEqual({len(row) for row in rows}, {7})
        self.assertEqual({row[0] for row in rows[:-1]}, {b"50000"})
        self.assertEqual({row[3] for row in rows[1:-1]}, {b"25000"})
        self.assertEqual(rows[-1][0], b"7")
        # Without windows, what HPCTool counts between two marks: one row of everything.
        whole = to_file("--format", "hpctool-csv", guest("known_loop"), "long").split(b"\r\n")
        self.assertEqual(len(whole), 3)
        self.assertEqual(whole[0], lines[0])
        ended = [int(cell) for cell in whole[1].split(b",")]
        self.assertEqual(ended[0], sum(int(row[0]) for row in rows))
        self.assertEqual(ended[3], sum(int(row[3]) for row in rows))

    def test_of_two_runs_at_once_do_not_mix(self):
        command = [ZEROSKID, "stat", "-I", "999i", "--virtual-time", "--format", "csv", "-o"]
        with tempfile.TemporaryDirectory() as folder:
            programs = {"a": [guest("known_loop")], "b": ["/bin/ls", "/etc"], "c": [guest("known_loop")]}
            alone = {}
            for name, program in programs.items():
                alone[name] = to_file("-I", "999i", "--virtual-time", "--format", "csv", *program)
            running = [subprocess.Popen([*command, os.path.join(folder, name), *program], env=ENVIRONMENT,
                                        stdout=subprocess.PIPE) for name, program in programs.items()]
            for process in running:
                process.communicate(timeout=60)
            self.assertEqual([process.returncode for process in running], [0, 0, 0])
            for name in programs:
                with open(os.path.join(folder, name), "rb") as file:
                    self.assertEqual(file.read(), alone[name])


class Regions(unittest.TestCase):
    #: By region: entries, cut short, ends without begin, then instructions: sum, least, most.
    KNOWN = {
        "inner": (3, 0, 0, 3 * 201, 201, 201),
        "outer": (3, 0, 0, 3 * (21 + 1 + 201 + 1 + 41), 265, 265),
        "handler": (1, 0, 0, 61, 61, 61),
        "never begun": (0, 0, 1, None, None, None),
    }

    def test_hold_exactly_what_lies_between_their_marks(self):
        for count in (1, 8):
            for way in WAYS:
                found = regions(*way, guest("region_marks"), str(count))
                for name, expected in self.KNOWN.items():
                    self.assertEqual(found[name, "instructions"], expected, (name, way))
                self.assertEqual(found["thread", "instructions"], (10 * count, 0, 0, 20010 * count, 2001, 2001), way)
                if ("inner", "branches") in found:
                    self.assertEqual(found["inner", "branches"], (3, 0, 0, 300, 100, 100))
                    self.assertEqual(found["outer", "branches"], (3, 0, 0, 390, 130, 130))

    def test_left_by_exceptions_and_jumps_count_the_same_in_every_way(self):
        answers = [regions(*way, guest("region_marks")) for way in WAYS]
        for name, entries, cut in (("thrown", 5, 0), ("around", 1, 0), ("jumped", 1, 1), ("signalled", 1, 0),
                                   ("recursive", 3, 0)):
            first = answers[0][name, "instructions"]
            self.assertEqual(first[:3], (entries, cut, 0), name)
            for answer in answers:
                self.assertEqual(answer[name, "instructions"], first, name)

    def test_between_any_two_instructions_count_the_same_in_every_way(self):
        # Where a region begins a block does: every place is one, among faults, jumps and strings. In some of these blocks a later
        # instruction faults.
        for program in ("signal_faults", "rep_strings", "setjmp_longjmp"):
            places = addresses_of(program)
            for phase in range(3):
                begins = places[phase::7][:200]
                ends = places[phase + 3::7][:200]
                chosen = [word for begin, end in zip(begins, ends) for word in ("--region", f"0x{begin}..0x{end}")]
                answers = [regions("--virtual-time", *way, *chosen, guest(program)) for way in
                           (["-e", "instructions"], ["-e", "instructions,branches"], ["-e", "instructions", "--precise-only"])]
                counted = [{name: value for (name, event), value in answer.items() if event == "instructions"}
                           for answer in answers]
                self.assertEqual(counted[0], counted[2], (program, phase))
                self.assertEqual(counted[1], counted[2], (program, phase))
                self.assertGreater(sum(value[0] for value in counted[0].values()), 10, program)

    def test_of_functions_reach_from_entry_to_return(self):
        for way in WAYS:
            found = regions("--region", "function", *way, guest("region_marks"))
            self.assertEqual([value[:3] for key, value in found.items() if key[0] == "function"][0], (1, 0, 0))
            self.assertEqual(found["function", "instructions"][3], 103)  # 101, lea, ret

    def test_of_functions_count_their_calls_and_nothing_twice(self):
        """Not what is landed in or jumped back to, and not again what lies in an outer entry."""
        names = ("catcher", "thrower", "fibonacci", "spins", "main")
        for way in WAYS:
            found = regions(*(word for name in names for word in ("--region", name)), *way, guest("region_cold"))
            counted = {key[0]: value for key, value in found.items() if key[1] == "instructions"}
            self.assertEqual({name: counted[name][:2] for name in names},
                             {"catcher": (200, 0), "thrower": (200, 100), "fibonacci": (177, 0), "spins": (3, 0), "main": (1, 0)})
            self.assertEqual(counted["spins"][3:], (3 * 12, 12, 12))
            self.assertEqual(counted["fibonacci"][3], counted["fibonacci"][5], "the outermost entry holds the others")
            self.assertLess(sum(counted[name][3] for name in ("catcher", "fibonacci", "spins")), counted["main"][3])
            self.assertLess(counted["thrower"][3], counted["catcher"][3])

    def test_of_a_part_that_is_jumped_to_are_refused(self):
        self.assertIn("is a part of a function that is jumped to, and has no entry\nhint: name ",
                      stat("--region", "_ZN12_GLOBAL__N_17catcherEi.cold", guest("region_cold"), status=129))

    def test_of_stretches_lie_between_two_addresses(self):
        place = "..".join(f"0x{place_of(name)[0]}" for name in ("dec", "xor"))
        found = regions("--region", place, guest("known_loop"))
        self.assertEqual(found[place, "instructions"], (1, 0, 0, 2001, 2001, 2001))

    def test_of_lines_hold_the_lines_code(self):
        with open(os.path.join(os.path.dirname(__file__), "../guests/region_marks.cc"), encoding="utf-8") as file:
            source = file.readlines()
        line = 1 + next(i for i, text in enumerate(source) if "WORK(60)" in text)
        place = f"region_marks.cc:{line}"
        found = regions("--region", place, guest("region_marks"))
        self.assertEqual(found[place, "instructions"], (1, 0, 0, 121, 121, 121))

    def test_lie_where_they_lie_in_the_table_of_windows(self):
        lines = to_file("-I", "10000000i", "--format", "csv", guest("region_marks")).decode().splitlines()
        spans = [line.split(",") for line in lines if line.startswith("# region,inner")]
        self.assertEqual([int(end) - int(begin) for *_, begin, end in spans], [201, 201, 201])

    def test_have_a_block_in_the_page_and_columns(self):
        page = stat(guest("region_marks"))
        self.assertIn(" Region 'inner': 3 entries\n", page)
        self.assertIn(" Region 'jumped': 1 entry, 1 of them cut short\n", page)
        self.assertIn(" Region 'never begun': never entered, 1 end without a begin\n", page)
        self.assertIn("region;inner;3;0;0;instructions;603;201;201.00;201\n", stat("-x", ";", guest("region_marks")))

    def test_cost_nothing_where_the_tool_is_absent(self):
        listing = subprocess.run(["objdump", "-d", guest("region_marks")], capture_output=True, text=True,
                                 check=True).stdout
        self.assertGreaterEqual(listing.count("0f 1f 05"), 15)


    def test_are_the_same_whatever_windows_cut_them(self):
        """Every length, one thread and eight; nested regions, and ones left by exceptions, longjmp and a signal's handler."""
        for events, count in (("instructions", 8), ("instructions,branches", 1), ("instructions,branches", 8)):
            alone = regions("-e", events, "--virtual-time", guest("region_marks"), str(count))
            for length in (1, 2, 999, 50_000, 10_000_000):
                table = to_file("-I", f"{length}i", "-e", events, "--virtual-time", "--format", "csv",
                                guest("region_marks"), str(count)).decode()
                spans = spans_of(table)
                for (name, event), (entries, _, _, total, least, most) in alone.items():
                    if event != "instructions":
                        continue
                    lengths = [end - begin for thread in spans[name].values() for begin, end in thread]
                    self.assertEqual((len(lengths), sum(map(covered, spans[name].values()))), (entries, total or 0),
                                     (name, length))
                    if entries:
                        self.assertEqual((min(lengths), max(lengths)), (least, most), (name, length))
                self.assertEqual([[end - begin for begin, end in thread] for thread in spans["thread"].values()],
                                 [[2001] * 10] * count)
                threads = rows_of(table)
                self.assertEqual(len(threads), 1 + count)
                for rows in threads.values():
                    for row in rows:
                        full = row["reason"] != "end"
                        self.assertEqual(row["instructions"], row["end"] - row["start"])
                        self.assertEqual(row["instructions"] == length, full, (length, row))
                    self.assertEqual([row["start"] for row in rows], [0] + [row["end"] for row in rows[:-1]])

    def test_do_not_cross_fork_execve_and_the_end_of_a_thread(self):
        for way in WAYS[1:]:
            found = regions("-e", "instructions,branches", *way, guest("region_forks"))
            # By region: entries, cut short, ends without begin.
            for name, shape in {"open at fork": (1, 0, 1),  # the child begins with none open, and ends it
                                "left by _exit": (1, 1, 0), "left by execve": (1, 1, 1),
                                "left by its thread": (1, 1, 0)}.items():
                self.assertEqual(found[name, "instructions"][:3], shape, (name, way))
            for name, turns in {"child": 70, "parent": 40, "second image": 30}.items():
                self.assertEqual(found[name, "instructions"], (1, 0, 0, *[1 + 2 * turns] * 3), (name, way))
                self.assertEqual(found[name, "branches"], (1, 0, 0, *[turns] * 3), (name, way))
        only_parent = regions("--follow", "none", guest("region_forks"))
        self.assertEqual({name for name, _ in only_parent}, {"open at fork", "parent"})

    def test_that_end_without_a_begin_are_in_every_format(self):
        program = guest("region_marks")
        self.assertIn("\n Region 'never begun': never entered, 1 end without a begin\n", stat(program))
        self.assertIn("region;never begun;0;0;1;instructions;<not counted>;;;\n", stat("-x", ";", program))
        self.assertEqual(regions(program)["never begun", "instructions"], (0, 0, 1, None, None, None))


class Modelled(unittest.TestCase):
    """Events of the modelled core, with and without such of time: no window and no region loses or invents one."""
    EVENTS = ("mem_load_retired.l1_miss,br_misp_retired.all_branches",
              "mem_load_retired.l1_miss,br_misp_retired.all_branches,cycles,uops_issued.any")

    def test_windows_sum_to_the_whole(self):
        for events in self.EVENTS:
            for program in (["qsort_static"], ["setjmp_longjmp"], ["region_marks", "0"], ["rep_strings"]):
                words = ["--detail", "full", "-e", "instructions," + events, "--virtual-time", guest(program[0]), *program[1:]]
                plain = [json.loads(line) for line in to_file("-j", *words).decode().splitlines()]
                whole = {event["event"]: float(event["counter-value"]) for event in plain if "counter-value" in event}
                for ends in (["999i"], ["50000i"], ["7:mem_load_retired.l1_miss", "100:br_misp_retired.all_branches"]):
                    threads = windows(*(word for end in ends for word in ("-I", end)), *words)
                    for event, total in whole.items():
                        self.assertEqual(sum(row[event] for rows in threads.values() for row in rows), total,
                                         (events, program, ends, event))

    def test_windows_end_at_the_event_that_fills_them(self):
        (rows,) = windows("-I", "10:mem_load_retired.l1_miss", "-e", "mem_load_retired.l1_miss", guest("qsort_static")).values()
        self.assertGreater(len(rows), 5)
        self.assertEqual({row["mem_load_retired.l1_miss"] for row in rows[:-1]}, {10})

    def test_windows_of_forked_children_begin_with_them(self):
        """What the parent's core has not played yet, and windows that wait for it, are the parent's."""
        result = subprocess.run([ZEROSKID, "stat", "--virtual-time", "--detail", "full", "-e", "instructions,cycles", "-I", "101i",
                                 "--format", "csv", "-o", os.devnull, guest("fork_in_threads")],
                                env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count(": 10 good children\n"), 3, result.stdout + result.stderr)

    def test_windows_and_regions_are_those_of_single_steps(self):
        for events in self.EVENTS:
            words = ["--detail", "full", "-e", "instructions," + events, "--virtual-time", guest("region_marks"), "0"]
            for what in (regions, lambda *w: windows("-I", "2003i", *w)):
                self.assertEqual(what(*words), what("--precise-only", *words), events)


class Refusals(unittest.TestCase):
    HINT = "hint: -I 50000i: instructions; -I 1000:EVENT: of an event; -I 10: milliseconds\n"

    def refused(self, *words):
        return stat(*words, guest("known_loop"), status=129)

    def test_of_windows_that_are_none(self):
        for spelling, why in (("0i", "a window of 0 never begins"), ("0", "a window of 0 never begins"),
                              ("-5i", "a negative number closes no window"), ("i", "no number"),
                              ("10q", "'q' is no unit")):
            self.assertEqual(self.refused("-I", spelling), f"zeroskid: -I {spelling}: {why}\n{self.HINT}")
        for spelling, most in (("99999999999999999999i", 2**60), ("1152921504606846977i", 2**60)):
            self.assertEqual(self.refused("-I", spelling), f"zeroskid: -I {spelling}: too large\nhint: at most {most}\n")
        self.assertIn("unknown event 'nonsense'", self.refused("-I", "10:nonsense"))

    def test_of_skids_that_are_none(self):
        for spelling, why in (("-1", "no interrupt is early"), ("x", "neither a number of instructions nor pmi"),
                              ("5i", "neither a number of instructions nor pmi")):
            self.assertEqual(self.refused("-I", "500i", "--skid", spelling),
                             f"zeroskid: --skid {spelling}: {why}\n"
                             "hint: --skid 85: instructions; --skid pmi: as a real interrupt is late\n")

    def test_of_what_does_not_go_with_windows(self):
        self.assertEqual(self.refused("--skid", "5"), "zeroskid: --skid: without -I nothing is interrupted\n" + self.HINT)
        self.assertIn("task-clock is counted by the kernel", self.refused("-I", "10i", "-e", "task-clock"))
        self.assertIn("interrupts nobody", self.refused("-I", "10:task-clock"))
        self.assertEqual(self.refused("--format", "csv"),
                         "zeroskid: --format csv: has rows of windows only\nhint: -I 50000i\n")

    def test_of_regions_that_are_nowhere(self):
        program = guest("region_marks")
        self.assertEqual(stat("--region", "functio", program, status=129),
                         f"zeroskid: --region functio: {program}: no function is called functio\n"
                         "hint: there is (anonymous namespace)::function\n")
        self.assertEqual(stat("--region", "nosuch.cc:7", program, status=129),
                         f"zeroskid: --region nosuch.cc:7: {program}: no code of a file nosuch.cc\n"
                         "hint: addr2line shows its names\n")
        self.assertIn("is not in its code", stat("--region", "0x1..0x2", program, status=129))

    def test_a_region_that_is_never_entered_is_told_of_and_the_rest_is_kept(self):
        text = stat("--region", "__libc_csu_init@/nowhere", guest("known_loop"), status=129)
        self.assertIn("/nowhere: no such file", text)
        text = stat("--region", "jumps", "--region", "0x401000..0x401001", guest("known_loop"), status=129)
        self.assertIn("no function is called jumps", text)
        # With an argument the jump over the second mov is not taken, without one the mov is never reached.
        place = f"0x{place_of('mov')[1]}..0x{place_of('xor')[0]}"
        text = stat("--region", place, guest("known_loop"), status=125)
        self.assertIn(f"zeroskid: --region {place}: was never entered\n", text)
        self.assertIn("2,006      instructions", text)
        self.assertIn("1 entry", stat("--region", place, guest("known_loop"), "long"))

    def test_a_region_that_is_never_entered_is_told_of_beside_one_that_is(self):
        never, entered = (f"0x{place_of(first)[at]}..0x{place_of('xor')[0]}" for first, at in (("mov", 1), ("dec", 0)))
        text = stat("--region", never, "--region", entered, guest("known_loop"))
        self.assertIn(f"zeroskid: --region {never}: was never entered\n"
                      "hint: the counts of the whole run are there all the same\n", text)
        self.assertIn(f" Region '{entered}': 1 entry\n", text)


if __name__ == "__main__":
    ZEROSKID, GUESTS = (os.path.abspath(path) for path in sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
