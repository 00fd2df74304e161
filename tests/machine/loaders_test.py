#!/usr/bin/env python3
"""Boot loaders that people have: GRUB 2, GRUB Legacy, ISOLINUX and SYSLINUX make an image here, it boots in `zeroskid boot`, and the
screen has what the loader was told to print. Where QEMU is installed its screen must be the same.

  loaders_test.py ZEROSKID SOURCES BINARIES

A test that needs a package that is not installed is skipped by the package's name.
"""
import pathlib
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

    def same_as_qemu(self, screen, ready, *words):
        if shutil.which("qemu-system-i386") is None:
            print("not compared with QEMU: qemu-system-x86 is not installed")
            return
        other = qemu_screen(self.folder, ready, *words)
        theirs = [line for line in other.splitlines() if line]
        bios = max(n for n, line in enumerate(theirs) if line.startswith(("Booting from", "SeaBIOS")))  # what QEMU's BIOS says itself
        self.assertEqual([line for line in screen.splitlines() if line], theirs[bios + 1:])

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

    def test_isolinux_from_a_cd(self):
        need(self, ("/usr/lib/ISOLINUX/isolinux.bin", "isolinux"), ("xorriso", "xorriso"),
             ("/usr/lib/syslinux/modules/bios/ldlinux.c32", "syslinux-common"))
        root = self.folder / "root"
        root.mkdir()
        shutil.copy("/usr/lib/ISOLINUX/isolinux.bin", root)
        shutil.copy("/usr/lib/syslinux/modules/bios/ldlinux.c32", root)
        (root / "isolinux.cfg").write_text("say ISOLINUX is here\nprompt 1\ntimeout 0\ndefault none\n")
        iso = self.folder / "isolinux.iso"
        run("xorriso", "-as", "mkisofs", "-o", iso, "-b", "isolinux.bin", "-c", "boot.cat", "-no-emul-boot", "-boot-load-size", "4",
            "-boot-info-table", root)
        status, screen, said = boot("--image", iso, "--max-instructions", "20000000")
        self.assertIn("ISOLINUX is here\nboot:", screen, said)
        self.same_as_qemu(screen, "boot:", "-cdrom", iso)

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
