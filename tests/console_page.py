"""A page whose ```console blocks are run: each command has to print what the page shows below it.

The programs on the page have the same environment everywhere, folders of names of the same lengths in it: where their stacks lie
depends on it, and so does what is modelled. What is sampled depends on the processor, too (tools/page_lines.py): shares may be
five points apart.
"""
import os
import re
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from page_lines import alike

POINTS = 5


def check(case, page, zeroskid):
    """case: the unittest.TestCase; page: its path, beside which ../../examples lies."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    examples = os.path.abspath(os.path.join(os.path.dirname(page), "..", "..", "examples"))
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.symlink(examples, os.path.join(folder, "examples"))
        os.symlink(os.path.dirname(zeroskid), os.path.join(folder, "bin"))
        environment = {"PATH": f"{folder}/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": folder}
        for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
            for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
                result = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=False,
                                        timeout=300, cwd=folder)
                case.assertEqual(result.returncode, 0, (command, result.stderr))
                now, lines = result.stdout.splitlines(), shown.splitlines()
                if len(now) == len(lines):
                    now = [line if alike(line, other, POINTS) else other for line, other in zip(lines, now)]
                case.maxDiff = None
                case.assertEqual(now, lines, command)
