"""Completions, asked of the shells themselves.   completion_test.py ZEROSKID FOLDER

bash: its completion function, called as readline would. fish: `complete -C`. zsh: on a terminal, whose other side this is.
"""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import tool
import help_test

COMPLETIONS = pathlib.Path(".")

#: What is typed, some of what must be offered, some that must not. `zs` stands for the path of zeroskid.
LINES = [
    ("zs ", ["stat", "record", "mem", "doctor"], ["-e"]),
    ("zs re", ["record", "report"], ["stat"]),
    ("zs help st", ["stat"], ["record"]),
    ("zs mem ", ["record", "report"], ["stat"]),
    ("zs mem record --ld", ["--ldlat"], []),
    ("zs mem report --pl", ["--plain"], ["--ldlat"]),
    ("zs stat --rep", ["--repeat", "--repeat-until"], ["--region"]),
    ("zs stat -e instr", ["instructions"], ["branches"]),
    ("zs stat -e instructions,branch-mi", ["instructions,branch-misses"], []),
    ("zs stat --model zen4 -e ex_ret_in", ["ex_ret_instr"], []),
    ("zs stat --model sap", ["sapphire-rapids"], []),
    ("zs stat -M IP", ["IPC"], []),
    ("zs report --color ne", ["never"], ["auto"]),
    ("zs report -s comm,sym", ["comm,symbol"], ["comm,dso"]),
    ("zs script -F ti", ["time"], ["ip"]),
    ("zs stat -e instructions prin", ["printenv", "printf"], []),
    ("zs record -c 100 -- prin", ["printenv"], []),
    ("zs report -i fi", ["file.data"], []),
    ("zs plot fi", ["file.data"], []),
]


class Shell:
    def __init__(self, folder):
        self.folder = folder

    def words(self, line):
        return line.replace("zs ", f"{tool.ZEROSKID} ", 1)


class Bash(Shell):
    PROGRAM = "bash"
    SCRIPT = """
source "$1"
COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
IFS=' ' read -ra COMP_WORDS <<<"$2"
[[ $2 == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { :; }
_zeroskid
printf '%s\\n' "${COMPREPLY[@]}"
"""

    def offers(self, line):
        done = subprocess.run(["bash", "--norc", "-c", self.SCRIPT, "bash", COMPLETIONS / "zeroskid.bash", self.words(line)],
                              cwd=self.folder, text=True, capture_output=True, timeout=60, env=tool.ENVIRONMENT)
        assert done.stderr == "", done.stderr
        return done.stdout.split()


class Fish(Shell):
    PROGRAM = "fish"

    def offers(self, line):
        # By its name: fish completes a path by the name at its end.
        script = f"source {COMPLETIONS}/zeroskid.fish; complete -C '{line.replace('zs ', 'zeroskid ', 1)}'"
        environment = {**tool.ENVIRONMENT, "HOME": str(self.folder), "TERM": "dumb",
                       "PATH": os.path.dirname(tool.ZEROSKID) + ":" + tool.ENVIRONMENT["PATH"]}
        done = subprocess.run(["fish", "--no-config", "-c", script], cwd=self.folder, text=True, capture_output=True,
                              timeout=60, env=environment)
        assert done.stderr == "", done.stderr
        return [row.split("\t")[0] for row in done.stdout.splitlines()]


class Zsh(Shell):
    PROGRAM = "zsh"

    def offers(self, line):
        """Ctrl-D lists what is offered between the line as typed and the line drawn again."""
        setup = (f"fpath=({COMPLETIONS} $fpath); PS1='> '; autoload -Uz compinit; compinit -u -D; LISTMAX=1000; "
                 "zstyle ':completion:*' verbose no; stty columns 300; print rea''dy\n")
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execve(shutil.which("zsh"), ["zsh", "-f"],
                      {**tool.ENVIRONMENT, "TERM": "dumb", "HOME": str(self.folder),
                       "PATH": os.path.dirname(tool.ZEROSKID) + ":" + tool.ENVIRONMENT["PATH"]})
        try:
            self.answer(terminal, setup, r"ready\r\n.*> \x1b\[\?2004h")  # zsh then reads keys
            typed = line.replace("zs ", "zeroskid ", 1)
            text = self.answer(terminal, typed + "\x04", "> " + re.escape(typed))
        finally:
            os.close(terminal)
            os.waitpid(pid, 0)
        before = re.sub(r"[^,]*$", "", line.split(" ")[-1]) if "," in line else ""
        return [before + word for word in text.replace(typed, "").split()]

    @staticmethod
    def answer(terminal, typed, until):
        """What comes after `typed` was written, up to the expression `until`."""
        os.write(terminal, typed.encode())
        text, begin = "", time.monotonic()
        while not re.search(until, text, re.DOTALL):
            if time.monotonic() - begin > 120:
                raise AssertionError(f"no {until!r} in {text!r}")
            if select.select([terminal], [], [], 1)[0]:
                text += os.read(terminal, 65536).decode(errors="replace")
        return text


class Completion(unittest.TestCase):
    def hold(self, kind):
        if shutil.which(kind.PROGRAM) is None:
            self.skipTest(f"{kind.PROGRAM} is not installed")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "file.data").touch()
            shell = kind(folder)
            for line, offered, not_offered in LINES:
                got = shell.offers(line)
                with self.subTest(shell=kind.PROGRAM, line=line):
                    for word in offered:
                        self.assertIn(word, got)
                    for word in not_offered:
                        self.assertNotIn(word, got)

    def test_bash_offers_what_fits(self):
        self.hold(Bash)

    def test_fish_offers_what_fits(self):
        self.hold(Fish)

    def test_zsh_offers_what_fits(self):
        self.hold(Zsh)

    def test_bash_offers_every_option_of_help_and_no_other(self):
        for verb in (*help_test.verbs(), *help_test.MORE):
            if verb in ("mem", "c2c"):
                continue
            said = tool.run(*verb.split(), "--help").out
            names = {name for names in re.findall(r"^  (-\S+)(?: |$)", said, re.MULTILINE) for name in names.split(",")}
            offered = {word.removesuffix("=") for word in Bash(pathlib.Path("/")).offers(f"zs {verb} -")}
            self.assertEqual(offered, names, verb)

    def test_bash_completes_behind_an_equals_sign_and_a_colon(self):
        with tempfile.TemporaryDirectory() as folder:
            bash = Bash(pathlib.Path(folder))
            self.assertEqual(bash.offers("zs stat --color=al"), ["always"])
            self.assertEqual(bash.offers("zs record -e instructions:pp"), ["pp", "ppp"])
            self.assertIn("bx", bash.offers("zs record --intr-regs=b"))


if __name__ == "__main__":
    COMPLETIONS = pathlib.Path(sys.argv.pop(2)).resolve()
    tool.main()
