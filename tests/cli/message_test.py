"""What zeroskid says when it is asked for something that it cannot do, word for word, and how it exits.

Here: arguments, and programs that cannot be started. Event lists: src/events/event_parser_test.cc; options
of record: src/cli/record/record_options_test.cc; damaged recordings: src/profile/perf_data/perf_data_reader_test.cc.
"""
import os
import re
import struct
import subprocess
import tempfile
import unittest

import tool


def elf(machine=62, bits=2, entries=1):
    """The head of an ELF executable, and then nothing."""
    return struct.pack("<4sBBBB8xHHIQQQIHHHHHH", b"\x7fELF", bits, 1, 1, 0, 2, machine, 1, 0x401000, 64, 0, 0, 64, 56,
                       entries, 64, 0, 0)


class Arguments(unittest.TestCase):
    def refused(self, *words):
        outcome = tool.run(*words)
        self.assertEqual((outcome.status, outcome.out), (129, ""), outcome.err)
        return outcome.err

    def test_an_unknown_verb(self):
        self.assertEqual(self.refused("count"), "zeroskid: there is no verb count\n"
                         "hint: verbs: stat, topdown, record, profile, report, diff, check, mem, c2c, trace, annotate, script, plot, list, doctor, calibrate, boot, linux\n")

    def test_an_unknown_option_before_the_verb(self):
        self.assertEqual(self.refused("--frobnicate"), "zeroskid: there is no option --frobnicate\n"
                         "hint: verbs: stat, topdown, record, profile, report, diff, check, mem, c2c, trace, annotate, script, plot, list, doctor, calibrate, boot, linux\n")

    def test_no_program(self):
        self.assertEqual(self.refused("stat"),
                         "zeroskid: no program to count\nhint: zeroskid stat [OPTIONS] PROGRAM [ARGUMENTS]\n")
        self.assertEqual(self.refused("stat", "--"),
                         "zeroskid: no program to count\nhint: zeroskid stat [OPTIONS] PROGRAM [ARGUMENTS]\n")

    def test_stat_options_that_exclude_each_other(self):
        self.assertEqual(self.refused("stat", "-x,", "-j", "true"), "zeroskid: -x and -j exclude each other\n")
        self.assertEqual(self.refused("stat", "--per-thread", "-r", "2", "true"),
                         "zeroskid: --per-thread and -r exclude each other\n")

    def test_stat_refuses_repetition_that_cannot_end(self):
        hint = "hint: EVENT:PERCENT, as in --repeat-until cycles:0.5\n"
        self.assertEqual(self.refused("stat", "--repeat-until", "instructions", "true"),
                         "zeroskid: --repeat-until instructions: no percentage\n" + hint)
        self.assertEqual(self.refused("stat", "--repeat-until", "instructions:1", "-I", "10i", "true"),
                         "zeroskid: -I and --repeat-until exclude each other\n")
        self.assertEqual(self.refused("stat", "-r", "2", "-I", "10i", "true"), "zeroskid: -I and -r exclude each other\n")
        self.assertRegex(self.refused("stat", "--repeat-until", "instrutions:1", "true"),
                         r"\Azeroskid: --repeat-until: event list, column 1: unknown event 'instrutions'\nhint: nearest: ")

    def test_stat_refuses_values_outside_their_range(self):
        self.assertEqual(self.refused("stat", "-r", "0", "true"),
                         "zeroskid stat: --repeat: 0 is not a whole number from 1 up\n"
                         "hint: zeroskid stat --help lists the options\n")
        self.assertEqual(self.refused("stat", "--color", "green", "true"),
                         "zeroskid: --color green: no such choice\nhint: auto, always or never\n")

    def test_the_software_pmu_refuses_to_attach(self):
        self.assertEqual(self.refused("topdown", "-p", "1", "true"),
                         "zeroskid: -p: attaching to a running process is not supported yet\n"
                         "hint: start the program under zeroskid; `zeroskid record` and `zeroskid stat` can attach, by the "
                         "kernel's counters\n")
        self.assertEqual(self.refused("stat", "--pmu=sw", "-p", "1"),
                         "zeroskid: --pmu=sw: -p watches a running process, and the software PMU sees only programs that "
                         "it starts\nhint: --pmu=hw, or start the program under zeroskid\n")

    def test_an_unknown_event_is_answered_by_what_it_may_mean(self):
        for typed, meant in (("cycle", "cycles"), ("branchinstructions", "branch-instructions, branches"),
                             ("PAPI_TOT_INS", "instructions;"), ("LLC-miss", "LLC-load-misses, cache-misses")):
            self.assertIn(f"hint: nearest: {meant}", self.refused("stat", "-e", typed, "true"))

    def test_an_unknown_event_is_told_with_its_nearest_names(self):
        self.assertRegex(self.refused("stat", "-e", "instrutions", "true"),
                         r"\Azeroskid: event list, column 1: unknown event 'instrutions'\n"
                         r"hint: nearest: instructions, \S+, \S+; `zeroskid list` shows every event\n\Z")

    def test_an_event_without_a_model_is_refused_with_what_it_would_need(self):
        self.assertEqual(self.refused("stat", "-e", "instructions,node-loads", "true"),
                         "zeroskid: event list, column 14: not modelled: node-loads needs more of the core (caches) "
                         "than its models have\nhint: `zeroskid list` shows what is counted\n")

    def test_a_cpu_model_without_a_core_names_those_with_one(self):
        self.assertRegex(self.refused("stat", "--cpu", "nehalem", "-e", "cycles", "true"),
                         r"\Azeroskid: event list, column 1: not modelled: cycles \(cpu_clk_unhalted.thread\) needs a "
                         r"model of the core \(cycles\), which nehalem@1 does not have\n"
                         r"hint: CPU models with one are haswell@1, icelake-server@1, sapphire-rapids@1, "
                         r"(?:[a-z0-9-]+@\d+(?:, |\n\Z))+")

    def test_a_depth_that_does_not_cover_an_event_refuses_it_by_name(self):
        self.assertEqual(self.refused("stat", "--detail", "exact", "-e", "cache-misses", "true"),
                         "zeroskid: cache-misses: not modelled at --detail exact\n"
                         "hint: --detail full, or leave --detail out\n")

    def test_a_wrong_core_is_refused(self):
        for options, message in {
                ("--model-set", "l2.bites=2M", "-e", "cycles"): "l2.bites",
                ("--model-set", "l2.bytes=3", "-e", "cycles"): "l2.bytes=3",
                ("--model-set", "l2.bytes=2M", "-e", "instructions"): "no event asks anything of the core",
                ("--cores", "65", "-e", "cycles"): "at most 64",
                ("--detail", "most", "-e", "cycles"): "auto, complete or sampled; complete at a depth: exact or full",
                ("--detail", "sampled", "-e", "instructions"): "no event needs the model",
                ("--detail", "sampled", "-e", "cycles", "--precise-only"): "--precise-only and --detail sampled exclude",
                ("--detail", "sampled", "-e", "cycles", "-I", "1000i"): "windows of 1,000 have fewer than 12 units",
                ("--detail", "sampled", "-e", "cycles", "-I", "99999999:cycles"): "-I 99999999:cycles and --detail sampled exclude",
                ("--detail", "sampled", "-e", "cycles", "-I", "1000", "--skid", "9"): "--skid and --detail sampled exclude",
                ("--detail", "sampled", "-e", "hpctool", "--format", "hpctool-csv"): "--format hpctool-csv and --detail sampled",
                ("--detail", "sampled", "-e", "cycles", "-I", "1000", "--budget", "3x"): "--budget and -I exclude each other",
                ("--detail", "sampled", "-e", "cycles", "--units", "0:1:2:3"): "UNIT is at least 1",
                ("--detail", "complete", "--units", "10:10:20:20", "-e", "cycles"): "--detail sampled takes them",
        }.items():
            self.assertIn(message, self.refused("stat", *options, "true"))


class EverySecond(tool.InFolder):
    """An overflow arms PEBS, so what is asked to be sampled each time is sampled every second time."""
    def said(self, event, *words):
        return tool.run("record", "-o", "perf.data", "-e", event, *words, "--", "true", folder=self.folder).err

    def test_is_said_with_what_samples_each(self):
        self.assertIn("zeroskid: branches:pp -c 1: every second one is sampled; an overflow arms PEBS, which records the next\n"
                      "hint: -e branches -c 1 samples each, at the instruction behind it\n", self.said("branches:pp", "-c", "1"))
        for words in (["branches:pp", "-c", "2"], ["branches", "-c", "1"], ["instructions:ppp", "-c", "1"],
                      ["branches:pp", "-c", "1", "-q"]):
            with self.subTest(words=words):
                self.assertNotIn("every second", self.said(*words))


class FullOutput(unittest.TestCase):
    """Nothing that does not reach stdout counts as printed."""

    def test_every_verb_fails_on_a_full_device(self):
        """What each prints on stdout: a reader's page, a table, a program's own words have their own status."""
        with tempfile.TemporaryDirectory() as folder:
            for words in (["record", "-q", "-o", "p", "true"], ["mem", "record", "-q", "-o", "m", "true"],
                          ["c2c", "record", "-q", "-o", "c", "true"], ["trace", "-q", "-o", "t", "true"],
                          ["stat", "-I", "10000i", "--format", "csv", "-o", "w", "true"]):
                self.assertEqual(tool.run(*words, folder=folder).status, 0)
            lines = {"report": ["-i", "p"], "annotate": ["-i", "p"], "script": ["-i", "p"], "mem": ["report", "-i", "m"],
                     "c2c": ["report", "-i", "c"], "trace": ["report", "-i", "t"], "plot": ["w"], "list": [], "doctor": [], "diff": ["p", "p"], "boot": ["--demo"],
                     "check": ["--baseline", "b", "--budget", "instructions=1%", "-o", "/dev/full", "true"],
                     "stat": ["-o", "/dev/full", "true"], "topdown": ["-o", "/dev/full", "true"], "record": ["-o", "/dev/full", "true"],
                     "profile": ["-o", "/dev/full", "true"]}
            verbs = re.findall(r"^  (\w+) ", tool.run("--help").out.partition("Verbs:")[2].partition("\n\n")[0], re.M)
            verbs.remove("calibrate")  # has nothing to print where there is no PMU
            verbs.remove("linux")  # nor this where there is no kernel
            self.assertEqual(sorted(verbs), sorted(lines), "a verb is not tested here")
            for verb, words in lines.items():
                with self.subTest(verb), open("/dev/full", "w") as full:
                    done = subprocess.run([tool.ZEROSKID, verb, *words], stdout=full, stderr=subprocess.PIPE, text=True, cwd=folder,
                                          env=tool.ENVIRONMENT, check=False)
                    self.assertEqual(done.returncode, 125, done.stderr)
                    self.assertIn("No space left on device", done.stderr)

    def test_every_page_fails_on_a_full_device(self):
        for arguments in (["--help"], ["--version"], ["help", "stat"], ["record", "--help"], ["list"], ["list", "--names"], ["doctor"],
                          ["boot", "--demo"]):
            with self.subTest(arguments), open("/dev/full", "w") as full:
                done = subprocess.run([tool.ZEROSKID, *arguments], stdout=full, stderr=subprocess.PIPE, text=True,
                                      env=tool.ENVIRONMENT, check=False)
                self.assertEqual(done.returncode, 125, done.stderr)
                self.assertIn("stdout: cannot write: No space left on device", done.stderr)


class WithoutProc(tool.InFolder):
    def test_is_said_before_anything_runs(self):
        hide = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
        if subprocess.run([*hide, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("no rights to mount in a user namespace")
        for verb in ("stat", "record", "topdown"):
            with self.subTest(verb):
                done = subprocess.run([*hide, tool.ZEROSKID, verb, "-o", "out", "--", "touch", "started"], cwd=self.folder,
                                      env=tool.ENVIRONMENT, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 125)
                self.assertEqual(done.stderr, "zeroskid: /proc is not mounted here: it says where programs, and zeroskid itself, are\n"
                                              "hint: mount -t proc proc /proc\n")
        self.assertNotIn("started", os.listdir(self.folder))


class Programs(tool.InFolder):
    def not_started(self, status, *words):
        for verb in ("stat", "record"):
            outcome = self.run_here(verb, "-q", "--", *words)
            self.assertEqual((outcome.status, outcome.out), (status, ""), outcome.err)
        self.assertNotIn("perf.data", os.listdir(self.folder), "a recording of nothing was kept")
        return outcome.err

    def test_a_missing_program(self):
        self.assertEqual(self.not_started(127, "no-such-program"),
                         "zeroskid: no-such-program: not found in $PATH\n"
                         "hint: a program in the current folder is named ./no-such-program\n")

    def test_a_missing_file(self):
        self.assertEqual(self.not_started(127, "./no-such-file"), "zeroskid: ./no-such-file: no such file\n")

    def test_a_folder(self):
        self.assertEqual(self.not_started(126, "/tmp"), "zeroskid: /tmp: is a folder, not a program\n")

    def test_a_file_without_the_x_permission(self):
        self.file("data", elf())
        self.assertEqual(self.not_started(126, "./data"), "zeroskid: ./data: permission denied\n"
                         "hint: a program needs the x permission: chmod +x ./data\n")

    def unfit(self, content):
        self.file("program", content, 0o755)
        said = self.not_started(126, "./program")
        self.assertTrue(said.startswith("zeroskid: ./program: "), said)
        return said

    def test_files_that_are_no_programs_are_named_with_what_is_wrong(self):
        # The words are the engine's; here: each says something of its own, and nothing is left behind.
        said = [self.unfit(content) for content in (
            b"", b"\x7fEL", b"garbage, and no interpreter line", elf()[:40], elf(), elf(machine=3, bits=1),
            elf(machine=183))]
        self.assertEqual(len(said), 7)

    def test_an_instruction_that_the_engine_does_not_run_is_named_once_wherever_the_programs_stderr_goes(self):
        source = self.file("program.s", b".globl _start\n_start: sysenter\n")
        subprocess.run(["gcc", "-nostdlib", "-static", "-o", self.folder / "program", source], check=True)
        for words in (["stat"], ["record"], ["record", "-q"]):
            for run in (["./program"], ["sh", "-c", "exec ./program 2> /dev/null"], ["sh", "-c", "exec ./program 2>&-"]):
                with self.subTest(words + run):
                    outcome = self.run_here(*words, "-o", "out", "--", *run)
                    self.assertEqual(outcome.status, 125, outcome.err)
                    said = re.findall("^.*the instruction.*$", outcome.err, re.M)
                    self.assertEqual(len(said), 1, outcome.err)
                    self.assertRegex(said[0], r"\Azeroskid: \S+/program: at 0x[0-9a-f]+: the instruction 0f 34 is SYSENTER, a system call of "
                                     "32-bit programs, which this engine does not run")

    def test_a_script_whose_interpreter_is_missing_is_127(self):
        self.file("program", b"#!/no/such/interpreter\n", 0o755)
        self.assertRegex(self.not_started(127, "./program"), r"\Azeroskid: .*/no/such/interpreter.*\n\Z")

    def test_an_old_recording_survives_a_program_that_cannot_run(self):
        self.file("perf.data", b"an old recording")
        self.file("program", elf(machine=183), 0o755)
        self.run_here("record", "./program")
        self.assertEqual((self.folder / "perf.data").read_bytes(), b"an old recording")
        self.assertEqual(os.listdir(self.folder).count("perf.data.old"), 0)


class Runner(tool.InFolder):
    def test_a_runner_that_is_not_there_is_named(self):
        outcome = self.run_here("stat", "true", environment={"ZEROSKID_RUN": "/no/such/zeroskid-run"})
        self.assertEqual(outcome.status, 125)
        self.assertEqual(outcome.err, "zeroskid: $ZEROSKID_RUN is /no/such/zeroskid-run: No such file or directory\n"
                         "hint: unset it, or name zeroskid-run\n")

    def test_a_runner_that_cannot_run_is_named(self):
        runner = self.file("runner", b"", 0o755)
        outcome = self.run_here("stat", "true", environment={"ZEROSKID_RUN": str(runner)})
        self.assertEqual(outcome.status, 125)
        self.assertEqual(outcome.err, f"zeroskid: cannot start {runner}: Exec format error\n")

    def test_the_runner_started_by_hand_says_who_starts_it(self):
        runner = os.path.join(os.path.dirname(tool.ZEROSKID), "zeroskid-run")
        if not os.path.exists(runner):
            self.skipTest("zeroskid-run is not beside zeroskid")
        result = tool.subprocess.run([runner, "/bin/true"], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 125)
        self.assertEqual(result.stderr, "zeroskid-run: is started by zeroskid, not by hand\n"
                         "hint: zeroskid stat -- PROGRAM, zeroskid record -- PROGRAM\n")


if __name__ == "__main__":
    tool.main()
