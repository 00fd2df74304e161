"""Recordings that stock perf makes here, in every form that people send.   forms_test.py ZEROSKID

perf is an oracle: where it is not installed, or may not sample, the tests are skipped and say so.
"""
import gzip
import lzma
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

ZEROSKID = None

PROGRAM = r"""
#include <unistd.h>
__attribute__((noinline)) static long spin(long n) {
  volatile long sum = 0;
  for (long i = 0; i < n; ++i) sum += i;
  return sum;
}
__attribute__((noinline)) static long ask_the_kernel(long n) {
  long sum = 0;
  while (n-- > 0) sum += getppid();
  return sum;
}
int main(void) { return (spin(60000000) + ask_the_kernel(300000)) == 1; }
"""


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, timeout=120, **more)


def samples(text):
    """Of `script -F ip`: an address on each line that is no blank."""
    return [line.split()[0] for line in text.decode().splitlines() if line.strip()]


def rows(text):
    """Percentages, objects and symbols of a report."""
    return re.findall(r"^ +([\d.]+)%  (\S+) +(\[.\] .+?) *$", text.decode(), re.MULTILINE)


class Forms(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.here = pathlib.Path(cls.folder.name)
        (cls.here / "p.c").write_text(PROGRAM)
        program = cls.here / "p"
        if shutil.which("perf") is None:
            raise unittest.SkipTest("perf is not installed (apt install linux-perf)")
        run("cc", "-O1", "-g", "-o", program, cls.here / "p.c", check=True)
        record = ["perf", "record", "-q", "-e", "cpu-clock", "-c", "1000000"]
        made = run(*record, "-o", cls.here / "plain.data", "--", program)
        if not (cls.here / "plain.data").exists() or b"not permitted" in made.stderr:
            raise unittest.SkipTest(f"perf may not sample here: {made.stderr.decode()[:200]}")
        run(*record, "-z", "-o", cls.here / "zstd_records.data", "--", program, check=True)
        for name, options in (("pipe", []), ("pipe_zstd", ["-z"])):
            with open(cls.here / f"{name}.data", "wb") as out:
                subprocess.run([*record, *options, "-o", "-", "--", str(program)], stdout=out, stderr=subprocess.DEVNULL,
                               check=True)
        plain = (cls.here / "plain.data").read_bytes()
        (cls.here / "plain.data.gz").write_bytes(gzip.compress(plain))
        (cls.here / "plain.data.xz").write_bytes(lzma.compress(plain))
        run("zstd", "-q", cls.here / "plain.data", "-o", cls.here / "plain.data.zst", check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_each_has_the_samples_that_perf_reads_from_it(self):
        for name in ("plain", "zstd_records", "pipe", "pipe_zstd"):
            with self.subTest(form=name):
                file = self.here / f"{name}.data"
                theirs = run("perf", "script", "-F", "ip", "-i", file)
                ours = run(ZEROSKID, "script", "-F", "ip", "-i", file)
                self.assertEqual((ours.returncode, ours.stderr), (0, b""))
                self.assertGreater(len(samples(ours.stdout)), 20)
                self.assertEqual(samples(ours.stdout), samples(theirs.stdout))

    def test_packed_files_and_standard_input_read_as_the_file(self):
        expected = run(ZEROSKID, "report", "-i", self.here / "plain.data").stdout
        for packed in ("plain.data.gz", "plain.data.xz", "plain.data.zst"):
            self.assertEqual(run(ZEROSKID, "report", "-i", self.here / packed).stdout, expected, packed)
            with open(self.here / packed, "rb") as file:
                self.assertEqual(run(ZEROSKID, "report", "-i", "-", stdin=file).stdout, expected, packed)
        pipe = self.here / "pipe.data"
        of_file = run(ZEROSKID, "report", "-i", pipe).stdout
        of_input = run(ZEROSKID, "report", "-i", "-", input=pipe.read_bytes()).stdout
        self.assertIn(b"[.] spin", of_file)
        self.assertEqual(of_input, of_file)

    def test_names_are_those_that_perf_prints(self):
        """The kernel's too: its objects and symbols, and addresses where there is no name."""
        file = self.here / "plain.data"
        theirs = rows(run("perf", "report", "--stdio", "-s", "dso,sym", "-i", file).stdout)
        ours = rows(run(ZEROSKID, "report", "-s", "dso,sym", "-i", file).stdout)
        self.assertIn("[.] spin", [symbol for _, _, symbol in theirs])
        # Entries of the PLT are named here, and perf gives them to a neighbour: docs/formats/report-text.md.
        of_plt = re.compile(r"@plt$|^\[\.\] _init$")
        named = [[row for row in page if not of_plt.search(row[2])] for page in (ours, theirs)]
        # Of two names at one address of the kernel perf may choose the other: __x64_sys_ and __ia32_sys_ of one call.
        named = [[(share, dso, re.sub("__(ia32|x64)_sys_", "__sys_", name)) for share, dso, name in page] for page in named]
        self.assertGreater(len(named[0]), 3)
        self.assertEqual(sorted(named[0]), sorted(named[1]))

    def test_what_is_cut_is_read_up_to_the_cut_and_refused_without_the_option(self):
        for name in ("zstd_records", "pipe", "pipe_zstd"):
            whole = (self.here / f"{name}.data").read_bytes()
            at = 16 if name.startswith("pipe") else struct.unpack_from("<Q", whole, 0x28)[0]
            end = len(whole) if name.startswith("pipe") else at + struct.unpack_from("<Q", whole, 0x30)[0]
            places = []
            while at < end:
                places.append(at)
                at += struct.unpack_from("<IHH", whole, at)[2]
            for place in places[::max(1, len(places) // 25)]:
                cut = self.here / "cut.data"
                cut.write_bytes(whole[:place + 5])
                outcome = run(ZEROSKID, "report", "-i", cut)
                self.assertEqual(outcome.returncode, 125, (name, place, outcome.stderr))
                self.assertIn(b"cut.data", outcome.stderr)
                lenient = run(ZEROSKID, "report", "--truncated", "-i", cut)
                self.assertNotEqual((lenient.stdout, lenient.stderr), (b"", b""), (name, place))

    def test_the_first_format_and_others_are_refused_by_name(self):
        for name, content, told in (("v1", b"PERFFILE" + bytes(200), b"perf's first format"),
                                    ("text", b"#!/bin/sh\n" * 20, b"not a perf.data file"),
                                    ("bz2", b"BZh91AY&SY" + bytes(50), b"packed by bzip2")):
            file = self.here / name
            file.write_bytes(content)
            outcome = run(ZEROSKID, "report", "-i", file)
            self.assertEqual(outcome.returncode, 125)
            self.assertIn(told, outcome.stderr)
            self.assertIn(b"hint: ", outcome.stderr)


if __name__ == "__main__":
    ZEROSKID = sys.argv.pop(1)
    unittest.main()
