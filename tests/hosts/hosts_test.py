"""One number on every machine: what zeroskid records and counts in virtual time is the same, byte for byte, on hosts
that differ. The hosts are this one, less what descriptions/ takes away (masked_host.cc): another vendor, model and
brand, fewer features, other bytes of XSAVE, another kernel and number of processors. Where this may be changed, the
files of /proc and /sys that tell of the machine are others, too.
  hosts_test.py MASKED_PROGRAMS MASKED_UNIT_TESTS PROBE CC [--all] [--seed N]
Without --all some commands are drawn, and some programs written anew; with it, every command is counted and the table
printed.
"""
import argparse
import ctypes
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import random_program

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE.parent.parent / "src"
HOSTS = {"sapphire-rapids": 4, "zen4": 4, "zen2": 3, "nehalem": 2}  # and the highest level that it has
LEVELS = ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"]
#: What differs between hosts for a reason that is not the processor's or the machine's, and what it is.
EXCEPTIONS = {
    "ps": "other processes", "top -bn1": "other processes", "vmstat": "what the kernel has counted",
    "df /": "free blocks of a file system", "mount": "what is mounted", "lsblk": "the disks",
    "uptime": "users that are logged in",
    "lscpu": "allowed processors and switches in /proc/self/status"}
#: What differs in a recording with registers: the kernel's thread ids, and the numbers and times of files and pipes.
IN_REGISTERS = re.compile("thread|-T0|cmp|stat|tar|pthread_create")
EVERYDAY = [
    "ls -l /usr", "find /etc -maxdepth 1", "sort /etc/passwd | uniq -c", "awk 'BEGIN { print 1/3, exp(1), rand() }'",
    "sed s/a/b/ /etc/passwd", "grep -c root /etc/passwd", "git --version",
    "perl -e 'my %h = map { $_ => 1 } 1..100; print join(q(,), keys %h)'",
    "python3 -S -c 'print(sum(i*i for i in range(1000)))'",
    "python3 -c 'import json, os; print(json.dumps({1: os.cpu_count()}))'",
    "bash -c 'for i in 1 2 3; do echo $i | cat; done'", "echo a | cat; expr 1 + 1", "gzip -c /etc/passwd | gunzip | wc",
    "xz -c -T0 /etc/passwd > packed; xz -dc packed | md5sum", "bzip2 -c /etc/passwd | bzip2 -d | sha256sum",
    "tar cf - /etc/passwd | wc -c", "sqlite3 :memory: 'select 1'", "openssl dgst -sha256 /etc/passwd", "nproc",
    "uname -a", "id", "date", "env", "cat /proc/cpuinfo", "make --version",
    "echo 'int main(){return 0;}' | gcc -O1 -x c - -o out.exe && ./out.exe; rm out.exe", "cmp /etc/passwd /etc/group",
    "head -c 16 /dev/urandom | od", "getconf -a", "free", "stat /etc/passwd", "mktemp -u", "du -s /etc/apt",
    "readelf -h /bin/ls", "objdump -d /bin/true | head -3", "nm -D /bin/ls | head", "diff /etc/passwd /etc/group",
    "hostname", "ulimit -a",
    "python3 -c 'import threading; [threading.Thread(target=print).start() for _ in range(9)]'", "sleep 0.01",
    *EXCEPTIONS]
CLONE_NEWNS, CLONE_NEWUTS, MS_BIND, MS_REC_PRIVATE, UNAME26 = 0x20000, 0x4000000, 4096, 0x44000, 0x20000
TOLD_ELSEWHERE = [
    "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/sys/kernel/osrelease",
    "/sys/devices/system/cpu/online", "/sys/devices/system/cpu/possible", "/sys/devices/system/cpu/present"]
LIBC = ctypes.CDLL(None, use_errno=True)


class Host:
    """A folder with the programs and the description of their host."""

    def __init__(self, name, folder, programs):
        self.name, self.place = name, folder / name
        self.place.mkdir()
        for program in programs:
            shutil.copy(program, self.place)
        self.description = (HERE / "descriptions" / name).read_bytes()
        (self.place / "host").write_bytes(self.description)
        self.work = folder / "work"
        self.shown = folder / "shown"  # bound over files of /proc: the same path for all hosts, as mountinfo tells it
        self.may_change_machine = os.geteuid() == 0

    def become(self):
        """In the child: a kernel that calls itself 2.6, one processor or all, other files."""
        LIBC.personality(UNAME26)
        if self.name in ("zen2", "nehalem"):
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        if not self.may_change_machine or LIBC.unshare(CLONE_NEWNS | CLONE_NEWUTS) != 0:
            return
        LIBC.mount(b"none", b"/", None, MS_REC_PRIVATE, None)
        LIBC.sethostname(self.name.encode(), len(self.name))
        for path in TOLD_ELSEWHERE:
            LIBC.mount(os.fsencode(self.shown), path.encode(), None, MS_BIND, None)

    def run(self, words, program="zeroskid"):
        self.shown.write_bytes(self.description)
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/", "LC_ALL": "C",
                       "XDG_CACHE_HOME": str(self.work.parent / "cache")}
        with open(self.work.parent / "printed", "wb") as printed:  # a pipe would have another number each time
            ran = subprocess.run([program, *words], executable=self.place / program, preexec_fn=self.become,
                                 env=environment, cwd=self.work, stdin=subprocess.DEVNULL, stdout=printed,
                                 stderr=subprocess.PIPE, check=False, timeout=300)
        ran.stdout = pathlib.Path(printed.name).read_bytes()
        return ran

    def outcome(self, verb, level, words):
        """What comes out of it: the program's output, zeroskid's words, and the recording or the counts."""
        output = self.work.parent / "output"
        output.unlink(missing_ok=True)
        ran = self.run([*verb, "--virtual-time", "--cpu-level", level, "-o", output, "--", *words])
        made = output.read_bytes() if output.exists() else b""
        if verb[0] == "stat":  # the time it took is in the other fields
            made = b"\n".join(line.split(b",")[0] + line.split(b",")[2] for line in made.splitlines() if line)
        return ran.returncode, ran.stdout, ran.stderr, made


STAT = ["stat", "-q", "-x,", "-e", "instructions,branches,mem_inst_retired.all_loads"]
VERBS = [STAT, ["record", "-q", "-e", "instructions:ppp", "-c", "1009"],
         ["record", "-q", "-g", "-b", "-e", "br_inst_retired.near_taken:pp", "-c", "997"], ["trace", "-q"],
         ["profile", "-q"], ["stat", "-q", "-x,", "--detail", "complete", "-e", "cycles,mem_load_retired.l1_miss"]]


def difference(one, other):
    if isinstance(one, int) or len(one) + len(other) < 500:
        return f"{one} and {other}"
    at = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
    return f"{len(one)} and {len(other)} bytes, other from {at}: {one[at:at + 40]} and {other[at:at + 40]}"


class Hosts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        print(f"hosts_test.py --seed {ARGUMENTS.seed}", flush=True)
        cls.chance = random.Random(ARGUMENTS.seed)
        cls.folder = tempfile.TemporaryDirectory(prefix="zs-hosts-")
        folder = pathlib.Path(cls.folder.name).resolve()
        (folder / "work").mkdir()
        programs = [pathlib.Path(ARGUMENTS.programs) / name for name in ("zeroskid", "zeroskid-run")]
        cls.hosts = [Host(name, folder, [*programs, pathlib.Path(ARGUMENTS.unit_tests)]) for name in HOSTS]
        cls.here = cls.highest_level_here()
        if not cls.hosts[0].may_change_machine:
            print("not as root: /proc, /sys and the host's name are this machine's", flush=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def highest_level_here(cls):
        ran = cls.hosts[0].run([*STAT, "--virtual-time", "--cpu-level", "x86-64-v4", "--", "true"])
        return 4 if ran.returncode == 0 else 3

    def hosts_of(self, level):
        return [host for host in self.hosts if min(HOSTS[host.name], self.here) > LEVELS.index(level)]

    def same_everywhere(self, verb, level, words, about=""):
        if verb[0] == "record" and IN_REGISTERS.search(about):
            verb = ["trace", "-q"]
        first, *others = self.hosts_of(level)
        wanted = first.outcome(verb, level, words)
        self.assertTrue(wanted[3], wanted)
        for host in others:
            with self.subTest(verb=verb, level=level, words=words, hosts=(first.name, host.name)):
                outcome = host.outcome(verb, level, words)
                for kind, got, there in zip(("status", "output", "messages", "recording"), outcome, wanted):
                    if got != there:
                        self.fail(f"{kind}: {difference(got, there)}")

    def test_a_host_is_believed(self):
        for host in self.hosts:
            machine = host.run(["doctor", "--json"]).stdout.decode()
            brand = re.search(rb"model name: (.*)", host.description)[1].decode()
            self.assertIn(" ".join(brand.split()), " ".join(machine.split()))
            ran = host.run(["--gtest_brief"], program=pathlib.Path(ARGUMENTS.unit_tests).name)
            self.assertEqual(ran.returncode, 0, host.name + ran.stdout.decode())

    def test_what_a_host_lacks_is_refused_by_name(self):
        for host in self.hosts:
            for level in LEVELS[HOSTS[host.name]:]:
                ran = host.run([*STAT, "--virtual-time", "--cpu-level", level, "--", "true"])
                self.assertEqual(ran.returncode, 129)
                lacks = "avx2" if level.endswith("3") else "avx512f"
                self.assertRegex(ran.stderr.decode(), f"--cpu-level {level}: this machine lacks .*{lacks}")

    def test_facts_and_vector_registers(self):
        for level in LEVELS:
            self.same_everywhere(STAT, level, [ARGUMENTS.probe, "facts"])
            if level >= "x86-64-v3":
                self.same_everywhere(STAT, level, [ARGUMENTS.probe, "state", str(ARGUMENTS.seed & 0xFFFF)])

    def test_programs_written_anew(self):
        for number in range(12 if ARGUMENTS.all else 5):
            seed = f"{ARGUMENTS.seed} {number}"
            source, program = (pathlib.Path(self.folder.name) / f"random{number}{suffix}" for suffix in (".c", ""))
            text = random_program.draw(seed)
            source.write_text(text, encoding="ascii")
            link = self.chance.choice([["-static"], []])
            subprocess.run([ARGUMENTS.cc, "-w", self.chance.choice(["-O0", "-O2"]), "-g", *link, "-o", program, source,
                            "-lm", "-lpthread"], check=True)
            verb = self.chance.choice(VERBS)
            for level in self.chance.sample(["x86-64-v2", "x86-64-v3"], 1 + ARGUMENTS.all):
                self.same_everywhere(verb, level, [str(program)], about=text.split("int main")[1])

    def test_everyday_commands(self):
        there = [command for command in EVERYDAY if shutil.which(command.split()[0]) or command.startswith("ulimit")]
        usual = [command for command in there if command not in EXCEPTIONS]
        if not ARGUMENTS.all:
            for command in self.chance.sample(usual, 12):
                level = self.chance.choice(["x86-64-v2", "x86-64-v3"])
                self.same_everywhere(self.chance.choice(VERBS), level, ["sh", "-c", command], about=command)
            return
        equal = 0
        for command in there:
            for level in ("x86-64-v2", "x86-64-v3"):
                seen = {host.name: host.outcome(STAT, level, ["sh", "-c", command])[3].split(b"\n")[0].decode()
                        for host in self.hosts_of(level)}
                same = len(set(seen.values())) == 1
                equal += same and level == "x86-64-v2"
                explained = "" if same else f" ({EXCEPTIONS.get(command, 'UNEXPLAINED')})"
                print(f"{'equal' if same else 'differs':8} {level:10} {command}: "
                      f"{', '.join(sorted(set(seen.values())))}{explained}", flush=True)
                with self.subTest(command=command, level=level):
                    self.assertTrue(same or command in EXCEPTIONS, seen)
            if command in usual:
                for verb in VERBS[1:]:
                    self.same_everywhere(verb, "x86-64-v2", ["sh", "-c", command], about=command)
        print(f"{equal} of {len(there)} commands equal on {len(self.hosts)} hosts")

    def test_nothing_else_asks_the_host(self):
        """CPUID, XGETBV and the auxiliary vector are asked for in two files, which are masked here."""
        asks = re.compile(r"<cpuid\.h>|__get_cpuid|__cpuid|__builtin_cpu|\basm\b.*\b(cpuid|xgetbv)|"
                          r"getauxval\((AT_HWCAP|AT_MINSIGSTKSZ)")
        masked = [SOURCES / "arch/this_processor.cc", SOURCES / "base/auxiliary_vector.cc"]
        for path in [*SOURCES.rglob("*.cc"), *SOURCES.rglob("*.h")]:
            if path not in masked and not re.search(r"_(test|bench|fuzz)\.", path.name):
                self.assertIsNone(asks.search(path.read_text(encoding="utf-8")), path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("programs", "unit_tests", "probe", "cc"):
        parser.add_argument(name)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("-k")
    ARGUMENTS = parser.parse_args()
    unittest.main(argv=sys.argv[:1] + (["-k", ARGUMENTS.k] if ARGUMENTS.k else []))
