"""What threads do to each other on their modelled cores is a function of the program: whatever the host does, the same counts."""
import os
import subprocess
import tempfile
import unittest

import tool

EVENTS = ["instructions:u", "mem_inst_retired.all_loads", "mem_load_retired.l1_hit", "mem_load_l3_hit_retired.xsnp_hitm",
          "l2_rqsts.miss", "br_misp_retired.all_branches", "cycles"]


def stat(program, prefix=(), pad="x"):
    """The counts of each thread, in the order in which threads ended, and of the whole."""
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "counts")
        words = [*prefix, tool.ZEROSKID, "stat", "-x,", "--per-thread", "-o", output, "-e", ",".join(EVENTS), "--", *program]
        ran = subprocess.run([str(word) for word in words], env=dict(tool.ENVIRONMENT, PAD=pad), stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=300, check=False)
        assert ran.returncode == 0, ran.stderr
        with open(output, encoding="ascii") as file:
            rows = [line.strip().split(",") for line in file]
    # Names of threads end in ids that are the kernel's, and how long they ran is the host's affair.
    return [(row[0].rsplit("-", 1)[0], row[1], row[3]) for row in rows if len(row) > 3] + [ran.stdout]


def samples(program, prefix=(), pad="x", more=("--virtual-time",)):
    """What mem record samples, in the order of the file."""
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "perf.data")
        words = [*prefix, tool.ZEROSKID, "mem", "record", "-q", *more, "-c", "37", "--ldlat", "3", "-o", data, "--", *program]
        ran = subprocess.run([str(word) for word in words], env=dict(tool.ENVIRONMENT, PAD=pad), stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=300, check=False)
        assert ran.returncode == 0, ran.stderr
        return tool.zeroskid("script", "-i", data, "-F", "comm,time,event,ip,addr,weight,data_src").stdout.splitlines()


class Threads(unittest.TestCase):
    def repeats(self, program, stat=stat):
        first = stat(program)
        self.assertGreater(len(first), len(EVENTS))
        load = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2 * (os.cpu_count() or 1))]
        try:
            ways = {"under load": stat(program)}
        finally:
            for process in load:
                process.kill()
                process.wait()
        ways["again"] = stat(program)
        ways["no ASLR"] = stat(program, prefix=["setarch", "-R"])
        ways["longer environment"] = stat(program, pad="x" * 3000)
        for way, counted in ways.items():
            with self.subTest(way=way):
                self.assertEqual(counted, first)

    def test_two_threads_repeat(self):
        self.repeats(tool.guest("threads_sharing", "2"))

    def test_eight_threads_repeat(self):
        self.repeats(tool.guest("threads_sharing", "8"))

    def test_samples_of_eight_threads_repeat(self):
        self.repeats(tool.guest("threads_sharing", "8"), samples)

    def test_samples_beside_a_thread_that_sleeps_repeat(self):
        self.repeats(tool.guest("threads_sleeping"), samples)

    def test_a_thread_that_wakes_up_does_not_wait_for_what_others_did_meanwhile(self):
        # The line that both write was the other's last at some cycle. Whoever comes back from the kernel is not before that: what it
        # waits for is a hand-over, some hundred cycles, not the millions that passed while it slept.
        turn = 20_000
        for _ in range(3):  # when it wakes up is the host's affair
            for row in samples(tool.guest("threads_sleeping"), more=()):
                if "mem-loads" in row:
                    self.assertLess(int(row.split()[-2]), turn, row)

    def test_locks_conditions_and_barriers_repeat(self):
        self.repeats(tool.guest("threads_pthread"))

    def test_who_leaves_its_lock_only_in_system_calls_lets_the_others_in(self):
        # A turn of so many accesses ended at the same place each time, with the lock, and the other thread never got it.
        self.assertIn("300 turns\n", stat(tool.guest("threads_raise_in_a_loop")))


if __name__ == "__main__":
    tool.main()
