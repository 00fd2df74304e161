#!/usr/bin/env python3
"""What people boot: GRUB 2, GRUB Legacy, ISOLINUX and SYSLINUX with its menu and MEMDISK, master boot records, Memtest86+
and iPXE. Its image is made here or comes with a package, boots in `zeroskid boot`, and the screen has what it prints.
Where QEMU is installed its screen must be the same.

  loaders_test.py ZEROSKID SOURCES BINARIES

A test that needs a package that is not installed is skipped by the package's name.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ZEROSKID, BINARIES = sys.argv[1], pathlib.Path(sys.argv[3])
COLUMNS, ROWS = 80, 25


def need(test, *wanted):
    for what, package in wanted:
        if shutil.which(what) is None and not pathlib.Path(what).exists():
            test.skipTest(f"{package} is not installed: no {what}")


def run(*words, **more):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, timeout=120, **more)


def boot(*words):
    done = subprocess.run([ZEROSKID, "boot", *map(str, words)], capture_output=True, text=True, timeout=300,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def qemu_screen(folder, ready, *words):
    """The text screen of QEMU as soon as `ready` is in it, as `zeroskid boot` prints one; its last after half a minute."""
    dump = folder / "screen"
    qemu = subprocess.Popen(["qemu-system-i386", "-display", "none", "-monitor", "stdio", "-m", "64", "-net", "none", *map(str, words)],
                            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
    text = ""
    try:
        for _ in range(20):
            time.sleep(1)
            dump.unlink(missing_ok=True)
            qemu.stdin.write(f"pmemsave 0xb8000 {COLUMNS * ROWS * 2} \"{dump}\"\n")
            qemu.stdin.flush()
            for _ in range(50):
                if dump.exists() and dump.stat().st_size == COLUMNS * ROWS * 2:
                    break
                time.sleep(0.1)
            cells = dump.read_bytes() if dump.exists() else b""
            rows = [cells[at:at + COLUMNS * 2:2].decode("cp437").replace("\0", " ").rstrip()
                    for at in range(0, len(cells), COLUMNS * 2)]
            text = "\n".join(rows).rstrip() + "\n"
            if ready in text:
                break
    finally:
        qemu.stdin.close()
        qemu.terminate()
        qemu.wait()
    return text


def without_blank_lines(screen):
    return "\n".join(line for line in screen.splitlines() if line)


class Loaders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def same_as_qemu(self, screen, ready, *words, told=lambda lines: lines):
        """told: which of the lines do not speak of the machine"""
        if shutil.which("qemu-system-i386") is None:
            print("not compared with QEMU: qemu-system-x86 is not installed")
            return
        other = qemu_screen(self.folder, ready, *words)
        theirs = [line for line in other.splitlines() if line]
        bios = max((n for n, line in enumerate(theirs) if line.startswith(("Booting from", "SeaBIOS"))), default=-1)  # its BIOS's own
        self.assertEqual(told([line for line in screen.splitlines() if line]), told(theirs[bios + 1:]))

    def grub_iso(self, config, files=()):
        need(self, ("grub-mkrescue", "grub-common"), ("/usr/lib/grub/i386-pc/moddep.lst", "grub-pc-bin"), ("xorriso", "xorriso"),
             ("mformat", "mtools"))
        root = self.folder / "root"
        (root / "boot/grub").mkdir(parents=True)
        (root / "boot/grub/grub.cfg").write_text(config)
        for file in files:
            shutil.copy(file, root)
        iso = self.folder / "grub.iso"
        run("grub-mkrescue", "-d", "/usr/lib/grub/i386-pc", "--locales=", "--fonts=", "--themes=", "-o", iso, root)
        return iso

    def test_grub_2_from_a_cd_prints_and_loads_a_kernel(self):
        iso = self.grub_iso("echo GRUB 2 is here\nmultiboot /overflow_pmi.bin\nboot\n", [BINARIES / "overflow_pmi.bin"])
        direct = boot("--kernel", BINARIES / "overflow_pmi.bin")
        status, screen, said = boot("--image", iso, "--max-instructions", "500000000")
        self.assertEqual(status, 0, said)
        self.assertIn("CD E0h: an ISO 9660 file system that boots by El Torito, no emulation", said)
        kernel = direct[1].splitlines()
        self.assertEqual([line for line in screen.splitlines() if "PMI" in line], kernel,
                         "a kernel prints the same whoever loads it")

    def test_grub_2_from_a_cd_prints_what_it_prints_in_qemu(self):
        iso = self.grub_iso("echo GRUB 2 is here\nif true; then echo scripts work; fi\ncat /words\necho the end\nsleep 100000\n",
                            [self.word_file()])
        status, screen, said = boot("--image", iso, "--max-instructions", "400000000")
        self.assertIn("scripts work\nwords of a file\nthe end", without_blank_lines(screen), said)
        self.same_as_qemu(screen, "the end", "-cdrom", iso)

    def test_grub_2_from_a_hard_disk(self):
        """The same image has a partition table: as a disk it boots by its boot sector and INT 13H's extensions."""
        iso = self.grub_iso("echo GRUB 2 is here\ncat /words\necho the end\nsleep 100000\n", [self.word_file()])
        status, screen, said = boot("--image", iso, "--drive", "disk", "--max-instructions", "400000000")
        self.assertIn("words of a file\nthe end", without_blank_lines(screen), said)
        self.same_as_qemu(screen, "the end", "-hda", iso)

    def test_grub_s_own_tests_pass(self):
        """What GRUB ships to test itself, without those that take half a thousand million instructions."""
        tests = ("bswap_test", "cmp_test", "ctz_test", "setjmp_test", "xnu_uuid_test", "strtoull_test")
        need(self, ("/usr/lib/grub/i386-pc/functional_test.mod", "grub-pc-bin"))
        iso = self.grub_iso("".join(f"insmod {test}\n" for test in tests) + "functional_test\nsleep 100000\n")
        status, screen, said = boot("--image", iso, "--max-instructions", "500000000")
        for test in tests:
            self.assertIn(f"{test}: PASS", screen, said)
        self.assertIn("ALL TESTS PASSED", screen)

    def word_file(self):
        words = self.folder / "words"
        words.write_text("words of a file\n")
        return words

    def test_grub_legacy_from_a_floppy_reaches_its_command_line(self):
        stages = pathlib.Path("/usr/lib/grub/x86_64-pc")
        need(self, (stages / "stage1", "grub-legacy"), (stages / "stage2", "grub-legacy"))
        floppy = self.folder / "grub.img"
        data = (stages / "stage1").read_bytes() + (stages / "stage2").read_bytes()
        floppy.write_bytes(data.ljust(1440 * 1024, b"\0"))
        status, screen, said = boot("--image", floppy, "--max-instructions", "400000000")
        self.assertIn("GNU GRUB  version 0.97", screen, said)
        self.assertIn("grub>", screen)

    def isolinux_iso(self, config, modules=(), files=()):
        lib = pathlib.Path("/usr/lib/syslinux")
        need(self, ("/usr/lib/ISOLINUX/isolinux.bin", "isolinux"), ("xorriso", "xorriso"), (lib / "memdisk", "syslinux-common"))
        root = self.folder / "root"
        root.mkdir()
        for file in ("/usr/lib/ISOLINUX/isolinux.bin", *(lib / "modules/bios" / name for name in ("ldlinux.c32", *modules)), *files):
            shutil.copy(file, root)
        (root / "isolinux.cfg").write_text(config)
        iso = self.folder / "isolinux.iso"
        run("xorriso", "-as", "mkisofs", "-o", iso, "-b", "isolinux.bin", "-c", "boot.cat", "-no-emul-boot", "-boot-load-size", "4",
            "-boot-info-table", root)
        return iso

    def test_isolinux_from_a_cd(self):
        iso = self.isolinux_iso("say ISOLINUX is here\nprompt 1\ntimeout 0\ndefault none\n")
        status, screen, said = boot("--image", iso, "--max-instructions", "20000000")
        self.assertIn("ISOLINUX is here\nboot:", screen, said)
        self.same_as_qemu(screen, "boot:", "-cdrom", iso)

    def test_the_menu_of_isolinux(self):
        iso = self.isolinux_iso("ui menu.c32\nmenu title A menu\nlabel one\nmenu label First\nkernel memdisk\n"
                                "label two\nmenu label Second\nkernel memdisk\n", ["menu.c32", "libutil.c32"])
        status, screen, said = boot("--image", iso, "--max-instructions", "100000000")
        self.assertIn("│                          A menu                          │", screen, said)
        self.same_as_qemu(screen, "Press [Tab]", "-cdrom", iso)

    def test_memdisk_hooks_the_bios_and_boots_a_floppy_in_memory(self):
        floppy = self.folder / "two.img"
        floppy.write_bytes((BINARIES / "boot_two_stages.bin").read_bytes().ljust(1440 * 1024, b"\0"))
        iso = self.isolinux_iso("default memdisk\nlabel memdisk\nkernel memdisk\ninitrd two.img\n",
                                files=["/usr/lib/syslinux/memdisk", floppy])
        status, screen, said = boot("--image", iso, "--max-instructions", "100000000", "--mem", "64M")
        self.assertEqual(status, 0, said)
        booting = screen[screen.index("Loading boot sector... booting..."):]
        self.assertIn("sectors of a track: 18\nA20 is open", booting, "the guest asked MEMDISK's INT 13H")
        ramdisk = screen[screen.index("Ramdisk at 0x") + len("Ramdisk at 0x"):][:8].upper()
        self.assertIn(f"{ramdisk} 00168000 00000002", booting, "MEMDISK's INT 15H takes its memory out of the map")
        self.same_as_qemu(screen, "AH=88h", "-cdrom", iso, told=lambda lines: [
            line for line in lines if line.startswith(("command line", "Disk is", "Loading boot", "sectors of", "A20 is"))])

    def test_a_master_boot_record_finds_no_system(self):
        mbr = pathlib.Path("/usr/lib/syslinux/mbr/mbr.bin")
        need(self, (mbr, "syslinux-common"))
        disk = self.folder / "disk.img"
        disk.write_bytes(mbr.read_bytes().ljust(510, b"\0") + b"\x55\xaa" + bytes(8 << 20))
        status, screen, said = boot("--image", disk, "--drive", "disk", "--max-instructions", "100000000")
        self.assertEqual(screen.splitlines(), ["Missing operating system."], said)
        self.assertIn("asked for a reset", said, "INT 18H")

    def test_debian_s_master_boot_record_asks_for_a_partition(self):
        need(self, ("/sbin/install-mbr", "mbr"))
        disk = self.folder / "disk.img"
        disk.write_bytes(bytes(510) + b"\x55\xaa" + bytes(8 << 20))
        run("/sbin/install-mbr", "--force", "-i", "a", disk)
        status, screen, said = boot("--image", disk, "--drive", "disk", "--max-instructions", "100000000")
        self.assertEqual(screen.splitlines(), ["MBR FA:"], said)
        self.same_as_qemu(screen, "MBR FA:", "-hda", disk)

    def test_memtest_from_a_cd_that_emulates_a_floppy(self):
        iso = pathlib.Path("/usr/lib/memtest86+/memtest86+ia32.iso")
        need(self, (iso, "memtest86+"))
        status, screen, said = boot("--image", iso, "--max-instructions", "150000000", "--mem", "64M")
        self.assertIn("floppy 00h, 2 heads, 18 sectors a track: a CD that boots it by El Torito", said)
        self.assertIn("Press <F1> to configure", screen, said)
        self.assertIn("Memory  :   64MB", screen)
        machine = ("Memtest86+ v", "CLK/Temp", " Cache:", "Memory  :")
        self.same_as_qemu(screen, "Press <F1>", "-cdrom", iso,
                          told=lambda lines: [line for line in lines if not any(word in line for word in machine)])

    def test_a_cd_that_emulates_a_hard_disk(self):
        """The guest that boots from a partitioned disk finds the same there: drive, geometry, sectors."""
        need(self, ("xorriso", "xorriso"))
        root = self.folder / "root"
        root.mkdir()
        disk = root / "disk.img"
        shutil.copy(BINARIES / "boot_partitioned_disk.bin", disk)
        iso = self.folder / "disk.iso"
        run("xorriso", "-as", "mkisofs", "-o", iso, "-b", "disk.img", "-c", "boot.cat", "-hard-disk-boot", root)
        alone, cd = boot("--image", disk), boot("--image", iso)
        self.assertEqual(cd[0], 0, cd[2])
        self.assertIn("hard disk 80h, 4 heads, 16 sectors a track: a CD that boots it by El Torito", cd[2])
        self.assertIn("drive 00000080", cd[1])

        def told(screen):  # the CD goes on behind the disk
            return [re.sub(r"cylinders \d+", "cylinders", line) for line in screen.splitlines()]
        self.assertEqual(told(cd[1]), told(alone[1]))
        self.same_as_qemu(alone[1], "sector 100", "-hda", disk, told=lambda lines: [
            line for line in lines if line.startswith(("drive", "sector"))])

    def test_ipxe_looks_for_a_network_card(self):
        iso = pathlib.Path("/usr/lib/ipxe/ipxe.iso")
        need(self, (iso, "ipxe"))
        end = "No more network devices"
        status, screen, said = boot("--image", iso, "--max-instructions", "1000000000")
        self.assertIn("iPXE initialising devices...ok", screen, said)
        self.assertIn(end, screen)
        self.same_as_qemu(screen, end, "-cdrom", iso, told=lambda lines: lines[:lines.index(end) + 1])

    def test_syslinux_from_a_floppy(self):
        need(self, ("syslinux", "syslinux"), ("mformat", "mtools"), ("/usr/lib/syslinux/modules/bios/ldlinux.c32", "syslinux-common"))
        floppy = self.folder / "syslinux.img"
        run("mformat", "-C", "-f", "1440", "-i", floppy, "::")
        (self.folder / "syslinux.cfg").write_text("say SYSLINUX is here\nprompt 1\ntimeout 0\ndefault none\n")
        run("mcopy", "-i", floppy, self.folder / "syslinux.cfg", "::")
        run("syslinux", "--install", floppy)
        status, screen, said = boot("--image", floppy, "--max-instructions", "20000000")
        self.assertIn("floppy 00h, 2 heads, 18 sectors a track: its BIOS parameter block has media descriptor F0h", said)
        self.assertIn("SYSLINUX is here\nboot:", screen, said)
        self.same_as_qemu(screen, "boot:", "-fda", floppy)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
