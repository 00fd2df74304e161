"""The program under zeroskid is not disturbed, its end is passed on, and its numbers come in every layout."""
import ctypes
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import time
import unittest

import tool
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import terminal

class ExitStatus(tool.InFolder):
    def test_is_the_programs_own(self):
        for status in (0, 1, 7, 125, 126, 127, 129, 255):
            for verb in ("stat", "record"):
                self.assertEqual(self.run_here(verb, "sh", "-c", f"exit {status}").status, status)

    def test_of_a_program_killed_by_a_signal_is_128_plus_its_number(self):
        # Those that end a process and do not stop it. The shell kills itself, so nothing else is in play.
        for number in (1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15):
            outcome = self.run_here("stat", "-e", "instructions", "sh", "-c", f"kill -{number} $$")
            self.assertEqual(outcome.status, 128 + number, outcome.err)
            self.assertTrue(outcome.err.startswith(f"zeroskid: sh was killed by signal {number} ("), outcome.err)

    def test_of_repeated_runs_is_the_last_ones(self):
        outcome = self.run_here("stat", "-r", "3", "-e", "instructions", "sh", "-c", "echo x >>runs; exit 5")
        self.assertEqual(outcome.status, 5)
        self.assertEqual((self.folder / "runs").read_text(), "x\nx\nx\n")


class Surroundings(tool.InFolder):
    """What a program can see of where it runs is what it would see without us."""

    def same(self, *program, **options):
        native = subprocess.run(program, cwd=self.folder, capture_output=True, env=tool.ENVIRONMENT, check=False, **options)
        ours = subprocess.run([tool.ZEROSKID, "stat", "-o", "/dev/null", "-e", "instructions", "--", *program],
                              cwd=self.folder, capture_output=True, env=tool.ENVIRONMENT, check=False, **options)
        self.assertEqual((ours.returncode, ours.stdout, ours.stderr),
                         (native.returncode, native.stdout, native.stderr))

    def test_standard_streams(self):
        self.same("cat", input=b"what comes in\n" * 1000)
        self.same("sh", "-c", "echo out; echo err >&2; read line || echo no input", stdin=subprocess.DEVNULL)

    def test_environment_folder_and_arguments(self):
        self.same("env")
        self.same("pwd")
        self.same("printf", "%s|", "", " ", "a b", "--", "-x", "*", "\\", "'", "\n")

    def test_limits(self):
        self.same("sh", "-c", "ulimit -a")
        self.same("prlimit", "--raw", "--noheadings")

    def test_signals_ignored_and_blocked(self):
        def ignore():
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])

        self.same("perl", "-e", "for (qw(INT QUIT PIPE CHLD USR1 TERM XFSZ)) { print \"$_ $SIG{$_}\\n\" }",
                  preexec_fn=ignore)
        self.same("sh", "-c", "kill -USR1 $$; kill -USR2 $$; echo alive", preexec_fn=ignore)

    def test_its_own_id_in_virtual_time(self):
        program = ("import ctypes, os; call, own = ctypes.CDLL(None).syscall, os.getpid(); "
                   "interval = ctypes.create_string_buffer(16); event = ctypes.create_string_buffer(b'\\1\\0\\0\\0\\x80', 128); "
                   "print(call(312, own, own, 0, 1, 1), call(148, own, interval), call(279, own, 0, 0, 0, 0, 0), "
                   "call(298, event, own, -1, -1, 0) >= 0)")
        natively = subprocess.run(["python3", "-c", program], capture_output=True, text=True, check=True).stdout
        self.assertEqual(self.run_here("stat", "--virtual-time", "-o", "counts", "--", "python3", "-c", program).out, natively)

    def test_closed_streams(self):
        self.same("sh", "-c", "exec 0<&- && ls -l /proc/self/fd/0 2>/dev/null || echo closed")

    def test_a_few_allowed_files(self):
        self.same("sh", "-c", "ulimit -n 40 && exec ls /")
        result = subprocess.run(["sh", "-c", f"ulimit -n 64; exec {tool.ZEROSKID} stat -o /dev/null echo hello"],
                                capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "hello\n", ""))

    def test_umask_and_group(self):
        self.same("sh", "-c", "umask; ps -o pgid= -p $$ | tr -d ' ' | grep -c .")


class Refusals(tool.InFolder):
    """What cannot be under translation is answered by an error and named."""

    def notices_of(self, call):
        outcome = self.run_here("stat", "-o", "counts", "-e", "instructions", "--", "python3", "-c",
                                f"import ctypes; libc = ctypes.CDLL(None, use_errno=True); print({call}, ctypes.get_errno()); "
                                "import time; assert time.monotonic() > 0")
        self.assertEqual(outcome.status, 0, outcome.err)
        return outcome.out, outcome.err

    def test_of_a_cpuid_that_faults(self):
        self.assertEqual(self.notices_of("libc.syscall(158, 0x1012, 0)"), ("-1 19\n", "zeroskid: CPUID that faults is not supported under translation: the program's "
                                      "arch_prctl(ARCH_SET_CPUID) was answered ENODEV\n"))

    def test_are_not_said_where_a_recording_is_quiet(self):
        outcome = self.run_here("record", "-q", "-e", "instructions", "--", "python3", "-c",
                                "import ctypes; print(ctypes.CDLL(None).syscall(158, 0x1012, 0))")
        self.assertEqual((outcome.status, outcome.out, outcome.err), (0, "-1\n", ""))

    TRACES = """
import ctypes, os, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
ready, tell = os.pipe()
child = os.fork()
if child == 0:
    if sys.argv[1] == "asks": libc.ptrace(0, 0, 0, 0)
    else: threading.Thread(target=lambda: time.sleep(60), daemon=True).start()
    os.write(tell, b"x")
    if sys.argv[1] != "asks": time.sleep(60)
    os._exit(0)
os.read(ready, 1)
if sys.argv[1] != "asks":
    print(libc.ptrace(16, child, 0, 0), ctypes.get_errno())
    os.kill(child, 9)
print(os.waitpid(child, 0)[1])
"""

    def test_of_tracing_a_process_with_threads(self):
        outcome = self.run_here("stat", "-o", "counts", "-e", "instructions", "--", "python3", "-c", self.TRACES, "threads")
        self.assertEqual((outcome.status, outcome.out), (0, "-1 1\n9\n"), outcome.err)
        self.assertEqual(outcome.err, "zeroskid: a translated process with several threads, or in the memory of another one, cannot "
                                      "be traced: the program's ptrace was answered EPERM\n")

    def test_of_counting_a_process_that_is_traced(self):
        outcome = self.run_here("stat", "-o", "counts", "-e", "instructions", "--", "python3", "-c", self.TRACES, "asks")
        self.assertEqual((outcome.status, outcome.out), (0, "0\n"), outcome.err)
        self.assertRegex(outcome.err, r"\Azeroskid: process \d+ is traced by another program: it runs natively from here on, "
                                      r"and is not counted\n\Z")

    def test_of_who_listens_to_seccomp(self):
        said = ("zeroskid: seccomp's user notification is not supported under translation: the program's was answered "
                "EINVAL\n")
        self.assertEqual(self.notices_of("libc.syscall(317, 1, 8, (ctypes.c_uint64 * 2)(1))"), ("-1 22\n", said))
        self.assertEqual(self.notices_of("libc.syscall(317, 1, 8, 0)"), ("-1 14\n", ""))  # libseccomp does

    FILTERS = """
import ctypes, struct, subprocess
libc = ctypes.CDLL(None, use_errno=True)
class Program(ctypes.Structure): _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]
# mkdir and mkdirat get EDOM.
insns = [(0x20, 0, 0, 0), (0x15, 1, 0, 83), (0x15, 0, 1, 258), (6, 0, 0, 0x50021), (6, 0, 0, 0x7FFF0000)]
program = Program(len(insns), b"".join(struct.pack("HBBI", *insn) for insn in insns))
print(libc.prctl(38, 1, 0, 0, 0), libc.prctl(22, 2, ctypes.byref(program)), libc.prctl(21))
print(libc.mkdir(b"made", 0o700), ctypes.get_errno())
print(subprocess.run(["mkdir", "made"], env={"LC_ALL": "C"}, capture_output=True, text=True).stderr, end="")
"""

    def test_of_nothing_where_a_filter_binds_what_runs_natively(self):
        for inherited in [], ["--no-inherit"]:
            outcome = self.run_here("stat", "-o", "counts", "-e", "instructions", *inherited, "--", "python3", "-c", self.FILTERS)
            self.assertEqual((outcome.status, outcome.out, outcome.err),
                             (0, "0 0 2\n-1 33\nmkdir: cannot create directory 'made': Numerical argument out of domain\n", ""))

    def test_of_memory_that_is_denied_from_the_start(self):
        libc, set_mdwe, get_mdwe = ctypes.CDLL(None), 65, 66
        if libc.prctl(get_mdwe, 0, 0, 0, 0) != 0:
            self.skipTest("no PR_SET_MDWE here")
        outcome = self.run_here("stat", "true", preexec_fn=lambda: libc.prctl(set_mdwe, 1, 0, 0, 0))
        self.assertEqual(outcome.status, 125)
        self.assertRegex(outcome.err, r"\Azeroskid: memory that is both written and executed is denied here "
                                      r"\(Permission denied\), and translated code needs it\nhint: PR_SET_MDWE")

    def test_of_a_descriptor_that_is_zeroskids(self):
        number = "next(n for n in range(2040, 6000) if libc.dup2(0, n) < 0)"
        outcome = self.run_here("stat", "-o", "counts", "-e", "instructions", "--", "python3", "-c",
                                "import ctypes, resource; libc = ctypes.CDLL(None)\n"
                                f"try: print({number})\nexcept StopIteration: print('none')",
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (6000, 6000)))
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertRegex(outcome.err, rf"\Azeroskid: descriptor {outcome.out.strip()} is zeroskid's: the program's dup2 was answered EBADF\n")

    def test_of_itself(self):
        outcome = self.run_here("stat", "-o", "outer", "-e", "instructions", "--", tool.ZEROSKID, "stat", "-o", "inner", "--",
                                "touch", "started")
        self.assertEqual((outcome.status, outcome.out), (125, ""), outcome.err)
        self.assertEqual(outcome.err, "zeroskid: the addresses that translated code needs are taken: zeroskid does not run inside itself\n"
                                      "hint: record what the inner zeroskid runs, without it\n")
        self.assertNotIn("started", os.listdir(self.folder))


class Layouts(tool.InFolder):
    def test_the_page_is_on_stderr_and_stdout_is_the_programs(self):
        outcome = self.run_here("stat", "echo", "hello")
        self.assertEqual(outcome.out, "hello\n")
        lines = outcome.err.splitlines()
        self.assertEqual(lines[0], "# software PMU, model skylake-server@1")
        self.assertEqual(lines[2], " Performance counter stats for 'echo hello':")
        self.assertEqual([line.split()[-3 if "msec" not in line else -3] for line in lines if "# exact" in line],
                         ["instructions", "branches", "mem_inst_retired.all_loads", "mem_inst_retired.all_stores"])
        self.assertRegex(outcome.err, r"\n +[\d,]+ +page-faults +# measured, zeroskid's share included\n")
        self.assertRegex(outcome.err, r"\n +\d+\.\d\d msec task-clock +# measured")
        self.assertRegex(outcome.err, r"\n +\d+\.\d{9} seconds time elapsed\n\n +\d+\.\d{9} seconds user\n"
                                      r" +\d+\.\d{9} seconds sys\n\n\Z")

    def test_names_are_spelled_as_the_user_spelled_them(self):
        names = ["INST_RETIRED.ANY_P:u", "rc4", "cpu/event=0xc0/", "branch-instructions"]
        outcome = self.run_here("stat", "-x;", "-e", ",".join(names), "true")
        self.assertEqual([line.split(";")[2] for line in outcome.err.splitlines()], names)

    def test_columns_are_those_of_perf_stat_x(self):
        outcome = self.run_here("stat", "-x,", "-e", "instructions,task-clock", "true")
        first, second = outcome.err.splitlines()
        self.assertRegex(first, r"\A\d+,,instructions,\d+,100\.00,,\Z")
        self.assertRegex(second, r"\A\d+\.\d\d,msec,task-clock,\d+,100\.00,,\Z")

    def test_a_tab_can_separate(self):
        self.assertIn("\t\tinstructions\t", self.run_here("stat", "-x", "\\t", "-e", "instructions", "true").err)

    def test_json_is_an_object_per_line(self):
        outcome = self.run_here("stat", "-j", "-e", "instructions,page-faults", "true")
        rows = [json.loads(line) for line in outcome.err.splitlines()]
        self.assertEqual([(row["event"], row["class"]) for row in rows],
                         [("instructions", "exact"), ("page-faults", "measured")])
        self.assertGreater(float(rows[0]["counter-value"]), 1000)

    def test_output_goes_to_a_file_if_asked(self):
        outcome = self.run_here("stat", "-o", "counts", "-x,", "-e", "instructions", "true")
        self.assertEqual((outcome.status, outcome.err), (0, ""))
        self.assertRegex((self.folder / "counts").read_text(), r"\A\d+,,instructions,")

    def test_repeated_runs_agree_exactly(self):
        outcome = self.run_here("stat", "-r", "3", "-x,", "-e", "instructions,branches", "true")
        for line in outcome.err.splitlines():
            self.assertEqual(line.split(",")[3], "0.00%", line)

    def test_runs_until_the_mean_is_known_well_enough(self):
        outcome = self.run_here("stat", "--repeat-until", "instructions:0.01", "-x,", "-e", "branches", "true")
        rows = [line.split(",") for line in outcome.err.splitlines()[1:]]
        self.assertEqual([row[2] for row in rows], ["branches", "instructions"])
        self.assertEqual(outcome.err.splitlines()[0],
                         "zeroskid: --repeat-until instructions:0.01: reached: +-0.00% after 2 runs")
        # Each run finds the file one line longer.
        outcome = self.run_here("stat", "-r", "4", "--repeat-until", "instructions:0%", "-e", "instructions", "sh", "-c",
                                "echo x >> grown; while read line; do :; done < grown")
        self.assertRegex(outcome.err, r"--repeat-until instructions:0: not reached: \+-\d+\.\d\d% after 4 runs\n")
        self.assertIn(" (4 runs):\n", outcome.err)
        self.assertEqual((self.folder / "grown").read_text(), "x\n" * 4)

    def test_details_say_what_has_no_number(self):
        outcome = self.run_here("stat", "-d", "-e", "instructions", "true")
        self.assertRegex(outcome.err, r"\n +[\d,]+ +L1-dcache-loads +# exact\n")
        self.assertRegex(outcome.err, r"\n +[\d,]+ +LLC-loads +# modelled\n")
        outcome = self.run_here("stat", "-d", "--cpu", "nehalem", "-e", "instructions", "true")
        self.assertRegex(outcome.err, r"\n +<not modelled> +LLC-load-misses +# needs a model of the core \(caches\)\n")

    def test_metrics_are_counted_with_what_they_are_made_of(self):
        outcome = self.run_here("stat", "-x,", "-M", "IpBranch", "true")
        (instructions, branches) = [line.split(",") for line in outcome.err.splitlines()]
        self.assertEqual((instructions[2], branches[2]), ("inst_retired.any", "br_inst_retired.all_branches"))
        self.assertEqual(instructions[6], "IpBranch")
        self.assertAlmostEqual(float(instructions[5]), int(instructions[0]) / int(branches[0]), places=5)
        unknown = tool.run("stat", "-M", "IPCs", "true")
        self.assertEqual(unknown.status, 129)
        self.assertIn("-M IPCs: no such metric or group of metrics", unknown.err)

    def test_topdown_prints_every_node_and_passes_the_status_on(self):
        outcome = self.run_here("topdown", "-x,", "false")
        self.assertEqual(outcome.status, 1)
        nodes = [line.split(",")[0] for line in outcome.err.splitlines()]
        for node in ("Frontend_Bound", "Bad_Speculation", "Backend_Bound", "Retiring", "Memory_Bound"):
            self.assertIn(node, nodes)
        refused = tool.run("topdown", "--cpu", "nehalem", "true")
        self.assertEqual(refused.status, 129)
        self.assertIn("topdown: not modelled: nehalem@1 lacks ", refused.err)

    def test_threads_have_rows_of_their_own_that_add_up(self):
        program = ["sh", "-c", "ls >/dev/null; true"]
        rows = [line.split(",") for line in
                self.run_here("stat", "--per-thread", "-x,", "-e", "instructions", *program).err.splitlines()]
        self.assertEqual([row[0].rpartition("-")[0] for row in rows], ["sh", "ls"])
        whole = self.run_here("stat", "-x,", "-e", "instructions", *program).err.split(",")[0]
        self.assertAlmostEqual(sum(int(row[1]) for row in rows), int(whole), delta=int(whole) * 0.01)

    def test_colour_follows_the_usual_rules(self):
        dim = "\033[2m"
        self.assertNotIn(dim, self.run_here("stat", "-e", "instructions", "true").err)
        self.assertIn(dim, self.run_here("stat", "--color=always", "-e", "instructions", "true").err)
        self.assertIn(dim, self.run_here("stat", "-e", "instructions", "true", environment={"CLICOLOR_FORCE": "1"}).err)
        self.assertNotIn(dim, self.run_here("stat", "-e", "instructions", "true",
                                            environment={"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}).err)


class Measuring(tool.InFolder):
    """doctor --measure."""

    def measure(self, **variables):
        return self.run_here("doctor", "--measure", "--json", environment={"HOME": str(self.folder), "XDG_CACHE_HOME": "", **variables})

    def test_costs_are_measured_kept_and_shown(self):
        begin = time.monotonic()
        outcome = self.measure()
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertLess(time.monotonic() - begin, 100)
        costs = json.loads(outcome.out)["costs"]
        times = costs["times_native"]
        self.assertEqual(list(times), ["counting", "sampling", "topdown --detail sampled", "mem record --detail sampled", "topdown",
                                       "mem record", "trace"])
        self.assertGreater(times["counting"], 0.5)
        self.assertLess(times["counting"], 5)
        self.assertGreater(times["topdown"], 4 * times["counting"])
        self.assertGreater(costs["start_ms"], 0)
        kept = json.loads((self.folder / ".cache/zeroskid/costs.json").read_text())
        self.assertEqual(kept["times_native"], times)
        page = tool.run("--help", environment={"HOME": str(self.folder), "XDG_CACHE_HOME": ""}).out
        self.assertIn("measured on this machine", page)
        told = times["topdown --detail sampled"]
        self.assertRegex(page, rf"Why is it slow\? +{told:.{1 if told < 9.95 else 0}f} ")
        self.assertNotIn("measured on this machine", tool.run("--help").out)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), [".cache"])

    def test_costs_that_cannot_be_kept_are_told(self):
        outcome = self.measure(XDG_CACHE_HOME="/dev/null/x")
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertIn("/dev/null/x/zeroskid/costs.json: cannot be written: Not a directory\n", outcome.err)
        self.assertIn("counting", json.loads(outcome.out)["costs"]["times_native"])

    def test_what_is_measured_computes_the_same_under_zeroskid(self):
        native = tool.run("doctor", "--workload", "2").out
        self.assertGreater(int(native), 1)
        self.assertEqual(self.run_here("stat", "-e", "instructions", tool.ZEROSKID, "doctor", "--workload", "2").out, native)


class Processes(tool.InFolder):
    def count(self, *words):
        outcome = self.run_here("stat", "-x,", "-e", "instructions", *words)
        self.assertEqual(outcome.status, 0, outcome.err)
        return int(outcome.err.split(",")[0])

    def test_children_and_new_programs_are_counted(self):
        alone = self.count("ls", "/")
        self.assertGreater(self.count("sh", "-c", "ls / >/dev/null; ls / >/dev/null; true"), 2 * alone * 0.9)
        self.assertGreater(self.count("sh", "-c", "exec ls /"), alone)

    def left_alone(self, *program):
        outcome = self.run_here("stat", "--no-inherit", "-x,", "-e", "instructions", *program)
        self.assertEqual(outcome.out, "0\n")
        self.assertLess(int(outcome.err.split(",")[0]), 0.8 * self.count(*program))

    def test_without_inherit_a_forked_child_is_left_alone(self):
        self.left_alone("perl", "-e", "unless (fork) { $i++ while $i < 1e6; exit } wait; print $?, qq(\\n)")

    def test_without_inherit_a_vfork_child_and_its_program_are_left_alone(self):
        self.left_alone("sh", "-c", "ls / >/dev/null; echo $?")

    def test_without_inherit_the_program_of_a_child_runs_as_it_is(self):
        script = ("sleep 5 & sleep 0.5; readlink /proc/$!/exe; ls /proc/$!/fd | wc -l; tr '\\0' ' ' < /proc/$!/cmdline; "
                  "kill $!")
        outcome = self.run_here("stat", "--no-inherit", "-e", "instructions", "sh", "-c", script)
        self.assertEqual(outcome.out, os.path.realpath("/bin/sleep") + "\n3\nsleep 5 ", outcome.err)
        self.assertNotIn("not followed", outcome.err)

    def processes_recorded(self):
        return len({line.split()[0] for line in self.run_here("script", "-F", "pid").out.splitlines()})

    def test_without_inherit_nothing_of_a_child_is_in_the_recording(self):
        script = "unless (fork) { $i++ while $i < 1e5; $0 = 'child'; exec 'ls', '/' } wait"
        self.run_here("record", "--no-inherit", "-e", "instructions", "-c", "10007", "perl", "-e", script)
        self.assertEqual(self.processes_recorded(), 1)
        self.run_here("record", "-e", "instructions", "-c", "10007", "perl", "-e", script)
        self.assertEqual(self.processes_recorded(), 2)

    def test_without_inherit_the_program_counts_on_after_its_own_exec(self):
        alone = self.count("ls", "/")
        outcome = self.run_here("stat", "--no-inherit", "-x,", "-e", "instructions", "sh", "-c", "exec ls / >/dev/null")
        self.assertGreater(int(outcome.err.split(",")[0]), alone)

    def test_what_is_left_behind_is_said_and_not_waited_for(self):
        begin = time.monotonic()
        outcome = self.run_here("stat", "-e", "instructions", "sh", "-c", "sleep 20 >/dev/null 2>&1 & sleep 0.5")
        self.assertLess(time.monotonic() - begin, 15)
        self.assertIn("zeroskid: a process of the program still runs; what happens from here on is not recorded\n",
                      outcome.err)


class Signals(tool.InFolder):
    def start(self, *words):
        return subprocess.Popen([tool.ZEROSKID, *words], cwd=self.folder, env=tool.ENVIRONMENT, start_new_session=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait_for_line(self, process):
        self.assertEqual(process.stdout.readline(), "ready\n")
        time.sleep(0.5)  # until the shell has started its sleep

    def test_ctrl_c_ends_the_program_and_the_counts_are_printed(self):
        process = self.start("stat", "-e", "instructions", "sh", "-c", "echo ready; sleep 30")
        self.wait_for_line(process)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 128 + signal.SIGINT)
        self.assertRegex(said, r"\n +[\d,]+ +instructions")

    def test_a_program_that_survives_ctrl_c_is_counted_to_its_end(self):
        process = self.start("stat", "-e", "instructions", "sh", "-c", "trap 'echo caught; exit 3' INT; echo ready; "
                                                                        "while :; do sleep 0.1; done")
        self.wait_for_line(process)
        os.killpg(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=30)
        self.assertEqual((process.returncode, out), (3, "caught\n"))

    def test_a_signal_to_the_group_reaches_the_program_once(self):
        count = "trap 'n=$((n+1))' %s; echo ready; i=0; while [ $i -lt 15 ]; do sleep 0.1; i=$((i+1)); done; echo $n"
        for name in ("INT", "TERM", "HUP"):
            with self.subTest(name):
                process = self.start("stat", "-e", "instructions", "sh", "-c", count % name)
                self.wait_for_line(process)
                os.killpg(process.pid, getattr(signal, "SIG" + name))
                out, said = process.communicate(timeout=30)
                self.assertEqual((process.returncode, out), (0, "1\n"))
                self.assertIn("instructions", said)

    def test_a_program_that_ends_its_own_group_is_told_once(self):
        script = "trap 'n=$((n+1))' TERM; kill 0; i=0; while [ $i -lt 3 ]; do sleep 0.1; i=$((i+1)); done; echo $n"
        process = self.start("stat", "-e", "instructions", "sh", "-c", script)
        self.assertEqual(process.communicate(timeout=30)[0], "1\n")

    def test_what_the_group_was_told_hides_nothing_that_is_sent_to_zeroskid_alone(self):
        process = self.start("stat", "-e", "instructions", "sh", "-c", "trap 'n=1$n' TERM; trap 'echo $n; exit 4' INT; "
                                                                       "echo ready; while :; do sleep 0.1; done")
        self.wait_for_line(process)
        os.killpg(process.pid, signal.SIGTERM)
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        os.killpg(process.pid, signal.SIGINT)
        self.assertEqual(process.communicate(timeout=30)[0], "11\n")

    def test_sigterm_to_zeroskid_is_passed_on(self):
        process = self.start("stat", "-e", "instructions", "sh", "-c", "trap 'echo caught; exit 4' TERM; echo ready; "
                                                                        "while :; do sleep 0.1; done")
        self.wait_for_line(process)
        process.send_signal(signal.SIGTERM)
        out, said = process.communicate(timeout=30)
        self.assertEqual((process.returncode, out), (4, "caught\n"))
        self.assertIn("instructions", said)

    def test_sigint_to_zeroskid_ends_a_program_that_began_with_it_ignored(self):
        script = 'trap "" INT; exec "$@"'  # as a shell starts a job in the background
        process = subprocess.Popen(["sh", "-c", script, "sh", tool.ZEROSKID, "stat", "-e", "instructions", "sh", "-c",
                                    "echo ready; exec sleep 30"], cwd=self.folder, env=tool.ENVIRONMENT,
                                   start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.wait_for_line(process)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertRegex(said, r"\n +[\d,]+ +instructions")

    def test_a_program_that_is_killed_shows_what_it_had_counted(self):
        process = self.start("stat", "-e", "instructions", "sh", "-c", "echo $$; while :; do i=$((i+1)); done")
        program = int(process.stdout.readline())
        time.sleep(2)
        os.kill(program, signal.SIGKILL)
        _, said = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 128 + signal.SIGKILL)
        counted = re.search(r"\n +([\d,]+) +instructions +# exact, incomplete\n", said)
        self.assertGreater(int(counted.group(1).replace(",", "")), 10_000_000)
        self.assertIn(" Some processes were killed before they could report; theirs are the counts they last sent.\n", said)

    def test_a_program_that_is_killed_while_it_waits_shows_what_it_had_counted(self):
        begin = ["stat", "-x,", "-e", "instructions", "sh", "-c"]
        whole = self.start(*begin, "echo $$; read line").communicate(timeout=30)[1]  # from /dev/null
        os.mkfifo(os.path.join(self.folder, "fifo"))
        process = self.start(*begin, "exec 3<>fifo; echo $$; read line <&3")
        program = int(process.stdout.readline())
        time.sleep(0.5)
        os.kill(program, signal.SIGKILL)
        _, said = process.communicate(timeout=30)
        self.assertGreater(int(said.splitlines()[1].split(",")[0]), 0.9 * int(whole.split(",")[0]))

    def test_a_failure_of_the_engine_is_ours_and_not_a_signal_of_the_program(self):
        # The program writes over the page that the engine and the translated code share.
        program = "import ctypes, time; print('before', flush=True); time.sleep(0.1); ctypes.memset(0x60010000, 255, 4096)"
        outcome = self.run_here("record", "-e", "instructions", "-c", "100000", "/usr/bin/python3", "-I", "-c", program)
        self.assertEqual(outcome.status, 125)
        self.assertEqual(outcome.out, "before\n")
        self.assertRegex(outcome.err, "zeroskid: internal error: fault in the engine at 0x[0-9a-f]{16}, address 0x[0-9a-f]{16}\n")
        self.assertGreater(len(self.run_here("script", "-F", "ip").out.splitlines()), 100)

    def test_a_closed_stderr_changes_nothing(self):
        reader, writer = os.pipe()
        os.close(reader)
        process = subprocess.run([tool.ZEROSKID, "stat", "sh", "-c", "echo hello; exit 6"], stderr=writer,
                                 stdout=subprocess.PIPE, text=True, env=tool.ENVIRONMENT, check=False)
        os.close(writer)
        self.assertEqual((process.returncode, process.stdout), (6, "hello\n"))

    def test_a_closed_stdout_is_the_programs_affair(self):
        reader, writer = os.pipe()
        os.close(reader)
        process = subprocess.run([tool.ZEROSKID, "stat", "-e", "instructions", "sh", "-c", "yes"], stdout=writer,
                                 stderr=subprocess.PIPE, text=True, env=tool.ENVIRONMENT, check=False,
                                 preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
        os.close(writer)
        self.assertEqual(process.returncode, 128 + signal.SIGPIPE)
        self.assertIn("instructions", process.stderr)



class ProgressLine(tool.InFolder):
    """On a terminal, whose other side this is."""

    def on_terminal(self, script, output="/dev/null"):
        return terminal.run(["sh", "-c", f'exec "$@" >{output}', "sh", tool.ZEROSKID, "stat", "-e", "instructions", "--", "sh", "-c", script],
                            {**tool.ENVIRONMENT, "TERM": "xterm"})[1]

    def test_is_drawn_where_the_programs_output_goes_elsewhere(self):
        self.assertRegex(self.on_terminal("sleep 3"), r"\r\x1b\[K\[ \d+ s")

    def test_shares_no_line_with_the_programs_output(self):
        text = self.on_terminal("printf 'half a '; sleep 3; echo line", "&1")
        self.assertIn("half a line", text)
        self.assertNotIn("[ ", text)

    def test_is_not_drawn_over_a_program_that_reads_keys(self):
        text = self.on_terminal("stty raw; sleep 3")
        self.assertNotIn("[ ", text)
        self.assertIn("Performance counter stats", text)


if __name__ == "__main__":
    tool.main()
