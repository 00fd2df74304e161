"""What stock perf prints with an option, we print: byte for byte, of the same files.   options_test.py ZEROSKID

The recordings are made here, in virtual time. perf is an oracle: where it is not installed the test is skipped.
"""
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import tool

SEED = random.randrange(1 << 32)
#: Without a library: what perf finds of inlined functions there depends on what debug information is installed.
PROGRAM = r"""
__attribute__((noinline)) long leaf(long x) { long s = 0; for (long i = 0; i < 300 + x % 7; i++) s += s * i ^ x; return s; }
__attribute__((noinline)) long middle(long x) { return leaf(x) + leaf(x + 1); }
__attribute__((noinline)) long top(long n) { long s = 0; for (long i = 0; i < n; i++) s += middle(i) + leaf(s); return s; }
static long call(long number, long a) { long r; __asm__ volatile("syscall" : "=a"(r) : "0"(number), "D"(a) : "rcx", "r11", "memory"); return r; }
void body(void) { long child = call(57, 0); long s = top(child == 0 ? 100 : 250); call(231, s == 42); }
__asm__(".globl _start\n_start: .cfi_startproc\n.cfi_undefined rip\nxor %ebp, %ebp\ncall body\nhlt\n.cfi_endproc");
"""
RECORDINGS = {
    "plain": ["-e", "instructions", "-c", "10007"],
    "precise": ["-e", "instructions:ppp", "-c", "20011"],
    "chains": ["-e", "instructions", "-c", "15013", "-g"],
    "branches": ["-e", "branches", "-c", "3001", "-b"],
    "two": ["-e", "instructions,branches", "-c", "9001"],
    "frequency": ["-F", "40000"],
}
#: Each with what it is not asked of. {} is the time of a sample somewhere, [] of a later one.
SCRIPTS = [
    [], ["-F", "comm,tid,time,ip,sym"], ["-F", "time,event,ip,sym,dso"], ["-F", "pid,tid,cpu,time"], ["-F", "+misc"], ["-F", "misc,ip"],
    ["-F", "comm,misc,time,event"], ["-F", "-comm,-time"], ["-F", "ip,sym,symoff,dso"], ["-F", "+insn"], ["-F", "ip,insn,insnlen"],
    ["-F", "period,event,ip"], ["--ns"], ["--reltime"], ["--deltatime"], ["--reltime", "--ns"], ["--deltatime", "--ns", "-F", "time"],
    ["-G"], ["--max-stack", "2"], ["--comms", "subject"], ["-c", "sh"], ["-S", "leaf"], ["-S", "leaf,middle"],
    ["--dsos", "subject"], ["--time", "{},"], ["--time", ",[]"], ["--time", "{},[]"], ["--time", "10%/2"], ["--time", "10%-40%"],
    ["--time", "10%/1,10%/4"], ["--time", "0%-100%"], ["-C", "0"], ["-C", "0"], ["-C", "0,1"], ["-C", "1"], ["--header-only", "--no-header-only"],
    ["-f"], ["-v"], ["--demangle"], ["--no-demangle"], ["--no-inline"], ["-a"],
]
REPORTS = [
    [], ["-s", "sym"], ["-s", "dso"], ["-s", "comm,dso"], ["-s", "cpu"], ["-n"], ["--show-total-period"],
    ["--no-children"], ["--children"], ["-c", "subject,sh"], ["-d", "subject,[vdso]"], ["-S", "leaf,middle"], ["--percent-limit", "5"], ["--time", "{},[]"],
    ["--time", "10%/2"], ["--time", "20%-50%"], ["-C", "0"], ["-g", "none"], ["--no-inline"], ["-f"], ["--skip-empty"],
    ["--demangle"], ["--ns"], ["-F", "overhead,sample,period,comm,sym"], ["-F", "sample,dso,overhead"], ["-F", "period,sym,dso"],
    ["--no-children", "-s", "+srcfile"], ["--no-children", "-s", "srcfile,sym"], ["-q"], ["-q", "-s", "dso,sym", "-n"], ["-t", ";"], ["-t", ",", "-n", "-s", "sym,dso"], ["-U"],
    ["--percentage", "relative", "-S", "leaf,middle"], ["--percentage", "absolute"], ["-q", "--no-children"],
]
GRAPHS = [
    ["--no-children", "-g", "folded"], ["-g", "folded,0"], ["-g", "folded,5,callee"], ["-g", "caller"], ["-g", "fractal,0.5,callee"],
    ["--no-children", "-g", "caller"], ["--no-children", "-g", "folded,caller"], ["-g", "none"], ["-g", "graph,2,3"],
]


@unittest.skipIf(shutil.which("perf") is None, "perf is not installed")
@unittest.skipIf(shutil.which("gcc") is None, "gcc is not installed")
class Options(unittest.TestCase):
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)
        (cls.folder / "subject.c").write_text(PROGRAM)
        subprocess.run(["gcc", "-O1", "-g", "-nostdlib", "-static", "-fno-omit-frame-pointer", "-o", "subject", "subject.c"], cwd=cls.folder, check=True)
        for name, words in RECORDINGS.items():
            done = tool.run("record", "-q", "--virtual-time", "-o", f"{name}.data", *words, "./subject", folder=cls.folder)
            assert done.status == 0, done.err

    def ask(self, *words):
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, errors="replace", check=False,
                              stdin=subprocess.DEVNULL, env={**tool.ENVIRONMENT, "PERF_BUILDID_DIR": "/nonexistent", "HOME": self.temporary.name})
        return done.stdout

    def times(self, name):
        return sorted(re.findall(r"\d+\.\d+", self.ask("perf", "script", "-F", "time", "--ns", "-i", f"{name}.data")), key=float)

    def compare(self, verb, combinations, plain, besides=()):
        chance = random.Random(SEED)
        equal = 0
        for name in RECORDINGS.keys() - set(besides):
            times = self.times(name)
            for words in combinations:
                early, late = sorted(chance.sample(range(len(times)), 2))
                words = [word.replace("{}", times[early]).replace("[]", times[late]) for word in words]
                perf = self.ask("perf", verb, "-i", f"{name}.data", *plain, *words)
                ours = self.ask(tool.ZEROSKID, verb, "-i", f"{name}.data", *plain, *words)
                with self.subTest(seed=SEED, recording=name, options=words):
                    self.assertEqual(self.common(ours), self.common(perf))
                    equal += 1
        print(f"{verb}: {equal} of {(len(RECORDINGS) - len(besides)) * len(combinations)} pages are equal")

    @staticmethod
    def common(text):
        """Without what each says of itself, and perf's hint at the end."""
        return [line.rstrip() for line in text.splitlines() if not re.match(r"# (Class|Call chains|\(Tip|cmdline|perf version|captured)|$|#$", line)]

    def test_script(self):
        self.compare("script", SCRIPTS, [])

    def test_report(self):
        self.compare("report", GRAPHS, ["--stdio"], besides=RECORDINGS.keys() - {"chains"})
        self.compare("report", REPORTS, ["--stdio"], besides=("branches",))  # of which perf's columns are others

    def test_callers_of_equal_weight(self):
        """Of a few samples, of which most have the same shares."""
        times = self.times("chains")
        chance = random.Random(SEED)
        windows = []
        for _ in range(20):
            first = chance.randrange(len(times) - 6)
            windows.append(["--time", f"{times[first]},{times[first + chance.randrange(1, 6)]}"])
        self.compare("report", windows, ["--stdio"], besides=RECORDINGS.keys() - {"chains"})


if __name__ == "__main__":
    tool.main()
