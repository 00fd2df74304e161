#!/usr/bin/env python3
"""What `mem report` says of the types and fields of sampled accesses, held against what programs print of their own data (truth.h).
  types_test.py ZEROSKID SOURCES [--all]     --all: every program with each compiler, at -O0, -O2 and -O3, with DWARF 4 and 5
"""
import bisect
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import console_page

ENVIRONMENT = {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": os.environ.get("HOME", "/")}
ZEROSKID = SOURCES = ""
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLE = os.path.join(ROOT, "examples", "field_order", "accounts.c")
PAGE = os.path.join(ROOT, "docs", "how-to", "data-types.md")
PROGRAMS = ["bits.c", "boxes.rs", "closures.cc", "frames.c", "hash.c", "list.c", "matrix.c", "particles.c", "passed.c", "shapes.cc", "tree.c",
            "vectors.cc", "aligned.c", "enums.rs", "thread_locals.c"]
LEAST_RIGHT, MOST_WRONG = 0.95, 0.01

Build = collections.namedtuple("Build", "compiler level dwarf")
ALL = [Build(compiler, level, dwarf) for compiler in ("gcc", "clang") for level in ("0", "2", "3") for dwarf in ("4", "5")]


def run(*words, **options):
    result = subprocess.run([str(word) for word in words], env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=600, **options)
    assert result.returncode == 0, (words, result.returncode, result.stdout[-500:], result.stderr[-2000:])
    return result.stdout


def compiled(program, build, folder):
    path = os.path.join(folder, f"{program}.{build.compiler}{build.level}.{build.dwarf}")
    source = os.path.join(SOURCES, program)
    if program.endswith(".rs"):
        run("rustc", "-g", "-C", f"opt-level={build.level}", "-o", path, source)
        return path
    compiler = {"gcc": {"c": "gcc", "cc": "g++"}, "clang": {"c": "clang", "cc": "clang++"}}[build.compiler][program.rsplit(".")[-1]]
    run(compiler, "-g", f"-gdwarf-{build.dwarf}", f"-O{build.level}", "-Wno-invalid-offsetof", "-o", path, source)
    return path


def plain(name):
    """A type's name without what compilers spell in different ways."""
    name = re.sub(r"\b(struct|union|class|enum) ", "", name).replace(" ", "").split("::")[-1]
    return {"longint": "long", "unsignedint": "unsigned"}.get(name, name)


class Truth:
    def __init__(self, text):
        self.objects, self.fields = [], collections.defaultdict(list)
        for line in text.splitlines():
            words = line.split("\t")
            if words[0] == "object":
                size, count = int(words[3]), int(words[4])
                self.objects.append((int(words[2], 16), size, count, plain(words[1]), words[5]))
            elif words[0] == "field":
                self.fields[plain(words[1])].append((int(words[2]), int(words[3]), words[4]))
        self.objects.sort()
        self.starts = [one[0] for one in self.objects]

    def at(self, address, function):
        """Type and field, or nothing where the program did not say."""
        last = bisect.bisect_right(self.starts, address)
        for start, size, count, name, where in reversed(self.objects[max(0, last - 8):last]):
            if address < start + size * count and where in ("*", function.split(".")[0]):
                break
        else:
            return None
        offset = (address - start) % size
        for at, width, field in self.fields.get(name, ()):
            if at <= offset < at + width:
                return name, field
        return name, ""


def rows_of(recording):
    """Samples, function, address, type, field."""
    text = run(ZEROSKID, "mem", "report", "--plain", "-i", recording, "-s", "symbol,symbol_daddr,typeoff,dso")
    for line in text.splitlines():
        words = re.split(r" {2,}", line.strip())
        if len(words) < 4 or not words[0].endswith("%"):
            continue
        yield words


def main_check(program, build, folder):
    path = compiled(program, build, folder)
    recording = os.path.join(folder, "data")
    text = run(ZEROSKID, "mem", "record", "-q", "--detail", "complete", "--ldlat", "3", "-c", "97", "-o", recording, "--", path)
    truth = Truth(text)
    right = wrong = unknown = 0
    faults = collections.Counter()
    for words in rows_of(recording):
        count, function, where, told = int(words[1]), words[2][4:], words[3], words[4] if len(words) > 4 else ""
        address = re.search(r"\[.\] 0x([0-9a-f]+)$", where)
        if not address:
            continue
        # The code of the library has no debug information here.
        if words[-1] != os.path.basename(path):
            continue
        expected = truth.at(int(address[1], 16), function)
        if expected is None:
            continue
        match = re.match(r"(.*) \+0x([0-9a-f]+) \((.*)\)$", told)
        if not match:
            unknown += count
            faults[(function, expected, told)] += count
            continue
        name, field = plain(match[1]), match[3]
        field = "" if field == "no field" else re.sub(r"\[\d+\]", "", field)
        if name == expected[0] and (expected[1] in ("*", field) or field.split(".")[0] == expected[1]
                                    or field.startswith(expected[1] + ".") or (expected[1] == "_vptr" and field.startswith("_vptr"))
                                    or field.endswith("_M_elems") and field.startswith(expected[1])):
            right += count
        else:
            wrong += count
            faults[(function, expected, told)] += count
    return right, wrong, unknown, faults


class Types(unittest.TestCase):
    """Each program in one build; together they have each compiler, level and version of DWARF."""


def case(program, build):
    def check(self):
        compiler = "rustc" if program.endswith(".rs") else build.compiler
        if not shutil.which(compiler, path=ENVIRONMENT["PATH"]):
            self.skipTest(f"no {compiler} here")
        with tempfile.TemporaryDirectory() as folder:
            right, wrong, unknown, faults = main_check(program, build, folder)
        every = right + wrong + unknown
        self.assertGreater(every, 80, "too few samples of data that the program told of")
        self.assertGreaterEqual(right / every, LEAST_RIGHT, faults.most_common(5))
        self.assertLessEqual(wrong / every, MOST_WRONG, faults.most_common(5))
    return check


for place, name in enumerate(PROGRAMS):
    one = ALL[place % len(ALL)]
    setattr(Types, f"test_{name.replace('.', '_')}_{one.compiler}_O{one.level}_dwarf{one.dwarf}", case(name, one))

# Its pointer moves on where debug information still computes it from an index, and code no way leads to stands before the loop.
Types.test_bits_c_clang_O2_dwarf4 = case("bits.c", Build("clang", "2", "4"))


class Pages(unittest.TestCase):
    """What annotate --data-type shows of a type."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.recording = os.path.join(cls.folder, "data")
        path = os.path.join(cls.folder, "accounts")
        run("gcc", "-O2", "-g", "-o", path, EXAMPLE)
        run(ZEROSKID, "mem", "record", "-q", "--detail", "complete", "--ldlat", "3", "-c", "97", "-o", cls.recording, "--", path)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def page(self, *options, status=0):
        result = subprocess.run([ZEROSKID, "annotate", "-i", self.recording, *options], env=ENVIRONMENT, capture_output=True, text=True,
                                check=False)
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stdout if status == 0 else result.stderr

    def test_shows_fields_with_their_heat_and_holes(self):
        page = self.page("--data-type")
        self.assertIn("Annotate type: 'struct account' in accounts", page)
        rows = {row[6]: [float(number) for number in row.groups()[:5]]
                for row in re.finditer(r"(?m)^ +([\d.]+) +([\d.]+) +([\d.]+) +(\d+) +(\d+) +(\S.*?)(?:  \|.*)?$", page)}
        self.assertEqual(rows["struct account {"], [100, 100, 100, 0, 80])
        self.assertEqual(rows["char[60]  owner;"], [0, 0, 0, 8, 60])
        self.assertEqual(rows["(hole)"], [0, 0, 0, 68, 4])
        for column in range(3):
            self.assertAlmostEqual(rows["long int  number;"][column] + rows["long int  balance;"][column], 100, delta=0.02)
        self.assertGreater(rows["long int  balance;"][2], 90)  # of the stores
        self.assertRegex(page, r"number;  \|1+.*\|  .*L1 \d+%.*; mean [\d.]+ cycles")

    def test_finds_the_order_that_touches_one_line(self):
        # Each account's number is looked at, and half of them have their balance changed.
        page = self.page("--data-type=account")
        found = re.search(r"# order \(estimated\): lines touched per visit ([\d.]+) -> ([\d.]+), 80 -> 80 bytes\n((?:#   .*\n)+)", page)
        self.assertAlmostEqual(float(found[1]), 1.5, delta=0.3)
        self.assertLess(float(found[2]), 1.1)
        self.assertEqual(set(re.findall(r"  (\w+)(?:\[60\])?;", found[3])[:2]), {"number", "balance"})

    def test_a_type_without_samples_is_an_error_that_names_those_that_have_some(self):
        wrong = self.page("--data-type=nobody", status=125)
        self.assertIn("no sample is of a type named 'nobody'", wrong)
        self.assertIn("struct account", wrong)

    def test_a_function_and_a_type_exclude_each_other(self):
        self.assertIn("exclude each other", self.page("--data-type", "main", status=129))

    def test_says_how_much_is_unknown(self):
        shares = re.match(r"# \d+ samples: ([\d.]+)% of data of known type, ([\d.]+)% unknown, ([\d.]+)% stack operations", self.page("--data-type"))
        self.assertAlmostEqual(sum(float(share) for share in shares.groups()), 100, delta=0.2)
        self.assertGreater(float(shares[1]), 80)

    def test_the_commands_of_the_page_print_what_it_shows(self):
        console_page.check(self, PAGE, ZEROSKID)

    def test_without_debug_information_types_are_unknown_and_the_report_says_so(self):
        program, path = os.path.join(self.folder, "accounts"), os.path.join(self.folder, "plain")
        run("strip", "-g", "-o", path, program)
        run(ZEROSKID, "mem", "record", "-q", "--ldlat", "3", "-c", "97", "-o", path + ".data", "--", path)
        report = run(ZEROSKID, "mem", "report", "--plain", "-i", path + ".data", "-s", "symbol,type")
        self.assertRegex(report, r"book\S* +\(unknown\)")
        self.assertNotIn("account", report.replace("accounts", ""))

    def test_a_recording_without_data_sources_is_refused(self):
        path = os.path.join(self.folder, "cycles")
        run(ZEROSKID, "record", "-q", "-o", path, "--", "/bin/true")
        result = subprocess.run([ZEROSKID, "annotate", "--data-type", "-i", path], env=ENVIRONMENT, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 125)
        self.assertIn("the samples do not say where their data was", result.stderr)

    def test_a_recording_that_was_cut_short_is_read_as_far_as_it_goes(self):
        cut = os.path.join(self.folder, "cut")
        with open(self.recording, "rb") as whole, open(cut, "wb") as part:
            part.write(whole.read()[:os.path.getsize(self.recording) * 3 // 4])
        result = subprocess.run([ZEROSKID, "annotate", "--data-type", "-i", cut], env=ENVIRONMENT, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 125)
        self.assertIn("--truncated", result.stderr)
        self.assertIn("struct account", run(ZEROSKID, "annotate", "--data-type", "--truncated", "-i", cut))


def measure():
    sums = collections.Counter()
    for program in PROGRAMS:
        for build in ALL if not program.endswith(".rs") else [Build("rustc", level, "4") for level in ("0", "2", "3")]:
            with tempfile.TemporaryDirectory() as folder:
                right, wrong, unknown, faults = main_check(program, build, folder)
            every = max(1, right + wrong + unknown)
            for key, count in (("right", right), ("wrong", wrong), ("unknown", unknown)):
                sums[key] += count
            print(f"{program:14} {build.compiler:6} -O{build.level} DWARF {build.dwarf}: {every:6} right {100 * right / every:6.2f} wrong {100 * wrong / every:6.2f} "
                  f"unknown {100 * unknown / every:6.2f}  {faults.most_common(2) if right < 0.97 * every else ''}", flush=True)
    every = sum(sums.values())
    print({key: f"{100 * count / every:.2f}" for key, count in sums.items()}, every)


if __name__ == "__main__":
    arguments = [word for word in sys.argv[1:] if word != "--all"]
    ZEROSKID, SOURCES = (os.path.abspath(word) for word in arguments[:2])
    if "--all" in sys.argv:
        if len(arguments) > 2:
            PROGRAMS = arguments[2:]
        measure()
    else:
        unittest.main(argv=sys.argv[:1], verbosity=2)
