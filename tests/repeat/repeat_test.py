#!/usr/bin/env python3
"""A recording is a function of (program, input, CPU model, seed): the same bytes again and again.

For each program and event list, recordings made under different circumstances are compared byte for byte:
again, under load on every processor, without address-space randomisation, with a longer environment, with files that nobody has
read before, and with every instruction run as a step (--precise-only). --virtual-time fixes process ids, times, hash seeds and the order of
processes too: of the files of two runs of a program, whatever it starts and executes, every byte is the same, also under load.
  repeat_test.py ZEROSKID GUESTS
"""
import os
import struct
import subprocess
import sys
import tempfile

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C", "PAD": "x"}
EVENTS = (["-e", "instructions:ppp", "-c", "997"],
          ["-e", "mem_inst_retired.all_loads:pp", "-c", "499"],
          ["-e", "mem_load_retired.l1_miss:pp", "-c", "13"],
          ["-e", "br_misp_retired.all_branches:pp", "-c", "61"],
          ["-b", "-e", "br_inst_retired.near_taken:pp", "-c", "1009"],
          ["-b", "-e", "mem_inst_retired.any:pp", "-c", "61"])
#: For one run. The script step by step takes 75 s on a slow host that does nothing else.
PATIENCE_S = 600
#: Of how translated code comes close to an overflow, for the first of the events: thousands of faults in the middle of blocks, before and
#: behind what it counts; long blocks without a place to look.
APPROACHES = ("signal_faults_sampled", "no_flags_written")
#: Children one after the other, one of them beside its parent, and what is random.
PROCESSES = ("/bin/ls /etc; for i in 1 2 3; do /usr/bin/env true; done; (/bin/ls / & wait); "
             "/usr/bin/head -c 16 /dev/urandom; /usr/bin/mktemp -u; /bin/ls /var")
#: Several at once, of which one is killed by a pipe that nobody reads any more, and ids as a program sees them.
RACES = ("seq 1 12000 | sort -rn | head -3; for i in 1 2 3; do seq $i 400 | md5sum & done; wait; "
         "(cat; echo behind) < /etc/passwd | while read -r line; do test -z \"$line\" && echo; done; echo $$ $!; x=$(echo $! | tr 0-9 a-j)")
#: A hash seed, an import of what lies beside it, children at once, and waits that a clock ends.
SCRIPT = """
import json, re, select, subprocess, sys, threading, time
import beside
words = {str(i): hash(str(i)) for i in range(300)}
children = [subprocess.Popen(["/bin/sh", "-c", "echo $$"], stdout=subprocess.PIPE) for _ in range(3)]
print(json.dumps(words), [child.communicate()[0] for child in children])
end = time.monotonic() + 0.05
while time.monotonic() < end:
    select.select([], [], [], 0.02)
time.sleep(0.01)
"""


def records_of(perf_data):
    """All records of a file, without the headers: those tell the command line."""
    offset, size = struct.unpack_from("<QQ", perf_data, 40)
    return perf_data[offset:offset + size]


def main():
    zeroskid, guests = (os.path.abspath(path) for path in sys.argv[1:3])
    programs = ([os.path.join(guests, "fp_kernels")], [os.path.join(guests, "qsort_static")], ["/bin/ls", "/etc"],
                ["/usr/bin/env", "NAME=value", "/bin/ls", "/etc"], ["/bin/sh", "-c", PROCESSES],
                *([os.path.join(guests, name)] for name in APPROACHES))
    few = (*APPROACHES, "/bash", "script.py")
    failed = 0
    with tempfile.TemporaryDirectory(prefix="zs-repeat-") as folder, tempfile.TemporaryDirectory(prefix="zs-repeat-") as scripts:
        output = os.path.join(folder, "perf.data")
        script = os.path.join(scripts, "script.py")
        for path, text in ((script, SCRIPT), (os.path.join(scripts, "beside.py"), "names = ['a', 'b']\n")):
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
        programs = (*programs, ["/bin/bash", "-c", RACES], [os.path.realpath(sys.executable), "-B", script])

        def never_read():
            """As if: whole seconds long ago, which the first read changes."""
            for path in (scripts, *(os.path.join(scripts, name) for name in os.listdir(scripts))):
                os.utime(path, ns=(10**18, os.stat(path).st_mtime_ns))

        def record(program, events, prefix=(), options=(), pad="x"):
            for stale in (output, output + ".old"):
                if os.path.exists(stale):
                    os.remove(stale)
            command = [*prefix, zeroskid, "record", "-q", "--detail", "complete", "--virtual-time", *events, *options, "-o", output, "--", *program]
            result = subprocess.run(command, env=dict(ENVIRONMENT, PAD=pad), stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
            if result.returncode != 0:
                raise SystemExit(f"{' '.join(command)}: exit {result.returncode}: {result.stderr.decode()[-400:]}")
            return subprocess.run([zeroskid, "script", "-i", output, "-F", "comm,pid,tid,time,event,ip,period,addr,iregs"
                                   + (",brstack" if "-b" in events else "")],
                                  stdout=subprocess.PIPE, check=True, timeout=PATIENCE_S).stdout

        for program in programs:
            for events in EVENTS[:1] if any(word.endswith(few) for word in program) else EVENTS:
                never_read()
                first = record(program, events)
                with open(output, "rb") as file:
                    first_file = file.read()
                again = record(program, events)
                with open(output, "rb") as file:
                    again_file = file.read()
                ways = {
                    "no ASLR": lambda: record(program, events, prefix=("setarch", "-R")),
                    "longer environment": lambda: record(program, events, pad="x" * 3000),
                    "step by step": lambda: record(program, events, options=("--precise-only",)),
                }
                if not program[0].startswith(guests) and program[0] != "/bin/ls":
                    del ways["longer environment"]  # its variable lies behind the padding, and registers hold its address
                if program[0].endswith("/bash"):
                    del ways["step by step"]  # a call that a child's signal comes before has been counted if it ended a block, not as a step
                load = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count())]
                try:
                    ways_result = {"under load": record(program, events)}
                    with open(output, "rb") as file:
                        loaded_file = file.read()
                finally:
                    for process in load:
                        process.kill()
                        process.wait()
                ways_result.update({name: way() for name, way in ways.items()})
                with open(output, "rb") as file:
                    last_file = file.read()
                samples = first.count(b"\n")
                different = [name for name, text in {"again": again, **ways_result}.items() if text != first]
                different += ["the file's bytes"] if again_file != first_file else []
                different += [f"the file's records {[*ways_result][-1]}"] if records_of(last_file) != records_of(first_file) else []
                different += ["the file's bytes under load"] if loaded_file != first_file else []
                failed += bool(different) or samples == 0
                verdict = "same" if not different and samples else "DIFFERS: " + (", ".join(different) or "no samples")
                print(f"{os.path.basename(program[0]):14} {events[-3]:32} {samples:7} lines  {verdict}", flush=True)
    return 1 if failed else 0


sys.exit(main())
