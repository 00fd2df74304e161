"""A name comes from the very file that was mapped; else there is none."""
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


if __name__ == "__main__":
    tool.main()
