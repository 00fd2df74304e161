#!/usr/bin/env python3
"""Which block of the heap sampled data was in, from outside: by site in `mem report`, for each sample of programs whose functions say
what must come out (tests/guests/heap_sites.cc); and that finding out changes nothing else of a recording.
  heap_test.py ZEROSKID GUESTS LIBRARIES
"""
import collections
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": "/"}
ZEROSKID = GUESTS = LIBRARIES = ""
GUEST_PROGRAMS = ("heap_sites", "heap_sites_static")
#: Blocks that every sampled function of the guest has; memcpy and the like are too short to be sampled for certain.
SITES = {"plain", "reused", "zeroed", "grown", "array", "aligned", "into", "large", "wrapped", "by_new", "by_aligned_new",
         "by_allocator", "copied", "thread_0", "thread_1", "thread_2", "parent", "child"}
NO_BLOCKS = {"freed", "mapping"}


def run(*words, folder):
    result = subprocess.run([str(word) for word in words], env=ENVIRONMENT, capture_output=True, text=True, check=False,
                            timeout=600, cwd=folder)
    assert result.returncode == 0, (words, result.returncode, result.stderr)
    return result.stdout


def record(folder, guest, name, *options, arguments=(), preload=()):
    detail = () if "--detail" in options else ("--detail", "complete")
    run(ZEROSKID, "mem", "record", "-q", *detail, "--ldlat", 3, "-o", name, *options, "--", *preload, os.path.join(GUESTS, guest),
        *arguments, folder=folder)
    return os.path.join(folder, name)


def data_of_functions(folder, recording):
    """By function: what its data is called, and how many samples say so."""
    found = collections.defaultdict(collections.Counter)
    for line in run(ZEROSKID, "mem", "report", "-i", recording, "-s", "symbol,data", "--plain", folder=folder).splitlines():
        row = re.match(r"\s*[\d.]+%\s+(\d+)\s+\[\.\] (touch_\w+)\s+(\S.*\S)", line)
        if row:
            found[row[2].removeprefix("touch_")][row[3]] += int(row[1])
    return found


def records_without_blocks(path):
    """The records of a recording but for those that tell of blocks; and how many those are."""
    with open(path, "rb") as file:
        content = file.read()
    at, size = struct.unpack_from("<QQ", content, 40)
    end, kept, left_out = at + size, [], 0
    while at < end:
        kind, _, length = struct.unpack_from("<IHH", content, at)
        if kind == 65 and struct.unpack_from("<I", content, at + 16)[0] in (2, 3):
            left_out += 1
        else:
            kept.append(content[at:at + length])
        at += length
    return kept, left_out


class HeapTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def check_sites(self, guest, *options, more=(), freed=r"\[heap\]$", **how):
        found = data_of_functions(self.folder, record(self.folder, guest, "perf.data", *options, **how))
        self.assertEqual(set(found), SITES | set(NO_BLOCKS) | set(more))
        for function, names in found.items():
            for name in names:
                if re.match(r"\[stack\] \d+$", name):  # its return
                    continue
                if function == "freed":
                    self.assertRegex(name, freed)
                elif function == "mapping":
                    self.assertRegex(name, r"anonymous [0-9a-f]+ \([\d.]+ [KMi]*B\)$")
                else:
                    self.assertRegex(name, rf"heap: make_{function}\+0x[0-9a-f]+ \(heap_\w+\.cc?:\d+\), (\d+ blocks, )?[\d.]+ [KMi]*B$")

    def test_each_sample_is_of_the_site_that_asked_for_its_block(self):
        for guest in GUEST_PROGRAMS:
            with self.subTest(guest=guest):
                self.check_sites(guest, "-c", 7)

    def test_records_that_do_not_say_when_they_were_made_are_of_the_right_block_too(self):
        for cpu in ("westmere", "haswell", "icelake-server"):
            with self.subTest(cpu=cpu):
                self.check_sites("heap_sites", "-c", 7, "--cpu", cpu)

    def test_a_library_that_is_loaded_later_has_sites(self):
        self.check_sites("heap_sites", "-c", 7, arguments=["--load", os.path.join(LIBRARIES, "libheap_library.so")],
                         more=["loaded"])

    def test_an_allocator_that_is_preloaded_is_not_its_own_customer(self):
        self.check_sites("heap_sites", "-c", 7, freed="arena$",
                         preload=["env", "LD_PRELOAD=" + os.path.join(LIBRARIES, "libheap_allocator.so")])

    @unittest.skipUnless(shutil.which("perl", path=ENVIRONMENT["PATH"]), "perl is not installed")
    def test_an_interpreter_that_allocates_much_has_most_of_its_data_in_blocks(self):
        run(ZEROSKID, "mem", "record", "-q", "--heap", "-c", 10007, "-t", "load", "--ldlat", 3, "--", "perl", "-e",
            "my %h; $h{$_ % 5000} .= $_ for 1..20000; print length(join('', map { $h{$_} } sort keys %h)), \"\\n\"",
            folder=self.folder)
        samples = collections.Counter()
        for line in run(ZEROSKID, "mem", "report", "-s", "data", "--plain", folder=self.folder).splitlines():
            if row := re.match(r"\s*[\d.]+%\s+(\d+)\s+(\S+)", line):
                samples[row[2]] += int(row[1])
        self.assertGreater(samples["heap:"], 0.5 * (samples.total() - samples["[stack]"]), samples)

    def test_sampled_runs_follow_the_heap_where_they_are_told(self):
        def in_blocks(*options):
            found = data_of_functions(self.folder, record(self.folder, "heap_sites", "perf.data", "-c", 5, "--detail", "sampled", *options))
            return sum(count for data in found.values() for name, count in data.items() if name.startswith("heap: "))
        self.assertEqual(in_blocks(), 0)
        self.assertGreater(in_blocks("--heap"), 1000)

    def test_one_block_is_told_with_its_size_and_several_are_counted(self):
        found = data_of_functions(self.folder, record(self.folder, "heap_sites", "perf.data", "-c", 5))
        # Their returns load too, from the stack.
        large, reused = (" ".join(data for data in found[name] if data.startswith("heap: ")) for name in ("large", "reused"))
        self.assertRegex(large, r", 468\.8 KiB$")  # 60,000 words
        self.assertRegex(reused, r", 8 blocks, 6\.5 KiB$")

    def test_what_is_recorded_is_the_same_byte_for_byte(self):
        for options in (("-c", 101), ("-c", 1009, "--detail", "full"), ("-F", 100000), ("-c", 101, "-R"),
                        ("-c", 503, "--cpu", "haswell")):
            with self.subTest(options=options):
                with_blocks, without = (
                    record(self.folder, "heap_sites", name, "--virtual-time", *options, *more, arguments=["--alone"])
                    for name, more in (("with.data", ()), ("without.data", ("--no-heap",))))
                records, told = records_without_blocks(with_blocks)
                self.assertGreater(told, 0)
                expected, none = records_without_blocks(without)
                self.assertEqual(none, 0)
                self.assertTrue(records == expected, "the records differ")

    def test_blocks_repeat_byte_for_byte_in_threads_too(self):
        contents = []
        for name in ("one.data", "two.data"):
            path = record(self.folder, "heap_sites", name, "--virtual-time", "-c", 101, "--intr-regs=ip", arguments=["--no-child"])
            with open(path, "rb") as file:
                contents.append(file.read().replace(name.encode(), b""))
        self.assertTrue(contents[0] == contents[1], "the files differ")

    def test_one_instruction_at_a_time_finds_the_same_blocks(self):
        files = [record(self.folder, "heap_sites_static", name, "--virtual-time", "-c", 503, *options, arguments=["--alone"])
                 for name, options in (("fast.data", ()), ("slow.data", ("--precise-only",)))]
        fast, slow = (subprocess.run([ZEROSKID, "mem", "report", "-i", file, "-s", "symbol,data"], env=ENVIRONMENT,
                                     capture_output=True, check=True).stdout.replace(b"fast.data", b"").replace(b"slow.data", b"")
                      for file in files)
        self.assertEqual(fast, slow)

    @unittest.skipUnless(shutil.which("perf", path=ENVIRONMENT["PATH"]), "perf is not installed")
    def test_stock_perf_reads_the_same(self):
        for name, options in (("with.data", ()), ("without.data", ("--no-heap",))):
            record(self.folder, "heap_sites", name, "--virtual-time", "-c", 101, *options, arguments=["--alone"])
        texts = [run("perf", "script", "-i", name, "-F", "comm,tid,time,event,ip,sym,addr,data_src,weight", folder=self.folder)
                 for name in ("with.data", "without.data")]
        self.assertGreater(texts[0].count("\n"), 1000)
        self.assertEqual(*texts)
        self.assertIn("touch_large", run("perf", "mem", "report", "-i", "with.data", "--stdio", "--sort=symbol,mem",
                                         folder=self.folder))


if __name__ == "__main__":
    ZEROSKID, GUESTS, LIBRARIES = (os.path.abspath(path) for path in sys.argv[1:4])
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
