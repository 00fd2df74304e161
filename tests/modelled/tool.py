"""Runs zeroskid for the tests of this folder."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ZEROSKID = GUESTS = None

#: CPU models whose core is modelled: those with Intel's events, and all.
INTEL_CORES = ["westmere", "haswell", "skylake-server", "icelake-server", "sapphire-rapids"]
CORES = INTEL_CORES + ["zen4"]

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": "/"}


def zeroskid(*words, folder="/", timeout=600):
    return subprocess.run([ZEROSKID, *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=timeout,
                          env=ENVIRONMENT, stdin=subprocess.DEVNULL, check=False, errors="replace")


def guest(name, *arguments):
    return [str(GUESTS / name), *arguments]


def counts(events, program, *options):
    """The whole run's count of each event, and its class: {event: (number, class)}."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "counts"
        detail = [] if "--detail" in options else ["--detail", "complete"]
        ran = zeroskid("stat", "-j", "-o", output, *detail, *options, "-e", ",".join(events), "--", *program)
        assert ran.returncode == 0, ran.stderr
        rows = [json.loads(line) for line in output.read_text().splitlines()]
    return {row["event"]: (round(float(row["counter-value"])), row["class"]) for row in rows}


def numbers(events, program, *options):
    return {event: number for event, (number, _) in counts(events, program, *options).items()}


def main():
    global ZEROSKID, GUESTS
    ZEROSKID, GUESTS = os.path.abspath(sys.argv[1]), pathlib.Path(os.path.abspath(sys.argv[2]))
    unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[3:]])
