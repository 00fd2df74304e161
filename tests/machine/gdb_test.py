#!/usr/bin/env python3
"""Stock gdb on the virtual PC: registers, memory, breakpoints, step, watchpoints, continue to the end.

  gdb_test.py ZEROSKID SOURCES BINARIES
"""
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

ZEROSKID, _, BINARIES = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])


def debug(*commands, options=(), registers="x86-64", architecture="i386:x86-64"):
    """What gdb printed, and what zeroskid said and returned."""
    pc = subprocess.Popen([ZEROSKID, "boot", "--kernel", BINARIES / "bts_circular.bin", "--cpu", "westmere",
                           "--max-instructions", "50000000", "--gdb", f"0,{registers}", *options],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    try:
        port = re.search(r"127\.0\.0\.1:(\d+)", pc.stderr.readline()).group(1)
        words = ["gdb", "-nx", "-batch", "-ex", f"set architecture {architecture}", "-ex", f"target remote 127.0.0.1:{port}"]
        for command in commands:
            words += ["-ex", command]
        gdb = subprocess.run(words, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
        out, err = pc.communicate(timeout=120)
    finally:
        pc.kill()
    return gdb.stdout + gdb.stderr, out, err, pc.returncode


@unittest.skipUnless(shutil.which("gdb"), "gdb is not installed")
class StockGdb(unittest.TestCase):
    def test_breakpoint_step_registers_and_memory(self):
        said, *_ = debug("break *0x8ffe", "continue", "printf \"A %lx %lx\\n\", $pc, $rcx", "stepi",
                         "printf \"B %lx\\n\", $pc", "stepi", "printf \"C %lx\\n\", $pc", "x/1xg 0x400000",
                         "set var $rbx = 0x1234", "printf \"D %lx\\n\", $rbx", "set *(unsigned char*)0x500000 = 0x5a",
                         "x/1xb 0x500000", "kill")
        for line in ("A 8ffe 1d9", "B 9000", "C 9002", "0x400000:\t0x0000000000400100", "D 1234", "0x500000:\t0x5a"):
            self.assertIn(line, said)

    def test_jump_stops_at_a_breakpoint_that_lies_where_it_goes(self):
        said, *_ = debug("break *0x8ffe", "continue", "tbreak *0x9000", "jump *0x9000",
                         "printf \"J %lx %lx\\n\", $pc, $rcx", "continue", "printf \"never\\n\"")
        self.assertIn("J 9000 1d9", said)
        self.assertIn("exited normally", said)

    def test_registers_of_32_bits_are_those_that_a_32_bit_gdb_asks_for(self):
        said, *_ = debug("break *0x8ffe", "continue", "printf \"A %x %x %x\\n\", $eip, $ecx, $cs", "set var $ebx = 0x1234",
                         "stepi", "printf \"B %x %x\\n\", $eip, $ebx", "kill", registers="i386", architecture="i386")
        self.assertIn("A 8ffe 1d9 8", said)
        self.assertIn("B 9000 1234", said)
        self.assertNotIn("not compatible", said)

    def test_watchpoint_stops_behind_the_store(self):
        said, *_ = debug("break *0x8ffe", "continue", "delete", "watch *(unsigned long*)0x400008", "continue",
                         "printf \"W %lx %lx\\n\", $pc, *(unsigned long*)0x400008", "kill")
        self.assertRegex(said, r"Hardware watchpoint")

    def test_continue_runs_to_the_end_and_the_screen_is_printed(self):
        said, out, err, status = debug("continue")
        self.assertIn("exited normally", said)
        self.assertEqual(out.splitlines()[0], "BTS index 00400118")
        self.assertIn("idle: halted", err)
        self.assertEqual(status, 0)

    def test_detach_lets_it_run_on(self):
        _, out, _, status = debug("stepi", "detach")
        self.assertEqual((out.splitlines()[0], status), ("BTS index 00400118", 0))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
