"""Top-down analysis says of programs with one known bottleneck which it is, and level 1 is all slots."""
import json
import pathlib
import subprocess
import tempfile
import unittest

import tool

#: Built here with the system's compiler; each spends nearly all its time in one loop.
SOURCES = {
    # 32 MiB, one load after the other, each from a line that nobody expects
    "chase": """
#include <stdlib.h>
int main(void) {
  size_t n = 1 << 19, x = 88172645463325252UL, k = 0;
  size_t *line = malloc(n * 64), *order = malloc(n * 8);
  for (size_t i = 0; i < n; i++) order[i] = i;
  for (size_t i = n - 1; i > 0; i--) {
    x ^= x << 13; x ^= x >> 7; x ^= x << 17;
    size_t j = x % i, t = order[i];
    order[i] = order[j]; order[j] = t;
  }
  for (size_t i = 0; i < n; i++) line[order[i] * 8] = order[(i + 1) % n] * 8;
  for (int i = 0; i < 300000; i++) k = line[k];
  return k == 1;
}""",
    # a branch on a bit of a random number
    "branchy": """
int main(void) {
  unsigned long x = 88172645463325252UL;
  long s = 0;
  for (int i = 0; i < 1000000; i++) {
    x ^= x << 13; x ^= x >> 7; x ^= x << 17;
    if (x & 1024) __asm__ volatile("add $3, %0" : "+r"(s)); else __asm__ volatile("sub $1, %0" : "+r"(s));
  }
  return s == 1;
}""",
    # independent additions
    "busy": """
int main(void) {
  long a = 0, b = 0, c = 0, d = 0;
  for (int i = 0; i < 1000000; i++)
    __asm__ volatile("add $1, %0; add $1, %1; add $1, %2; add $1, %3; add $1, %0; add $1, %1"
                     : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
  return a == 1;
}""",
}
#: The largest node of level 1, and of level 2 if it tells more.
EXPECTED = {"chase": ("Backend_Bound", "Memory_Bound"), "branchy": ("Bad_Speculation", "Branch_Mispredicts"),
            "busy": ("Retiring", "Light_Operations")}


class Topdown(unittest.TestCase):
    def nodes(self, model, program):
        ran = tool.zeroskid("topdown", "--detail", "complete", "-j", "-o", program.parent / "tree", "--cpu", model, "--", program)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return json.loads((program.parent / "tree").read_text())["nodes"]

    def test_each_program_has_its_bottleneck_on_every_cpu_model(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, source in SOURCES.items():
                program = pathlib.Path(folder) / name
                program.with_suffix(".c").write_text(source)
                subprocess.run(["cc", "-O2", "-o", program, program.with_suffix(".c")], check=True)
                for model in tool.INTEL_CORES[1:]:  # Westmere has no event of its front end
                    with self.subTest(program=name, model=model):
                        self.has_bottleneck(self.nodes(model, program), *EXPECTED[name])

    def has_bottleneck(self, nodes, level1, level2):
        percent = {node["node"]: node["percent"] for node in nodes}
        tops = {node["node"]: node["percent"] for node in nodes if node["level"] == 1}
        self.assertAlmostEqual(sum(tops.values()), 100, places=9)  # of whole slots: what is left is the rounding of four divisions
        self.assertEqual(max(tops, key=tops.get), level1, percent)
        self.assertGreater(percent[level2], percent[level1] / 2, percent)
        if level1 != "Retiring":  # six additions do not fill the slots of a core six wide as far as its mark
            self.assertIn(level2, {node["node"] for node in nodes if node["marked"]})


if __name__ == "__main__":
    tool.main()
