"""--help of zeroskid and of every verb, word for word.   help_test.py ZEROSKID [--update]

After a change that is meant, --update writes the pages anew: the change then shows in the diff.
"""
import pathlib
import re
import sys
import unittest

import tool

PAGES = pathlib.Path(__file__).resolve().parent / "help"


#: Verbs of a verb.
MORE = ("mem record", "mem report")


def page_of(verb):
    return verb.replace(" ", "_")


def verbs():
    listed = re.search(r"^Verbs:\n((?:  \S.*\n)+)", tool.run("--help").out, re.MULTILINE)
    return [line.split()[0] for line in listed.group(1).splitlines()]


class Help(unittest.TestCase):
    maxDiff = None

    def page(self, name, *words):
        outcome = tool.run(*words)
        self.assertEqual((outcome.status, outcome.err), (0, ""))
        self.assertEqual(outcome.out, (PAGES / f"{name}.txt").read_text(),
                         f"if this is meant: {sys.argv[0]} ZEROSKID --update")
        return outcome.out

    def test_zeroskid_names_its_verbs(self):
        self.page("zeroskid", "--help")

    def test_every_verb_explains_itself(self):
        for verb in (*verbs(), *MORE):
            with self.subTest(verb=verb):
                self.page(page_of(verb), *verb.split(), "--help")

    def test_no_page_is_left_of_a_verb_that_is_gone(self):
        self.assertEqual({path.stem for path in PAGES.iterdir()}, {"zeroskid", *verbs(), *map(page_of, MORE)})

    def test_help_is_the_same_asked_either_way(self):
        self.assertEqual(tool.run("help", "record").out, tool.run("record", "--help").out)
        self.assertEqual(tool.run("help").out, tool.run("--help").out)

    def test_pages_fit_a_terminal_of_132_columns(self):
        for page in PAGES.iterdir():
            for line in page.read_text().splitlines():
                self.assertLessEqual(len(line), 132, f"{page.name}: {line}")

    def test_without_a_verb_the_page_is_an_error_message(self):
        outcome = tool.run()
        self.assertEqual((outcome.status, outcome.out), (129, ""))
        self.assertEqual(outcome.err, tool.run("--help").out)


def update():
    PAGES.mkdir(exist_ok=True)
    for old in PAGES.iterdir():
        old.unlink()
    (PAGES / "zeroskid.txt").write_text(tool.run("--help").out)
    for verb in (*verbs(), *MORE):
        (PAGES / f"{page_of(verb)}.txt").write_text(tool.run(*verb.split(), "--help").out)


if __name__ == "__main__":
    if sys.argv[2:] == ["--update"]:
        tool.ZEROSKID = sys.argv[1]
        update()
    else:
        tool.main()
