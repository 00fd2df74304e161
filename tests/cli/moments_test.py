"""A signal that ends zeroskid, at many moments of a short recording: what is in the file can be read, and nothing is left running.

Each signal comes at four moments; ZEROSKID_MOMENTS=200 makes it 200.
"""
import os
import pathlib
import signal
import subprocess
import time
import unittest

import tool

MOMENTS = int(os.environ.get("ZEROSKID_MOMENTS", "4"))
#: A shell, a program that it starts, and threads of the kernel's kind: a pipeline.
PROGRAM = ["sh", "-c", "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; seq 1 2000 | sort -n | tail -1"]
RECORD = ["record", "-q", "-e", "instructions:ppp", "-c", "10007", "-o", "moments.data"]


def processes_of(session):
    """[(process id, name)] of what is left of a session."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            name, fields = (folder / "stat").read_text(errors="replace").rsplit(")", 1)
        except OSError:
            continue
        state, _, _, its_session = fields.split()[:4]
        if int(its_session) == session and state != "Z":
            found.append((folder.name, name.split("(", 1)[1]))
    return found


class Moments(tool.InFolder):
    def start(self):
        return subprocess.Popen([tool.ZEROSKID, *RECORD, *PROGRAM], cwd=self.folder, env=tool.ENVIRONMENT,
                                start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def whole(self):
        begin = time.monotonic()
        self.assertEqual(self.start().wait(60), 0)
        return time.monotonic() - begin

    def ends_at_every_moment(self, number):
        length = self.whole()
        for moment in range(MOMENTS):
            recording = self.folder / "moments.data"
            recording.unlink(missing_ok=True)
            with self.subTest(signal=signal.Signals(number).name, moment=moment), self.start() as process:
                time.sleep(length * moment / MOMENTS)
                process.send_signal(number)
                process.wait(60)
                for _ in range(600):
                    left = processes_of(process.pid)
                    if not left:
                        break
                    time.sleep(0.1)
                self.assertEqual(left, [])
                if recording.exists() and recording.stat().st_size != 0:
                    outcome = self.run_here("script", "-i", recording.name, "-F", "ip")
                    self.assertEqual(outcome.status, 0, outcome.err)

    def test_killed(self):
        self.ends_at_every_moment(signal.SIGKILL)

    def test_terminated(self):
        self.ends_at_every_moment(signal.SIGTERM)

    def test_interrupted(self):
        self.ends_at_every_moment(signal.SIGINT)

    def test_hung_up(self):
        self.ends_at_every_moment(signal.SIGHUP)


if __name__ == "__main__":
    tool.main()
