"""What reading verbs show on a terminal: widths, colours, the pager; names and source lines.   pages_test.py ZEROSKID"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import terminal

ZEROSKID = None

PROGRAM = r"""
#include <cstdio>
#include <map>
#include <string>
#include <vector>
namespace a_namespace_with_a_long_name {
template <typename Key, typename Value> struct TableOfEverything {
  std::map<Key, std::vector<Value>> rows;
  __attribute__((noinline)) void insert_all_of_them_one_after_another(const Key& key, long count) {
    for (long i = 0; i < count; ++i) rows[key + std::to_string(i % 97)].push_back(static_cast<Value>(i));
  }
};
}
int main() {
  a_namespace_with_a_long_name::TableOfEverything<std::string, unsigned long long> table;
  table.insert_all_of_them_one_after_another("a key", 40000);
  std::printf("%zu\n", table.rows.size());
}
"""

INLINED = r"""
static inline __attribute__((always_inline)) long deep(long x) {
  long sum = 0;
  for (long i = 0; i < x; i++)
    sum += i * i ^ sum;
  return sum;
}
__attribute__((noinline)) long work(long n) { return deep(n); }
int main(void) { return work(2000000) == 1; }
"""

IN_NAMESPACES = r"""
namespace shop {
namespace { inline int twice(int x) { volatile int y = x; return y + y; } }
__attribute__((noinline)) int price(int n) { int sum = 0; for (int i = 0; i < n; ++i) sum ^= twice(i); return sum; }
struct Till {
  int total = 0;
  int add(int n) { return total += twice(n); }
  __attribute__((noinline)) int all(int n) { for (int i = 0; i < n; ++i) add(i); return total; }
};
}
int main() { shop::Till till; return till.all(500) + shop::price(500) == 1; }
"""
IN_A_FUNCTION = r"""
static inline int twice(int x) { volatile int y = x; return y + y; }
__attribute__((noinline)) int outer(int n) {
  int sum = 0;
  __attribute__((noinline)) int step(int i) { sum += twice(i) ^ n; return sum; }
  for (int i = 0; i < n; i++) step(i);
  return sum;
}
int main(void) { return outer(5000) == 1; }
"""
IN_RUST = r"""
mod deep {
  #[inline(always)] fn twice(x: u64) -> u64 { std::hint::black_box(x) * 2 }
  #[inline(never)] pub fn price(n: u64) -> u64 { (0..n).map(twice).fold(0, |a, b| a ^ b) }
}
fn main() { println!("{}", deep::price(500)); }
"""


def on_terminal(words, columns, environment=None, cwd=None):
    """What a program writes on a terminal so wide, all of it."""
    full = {"PATH": os.environ["PATH"], "HOME": "/", "TERM": "xterm", "LC_ALL": "C", **(environment or {})}
    status, out, errors = terminal.run(words, full, columns, cwd, stderr=False)
    return status, out.replace("\r\n", "\n"), errors


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


class InFolder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.here = pathlib.Path(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def build(cls, name, source, *compiler):
        (cls.here / name).parent.mkdir(exist_ok=True)
        suffix = {"g++": ".cc", "clang++": ".cc", "rustc": ".rs", "go": ".go"}.get(compiler[0], ".c")
        file = cls.here / (name + suffix)
        file.write_text(source)
        before = ["-o", str(cls.here / name)]
        subprocess.run([*compiler, *before, file.name], check=True, cwd=cls.here, capture_output=True,
                       env={**os.environ, "GOCACHE": str(cls.here / "go-cache"), "GO111MODULE": "off"})
        return cls.here / name

    @classmethod
    def zeroskid(cls, *words, **more):
        return subprocess.run([ZEROSKID, *map(str, words)], capture_output=True, text=True, timeout=300, cwd=cls.here, **more)

    @classmethod
    def record(cls, data, program, *options):
        options = options or ("-e", "instructions:ppp", "-c", "10007")
        made = cls.zeroskid("record", "-o", data, *options, "--", program)
        assert made.returncode in (0, 1), made.stderr


class Terminal(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        program = cls.build("names", PROGRAM, "g++", "-O2", "-g")
        cls.record("perf.data", program)
        cls.record("graph.data", program, "-e", "instructions:ppp", "-c", "20011", "-g")
        made = cls.zeroskid("mem", "record", "-c", "503", "-o", "mem.data", "--", program)
        assert made.returncode == 0, made.stderr

    #: Every page that is a table.
    PAGES = (["report"], ["report", "-n", "--show-total-period"], ["report", "-s", "comm,dso,sym,srcline"],
             ["report", "-i", "graph.data", "-g", "none"], ["annotate"], ["annotate", "--all"],
             ["mem", "report", "-i", "mem.data"], ["mem", "report", "-i", "mem.data", "--plain"])

    def test_no_page_is_wider_than_its_terminal(self):
        for words in self.PAGES:
            for columns in (80, 120, 200):
                status, out, errors = on_terminal([ZEROSKID, *words, "--no-pager"], columns, cwd=self.here)
                self.assertEqual(status, 0, errors)
                self.assertGreater(len(out.splitlines()), 5)
                for line in plain(out).splitlines():
                    self.assertLessEqual(len(line.expandtabs()), columns, (words, line))

    def test_names_lose_their_middle_on_a_terminal_alone(self):
        whole = "TableOfEverything<std::__cxx11::basic_string"
        _, narrow, _ = on_terminal([ZEROSKID, "report", "--no-pager"], 80, cwd=self.here)
        _, wide, _ = on_terminal([ZEROSKID, "report", "--no-pager", "-w"], 80, cwd=self.here)
        self.assertNotIn(whole, narrow)
        self.assertRegex(narrow, r"a_namespace\S*\.\.\S*another")
        self.assertIn(whole, wide)
        self.assertIn(whole, self.zeroskid("report").stdout)
        self.assertNotIn(whole, self.zeroskid("report", "--width", "80").stdout)

    def test_colours_are_for_terminals(self):
        self.assertIn("\x1b[", on_terminal([ZEROSKID, "report", "--no-pager"], 80, cwd=self.here)[1])
        self.assertNotIn("\x1b[", on_terminal([ZEROSKID, "report", "--no-pager"], 80, {"NO_COLOR": "1"}, self.here)[1])
        self.assertNotIn("\x1b[", self.zeroskid("report").stdout)

    def test_the_pager_is_zeroskids_then_everybodys(self):
        pager = self.here / "pager"
        pager.write_text("#!/bin/sh\necho \"$1 LESS=$LESS\"; head -3\n")
        pager.chmod(0o755)
        for variables, name in (({"ZEROSKID_PAGER": f"{pager} one", "PAGER": "false"}, "one"), ({"PAGER": f"{pager} two"}, "two")):
            status, out, errors = on_terminal([ZEROSKID, "report"], 100, variables, self.here)
            self.assertEqual((status, errors), (0, ""))
            self.assertEqual(out.splitlines()[0], f"{name} LESS=FRX")
            self.assertEqual(len(out.splitlines()), 4)  # it left early, and that is no failure
        _, out, _ = on_terminal([ZEROSKID, "report"], 100, {"PAGER": f"{pager} x", "ZEROSKID_PAGER": ""}, self.here)
        self.assertNotIn("LESS=", out)
        _, out, _ = on_terminal([ZEROSKID, "report"], 100, {"PAGER": f"{pager} x", "TERM": "dumb"}, self.here)
        self.assertNotIn("LESS=", out)
        self.assertNotIn("LESS=", self.zeroskid("report", env={**os.environ, "PAGER": f"{pager} x"}).stdout)

    def test_a_pager_that_is_not_there_is_named(self):
        status, _, errors = on_terminal([ZEROSKID, "report"], 100, {"PAGER": "/no/such/pager"}, self.here)
        self.assertEqual(status, 125)
        self.assertIn("zeroskid: pager '/no/such/pager': cannot run it\nhint: set ZEROSKID_PAGER", errors)

    def test_annotate_shows_the_hottest_function_around_its_samples(self):
        short = self.zeroskid("annotate")
        every = self.zeroskid("annotate", "--all")
        self.assertEqual(short.stdout.count("Source code & Disassembly"), 1)
        self.assertGreater(every.stdout.count("Source code & Disassembly"), 3)
        self.assertIn("# --all shows every instruction\n# annotate SYMBOL another function: ", short.stdout)
        self.assertLess(len(short.stdout), len(every.stdout) / 2)
        hot = re.findall(r"^ +(\d+\.\d\d) :", short.stdout, re.MULTILINE)
        self.assertAlmostEqual(sum(map(float, hot)), 100, delta=1)  # nothing with samples is left out
        self.assertIn(" without samples", self.zeroskid("annotate", "--context", "0").stdout)


class Places(InFolder):
    """Source lines and inlined functions, however the debug information is kept."""

    def lines_of(self, program):
        self.record("lines.data", program)
        page = self.zeroskid("report", "-i", "lines.data", "-s", "srcline").stdout
        return re.findall(r"^ +[\d.]+%  (\S+)", page, re.MULTILINE)[0]

    def inlines_of(self, program):
        self.record("inlines.data", program, "-e", "instructions:ppp", "-c", "100003", "-g")
        return self.zeroskid("report", "-i", "inlines.data", "--inline", "--stdio", "--no-children").stdout

    @unittest.skipUnless(shutil.which("clang"), "no clang")
    def test_of_clang_which_writes_no_aranges(self):
        program = self.build("by_clang", INLINED, "clang", "-O1", "-g")
        sections = subprocess.run(["readelf", "-S", program], capture_output=True, text=True, check=True).stdout
        self.assertIn(".debug_info", sections)
        self.assertNotIn(".debug_aranges", sections)
        self.assertRegex(self.lines_of(program), r"by_clang\.c:[45]")
        self.assertIn("deep (inlined)", self.inlines_of(program))

    def functions_at(self, program):
        """{address of a sample in `program`: the functions inlined there, innermost first}"""
        self.record("all.data", program, "-e", "instructions:ppp", "-c", "41", "-g")
        found = {}
        for sample in self.zeroskid("script", "-i", "all.data", "-F", "ip,sym,dso").stdout.split("\n\n"):
            names = []
            for address, name, rest in re.findall(r"^\s+([0-9a-f]+) (.*) \((.*)\)$", sample, re.MULTILINE):
                names.append(name)
                if rest != "inlined":
                    if rest == str(program):
                        found[int(address, 16)] = names
                    break
        return found

    def test_the_inlined_functions_are_those_of_addr2line(self):
        for compiler, source in (("g++", IN_NAMESPACES), ("clang++", IN_NAMESPACES), ("gcc", IN_A_FUNCTION), ("rustc", IN_RUST)):
            if shutil.which(compiler) is None:
                continue
            flags = ("-O", "-g", "-C", "link-arg=-fuse-ld=bfd") if compiler == "rustc" else ("-O1", "-g")
            program = self.build(f"inlined_by_{compiler}", source, compiler, *flags)
            ours = self.functions_at(program)
            told = subprocess.run(["addr2line", "-a", "-i", "-f", "-e", program, *map(hex, ours)], capture_output=True,
                                  text=True, check=True).stdout
            theirs = [lines.splitlines()[1::2] for lines in re.split(r"^0x", told, flags=re.MULTILINE)[1:]]
            self.assertEqual(len(ours), len(theirs), compiler)
            inlined = 0
            for (address, names), functions in zip(ours.items(), theirs):
                if functions != ["??"]:
                    self.assertEqual(len(names), len(functions), (compiler, hex(address), names, functions))
                    inlined += len(names) > 1
            self.assertGreater(inlined, 2, compiler)

    def test_functions_of_a_stripped_program_are_told_apart_by_where_they_begin(self):
        program = self.build("stripped", IN_A_FUNCTION, "gcc", "-O1", "-rdynamic")
        table = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
        starts = {name: int(address, 16) for address, kind, name in re.findall(r"^(\w+) ([tT]) (\S+)$", table, re.MULTILINE)}

        def shares():
            self.record("all.data", program, "-e", "instructions:ppp", "-c", "41")
            page = self.zeroskid("report", "-i", "all.data", "-s", "dso,symbol").stdout
            return {name: share for share, name in re.findall(r"^ +([\d.]+)%  stripped +\[\.\] (\S+)$", page, re.MULTILINE)}

        named = shares()
        self.assertGreater(float(named["step.0"]), 5)
        subprocess.run(["strip", program], check=True)
        stripped = shares()
        self.assertEqual(stripped[f"func@{starts['step.0']:#x}"], named["step.0"])
        self.assertEqual(stripped["outer"], named["outer"])  # a dynamic symbol is left
        asked = f"func@{starts['step.0']:#x}"
        lines = self.zeroskid("annotate", "-i", "all.data", asked).stdout
        self.assertIn(f"<{asked}>", lines)
        self.assertAlmostEqual(sum(map(float, re.findall(r"^ +(\d+\.\d\d) :", lines, re.MULTILINE))), 100, delta=1)

    def test_lists_of_commands_files_and_functions_leave_lines_out_as_perfs_do(self):
        program = self.build("listed", IN_A_FUNCTION, "gcc", "-O1")
        self.record("listed.data", "sh", "-e", "instructions:ppp", "-c", "97", "--", "sh", "-c", f"{program}; true")

        def lines(command, *words):
            made = subprocess.run([*command, "report", "--stdio", "-i", "listed.data", *words], capture_output=True, text=True,
                                  cwd=self.here, check=True)
            # dash is stripped: what has no names there perf shows by its addresses. Below a page perf has a tip, a random one.
            # Of an entry of a PLT that has no symbol of its own perf knows "@plt" alone, or takes it for the _init before it.
            return [line.rstrip() for line in made.stdout.splitlines()
                    if "%" in line and not line.startswith("#") and not re.search(r" dash |@plt$| _init$", line.rstrip())]

        for words in (["-d", "libc.so.6,listed"], ["--dsos", f"{program},libc.so.6"], ["-S", "outer,step.0,main"], ["-c", "listed,none"],
                      ["-c", "listed,sh", "-S", "main,outer"]):
            ours = lines([ZEROSKID], *words)
            self.assertEqual(ours, lines(["perf"], *words), words)
            self.assertGreater(len(ours), 0, words)
            self.assertLess(len(ours), len(lines([ZEROSKID])), words)
        for share, pid in re.findall(r"(?m)^ +([\d.]+)% +(\d+):listed", self.zeroskid("report", "-i", "listed.data", "-s", "pid").stdout):
            for option in ("--pid", "--tid"):
                of_it = self.zeroskid("report", "-i", "listed.data", "-s", "comm", "-c", "listed", option, f"{pid},1").stdout
                self.assertRegex(of_it, rf"(?m)^ +{share}%  listed *$")
                self.assertNotIn("%", self.zeroskid("report", "-i", "listed.data", option, "1").stdout)
        wrong = self.zeroskid("report", "-i", "listed.data", "--pid", "12,x")
        self.assertEqual((wrong.returncode, wrong.stdout), (129, ""))
        self.assertIn("--pid 12,x: not the number of a process or thread", wrong.stderr)
        self.assertEqual(self.zeroskid("report", "-i", "listed.data", "--pid", "0").returncode, 0)  # swapper, of other recordings

    def test_of_compressed_sections(self):
        for kind in ("zlib", "zstd", "zlib-gnu"):
            program = self.build(f"by_{kind}", INLINED, "gcc", "-O1", "-g")
            subprocess.run(["objcopy", f"--compress-debug-sections={kind}", program], check=True)
            self.assertRegex(self.lines_of(program), r"\.c:[45]", kind)
            self.assertIn("deep (inlined)", self.inlines_of(program), kind)

    def test_of_split_debug_information(self):
        for compiler in ("gcc", "clang"):
            if shutil.which(compiler) is None:
                continue
            program = self.build(f"split_{compiler}", INLINED, compiler, "-O1", "-g", "-gsplit-dwarf")
            self.assertRegex(self.lines_of(program), r"\.c:[45]", compiler)
            self.assertIn("deep (inlined)", self.inlines_of(program), compiler)
            for split in self.here.glob("*.dwo"):
                split.unlink()
            told = self.zeroskid("report", "-i", "inlines.data", "--inline", "--no-children").stderr
            self.assertRegex(told, r"its split debug information, .*\.dwo, is not there \(packages, \.dwp, are not read\)")

    def test_of_a_separate_file_in_perfs_cache(self):
        program = self.build("cached", INLINED, "gcc", "-O1", "-g", "-Wl,--build-id=sha1")
        notes = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout
        build_id = re.search(r"Build ID: (\w+)", notes).group(1)
        folder = self.here / ".debug/.build-id" / build_id[:2] / build_id[2:]
        folder.mkdir(parents=True)
        subprocess.run(["objcopy", "--only-keep-debug", program, folder / "debug"], check=True)
        subprocess.run(["strip", program], check=True)
        self.record("lines.data", program)
        page = self.zeroskid("report", "-i", "lines.data", "-s", "srcline", env={**os.environ, "HOME": str(self.here)}).stdout
        self.assertRegex(page, r"%  cached\.c:[45]")

    def test_of_files_below_a_directory(self):
        program = self.build("elsewhere", INLINED, "gcc", "-O1", "-g", "-Wl,--build-id=sha1")
        notes = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout
        build_id = re.search(r"Build ID: (\w+)", notes).group(1)
        self.record("lines.data", program)
        by_cache = f".debug/.build-id/{build_id[:2]}/{build_id[2:]}"
        for root, places in (("whole", {str(program)[1:]: ()}), ("cached", {by_cache + "/elf": ()}),
                             ("split", {str(program)[1:]: ("--strip-all",), f"usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug": ("--only-keep-debug",)}),
                             ("split_cached", {str(program)[1:]: ("--strip-all",), by_cache + "/debug": ("--only-keep-debug",)})):
            for place, options in places.items():
                target = self.here / "below" / root / place
                target.parent.mkdir(parents=True, exist_ok=True)
                subprocess.run(["objcopy", *options, program, target], check=True)
        program.unlink()
        page = self.zeroskid("report", "-i", "lines.data", "-s", "srcline").stdout
        self.assertRegex(page, r"%  elsewhere\[")
        for root in ("whole", "cached", "split", "split_cached"):
            page = self.zeroskid("report", "-i", "lines.data", "-s", "srcline", "--symfs", self.here / "below" / root).stdout
            self.assertRegex(page, r"%  elsewhere\.c:[45]", root)
        script = self.zeroskid("script", "-i", "lines.data", "-F", "ip,sym", "--symfs", self.here / "below/whole").stdout
        self.assertIn("work", script.split())
        self.assertIn("sum += i * i ^ sum", self.zeroskid("annotate", "-i", "lines.data", "--symfs", self.here / "below/whole").stdout)
        told = self.zeroskid("report", "-i", "lines.data", "--symfs", "/nowhere").stderr
        self.assertIn(f"/nowhere{program}: no longer there", told)

    @unittest.skipUnless(shutil.which("go"), "no Go")
    def test_of_go(self):
        source = ("package main\n\n//go:noinline\nfunc work(n int) (sum int) {\n\tfor i := 0; i < n; i++ {\n"
                  "\t\tsum += i * i ^ sum\n\t}\n\treturn\n}\n\nfunc main() { println(work(20000000)) }\n")
        program = self.build("by_go", source, "go", "build")
        self.assertRegex(self.lines_of(program), r"by_go\.go:[56]")
        self.assertIn("[.] main.work", self.zeroskid("report", "-i", "lines.data").stdout)
        for name, *flags in (("stripped_go", "-ldflags=-s -w"), ("stripped_pie", "-ldflags=-s -w", "-buildmode=pie")):
            self.record("stripped.data", self.build(name, source, "go", "build", *flags))
            page = self.zeroskid("report", "-i", "stripped.data", "-s", "symbol").stdout
            self.assertRegex(page, r"(?m)^ +(9\d|100)\.\d\d%  \[\.\] main\.work$", name)

    @unittest.skipUnless(shutil.which("rustc"), "no Rust")
    def test_of_rust_in_both_manglings(self):
        source = ("mod deep { pub struct Table(pub Vec<u64>); impl Table { #[inline(never)] pub fn fill(&mut self, n: u64) {\n"
                  "for i in 0..n { let at = (i % 7) as usize; self.0[at] = self.0[at].wrapping_add(i * i); } } } }\n"
                  "fn main() { let mut t = deep::Table(vec![0; 7]); t.fill(3000000); println!(\"{}\", t.0[3]); }\n")
        for mangling in ("legacy", "v0"):
            extra = ["-C", f"symbol-mangling-version={mangling}"]
            if mangling == "legacy":
                extra = ["-Z", "unstable-options", *extra]
            try:
                program = self.build(f"rust_{mangling}", source, "rustc", "-O", "-g", *extra)
            except subprocess.CalledProcessError:
                if mangling == "v0":
                    raise
                continue  # a compiler that has only the newer one
            self.record("rust.data", program)
            page = self.zeroskid("report", "-i", "rust.data").stdout
            self.assertRegex(page, rf"\[\.\] (<?rust_{mangling}::)?\S*deep::Table>?::fill\n")
            raw = self.zeroskid("report", "-i", "rust.data", "--no-demangle").stdout
            self.assertRegex(raw, r"\[\.\] _(R|ZN)\w+4fill")


if __name__ == "__main__":
    ZEROSKID = os.path.abspath(sys.argv.pop(1))
    unittest.main()
