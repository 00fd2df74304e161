"""Man pages: what --help says, as man shows it.   pages_test.py ZEROSKID FOLDER"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import tool
import help_test

PAGES = pathlib.Path(".")


class ManPages(unittest.TestCase):
    def verbs(self):
        return [*help_test.verbs(), *help_test.MORE]

    def page(self, name, width=500):
        """As text, and what the formatter had to say of its source."""
        done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", PAGES / "man" / f"{name}.1"], text=True,
                              capture_output=True, check=True, env={**os.environ, "MANWIDTH": str(width), "LC_ALL": "C.UTF-8"})
        return re.sub(r".\x08", "", done.stdout), done.stderr

    def setUp(self):
        if shutil.which("man") is None:
            self.skipTest("man is not installed")

    def test_there_is_one_for_each_verb(self):
        names = {"zeroskid", "zs", *("zeroskid-" + verb.replace(" ", "-") for verb in self.verbs())}
        self.assertEqual({path.stem for path in (PAGES / "man").glob("*.1")}, names)

    def test_the_formatter_finds_no_fault(self):
        for path in (PAGES / "man").glob("zeroskid*.1"):
            with self.subTest(page=path.name):
                self.assertEqual(self.page(path.stem, 80)[1], "")

    def test_every_option_and_status_of_help_is_in_the_page(self):
        for verb in self.verbs():
            text = " ".join(self.page("zeroskid-" + verb.replace(" ", "-"))[0].split())
            said = tool.run(*verb.split(), "--help").out
            options = re.findall(r"^  (-\S+)(?: |$)", said, re.MULTILINE)
            statuses = re.search(r"^Exit status:\n((?:  .*\n)+)", said, re.MULTILINE)
            if verb not in ("mem", "c2c"):
                self.assertTrue(options and statuses, verb)
            for names in options:
                self.assertIn(", ".join(names.split(",")), text, verb)
            for row in statuses.group(1).splitlines() if statuses else ():
                self.assertIn(" ".join(row.split()), text, verb)

    def test_the_first_page_names_the_verbs(self):
        text = self.page("zeroskid")[0]
        for verb in help_test.verbs():
            self.assertRegex(text, rf"\n +{verb}\b")
            self.assertIn(f"zeroskid-{verb}(1)", text)


if __name__ == "__main__":
    PAGES = pathlib.Path(sys.argv.pop(2)).resolve()
    tool.main()
