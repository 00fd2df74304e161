#!/usr/bin/env python3
"""Runs docs/how-to/pmu-programming.md: writes its files (```asm NAME) and runs its commands (```console), whose output has to be
what the page shows.

  howto_test.py ZEROSKID SOURCES BINARIES        with the page beside SOURCES, in docs/how-to
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ZEROSKID = pathlib.Path(sys.argv[1]).resolve()
PAGE = pathlib.Path(sys.argv[2]).resolve().parent / "docs/how-to/pmu-programming.md"


def main():
    blocks = re.findall(r"^```(\w+) ?(\S*)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    wrong = ran = 0
    with tempfile.TemporaryDirectory() as folder:
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
    print(f"{ran} commands of {PAGE.name}, {wrong} blocks differ")
    return 1 if wrong or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
