"""tools/tidy looks at each file of a unit alone, so that it finds an #include that its neighbours make up for."""
import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@unittest.skipUnless(shutil.which("clang-tidy-14") or shutil.which("clang-tidy"), "clang-tidy is not installed")
class Units(unittest.TestCase):
    def tidy(self, second, *options):
        """Exit status and output for a unit of two files, of which the first includes <map>."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in ("tools/tidy", ".clang-tidy"):
                (root / name).parent.mkdir(exist_ok=True)
                shutil.copy(ROOT / name, root / name)
            (root / "src/base").mkdir(parents=True)
            (root / "src/base/first.cc").write_text("#include <map>\n\nstd::map<int, int> first();\n")
            (root / "src/base/second.cc").write_text(second)
            unit = root / "build/units/zs_base/src_base_0.cc"
            unit.parent.mkdir(parents=True)
            unit.write_text('#include "base/first.cc"\n#include "base/second.cc"\n')
            command = f"c++ -std=c++20 -I{root}/src -o src_base_0.o -c {unit}"
            (root / "build/compile_commands.json").write_text(json.dumps(
                [{"directory": str(root / "build"), "command": command, "file": str(unit)}]))
            done = subprocess.run([root / "tools/tidy", "-p", root / "build", "-j", "1", *options], capture_output=True, text=True)
            return done.returncode, done.stdout + done.stderr

    def test_files_that_include_what_they_use_pass(self):
        status, output = self.tidy("#include <map>\n\nstd::map<int, int> second();\n")
        self.assertEqual(status, 0, output)
        self.assertIn("2 files", output)

    def test_a_file_that_lacks_an_include_fails_though_the_unit_compiles(self):
        status, output = self.tidy("std::map<int, int> second();\n")
        self.assertEqual(status, 1, output)
        self.assertIn("src/base/second.cc:1:", output)

    def test_files_that_are_looked_at_together_have_their_findings_told(self):
        self.assertEqual(self.tidy("#include <map>\n\nstd::map<int, int> second();\n", "--units")[0], 0)
        status, output = self.tidy("int BadName(int given) { return given; }\n", "--units")
        self.assertEqual(status, 1, output)
        self.assertIn("src/base/second.cc:1:", output)


if __name__ == "__main__":
    unittest.main()
