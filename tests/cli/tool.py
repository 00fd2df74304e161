"""Runs zeroskid for the tests of this folder."""
import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ZEROSKID = "zeroskid"

#: No colour, no locale, no variable that changes what zeroskid does.
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": "/", "XDG_CACHE_HOME": "/dev/null"}

#: A program of some million instructions that leaves no trace; and one that runs for some seconds.
SHORT_LOOP = ["sh", "-c", "i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done"]
LONG_LOOP = ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done"]


@dataclasses.dataclass
class Outcome:
    status: int
    out: str
    err: str


def run(*words, folder=None, timeout=120, environment=None, **options):
    """zeroskid with these arguments. A status below 0 means that a signal killed zeroskid itself."""
    result = subprocess.run([ZEROSKID, *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=timeout,
                            env={**ENVIRONMENT, **(environment or {})}, errors="replace",
                            stdin=options.pop("stdin", subprocess.DEVNULL), check=False, **options)
    return Outcome(result.returncode, result.stdout, result.stderr)


class InFolder(unittest.TestCase):
    """A test with an empty folder of its own, in which zeroskid runs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_here(self, *words, **options):
        return run(*words, folder=self.folder, **options)

    def file(self, name, content=b"", mode=0o644):
        path = self.folder / name
        path.write_bytes(content)
        path.chmod(mode)
        return path


def main():
    global ZEROSKID
    ZEROSKID = os.path.abspath(sys.argv[1])
    unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[2:]])
