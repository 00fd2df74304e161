"""Programs in C that are changed at random: what zeroskid diff must name, and what it must not take for new.
seeded_changes.py ZEROSKID --source DIR --build COMMAND --program PROGRAM [--arguments WORDS] [--changes N]
    makes N changes (10) of a real program's source, each in a function that runs, builds it and asks diff for its name;
    then has one function renamed, one moved to the end of its file and one inlined. SEED=N repeats a run. By hand:
    apt-get source lua5.4
    seeded_changes.py build/release/zeroskid --source lua5.4-5.4.4 --build "make -C src generic MYCFLAGS=-g" \
        --program src/lua --arguments ../bench.lua"""
import argparse
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": "/"}


def body_of(text, at):
    """Where the body of a function begins and ends whose name stands at `at`: behind "{", and at its "}"."""
    begin = text.index("{", at) + 1
    depth, position = 1, begin
    skipped = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[{}]', re.S)
    for found in skipped.finditer(text, begin):
        depth += {"{": 1, "}": -1}.get(found.group(), 0)
        position = found.start()
        if depth == 0:
            break
    return begin, position


def definition_of(text, name):
    """Where a function is defined: from the beginning of its declaration, its name, and to the end of its body; nothing
    if that is not surely one."""
    found = list(re.finditer(rf"^(?:[A-Za-z_][\w \t*]*?[ \t*])?(?={re.escape(name)}[ \t]*\([^;{{}}]*\)\s*\{{)", text, re.M))
    if len(found) != 1:
        return None
    _, end = body_of(text, found[0].end())
    return found[0].start(), found[0].end(), end + 1


def loop(draw):
    return f"{{ volatile long zs_sum = 0; for (long zs_i = 0; zs_i < {draw.randrange(20, 400)}; zs_i++) zs_sum += zs_i ^ 3; }}"


def repeated(draw):
    steps = " ".join("zs_sum = zs_sum * 5 + 1;" for _ in range(draw.randrange(10, 80)))
    return f"{{ volatile unsigned long zs_sum = 1; {steps} }}"


def calls(draw):
    """Of what others call too: its own count rises more than that of the function that was changed."""
    return (f"{{ static const char* volatile zs_text = \"{'x' * draw.randrange(5, 90)}\"; volatile long zs_sum = 0; "
            f"for (int zs_i = 0; zs_i < {draw.randrange(3, 60)}; zs_i++) zs_sum += (long)__builtin_strchr(zs_text, 'y'); }}")


def searched(draw):
    size = draw.randrange(16, 200)
    return (f"{{ static volatile int zs_table[{size}]; int zs_i = 0; while (zs_i < {size} && zs_table[zs_i] == 0) zs_i++; }}")


KINDS = {"loop": loop, "repeated": repeated, "calls": calls, "search": searched}


class NoBuild(Exception):
    """A change is none that the compiler takes."""


class Tree:
    """A program's source, built in a folder of its own."""

    def __init__(self, zeroskid, source, folder, build, program, arguments, verb=("profile",)):
        self.zeroskid, self.source, self.folder = zeroskid, source, folder
        self.build_command, self.program, self.arguments = build, program, arguments
        self.verb, self.count = verb, 0

    def run(self, *words, cwd=None):
        done = subprocess.run([str(word) for word in words], cwd=cwd, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", check=False, timeout=600)
        if done.returncode != 0:
            raise RuntimeError(f"{words}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-3000:]}")
        return done.stdout

    def profile(self, edits):
        """The recording of the program with files that are written otherwise."""
        self.count += 1
        tree = self.folder / f"build-{self.count}"
        shutil.copytree(self.source, tree, symlinks=True)
        for name, text in edits.items():
            (tree / name).write_text(text, errors="surrogateescape")
        try:
            self.run("sh", "-c", self.build_command, cwd=tree)
        except RuntimeError as problem:
            raise NoBuild from problem
        data = self.folder / f"{self.count}.data"
        self.run(self.zeroskid, *self.verb, "-q", "--virtual-time", "-o", data, f"./{self.program}", *self.arguments, cwd=tree)
        return data

    def profile_of_some(self, edit, draw, known):
        """The first that can be built: a function that calls itself is not to be inlined, one that calls static ones
        stays in its file."""
        while True:
            name, edits = edit(draw, known, self)
            try:
                return name, self.profile(edits)
            except NoBuild:
                continue

    def lost(self, rows):
        """The program's own functions that are told to be gone or new."""
        program = pathlib.Path(self.program).name
        return [row["name"] for row in rows if row["dso"] == program and not row["name"].endswith("@plt")
                and None in (row["a"], row["b"]) and not row["within-error"]]

    def functions(self):
        """Of what was built last: those that ran in the program itself, the most frequent first."""
        name = pathlib.Path(self.program).name
        baseline = self.folder / "baseline.json"
        self.run(self.zeroskid, "check", "--update", "--baseline", baseline, "--budget", "instructions=1%", "-o", "/dev/null",
                 "--", f"./{self.program}", *self.arguments, cwd=self.folder / f"build-{self.count}")
        rows = [row for row in json.loads(baseline.read_text())["functions"] if row["dso"] == name and "file" in row]
        return sorted(rows, key=lambda row: -row["instructions"])

    def diff(self, a, b):
        event = json.loads(self.run(self.zeroskid, "diff", a, b, "--format", "json"))["events"][0]
        return event["functions"]

    def file_of(self, base):
        found = [path for path in self.source.rglob(base) if path.is_file()]
        return found[0] if len(found) == 1 else None


def places(tree, rows):
    """Of functions that ran: name, path below the source, text, and where it is defined."""
    for row in rows:
        path = tree.file_of(row["file"])
        if path is None:
            continue
        text = path.read_text(errors="surrogateescape")
        at = definition_of(text, row["function"])
        if at is not None:
            yield row["function"], path.relative_to(tree.source), text, at


def is_static(place):
    _, _, text, (start, _, _) = place
    return text.startswith("static ", start)


def changed(draw, places_, kind=None):
    """A change: the function's name, what kind, and the file that is written anew."""
    name, path, text, (_, at, _) = draw.choice(places_)
    kind = kind or draw.choice(list(KINDS))
    begin, _ = body_of(text, at)
    return name, kind, {path: text[:begin] + "\n  " + KINDS[kind](draw) + text[begin:]}


def renamed(draw, places_, tree):
    """A function has another name in every file."""
    name, _, _, _ = draw.choice(places_)
    word = re.compile(rf"\b{re.escape(name)}\b")
    edits = {}
    for path in sorted(tree.source.rglob("*.[ch]")):
        text = path.read_text(errors="surrogateescape")
        if word.search(text):
            edits[path.relative_to(tree.source)] = word.sub(name + "_other", text)
    return name, edits


def moved(draw, places_, tree):
    """A function stands at the end of its file, or of another if it is not static, and is declared where it was."""
    name, path, text, (start, _, end) = draw.choice(places_)
    whole = text[start:end]
    edits = {path: text[:start] + whole[:whole.index("{")].rstrip() + ";" + text[end:]}
    to = path if "static" in whole.split("(")[0] else draw.choice(places_)[1]
    edits[to] = edits.get(to, (tree.source / to).read_text(errors="surrogateescape")) + "\n" + whole + "\n"
    return name, edits


def inlined(draw, places_, _, attribute="__attribute__((always_inline)) inline "):
    """A static function is inlined wherever it is called."""
    name, path, text, (start, at, _) = draw.choice([one for one in places_ if is_static(one)])
    declared = re.sub(r"\b\w*NOINLINE\b\s*", "", text[start:at])
    return name, {path: text[:start] + attribute + declared + text[at:]}


def only_moved(draw, text):
    """The text of a file with one more function, that nobody calls, or with two functions the other way round."""
    ends = [found.end() for found in re.finditer(r"^}\n", text, re.M)]
    starts = [text.rindex("\n\n", 0, end) + 1 for end in ends]
    if draw.random() < 0.5 and len(ends) > 1:
        i = draw.randrange(len(ends) - 1)
        one, other = text[starts[i]:ends[i]], text[starts[i + 1]:ends[i + 1]]
        return text[:starts[i]] + other + text[ends[i]:starts[i + 1]] + one + text[ends[i + 1]:]
    steps = "".join(f"  n = n * {draw.randrange(2, 9999)} ^ {draw.randrange(9999)};\n" for _ in range(draw.randrange(1, 60)))
    at = draw.choice(starts)
    return f"{text[:at]}\n__attribute__((used)) static long zs_unused_{draw.randrange(1 << 30)}(long n)\n{{\n{steps}  return n;\n}}\n{text[at:]}"


def generated(draw, folder):
    """A program of a few files and some fifty functions, of which some are static, and some small enough to be inlined.
    Each calls functions of the next level. Returns the command that builds it."""
    files, levels = draw.randrange(2, 5), [[f"{word}_{i}_{draw.randrange(1000)}" for i in range(draw.randrange(8, 15))]
                                           for word in ("leaf", "twig", "branch", "trunk")]
    file_of = {name: draw.randrange(files) for level in levels for name in level}
    static = {name for name in file_of if draw.random() < 0.5}
    apart = {name for name in sorted(static) if draw.random() < 0.5}
    texts = ["#include \"all.h\"\n" for _ in range(files)]
    header = "#define NOINLINE __attribute__((noinline))\n" + "".join(f"long {name}(long n);\n" for name in file_of if name not in static)
    for name in sorted(static):
        texts[file_of[name]] += f"static long {name}(long n);\n"
    for number, level in enumerate(levels):
        for name in level:
            below = [one for one in levels[number - 1] if one not in static or file_of[one] == file_of[name]] if number else []
            lines = ["volatile long sum = n;" if draw.random() < 0.5 else "long sum = n * 3;"]
            for _ in range(draw.randrange(1, 6)):
                factor = draw.randrange(2, 99)
                lines.append(draw.choice([
                    f"sum = sum * {factor} + (n >> 1);", f"if (sum & {factor}) sum ^= n + {factor};",
                    f"for (long i = 0; i < {factor}; i++) sum += i ^ n;", f"sum += sum / {factor};"]))
            lines += [f"sum += {one}(sum & 255);" for one in draw.sample(below, min(len(below), 2))]
            texts[file_of[name]] += (f"\n{'static NOINLINE ' if name in apart else 'static ' if name in static else ''}long {name}(long n)\n{{\n  "
                                     + "\n  ".join(lines) + "\n  return sum;\n}\n")
    roots = [one for one in levels[-1] if one not in static or file_of[one] == 0]
    texts[0] += "\nint main(void)\n{\n  volatile long all = 0;\n" + "".join(
        f"  for (int i = 0; i < {draw.randrange(2, 9)}; i++) all += {one}(i);\n" for one in roots) + "  return 0;\n}\n"
    for number, text in enumerate(texts):
        (folder / f"part_{number}.c").write_text(text)
    (folder / "all.h").write_text(header)
    return f"gcc -O2 -g -o program {' '.join(f'part_{number}.c' for number in range(files))}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("zeroskid", type=os.path.abspath)
    parser.add_argument("--source", type=lambda text: pathlib.Path(text).resolve(), required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--verb", type=shlex.split, default=["profile"], help="profile, or record with its options")
    parser.add_argument("--changes", type=int, default=10)
    parser.add_argument("--arguments", type=shlex.split, default=[])
    given = parser.parse_args()
    seed = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"SEED={seed}", flush=True)
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(given.zeroskid, given.source, pathlib.Path(folder), given.build, given.program, given.arguments, given.verb)
        base = tree.profile({})
        rows = tree.functions()
        known = list(places(tree, rows))
        print(f"{len(rows)} functions run, {len(known)} of them are found in the source", flush=True)
        right, failed = 0, False
        for _ in range(given.changes):
            name, kind, edits = changed(draw, known)
            rows = tree.diff(base, tree.profile(edits))
            good = bool(rows) and rows[0]["name"] == name
            right += good
            lost = tree.lost(rows)
            failed |= bool(lost)
            print(f"{kind:9} {name:24} {'first' if good else 'NOT first: ' + ', '.join(row['name'] for row in rows[:4])}"
                  f"{'; gone or new: ' + ', '.join(lost) if lost else ''}", flush=True)
        print(f"{right} of {given.changes} first", flush=True)
        failed |= right < given.changes * 9 / 10
        for what, edit in {"renamed": renamed, "moved": moved, "inlined": inlined}.items():
            name, data = tree.profile_of_some(edit, draw, known)
            rows = tree.diff(base, data)
            lost = tree.lost(rows)
            failed |= bool(lost)
            print(f"{what:9} {name:24} {'gone or new: ' + ', '.join(lost) if lost else 'matched'}; of another count: "
                  f"{', '.join(row['name'] + ' %+d' % row['difference'] for row in rows) or 'none'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
