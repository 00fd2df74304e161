#!/usr/bin/env python3
"""Runs every guest of guests/*.asm on every CPU model it names, and compares screen, exit status and Debug Store with the
head of its source. Each guest also runs one instruction at a time (--trace), which must change nothing. Every quirk has a guest
that shows it: quirk_NAME.asm, or one that asks for it by --quirk.

  guest_test.py ZEROSKID SOURCES BINARIES [NAME]...
"""
import pathlib
import subprocess
import sys

import guest


def names(zeroskid, option, kind):
    """All values of an option, as the message about a wrong one lists them."""
    said = subprocess.run([zeroskid, "boot", "--kernel", "x", option, "?"], capture_output=True, text=True).stderr
    return said.split(f"{kind}: ")[-1].strip().split(", ")


def models(zeroskid):
    """The CPU models, without versions."""
    return [name.split("@")[0] for name in names(zeroskid, "--cpu", "models")]


def quirks_without_a_guest(zeroskid, sources):
    shown = {path.stem.removeprefix("quirk_").replace("_", "-") for path in sources.glob("quirk_*.asm")}
    for source in sources.glob("*.asm"):
        options = guest.read_story(source).options
        shown |= {value for word, value in zip(options, options[1:]) if word == "--quirk"}
    return [name for name in names(zeroskid, "--quirk", "quirks") if name not in shown]


def main():
    zeroskid, sources, binaries = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    every_cpu = [model for model in models(zeroskid) if model not in guest.AMD]
    wanted = sys.argv[4:]
    failed = runs = 0
    for name in quirks_without_a_guest(zeroskid, sources):
        failed += 1
        print(f"FAILED: no guest shows quirk {name}")
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
