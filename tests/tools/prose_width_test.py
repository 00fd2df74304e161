"""tools/prose_width makes lines narrow, keeps the words and their order, and leaves alone what a person laid out."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "prose_width"
LONG = " ".join(f"word{i}" for i in range(30))


def run(*words):
    return subprocess.run([sys.executable, "-B", TOOL, *words], capture_output=True, text=True, check=False)


def rewritten(name, text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, name)
        path.write_text(text, encoding="utf-8")
        assert run("--check", path).returncode == 1
        assert run(path).returncode == 0
        return path.read_text(encoding="utf-8")


class ProseWidth(unittest.TestCase):
    def narrow(self, before, after):
        self.assertLessEqual(max(map(len, after.split("\n"))), 120)
        self.assertEqual([word for word in after.split() if word not in ("//", "///")],
                         [word for word in before.split() if word not in ("//", "///")])

    def test_a_comment_goes_on_in_its_next_line(self):
        before = f"  // {LONG}\n  // goes on here.\nint x;\n"
        after = rewritten("a.cc", before)
        self.narrow(before, after)
        self.assertEqual(len(after.split("\n")), len(before.split("\n")))

    def test_a_new_sentence_stays_where_it_is(self):
        after = rewritten("a.cc", f"/// {LONG}.\n/// returns nothing\n/// Another.\n")
        self.assertIn("/// Another.\n", after)

    def test_what_a_term_means_goes_on_below_its_meaning(self):
        after = rewritten("a.cc", f"/// term  {LONG}\n")
        self.assertTrue(after.split("\n")[1].startswith("///       word"), after)

    def test_lists_go_on_below_their_text(self):
        before = f"- {LONG}\n- next\n"
        after = rewritten("a.md", before)
        self.narrow(before, after)
        self.assertTrue(after.split("\n")[1].startswith("  word"), after)
        self.assertIn("\n- next\n", after)

    def test_code_tables_and_headings_are_left_alone(self):
        self.check_unchanged("a.md", f"# {LONG}\n\n| {LONG} |\n\n```\n{LONG}\n```\n")
        self.check_unchanged("a.cc", f"// clang-format off\n// {LONG}\n// clang-format on\nint x;  // {LONG}\n")

    def check_unchanged(self, name, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, name)
            path.write_text(text, encoding="utf-8")
            self.assertEqual(run("--check", path).returncode, 0)
            self.assertEqual(run(path).returncode, 0)
            self.assertEqual(path.read_text(encoding="utf-8"), text)


if __name__ == "__main__":
    unittest.main()
