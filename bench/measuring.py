"""Measures programs for bench/slowdown, bench/commands and bench/compare.

A time is the CPU time (user + system) of a command's whole process tree, the tool's own processes included. A ratio is that
of a pair of runs, one right after the other, so that what else the machine does meets both. A number shown is the median of
the pairs. The output, the exit status and the files of the two runs of a pair are compared: a fast wrong answer is a failure.
"""
import glob
import hashlib
import math
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
from typing import NamedTuple


class Workload(NamedTuple):
    """A row of a set. {d} in it: the folder made for it; other names in braces: the set's places()."""
    words: str         # the command, as a shell would split it
    prepare: str = ""  # shell commands that make its input, run once in its folder
    before: str = ""   # shell commands before each run, not measured: they remove what the run before has made
    makes: str = ""    # pattern of the files in its folder whose bytes are compared with the native run's
    status: int = 0    # the exit status that it has natively
    needs: str = ""    # pattern of a file that it needs beside its program


class Run:
    """One run of a command: CPU and wall seconds, peak KiB of its largest process, exit status, output, files it made."""

    def __init__(self, cpu, wall, peak, status, output, files):
        self.cpu, self.wall, self.peak, self.status, self.output, self.files = cpu, wall, peak, status, output, files

    def difference(self, other, where="natively"):
        """How this run differs from `other`, made `where`, in what a user sees; None if it does not."""
        if self.status != other.status:
            return f"exit status {self.status}, {where} {other.status}"
        if self.output != other.output:
            return "other output"
        if self.files != other.files:
            names = sorted(set(self.files.items()) ^ set(other.files.items()))
            return f"other bytes in {os.path.basename(names[0][0])}"
        return None


class Command(NamedTuple):
    """A prepared workload."""
    words: list
    folder: str
    before: str = ""
    makes: str = ""
    status: int = 0


class Machine:
    """Runs commands through bench/measure."""

    def __init__(self, build, scratch, environment=None):
        self.measure = os.path.join(build, "bench", "measure")
        if not os.access(self.measure, os.X_OK):
            sys.exit(f"no {self.measure}: `make everything` builds it; --build names another build folder")
        self.scratch, self.environment = scratch, environment

    def shell(self, commands, folder):
        """Runs commands of a workload's row that are not measured."""
        done = subprocess.run(["/bin/sh", "-ec", commands], cwd=folder, env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{folder}: the preparation ended with status {done.returncode}: {done.stderr.strip()[-500:]}")

    def find(self, program):
        """The program's path in the environment of the commands; None if it is not installed."""
        return shutil.which(program, path=(self.environment or os.environ).get("PATH"))

    def prepare(self, name, workload, places):
        """Makes the workload's folder and input. Returns it as a Command, or None if its program is not installed."""
        folder = os.path.join(self.scratch, re.sub(r"\W+", "-", name).strip("-"))
        def filled(text):
            for key, value in {**places, "d": folder}.items():
                text = text.replace("{" + key + "}", value)
            return text
        words = shlex.split(filled(workload.words))
        program = self.find(words[0])
        if not program or (workload.needs and not glob.glob(workload.needs)):
            return None
        os.makedirs(folder)
        if workload.prepare:
            self.shell(filled(workload.prepare), folder)
        return Command([program, *words[1:]], folder, filled(workload.before), workload.makes, workload.status)

    def run(self, command, prefix=()):
        if command.before:
            self.shell(command.before, command.folder)
        report, output = os.path.join(self.scratch, "report"), os.path.join(self.scratch, "output")
        with open(output, "wb") as out, open(os.path.join(self.scratch, "errors"), "wb") as errors:
            words = [self.measure, report, *prefix, *command.words]
            done = subprocess.run(words, cwd=command.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=out,
                                  stderr=errors)
        if done.returncode == STILL_RUNNING:
            raise TimeUnknown(self.errors())
        done.check_returncode()
        with open(report) as file:
            wall, user, system, peak, status = file.read().split()
        with open(output, "rb") as file:
            text = file.read()
        files = {path: digest(path) for path in glob.glob(os.path.join(command.folder, command.makes))} if command.makes else {}
        return Run(float(user) + float(system), float(wall), int(peak), int(status), text, files)

    def errors(self):
        """The end of what the last run wrote to standard error."""
        with open(os.path.join(self.scratch, "errors"), errors="replace") as file:
            return " | ".join(file.read().strip().splitlines()[-2:])


#: What bench/measure ends with when processes of the command still run long after it.
STILL_RUNNING = 124


class TimeUnknown(Exception):
    """Processes of the command still ran ten seconds after it, so what they took is not known."""


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Result:
    """Pairs of one command in one configuration, or why there are none."""

    def __init__(self):
        self.native, self.tool, self.failure = [], [], None

    def add(self, native, tool):
        self.native.append(native)
        self.tool.append(tool)

    def ratio(self):
        return statistics.median(t.cpu / max(n.cpu, 1e-3) for n, t in zip(self.native, self.tool))

    def peaks(self):
        """Peak KiB of the largest process: natively, under the tool."""
        return max(run.peak for run in self.native), max(run.peak for run in self.tool)

    def growth(self):
        """KiB that the largest process has more under the tool."""
        return max(t.peak - n.peak for n, t in zip(self.native, self.tool))

    def text(self):
        return "FAIL" if self.failure else f"{self.ratio():.2f}"


def pairs(machine, prefix, command, runs, before_tool=None):
    """Runs natively and under the tool in turn. before_tool: called before each run under the tool."""
    result = Result()
    try:
        add_pairs(result, machine, prefix, command, runs, before_tool)
    except TimeUnknown as reason:
        result.failure = str(reason)
    return result


def add_pairs(result, machine, prefix, command, runs, before_tool):
    for _ in range(runs):
        native = machine.run(command)
        if native.status != command.status:
            result.failure = f"natively: exit status {native.status}, not {command.status}: {machine.errors()}"
            break
        if before_tool:
            before_tool()
        tool = machine.run(command, prefix)
        difference = tool.difference(native)
        if difference:
            result.failure = f"{difference}: {machine.errors()}"
            break
        result.add(native, tool)


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))
