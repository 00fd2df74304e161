"""make deb and make tarball: what they hold, and that it runs.   package_test.py BUILD [CLASS...]"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = "build"


def output(*words, **options):
    return subprocess.run([*map(str, words)], capture_output=True, text=True, check=True, **options).stdout


def package(kind):
    return pathlib.Path(output(ROOT / "tools/package", kind, BUILD, cwd=ROOT).splitlines()[-1])


def needs(*programs):
    for name in programs:
        if shutil.which(name) is None:
            raise unittest.SkipTest(f"{name} is not installed")


def works(case, program):
    """That program, for a user who has nothing set."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/"}
    case.assertRegex(output(program, "--version", env=environment), r"\Azeroskid \d+\.\d+\.\d+")
    counted = subprocess.run([program, "stat", "-x,", "-e", "instructions", "--", "/bin/true"], capture_output=True, text=True,
                             env=environment)
    case.assertEqual(counted.returncode, 0, counted.stderr)
    case.assertGreater(int(counted.stderr.split(",")[0]), 1000)
    case.assertIn("instructions", output(program, "list", "--names", env=environment))


class Deb(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        needs("dpkg-deb", "dpkg-shlibdeps", "cpack")
        cls.deb = ROOT / package("deb")

    def test_depends_on_the_libraries_it_is_linked_with(self):
        depends = output("dpkg-deb", "-f", self.deb, "Depends")
        self.assertRegex(depends, r"\Alibc6 \(>= [\d.]+\)\n\Z")
        for program in ("zeroskid", "zeroskid-run"):
            needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", f"{BUILD}/{program}"))
            self.assertLessEqual(set(needed), {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"})  # all of libc6

    def test_no_script_of_it_runs_and_nothing_is_triggered(self):
        files = output("sh", "-c", 'dpkg-deb --ctrl-tarfile "$1" | tar -t', "sh", self.deb).split()
        self.assertEqual({name.removeprefix("./") for name in files} - {""}, {"control", "md5sums"})

    def test_everything_is_root_s_and_below_usr(self):
        for line in output("dpkg-deb", "-c", self.deb).splitlines():
            self.assertIn("root/root", line)
            self.assertRegex(line, r" \./usr/")
            self.assertNotRegex(line, r"^-.......w|^-....w")

    def test_manual_pages_are_packed_and_the_copyright_is_there(self):
        files = output("dpkg-deb", "-c", self.deb)
        for name in ("man/man1/zeroskid.1.gz", "man/man1/zeroskid-stat.1.gz", "doc/zeroskid/copyright",
                     "bash-completion/completions/zeroskid", "zsh/vendor-completions/_zeroskid",
                     "fish/vendor_completions.d/zeroskid.fish"):
            self.assertIn(f" ./usr/share/{name}\n", files)

    def test_the_programs_search_no_folder_of_their_own(self):
        with tempfile.TemporaryDirectory() as folder:
            output("dpkg-deb", "-x", self.deb, folder)
            for name in ("bin/zeroskid", "libexec/zeroskid/zeroskid-run"):
                self.assertNotRegex(output("readelf", "-d", f"{folder}/usr/{name}"), "RPATH|RUNPATH")

    def test_lintian_has_no_remark_that_is_not_meant_so(self):
        needs("lintian")
        said = subprocess.run(["lintian", "--allow-root", self.deb],
                              capture_output=True, text=True, check=False)
        self.assertEqual((said.returncode, re.findall("^[EW]: .*", said.stdout, re.M)), (0, []), said.stderr)

    def test_two_of_them_are_the_same(self):
        first = self.deb.read_bytes()
        self.assertEqual((ROOT / package("deb")).read_bytes(), first)


class Installed(unittest.TestCase):
    """With dpkg, as root: installed, run, purged."""

    def test_installs_runs_and_leaves_nothing(self):
        needs("dpkg", "dpkg-deb", "dpkg-shlibdeps", "cpack")
        if os.geteuid() != 0:
            self.skipTest("only root installs packages")
        if shutil.which("zeroskid", path="/usr/bin:/bin"):
            self.skipTest("a zeroskid is installed here")
        deb = ROOT / package("deb")
        missing = [name for name in output("dpkg-deb", "-f", deb, "Depends").split(", ")
                   if subprocess.run(["dpkg-query", "-W", name.split()[0]], capture_output=True).returncode]
        if missing:
            self.skipTest(f"not installed: {', '.join(missing)}")
        files = [pathlib.Path(line.split(None, 5)[5].split(" -> ")[0][1:])
                 for line in output("dpkg-deb", "-c", deb).splitlines()]
        before = {path for path in files if path.exists()}
        try:
            output("dpkg", "-i", deb)
            works(self, "/usr/bin/zeroskid")
            works(self, "/usr/bin/zs")
            if shutil.which("man") and pathlib.Path("/usr/share/man/man1/zeroskid.1.gz").exists():
                environment = {**os.environ, "MANPAGER": "cat", "LC_ALL": "C"}
                for page, said in (("zeroskid", "ZEROSKID(1)"), ("zs", "ZEROSKID(1)"), ("zeroskid-record", "--call-graph")):
                    self.assertIn(said, output("man", page, env=environment))
        finally:
            output("dpkg", "-P", "zeroskid")
        self.assertEqual({path for path in files if path.exists()} - before, set())


class Tarball(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        needs("xz", "readelf", "strip")
        cls.folder = tempfile.TemporaryDirectory()
        cls.archive = ROOT / package("tarball")
        output("tar", "-C", cls.folder.name, "-xf", cls.archive)
        (cls.top,) = pathlib.Path(cls.folder.name).iterdir()
        cls.programs = [cls.top / "bin/zeroskid", cls.top / "libexec/zeroskid/zeroskid-run"]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_runs_from_where_it_was_unpacked(self):
        works(self, self.top / "bin/zeroskid")
        works(self, self.top / "bin/zs")

    def test_takes_nothing_from_the_system(self):
        for program in self.programs:
            self.assertNotRegex(output("readelf", "-ld", program), r"\((NEEDED|RPATH|RUNPATH)\)|INTERP")

    def test_runs_where_there_is_no_library(self):
        """In a root of its own that holds /proc, what was unpacked and a static program. Names of libpfm's are known."""
        if os.geteuid() != 0:
            self.skipTest("only root may change the root")
        needs("gcc", "unshare", "chroot", "mount")
        with tempfile.TemporaryDirectory() as root:
            subprocess.run(["gcc", "-static", "-x", "c", "-", "-o", f"{root}/program"], input="int main(void) { return 7; }",
                           text=True, check=True)
            for name in ("proc", "tmp", "dev"):
                os.mkdir(f"{root}/{name}")
            shutil.copytree(self.top, f"{root}/z", symlinks=True)
            inside = 'mount -t proc proc "$1/proc" && exec chroot "$@"'
            words = ["unshare", "-mpf", "sh", "-c", inside, "sh", root, "/z/bin/zeroskid"]
            if subprocess.run([*words, "--version"], capture_output=True).returncode != 0:
                self.skipTest("namespaces are not allowed here")
            counted = subprocess.run([*words, "stat", "-x,", "-e", "skx::INST_RETIRED:ANY_P", "/program"], capture_output=True,
                                     text=True)
            self.assertEqual(counted.returncode, 7, counted.stderr)
            self.assertGreater(int(counted.stderr.split(",")[0]), 1000)
            recorded = subprocess.run([*words, "record", "-q", "-g", "-c", "100", "-o", "/tmp/r", "/program"], capture_output=True,
                                      text=True)
            self.assertEqual(recorded.returncode, 7, recorded.stderr)
            functions = set(re.findall(r"^\t +[0-9a-f]+ (\w+)", output(*words, "script", "-F", "ip,sym", "-i", "/tmp/r"), re.M))
            self.assertLessEqual({"_start", "__libc_start_call_main"}, functions)

    def test_holds_what_make_install_installs(self):
        with tempfile.TemporaryDirectory() as folder:
            output("cmake", "--install", BUILD, "--prefix", "/z", env={**os.environ, "DESTDIR": folder})
            installed = {str(path.relative_to(folder + "/z")) for path in pathlib.Path(folder, "z").rglob("*")}
        held = {str(path.relative_to(self.top)) for path in self.top.rglob("*")}
        self.assertEqual(held - installed, {"README"})
        self.assertEqual(installed - held, {"libexec/zeroskid/zeroskid-dynamic"})


class Version(unittest.TestCase):
    def test_names_the_commit(self):
        commit = json.loads(output(pathlib.Path(BUILD) / "zeroskid", "--version", "--json"))["commit"]
        try:
            here = output("git", "-C", ROOT, "rev-parse", "HEAD")
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("this is no work tree of git")
        self.assertIsNotNone(commit)
        if here.startswith(commit.rstrip("+")):
            return
        # Committed since it was built: an ancestor then.
        output("git", "-C", ROOT, "merge-base", "--is-ancestor", commit.rstrip("+"), "HEAD")

    def commit_of(self, text):
        """What a build in a folder that is no work tree takes for its commit."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "cmake").mkdir()
            (folder / "cmake/commit.txt").write_text(text)
            output("cmake", f"-DSOURCE={folder}", f"-DOUTPUT={folder}/commit.cc", "-P", ROOT / "cmake/Commit.cmake")
            return re.search(r'kCommit = "(.*)";', (folder / "commit.cc").read_text())[1]

    def test_outside_of_git_the_archive_says_it(self):
        self.assertEqual(self.commit_of("0123456789abcdef0123456789abcdef01234567\n"), "0123456789ab")
        self.assertEqual(self.commit_of("$Format:%H$\n"), "")

    def test_git_archive_fills_it_in(self):
        try:
            head = output("git", "-C", ROOT, "rev-parse", "HEAD").strip()
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("this is no work tree of git")
        text = output("sh", "-c", 'git -C "$1" archive HEAD cmake/commit.txt .gitattributes | tar -xO cmake/commit.txt', "sh", ROOT)
        self.assertEqual(text.strip(), head)


if __name__ == "__main__":
    BUILD = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main(verbosity=2)
