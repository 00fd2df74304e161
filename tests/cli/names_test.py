"""A name comes from the very file that was mapped, or from what the very process said of its code; else there is none."""
import os
import re
import subprocess

import tool

ONE = b"""__attribute__((noinline)) unsigned first_version(unsigned x) {
  for (int i = 0; i < 2000000; ++i) x = x * 31 + i;
  return x;
}
int main(void) { return first_version(1) == 7; }
"""
OTHER = b"""__attribute__((noinline)) unsigned filler(unsigned x) { return x * x + 77; }
__attribute__((noinline)) unsigned second_version(unsigned x) {
  for (int i = 0; i < 1000000; ++i) x = x * 33 + i;
  return x;
}
int main(void) { return second_version(filler(1)) == 7; }
"""
COMPILER = br"""#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int argc, char** argv) {
  unsigned char loop[] = {0xB9, 0x40, 0x42, 0x0F, 0, 0xFF, 0xC9, 0x75, 0xFC, 0xC3};  // a million turns
  void* code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(code, loop, sizeof loop);
  char path[64];
  sprintf(path, "/tmp/perf-%d.map", getpid());
  FILE* map = fopen(path, "w");
  fprintf(map, "%lx 10 %s\n", (unsigned long)code, argv[1]);
  fclose(map);
  if (argc > 2) utimensat(AT_FDCWD, path, (struct timespec[2]){{0, 0}, {0, 0}}, 0);
  ((void (*)(void))code)();
  puts(path);
  return 0;
}
"""


class Names(tool.InFolder):
    def build(self, name, source, *options):
        self.file(name + ".c", source)
        subprocess.run(["gcc", "-O1", *options, "-o", self.folder / name, self.folder / (name + ".c")], check=True)

    def report(self, *options, **environment):
        """({symbol: share}, what was said) of the recording."""
        outcome = self.run_here("report", "--stdio", "--no-children", "-s", "symbol", *options, environment=environment)
        self.assertEqual(outcome.status, 0, outcome.err)
        rows = re.findall(r"^ +([\d.]+)% .*\[\.\] (\w+)", outcome.out, re.MULTILINE)
        return {symbol: float(share) for share, symbol in rows}, outcome.err

    def record(self, *words):
        outcome = self.run_here("record", "-q", "-e", "instructions:ppp", "-c", "1009", "--", *words)
        self.assertEqual(outcome.status, 0, outcome.err)
        return outcome

    def test_two_builds_at_one_path_are_two_files(self):
        self.build("one", ONE, "-Wl,--build-id")
        self.build("other", OTHER, "-Wl,--build-id")
        self.record("sh", "-c", "cp one x; ./x; rm x; cp other x; ./x")
        shares, said = self.report("-c", "x")
        self.assertAlmostEqual(shares["second_version"], 100 / 3, delta=4)
        self.assertNotIn("first_version", shares)
        self.assertRegex(said, r"/x: built anew since the recording: build-id [0-9a-f]{40} recorded, [0-9a-f]{40} found")
        old = re.search(r"build-id (..)(\w+) recorded", said)
        kept = self.folder / ".debug/.build-id" / old[1] / old[2]
        kept.mkdir(parents=True)
        os.rename(self.folder / "one", kept / "elf")
        shares, said = self.report("-c", "x", HOME=str(self.folder))
        self.assertAlmostEqual(shares["first_version"], 200 / 3, delta=4)
        self.assertAlmostEqual(shares["second_version"], 100 / 3, delta=4)

    def test_a_file_that_has_no_build_id_is_not_the_one_that_had(self):
        self.build("one", ONE, "-Wl,--build-id")
        self.build("other", OTHER, "-Wl,--build-id=none")
        self.record("sh", "-c", "cp one x; ./x; rm x; cp other x")
        shares, said = self.report("-c", "x")
        self.assertEqual({name for name in shares if name.endswith("_version")}, set())
        self.assertIn("recorded, none found", said)

    def test_compiled_code_has_the_names_of_its_own_run(self):
        self.build("compiler", COMPILER)
        path = self.record("./compiler", "sum_of_rows").out.strip()
        self.addCleanup(os.unlink, path)
        with open(path) as file:
            lines = file.read()
        with open(path, "w") as file:
            file.write(lines.replace("sum_of_rows", "of_another_run"))
        self.assertGreater(self.report()[0].get("sum_of_rows", 0), 50)

    def test_names_that_an_earlier_process_left_are_passed_over(self):
        self.build("compiler", COMPILER)
        outcome = self.record("./compiler", "of_an_earlier_run", "old")
        path = outcome.out.strip()
        self.addCleanup(os.unlink, path)
        self.assertIn(path + ": was written before the recording began, by another process; it is passed over",
                      outcome.err)
        self.assertNotIn("of_an_earlier_run", self.report()[0])


if __name__ == "__main__":
    tool.main()
