"""Every option of perf 6.1, typed: none is unknown, and docs/perf-options.md says what becomes of it.

  perf_options_test.py ZEROSKID [--update]     --update writes the page anew
"""
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import tool

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/perf-options.md"
#: What becomes of an option: the title in the list, the word in the page.
SAME, NO_MATTER, OTHERWISE, REFUSED = "same", "no matter", "otherwise", "refused"
TITLES = {"As in perf": SAME, "Taken, and without effect, because it cannot matter here": NO_MATTER,
          "Taken, and otherwise": OTHERWISE, "Refused, and what there is instead": REFUSED}
#: Our verbs that perf has, each with the list of perf's that has its options.
VERBS = {"record": "record", "stat": "stat", "report": "report", "script": "script", "annotate": "annotate",
         "mem record": "mem", "mem report": "mem", "c2c record": "c2c", "c2c report": "c2c report", "trace": "trace", "list": "list"}
READERS = ("report", "script", "annotate", "mem report", "c2c report")


def options(verb):
    """Rows (names, value, what becomes of it, text) of zeroskid VERB --help --perf."""
    rows, standing = [], None
    for line in tool.run(*verb.split(), "--help", "--perf").out.splitlines():
        if line.endswith(":") and line[:-1] in TITLES:
            standing = TITLES[line[:-1]]
        elif row := re.match(r"  (-[^ ]+)(?: (\S+))?(?:  +(.*))?$", line):
            rows.append((row[1].split(","), row[2] or "", standing, row[3] or ""))
    return rows


def options_of_perf(verb):
    said = subprocess.run(["perf", *verb.split(), "-h"], capture_output=True, text=True, check=False)
    return [set(re.findall(r"(?<![\w-])--?[\w-]+", names)) for names in
            re.findall(r"^    ((?:-\w, |    )--[\w-]+|-\w)\b", said.stdout + said.stderr, re.MULTILINE)]


def page():
    text = """# perf's options

What becomes of each option of perf 6.1's verbs, by `zeroskid VERB --help --perf`, which this page is made of. *same*:
it does what perf's does. *no matter*: it is taken, and cannot matter here. *otherwise*: it is taken, and said once on
stderr where an option of ours does not say it in its own help. *refused*: with a reason, or what there is instead.
"""
    for verb in VERBS:
        rows = options(verb)
        counts = ", ".join(f"{sum(row[2] == one for row in rows)} {one}" for one in TITLES.values())
        text += f"\n## {verb}\n\n{counts}\n\n| option | here | |\n|---|---|---|\n"
        for names, value, standing, said in rows:
            said = said.replace("|", "\\|").replace("<", "&lt;")
            text += f"| `{', '.join(names)}{' ' + value if value else ''}` | {standing} | {said} |\n"
    return text


def typed(verb, *words):
    where = ["-i", "/nonexistent"] if verb in READERS else []
    return tool.run(*verb.split(), *where, *words)


class PerfOptions(unittest.TestCase):
    maxDiff = None

    def test_the_page_is_made_of_the_lists(self):
        self.assertEqual(PAGE.read_text(), page(), f"if this is meant: {sys.argv[0]} ZEROSKID --update")

    def test_no_option_of_perf_is_missing(self):
        if shutil.which("perf") is None:
            self.skipTest("perf is not installed")
        for verb, of_perf in VERBS.items():
            known = {name for names, *_ in options(verb) for name in names}
            listed = options_of_perf(of_perf)
            self.assertGreater(len(listed), 0, of_perf)
            for names in listed:
                with self.subTest(verb=verb, names=names):
                    self.assertLessEqual(names, known)

    def test_no_option_of_perf_is_unknown(self):
        for verb in VERBS:
            plain = typed(verb).err
            watches = [] if verb in READERS or verb in ("list", "trace") else ["-o", "/nonexistent/perf.data"]
            for names, value, standing, text in options(verb):
                if names[0] in ("-p", "-t", "-a", "-C", "--per-thread") and standing == SAME:
                    continue  # cli.perf_events has them
                for name in names:
                    words = [name] if not value or value.startswith("[=") else [name, "1"]
                    outcome = typed(verb, *watches, *words)
                    with self.subTest(verb=verb, option=name, standing=standing):
                        self.assertNotIn("no option -", outcome.err)
                        self.assertNotIn("not expected", outcome.err)
                        self.assertNotIn("needs a value", outcome.err)
                        ours = re.search(rf"^  (?:-\S+,)?{re.escape(name)}[ ,\n]", tool.run(*verb.split(), "--help").out, re.MULTILINE)
                        if standing == REFUSED and not ours:
                            self.assertEqual((outcome.status, outcome.err.partition("\n")[2]), (129, f"hint: {text}\n"))
                        if standing == NO_MATTER and not watches and not ours:
                            self.assertEqual(outcome.err, plain)
                        if standing == OTHERWISE and not ours:
                            self.assertIn(f"zeroskid: {','.join(names)}: {text}\n", outcome.err)

    def test_long_names_can_be_begun_and_flags_denied(self):
        self.assertIn("/nonexistent: cannot open", typed("report", "--show-nr", "--no-child", "--no-show-total-period").err)
        self.assertIn("nearest: --percent-limit, --percent-type, --percentage", typed("report", "--percent").err)
        self.assertEqual(typed("script", "--no-inline").err, typed("script", "--no-inl").err)

    def test_a_note_is_said_unless_quiet_is_asked_for(self):
        said = "--kcore: the kernel's code is not kept"
        self.assertEqual(tool.run("record", "--kcore").err.count(said), 1)
        self.assertNotIn(said, tool.run("record", "-q", "--kcore").err)

    def test_a_list_of_processors_is_perfs_cpu(self):
        for verb in ("record", "stat"):
            for numbers in ("0", "0,1", "0-1"):
                said = tool.run(verb, "--cpu", numbers, "--pmu", "sw", "true").err
                self.assertIn("-C watches whole CPUs", said, verb)

    def test_stat_record_is_no_program(self):
        for word in ("record", "report"):
            outcome = tool.run("stat", word, "-e", "cycles", "true")
            self.assertEqual((outcome.status, outcome.err.splitlines()[0]),
                             (129, f"zeroskid: perf's stat {word} is no verb here"))

    def test_verbs_of_perf_are_told_where_they_live(self):
        verbs = re.findall(r"^   (\w[\w-]+) ", subprocess.run(["perf", "-h"], capture_output=True, text=True).stdout,
                           re.MULTILINE) if shutil.which("perf") else ["top", "diff", "sched"]
        ours = tool.run("--help").out
        for verb in verbs:
            outcome = tool.run(verb)
            with self.subTest(verb=verb):
                if f"\n  {verb} " not in ours:
                    self.assertEqual(outcome.status, 129)
                    self.assertRegex(outcome.err, f"perf's {verb} is no verb here\nhint: [\\w/]")

    def test_a_misspelt_verb_is_answered_by_the_nearest(self):
        for misspelt, meant in (("recrod", "record"), ("reprot", "report"), ("scirpt", "script"), ("stta", "stat")):
            self.assertEqual(tool.run(misspelt).err, f"zeroskid: there is no verb {misspelt}\nhint: {meant}?\n")
        self.assertIn("verbs: stat", tool.run("something").err)


if __name__ == "__main__":
    if sys.argv[2:] == ["--update"]:
        tool.ZEROSKID = sys.argv[1]
        PAGE.write_text(page())
    else:
        tool.main()
