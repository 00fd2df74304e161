"""A page whose ```console blocks are run: each command has to print what the page shows below it."""
import os
import re
import subprocess
import tempfile


def check(case, page, zeroskid, environment):
    """case: the unittest.TestCase; page: its path, beside which ../../examples lies."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    examples = os.path.abspath(os.path.join(os.path.dirname(page), "..", "..", "examples"))
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(examples, os.path.join(folder, "examples"))
        environment = dict(environment, PATH=os.path.dirname(zeroskid) + ":" + environment["PATH"])
        for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
            for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
                result = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=False,
                                        timeout=300, cwd=folder)
                case.assertEqual(result.returncode, 0, (command, result.stderr))
                case.assertEqual(result.stdout, shown, command)
