#!/usr/bin/env python3
"""`c2c report` and `mem report` of files that stock perf records on processors with other samples of memory accesses: AMD's IBS and ARM's
SPE. The files are made here, as the kernel and perf fill them (kernel: arch/x86/events/amd/ibs.c; perf: util/arm-spe.c).
  other_hardware_test.py ZEROSKID
"""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": "/"}
ZEROSKID = ""

# perf_event_attr.sample_type
IP, TID, TIME, ADDR, ID, CPU, PERIOD, WEIGHT, DATA_SRC, PHYS_ADDR, WEIGHT_STRUCT = (
    1 << bit for bit in (0, 1, 2, 3, 6, 7, 8, 14, 15, 19, 24))
MMAP, COMM, SAMPLE, AUXTRACE_INFO, AUXTRACE = 1, 3, 9, 70, 71
ARCH, PROCESSORS, CPUDESC, EVENT_DESC, NODES = 6, 7, 8, 12, 14
ENTRY = 128 + 16  # an attribute, and where its numbers are

# perf_mem_data_src
NA, LOAD, STORE = 1, 2, 4
HIT, MISS, L1, L2, L3, RAM, REMOTE_RAM, REMOTE_CACHE = 2, 4, 8, 0x20, 0x40, 0x80, 0x100, 0x400
SNOOP_NONE, SNOOP_HIT, SNOOP_MISS, HITM = 2, 4, 8, 0x10
PEER = 2


def source(op, level=NA, snoop=NA, lock=NA, tlb=NA, number=0, remote=0, snoopx=0, hops=0):
    return op | level << 5 | snoop << 19 | lock << 24 | tlb << 26 | number << 33 | remote << 37 | snoopx << 38 | hops << 43


def text(word):
    raw = word.encode() + b"\0"
    return raw + bytes(-len(raw) % 8)


class File:
    """A perf.data file with events of one attribute each."""

    def __init__(self, machine, cpu):
        self.machine, self.cpu = machine, cpu
        self.attributes, self.names, self.records, self.time = [], [], b"", 1000

    def event(self, name, type_, config, fields, precise=0):
        flags = 1 << 18 | precise << 15  # sample_id_all
        if not self.attributes:
            flags |= 1 << 8 | 1 << 9  # mmap, comm
        attribute = struct.pack("<IIQQQQQ", type_, 128, config, 1000, fields, 4, flags)
        self.attributes.append((attribute + bytes(128 - len(attribute)), fields))
        self.names.append(name)

    def record(self, kind, misc, body):
        self.records += struct.pack("<IHH", kind, misc, 8 + len(body)) + body

    def identity(self, tid):
        """What other records end with."""
        fields, out = self.attributes[0][1], b""
        self.time += 10
        if fields & TID:
            out += struct.pack("<II", 100, tid)
        if fields & TIME:
            out += struct.pack("<Q", self.time)
        if fields & ID:
            out += struct.pack("<Q", 1)
        if fields & CPU:
            out += struct.pack("<II", 0, 0)
        return out

    def process(self):
        self.record(COMM, 0, struct.pack("<II", 100, 100) + text("fight") + self.identity(100))
        self.record(MMAP, 2, struct.pack("<IIQQQ", 100, 100, 0x401000, 0x1000, 0x1000) + text("/nowhere/fight") + self.identity(100))
        self.record(MMAP, 2 | 1 << 13, struct.pack("<IIQQQ", 100, 100, LINE, 0x1000, 0) + text("//anon") + self.identity(100))

    def sample(self, event, tid, ip, address, data_source, latency=0):
        fields = self.attributes[event][1]
        self.time += 10
        values = ((IP, struct.pack("<Q", ip)), (TID, struct.pack("<II", 100, tid)), (TIME, struct.pack("<Q", self.time)),
                  (ADDR, struct.pack("<Q", address)), (ID, struct.pack("<Q", event + 1)), (CPU, struct.pack("<II", tid % 2, 0)),
                  (PERIOD, struct.pack("<Q", 1000)), (WEIGHT, struct.pack("<Q", latency)),
                  (WEIGHT_STRUCT, struct.pack("<IHH", latency, latency + 5, 0)), (DATA_SRC, struct.pack("<Q", data_source)),
                  (PHYS_ADDR, struct.pack("<Q", address)))
        self.record(SAMPLE, 2, b"".join(value for field, value in values if fields & field))

    def write(self, path):
        ids = 104 + len(self.attributes) * ENTRY
        data = ids + 8 * len(self.attributes)
        words = lambda word: struct.pack("<I", len(text(word))) + text(word)
        described = struct.pack("<II", len(self.attributes), 128)
        for number, ((attribute, _), name) in enumerate(zip(self.attributes, self.names)):
            described += attribute + struct.pack("<I", 1) + words(name) + struct.pack("<Q", number + 1)
        nodes = struct.pack("<IIQQ", 1, 0, 1 << 20, 1 << 19) + words("0-1")
        features = [words(self.machine), struct.pack("<II", 2, 2), words(self.cpu), described, nodes]
        bits = 1 << ARCH | 1 << PROCESSORS | 1 << CPUDESC | 1 << EVENT_DESC | 1 << NODES
        table = data + len(self.records)
        at = table + 16 * len(features)
        with open(path, "wb") as out:
            out.write(struct.pack("<8sQQQQQQQQ", b"PERFILE2", 104, ENTRY, 104, ENTRY * len(self.attributes), data, len(self.records), 0, 0))
            out.write(struct.pack("<QQQQ", bits, 0, 0, 0))
            for number, (attribute, _) in enumerate(self.attributes):
                out.write(attribute + struct.pack("<QQ", ids + 8 * number, 8))
            for number in range(len(self.attributes)):
                out.write(struct.pack("<Q", number + 1))
            out.write(self.records)
            for feature in features:
                out.write(struct.pack("<QQ", at, len(feature)))
                at += len(feature)
            for feature in features:
                out.write(feature)


LINE, OTHER = 0x7F0000001000, 0x7F0000001040


def ibs(fields=IP | TID | TIME | ADDR | ID | CPU | PERIOD | DATA_SRC | WEIGHT_STRUCT | PHYS_ADDR):
    """As `perf c2c record` makes it on Zen: one event for loads, stores and what touches no memory. There is no address then."""
    file = File("x86_64", "AMD EPYC 7713 64-Core Processor")
    file.event("ibs_op//", 11, 0, fields)
    file.process()
    for i in range(40):
        file.sample(0, 100, 0x401010, LINE + 8, source(LOAD, REMOTE_CACHE | HIT, HITM, tlb=L1 | HIT), 300)
        file.sample(0, 101, 0x401020, LINE, source(STORE, L1 | HIT, tlb=L1 | HIT))
        file.sample(0, 100, 0x401030, 0, source(NA))
        if i % 4 == 0:
            file.sample(0, 100, 0x401014, OTHER, source(LOAD, L3 | HIT, HITM, tlb=L1 | HIT), 120)
            file.sample(0, 100, 0x401018, OTHER + 0x40, source(LOAD, RAM | HIT, tlb=L2 | HIT), 400)
            file.sample(0, 101, 0x401024, OTHER, source(STORE, L1 | MISS, tlb=L1 | HIT))
    return file


def spe(snoops):
    """What `perf inject --itrace` makes of SPE: events by what was found, no level of stores but L1's; who had the line is said where
    the processor's own source packet does (`snoops`), as a peer's and not as HITM."""
    file = File("aarch64", "Neoverse-N1")
    fields = IP | TID | TIME | ADDR | ID | CPU | PERIOD | DATA_SRC | WEIGHT
    for name in ("l1d-miss", "l1d-access", "memory"):
        file.event(name, 1, 0, fields)
    file.process()
    for _ in range(40):
        found = source(LOAD, L2 | HIT, snoopx=PEER, number=0xB) if snoops else source(LOAD, L1 | MISS)
        file.sample(0, 100, 0x401010, LINE + 8, found, 90)
        file.sample(2, 101, 0x401020, LINE, source(STORE, L1 | HIT), 4)
    return file


def spe_as_recorded():
    """The trace itself, which perf decodes when it reads: records of the kind AUXTRACE, and no samples."""
    file = File("aarch64", "Neoverse-N1")
    file.event("arm_spe_0/ts_enable=1,load_filter=1/", 8, 0x10001, IP | TID | TIME | ADDR | ID | CPU | DATA_SRC | WEIGHT)
    file.process()
    file.record(AUXTRACE_INFO, 0, struct.pack("<IIQQ", 4, 0, 8, 0))
    trace = bytes(range(256)) * 4
    file.record(AUXTRACE, 0, struct.pack("<QQQIIII", len(trace), 0, 0, 0, 100, 0, 0))
    file.records += trace
    return file


def run(*words, status=0):
    result = subprocess.run([str(word) for word in words], env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=100)
    assert result.returncode == status, (words, result.returncode, result.stdout[-2000:], result.stderr)
    return result


def facts_of(report):
    return dict(re.findall(r"^  (\S.*?) +: +(\d+)$", report, re.MULTILINE))


def rows_of(report):
    """The lines of the table of shared lines: address, then the numbers of its columns."""
    table = report[report.index("Shared Data Cache Line Table"):report.index("Shared Cache Line Distribution Pareto")]
    rows = [line.split() for line in table.splitlines()]
    return [row[1:] for row in rows if len(row) > 10 and row[0].isdigit() and row[1].startswith("0x")]


class OtherHardware(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = os.path.join(self.folder, "other.data")

    def report(self, file, *options):
        file.write(self.path)
        return run(ZEROSKID, "c2c", "report", "-i", self.path, *options).stdout

    def same_as_perf(self, ours):
        if not shutil.which("perf"):
            return
        # Without source lines: addr2line ends at once where the program is not there, and perf may die of the closed pipe.
        theirs = run("perf", "c2c", "report", "--stdio", "--no-source", "-i", self.path).stdout
        facts = facts_of(ours)
        self.assertGreater(len(facts_of(theirs)), 10)
        for fact, count in facts_of(theirs).items():
            self.assertEqual(facts.get(fact), count, fact)
        self.assertEqual(rows_of(ours), rows_of(theirs))

    def test_ibs_has_lines_and_says_what_touched_no_memory(self):
        ours = self.report(ibs())
        self.assertEqual([row[0] for row in rows_of(ours)], ["0x7f0000001000", "0x7f0000001040"])
        self.assertEqual(facts_of(ours)["Load Remote HITM"], "40")
        self.assertIn("40 of 150 samples are of no load or store", ours)
        self.assertIn("the recording has samples alone", ours)
        memory = run(ZEROSKID, "mem", "report", "-i", self.path).stdout
        self.assertRegex(memory, r" 40 +300\.0 +300 +300  Remote Cache \(1 hop\) hit")

    def test_without_addresses_there_are_no_lines_and_the_report_says_why(self):
        ours = self.report(ibs(IP | TID | TIME | ID | CPU | PERIOD | DATA_SRC | WEIGHT_STRUCT))
        self.assertEqual(rows_of(ours), [])
        self.assertEqual((facts_of(ours)["Loads - no mapping"], facts_of(ours)["Store - no mapping"]), ("60", "50"))
        self.assertIn("no sample has the address of its data, so no line can be named", ours)
        self.same_as_perf(ours)
        self.assertIn("Remote Cache (1 hop) hit", run(ZEROSKID, "mem", "report", "-i", self.path).stdout)

    def test_spe_ranks_lines_by_peers_that_had_them(self):
        ours = self.report(spe(True))
        self.assertIn("Cachelines sort on                : Peer Snoop", ours)
        self.assertEqual(rows_of(ours)[0][:6], ["0x7f0000001000", "N/A", "0", "100.00%", "40", "40"])
        self.assertIn("another core had the line (peer), but not whether it was modified", ours)
        self.same_as_perf(ours)
        self.assertEqual(rows_of(self.report(spe(True), "-d", "tot")), [])

    def test_spe_without_who_had_the_line_says_so(self):
        ours = self.report(spe(False))
        self.assertEqual(rows_of(ours), [])
        self.assertIn("no load is said to have found its line in another core", ours)
        self.same_as_perf(ours)
        self.assertEqual(rows_of(self.report(spe(False), "--show-all"))[0][0], "0x7f0000001000")

    def test_a_trace_of_spe_that_nobody_decoded_is_refused_with_what_to_do(self):
        spe_as_recorded().write(self.path)
        for verb in ("c2c", "mem"):
            wrong = run(ZEROSKID, verb, "report", "-i", self.path, status=125).stderr
            self.assertIn("holds no samples, but 1.0 kB of a trace by ARM SPE", wrong)
            self.assertIn("hint: ", wrong)

    def test_what_is_cut_short_is_read_up_to_there(self):
        ibs().write(self.path)
        with open(self.path, "rb") as whole:
            part = whole.read(1800)
        with open(self.path, "wb") as cut:
            cut.write(part)
        self.assertIn("--truncated reads the 15 samples", run(ZEROSKID, "c2c", "report", "-i", self.path, status=125).stderr)
        self.assertEqual(facts_of(run(ZEROSKID, "c2c", "report", "--truncated", "-i", self.path).stdout)["Total records"], "15")


if __name__ == "__main__":
    ZEROSKID = os.path.abspath(sys.argv.pop())
    unittest.main(verbosity=2)
