"""Pages of the examples: their commands run, from the compiler on, and the sources say the same one.   examples_test.py ZEROSKID"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ZEROSKID = "zeroskid"


class Examples(unittest.TestCase):
    def test_every_page_s_commands_run(self):
        pages = sorted(ROOT.glob("examples/*/README.md"))
        self.assertGreater(len(pages), 5)
        for page in pages:
            blocks = re.findall(r"^```sh\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
            with self.subTest(page=page.parent.name), tempfile.TemporaryDirectory() as folder:
                os.symlink(ROOT / "examples", os.path.join(folder, "examples"))
                self.assertTrue(blocks)
                done = subprocess.run(["bash", "-euc", "\n".join(blocks)], cwd=folder, capture_output=True, text=True, timeout=600,
                                      env={**os.environ, "PATH": f"{os.path.dirname(ZEROSKID)}:{os.environ['PATH']}"})
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_page_source_and_tests_compile_alike(self):
        """What the pages say is tested (memory) with the flags of tests/memory/CMakeLists.txt; by `types` as they stand there."""
        tested = (ROOT / "tests/memory/CMakeLists.txt").read_text()
        self.assertIn("PRIVATE -O1 -g ", tested)
        for page in ROOT.glob("examples/*/README.md"):
            name = page.parent.name
            (line,) = re.findall(r"^(cc .*)$", page.read_text(), re.MULTILINE)
            level = 2 if "the test `types` runs" in page.read_text() else 1
            program = re.fullmatch(rf"cc -O{level} -g (?:-pthread )?-o (\w+) examples/{name}/\1\.c", line)
            self.assertTrue(program, line)
            self.assertIn(line, (page.parent / f"{program[1]}.c").read_text())


if __name__ == "__main__":
    ZEROSKID = os.path.abspath(sys.argv.pop(1))
    unittest.main()
