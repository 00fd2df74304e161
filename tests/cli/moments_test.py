"""A signal that ends zeroskid, at many moments of a short recording: what is in the file can be read, nothing is left
running, and the terminal is as it was. A program whose zeroskid was killed outright runs on to its end, as under perf.

Each signal comes at four moments; ZEROSKID_MOMENTS=200 makes it 200.
"""
import os
import pathlib
import pty
import signal
import subprocess
import termios
import time
import unittest

import tool

MOMENTS = int(os.environ.get("ZEROSKID_MOMENTS", "4"))
#: A shell, a program that it starts, and threads of the kernel's kind: a pipeline.
PROGRAM = ["sh", "-c", "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; seq 1 2000 | sort -n | tail -1"]
RECORD = ["record", "-e", "instructions:ppp", "-c", "10007", "-o", "moments.data"]


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
    def setUp(self):
        super().setUp()
        self.ours, self.theirs = pty.openpty()
        os.set_blocking(self.ours, False)
        self.addCleanup(os.close, self.ours)
        self.addCleanup(os.close, self.theirs)
        self.modes = termios.tcgetattr(self.theirs)

    def start(self):
        terminal = {"stdin": self.theirs, "stdout": self.theirs, "stderr": self.theirs}
        return subprocess.Popen([tool.ZEROSKID, *RECORD, *PROGRAM], cwd=self.folder, start_new_session=True, **terminal,
                                env={**tool.ENVIRONMENT, "TERM": "xterm"})

    def shown(self):
        """What the terminal has got since the last call."""
        text = b""
        try:
            while True:
                text += os.read(self.ours, 1 << 16)  # gives a page at most
        except BlockingIOError:
            return text.decode()

    def whole(self):
        begin = time.monotonic()
        self.assertEqual(self.start().wait(60), 0)
        self.shown()
        return time.monotonic() - begin

    def wait_until_nothing_is_left(self, session):
        for _ in range(600):
            left = processes_of(session)
            if not left:
                break
            time.sleep(0.1)
        self.assertEqual(left, [])

    def ends_at_every_moment(self, number):
        length = self.whole()
        for moment in range(MOMENTS):
            recording = self.folder / "moments.data"
            recording.unlink(missing_ok=True)
            with self.subTest(signal=signal.Signals(number).name, moment=moment), self.start() as process:
                time.sleep(length * moment / MOMENTS)
                process.send_signal(number)
                process.wait(60)
                self.wait_until_nothing_is_left(process.pid)
                self.assertEqual(termios.tcgetattr(self.theirs), self.modes)
                shown = self.shown()
                if number != signal.SIGKILL:  # which leaves a progress line where it is
                    self.assertNotRegex(shown, r"\x1b\[K\[[^\r\n]*$")
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
