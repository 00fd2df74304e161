"""A page whose ```console blocks are run: each command has to print what the page shows below it.

The programs on the page have the same environment everywhere, folders of names of the same lengths in it: where their stacks lie
depends on it, and so does what is modelled.
"""
import os
import re
import subprocess
import tempfile


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
                case.assertEqual(result.stdout, shown, command)
