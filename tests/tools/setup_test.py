"""tools/setup installs what is missing and only that, with sudo only when it must; else it says what to do.

The package manager is a stand-in: a folder of small scripts that is the whole PATH but for the shell's own tools.
"""
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Knows no package but those in $INSTALLED; apt-get and sudo write down how they were called.
STAND_INS = {
    "dpkg-query": 'for p in $INSTALLED; do [ "$p" = "${@: -1}" ] && echo -n installed && exit 0; done; exit 1',
    "apt-get": 'echo "apt-get $*" >> "$CALLS"; exit "${APT_STATUS:-0}"',
    "sudo": 'echo "sudo" >> "$CALLS"; exec "$@"',
    "id": 'echo "$USER_ID"',
}
SHELL_TOOLS = ["bash", "env", "dirname", "awk", "tr", "tail", "mktemp", "rm"]
BUILD = " ".join(line.split()[0] for line in (ROOT / "tools/packages").read_text().splitlines() if "[build]" in line)


def setup(installed, user_id=0, without=(), apt_status=0):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        for name, body in STAND_INS.items():
            if name not in without:
                (path / name).write_text(f"#!/bin/bash\n{body}\n")
                (path / name).chmod(0o755)
        for tool in SHELL_TOOLS:
            found = next(pathlib.Path(d) / tool for d in ("/usr/bin", "/bin") if (pathlib.Path(d) / tool).exists())
            (path / tool).symlink_to(found)
        calls = path / "calls"
        result = subprocess.run([ROOT / "tools/setup", "build"], capture_output=True, text=True,
                                env={"PATH": folder, "INSTALLED": installed, "USER_ID": str(user_id),
                                     "CALLS": str(calls), "APT_STATUS": str(apt_status), "TMPDIR": folder})
        return result, calls.read_text().splitlines() if calls.exists() else []


class Setup(unittest.TestCase):
    def test_nothing_missing_nothing_done_nothing_said(self):
        result, calls = setup(BUILD)
        self.assertEqual((result.returncode, result.stdout, result.stderr, calls), (0, "", "", []))

    def test_root_installs_only_what_is_missing_without_sudo(self):
        result, calls = setup(BUILD.replace("nasm ", "").replace("libdw-dev ", ""))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, "tools/setup: installing 2 packages: nasm libdw-dev\n")
        self.assertEqual(calls[0], "apt-get update -q")
        self.assertTrue(calls[1].startswith("apt-get install -y "), calls)
        self.assertTrue(calls[1].endswith(" nasm libdw-dev"), calls)
        self.assertEqual(len(calls), 2)

    def test_others_use_sudo(self):
        result, calls = setup(BUILD.replace("nasm ", ""), user_id=1000)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([call.split()[0] for call in calls], ["sudo", "apt-get", "sudo", "apt-get"])

    def test_without_root_and_sudo_it_names_the_command_to_run(self):
        result, calls = setup(BUILD.replace("nasm ", ""), user_id=1000, without=["sudo"])
        self.assertEqual((result.returncode, calls), (1, []))
        self.assertEqual(result.stderr,
                         "tools/setup: 1 packages are missing, and neither root nor sudo is at hand.\n"
                         "hint: as root, run: apt-get install --no-install-recommends nasm\n")

    def test_without_apt_it_names_the_packages(self):
        result, _ = setup("", without=["apt-get"])
        self.assertEqual(result.returncode, 1)
        self.assertIn("this system has no apt-get", result.stderr)
        self.assertIn("libzydis-dev", result.stderr)

    def test_a_failed_installation_is_no_success(self):
        result, _ = setup(BUILD.replace("nasm ", ""), apt_status=100)
        self.assertEqual(result.returncode, 1)
        self.assertIn("tools/setup: apt-get could not install: nasm\n", result.stderr)


if __name__ == "__main__":
    unittest.main()
