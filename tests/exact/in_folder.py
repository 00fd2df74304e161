"""What the tests of exact profiles share: a seed, a folder of its own for each test, and commands that run there."""
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": "/", "XDG_CACHE_HOME": "/dev/null"}
SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 32)))


def run(*words, folder, status=None, timeout=120):
    """status: which it has to have; None: any"""
    done = subprocess.run([str(word) for word in words], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=timeout, errors="replace", check=False)
    assert status is None or done.returncode == status, (words, done.returncode, done.stderr[-800:])
    return done


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_here(self, *words, **options):
        return run(*words, folder=self.folder, **options)
