"""The recipes of docs/how-to/ci-recipes.md, from their files on: with --update, as they stand, and with a slower program.
recipes_test.py ZEROSKID        what is not installed is left out; Catch2 and criterion, which take minutes to compile, without
                                SLOW=1 in the environment"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/how-to/ci-recipes.md"
ZEROSKID = "zeroskid"
WITHIN, WORSE, INCOMPARABLE = 0, 1, 4
RUST = pathlib.Path("/usr/share/cargo/registry")


def recipe(name):
    """A chapter of the page: the files that it shows by name, and the blocks for the shell."""
    (text,) = re.findall(rf"^## {re.escape(name)}\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S)
    files = dict(re.findall(r"^`([^`\n]+)`:\n\n```\S+\n(.*?)^```$", text, re.M | re.S))
    return files, re.findall(r"^```(?:sh|groovy)\n(.*?)^```$", text, re.M | re.S)


class Recipes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        binaries = self.folder / "bin"
        binaries.mkdir()
        (binaries / "zeroskid").symlink_to(ZEROSKID)
        self.environment = {"PATH": f"{binaries}:/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": str(self.folder), "LANG": "C",
                            "CPATH": str(ROOT / "include"), "zeroskid_DIR": str(ROOT / "cmake")}
        self.work = self.folder / "work"
        self.work.mkdir()

    def needs(self, *paths):
        missing = [str(path) for path in paths if not (shutil.which(path) if "/" not in str(path) else pathlib.Path(path).exists())]
        if missing:
            self.skipTest(f"left out: no {', '.join(missing)}")

    def is_slow(self):
        if "SLOW" not in os.environ:
            self.skipTest("left out: SLOW=1 in the environment")

    def write(self, files):
        for name, text in files.items():
            (self.work / name).parent.mkdir(parents=True, exist_ok=True)
            (self.work / name).write_text(text)

    def shell(self, script, status=0):
        done = subprocess.run(["bash", "-euc", script], cwd=self.work, env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", check=False, timeout=1200)
        self.assertEqual(done.returncode, status, f"{script}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def edit(self, name, before, after):
        text = (self.work / name).read_text()
        self.assertEqual(text.count(before), 1, name)
        (self.work / name).write_text(text.replace(before, after))

    def count_thrice(self, chapter, edit, slower, others=()):
        """slower: the region that the edit makes so. others: those that it leaves as they are"""
        files, (script,) = recipe(chapter)
        self.write(files)
        self.shell(re.sub(r"^zeroskid check ", "zeroskid check --update ", script, flags=re.M))
        self.assertIn(": within\n", self.shell(script))
        self.edit(*edit)
        said = self.shell(script, WORSE)
        rows = dict(re.findall(r"^ region (\S+)\n instructions .* (\w+)$", said, re.M))
        self.assertEqual(rows, {slower: "worse", **{name: "within" for name in others}}, said)

    def test_google_benchmark(self):
        self.needs("/usr/include/benchmark/benchmark.h")
        self.count_thrice("Google Benchmark", ("bench.cc", "i < 2000", "i < 2100"), "BM_sum", ["BM_sort"])

    def test_catch2(self):
        self.needs("/usr/include/catch2/catch.hpp")
        self.is_slow()
        self.count_thrice("Catch2", ("tests.cc", "std::sort(all.begin(), all.end());",
                                     "std::sort(all.begin(), all.end()); std::sort(all.begin(), all.end());"), "sort")

    def test_criterion(self):
        """With Debian's crates instead of those of crates.io."""
        self.needs("/usr/bin/cargo", RUST / "criterion-0.3.6")
        self.is_slow()
        self.write({".cargo/config.toml": f'source.crates-io.replace-with = "debian"\nsource.debian.directory = "{RUST}"\n'})
        self.environment |= {"CARGO_NET_OFFLINE": "true", "PATH": f"{self.folder}/bin:/usr/bin:/bin"}
        self.count_thrice("criterion, cargo", ("benches/words.rs", "repeat(100)", "repeat(110)"), "words::count")

    def test_pytest(self):
        self.needs("/usr/lib/python3/dist-packages/pytest")
        self.count_thrice("pytest", ("test_words.py", '"1 2 3 " * 1000)) == 6000', '"1 2 3 " * 1100)) == 6600'), "test_numbers",
                          ["test_sorted"])

    def test_go(self):
        self.needs("go")
        self.count_thrice("Go", ("words_test.go", "dog \", 100", "dog \", 110"), "words.BenchmarkCount")

    def test_cmake(self):
        self.needs("cmake")
        files, (script,) = recipe("CMake, CTest")
        self.write(files)
        self.shell(script)
        self.assertTrue((self.work / "words.baseline.json").exists())
        again = "\n".join(line for line in script.splitlines() if "baseline" not in line)
        self.shell(again.replace("build", "other-folder").replace("--other-folder", "--build"))
        self.edit("words.c", "i < n", "i < n + n / 10")
        said = self.shell(again, 8)
        self.assertIn("region count", said)
        self.assertRegex(said, r"check\.words .*\*\*\*Failed")
        (self.work / "words.baseline.json").unlink()
        self.assertIn("words.baseline.json: cannot open", self.shell(again, 8))
        self.edit("CMakeLists.txt", "BUDGET instructions=1% ", "")
        self.assertIn("needs BUDGET", self.shell("cmake -B build", 1))

    def program(self, steps):
        self.write({"program.c": f"int main(void) {{ for (volatile int i = 0; i < {steps}; i++); }}\n",
                    "Makefile": "program: program.c\n\tgcc -O1 -g -o program program.c\n"})
        self.shell("make -s program")

    def test_jenkins(self):
        _, (script,) = recipe("Jenkins")
        (command,) = re.findall(r"\bsh '(.*?)' }", script)
        self.program(5000)
        self.shell("mkdir perf; " + command.replace("check ", "check --update ", 1))
        self.shell(command)
        self.program(9000)
        self.shell(command, WORSE)
        self.assertIn('failures="1"', (self.work / "check.xml").read_text())

    def test_a_push_that_is_slower_is_refused(self):
        self.needs("git")
        _, (hook,) = recipe("A hook before a push")
        self.environment |= {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        self.program(5000)
        self.shell("mkdir perf; git init -q .; git init -q --bare ../there; zeroskid check --update --baseline perf/baseline.json "
                   "--budget instructions=1% -- ./program input")
        self.write({".git/hooks/pre-push": hook})
        self.shell("chmod +x .git/hooks/pre-push; git add program.c Makefile perf; git commit -q -m first; git push -q ../there HEAD:main")
        self.program(9000)
        self.assertIn(": worse\n", self.shell("git commit -q -a -m slower; git push -q ../there HEAD:main", 1))
        self.assertEqual(self.shell("git -C ../there log --format=%s main"), "first\n")


if __name__ == "__main__":
    ZEROSKID = os.path.abspath(sys.argv.pop(1))
    unittest.main()
