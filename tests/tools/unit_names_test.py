"""tools/unit_names finds what g++ does not say: a name that means another thing because an earlier file of the unit has it."""
import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EARLIER = "namespace zs {\nnamespace {\nconstexpr int kFault = 128;\nenum Port { kData = 0x60 };\n}\n}\n"


@unittest.skipUnless(shutil.which("ctags"), "ctags is not installed")
class UnitNames(unittest.TestCase):
    def names(self, later):
        """Exit status and output for a unit of EARLIER and `later`."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in (("src/base/first.cc", EARLIER), ("src/base/second.cc", later),
                               ("build/units/zs_base/base_0.cc", '#include "base/first.cc"\n#include "base/second.cc"\n')):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            (root / "tools").mkdir()
            (root / "build/compile_commands.json").write_text(
                json.dumps([{"file": str(root / "build/units/zs_base/base_0.cc")}]))
            shutil.copy(ROOT / "tools/unit_names", root / "tools")
            done = subprocess.run([root / "tools/unit_names", root / "build"], capture_output=True, text=True)
            return done.returncode, done.stdout + done.stderr

    def test_a_name_of_a_header_that_an_earlier_file_hides_is_told(self):
        for name in ("kFault", "kData"):
            status, output = self.names(f"namespace zs {{\nint vector() {{ return {name}; }}\n}}\n")
            self.assertEqual(status, 1, output)
            self.assertIn(f"src/base/second.cc: uses {name}, which the unnamed namespace of src/base/first.cc has, too", output)

    def test_what_is_declared_or_meant_otherwise_passes(self):
        for use in ("int vector() { int kFault = 12; return kFault; }", "int vector(Faults f) { return f.kFault + Faults::kData; }",
                    "// kFault\nconst char* text() { return \"kData\"; }"):
            status, output = self.names(f"namespace zs {{\n{use}\n}}\n")
            self.assertEqual(status, 0, output)

    def test_without_a_build_it_says_so(self):
        done = subprocess.run([ROOT / "tools/unit_names", "/nonexistent"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nonexistent/compile_commands.json: No such file or directory", done.stderr)


if __name__ == "__main__":
    unittest.main()
