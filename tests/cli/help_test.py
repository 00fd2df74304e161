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
WATCHES = ("-p", "--pid", "-t", "--tid", "-a", "--all-cpus", "-C", "--cpu-list", "--cpu", "--per-thread")
WATCHERS = ("record", "stat", "mem record", "c2c record")
MORE = ("mem record", "mem report", "c2c record", "c2c report", "trace report")


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

    def test_every_option_of_a_page_is_accepted(self):
        """With a value where the page says so. What else is wrong (no program, no recording) is said of something else."""
        for verb in (*verbs(), *MORE):
            page = tool.run(*verb.split(), "--help").out
            for names, value in re.findall(r"^  ((?:-\w, ?)?-[-\w, ]*?)(?: (\S+)(?: \[ARGS\])?)?(?:  .*)?$", page, re.MULTILINE):
                for name in re.split(", ?", names.strip()):
                    if name in ("-h", "--help"):
                        continue
                    words = [name] if not value or value.startswith("[=") else [name, "1"]
                    if verb in WATCHERS and name in WATCHES:
                        words += ["-o", "/nonexistent/perf.data"]  # or it would watch for ever
                    outcome = tool.run(*verb.split(), *words)
                    with self.subTest(verb=verb, option=name):
                        self.assertNotIn("no option", outcome.err)
                        self.assertNotIn("not expected", outcome.err)

    def test_every_sort_key_of_a_page_is_accepted(self):
        for verb in (["report"], ["mem", "report"]):
            page = tool.run(*verb, "--help").out
            keys = re.search(r"^Keys: ((?:.+\n)+?)(?:Those|\nExit)", page, re.MULTILINE).group(1).split()
            self.assertGreater(len(keys), 8)
            for key in keys:
                outcome = tool.run(*verb, "-i", "/nonexistent", "-s", key)
                with self.subTest(verb=verb, key=key):
                    self.assertIn("/nonexistent: cannot open", outcome.err)

    def test_every_choice_of_a_page_is_accepted(self):
        """What is written a|b|c, in small letters. A refused value is told with those that are known."""
        seen = 0
        for verb in (*verbs(), *MORE):
            page = tool.run(*verb.split(), "--help").out
            for name, choices in re.findall(r"^  (?:-\w,)?(--?[-\w]+) (\S+\|\S+)", page, re.MULTILINE):
                for choice in re.sub(r"\[[^]]*\]", "", choices).split("|"):
                    if choice.isupper():
                        continue
                    words = ["-I", "10i"] if (verb, name) == ("stat", "--format") else ["--image", "/nonexistent"] if verb == "boot" else []
                    last = {"plot": ["/nonexistent"], "linux": ["--kernel", "/nonexistent", "--", "true"]}.get(verb, [])
                    outcome = tool.run(*verb.split(), *words, name, choice, *last)
                    seen += 1
                    with self.subTest(verb=verb, option=name, choice=choice):
                        self.assertRegex(outcome.err, "no program to|cannot open|/nonexistent|not modelled at --detail|no event needs the model|exclude each other|"
                                                      "no PMU of this machine has such events|in virtual time only")
        self.assertGreater(seen, 30)

    def test_every_field_of_a_page_is_accepted(self):
        page = tool.run("script", "--help").out
        fields = re.search(r"^Fields: ((?:.+\n)+?)\nExit", page, re.MULTILINE).group(1).split()
        self.assertGreater(len(fields), 15)
        for field in fields:
            outcome = tool.run("script", "-i", "/nonexistent", "-F", field)
            with self.subTest(field=field):
                self.assertIn("/nonexistent: cannot open", outcome.err)

    def test_every_listed_event_metric_and_model_is_accepted(self):
        models = tool.run("list", "models", "--names").out.split()
        self.assertGreater(len(models), 10)
        for model in models:
            events = tool.run("list", "--names", "--model", model).out.split()
            self.assertIn("instructions", events)
            for event in events:
                traced = event in ("intel_bts//", "ibs_op//", "ibs_fetch//")  # counts nothing
                outcome = tool.run("record" if traced else "stat", "--model", model, "-e", event)
                with self.subTest(model=model, event=event):
                    self.assertIn("no program to record" if traced else "no program to count", outcome.err)
        metrics = tool.run("list", "metrics", "--names").out.split()
        self.assertGreater(len(metrics), 10)
        self.assertIn("no program to count", tool.run("stat", "-M", ",".join(metrics)).err)

    def test_a_misspelt_option_is_answered_by_those_it_may_be(self):
        outcome = tool.run("report", "--sotr", "sym")
        self.assertEqual((outcome.status, outcome.err),
                         (129, "zeroskid report: there is no option --sotr\n"
                               "hint: nearest: --sort; zeroskid report --help lists the options\n"))
        self.assertIn("nearest: --percent-limit", tool.run("report", "--percent").err)
        self.assertIn("perf's --hierarchy is no option here", tool.run("report", "--hierarchy").err)

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
