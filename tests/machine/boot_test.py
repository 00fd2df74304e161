#!/usr/bin/env python3
"""zeroskid boot from outside: messages word for word, every way to end and its exit status, every output.

  boot_test.py ZEROSKID SOURCES BINARIES
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

ZEROSKID, BINARIES = sys.argv[1], pathlib.Path(sys.argv[3])
GUEST = BINARIES / "bts_circular.bin"
PLAIN_HINT = "hint: zeroskid boot --image FILE, or --kernel FILE, or --demo\n"


def boot(*words):
    done = subprocess.run([ZEROSKID, "boot", *map(str, words)], capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def boot_code(self, code, *words):
        """A boot sector with this machine code."""
        image = self.folder / "a.img"
        image.write_bytes(code.ljust(510, b"\0") + b"\x55\xaa")
        return boot("--image", image, *words)


class Messages(InFolder):
    def refused(self, status, said, *words):
        self.assertEqual(boot(*words), (status, "", "zeroskid: " + said))

    def test_wrong_usage_is_129(self):
        self.refused(129, "boot: nothing to boot\n" + PLAIN_HINT)
        self.refused(129, "boot: --image, --kernel and --demo exclude one another\n" + PLAIN_HINT, "--demo", "--kernel", "k")
        self.refused(129, "boot: --append and --module are for --kernel\nhint: a disk image has no command line\n",
                     "--image", "i", "--append", "x")
        self.refused(129, "boot: what is 'k' for?\nhint: zeroskid boot --image FILE, or --kernel FILE\n", "k")
        self.refused(129, "boot: zen4@1 has no Debug Store, which --demo shows\nhint: take a CPU model of Intel's\n",
                     "--demo", "--cpu", "zen4")
        self.refused(129, "boot: zen4@1 has no Debug Store, which --ds-log prints\nhint: take a CPU model of Intel's\n",
                     "--kernel", "k", "--cpu", "zen4", "--ds-log", "-")
        self.refused(129, "--mem 5: 2M to 3G are possible, in steps of 4K\n", "--kernel", "k", "--mem", "5")
        self.refused(129, "--mem lots: no size\nhint: a number with K, M or G, for example 512M\n", "--kernel", "k",
                     "--mem", "lots")
        self.refused(129, "--break xyz: no address\nhint: hexadecimal digits, with or without 0x\n", "--kernel", "k",
                     "--break", "xyz")
        self.refused(129, "--screen png: text or json\n", "--kernel", "k", "--screen", "png")
        self.refused(129, "--gdb 65536: no port\nhint: a number from 0 to 65535; gdb then says: target remote :PORT\n",
                     "--kernel", "k", "--gdb", "65536")
        status, out, err = boot("--kernel", "k", "--quirk", "none")
        self.assertEqual((status, out), (129, ""))
        self.assertRegex(err, r"\Azeroskid: --quirk none: no such quirk\nhint: quirks: \S.*\n\Z")

    def test_files_that_cannot_boot_are_125(self):
        self.refused(125, "/nowhere/k: cannot be read: No such file or directory\n"
                          "hint: check the path and its permissions\n", "--kernel", "/nowhere/k")
        self.refused(125, "/nowhere/log: cannot be written: No such file or directory\nhint: choose another place\n",
                     "--kernel", GUEST, "--ds-log", "/nowhere/log")
        empty = self.folder / "empty"
        empty.write_bytes(b"")
        self.refused(125, f"{empty}: 0 bytes are no disk image: a boot sector has 512\n"
                          "hint: --image takes a raw floppy or disk image; --kernel takes an ELF or Multiboot file\n",
                     "--image", empty)


class Endings(InFolder):
    def ends(self, code, status, said, *words):
        result = self.boot_code(code, *words)
        self.assertEqual(result[0], status, result)
        self.assertTrue(result[2].startswith("zeroskid: boot: " + said), result[2])
        return result

    def test_every_way_to_end(self):
        self.ends(b"\xfa\xf4", 0, "idle: halted after 2 instructions\n")
        self.ends(b"\xfa\xeb\xfe", 0, "idle: a branch to itself after 2 instructions\n")
        self.ends(b"\xf4", 0, "idle: halted")                        # interrupts on, but IRQ0 is masked
        self.ends(b"\xb0\x2a\xe6\xf4", 42, "debug-exit with status 42 after 2 instructions\n")
        self.ends(b"\x40\xeb\xfd", 124, "the limit of instructions is reached after 1,000 instructions\n",
                  "--max-instructions", "1000")
        self.ends(b"\xb0\xfe\xe6\x64", 0, "the guest asked for a reset after 2 instructions\n")

    def test_a_triple_fault_shows_the_state(self):
        # An IDT without entries in protected mode, then INT3.
        _, _, err = self.ends(b"\xfa\x0f\x01\x1e\x00\x7d\x0f\x20\xc0\x0c\x01\x0f\x22\xc0\xcc", 1, "triple fault: ")
        self.assertRegex(err, r"\nrip 0000000000007c0e ")
        self.assertIn("cr0 60000011", err)

    def test_an_instruction_that_the_processor_has_not_is_named(self):
        # pshufb in real mode: the BIOS's #UD handler returns to it.
        _, _, err = self.ends(b"\x66\x0f\x38\x00\xc1", 124, "the limit of instructions is reached after 5 instructions\n",
                              "--max-instructions", "5")
        self.assertIn("zeroskid: boot: at 7c00: the guest used pshufb (SSSE3), which this PC's processor has not: #UD, "
                      "5 in all\nhint: CPUID offers none of it: build the guest for plain x86-64, or have it ask CPUID first\n",
                      err)

    def test_a_breakpoint_stops_before_the_instruction(self):
        _, _, err = self.ends(b"\x90\x90\x90\xfa\xf4", 0, "breakpoint at 7c02 after 2 instructions\n", "--break", "0x7c02")
        self.assertIn("rip 0000000000007c02", err)


class Outputs(InFolder):
    def test_serial_goes_to_standard_output_or_a_file(self):
        code = b"\xba\xf8\x03\xb0A\xee\xb0\n\xee\xfa\xf4"
        self.assertEqual(self.boot_code(code, "--serial", "stdio")[1], "A\n")
        log = self.folder / "serial"
        self.assertEqual(self.boot_code(code, "--serial", log)[1], "")
        self.assertEqual(log.read_text(), "A\n")
        self.assertEqual(self.boot_code(code)[1], "")

    def test_the_bios_prints(self):
        code = b"\xb8\x48\x0e\xcd\x10\xb8\x69\x0e\xcd\x10\xfa\xf4"
        self.assertEqual(self.boot_code(code)[1], "Hi\n")

    def test_the_screen_as_json(self):
        status, out, _ = boot("--kernel", GUEST, "--cpu", "westmere", "--screen", "json")
        page = json.loads(out)
        self.assertEqual((status, page["stop"], page["exit_status"], page["cpu"]), (0, "idle", 0, "westmere@1"))
        self.assertEqual(page["screen"][0]["text"], "BTS index 00400118")
        self.assertEqual(page["screen"][0]["attributes"][:4], "0707")

    def test_rows_below_the_25th_are_printed(self):
        # mov ax, 0B800h; mov es, ax; mov byte [es:30*160], 'x'; cli; hlt
        code = b"\xb8\x00\xb8\x8e\xc0\x26\xc6\x06" + struct.pack("<H", 30 * 160) + b"x\xfa\xf4"
        self.assertEqual(self.boot_code(code)[1], "\n" * 30 + "x\n")

    def test_the_trace_has_every_instruction_and_transfer(self):
        trace = self.folder / "trace"
        self.boot_code(b"\xfa\xeb\x00\xa1\x00\x7c\xf4", "--trace", trace)
        self.assertEqual(trace.read_text().splitlines(),
                         ["I 1 0 7c00", "T 0 7c01 0 7c03 relative-jump", "I 2 0 7c01", "I 3 0 7c03 l7c00/2", "I 4 0 7c06"])

    def test_two_runs_write_the_same_bytes(self):
        logs = []
        for name in ("a", "b"):
            log = self.folder / name
            result = boot("--kernel", BINARIES / "pmi_two_causes.bin", "--ds-log", log, "--cpu", "westmere")
            logs.append((result, log.read_bytes()))
        self.assertEqual(*logs)
        self.assertEqual(logs[0][1].count(b" pmi at "), 4, "counter, full buffer; delivery and first jump find it full and the LVT entry masked")

    def test_the_demo_shows_five_experiments_as_promised(self):
        status, out, err = boot("--demo")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(out.splitlines()[-1], "5 of 5 as the manual promises")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
