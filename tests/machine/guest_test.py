#!/usr/bin/env python3
"""Runs every guest of guests/*.asm on every CPU model it names, and compares screen, exit status and Debug Store with the
head of its source. Each guest also runs one instruction at a time (--trace), which must change nothing.

  guest_test.py ZEROSKID SOURCES BINARIES [NAME]...
"""
import pathlib
import subprocess
import sys

import guest


def models(zeroskid):
    """The CPU models, without versions, as a message lists them."""
    said = subprocess.run([zeroskid, "boot", "--kernel", "x", "--cpu", "?"], capture_output=True, text=True).stderr
    return [name.split("@")[0] for name in said.split("models: ")[1].strip().split(", ")]


def main():
    zeroskid, sources, binaries = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    every_cpu = models(zeroskid)
    wanted = sys.argv[4:]
    failed = runs = 0
    for source in sorted(sources.glob("*.asm")):
        if wanted and source.stem not in wanted:
            continue
        story = guest.read_story(source)
        cpus = [cpu for name in story.cpus for cpu in (every_cpu if name == "all" else [name])]
        assert cpus, f"{source}: the head names no cpu"
        for cpu in cpus:
            for more in ((), ("--trace", "/dev/null")) if cpu == cpus[0] else ((),):
                outcome = guest.run(zeroskid, story, binaries / f"{source.stem}.bin", cpu, more)
                runs += 1
                if wrong := guest.broken_promises(story, outcome, cpu):
                    failed += 1
                    print(f"FAILED {source.stem} on {cpu} {' '.join(more)}", *wrong, sep="\n  ")
    print(f"{runs - failed} of {runs} runs of guests as promised")
    return 1 if failed or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
