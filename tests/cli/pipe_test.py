"""record -o -: a recording in a pipe is the one of a file, to perf and to us.   pipe_test.py ZEROSKID"""
import shutil
import subprocess
import unittest

import tool

PROGRAM = ["sh", "-c", "echo from the program; ls / > /dev/null"]
KINDS = (["-e", "instructions", "-c", "10007", "-g"], ["-e", "{instructions,branches}", "-c", "20011", "-b"],
         ["-F", "997", "--call-graph", "dwarf,4096"], ["-e", "intel_bts//u"], ["-e", "cycles,branches"])


class Pipe(tool.InFolder):
    def record(self, kind, **options):
        return subprocess.run([tool.ZEROSKID, "record", "--virtual-time", *kind, "-o", *options.pop("output"), "--", *PROGRAM],
                              cwd=self.folder, env=tool.ENVIRONMENT, check=False, stderr=subprocess.PIPE, timeout=120, **options)

    def read(self, reader, *words):
        """What it prints of perf.data, and of the same in the pipe's form."""
        piped = (self.folder / "piped").read_bytes()
        return [subprocess.run([reader, *words, "-i", file], cwd=self.folder, check=True, capture_output=True,
                               input=piped, env=tool.ENVIRONMENT).stdout for file in ("perf.data", "-")]

    def test_a_pipe_holds_what_a_file_holds(self):
        readers = [tool.ZEROSKID, *filter(None, [shutil.which("perf")])]
        for kind in KINDS:
            self.assertEqual(self.record(kind, output=["perf.data"], stdout=subprocess.DEVNULL).returncode, 0)
            with open(self.folder / "piped", "wb") as piped:
                done = self.record(kind, output=["-"], stdout=piped)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(b"from the program\n", done.stderr)  # and so not in the recording
            self.assertIn(b"-> - (", done.stderr)
            for reader in readers:
                script = ["script", "--itrace=b"] if "bts" in kind[-1] else ["script"]
                file, pipe = self.read(reader, *script)
                with self.subTest(kind=kind, reader=reader):
                    self.assertEqual(file, pipe)
                    self.assertGreater(len(file.splitlines()), 10)

    def test_a_reader_that_has_enough_is_no_failure_of_the_program(self):
        done = subprocess.run(f"{tool.ZEROSKID} record -q -o - true | head -c 10 | wc -c", shell=True, capture_output=True, text=True,
                              cwd=self.folder, env=tool.ENVIRONMENT, check=True)
        self.assertEqual(done.stdout, "10\n")

    def test_no_temporary_file_is_left(self):
        folder = self.folder / "temporary"
        folder.mkdir()
        done = self.run_here("record", "-q", "-o", "-", "true", environment={"TMPDIR": str(folder)})
        self.assertTrue(done.out.startswith("PERFILE2"))
        self.assertEqual(list(folder.iterdir()), [])
        done = self.run_here("record", "-o", "-", "true", environment={"TMPDIR": "/nonexistent"})
        self.assertEqual((done.status, done.out), (125, ""))
        self.assertIn("set TMPDIR to a folder that can be written", done.err)


if __name__ == "__main__":
    tool.main()
