"""Stacks of -g, held against programs that know theirs at each instruction (tree.c and its likes).   stacks_test.py ZEROSKID

Each function of these is called by one other: node_1_2 by node_1, node_1 by main, and the rest as CALLERS says. So the innermost of them in a
chain decides all that must be below it, to the frame. Library functions may lie on top, and between a function and one that a library
calls for it (THROUGH); nowhere else.
"""
import collections
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import generated_code

HERE = pathlib.Path(__file__).resolve().parent
ZEROSKID = "zeroskid"
ENVIRONMENT = {**os.environ, "LC_ALL": "C"}

#: How many frames of a library's are below the first function of a program, a thread or a fibre. None: some.
MAIN, THREAD, FIBRE, SOME = 3, 2, 1, None
#: Below a signal handler: the return from it, and what was interrupted, which is a whole chain.
SIGNAL = "signal"


class Tree:
    """Which functions may be on which."""

    def __init__(self, callers, root="main", through=(), outer=r"node(_\d+)+"):
        self.callers = callers      # where the name does not say it: a function, several, or what is below a first function
        self.root = root            # calls node_1
        self.through = through      # called by library functions in between
        self.outer = re.compile(outer)

    def is_known(self, name):
        name = name.removesuffix(".cold")
        return name == self.root or name in self.callers or self.outer.fullmatch(name) is not None

    def caller_of(self, name):
        name = name.removesuffix(".cold")  # the part that compilers move away
        if name in self.callers:
            return self.callers[name]
        return name.rpartition("_")[0] if name.count("_") > 1 else self.root

    def fault_of(self, names, recursion=None):
        """What is wrong with a chain of functions; None: nothing."""
        at = next((i for i, name in enumerate(names) if self.is_known(name)), len(names))
        if names[at:at + 1] in (["even"], ["odd"]) and recursion is not None:
            deep = sum(name in ("even", "odd") for name in names)
            # R15 counts a function from the instruction behind its prologue to its epilogue: even ones have odd numbers.
            counted = recursion + (0 if recursion % 2 == (names[at] == "even") else 1)
            if deep != counted:
                return f"{deep} of even and odd, R15 says {counted}"
        while at < len(names):
            name, rest = names[at], names[at + 1:]
            wanted = self.caller_of(name)
            if wanted is None or isinstance(wanted, int):
                right = not any(map(self.is_known, rest)) and (rest if wanted is None else len(rest) == wanted)
                return None if right else f"behind {name}: {rest}"
            if wanted == SIGNAL:
                return f"behind {name}: {rest}" if len(rest) < 2 or self.is_known(rest[0]) else self.fault_of(rest[1:])
            if name in self.through:
                rest = rest[next((i for i, above in enumerate(rest) if self.is_known(above)), len(rest)):]
            if not rest or rest[0].removesuffix(".cold") not in (wanted if isinstance(wanted, tuple) else (wanted,)):
                return f"behind {name}, which {wanted} calls: {rest[:3]}"
            at = len(names) - len(rest)
        return None


C = Tree({"main": MAIN, "thread": THREAD, "fibre": FIBRE, "work": "fibre_1", "fibre_1": "fibre", "thread_1": "thread",
          "after_tail_call": "node_2", "before_tail_call": "node_2", "compare": "node_3", "handler_1": ("handler", "past_ud2"),
          "handler": SIGNAL, "past_ud2": SIGNAL, "even": ("odd", "node_5"), "odd": "even"}, through={"compare"})
GENERATED = Tree({"main": MAIN})
CXX = Tree({"main": MAIN, "Square::area": "node_2", "node_2_1": "Square::area", "thread_1": SOME, "in_destructor": "node_1_1_1"},
           through={"node_3_1"})
RUST = Tree({"tree::main": SOME}, root="tree::main", through={"node_2_1"})
GO = Tree({"main.main": 2, "main.routine": "main.main.func1", "main.main.func1": 1, "main.routine_1": "main.routine", "main.less": "main.node_4"}, root="main.main",
          through={"main.less"}, outer=r"main\.node(_\d+)+")

JAVASCRIPT = Tree({"root": SOME}, root="root", through={"node_3_1", "node_4_1"})
#: Python's own frames lie between a function of tree_python.c and the one that called Python.
PYTHON_NODES = ("node_1", "node_1_1", "node_1_1_1", "node_1_1_2", "node_1_2", "node_2", "node_2_1")
PYTHON = Tree({"root": SOME}, root="root", through=set(PYTHON_NODES))
#: A function of JavaScript in node's map of a JIT's code, by how it is compiled: interpreted, baseline, optimised.
OF_JAVASCRIPT = re.compile(r"^JS:[~^*+]+(\w+) .*")


def built(folder, *words):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env={**ENVIRONMENT, "GOCACHE": f"{folder}/go-cache"}, check=False)
    assert done.returncode == 0, done.stderr


class Chains:
    """The samples of a recording, each [(address, function), ...] from the innermost on, and R15."""

    def __init__(self, folder, period, program, event="instructions:ppp", function_of=str):
        """function_of  the function's name, from a symbol's"""
        done = subprocess.run([ZEROSKID, "record", "-q", "-g", "-e", event, "-c", str(period), "--", *program], cwd=folder,
                              capture_output=True, text=True, env=ENVIRONMENT, check=False)
        assert done.returncode == 0, done.stderr
        self.samples = [([(address, function_of(name)) for address, name in frames], r15)
                        for frames, r15 in self.read([ZEROSKID, "script", "-F", "ip,sym,iregs", "--no-inline"], folder)]

    @staticmethod
    def read(command, folder):
        frames = []
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as reader:
            for line in reader.stdout:
                if line.startswith("\t"):
                    address, _, name = line.strip().partition(" ")
                    frames.append((int(address, 16), sys.intern(name)))
                elif frames:
                    _, _, depth = line.partition("R15:")
                    yield frames, int(depth.split()[0], 16) if depth else None
                    frames = []
        assert reader.returncode == 0, command


class Stacks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def need(self, *programs):
        missing = [name for name in programs if shutil.which(name) is None]
        if missing:
            self.skipTest(f"not installed: {', '.join(missing)}")

    def hold(self, tree, chains, at_least=10_000, wrong=0):
        """Every chain is what the tree says; wrong: of how many a part may not be."""
        faults = collections.Counter()
        held = rewritten = 0
        for frames, r15 in chains.samples:
            names = [name for _, name in frames]
            held += any(map(tree.is_known, names))
            fault = tree.fault_of(names, r15)
            # libgcc goes to a handler by writing over its own frame and those it leaves. No table tells of that.
            if fault and any(function in ("_Unwind_RaiseException", "_Unwind_Resume") for function in names[:2]):
                rewritten += 1
            elif fault:
                faults[fault] += 1
        if faults.total() > wrong * held:
            self.fail(f"{faults.total()} of {held} chains are wrong:\n" + "\n".join(f"{n} times {fault}" for fault, n in faults.most_common(9)))
        self.assertGreater(held, at_least)
        self.assertLess(rewritten, max(held // 100, 1))

    def c(self, *flags, compiler="gcc"):
        built(self.folder, compiler, "-O2", *flags, "-ffixed-r15", "-pthread", "-o", "tree", HERE / "tree.c")
        return ["./tree"]

    def test_c_without_frame_pointers(self):
        self.hold(C, Chains(self.folder, 151, self.c("-fomit-frame-pointer")))

    def test_c_with_frame_pointers_and_static(self):
        self.hold(C, Chains(self.folder, 151, self.c("-fno-omit-frame-pointer", "-static")))

    def test_c_without_unwind_tables(self):
        """A function that realigns its frame by a register, and one that never returns and that no call is before, lose their callers."""
        flags = ("-O1", "-foptimize-sibling-calls", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables")
        self.hold(C, Chains(self.folder, 151, self.c(*flags)), wrong=0.05)
        cut, chains, why = re.fullmatch(r"(\d+) of (\d+) \(\d\.\d %\) end short: (.*)", self.chains_line()).groups()
        self.assertLess(0, int(cut))
        self.assertLess(int(cut), 0.05 * int(chains))
        self.assertRegex(why, r"^\d+ without a rule for the code, \d+ of them in \w+ \((tree|libc.so.6)\)")

    def test_report_says_that_chains_are_cut(self):
        Chains(self.folder, 997, self.c("-fomit-frame-pointer"))
        cut = re.match(r"(\d+) of (\d+) .* end short: \1 where the stack holds no caller$", self.chains_line() or "0 of 1  end short: 0 where the stack holds no caller")
        self.assertLess(int(cut.group(1)), 0.01 * int(cut.group(2)))  # swapcontext's, when it has another's registers
        (self.folder / "deep.c").write_text("int deep(int n) { return n == 0 ? 1 : deep(n - 1) + n; } int main() { return deep(20000) == 0; }")
        built(self.folder, "gcc", "-O0", "-o", "deep", "deep.c")
        Chains(self.folder, 997, ["./deep"])
        self.assertRegex(self.chains_line(), r"^(\d+) of \d+ \(\d+\.\d %\) end short: \1 at the limit of their length$")

    def chains_line(self):
        page = subprocess.run([ZEROSKID, "report", "-g", "none", "-w"], cwd=self.folder, capture_output=True, text=True, env=ENVIRONMENT, check=True).stdout
        found = re.search(r"^# Chains: (.*)$", page, re.MULTILINE)
        return found and found.group(1)

    def test_generated_code_without_unwind_tables(self):
        """Each has calls that do not return and jumps through registers, which together can look like another function's."""
        for seed in (random.randrange(1 << 32) for _ in range(6)):
            with self.subTest(seed=seed):
                (self.folder / "generated.s").write_text(generated_code.program(seed))
                built(self.folder, "gcc", "-o", "generated", "generated.s")
                self.hold(GENERATED, Chains(self.folder, 7, ["./generated"]), 300, wrong=0.15)

    def test_of_every_kind_of_event(self):
        program = self.c("-fomit-frame-pointer")
        for event in ("instructions", "instructions:p", "br_inst_retired.near_call:pp", "br_inst_retired.near_return:pp",
                      "mem_inst_retired.all_stores:pp"):
            with self.subTest(event=event):
                self.hold(C, Chains(self.folder, 23 if "near" in event else 151, program, event), 1000)

    def test_cxx_with_exceptions(self):
        built(self.folder, "g++", "-std=c++20", "-O2", "-fomit-frame-pointer", "-pthread", "-o", "tree", HERE / "tree.cc")
        self.hold(CXX, Chains(self.folder, 499, ["./tree"]))

    def test_rust(self):
        self.need("rustc")
        built(self.folder, "rustc", "-O", "-o", "tree", HERE / "tree.rs")
        self.hold(RUST, Chains(self.folder, 499, ["./tree"]))

    def test_go(self):
        self.need("go")
        built(self.folder, "go", "build", "-o", "tree", HERE / "tree.go")
        self.hold(GO, Chains(self.folder, 311, ["./tree"]))
        self.hold(GO, Chains(self.folder, 1, ["./tree"], "br_inst_retired.near_return:ppp"))

    def test_javascript(self):
        """A JIT has no tables, and baseline code calls another function that makes its frame: there a caller is left out."""
        self.need("node")
        words = ["node", "--perf-basic-prof", "--interpreted-frames-native-stack", "--max-inlined-bytecode-size=0",
                 "--max-inlined-bytecode-size-cumulative=0", HERE / "tree.js", "20000"]
        chains = Chains(self.folder, 9973, words, function_of=lambda name: OF_JAVASCRIPT.sub(r"\1", name))
        compiled = collections.Counter(name for frames, _ in chains.samples for _, name in frames[:1] if name.startswith("node_"))
        self.assertGreaterEqual(len(compiled), 8)
        for left in pathlib.Path("/tmp").glob("perf-*.map"):  # node's, which it leaves behind
            if f"{HERE / 'tree.js'}:" in left.read_text(errors="replace"):
                left.unlink()
        self.hold(JAVASCRIPT, chains, wrong=0.001)

    def test_python(self):
        built(self.folder, "gcc", "-O2", "-fomit-frame-pointer", "-shared", "-fPIC", "-o", "tree.so", HERE / "tree_python.c")
        chains = Chains(self.folder, 1511, [sys.executable, "-I", "-S", HERE / "tree.py", self.folder / "tree.so", "320"])
        self.hold(PYTHON, chains)

    def test_stock_perf_reads_the_same(self):
        self.need("perf")
        ours = Chains(self.folder, 997, self.c("-fomit-frame-pointer"))
        theirs = Chains.read(["perf", "script", "-F", "ip,sym", "--no-inline"], self.folder)
        # Libraries without symbols have other names there.
        self.assertEqual([[name if C.is_known(name) else "" for _, name in chain] for chain, _ in theirs],
                         [[name if C.is_known(name) else "" for _, name in chain] for chain, _ in ours.samples])


def main():
    global ZEROSKID
    ZEROSKID = os.path.abspath(sys.argv[1])
    unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[2:]])


if __name__ == "__main__":
    main()
