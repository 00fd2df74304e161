"""A terminal for the programs that tests run."""
import errno
import fcntl
import os
import pty
import struct
import subprocess
import termios


def run(words, environment, columns=80, cwd=None, stderr=True):
    """(exit status, what the terminal was sent, what went to stderr) of a program whose terminal has so many columns.
    `stderr`: whether that is the terminal too."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    with subprocess.Popen([str(word) for word in words], stdin=theirs, stdout=theirs, cwd=cwd, env=environment,
                          stderr=theirs if stderr else subprocess.PIPE) as child:
        os.close(theirs)
        sent = b""
        try:
            while piece := os.read(ours, 65536):
                sent += piece
        except OSError as error:
            if error.errno != errno.EIO:  # nobody has the other side open
                raise
        os.close(ours)
        errors = b"" if stderr else child.stderr.read()
    return child.returncode, sent.decode(errors="replace"), errors.decode(errors="replace")
