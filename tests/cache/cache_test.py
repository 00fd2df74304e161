#!/usr/bin/env python3
"""Translations that outlive the process: cache_test.py ZEROSKID CC

What is counted and recorded is the same with the cache empty, warm, damaged and off; a second run translates nothing; and a program that has
changed since is the changed program.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from other_versions import another_version

ZEROSKID, CC = os.path.abspath(sys.argv.pop(1)), sys.argv.pop(1)
#: Of the few thousand blocks of a short program, what a second run may find new: where it waits for others, and for how long, is chance.
ALMOST_NOTHING = 20

ANSWER = "int main(void) { return %d; }\n"
LIBRARY = "int answer(void) { return %d; }\n"
CALLER = "int answer(void);\nint main(void) { int sum = 0; for (int i = 0; i < 9; ++i) sum += answer(); return sum / 9; }\n"
#: Changes its own code, in a page of its file, and runs both versions.
PATCHES = r"""
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
__attribute__((noinline, aligned(64))) int number(void) { int n; __asm__ volatile("mov $11, %0" : "=r"(n)); return n; }
int main(void) {
  int before = number();
  uint8_t* page = (uint8_t*)((uintptr_t)&number & ~4095ul);
  if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return 1;
  uint8_t* at = (uint8_t*)&number;
  while (*at != 11) ++at;
  *at = 22;
  int changed = number();
  if (mprotect(page, 8192, PROT_READ | PROT_EXEC) != 0) return 1;
  printf("%d %d %d\n", before, changed, number());
}
"""
#: The same as a debugger does it, to a page that is never writable.
POKES = r"""
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline, aligned(64))) int number(void) { int n; __asm__ volatile("mov $11, %0" : "=r"(n)); return n; }
int main(void) {
  int before = number();
  const uint8_t* at = (const uint8_t*)&number;
  while (*at != 11) ++at;
  if (pwrite(open("/proc/self/mem", O_RDWR), "\x16", 1, (off_t)(uintptr_t)at) != 1) return 1;
  int sum = 0;
  for (int i = 0; i < 100; ++i) sum += number();
  printf("%d %d\n", before, sum / 100);
}
"""
#: A just-in-time compiler: code in anonymous memory, and in a file without a name that is mapped twice, once to write
#: and once to run.
COMPILES = r"""
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
enum { kFunctions = 200, kBytes = 4096 };
static int run(uint8_t* write, uint8_t* code, int from) {
  int sum = 0;
  for (int i = 0; i < kFunctions; ++i) {
    const uint8_t text[] = {0xB8, (uint8_t)(from + i), 0, 0, 0, 0xC3}; /* mov eax, from + i; ret */
    memcpy(write + 16 * i, text, sizeof text);
    for (int k = 0; k < 3; ++k) sum += ((int (*)(void))(uintptr_t)(code + 16 * i))();
  }
  return sum;
}
int main(void) {
  const int fd = memfd_create("code", 0);
  if (ftruncate(fd, kBytes) != 0) return 1;
  uint8_t* write = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  uint8_t* code = mmap(NULL, kBytes, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
  uint8_t* both = mmap(NULL, kBytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int round = 0; round < 3; ++round) printf("%d %d\n", run(write, code, round), run(both, both, 50 * round));
}
"""
WAITS = r"""
#include <stdio.h>
int main(void) { int c, n = 0; puts("ready"); fflush(stdout); while ((c = getchar()) != EOF) n = n * 31 + c; printf("%d\n", n); }
"""
#: Calls a library's function, waits for a line, and does so again with what then lies there.
LOADS = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char** words) {
  char line[16];
  do {
    void* library = dlopen(words[count - 1], RTLD_NOW);
    int (*answer)(void) = (int (*)(void))dlsym(library, "answer");
    int sum = 0;
    for (int i = 0; i < 9; ++i) sum += answer();
    printf("%d\n", sum / 9);
    fflush(stdout);
    dlclose(library);
  } while (fgets(line, sizeof line, stdin));
}
"""
MANY = "i=0; while [ $i -lt 20 ]; do /bin/echo $i | cat; i=$((i + 1)); done; exec expr $i + 1"


class Cache(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="zeroskid-cache-")
        self.cache = os.path.join(self.folder, "cache")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, text, name, *options):
        with open(self.path("source.c"), "w") as file:
            file.write(text)
        subprocess.run([CC, "-O1", self.path("source.c"), *options, "-o", self.path(name)], check=True)
        return self.path(name)

    def words(self, *program, verb=("stat", "-e", "instructions"), cache=("--cache-dir", "{}"), output="out"):
        return [ZEROSKID, *verb, *(word.replace("{}", self.cache) for word in cache), "-o", self.path(output), "--", *program]

    def run_tool(self, *program, status=0, environment=None, **options):
        """What the program printed and what the tool wrote."""
        done = subprocess.run(self.words(*program, **options), capture_output=True, text=True, cwd=self.folder, timeout=120,
                              env={**os.environ, **(environment or {})})
        self.assertEqual(done.returncode, status, done.stderr)
        with open(self.path(options.get("output", "out")), "rb") as file:
            return done.stdout, file.read(), done.stderr

    def blocks(self, *program, options=(), **more):
        """(translated, taken from the cache), over all processes."""
        stderr = self.run_tool(*program, cache=("--cache-dir", "{}", "--cache-statistics", *options), **more)[2]
        found = re.findall(r"(\d+) blocks translated, (\d+) taken from the cache", stderr)
        self.assertTrue(found, stderr)
        return sum(int(made) for made, _ in found), sum(int(taken) for _, taken in found)

    def files(self):
        return sorted(os.listdir(self.cache)) if os.path.isdir(self.cache) else []

    # ---- what it is for
    def test_a_second_run_translates_nothing(self):
        for program in (("/bin/true",), (sys.executable, "-S", "-c", "pass"), ("sh", "-c", "exec /bin/echo done")):
            made, taken = self.blocks(*program)
            self.assertGreater(made, 500)
            self.assertEqual(taken, 0)
            made, taken = self.blocks(*program)
            self.assertLessEqual(made, ALMOST_NOTHING, program)
            self.assertGreater(taken, 500)
        self.assertEqual(self.blocks("/bin/true", options=("--no-cache",))[1], 0)

    def test_a_second_run_finds_what_ran_close_to_overflows(self):
        program = (sys.executable, "-S", "-c", "print(sum(range(1000)))")
        for events in ("branches:ppp", "br_inst_retired.near_call", "instructions:ppp,branches:ppp,mem_inst_retired.all_stores:ppp"):
            verb = ("record", "-e", events, "-c", "10007")
            made, taken = self.blocks(*program, verb=verb, output="perf.data")
            self.assertEqual(taken, 0, events)
            kept = made
            made, taken = self.blocks(*program, verb=verb, output="perf.data", options=("--check-cache",))
            self.assertGreater(taken, kept // 2, events)
            self.assertLess(made, kept // 3, events)

    def test_children_of_a_shell_find_what_others_have_kept(self):
        first = self.blocks("sh", "-c", MANY)[0]
        for _ in range(2):
            later = self.blocks("sh", "-c", MANY)[0]
        self.assertLess(later, first / 10)

    def test_nothing_is_written_where_nothing_is_new(self):
        self.run_tool("/bin/true")
        inodes = [os.stat(os.path.join(self.cache, name)).st_ino for name in self.files()]
        self.run_tool("/bin/true")
        self.assertEqual(inodes, [os.stat(os.path.join(self.cache, name)).st_ino for name in self.files()])

    def test_files_that_have_not_changed_are_not_read_to_find_that_out(self):
        def compared(*options):
            stderr = self.run_tool("/bin/true", cache=("--cache-dir", "{}", "--cache-statistics", *options))[2]
            return int(re.search(r"(\d+) pages compared", stderr)[1])
        compared()
        self.assertEqual(compared(), 0)
        self.assertGreater(compared("--check-cache"), 10)

    def test_where_little_is_new_not_all_is_looked_over(self):
        program = self.compile(COMPILES, "compiles")  # 400 blocks that cannot be kept, in each run
        def hashed():
            stderr = self.run_tool(program, cache=("--cache-dir", "{}", "--cache-statistics"))[2]
            return int(re.search(r"(\d+) pages hashed at its end", stderr)[1])
        self.assertGreater(hashed(), 50)
        self.assertEqual(hashed(), 0)

    # ---- never the reason for another count
    def test_counts_are_those_without_it(self):
        program = (sys.executable, "-S", "-c", "print(sorted(str(i * i) for i in range(200))[:3])")
        for events in ("instructions", "instructions,branches,mem_inst_retired.all_loads"):
            def count(*cache):
                text = self.run_tool(*program, verb=("stat", "-x,", "-e", events), cache=cache)[1].decode()
                return [line.split(",")[0] for line in text.splitlines()]
            without = count("--no-cache")
            self.assertEqual(len(without), events.count(",") + 1)
            for _ in range(3):
                self.assertEqual(count("--cache-dir", "{}"), without)

    def test_recordings_are_those_without_it_byte_for_byte(self):
        self.cache = os.path.join(self.folder, "zeroskid/translations")  # the usual place
        os.makedirs(self.cache)
        program = (sys.executable, "-S", "-c", "print(sum(range(1000)))")
        for verb in (("record", "-q", "-e", "instructions:ppp", "-c", "1009"), ("record", "-q", "-b", "-e", "branches", "-c", "997"),
                     ("record", "-q", "-e", "br_inst_retired.near_call,branches:ppp", "-c", "1009")):
            def record():
                return self.run_tool(*program, verb=(*verb, "--virtual-time", "--check-cache"), cache=(), output="perf.data",
                                     environment={"XDG_CACHE_HOME": self.folder})[1]
            os.chmod(self.cache, 0o755)  # others may look into it, so it is not used
            without = record()
            files = len(self.files())
            os.chmod(self.cache, 0o700)
            for _ in range(3):
                self.assertEqual(record(), without)
            self.assertEqual(len(self.files()), files + 1)

    def test_virtual_time_alone_uses_none(self):
        self.run_tool("/bin/true", verb=("stat", "-e", "instructions", "--virtual-time"))
        self.assertEqual(self.files(), [])

    def test_a_core_model_and_steps_use_none(self):
        self.run_tool("/bin/true", verb=("stat", "-e", "cycles"))
        self.run_tool("/bin/true", verb=("stat", "-e", "instructions", "--precise-only"))
        self.assertEqual(self.files(), [])

    # ---- code that is not what it was
    def replace_in_place(self, path, new):
        """Other bytes in the same file, with the same length and times."""
        before = os.stat(path)
        with open(new, "rb") as file:
            text = file.read()
        self.assertEqual(len(text), before.st_size)
        with open(path, "r+b") as file:
            file.write(text)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def test_a_program_rebuilt_in_place_is_the_new_program(self):
        program, new = self.compile(ANSWER % 3, "program"), self.compile(ANSWER % 4, "new")
        for _ in range(2):
            self.blocks(program, status=3)
        shutil.copy2(program, self.path("old"))
        self.replace_in_place(program, new)
        made, taken = self.blocks(program, status=4)
        self.assertGreater(taken, made)  # the other pages are what they were
        self.replace_in_place(program, self.path("old"))
        self.blocks(program, status=3, options=("--check-cache",))

    def test_a_program_rebuilt_with_less_code_is_the_new_program(self):
        """What was made of the longer one sleeps while the shorter one runs, and must not be kept as made of it."""
        branches = {count: "".join(f"  if (n % {i % 7 + 2} == 1) n += {i};\n" for i in range(count)) for count in (150, 600)}
        for count in (600, 150, 150, 600, 150):
            program = self.compile("volatile unsigned n = 1;\nint main(void) {\n%s  return n %% 251; }\n" % branches[count], "program")
            status = subprocess.run([program]).returncode
            for options in ((), ("--check-cache",)):
                self.blocks(program, status=status, options=options)

    def test_a_library_replaced_is_the_new_library(self):
        library, new = (self.compile(LIBRARY % n, f"libanswer{n}.so", "-shared", "-fPIC") for n in (5, 6))
        os.mkdir(self.path("lib"))
        used = self.path("lib/libanswer.so")
        shutil.copy(library, used)
        program = self.compile(CALLER, "caller", "-L" + self.path("lib"), "-lanswer")
        environment = {"LD_LIBRARY_PATH": self.path("lib")}
        for _ in range(2):
            self.blocks(program, status=5, environment=environment)
        self.replace_in_place(used, new)
        self.blocks(program, status=6, environment=environment)
        os.replace(library, used)
        self.blocks(program, status=5, environment=environment, options=("--check-cache",))

    def test_code_that_changes_itself_is_followed(self):
        program = self.compile(PATCHES, "patches")
        for _ in range(3):
            self.assertEqual(self.run_tool(program, cache=("--cache-dir", "{}", "--check-cache"))[0], "11 22 22\n")
        self.assertEqual(len(self.files()), 1)

    def test_code_that_is_changed_as_a_debugger_does_it_is_followed(self):
        program = self.compile(POKES, "pokes")
        for cache in (("--no-cache",), *[("--cache-dir", "{}")] * 3):
            self.assertEqual(self.run_tool(program, cache=cache)[0], "11 22\n")

    def test_code_of_just_in_time_compilers_is_made_anew(self):
        program = self.compile(COMPILES, "compiles")
        native = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        for run in range(3):
            self.assertEqual(self.run_tool(program, cache=("--cache-dir", "{}", "--check-cache"))[0], native)
            if run == 0:
                continue
            made, taken = self.blocks(program)
            self.assertGreater(made, 400)  # a block at least for each function, in both kinds of memory
            self.assertGreater(taken, 500)

    def test_just_in_time_compilers_run_with_it(self):
        programs = {"node": ("-e", "let s = 0; for (let i = 0; i < 300000; ++i) s = (s + i * 7) % 1009; console.log(s)"),
                    "luajit": ("-e", "local s = 0; for i = 1, 300000 do s = (s + i * 7) % 1009 end; print(s)"),
                    "java": ("-version",)}
        for name, words in programs.items():
            if not shutil.which(name):
                print(f"not installed: {name}", file=sys.stderr)
                continue
            native = subprocess.run([name, *words], capture_output=True, text=True, check=True).stdout
            for _ in range(2):
                self.assertEqual(self.run_tool(name, *words, cache=("--cache-dir", "{}", "--check-cache"))[0], native, name)

    def test_a_library_replaced_while_the_program_runs_is_the_new_library(self):
        libraries = [self.compile(LIBRARY % n, f"libanswer{n}.so", "-shared", "-fPIC") for n in (5, 6)]
        program = self.compile(LOADS, "loads", "-ldl")
        used = self.path("used.so")
        for _ in range(3):
            shutil.copy(libraries[0], used)
            process = subprocess.Popen(self.words(program, used, cache=("--cache-dir", "{}", "--check-cache")), stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)
            first = process.stdout.readline()
            shutil.copy(libraries[1], self.path("new.so"))
            os.replace(self.path("new.so"), used)
            second = process.communicate("\n")[0]
            self.assertEqual((first, second, process.returncode), ("5\n", "6\n", 0))

    # ---- files that are not what they should be
    def test_what_another_version_has_kept_is_not_used(self):
        older = {"ZEROSKID_RUN": another_version(ZEROSKID, self.folder) + "-run"}
        self.assertEqual(self.blocks("/bin/true", environment=older)[1], 0)
        kept = self.files()
        self.assertEqual(self.blocks("/bin/true")[1], 0)
        os.replace(os.path.join(self.cache, kept[0]), os.path.join(self.cache, next(n for n in self.files() if n not in kept)))
        self.assertEqual(self.blocks("/bin/true")[1], 0)  # not under the name of ours either
        self.assertLessEqual(self.blocks("/bin/true", options=("--check-cache",))[0], ALMOST_NOTHING)

    def test_damaged_files_are_made_anew(self):
        self.run_tool("/bin/true")
        path = os.path.join(self.cache, self.files()[0])
        with open(path, "rb") as file:
            whole = file.read()
        for at in (0, 20, 100, 4096, len(whole) // 3, len(whole) // 2):
            with open(path, "wb") as file:
                file.write(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1:])
            made, taken = self.blocks("/bin/true")
            if taken == 0:
                self.assertGreater(made, 500)
            self.assertEqual(self.blocks("/bin/true")[0], 0, at)
            with open(path, "wb") as file:
                file.write(whole[:at])
            self.assertEqual(self.blocks("/bin/true")[1], 0)
            self.assertEqual(self.blocks("/bin/true")[0], 0, at)

    def test_a_bound_is_kept(self):
        for program in ("/bin/true", "/bin/echo", "/bin/cat", "/bin/ls"):
            self.run_tool(program, "/dev/null", cache=("--cache-dir", "{}", "--cache-size", "2M"))
        self.assertLessEqual(sum(os.stat(os.path.join(self.cache, name)).st_size for name in self.files()), 2 << 20)
        self.assertNotEqual(self.files(), [])

    # ---- folders that are not what they should be
    def test_runs_go_on_without_a_folder(self):
        for cache in ("/dev/null", "/proc", self.compile(ANSWER % 0, "file")):
            self.assertEqual(self.run_tool("/bin/echo", "on", cache=(), environment={"XDG_CACHE_HOME": cache})[0], "on\n")
        self.assertEqual(self.run_tool("/bin/echo", "on", cache=(), environment={"HOME": "", "XDG_CACHE_HOME": ""})[0], "on\n")

    def test_a_folder_that_was_asked_for_and_cannot_be_is_an_error(self):
        os.mkdir(self.cache, 0o755)
        os.chmod(self.cache, 0o755)
        for cache, why in (("/dev/null/cache", "Not a directory"), ("/dev/null", "it is no folder"), (self.cache, "others may look into it")):
            done = subprocess.run([ZEROSKID, "stat", "--cache-dir", cache, "/bin/true"], capture_output=True, text=True)
            self.assertIn(why, done.stderr)
            self.assertNotEqual(done.returncode, 0)

    def test_a_folder_that_cannot_be_written_is_read(self):
        self.run_tool("/bin/true")
        os.chmod(self.cache, 0o500)
        self.assertLessEqual(self.blocks("/bin/true")[0], ALMOST_NOTHING)
        self.assertEqual(self.run_tool("/bin/echo", "on")[0], "on\n")
        os.chmod(self.cache, 0o700)

    def test_runs_go_on_where_the_disk_is_full(self):
        os.mkdir(self.cache, 0o700)
        in_namespace = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--mount", "sh", "-ec"]
        mount = f"mount -t tmpfs -o size=%s,mode=0700 none '{self.cache}'"
        if subprocess.run([*in_namespace, mount % "64k"], capture_output=True).returncode != 0:
            self.skipTest("no file system may be mounted in a namespace here")
        for size in ("4k", "64k", "256k"):  # at the first byte, in the middle; and enough for none of these
            script = "; ".join([mount % size, *[shlex.join(self.words("/bin/echo", "on"))] * 2, f"ls -A '{self.cache}'"])
            done = subprocess.run([*in_namespace, script], capture_output=True, text=True, timeout=120)
            self.assertEqual((done.stdout, done.returncode), ("on\non\n", 0), done.stderr)

    def test_another_user_gains_and_loses_nothing(self):
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("needs root and setpriv, to be another user")
        self.run_tool("/bin/true")
        kept = {name: os.stat(os.path.join(self.cache, name)).st_mtime_ns for name in self.files()}
        os.chmod(self.folder, 0o755)
        other = self.path("other")
        os.mkdir(other, 0o700)
        os.chown(other, 65534, 65534)
        as_other = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "env"]  # whose first program keeps rights
        if subprocess.run([*as_other, ZEROSKID, "--version"], capture_output=True).returncode != 0:
            self.skipTest("the user nobody cannot run " + ZEROSKID)

        def run(cache, *options):
            return subprocess.run([*as_other, ZEROSKID, "stat", "-e", "instructions", *options, "-o", os.path.join(other, "out"), "--",
                                   "/bin/echo", "on"], capture_output=True, text=True, env={**os.environ, "XDG_CACHE_HOME": cache})
        self.assertNotEqual(run("", "--cache-dir", self.cache).returncode, 0)  # it was asked for
        # The usual place, which is somebody else's: without.
        os.makedirs(self.path("zeroskid"))
        os.symlink(self.cache, self.path("zeroskid/translations"))
        self.assertEqual(run(self.folder).stdout, "on\n")
        for _ in range(2):
            done = run(other, "--cache-statistics")
            self.assertEqual((done.stdout, done.returncode), ("on\n", 0), done.stderr)
        self.assertIn(" 0 blocks translated", done.stderr)
        self.assertEqual(kept, {name: os.stat(os.path.join(self.cache, name)).st_mtime_ns for name in self.files()})

    def test_the_folder_deleted_in_the_middle(self):
        program = self.compile(WAITS, "waits")
        outputs = []
        for delete in (False, False, True):
            process = subprocess.Popen(self.words(program), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            process.stdout.readline()
            if delete:
                shutil.rmtree(self.cache)
            outputs.append(process.communicate("abc" * 1000)[0])
            self.assertEqual(process.returncode, 0)
        self.assertEqual(outputs, [outputs[0]] * 3)

    def test_eight_at_once(self):
        program = (sys.executable, "-S", "-c", "print(sum(range(100)))")
        for _ in range(2):
            processes = [subprocess.Popen(self.words(*program, output=f"out{i}"), stdout=subprocess.PIPE, text=True)
                         for i in range(8)]
            for process in processes:
                self.assertEqual((process.communicate()[0], process.returncode), ("4950\n", 0))
        self.assertEqual(len(self.files()), 1)
        self.assertLessEqual(self.blocks(*program, options=("--check-cache",))[0], ALMOST_NOTHING)

    def test_the_program_sees_nothing_of_it(self):
        script = "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd')))"
        native = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, check=True).stdout
        for _ in range(2):
            self.assertEqual(self.run_tool(sys.executable, "-S", "-c", script)[0], native)
        limited = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)); print({'1 + ' * 200} 1)"
        shutil.rmtree(self.cache)
        self.assertEqual(self.run_tool(sys.executable, "-S", "-c", limited)[0], "201\n")


if __name__ == "__main__":
    unittest.main()
