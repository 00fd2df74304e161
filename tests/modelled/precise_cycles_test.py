"""cycles:pp names the instruction that retirement waits for, as PEBS with precise distribution does, and is sampled once in each period."""
import collections
import os
import subprocess
import tempfile
import unittest

import tool

#: Of tests/guests/waiting_kernels.c: the function, the label of what it waits for, and the least share of its samples there.
WAITS = {"chase": ("waits_for_a_load", 0.8), "gather": ("waits_for_a_line", 0.8), "divide": ("waits_for_a_quotient", 0.8),
         "divide_apart": ("waits_for_the_divider", 0.6), "store": ("waits_for_a_stored_line", 0.8)}


def labels(program):
    table = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    return {line.split()[2]: int(line.split()[0], 16) for line in table.splitlines() if len(line.split()) == 3}


class PreciseCycles(unittest.TestCase):
    def samples(self, program, *options):
        """{address: samples}"""
        with tempfile.TemporaryDirectory() as folder:
            data = os.path.join(folder, "perf.data")
            ran = tool.zeroskid("record", "-q", "--detail", "complete", "--virtual-time", "-o", data, *options, "--", *program)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            shown = tool.zeroskid("script", "-i", data, "-F", "ip").stdout
        return collections.Counter(int(line, 16) for line in shown.split())

    def test_the_waiting_instruction_is_named(self):
        program = tool.guest("waiting_kernels")
        places = labels(program[0])
        starts = sorted(places[name] for name in WAITS)
        for cpu in ("skylake-server", "haswell"):
            found = self.samples(program, "-e", "cycles:pp", "-c", "5003", "--cpu", cpu)
            for function, (label, share) in WAITS.items():
                with self.subTest(cpu=cpu, function=function):
                    first = places[function]
                    end = min([start for start in starts if start > first], default=first + 128)
                    here = {ip: count for ip, count in found.items() if first <= ip < end}
                    self.assertGreater(sum(here.values()), 15)
                    self.assertGreaterEqual(here.get(places[label], 0) / sum(here.values()), share, here)

    def test_a_neighbour_is_named_where_records_are_of_what_comes_next(self):
        """The same kernel by interrupts, which skid: so the labels are not where samples fall anyway."""
        program = tool.guest("waiting_kernels")
        places = labels(program[0])
        found = self.samples(program, "-e", "cycles", "-c", "997")
        self.assertLess(found[places["waits_for_a_load"]], 0.5 * found.total())

    def test_there_is_a_sample_for_each_period(self):
        """Of periods that are longer than any wait of one instruction: a longer wait is one record, as in silicon."""
        for name in ("waiting_kernels", "qsort_static"):
            program = tool.guest(name)
            counted = tool.numbers(["cycles"], program, "--virtual-time")["cycles"]
            for period in (5003, 10007, 100003):
                with self.subTest(program=name, period=period):
                    taken = self.samples(program, "-e", "cycles:pp", "-c", str(period)).total()
                    self.assertLessEqual(abs(taken - counted // period), 1)


if __name__ == "__main__":
    tool.main()
