"""On anything but x86-64 Linux the configuration stops with one clear sentence.   platform_test.py CMAKE"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CMAKE = "cmake"


def configure(system, processor):
    with tempfile.TemporaryDirectory() as build:
        result = subprocess.run([CMAKE, "-S", ROOT, "-B", build, "-G", "Ninja", f"-DCMAKE_SYSTEM_NAME={system}",
                                 f"-DCMAKE_SYSTEM_PROCESSOR={processor}"], capture_output=True, text=True)
        return result.returncode, " ".join(result.stderr.split())


class Platform(unittest.TestCase):
    def refuses(self, system, processor):
        status, message = configure(system, processor)
        self.assertNotEqual(status, 0)
        self.assertIn("zeroskid translates x86-64 code in place and runs on x86-64 Linux only; "
                      f"this is {system} on {processor}.", message)

    def test_another_processor_is_refused_by_name(self):
        self.refuses("Linux", "aarch64")

    def test_another_system_is_refused_by_name(self):
        self.refuses("FreeBSD", "x86_64")


if __name__ == "__main__":
    CMAKE = sys.argv.pop(1)
    unittest.main()
