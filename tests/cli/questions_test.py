"""Every command of README's table of questions, run: what a reader types works as it stands there."""
import pathlib
import re
import unittest

import tool

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"
#: What words in capitals stand for.
MEANT = {"PROGRAM": tool.SHORT_LOOP, "EVENTS": ["instructions,branches"], "FILE": ["file"]}
#: A disk that halts the processor: CLI, HLT, and the mark of a boot sector.
IMAGE = b"\xFA\xF4".ljust(510, b"\0") + b"\x55\xAA"


def rows():
    """question -> its commands, each without `zeroskid`; the first column of the page's one table of them."""
    table = re.search(r"^\| question \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", README.read_text(), re.M)
    cells = [line.split("|")[1:3] for line in table[1].splitlines()]
    return {question.strip(): [span.removeprefix("zeroskid ") for span in re.findall(r"`([^`]+)`", answer)]
            for question, answer in cells}


class Questions(tool.InFolder):
    def test_every_command_of_the_table_works(self):
        self.assertGreater(len(rows()), 9)
        for question, commands in rows().items():
            for command in commands:
                with self.subTest(question=question, command=command):
                    if command.startswith("linux") and not any(pathlib.Path("/boot").glob("vmlinuz-*")):
                        continue  # tests/machine/linux_test.py says so
                    if command.startswith("boot"):
                        self.file("file", IMAGE)
                    outcome = self.run_here(*sum((MEANT.get(word, [word]) for word in command.split()), []))
                    self.assertEqual(outcome.status, 0, outcome.err)
                    self.assertNotRegex(outcome.err, "usage|Usage")

    def test_help_begins_with_the_same_questions(self):
        asked = set(re.findall(r"^(\S.*\?) +\S+  zeroskid ", tool.run("--help").out, re.M))
        self.assertGreater(len(asked), 7)
        said = " ".join(rows())
        for question in asked - {"What works here?", "Which instruction is it?"}:  # said in other words there
            self.assertIn(question.removesuffix("?"), said)


if __name__ == "__main__":
    tool.main()
