#!/usr/bin/env python3
"""What people see: the main commands on programs in five languages, on terminals of three widths. Nothing is wider than the terminal.

  transcripts_test.py ZEROSKID                  asserts that
  transcripts_test.py ZEROSKID --write FOLDER   writes what was seen, a page for each program

A program whose compiler is not installed is left out by name.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import terminal

HERE = pathlib.Path(__file__).parent
WIDTHS = (80, 120, 200)
ZEROSKID = ""

#: Name, what it is about, how it is made, how it is run.
PROGRAMS = [
    ("templates", "C++ with long names", ["g++", "-std=c++20", "-O2", "-g", "-o", "templates", "templates.cc"], ["./templates"]),
    ("maps", "Rust", ["rustc", "-O", "-g", "-o", "maps", "maps.rs"], ["./maps"]),
    ("words", "Go", ["go", "build", "-o", "words", "words.go"], ["./words"]),
    ("counts", "JavaScript", ["node", "--check", "counts.js"], ["node", "counts.js"]),
    ("lists", "Python", ["/usr/bin/python3", "-c", ""], ["/usr/bin/python3", "-B", "lists.py"]),
]

#: What is typed; the program's words follow those that end with --.
COMMANDS = [
    ["record", "-e", "instructions:ppp", "-c", "10007", "--"],
    ["report"],
    ["annotate"],
    ["stat", "--"],
    ["topdown", "--detail", "sampled", "--"],
    ["mem", "record", "--detail", "sampled", "-o", "mem.data", "--"],
    ["mem", "report", "-i", "mem.data"],
]


def missing(program):
    tool = program[2][0]
    return "" if shutil.which(tool) else f"{tool} is not installed"


def on_terminal(columns, words, folder):
    """What a terminal of that width was sent."""
    environment = {"PATH": os.environ["PATH"], "HOME": folder, "TERM": "xterm-256color", "PAGER": "cat", "LC_ALL": "C.UTF-8"}
    status, text, _ = terminal.run(words, environment, columns, folder)
    assert status == 0, (words, text)
    return text


def seen(text):
    """Its lines as they look in the end: without colours."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    return [line.rstrip("\r").rstrip() for line in text.split("\n")]


def typed(command, program):
    """As the page shows it."""
    return " ".join(["zeroskid", *command, *(program[3] if command[-1] == "--" else [])])


def transcript(program, folder, widths=WIDTHS):
    """(width, what was typed, lines) of each command."""
    for source in HERE.glob(f"{program[0]}.*"):
        shutil.copy(source, folder)
    subprocess.run(program[2], cwd=folder, check=True, env=dict(os.environ, GOFLAGS="-buildvcs=false"))
    for width in widths:
        for command in COMMANDS:
            words = [ZEROSKID, *command, *(program[3] if command[-1] == "--" else [])]
            yield width, typed(command, program), seen(on_terminal(width, words, folder))


class Transcripts(unittest.TestCase):
    def test_nothing_is_wider_than_the_terminal(self):
        for program in PROGRAMS:
            with self.subTest(program=program[0]), tempfile.TemporaryDirectory() as folder:
                if missing(program):
                    print(f"left out: {program[0]}: {missing(program)}")
                    continue
                for width, command, lines in transcript(program, folder, widths=(80,)):
                    self.assertGreater(len(lines), 2, command)
                    self.assertLessEqual(max(map(len, lines)), width, (command, max(lines, key=len)))


def write(folder):
    """Long pages by their beginnings."""
    most = 45
    folder.mkdir(exist_ok=True)
    for program in PROGRAMS:
        if missing(program):
            print(f"left out: {program[0]}: {missing(program)}")
            continue
        text = f"# {program[1]}: `{program[0]}` on a terminal\n\n"
        text += "Written by `tests/transcripts/transcripts_test.py`, which also holds that nothing is wider than the terminal.\n"
        with tempfile.TemporaryDirectory() as work:
            before = 0
            for width, command, lines in transcript(program, work):
                if width != before:
                    text += f"\n## {width} columns\n"
                before = width
                while lines and not lines[-1]:
                    lines.pop()
                left = len(lines) - most
                shown = lines[:most] + ([f"... {left} more lines"] if left > 0 else [])
                assert max(map(len, lines)) <= width, (command, max(lines, key=len))
                text += "\n```\n$ " + command + "\n" + "\n".join(shown) + "\n```\n"
        (folder / f"{program[0]}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    ZEROSKID = os.path.abspath(sys.argv[1])
    if sys.argv[2:3] == ["--write"]:
        write(pathlib.Path(sys.argv[3]).absolute())
    else:
        unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
