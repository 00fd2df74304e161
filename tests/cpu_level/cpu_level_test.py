"""A program under --cpu-level sees that processor and no other, and a machine that does not depend on this one.
  cpu_level_test.py ZEROSKID PROBE            [--seed N]
"""
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

ZEROSKID, PROBE = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:3])
SEED = int(sys.argv[4]) if sys.argv[3:4] == ["--seed"] else random.SystemRandom().randrange(1 << 32)
LEVELS = ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"]
#: The lowest level that has the instruction; none: no level has it.
INSTRUCTIONS = {"crc32": 1, "vpaddd": 2, "shlx": 2, "vpaddd-zmm": 3, "aesenc": None, "tzcnt": 0}
EVERYDAY = [["git", "--version"], ["ls", "/"], ["sort", "/etc/passwd"], ["perl", "-e", "print 6*7"], ["python3", "-S", "-c", "print(6*7)"],
            ["sh", "-c", "echo a | cat; expr 1 + 1"], ["bash", "-c", "for i in 1 2 3; do echo $i; done"], ["awk", "BEGIN { print 1/3 }"],
            ["gzip", "-c", "/etc/passwd"], ["xz", "-c", "-T1", "/etc/passwd"], ["sed", "s/a/b/", "/etc/passwd"], ["sqlite3", ":memory:", "select 1"]]


def tool(*words, level=None, **options):
    settings = ["--cpu-level", level] if level else []
    return subprocess.run([ZEROSKID, "stat", "-q", "-e", "instructions", "--virtual-time", *settings, "-x,", "-o", os.devnull, "--", *words],
                          capture_output=True, text=True, errors="replace", check=False, **options)


def has(level):
    return tool("true", level=level).returncode == 0


class CpuLevel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        print(f"cpu_level_test.py --seed {SEED}", flush=True)
        cls.levels = [level for level in LEVELS if has(level)]

    def test_facts_do_not_depend_on_the_machine(self):
        """Nothing that this machine has shows through: each word is of the level."""
        for level in self.levels:
            facts = tool(PROBE, "facts", level=level).stdout
            self.assertIn("zeroskid 6.1.0", facts)
            self.assertIn(f"model name\t: {level} processor of zeroskid", facts)
            self.assertIn("processors 4 4 caches 32768", facts)
            self.assertIn("affinity 0 of 4", facts)
            self.assertEqual(facts.count("processor\t: "), 4)
            self.assertIn("cpuid 0 0: 0000000d 756e6547 6c65746e 49656e69", facts)
            for beyond in ("14 0", "15 0", "16 0", "19 0", "1f 0", "a 0", "8000001d 0", "40000000 0"):
                self.assertIn(f"cpuid {beyond}: 00000000 00000000 00000000 00000000", facts)
            flags = re.search(r"flags\t\t: (.*)", facts)[1].split()
            self.assertEqual("avx2" in flags, level >= "x86-64-v3")
            self.assertEqual("avx512f" in flags, level == "x86-64-v4")
            self.assertNotIn("aes", flags)

    def test_the_usual_level_is_said(self):
        page = subprocess.run([ZEROSKID, "stat", "-e", "instructions", "--virtual-time", "--", "true"], capture_output=True, text=True, check=True).stderr
        usual = "x86-64-v3" if "x86-64-v3" in self.levels else self.levels[-1]
        self.assertIn(f"Performance counter stats for 'true' on {usual}, 4 processors:", page)
        self.assertEqual(tool(PROBE, "facts").stdout, tool(PROBE, "facts", level=usual).stdout)

    def test_vector_registers_are_kept(self):
        for level in self.levels[2:]:
            for seed in range(SEED, SEED + 5):
                outcome = tool(PROBE, "state", str(seed & 0x7FFFFFFF), level=level)
                self.assertEqual((outcome.returncode, outcome.stdout), (0, "kept\n"), level)

    def test_what_is_beyond_raises_an_invalid_opcode(self):
        for number, level in enumerate(self.levels):
            for name, lowest in INSTRUCTIONS.items():
                outcome = tool(PROBE, "run", name, level=level)
                with self.subTest(level=level, name=name):
                    if lowest is not None and lowest <= number:
                        self.assertEqual((outcome.returncode, outcome.stdout), (0, "ran\n"), outcome.stderr)
                    else:
                        self.assertEqual(outcome.returncode, 128 + signal.SIGILL)
                        self.assertRegex(outcome.stderr, f"at 0x[0-9a-f]+ is an instruction that {level} does not have")

    def test_everyday_commands_do_what_they_do_natively(self):
        with tempfile.TemporaryDirectory() as home:
            environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": home, "LC_ALL": "C"}
            for words in EVERYDAY:
                if not shutil.which(words[0], path=environment["PATH"]):
                    continue
                native = subprocess.run(words, capture_output=True, text=True, errors="replace", env=environment, check=False)
                for level in self.levels:
                    outcome = tool(*words, level=level, env=environment)
                    with self.subTest(words=words, level=level):
                        self.assertEqual((outcome.returncode, outcome.stdout), (native.returncode, native.stdout), outcome.stderr)

    def test_other_processors(self):
        options = ["--cpus", "9", "--virtual-time", "-q", "-e", "instructions", "-x,", "-o", os.devnull]
        facts = subprocess.run([ZEROSKID, "stat", *options, "--", PROBE, "facts"], capture_output=True, text=True, check=True).stdout
        self.assertIn("processors 9 9", facts)
        self.assertIn("/sys/devices/system/cpu/online: 0-8", facts)

    def test_files_that_begin_in_a_folder(self):
        """lscpu opens its files so."""
        cat = "import os, sys; print(os.read(os.open(sys.argv[2], os.O_RDONLY, dir_fd=os.open(sys.argv[1], os.O_PATH)), 99))"
        for folder, name in (("/proc", "cpuinfo"), ("/proc/sys", "kernel/hostname"), ("/sys/devices/system/cpu", "online"),
                             ("/sys/devices/system", "cpu/possible"), ("/", "proc/meminfo"), ("/sys/fs", "cgroup/cpu.max")):
            with self.subTest(folder=folder, name=name):
                whole = tool("cat", os.path.join(folder, name), level=self.levels[-1]).stdout
                self.assertEqual(tool("cat", name, level=self.levels[-1], cwd=folder).stdout, whole)
                self.assertEqual(tool("python3", "-S", "-c", cat, folder, name, level=self.levels[-1]).stdout.strip(), str(whole[:99].encode()))
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "online").write_text("mine\n", encoding="ascii")
            self.assertEqual(tool("cat", "online", level=self.levels[-1], cwd=folder).stdout, "mine\n")

    def test_a_folder_is_listed_by_name(self):
        """tmpfs tells what was made last first; nothing is lost where a listing takes several calls, or what is listed goes meanwhile."""
        chance = random.Random(SEED)
        for count in (chance.randrange(2, 60), 3000):
            names = [f"{chance.randrange(1 << 40):x}{'x' * chance.randrange(40)}" for _ in range(count)]
            seen = []
            for _ in range(3):
                chance.shuffle(names)
                with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
                    for name in names:
                        pathlib.Path(folder, name).touch()
                    listed = tool("ls", "-fA", folder).stdout.split()
                    seen.append([name for name in listed if name not in (".", "..")])
                    self.assertEqual(sorted(seen[-1]), sorted(names))
                    removing = tool("perl", "-e", "opendir D, '.'; while ($_ = readdir D) { unlink }", cwd=folder)
                    self.assertEqual((removing.returncode, os.listdir(folder)), (0, []), removing.stderr)
            if count < 60:
                self.assertEqual(seen, [sorted(names)] * 3)

    def test_a_clean_environment(self):
        seen = []
        for variables in ({}, {"ONE": "1", "MANY": "x" * random.Random(SEED).randrange(1, 9000)}):
            environment = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", **variables}
            for options in (["--clean-env", ""], ["--clean-env", "ONE,HOME"]):
                ran = subprocess.run([ZEROSKID, "stat", "-q", "--virtual-time", "-e", "instructions", "-x,", *options, "--", "/usr/bin/env"],
                                     capture_output=True, text=True, env=environment, check=True)
                seen.append((ran.stdout, ran.stderr.split(",")[0]))
        fixed = "HOME=/\nLC_ALL=C\nPATH=/usr/local/bin:/usr/bin:/bin\n"
        self.assertEqual(seen[0], seen[2])
        self.assertEqual(seen[0][0], fixed)
        self.assertEqual(seen[1][0], "HOME=/tmp\n" + fixed.removeprefix("HOME=/\n"))
        self.assertEqual(seen[3][0], "HOME=/tmp\nONE=1\n" + fixed.removeprefix("HOME=/\n"))

    def test_refused_by_name(self):
        for options, words in ((["--cpu-level", "x86-64-v3"], "in virtual time only"),
                               (["--virtual-time", "--cpu-level", "v9"], "v9: no such level"),
                               (["--virtual-time", "--cpu-level", "host", "--cpus", "2"], "the program sees this machine"),
                               (["--virtual-time", "--cpus", "65"], "at most 64")):
            outcome = subprocess.run([ZEROSKID, "stat", "-e", "instructions", *options, "--", "true"], capture_output=True, text=True, check=False)
            self.assertEqual(outcome.returncode, 129, outcome.stderr)
            self.assertIn(words, outcome.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
