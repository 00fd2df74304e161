"""make install puts every file where people and zeroskid itself look for it.   install_test.py CMAKE BUILD"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CMAKE, BUILD = "cmake", "build"


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        environment = {**os.environ, "DESTDIR": cls.folder.name}
        subprocess.run([CMAKE, "--install", BUILD, "--prefix", "/opt/zs"], env=environment, check=True,
                       stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_nothing_lands_outside_destdir_and_prefix(self):
        self.assertEqual([p.name for p in self.root.iterdir()], ["opt"])
        self.assertEqual([p.name for p in (self.root / "opt").iterdir()], ["zs"])

    def test_the_programs_stand_where_they_find_each_other(self):
        for name in ("bin/zeroskid", "libexec/zeroskid/zeroskid-run"):
            self.assertTrue(os.access(self.root / "opt/zs" / name, os.X_OK), name)

    def test_zs_is_zeroskid(self):
        self.assertEqual(os.readlink(self.root / "opt/zs/bin/zs"), "zeroskid")

    def test_the_installed_zeroskid_counts_a_program(self):
        result = subprocess.run([self.root / "opt/zs/bin/zs", "stat", "-e", "instructions", "--", "/bin/true"],
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_find_package_finds_it_with_the_program(self):
        source = self.root / "project"
        source.mkdir()
        (source / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.16)\nproject(words NONE)\nfind_package(zeroskid REQUIRED)\n"
                                               "if(NOT COMMAND zeroskid_check)\n  message(FATAL_ERROR none)\nendif()\nmessage(\"it is ${ZEROSKID}\")\n")
        done = subprocess.run([CMAKE, "-S", source, "-B", source / "build", f"-DCMAKE_PREFIX_PATH={self.root}/opt/zs"], check=False,
                              env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
        shutil.rmtree(source)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"it is {self.root}/opt/zs/", done.stderr)

    def test_man_pages_and_completions_are_where_their_readers_look(self):
        share = self.root / "opt/zs/share"
        for name in ("man/man1/zeroskid.1.gz", "man/man1/zeroskid-mem-record.1.gz", "bash-completion/completions/zeroskid",
                     "bash-completion/completions/zs", "zsh/vendor-completions/_zeroskid",
                     "fish/vendor_completions.d/zeroskid.fish"):
            self.assertTrue((share / name).is_file(), name)

    def test_the_pages_are_installed(self):
        docs = self.root / "opt/zs/share/doc/zeroskid"
        for name in ("README.md", "CHANGELOG.md", "LICENSE", "copyright", "architecture.md", "accuracy.md", "glossary.md"):
            self.assertTrue((docs / name).is_file(), name)


if __name__ == "__main__":
    CMAKE, BUILD = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
