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
import threading
import unittest
import zlib

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
        self.ends(b"\xf4", 0, "idle: halted")                        # only the BIOS hears the tick, and no code follows
        self.ends(b"\xf4\xeb\xfd", 0, "idle: halted")
        self.ends(b"\xeb\xfe", 0, "idle: a branch to itself")
        self.ends(b"\xb0\x2a\xe6\xf4", 42, "debug-exit with status 42 after 2 instructions\n")
        self.ends(b"\x40\xeb\xfd", 124, "the limit of instructions is reached after 1,000 instructions\n",
                  "--max-instructions", "1000")
        self.ends(b"\xb0\xfe\xe6\x64", 0, "the guest asked for a reset after 2 instructions\n")

    def test_a_poll_that_will_never_end_is_named(self):
        # mov dx, 1F7h; again: in al, dx; test al, 80h; jnz again
        poll = b"\xba\xf7\x01\xec\xa8\x80\x75\xfb"
        self.ends(poll, 2, "not supported: polls port 1F7h (IDE status): this PC has no IDE disk; INT 13H works after ")
        # again: in al, 64h; test al, 1; jz again
        self.ends(b"\xe4\x64\xa8\x01\x74\xfa", 2,
                  "not supported: polls port 64h (keyboard status): nobody types on this PC's keyboard (--keys does) after ")
        # two ports in turn: it waits for something else
        self.ends(b"\xe4\x64\xe4\x61\xeb\xfa", 124, "the limit", "--max-instructions", "100000")

    def test_a_loop_that_nothing_can_end_is_idle(self):
        # cli; xor ax, ax; again: inc ax; jmp over; over: dec ax; jmp again
        self.ends(b"\xfa\x31\xc0\x40\xeb\x00\x48\xeb\xfa", 0, "idle: a loop of 4 instructions at 7c0")
        # the same with a store in it is not proved
        self.ends(b"\xfa\x31\xc0\xa3\x00\x80\x40\x48\xeb\xf9", 124, "the limit", "--max-instructions", "70000000")

    def test_a_wait_for_a_key_is_idle(self):
        # again: mov ah, 1; int 16h; jz again
        self.ends(b"\xb4\x01\xcd\x16\x74\xfa", 0, "idle: waits for a key, and nobody types on this PC's keyboard (--keys does) after ")

    def test_keys_are_typed_and_words_that_are_none_refused(self):
        # again: mov ah, 0; int 16h; mov ah, 0eh; int 10h; jmp again
        echo = b"\xb4\x00\xcd\x16\xb4\x0e\xcd\x10\xeb\xf6"
        self.assertEqual(self.boot_code(echo, "--keys", "Hi, PC!")[:2], (0, "Hi, PC!\n"))
        self.assertEqual(boot("--kernel", "k", "--keys", "<Foo>"), (
            129, "", "zeroskid: --keys: <Foo>: no key of that name\nhint: names: Enter, Esc, Up, F1, C-c, A-x, Wait (a second) "
                     "and their like; << types <\n"))

    def test_com1_receives_what_a_file_has(self):
        # again: mov dx, 3fdh; in al, dx; test al, 1; jz again; mov dx, 3f8h; in al, dx; mov ah, 0eh; int 10h; jmp again
        echo = b"\xba\xfd\x03\xec\xa8\x01\x74\xf8\xba\xf8\x03\xec\xb4\x0e\xcd\x10\xeb\xee"
        sent = self.folder / "sent"
        sent.write_text("over the wire")
        status, out, err = self.boot_code(echo, "--serial-in", sent)
        self.assertEqual((status, out), (2, "over the wire\n"), err)
        self.assertIn("COM1): nobody sends to COM1 (--serial-in does) after", err)

    def test_keys_and_com1_interrupt_a_guest_that_halts(self):
        # xor ax, ax; mov ds, ax; vector 9: key; vector 0Ch: com; mov dx, 3f9h; mov al, 1; out dx, al; mov dl, fch; mov al, 8;
        # out dx, al; mov al, edh; out 21h, al; again: sti; hlt; jmp again
        # key: in al, 60h; add al, 40h; js end; jmp show; com: mov dx, 3f8h; in al, dx; show: mov ah, 0eh; int 10h
        # end: mov al, 20h; out 20h, al; iret
        code = bytes.fromhex("31c08ed8c7062400297ca32600c7063000317ca33200baf903b001eeb2fcb008eeb0ede621fbf4ebfc"
                             "e4600440780aeb04baf803ecb40ecd10b020e620cf")
        sent = self.folder / "sent"
        sent.write_text("over the wire")
        status, out, err = self.boot_code(code, "--serial-in", sent, "--keys", "ab")
        self.assertEqual((status, out), (0, "over the wire^p\n"), err)  # scan codes 1Eh, 30h
        self.assertIn("idle: halted after", err)

    def test_what_the_bios_has_not_is_told_once(self):
        # two calls of APM
        code = b"\xb8\x00\x53\xcd\x15" * 2 + b"\xfa\xf4"
        _, out, err = self.boot_code(code)
        self.assertEqual(out, "")
        self.assertEqual(err.count("zeroskid: boot: the BIOS has no INT 15h AH=53h\n"), 1, err)

    def test_a_triple_fault_shows_the_state(self):
        # An IDT without entries in protected mode, then INT3.
        _, _, err = self.ends(b"\xfa\x0f\x01\x1e\x00\x7d\x0f\x20\xc0\x0c\x01\x0f\x22\xc0\xcc", 1, "triple fault: ")
        self.assertRegex(err, r"\nrip 0000000000007c0e ")
        self.assertIn("cr0 11", err)

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


class Drives(InFolder):
    def drive_of(self, image, *words):
        """What DL is: mov dh, 0; mov al, dl; out F4h, al"""
        status, _, err = boot("--image", image, *words)
        return status, err

    def image(self, name, size, edit=None):
        data = bytearray(b"\x88\xd0\xe6\xf4".ljust(510, b"\0") + b"\x55\xaa").ljust(size, b"\0")
        if edit:
            edit(data)
        path = self.folder / name
        path.write_bytes(data)
        return path

    @staticmethod
    def add_partition(data):
        data[0x1BE:0x1CE] = struct.pack("<8BII", 0x80, 1, 1, 0, 12, 15, 63, 0, 63, 945)

    def test_a_partition_table_makes_a_small_image_a_hard_disk(self):
        plain, disk = self.image("floppy", 1440 * 1024), self.image("disk", 1440 * 1024, self.add_partition)
        status, err = self.drive_of(plain)
        self.assertEqual(status, 0)
        self.assertIn(f"zeroskid: boot: {plain} is floppy 00h, 2 heads, 18 sectors a track: no partition table, no BIOS parameter "
                      "block, 2880 sectors\n", err)
        status, err = self.drive_of(disk)
        self.assertEqual(status, 0x80)
        self.assertIn(f"zeroskid: boot: {disk} is hard disk 80h, 16 heads, 63 sectors a track: its partition table has an active "
                      "entry\n", err)

    def test_drive_overrides(self):
        plain, disk = self.image("floppy", 1440 * 1024), self.image("disk", 1440 * 1024, self.add_partition)
        self.assertEqual(self.drive_of(plain, "--drive", "disk")[0], 0x80)
        self.assertEqual(self.drive_of(disk, "--drive", "floppy")[0], 0)
        self.assertEqual(boot("--image", plain, "--drive", "tape"), (129, "", "zeroskid: --drive tape: floppy, disk or cd\n"))
        self.assertEqual(boot("--kernel", GUEST, "--drive", "disk"),
                         (129, "", "zeroskid: boot: --drive is for --image\nhint: it says what the image is\n"))
        self.assertEqual(boot("--image", plain, "--drive", "cd"),
                         (125, "", f"zeroskid: {plain}: at 0x8001: no ISO 9660 image: its volume descriptor does not say CD001\n"
                                   "hint: --drive cd is for CD images; --drive floppy and --drive disk take others\n"))

    def test_a_second_image_is_the_second_disk(self):
        # mov dx, 1F6h; mov al, F0h; out dx, al; inc dx; mov al, 20h; out dx, al; mov dl, F0h; in al, dx; out F4h, al
        code = bytes.fromhex("baf601b0f0ee42b020eeb2f0ece6f4")
        disk, data = self.image("disk", 1440 * 1024, lambda d: d.__setitem__(slice(0, len(code)), code)), self.folder / "data"
        data.write_bytes(bytes(512) + b"*")  # registers begin at sector 1
        self.assertEqual(boot("--image", disk, "--drive", "disk", "--image", data)[0], ord("*"))
        self.assertEqual(boot("--image", disk, "--drive", "disk")[0], 0xFF)
        self.assertEqual(boot("--image", disk, "--image", data),
                         (125, "", f"zeroskid: boot: a second disk needs a hard disk as the first: {disk} is floppy 00h, 2 heads, "
                                   "18 sectors a track: no partition table, no BIOS parameter block, 2880 sectors\n"
                                   "hint: --drive disk, if it is one\n"))
        self.assertEqual(boot(*["--image", disk] * 3),
                         (129, "", f"zeroskid: boot: --image {disk}: this PC has two disks\nhint: the first is the one that boots\n"))

    def test_a_cd_boots_by_el_torito(self):
        def iso(media):
            data = bytearray(40 * 2048)
            data[0x8000:0x8006], data[0x8800:0x8806] = b"\1CD001", b"\0CD001"
            data[0x8807:0x881E] = b"EL TORITO SPECIFICATION"
            data[0x8847:0x884B] = struct.pack("<I", 20)
            data[20 * 2048], data[20 * 2048 + 30:20 * 2048 + 32] = 1, b"\x55\xaa"
            data[20 * 2048 + 32:20 * 2048 + 44] = struct.pack("<BBHBBHI", 0x88, media, 0, 0, 0, 4, 24)
            data[24 * 2048:24 * 2048 + 4] = b"\x88\xd0\xe6\xf4"
            data[24 * 2048 + 510:24 * 2048 + 512] = b"\x55\xaa"
            path = self.folder / f"{media}.iso"
            path.write_bytes(data)
            return path
        for media, drive in ((0, 0xE0), (2, 0x00), (4, 0x80)):
            status, err = self.drive_of(iso(media))
            self.assertEqual(status, drive, err)


class Screenshot(InFolder):
    def test_mode_13h_is_written_as_png(self):
        picture = self.folder / "a.png"
        status, out, err = boot("--image", BINARIES / "mode_13h.bin", "--screenshot", picture)
        self.assertEqual((status, out), (0, ""), err)
        data, at, chunks = picture.read_bytes(), 8, {}
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        while at < len(data):
            length, kind = struct.unpack(">I4s", data[at:at + 8])
            body = data[at + 8:at + 8 + length]
            self.assertEqual(struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0], zlib.crc32(kind + body))
            chunks[kind] = body
            at += 12 + length
        self.assertEqual(struct.unpack(">IIBBBBB", chunks[b"IHDR"]), (320, 200, 8, 3, 0, 0, 0))
        rows = zlib.decompress(chunks[b"IDAT"])
        self.assertEqual(len(rows), 200 * 321)
        for row in range(200):
            wanted = bytes((320 - column + row) & 255 for column in range(320))
            if row == 199:
                wanted = wanted[:319] + b"\1"
            self.assertEqual(rows[row * 321:(row + 1) * 321], b"\0" + wanted, row)
        colours = [tuple(chunks[b"PLTE"][n:n + 3]) for n in range(0, 768, 3)]
        self.assertEqual(colours[:3], [(0, 0, 0), (255, 0, 0), (0, 255, 0)], "1 and 2 as the guest set them")
        self.assertEqual((colours[4], colours[6], colours[15]), ((170, 0, 0), (170, 85, 0), (255, 255, 255)), "brown is 6")
        self.assertEqual((colours[31], colours[32], colours[40], colours[48]),
                         ((255, 255, 255), (0, 0, 255), (255, 0, 0), (0, 255, 0)), "greys end, hues begin")

    def test_without_it_the_text_says_that_there_is_a_picture(self):
        _, out, err = boot("--image", BINARIES / "mode_13h.bin")
        self.assertEqual(out, "")
        self.assertIn("zeroskid: boot: the screen shows graphics, which is not in its text: --screenshot FILE writes the picture of "
                      "mode 13h\n", err)

    def test_a_text_screen_is_refused(self):
        status, _, err = self.boot_code(b"\xfa\xf4", "--screenshot", self.folder / "a.png")
        self.assertEqual(status, 125)
        self.assertIn("zeroskid: --screenshot: the screen shows text, and there is no picture of it\n", err)
        self.assertFalse((self.folder / "a.png").exists())


class Outputs(InFolder):
    def test_serial_goes_to_standard_output_or_a_file(self):
        code = b"\xba\xf8\x03\xb0A\xee\xb0\n\xee\xfa\xf4"
        self.assertEqual(self.boot_code(code, "--serial", "stdio")[1], "A\n")
        log = self.folder / "serial"
        self.assertEqual(self.boot_code(code, "--serial", log)[1], "")
        self.assertEqual(log.read_text(), "A\n")
        self.assertEqual(self.boot_code(code)[1], "")

    def test_lines_of_serial_output_are_there_before_the_end(self):
        image = self.folder / "a.img"
        for_ever = b"\xba\xf8\x03\xb0A\xee\xb0\n\xee" + b"\xe4\x40\xeb\xfc"  # reads the timer
        image.write_bytes(for_ever.ljust(510, b"\0") + b"\x55\xaa")
        with subprocess.Popen([ZEROSKID, "boot", "--image", image, "--serial", "stdio"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as running:
            patience = threading.Timer(60, running.kill)
            patience.start()
            self.assertEqual(running.stdout.readline(), b"A\n")
            patience.cancel()
            running.kill()

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
