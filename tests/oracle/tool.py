"""Runs zeroskid and zs-oracle for the test scripts, and reads what they print."""
import contextlib
import os
import subprocess
import sys
import tempfile

#: The same small environment for everything that is compared: stack contents are part of what is compared. perl seeds
#: its hash tables from /dev/urandom unless told otherwise.
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/", "LANG": "C", "LC_ALL": "C", "TZ": "UTC",
               "PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0"}

#: What makes a translated run a function of (program, input, seed).
#: Of the program that steps natively; it runs on the processor that is there, so the tool shows that one, too.
NATIVE = ("--virtual-time", "--seed", "1")
REPEATABLE = (*NATIVE, "--cpu-level", "host")


class ToolError(Exception):
    """The tool did not do what was asked; the message is for the reader of the test's output."""


def _tail(path):
    with open(path, errors="replace") as file:
        return "".join(file.readlines()[-6:]).strip()


def _run(command, output=None, timeout=600):
    """Runs `command` with no input. Returns its exit status; its standard output goes to the file `output`."""
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(open(output, "wb")) if output else subprocess.DEVNULL
        err = stack.enter_context(tempfile.NamedTemporaryFile(prefix="zs-stderr-"))
        try:
            status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=ENVIRONMENT,
                                    timeout=timeout, check=False).returncode
        except subprocess.TimeoutExpired:
            raise ToolError(f"{' '.join(command)}: still running after {timeout} s") from None
        except OSError as error:
            raise ToolError(f"{command[0]}: {error.strerror}") from None
        return status, _tail(err.name)


class Oracle:
    """zs-oracle, natively or on the image that zeroskid-run loads."""

    def __init__(self, path, runner=None):
        self.path = path
        self.options = ["--runner", runner] if runner else []

    def run(self, program, directory, trace=None, extra=(), output=None):
        """Single-steps `program`. Returns {event: count}, which also holds exit_status or exit_signal."""
        counts_file = os.path.join(directory, "oracle.counts")
        command = [self.path, *self.options, *extra, "-o", counts_file]
        if trace:
            command += ["--trace", trace]
        status, errors = _run([*command, "--", *program], output)
        if status != 0:
            raise ToolError(f"oracle: {errors}")
        with open(counts_file) as file:
            return {name: int(count) for name, count in (line.split() for line in file)}


class Zeroskid:
    """The profiler."""

    def __init__(self, path, options=REPEATABLE):
        self.path = path
        self.options = list(options)

    def stat(self, events, program, directory, output=None, extra=()):
        """Counts `events`. Returns ({event: count}, exit status)."""
        file_name = os.path.join(directory, "stat.csv")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file_name)
        command = [self.path, "stat", "-x,", "-e", ",".join(events), "-o", file_name, *self.options, *extra]
        status, errors = _run([*command, "--", *program], output)
        counts = {}
        with contextlib.suppress(FileNotFoundError):
            with open(file_name) as file:
                for line in file:
                    fields = line.strip().split(",")
                    if len(fields) > 2 and fields[0].isdigit():
                        counts[fields[2]] = int(fields[0])
        missing = [event for event in events if event not in counts]
        if missing:
            raise ToolError(f"zeroskid stat gave no number for {', '.join(missing)} (exit status {status}): {errors}")
        return counts, status

    def record(self, event, period, program, file_name, extra=()):
        """Samples `event` every `period`, with all registers."""
        self._record(["-e", event, "-c", str(period), "--intr-regs", *extra], program, file_name)

    def trace(self, program, file_name, extra=()):
        """Every taken branch."""
        self._record(["-e", "intel_bts//u", *extra], program, file_name)

    def _record(self, options, program, file_name):
        command = [self.path, "record", "-q", "-o", file_name, *self.options, *options]
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file_name)
        status, errors = _run([*command, "--", *program])
        if status >= 125 or not os.path.exists(file_name):
            raise ToolError(f"zeroskid record failed (exit status {status}): {errors}")

    def samples(self, file_name, reader=None):
        """Yields (pid, ip, period, {register: value}, address) of each sample. `reader`: another program with perf's arguments."""
        command = [reader or self.path, "script", "-i", file_name, "-F", "pid,ip,iregs,period,addr"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT) as process:
            for line in process.stdout:
                words = line.split()
                if len(words) < 3:
                    continue
                registers = {}
                plain = []
                for word in words:
                    name, colon, value = word.partition(b":")
                    if not colon:
                        plain.append(word)
                    elif name != b"ABI":
                        registers[name.decode().lower()] = int(value, 16)
                if len(plain) != 4:
                    raise ToolError(f"{command[0]} script printed a line that is not PID PERIOD ADDRESS IP REGISTERS: {line!r}")
                yield int(plain[0]), int(plain[3], 16), int(plain[1]), registers, int(plain[2], 16)
            errors = process.stderr.read().decode(errors="replace").strip()
        if process.returncode != 0:
            raise ToolError(f"{command[0]} script exited {process.returncode}: {errors}")


def default_runner(tool):
    """How the oracle starts a program at the addresses of a translated run by `tool`."""
    return " ".join([os.path.join(os.path.dirname(os.path.abspath(tool)), "zeroskid-run"), "--native-load", *NATIVE, "--"])


def main(function):
    """Runs a script's main function; a ToolError becomes one line and exit status 1."""
    try:
        sys.exit(function())
    except ToolError as error:
        print(f"{os.path.basename(sys.argv[0])}: {error}", file=sys.stderr)
        sys.exit(1)
