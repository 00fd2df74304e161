#!/usr/bin/env python3
"""Runs the pages that show the virtual PC: writes their files (```asm NAME) and runs their commands (```console), whose output has
to be what the page shows. The guests are in build/release/guests.

  howto_test.py ZEROSKID SOURCES BINARIES        with the pages beside SOURCES
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ZEROSKID = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(sys.argv[2]).resolve().parent
GUESTS = pathlib.Path(sys.argv[3]).resolve()
PAGES = ["docs/how-to/pmu-programming.md"]


def run(page):
    """(commands that ran, blocks that differ)"""
    blocks = re.findall(r"^```(\w+) ?(\S*)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    wrong = ran = 0
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "build/release").mkdir(parents=True)
        (pathlib.Path(folder) / "build/release/guests").symlink_to(GUESTS)
        for kind, name, body in blocks:
            if kind == "asm":
                (pathlib.Path(folder) / name).write_text(body)
            elif kind == "console":
                commands = [line[2:] for line in body.splitlines() if line.startswith("$ ")]
                shown = "".join(line + "\n" for line in body.splitlines() if not line.startswith("$ "))
                script = f'zeroskid() {{ "{ZEROSKID}" "$@"; }}\n' + "\n".join(commands)
                done = subprocess.run(["bash", "-c", script], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True, timeout=120, stdin=subprocess.DEVNULL)
                ran += len(commands)
                if done.stdout != shown:
                    wrong += 1
                    print("FAILED", *commands, "the page shows:", shown, "but it printed:", done.stdout, sep="\n")
    print(f"{ran} commands of {page.name}, {wrong} blocks differ")
    return ran, wrong


def main():
    results = [run(ROOT / page) for page in PAGES]
    return 1 if any(wrong or not ran for ran, wrong in results) else 0


if __name__ == "__main__":
    sys.exit(main())
