"""A terminal for the programs that tests run."""
import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading

END = b"\0the program has ended\0"


def run(words, environment, columns=80, cwd=None, stderr=True):
    """(exit status, what the terminal was sent, what went to stderr) of a program whose terminal has so many columns.
    `stderr`: whether that is the terminal too."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    with subprocess.Popen([str(word) for word in words], stdin=theirs, stdout=theirs, cwd=cwd, env=environment,
                          stderr=theirs if stderr else subprocess.PIPE) as child:
        # Linux may lose what was last written when the last of its side closes it (once in a hundred thousand times):
        # it stays open here, and the end is told in the same stream.
        ending = threading.Thread(target=lambda: (child.wait(), os.write(theirs, END)))
        ending.start()
        sent = b""
        while not sent.endswith(END):
            sent += os.read(ours, 65536)
        ending.join()
        errors = b"" if stderr else child.stderr.read()
    os.close(theirs)
    os.close(ours)
    return child.returncode, sent.removesuffix(END).decode(errors="replace"), errors.decode(errors="replace")
