#!/usr/bin/env python3
"""zeroskid linux from outside: what it refuses, and one kernel booted with a command that does all that comes out.

  linux_test.py ZEROSKID

The kernel is the newest vmlinuz-* in the folder that $ZEROSKID_KERNELS names, or in /boot.
"""
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

ZEROSKID = pathlib.Path(sys.argv[1]).absolute()
FOLDER = pathlib.Path(os.environ.get("ZEROSKID_KERNELS", "/boot"))
KERNELS = sorted(FOLDER.glob("vmlinuz-*"))
ROUNDS = 100_000


def linux(*words, folder=None):
    done = subprocess.run([ZEROSKID, "linux", *map(str, words)], capture_output=True, text=True, timeout=600, cwd=folder,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def counting_program():
    """A static program of 4 + 2 * ROUNDS instructions, every second of them a branch but for the four."""
    code = b"\xb9" + struct.pack("<I", ROUNDS) + b"\xff\xc9\x75\xfc" + b"\xb8\x3c\0\0\0" + b"\x31\xff" + b"\x0f\x05"
    head = struct.pack("<4sBBBB8xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, 2, 62, 1, 0x400078, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return head + struct.pack("<IIQQQQQQ", 1, 5, 0, 0x400000, 0x400000, 120 + len(code), 120 + len(code), 4096) + code


class Linux(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_what_cannot_be_booted_is_refused_by_name(self):
        self.assertEqual(linux(), (129, "", "zeroskid: linux: no command\nhint: zeroskid linux -- perf stat true\n"))
        status, out, err = linux("--kernel", ZEROSKID, "--", "true")
        self.assertEqual((status, out), (125, ""))
        self.assertIn(f"{ZEROSKID}: is no Linux kernel that a boot loader takes (bzImage)\n", err)
        status, _, err = linux("--kernel", ZEROSKID, "--", "no-such-command")
        self.assertEqual(status, 127, err)
        self.assertIn("no-such-command", err)
        status, _, err = linux("--kernel", ZEROSKID, "--mem", "x", "--", "true")
        self.assertEqual((status, err.splitlines()[0]), (129, "zeroskid: --mem x: no size"))

    @unittest.skipUnless(KERNELS, f"no vmlinuz-* in {FOLDER}: a kernel package, or $ZEROSKID_KERNELS")
    def test_a_command_runs_and_all_that_it_leaves_comes_out(self):
        program = self.folder / "counted"
        program.write_bytes(counting_program())
        program.chmod(0o755)
        script = "echo said; echo complained >&2; mkdir /out/in; echo kept > /out/in/file; "
        if shutil.which("perf"):
            script += "perf stat -x, -o /out/counts -e instructions:u,branches:u ./counted; "
        status, out, err = linux("--kernel", KERNELS[-1], "--out", self.folder / "out", "--file", "counted", "--file", shutil.which("mkdir"),
                                 "--", "sh", "-c", script + "exit 7", folder=self.folder)
        self.assertEqual((status, out, err), (7, "said\n", "complained\n"))
        self.assertEqual((self.folder / "out/in/file").read_text(), "kept\n")
        if shutil.which("perf"):
            counts = [line.split(",")[0] for line in (self.folder / "out/counts").read_text().splitlines() if line[:1].isdigit()]
            self.assertEqual(counts, [str(4 + 2 * ROUNDS), str(ROUNDS + 1)])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
