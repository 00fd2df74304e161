#!/usr/bin/env python3
"""zeroskid linux from outside: what it refuses, and one kernel booted with a command that does all that comes out.

  linux_test.py ZEROSKID

The kernel is the newest vmlinuz-* in the folder that $ZEROSKID_KERNELS names, in /boot, or among what tools/kernel has fetched; the
CPU model is $ZEROSKID_LINUX_CPU, or the usual one.
"""
import collections
import contextlib
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

ZEROSKID = pathlib.Path(sys.argv[1]).absolute()
FOLDERS = [os.environ["ZEROSKID_KERNELS"]] if "ZEROSKID_KERNELS" in os.environ else ["/boot", ZEROSKID.parent / "kernels/boot"]
KERNELS = [kernel for folder in FOLDERS for kernel in sorted(pathlib.Path(folder).glob("vmlinuz-*"))]
CPU = ["--cpu", os.environ["ZEROSKID_LINUX_CPU"]] if "ZEROSKID_LINUX_CPU" in os.environ else []
ROUNDS = 100_000
# What ten loops do between their label and `dec ebp; jnz`: with these three or five instructions, so that no period below meets some of
# them more often than others.
LOOPS = {
    "adds": ["add rax, rbx"] * 3,
    "loads": ["mov rax, [rsi]", "add rax, rbx", "nop"],
    "stores": ["mov [rsi], rax", "add rax, rbx", "nop"],
    "pushes": ["push rax", "pop rbx", "nop"],
    "calls": ["call nothing", "nop"],
    "products": ["imul rax, rbx", "add rax, 1", "nop"],
    "divisions": ["xor edx, edx", "mov eax, 1000", "div ecx"],
    "locked": ["lock add [rsi], rax"],
    "jumps": ["jmp .+2", "nop", "nop"],
    "strings": ["lea rdi, [rsi + 64]", "movsb", "lea rsi, [rdi - 65]"],
}
LOOP_ROUNDS = 200_000
PERIOD = 10007  # one more than perf is told, since PEBS records the event behind the overflow; but where the fixed counter is precise
PRECISE = ["instructions", "branches"]
OUTSIDE = ["--record", "-e", "instructions:pp", "-c", PERIOD - 1]
WHOLE = unittest.skipUnless("ZEROSKID_LINUX_WHOLE" in os.environ, "takes minutes: $ZEROSKID_LINUX_WHOLE")


def linux(*words, folder=None, typed=""):
    done = subprocess.run([ZEROSKID, "linux", *map(str, words)], capture_output=True, text=True, timeout=600, cwd=folder, input=typed)
    return done.returncode, done.stdout, done.stderr


def counting_program():
    """A static program of 4 + 2 * ROUNDS instructions, every second of them a branch but for the four."""
    code = b"\xb9" + struct.pack("<I", ROUNDS) + b"\xff\xc9\x75\xfc" + b"\xb8\x3c\0\0\0" + b"\x31\xff" + b"\x0f\x05"
    head = struct.pack("<4sBBBB8xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, 2, 62, 1, 0x400078, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return head + struct.pack("<IIQQQQQQ", 1, 5, 0, 0x400000, 0x400000, 120 + len(code), 120 + len(code), 4096) + code


def make_loops(folder):
    """A static program of the ten loops, each of whose instructions is a symbol. returns those that move control"""
    lines, branches = [".intel_syntax noprefix", ".globl _start", "_start: mov al, __executable_start", "lea rsi, buffer", "mov ebx, 3", "mov ecx, 7"], set()
    for name, body in LOOPS.items():
        lines.append(f"mov ebp, {LOOP_ROUNDS}")
        for n, insn in enumerate([*body, "dec ebp", f"jnz {name}_0"]):
            lines += [f".type {name}_{n}, @function", f"{name}_{n}: {insn}"]
            if insn[0] in "jc":
                branches.add(f"{name}_{n}")
    lines += ["mov eax, 60", "xor edi, edi", "syscall", ".type nothing, @function", "nothing: ret", ".bss", "buffer: .skip 256", ""]
    # Of two that differ in a name, so in their build-ids, the second is what the guest finds at a path and replaces by the first. They look
    # at their own head, as a C library does, so it is in memory.
    for program, nothing in (("loops", "nothing"), ("replaced", "other")):
        (folder / "loops.s").write_text("\n".join(lines).replace("nothing", nothing))
        subprocess.run(["gcc", "-nostdlib", "-static", "-no-pie", "-Wl,--build-id", "-o", folder / program, folder / "loops.s"], check=True)
    return branches | {"nothing"}


class Linux(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_what_cannot_be_booted_is_refused_by_name(self):
        self.assertEqual(linux(), (129, "", "zeroskid: linux: no command\nhint: zeroskid linux -- perf stat true\n"))
        status, out, err = linux("--kernel", ZEROSKID, "--", "true")
        self.assertEqual((status, out), (125, ""))
        self.assertIn(f"{ZEROSKID}: is no Linux kernel that a boot loader takes: ", err)
        status, _, err = linux("--kernel", ZEROSKID, "--", "no-such-command")
        self.assertEqual(status, 127, err)
        self.assertIn("no-such-command", err)
        status, _, err = linux("--kernel", ZEROSKID, "--mem", "x", "--", "true")
        self.assertEqual((status, err.splitlines()[0]), (129, "zeroskid: --mem x: no size"))

    @unittest.skipUnless(KERNELS, f"no vmlinuz-* in {FOLDERS}: a kernel package, or $ZEROSKID_KERNELS")
    def test_a_command_runs_and_all_that_it_leaves_comes_out_and_twice_the_same(self):
        program = self.folder / "counted"
        program.write_bytes(counting_program())
        program.chmod(0o755)
        branches = make_loops(self.folder)
        script = "echo said; echo complained >&2; mkdir /out/in; echo kept > /out/in/file; ./loops; cat loops > replaced; ./replaced; "
        if shutil.which("perf"):
            script += "perf stat -x, -o /out/counts -e instructions:u,branches:u ./counted; "
            # perf reads the kernel's names for as long as all else takes here, unless it may not.
            script += "echo 2 > /proc/sys/kernel/kptr_restrict; "
            script += f"perf record -q -e {','.join(f'{event}:upp' for event in PRECISE)} -c {PERIOD - 1} -o /out/precise ./loops; "
            script += "echo 0 > /proc/sys/kernel/kptr_restrict; "
        runs = []
        for n in range(2):
            out, console = self.folder / f"out{n}", self.folder / f"console{n}"
            outside = OUTSIDE + ["-o", self.folder / "outside"] if n == 1 else []
            done = linux("--kernel", KERNELS[-1], *CPU, *outside, "--out", out, "--console", console, "--file", "counted", "--file", "loops",
                         "--file", "replaced", "--file", shutil.which("cat"), "--file", shutil.which("mkdir"), "--", "sh", "-c", script + "exit 7", folder=self.folder)
            self.assertEqual(done[:2], (7, "said\n"))
            self.assertRegex(done[2], "^complained\n" + ("zeroskid: linux --record: [0-9,]+ samples -> .*\n$" if outside else "$"))
            runs.append({path.relative_to(out): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()})
            runs[-1]["console"] = console.read_bytes()
        self.assertEqual([name for name in runs[0] if runs[0][name] != runs[1].get(name)], [], "differ between two runs, of which one is recorded from outside")
        self.assertEqual(list(runs[0]), list(runs[1]))
        self.assertEqual((self.folder / "out0/in/file").read_text(), "kept\n")
        insns = {f"{name}_{n}" for name, body in LOOPS.items() for n in range(len(body) + 2)} | {"nothing"}
        times = 1 + (shutil.which("perf") is not None)
        self.check_places(self.folder / "outside", "instructions", insns, times)
        done = subprocess.run([ZEROSKID, "script", "-i", self.folder / "outside", "-F", "comm,ip,sym,dso"], capture_output=True, text=True,
                              check=True)
        rows = [line for line in done.stdout.splitlines() if line.strip()]
        self.assertEqual([row for row in rows if "[unknown] ([unknown])" in row], [])
        self.assertTrue([row for row in rows if row.split()[0] == "loops" and "([kernel.kallsyms])" in row], "its page faults")
        replaced = [row for row in rows if row.split()[-1] == f"({self.folder / 'replaced'})"]
        self.assertTrue(replaced)
        self.assertEqual([row for row in replaced if "[unknown]" not in row], [], "names of the file that the guest has replaced")
        if shutil.which("perf"):
            counts = [line.split(",")[0] for line in (self.folder / "out0/counts").read_text().splitlines() if line[:1].isdigit()]
            self.assertEqual(counts, [str(4 + 2 * ROUNDS), str(ROUNDS + 1)])
            for event, counted in zip(PRECISE, (insns, branches)):
                self.check_places(self.folder / "out0/precise", event, counted)

    def check_places(self, file, event, counted, times=1):
        """As many samples of the event as its rounds ask for, so many times, lie on each instruction that it counts, and none elsewhere in
        the loops."""
        done = subprocess.run([ZEROSKID, "script", "-i", file, "-F", "event,ip,sym,symoff"], capture_output=True, text=True, check=True)
        samples = [line.split() for line in done.stdout.splitlines() if line.split()]
        found = collections.Counter(place for of, _, place, *_ in samples if of.split(":")[0] == event)
        for name in counted:
            self.assertLess(abs(found.pop(f"{name}+0x0", 0) - times * LOOP_ROUNDS / PERIOD), 2 * times, (event, name))
        self.assertEqual({name: times for name, times in found.items() if name.split("_")[0] in LOOPS}, {}, event)

    @unittest.skipUnless(KERNELS, f"no vmlinuz-* in {FOLDERS}: a kernel package, or $ZEROSKID_KERNELS")
    def test_a_terminal_is_told_how_far_it_is(self):
        ours, theirs = pty.openpty()
        running = subprocess.Popen([ZEROSKID, "linux", "--kernel", KERNELS[-1], "--max-instructions", "500000000", "--", "true"],
                                   stderr=theirs, stdout=theirs, env={**os.environ, "TERM": "xterm"})
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # its end
            while piece := os.read(ours, 4096):
                said += piece
        os.close(ours)
        self.assertEqual(running.wait(), 124)
        lines = re.findall(rb"\r\x1b\[K\[ [0-9.]+ s of the guest, [0-9]+ MIPS: \[ +[0-9.]+\] \S", said)
        self.assertTrue(lines, said)
        rest = said[said.rindex(b"\r\x1b[K") + 4:]
        self.assertIn(b"zeroskid: linux: ", rest)
        self.assertNotIn(b" s of the guest", rest, "it is taken off before the last words")

    @WHOLE
    def test_what_was_written_outlives_the_guest_and_each_end_has_its_status(self):
        for key, status, words in (("c", 122, "the kernel panicked"), ("b", 123, "the guest asked for a reset"), ("o", 0, "")):
            done = linux("--kernel", KERNELS[-1], *CPU, "--out", self.folder / key, "--", "sh", "-c",
                         f"echo kept > /out/file; echo said; echo {key} > /proc/sysrq-trigger; while :; do :; done")
            self.assertEqual((done[0], done[1], (self.folder / key / "file").read_text()), (status, "said\n", "kept\n"), done[2])
            self.assertIn(words, done[2])

    @WHOLE
    def test_a_shell_is_typed_to(self):
        status, out, err = linux("--kernel", KERNELS[-1], *CPU, "--shell", "--file", shutil.which("tty"), typed="tty\necho a$((1 + 1))b\n")
        self.assertEqual((status, err), (0, ""), "its end is the end of what is typed")
        self.assertIn("/dev/ttyS0", out)
        self.assertIn("a2b", out)



if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
