"""Programs that do several things of tests/causes/kinds.py in turn, in shares, lengths and an order that are drawn: what estimates of
programs are measured with that nobody chose (bench/sampling --generated)."""
import random
import subprocess

import kinds

#: Without those that run several threads, whose order is that of the machine.
KINDS = [name for name in kinds.KINDS if "sharing" not in name]
MAIN = """
#include <stdlib.h>
%s
int main(void) {
%s  for (int round = 0; round < %d; ++round) {
%s  }
  return 0;
}
"""


def draw(seed):
    """(C, assembly, what it is in words)"""
    random_source = random.Random(f"mixture {seed}")
    names = random_source.sample(KINDS, random_source.randrange(2, 7))
    rounds = random_source.choice([1, 3, 12, 60, 300])
    functions, prepared, called, assembly, words = "", "", "", "", []
    for i, name in enumerate(names):
        program = kinds.KINDS[name](random_source)
        times = random_source.lognormvariate(2.2, 0.9)  # of four million cycles: in the median nine
        turns = max(int(program.turns * times / rounds), 1)
        functions += f"void kernel_{i}(unsigned long turns, unsigned long* memory);\n"
        functions += f"static void prepare_{i}(unsigned long* memory) {{ (void)memory; {program.prepare} }}\n"
        prepared += f"  unsigned long* memory_{i} = aligned_alloc(4096, {(program.bytes + 4095) // 4096 * 4096});\n  prepare_{i}(memory_{i});\n"
        # What walks on through its memory begins anew before the end of it.
        for first in range(0, turns, program.turns):
            called += f"    kernel_{i}({min(program.turns, turns - first)}ul, memory_{i});\n"
        assembly += kinds.KERNEL.replace("kernel", f"kernel_{i}") % program.kernel.replace("# GUILTY", "")
        words.append(f"{name} {times:.1f}")
    return MAIN % (functions, prepared, rounds, called), assembly, f"{rounds} rounds of " + ", ".join(words)


def build(seed, folder):
    """Path of the program, and what it is in words."""
    main, assembly, words = draw(seed)
    (folder / f"mixture_{seed}.c").write_text(main)
    (folder / f"mixture_{seed}_kernels.S").write_text(assembly)
    program = folder / f"mixture_{seed}"
    subprocess.run(["cc", "-O1", "-g", "-o", program, f"mixture_{seed}.c", f"mixture_{seed}_kernels.S"], cwd=folder, check=True)
    return program, words
