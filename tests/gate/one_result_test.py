"""zeroskid check gives one result wherever and whenever it runs: one page and one baseline, byte for byte.
one_result_test.py ZEROSKID [RUNS]      10 runs; by hand 100. SEED=N in the environment repeats them

Every run is under load, and draws anew: whether addresses are random, the environment, the folder with its file system and
the length of its name, the user (in a namespace, which needs no root; as root also another one of the machine), limits, umask,
processors, and whether the program is a copy or was built once more."""
import os
import pathlib
import random
import resource
import shutil
import string
import subprocess
import sys
import tempfile
import unittest

import gate_test

RUNS = 10
EXACT = "instructions=0%,branches=0%,mem_inst_retired.all_loads=0%"
NOBODY = 65534

#: What differs from run to run in a program's eyes: addresses, times, ids, random numbers, processors, who is first.
PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern char** environ;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long shared;

static void spend(unsigned long n) { for (volatile unsigned long i = 0; i < n % 1024; i++); }

static int by_address(const void* a, const void* b) { return *(uintptr_t*)a < *(uintptr_t*)b ? -1 : 1; }

static void places(void) {
  static uintptr_t all[64];
  for (int i = 0; i < 64; i++) {
    char* at = malloc(16 + i * SIZE % 5000);
    strcpy(at, "a piece");
    all[i] = (uintptr_t)at * 0x9E3779B97F4A7C15u >> 40;
  }
  qsort(all, 64, sizeof all[0], by_address);
  for (int i = 0; i < 64; i++) spend(all[i]);
  spend((uintptr_t)&lock >> 4), spend((uintptr_t)environ >> 4), spend((uintptr_t)&all >> 12), spend((uintptr_t)printf >> 12);
}

static void machine(void) {
  struct timespec now;
  struct rlimit limit;
  unsigned short some;
  clock_gettime(CLOCK_REALTIME, &now);
  spend(now.tv_nsec), spend(now.tv_sec), spend(getpid()), spend(sysconf(_SC_NPROCESSORS_ONLN) * 100), spend(sysconf(_SC_PHYS_PAGES));
  getrandom(&some, sizeof some, 0);
  spend(some), spend(rand());
  for (char** one = environ; *one != NULL; one++) spend(strlen(*one));
  getrlimit(RLIMIT_STACK, &limit), spend(limit.rlim_cur >> 10);
}

static void files(void) {
  char text[80];
  int made = open("/tmp", O_TMPFILE | O_RDWR, 0600), again = dup(1);
  spend(made * 9), spend(again * 9);
  snprintf(text, sizeof text, "%.6f %p\n", SIZE / 7.0, (void*)text);
  spend(strlen(text));
}

static void* work(void* words) {
  for (long i = 0; i < 300; i++) {
    pthread_mutex_lock(&lock);
    shared = shared * 31 + (long)words;
    spend(shared);
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[3];
  places(), machine(), files();
  if (argc > 1) return puts(argv[1]) < 0;
  for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  printf("%ld\n", shared);
}
"""
#: A shell, its children, some of them at once, and a pipeline.
SCRIPT = "./program 9; for i in 1 2 3; do ./program $i & done | sort; wait; seq 500 | awk '{ s[$1 % 7] += $1 } END { for (i in s) print s[i] }'"


class Place:
    """Where and how a run is, drawn at random."""

    def __init__(self, draw, starts, users, length):
        shared = "/dev/shm"
        self.root = tempfile.TemporaryDirectory(dir=shared if draw.random() < 0.3 and os.access(shared, os.W_OK) else None)
        name = "".join(draw.choice(string.ascii_letters + " '$-_") for _ in range(length - len(self.root.name) - 2))
        self.folder = pathlib.Path(self.root.name) / ("x" + name)
        self.folder.mkdir()
        for path in self.root.name, self.folder:
            os.chmod(path, 0o777)
        self.environment = {**gate_test.ENVIRONMENT, "HOME": "/" + "h" * draw.randrange(50), "LC_ALL": draw.choice(["C", "C.UTF-8", "de_DE"]),
                            "TZ": draw.choice(["UTC", "Asia/Tokyo"]), "MALLOC_ARENA_MAX": str(draw.randrange(1, 9)),
                            **{f"V{draw.randrange(9999)}": "x" * draw.randrange(5000) for _ in range(draw.randrange(9))}}
        self.start = draw.choice([[], ["setarch", "-R"]]) + draw.choice(starts)
        self.user = draw.choice(users)
        self.limits = {resource.RLIMIT_NOFILE: draw.randrange(200, 1000),
                       resource.RLIMIT_STACK: draw.choice([1 << 20, 8 << 20, 1 << 30, resource.RLIM_INFINITY])}
        self.umask, self.nice = draw.choice([0o22, 0o77, 0]), draw.randrange(5)
        self.processors = draw.choice([os.sched_getaffinity(0), {min(os.sched_getaffinity(0))}])

    def enter(self):
        os.nice(self.nice)
        os.sched_setaffinity(0, self.processors)
        for name, soft in self.limits.items():
            hard = resource.getrlimit(name)[1]
            resource.setrlimit(name, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))

    def run(self, *words):
        done = subprocess.run([*self.start, *words], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, check=False,
                              capture_output=True, text=True, timeout=300, user=self.user, umask=self.umask, preexec_fn=self.enter)
        return done.returncode, done.stdout, done.stderr

    def __str__(self):
        return f"SEED={gate_test.SEED} " + str({key: value for key, value in vars(self).items() if key != "root"})


class OneResult(gate_test.InFolder):
    def setUp(self):
        super().setUp()
        self.size = self.draw.randrange(3, 999)
        self.starts = [[]] + [["unshare", option] for option in ("-U", "-r") if self.run_here("unshare", option, "true").returncode == 0]
        self.users = [None]
        if os.geteuid() == 0 and self.run_here("setpriv", f"--reuid={NOBODY}", gate_test.ZEROSKID, "--version").returncode == 0:
            self.users.append(NOBODY)
        for _ in os.sched_getaffinity(0):
            busy = subprocess.Popen(["sh", "-c", "while :; do :; done"])
            self.addCleanup(busy.wait)
            self.addCleanup(busy.kill)

    def place(self, length):
        place = Place(self.draw, self.starts, self.users, length)
        self.addCleanup(place.root.cleanup)
        if not (self.folder / "program").exists() or self.draw.random() < 0.3:
            self.build(PROGRAM.replace("SIZE", str(self.size)), flags=("-O1", "-g", "-pthread"))
        shutil.copy(self.folder / "program", place.folder)
        return place

    def same_everywhere(self, budget, *program, length=None):
        """length: of the folder's path; none: any"""
        first = None
        for number in range(RUNS):
            place = self.place(length or self.draw.randrange(30, 200))
            words = [gate_test.ZEROSKID, "check", "--budget", budget, "--baseline"]
            made = place.run(*words, "made.json", "--update", "--", *program)
            self.assertEqual(made[0], gate_test.WITHIN, f"{place} {made}")
            baseline = (place.folder / "made.json").read_text()
            (place.folder / "baseline.json").write_text(first[0] if first else baseline)
            checked = place.run(*words, "baseline.json", "--format", "json", "--", *program)
            first = first or (baseline, made, checked)
            for now, was in zip((baseline, made, checked), first):
                self.assertEqual(now, was, f"run {number}: {place}")
            self.assertEqual(checked[0], gate_test.WITHIN)

    def test_of_a_program_that_looks_about(self):
        self.same_everywhere(EXACT + ",cycles=0%", "./program")

    def test_of_a_shell_and_its_children(self):
        """A shell asks for its folder's path: its length counts for some instructions."""
        self.same_everywhere(EXACT, "sh", "-c", SCRIPT, length=100)


if __name__ == "__main__":
    gate_test.ZEROSKID = os.path.abspath(sys.argv.pop(1))
    RUNS = int(sys.argv.pop(1)) if sys.argv[1:2] and sys.argv[1].isdigit() else RUNS
    print(f"SEED={gate_test.SEED}", flush=True)
    unittest.main()
