"""What the engine answers without a system call of its own: clock calls, from the vdso, and what it reads in the
program's memory. They work where the kernel refuses such calls, and the program's counts are those of its own system calls.

The refusal is a seccomp filter, which a program and what it executes keep. Without a vdso that reads clocks itself this is
skipped.
"""
import ctypes
import errno
import re
import struct
import subprocess

import tool

#: source: Linux, syscall_64.tbl
CLOCK_CALLS = (228, 96, 201)  # clock_gettime, gettimeofday, time
PROCESS_VM_READV = 310
PERL = ["perl", "-MTime::HiRes=clock_gettime,CLOCK_MONOTONIC,gettimeofday", "-e"]
#: Prints whether three clocks are what they should be; how often it looks is known.
LOOKS = r"""
my $begin = clock_gettime(CLOCK_MONOTONIC);
my $backwards = 0;
for (1 .. 1000) { my $now = clock_gettime(CLOCK_MONOTONIC); ++$backwards if $now < $begin; $begin = $now }
my ($seconds, $microseconds) = gettimeofday();
printf "%d %d %d\n", $begin > 0, $backwards, abs(time - $seconds) <= 1 && $seconds > 1500000000;
"""


def refuse(numbers):
    """In this process and what it executes, the calls fail with EACCES."""
    load_number, equal, give, allow, fail = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050000 | errno.EACCES
    code = [(load_number, 0, 0, 0)]
    for index, number in enumerate(numbers):
        code.append((equal, len(numbers) - index, 0, number))
    code += [(give, 0, 0, allow), (give, 0, 0, fail)]
    instructions = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in code))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(instructions)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, program) != 0:  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
        raise OSError(ctypes.get_errno(), "no seccomp filter")


class Answers(tool.InFolder):
    def test_are_read_without_a_system_call(self):
        natively = subprocess.run([*PERL, LOOKS], env=tool.ENVIRONMENT, capture_output=True, text=True,
                                  preexec_fn=lambda: refuse(CLOCK_CALLS))
        if natively.stdout != "1 0 1\n":
            self.skipTest("natively too, the vdso here asks the kernel for the time")
        result = self.run_here("stat", "-e", "instructions", *PERL, LOOKS, preexec_fn=lambda: refuse(CLOCK_CALLS))
        self.assertEqual((result.status, result.out), (0, "1 0 1\n"), result.err)

    def test_memory_is_read_without_a_system_call(self):
        """What rt_sigprocmask gets: the engine answers it. Paths of calls are read by the same function."""
        program = 'use POSIX; print defined sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGUSR1)), "\n"'
        result = self.run_here("stat", "-e", "instructions", "perl", "-e", program,
                               preexec_fn=lambda: refuse([PROCESS_VM_READV]))
        self.assertEqual((result.status, result.out), (0, "1\n"), result.err)

    def test_stacks_are_read_without_a_system_call(self):
        source = self.file("s.c", b"__attribute__((noinline)) long deep(long n) { return n ? deep(n - 1) + n : 0; }\n"
                           b"int main(void) { long x = 0; for (int i = 0; i < 3000; ++i) x += deep(20 + i % 2); return x & 1; }\n")
        subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-o", self.folder / "s", source], check=True)
        recorded = self.run_here("record", "-q", "-g", "-e", "instructions:ppp", "-c", "1009", "./s",
                                 preexec_fn=lambda: refuse([PROCESS_VM_READV]))
        self.assertEqual(recorded.status, 0, recorded.err)
        chains = self.run_here("script", "-F", "ip,sym").out.strip().split("\n\n")
        inner = [chain for chain in chains if chain.split()[1] == "deep"]
        self.assertGreater(len(inner), 100)
        self.assertEqual([chain for chain in inner if " main\n" not in chain], [])

    def test_count_as_the_programs_own_system_calls(self):
        """The same number of instructions for each look, whatever the time and whatever the kernel's vdso does."""
        source = self.file("w.c", b"#include <time.h>\n#include <stdlib.h>\n"
                           b"int main(int c, char** v) { struct timespec t; int n = atoi(v[1]);\n"
                           b"  for (int i = 0; i < n; ++i) clock_gettime(CLOCK_MONOTONIC, &t); return c != 2; }\n")
        subprocess.run(["gcc", "-O1", "-static", "-o", self.folder / "w", source], check=True)

        def count(looks):
            result = self.run_here("stat", "-x,", "-e", "instructions,br_inst_retired.far_branch", "./w", looks)
            self.assertEqual(result.status, 0, result.err)
            return [int(re.search(rf"^(\d+),,{event}", result.err, re.M)[1]) for event in ("instructions", "br_inst_retired")]

        (one, far_of_one), (more, far_of_more) = count(1000), count(3000)
        self.assertEqual(far_of_more - far_of_one, 2000)  # a SYSCALL each
        self.assertEqual((more - one) % 2000, 0)
        self.assertEqual(count(3000), [more, far_of_more])


if __name__ == "__main__":
    tool.main()
