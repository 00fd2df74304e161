"""tools/file_length finds the file that is too long, and takes every file of this tree, its tables by name."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*words):
    return subprocess.run([sys.executable, "-B", ROOT / "tools" / "file_length", *words], capture_output=True, text=True,
                          check=False)


class FileLength(unittest.TestCase):
    def of_lines(self, count):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.cc")
            path.write_text("int x;\n" * count, encoding="utf-8")
            return run(path)

    def test_600_lines_are_taken_and_601_are_not(self):
        self.assertEqual(self.of_lines(600).returncode, 0)
        long = self.of_lines(601)
        self.assertEqual(long.returncode, 1)
        self.assertIn("a.cc: 601 lines; at most 600", long.stdout)

    def test_a_table_is_taken_by_its_name(self):
        self.assertEqual(run(ROOT / "src/arch/events/intel.cc").returncode, 0)

    def test_every_file_of_the_tree_keeps_to_it(self):
        if not (ROOT / ".git").exists():
            self.skipTest("no git here: which files are ours is not known")
        tree = run()
        self.assertEqual(tree.returncode, 0, tree.stdout + tree.stderr)


if __name__ == "__main__":
    unittest.main()
