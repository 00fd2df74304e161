"""What the tests of this folder share: running zeroskid, the table they plot, and a real one."""
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE / "three_phases.csv"
ZEROSKID = THREE_PHASES = ""

#: Nothing of the caller's terminal or locale.
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/"}
EVENTS = "instructions,cycles,mem_inst_retired.all_loads,branches,br_misp_retired.all_branches"


def run(*words, environment=None, text=None):
    return subprocess.run([ZEROSKID, *map(str, words)], capture_output=True, text=True, timeout=300, input=text,
                          env={**ENVIRONMENT, **(environment or {})})


def count_three_phases(folder):
    """The windows of a real run of examples/three_phases.c."""
    table = pathlib.Path(folder) / "windows.csv"
    done = run("stat", "--virtual-time", "-I", "100000i", "--format", "csv", "-e", EVENTS, "-o", table, THREE_PHASES)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return table


def main():
    global ZEROSKID, THREE_PHASES
    ZEROSKID, THREE_PHASES = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
