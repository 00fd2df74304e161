"""Guests of guests/*.asm: what the head of a source promises, and what a run of it in `zeroskid boot` gave.

  ; cpu     all (of Intel's), or names of models: where the guest runs
  ; boot    image (a disk image; without this line it is a Multiboot kernel)
  ; options more words for zeroskid boot
  ; screen  one line of the screen; all of them, in order
  ; exit    the exit status (0 if there is no such line)
  ; ds      bts_index 4001f0       a field of the Debug Store's management area, at the end
  ;         bts N FROM TO          BTS record N
  ;         pebs N FIELD VALUE ... fields of PEBS record N, as --ds-log names them
A line of screen or ds that begins with [MODEL MODEL..] holds on these CPU models only.
"""
import dataclasses
import pathlib
import re
import subprocess
import tempfile


AMD = ["zen4"]  # no Debug Store, other registers: "all" in a guest's head is of Intel's


@dataclasses.dataclass
class Story:
    name: str
    cpus: list
    screen: list
    ds: list
    options: list
    boot: str = "--kernel"
    exit: int = 0


def read_story(path):
    story = Story(path.stem, [], [], [], [])
    for line in path.read_text().splitlines():
        match = re.match(r"; (cpu|boot|options|screen|exit|ds) +(.*)$", line) or re.match(r"; (screen)()$", line)
        if not line.startswith(";"):
            break
        if not match:
            continue
        word, rest = match.groups()
        if word == "cpu":
            story.cpus += rest.split()
        elif word == "boot":
            story.boot = {"image": "--image", "kernel": "--kernel"}[rest]
        elif word == "options":
            story.options += rest.split()
        elif word == "screen":
            story.screen.append(line[len("; screen "):])
        elif word == "exit":
            story.exit = int(rest)
        else:
            story.ds.append(rest)
    return story


def lines_for(lines, cpu):
    """The lines for this CPU model: those without models in front, and those with this one."""
    chosen = []
    for line in lines:
        match = re.match(r"\[([\w -]+)\] ?(.*)$", line)
        if not match:
            chosen.append(line)
        elif cpu in match.group(1).split():
            chosen.append(match.group(2))
    return chosen


@dataclasses.dataclass
class Outcome:
    status: int
    screen: list
    said: str
    ds: str


def run(zeroskid, story, binary, cpu, more=()):
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "ds"
        ds_log = [] if cpu in AMD else ["--ds-log", str(log)]
        done = subprocess.run([zeroskid, "boot", story.boot, str(binary), "--cpu", cpu, "--max-instructions", "50000000",
                               *ds_log, *story.options, *more],
                              capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
        return Outcome(done.returncode, done.stdout.splitlines(), done.stderr, log.read_text() if log.exists() else "")


def debug_store(log):
    """The last picture of a --ds-log: {"bts_index": .., "bts": [{field: value}], "pebs": [...]}."""
    last = log[log.rfind("\n#") + 1:] if "\n#" in log else log
    area = {"bts": {}, "pebs": {}}
    record = area
    for line in last.splitlines():
        if match := re.match(r"(bts|pebs) (\d+) at ", line):
            record = area[match.group(1)].setdefault(int(match.group(2)), {})
        elif match := re.match(r"  \+[0-9a-f]+ (\S+) +([0-9a-f]+)$", line):
            record[match.group(1)] = int(match.group(2), 16)
    return area


def broken_promises(story, outcome, cpu):
    """What differs from the story, as lines; none if all is as promised."""
    wrong = []
    if outcome.status != story.exit:
        wrong.append(f"exit status {outcome.status}, promised {story.exit}: {outcome.said}")
    promised = lines_for(story.screen, cpu)
    if outcome.screen != promised:
        wrong.append("screen:")
        for i in range(max(len(promised), len(outcome.screen))):
            want = promised[i] if i < len(promised) else "(nothing)"
            got = outcome.screen[i] if i < len(outcome.screen) else "(nothing)"
            wrong.append(f"  {'  ' if want == got else '! '}{want:<50} | {got}")
    area = debug_store(outcome.ds) if story.ds else {}
    for words in (line.split() for line in lines_for(story.ds, cpu)):
        if words[0] == "bts":
            record = area["bts"].get(int(words[1]), {})
            want, got = [int(word, 16) for word in words[2:]], [record.get("from"), record.get("to")]
        elif words[0] == "pebs":
            record = area["pebs"].get(int(words[1]), {})
            fields = dict(zip(words[2::2], words[3::2]))
            want, got = [int(value, 16) for value in fields.values()], [record.get(field) for field in fields]
        else:
            want, got = [int(words[1], 16)], [area.get(words[0])]
        if want != got:
            wrong.append(f"debug store: {' '.join(words)}: found "
                         f"{' '.join('nothing' if value is None else f'{value:x}' for value in got)}")
    return wrong
