"""Instruction-based sampling of zen4, recorded and read: raw registers, addresses and sources of data as stock perf decodes them,
and each sample against what the program is.   ibs_test.py ZEROSKID GUESTS
"""
import collections
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

from recordings import run

#: A walk through memory that nobody has touched; a chase through so many lines; a loop of stores; calls.
PROGRAM = r"""
#include <stdlib.h>
#define HERE __attribute__((noinline, noclone))
static long* cells;
static volatile long sink;
HERE static long chase(long at, int steps) { while (steps--) at = cells[at]; return at; }
HERE static long walk(const char* at, int steps) { long sum = 0; while (steps--) sum += *at, at += 4160; return sum; }
HERE static void fill(long* to, long n) { for (volatile long i = 0; i < n; i++) to[i & 511] = i; }
HERE static long leaf(long x) { return x * 3 + sink; }
HERE static long calls(int n) { long sum = 0; while (n--) sum += leaf(sum); return sum; }
int main(int argc, char** argv) {
  enum { kStride = 8 };
  const long kCells = argc > 1 ? atol(argv[1]) : 1 << 13;
  cells = malloc(sizeof(long) * kCells * kStride);
  long at = 0;
  unsigned long random = 1;
  for (long i = 0; i < kCells; i++) cells[i * kStride] = i;
  for (long i = kCells - 1; i > 0; i--) {
    random = random * 6364136223846793005UL + 1442695040888963407UL;
    const long j = (long)((random >> 33) % (unsigned long)i), t = cells[i * kStride];
    cells[i * kStride] = cells[j * kStride];
    cells[j * kStride] = t;
  }
  for (long i = 0; i < kCells; i++) cells[i * kStride] *= kStride;
  sink = chase(at, 40000);
  enum { kSteps = 12000 };
  sink = walk(malloc(4160L * kSteps), kSteps);
  static long small[512];
  fill(small, 20000);
  return calls(20000) == 42;
}
"""
ZEROSKID = GUESTS = ""


def access_bytes(suffix, register):
    """Of a move that objdump shows with this suffix, or of this register."""
    if suffix:
        return {"b": 1, "w": 2, "l": 4, "q": 8}[suffix]
    return 8 if re.fullmatch(r"r([a-ds][ipx]|bp|\d+)|rsi|rdi", register) else 4 if re.fullmatch(r"e\w\w|r\d+d", register) else None


class Sampled(unittest.TestCase):
    """One recording of ops for all tests."""
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        (cls.folder / "p.c").write_text(PROGRAM)
        run("cc", "-O1", "-fno-pie", "-no-pie", "-static", "-o", "p", "p.c", folder=cls.folder)
        cls.record("ops.data", "ibs_op/cnt_ctl=1/", "-c", "1600")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def record(cls, name, event, *options):
        run(ZEROSKID, "record", "-q", "--model", "zen4", "--virtual-time", "-R", "-d", "-W", "-e", event, *options, "-o", name,
            "--", "./p", folder=cls.folder, status=None)

    def shown(self, tool, *words, name="ops.data"):
        return run(tool, *words, "-i", name, folder=self.folder).stdout


@unittest.skipIf(shutil.which("perf") is None, "perf is not installed (apt install linux-perf)")
class AsPerf(Sampled):
    def test_stock_perf_decodes_the_registers_of_every_sample(self):
        text = self.shown("perf", "script", "-D")
        samples = text.count("PERF_RECORD_SAMPLE")
        self.assertGreater(samples, 100)
        for line in (r"^ibs_op_ctl:\t[0-9a-f]{16} MaxCnt +1600 L3MissOnly 0 En 1 Val 1 CntCtl 1=uOps CurCnt +\d+$",
                     r"^IbsOpRip:\t[0-9a-f]{16}$", r"^ibs_op_data:\t[0-9a-f]{16} CompToRetCtr", r"^ibs_op_data2:\t[0-9a-f]{16} ",
                     r"^ibs_op_data3:\t[0-9a-f]{16} LdOp "):
            self.assertEqual(len(re.findall(line, text, re.MULTILINE)), samples, line)
        self.assertTrue(re.search(r"DataSrc 3=.*DRAM", text))
        self.assertTrue(re.search(r"OpBrnTaken 1 .*BrnRet 1", text))
        # The register, the sample's own address, and its instruction pointer say the same.
        pieces = text.split("PERF_RECORD_SAMPLE")
        for before, sample in zip(pieces, pieces[1:]):
            ip, address = re.search(r"^\(IP, [^)]*\): \d+/\d+: 0x([0-9a-f]+) period: 1600 addr: (0x)?([0-9a-f]+)", sample).group(1, 3)
            registers = before[before.rindex("ibs_op_ctl:"):]
            self.assertEqual(int(re.search(r"IbsOpRip:\t([0-9a-f]+)", registers)[1], 16), int(ip, 16))
            linear = re.search(r"IbsDCLinAd:\t([0-9a-f]+)", registers)
            self.assertEqual(int(linear[1], 16) if linear else 0, int(address, 16))

    def test_stock_perf_reports_them(self):
        self.assertTrue("ibs_op_data3:" in self.shown("perf", "report", "-D"))
        self.assertRegex(self.shown("perf", "report", "--stdio", "--header-only"),
                         r"pmu mappings: .*ibs_fetch = 10.*ibs_op = 11")
        report = self.shown("perf", "report", "--stdio", "--sort", "sym")
        self.assertIn("ibs_op/cnt_ctl=1/", report)
        self.assertRegex(report, r"\[\.\] chase")

    def test_sources_and_weights_are_those_that_stock_perf_shows(self):
        fields = ("script", "-F", "ip,sym,addr,weight,data_src")
        rows = [line.split() for line in self.shown("perf", *fields).splitlines()]
        self.assertTrue(any("RAM" in " ".join(row) for row in rows))
        of_walk = [" ".join(row) for row in rows if "walk" in row]
        self.assertTrue(any("LOAD" in row and "RAM" in row for row in of_walk), of_walk[:5])


class AsItIs(Sampled):
    def samples(self, name="ops.data"):
        """[{register: value}] of `script --raw`."""
        text = self.shown(ZEROSKID, "script", "--raw", name=name)
        return [{word[1]: int(word[2], 16) for word in re.finditer(r"^  (Ibs\w+) +([0-9a-f]{16})", block, re.MULTILINE)}
                for block in text.split("\nop sample, capabilities bff\n")[1:]]

    def test_each_sample_is_of_an_instruction_of_the_program(self):
        listing = run("objdump", "-d", "--no-show-raw-insn", "p", folder=self.folder).stdout
        code = {int(row[1], 16): row[2] for row in re.finditer(r"^ +([0-9a-f]+):\t(.*)$", listing, re.MULTILINE)}
        kinds = collections.Counter()
        widths, walks = set(), 0
        for sample in self.samples():
            text = code[sample["IbsOpRip"]]
            data, data3 = sample["IbsOpData"], sample["IbsOpData3"]
            branch = re.match(r"(bnd |notrack )?(j\w+|call|ret)\b", text) is not None
            self.assertEqual(data >> 37 & 1, branch, text)
            self.assertEqual(sample["IbsBrTarget"] != 0, bool(data >> 35 & 1), text)
            if re.match(r"mov +[^,]*\(.*\),%", text):
                self.assertEqual(data3 & 3, 1, text)
            if re.match(r"mov +[^(]+,[^,]*\(", text):
                self.assertEqual(data3 & 3, 2, text)
            self.assertEqual(data3 >> 17 & 1, sample["IbsDcLinAd"] != 0, text)
            if wide := re.match(r"mov(?:[sz]?([bwlq])[lq]?)? +(?:[^%$]*\(.*\),)?[%$](\w+)", text):
                if data3 & 3 and (bytes_there := access_bytes(wide[1], wide[2])):
                    self.assertEqual(data3 >> 22 & 15, bytes_there.bit_length(), text)
                    widths.add(bytes_there)
            walked, took = data3 >> 3 & 1, data3 >> 48
            self.assertTrue(walked or not took, text)
            if walked and re.match(r"mov\w* ", text):
                self.assertGreater(took, 0, text)
                walks += 1
            kinds["branch" if branch else "load" if data3 & 1 else "store" if data3 & 2 else "other"] += 1
        self.assertGreater(min(kinds[kind] for kind in ("branch", "load", "store", "other")), 0, kinds)
        self.assertLessEqual({1, 8}, widths)
        self.assertGreater(walks, 0)

    def test_periods_are_shorter_by_the_random_start_alone(self):
        counts = [sample["IbsOpCtl"] >> 32 & 0x7FFFFFF for sample in self.samples()]
        self.assertGreater(len(set(counts)), 50)
        self.assertTrue(all(1 <= count <= 127 for count in counts))
        run(ZEROSKID, "stat", "-q", "-j", "-o", "counts", "--model", "zen4", "--virtual-time", "--detail", "complete", "-e",
            "ex_ret_instr", "--", "./p", folder=self.folder, status=None)
        instructions = int(float(re.search(r'"counter-value" ?: ?"([\d.]+)"', (self.folder / "counts").read_text())[1]))
        expected = (instructions + sum(counts)) / 1600
        self.assertLess(abs(len(counts) - expected), 2)

    def test_cycles_sample_what_takes_time(self):
        self.record("cycles.data", "ibs_op//", "-c", "1600")
        report = self.shown(ZEROSKID, "report", "-s", "sym", name="cycles.data")
        share = {row[2]: float(row[1]) for row in re.finditer(r"^ *([\d.]+)% .*?\[\.\] (\w+)", report, re.MULTILINE)}
        self.assertGreater(share["walk"] + share["chase"], 2 * (share.get("calls", 0) + share.get("leaf", 0) + share.get("fill", 0)))
        self.assertTrue(all(sample["IbsOpCtl"] >> 19 & 1 == 0 for sample in self.samples("cycles.data")))

    def test_l3missonly_samples_loads_from_beyond_l3(self):
        self.record("missed.data", "ibs_op/cnt_ctl=1,l3missonly=1/", "-c", "160")
        found = self.samples("missed.data")
        self.assertGreater(len(found), 100)
        for sample in found:
            self.assertEqual(sample["IbsOpData2"] & 7, 3)
            self.assertEqual(sample["IbsOpData3"] & 1, 1)
            self.assertEqual(sample["IbsOpCtl"] >> 16 & 1, 1)

    def test_two_runs_give_the_same_samples(self):
        self.record("again.data", "ibs_op/cnt_ctl=1/", "-c", "1600")
        self.assertEqual(self.samples("again.data"), self.samples())


#: Code of 12 MB, of which each call runs one line in a page of its own.
CODE = r"""
__asm__(".text\n.balign 4096\n.globl many\nmany:\n.rept 3000\nret\n.skip 4159, 0x90\n.endr\n");
extern char many[];
__attribute__((noinline, noclone)) static void visit(unsigned at) { ((void (*)(void))(many + 4160ul * at))(); }
int main(void) {
  unsigned at = 1;
  for (int i = 0; i < 6000; i++) visit(at = (at * 61u + 7u) % 3000u);
  return 0;
}
"""


class Fetches(unittest.TestCase):
    """Recordings of fetches; each instruction is fetched by itself."""
    maxDiff = None
    PERIOD = 16

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        (cls.folder / "p.c").write_text(CODE)
        run("cc", "-O1", "-fno-pie", "-no-pie", "-static", "-o", "p", "p.c", folder=cls.folder)
        cls.record("fetches.data", "ibs_fetch//", "-c", cls.PERIOD)
        run(ZEROSKID, "stat", "-q", "-j", "-o", "counts", "--model", "zen4", "--virtual-time", "--detail", "complete", "-e",
            "ex_ret_instr,ic_tag_hit_miss.instruction_cache_miss", "--", "./p", folder=cls.folder)
        cls.instructions, cls.misses = (int(float(number)) for number in re.findall(
            r'"counter-value" ?: ?"([\d.]+)"', (cls.folder / "counts").read_text()))

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def record(cls, name, event, *options):
        run(ZEROSKID, "record", "-q", "--model", "zen4", "--virtual-time", "-R", "-e", event, *options, "-o", name, "--", "./p",
            folder=cls.folder)

    def samples(self, name="fetches.data"):
        text = run(ZEROSKID, "script", "--raw", "-i", name, folder=self.folder).stdout
        return [{word[1]: int(word[2], 16) for word in re.finditer(r"^  (Ibs\w+) +([0-9a-f]{16})", block, re.MULTILINE)}
                for block in text.split("\nfetch sample, capabilities bff\n")[1:]]

    @unittest.skipIf(shutil.which("perf") is None, "perf is not installed (apt install linux-perf)")
    def test_stock_perf_decodes_the_registers_of_every_sample(self):
        text = run("perf", "script", "-D", "-i", "fetches.data", folder=self.folder).stdout
        samples = text.count("PERF_RECORD_SAMPLE")
        self.assertGreater(samples, 1000)
        for line in (r"^ibs_fetch_ctl:\t[0-9a-f]{16} MaxCnt +16 Cnt +16 Lat +\d+ En 1 Val 1 Comp 1 IcMiss [01] PhyAddrValid 0 "
                     r"L1TlbMiss [01] L2TlbMiss [01] RandEn 0 L2Miss [01] L3MissOnly 0 FetchOcMiss 0 FetchL3Miss [01]$",
                     r"^IbsFetchLinAd:\t[0-9a-f]{16}$", r"^ic_ibs_ext_ctl:\t[0-9a-f]{16} IbsItlbRefillLat +\d+$"):
            self.assertEqual(len(re.findall(line, text, re.MULTILINE)), samples, line)
        self.assertRegex(text, r"IcMiss 1 .*FetchL3Miss 1")
        self.assertRegex(text, r"L2TlbMiss 1 ")
        pieces = text.split("PERF_RECORD_SAMPLE")
        for before, sample in zip(pieces, pieces[1:]):
            ip = re.search(r"^\(IP, [^)]*\): \d+/\d+: 0x([0-9a-f]+) period: 16 addr: (?:0x)?0$", sample, re.MULTILINE)[1]
            registers = before[before.rindex("ibs_fetch_ctl:"):]
            self.assertEqual(int(re.search(r"IbsFetchLinAd:\t([0-9a-f]+)", registers)[1], 16), int(ip, 16))
        self.assertIn("ibs_fetch_ctl:", run("perf", "report", "-D", "-i", "fetches.data", folder=self.folder).stdout)
        report = run("perf", "report", "--stdio", "--sort", "sym", "-i", "fetches.data", folder=self.folder).stdout
        self.assertRegex(report, r"ibs_fetch//[^$]*\[\.\] visit")

    def test_each_is_an_instruction_of_the_program_one_in_each_period(self):
        listing = run("objdump", "-d", "--no-show-raw-insn", "p", folder=self.folder).stdout
        code = {int(row, 16) for row in re.findall(r"^ +([0-9a-f]+):\t", listing, re.MULTILINE)}
        found = self.samples()
        self.assertEqual(len(found), self.instructions // self.PERIOD)
        self.assertEqual({sample["IbsFetchLinAd"] for sample in found} - code, set())
        self.assertEqual({sample["IbsFetchPhysAd"] for sample in found}, {0})

    def test_misses_of_the_instruction_cache_are_as_many_as_are_counted(self):
        found = self.samples()
        missed = [sample for sample in found if sample["IbsFetchCtl"] >> 51 & 1]
        self.assertGreater(self.misses, 5000)
        self.assertLess(abs(len(missed) * self.PERIOD / self.misses - 1), 0.1)
        for sample in found:
            control = sample["IbsFetchCtl"]
            ic_miss, l1_tlb, l2_tlb, l2, l3 = (control >> at & 1 for at in (51, 55, 56, 58, 61))
            self.assertGreaterEqual(ic_miss, l2)
            self.assertGreaterEqual(l2, l3)
            self.assertGreaterEqual(l1_tlb, l2_tlb)
            self.assertEqual(bool(control >> 32 & 0xFFFF), bool(ic_miss or l1_tlb), hex(control))
            self.assertEqual(bool(sample["IbsFetchCtlExtd"]), bool(l2_tlb), sample)
        self.assertGreater(sum(sample["IbsFetchCtl"] >> 61 & 1 for sample in missed), 100, "each line once from memory")

    def test_rand_en_shortens_a_period_by_up_to_15(self):
        self.record("random.data", "ibs_fetch/rand_en=1/", "-c", 160)
        found = self.samples("random.data")
        self.assertTrue(all(sample["IbsFetchCtl"] >> 57 & 1 for sample in found))
        self.assertLess(abs(len(found) / (self.instructions / (160 - 7.5)) - 1), 0.01)

    def test_l3missonly_samples_what_comes_from_memory(self):
        self.record("missed.data", "ibs_fetch/l3missonly=1/", "-c", self.PERIOD)
        found = self.samples("missed.data")
        self.assertGreater(len(found), 50)
        for sample in found:
            self.assertEqual(sample["IbsFetchCtl"] >> 58 & 0xB, 0xB, "L2Miss, L3MissOnly, FetchL3Miss")

    def test_two_runs_give_the_same_samples(self):
        self.record("again.data", "ibs_fetch//", "-c", self.PERIOD)
        self.assertEqual(self.samples("again.data"), self.samples())

    def test_fetches_and_ops_are_sampled_beside_each_other(self):
        self.record("both.data", "ibs_fetch//,ibs_op/cnt_ctl=1/", "-c", 1600)
        report = run(ZEROSKID, "script", "-F", "event", "-i", "both.data", folder=self.folder).stdout.split()
        counts = collections.Counter(word.rstrip(":") for word in report)
        self.assertEqual(counts["ibs_fetch//"], self.instructions // 1600)
        self.assertGreater(counts["ibs_op/cnt_ctl=1/"], self.instructions // 1600)
        if shutil.which("perf"):
            text = run("perf", "script", "-D", "-i", "both.data", folder=self.folder).stdout
            self.assertEqual(text.count("ibs_fetch_ctl:"), counts["ibs_fetch//"])
            self.assertEqual(text.count("ibs_op_ctl:"), counts["ibs_op/cnt_ctl=1/"])

    def test_counts_nothing(self):
        told = run(ZEROSKID, "stat", "--model", "zen4", "-e", "ibs_fetch//", "--", "/bin/true", status=129).stderr
        self.assertIn("ibs_fetch//: samples, and counts nothing", told)


class Accesses(Sampled):
    def memory(self, *words, status=0):
        return run(ZEROSKID, "mem", "record", "-q", "--model", "zen4", "--virtual-time", "-o", "m.data", *words, folder=self.folder,
                   status=status).stderr

    def test_mem_record_says_where_the_data_of_chases_was(self):
        for kib, level in ((16, "L1 or L1 hit"), (512, "L2 or L2 hit"), (8 << 10, "L3 or L3 hit"), (128 << 10, "Local RAM or RAM hit")):
            self.memory("-c", 496, "--", "./p", kib * 1024 // 64, status=None)
            of_chase = [line for line in self.shown(ZEROSKID, "script", "-F", "ip,sym,data_src", name="m.data").splitlines() if "chase" in line]
            levels = collections.Counter(re.findall(r"OP LOAD\|LVL ([^|]+)\|", "\n".join(of_chase)))
            self.assertGreater(sum(levels.values()), 50)
            self.assertGreater(levels[level], 0.6 * sum(levels.values()), (kib, levels))
            self.assertRegex(self.shown(ZEROSKID, "mem", "report", "-s", "mem,symbol", name="m.data"), rf"{level} +\[\.\] chase")

    def test_a_short_program_has_samples_enough_at_the_usual_frequency(self):
        self.memory("--", "./p", 256, status=None)
        self.assertGreater(len(self.shown(ZEROSKID, "script", "-F", "ip", name="m.data").splitlines()), 300, "some 50 at that rate alone")

    def test_what_it_cannot_tell_apart_is_refused(self):
        for words, told in ((("-t", "load"), "samples ops, loads and stores alike"), (("--ldlat", 50), "it has no threshold")):
            self.assertIn(told, self.memory(*words, "--", "/bin/true", status=129))


if __name__ == "__main__":
    ZEROSKID, GUESTS = map(os.path.abspath, sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
