"""zeroskid check --explain-noise: programs that do otherwise in each run, and what programs ask for.
noise_test.py ZEROSKID        SEED=N in the environment repeats a run"""
import subprocess
import sys
import unittest

import gate_test
from gate_test import FAILED, SEED, InFolder

#: Behind an odd byte of the file one function takes another branch; the file's byte is another in each run.
PARTS = """
#include <fcntl.h>
#include <unistd.h>
volatile int sum;
@
int main(void) {
  char byte = 0;
  int file = open("byte", O_RDWR);
  read(file, &byte, 1);
  byte++;
  pwrite(file, &byte, 1, 0);
  close(file);
  return @;
}
"""
ASKS = {
    "user and groups": ["getuid()", "getegid()", "getgroups(0, 0)"], "umask": ["umask(022)"],
    "limits": ["getrlimit(RLIMIT_CORE, &limit)"], "room on file systems": ["statfs(\"/\", &room)"],
    "processors that a thread pins itself to": ["sched_setaffinity(0, sizeof set, &set)"],
    "order of a large folder's entries": ["(readdir(opendir(\"/\")) == 0)"],
    "numbers, times and owners of files": ["stat(\"/\", &file)"],
    "what comes by network": ["recv(0, &limit, 1, 0)", "accept(0, 0, 0)"]}
ASKING = """
#define _GNU_SOURCE
#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>
int main(void) {
  struct rlimit limit;
  struct statfs room;
  struct stat file;
  cpu_set_t set;
  return (@) & 0;
}
"""


class Noise(InFolder):
    def explain(self, status, program="./program", **options):
        done = self.zeroskid("check", "--explain-noise", "--", program, status=status, **options)
        return " ".join(done.stderr.split())

    def test_the_function_is_named_where_two_runs_part(self):
        names = [f"does_{number}" for number in range(self.draw.randrange(1, 9))]
        other = self.draw.choice(names)
        text = "".join(
            f"__attribute__((noinline)) int {name}(int byte) {{\n"
            f"  if ({'byte' if name == other else 'sum'} & 1) sum += 2;\n  return sum + 2;\n}}\n" for name in names)
        source = PARTS.replace("@", text, 1).replace("@", " + ".join(f"{name}(byte)" for name in names) + " == 1")
        self.build(source, flags=(self.draw.choice(["-O0", "-O1"]), "-g", *self.draw.choice([(), ("-static",)])))
        (self.folder / "byte").write_bytes(bytes([self.draw.randrange(256)]))
        page = self.explain(1)
        self.assertIn(": two runs part thread ", page)
        self.assertRegex(page, r"last system call: 3, \w*close\w*\+")
        place = rf"{other}\+0x\w+ \(program\)"
        self.assertRegex(page, f"both are at {place} one goes from {place} to .* the other goes from {place} to ")

    def test_what_is_asked_for_is_listed(self):
        def listed(calls):
            self.build(ASKING.replace("@", " + ".join(calls) or "0"), flags=("-w", "-O1", "-static"))
            page = self.explain(0)
            self.assertIn("two runs take the same ", page)
            asked, _, unasked = page.partition(" and it does not ask for: ")
            for what in ASKS:
                self.assertEqual((f" {what}, at " in asked) + (what in unasked.split("; ")), 1, page)
            return {what for what in ASKS if f" {what}, at " in asked}

        always = listed([])
        drawn = self.draw.sample(list(ASKS), self.draw.randrange(1, len(ASKS) + 1))
        wanted = always | set(drawn)
        if "order of a large folder's entries" in wanted:  # opendir() looks at the folder
            wanted.add("numbers, times and owners of files")
        self.assertEqual(listed([self.draw.choice(ASKS[what]) for what in drawn]), wanted)

    def test_what_cannot_run_twice_is_said(self):
        self.build("int main(void) { return 0; }")
        with subprocess.Popen(["echo"], stdout=subprocess.PIPE) as pipe:
            self.assertIn("standard input can be read once only", self.explain(FAILED, stdin=pipe.stdout))
        self.assertIn("no such file", self.explain(FAILED, program="./nothing"))
        done = self.zeroskid("check", "--explain-noise", "--format", "json", "--", "./program", status=FAILED)
        self.assertIn("--explain-noise: is text, not json", done.stderr)


if __name__ == "__main__":
    gate_test.ZEROSKID = sys.argv[1]
    print(f"SEED={SEED}")
    unittest.main(argv=sys.argv[:1], defaultTest="Noise")
