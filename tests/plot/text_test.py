"""zeroskid plot in a terminal, word for word.   text_test.py ZEROSKID THREE_PHASES [--update]

After a change that is meant, --update writes the golden plots anew: the change then shows in the diff.
"""
import os
import pathlib
import sys
import tempfile
import unittest

import plotting
from plotting import TABLE, run
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import terminal

GOLDEN = plotting.HERE / "golden"
PLOTS = {
    "utf8_80": (["--width", "80"], {}),
    "utf8_200": (["--width", "200"], {}),
    "ascii_80": (["--width", "80", "--ascii"], {}),
    "ascii_200": (["--width", "200", "--ascii"], {}),
    "phases_and_colour": (["--phases", "--color", "always", "--height", "2"], {"COLUMNS": "100"}),
    "helper_thread": (["--thread", "1001"], {"LC_ALL": "C"}),
}


class Plot(unittest.TestCase):
    maxDiff = None

    def test_plots_are_the_golden_ones(self):
        for name, (words, environment) in PLOTS.items():
            with self.subTest(plot=name):
                done = run("plot", TABLE, *words, environment=environment)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(done.stdout, (GOLDEN / f"{name}.txt").read_text(), "if this is meant: --update")

    def test_no_golden_plot_is_left_over(self):
        self.assertEqual({path.stem for path in GOLDEN.iterdir()}, set(PLOTS))

    def test_ascii_plots_are_ascii_and_no_plot_passes_its_width(self):
        for name in PLOTS:
            text = (GOLDEN / f"{name}.txt").read_text()
            if name.startswith("ascii") or name == "helper_thread":
                self.assertTrue(text.isascii(), name)
        for name, width in (("utf8_80", 80), ("utf8_200", 200), ("ascii_80", 80), ("ascii_200", 200)):
            _, drawn = (GOLDEN / f"{name}.txt").read_text().split("\n\n", 1)  # what stands before is sentences
            self.assertEqual(max(map(len, drawn.splitlines())), width, name)

    def test_options_and_the_file_come_in_any_order(self):
        for words in (["--ascii", TABLE, "--width", "60"], [TABLE, "--width", "60", "--ascii"]):
            done = run("plot", *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("phases [", done.stdout)

    def test_a_table_comes_from_standard_input_too(self):
        self.assertEqual(run("plot", "-", text=TABLE.read_text()).stdout, run("plot", TABLE).stdout)

    def test_width_follows_columns_and_the_terminal(self):
        def width(text):
            return max(len(line) for line in text.splitlines() if line.startswith(" " * 10 + "└"))
        self.assertEqual(width(run("plot", TABLE).stdout), 80)
        self.assertEqual(width(run("plot", TABLE, environment={"COLUMNS": "123"}).stdout), 123)
        self.assertEqual(width(run("plot", TABLE, environment={"COLUMNS": "5"}).stdout), 40)
        self.assertEqual(width(self.in_a_terminal(columns=97)), 97)

    @staticmethod
    def in_a_terminal(columns):
        words = [plotting.ZEROSKID, "plot", TABLE, "--color", "never"]
        return terminal.run(words, plotting.ENVIRONMENT, columns, stderr=False)[1].replace("\r\n", "\n")

    def test_files_are_written_instead_and_the_same_every_time(self):
        with tempfile.TemporaryDirectory() as folder:
            written = []
            for turn in ("a", "b"):
                paths = [pathlib.Path(folder) / f"{turn}.{kind}" for kind in ("html", "svg", "csv")]
                done = run("plot", TABLE, "--html", paths[0], "--svg", paths[1], "--csv", paths[2])
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
                written.append([path.read_bytes() for path in paths])
        self.assertEqual(written[0], written[1])

    def test_mistakes_are_told(self):
        for words, status, message in (
                ([], 129, "zeroskid: no table of windows to plot\n"),
                ([TABLE, "other.csv"], 129, "zeroskid: plot: one table at a time, not also 'other.csv'\n"),
                ([TABLE, "--sgv", "a"], 129, "zeroskid plot: there is no option --sgv\n"),
                ([TABLE, "--width", "39"], 129, "zeroskid: --width 39: from 40 to 10000 columns\n"),
                ([TABLE, "--height", "101"], 129, "zeroskid: --height 101: 100 lines at most\n"),
                ([TABLE, "--color", "red"], 129, "zeroskid: --color red: no such choice\n"),
                ([TABLE, "--thread", "7"], 125, f"zeroskid: {TABLE}: no window is of thread 7\n"),
                (["/nowhere.csv"], 125, "zeroskid: /nowhere.csv: cannot open: No such file or directory\n"),
                ([TABLE, "--svg", "/nowhere/a.svg"], 125,
                 "zeroskid: /nowhere/a.svg: cannot write: No such file or directory\n"),
                ([plotting.HERE / "CMakeLists.txt"], 125,
                 f"zeroskid: {plotting.HERE}/CMakeLists.txt:3:1: 'add_custom_command(OUTPUT ${{three_phases}}' is no number "
                 "from 0 up\nhint: plot reads tables of zeroskid stat -I")):
            with self.subTest(words=words):
                done = run("plot", *words)
                self.assertEqual((done.returncode, done.stdout), (status, ""))
                self.assertTrue(done.stderr.startswith(message), done.stderr)

    def test_tables_of_others_are_drawn(self):
        for text, words in (
                ("ins,l_cycle,ref_cycle,event1,event2,event3,event4\r\n" + "50000,45000,45000,5000,3,0,0\r\n" * 6,
                 ["IPC (instructions per cycle)", "event1 per 1000 instructions", "instructions of the thread"]),
                ("".join(f"{n}.1,{n % 3},msec,task-clock,1,100.00,,\n{n}.1,7,,page-faults,1,100.00,,\n" for n in range(1, 9)),
                 ["task-clock (msec) per second", "page-faults per second", "time since the beginning"]),
                ("misses;hits\n5;1\n7;2\n", ["misses per row", "rows of the table"]),
                ("time,ins,cyc\n1,100,200\n2,150,300\n", ["cyc per 1000 instructions"])):
            done = run("plot", "-", "--phases", text=text)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for word in words:
                self.assertIn(word, done.stdout)
            for line in done.stdout.splitlines():
                self.assertLessEqual(len(line), 80)
        done = run("plot", "-", "--html", "/dev/null", text="a,b\n1,2\n")
        self.assertEqual(done.returncode, 129)
        self.assertIn("--html draws over instructions", done.stderr)

    def test_metrics_are_drawn_if_the_table_counts_what_they_need(self):
        done = run("plot", TABLE, "--ascii", "-M", "IpBranch,CPI")
        heads = [line.split("  ")[0] for line in done.stdout.splitlines() if "; mean " in line]
        self.assertEqual(heads[:4], ["IPC (instructions per cycle)", "IpBranch (instructions)", "CPI (cycles per instruction)",
                                     "branches per 1000 instructions"])
        done = run("plot", TABLE, "-M", "L1MPKI")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (129, "", (
            f"zeroskid: {TABLE}: -M L1MPKI: the table does not count mem_load_retired.l1_miss\n"
            "hint: zeroskid stat -I 50000i --format csv -M L1MPKI counts all that it needs\n")))
        self.assertIn("-M nonsense: no such metric", run("plot", TABLE, "-M", "nonsense").stderr)

    def test_what_the_hint_says_makes_a_table_that_can_be_plotted(self):
        hint = run("plot").stderr.splitlines()[1]
        self.assertTrue(hint.startswith("hint: zeroskid stat "), hint)
        with tempfile.TemporaryDirectory() as folder:
            places = {"FILE": os.path.join(folder, "windows"), "PROGRAM": plotting.THREE_PHASES}
            for command in hint.removeprefix("hint: ").replace(" makes one", "").replace(" shows it", "").split("; "):
                done = run(*(places.get(word, word) for word in command.split()[1:]))
                self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("phases ", done.stdout)

    def test_a_table_of_an_unknown_model_has_its_rates_all_the_same(self):
        text = TABLE.read_text().replace("skylake-server@1", "other-cpu@7")
        self.assertIn("IPC (instructions per cycle)", run("plot", "-", text=text).stdout)

    def test_a_program_of_three_phases_has_three(self):
        with tempfile.TemporaryDirectory() as folder:
            table = plotting.count_three_phases(folder)
            done = run("plot", table, "--phases", "--csv", os.devnull)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^ +whole +phase 1 +phase 2 +phase 3\n")
        rates = {line.split()[0]: [float(word) for word in line.split()[2:]] for line in done.stdout.splitlines()
                 if line.startswith("  ") and not line.endswith("phase 3")}
        self.assertRegex(done.stdout, r"\nIPC \(instructions per cycle\) ")
        loads, branches = rates["mem_inst_retired.all_loads"], rates["branches"]
        self.assertEqual(max(loads), loads[1])         # the walk through memory is the second
        self.assertEqual(max(branches), branches[2])   # the decisions are the third
        self.assertLess(loads[0], 0.02 * loads[1])


def update():
    for name, (words, environment) in PLOTS.items():
        (GOLDEN / f"{name}.txt").write_text(run("plot", TABLE, *words, environment=environment).stdout)


if __name__ == "__main__":
    if sys.argv[3:] == ["--update"]:
        plotting.ZEROSKID = sys.argv[1]
        update()
    else:
        plotting.main()
