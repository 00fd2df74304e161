"""The test suites that run_suites holds against native runs: where each comes from, how it is built, and its tests.

A suite is a function from the folder with the sources to its tests. It raises Missing, which says what to install.
"""
import glob
import os
import re
import shutil
import subprocess


class Missing(Exception):
    """What the suite needs is not here."""


class Test:
    """One command. `results` makes {part: result} of its output, where its exit status alone would say too little. `build` makes
    the program when it is wanted; returns whether it can be made."""

    def __init__(self, name, words, folder, results=None, seconds=60, environment=None, build=None):
        self.build = build or (lambda: True)
        self.name, self.words, self.folder = name, words, folder
        self.results, self.seconds, self.environment = results or (lambda text: {}), seconds, environment or {}


def source(folder, name):
    """The folder of an unpacked Debian source package."""
    found = sorted(path for path in glob.glob(os.path.join(folder, name + "*")) if os.path.isdir(path))
    if not found:
        package = name.rstrip("-0123456789.")
        raise Missing(f"no {name}* in {folder}: apt-get source {package} there (needs a deb-src line)")
    return found[0]


def program(name, package):
    path = shutil.which(name)
    if path is None:
        raise Missing(f"no {name}: apt-get install {package}")
    return os.path.realpath(path)


def make(words, folder, log):
    """Builds part of a suite, natively."""
    with open(os.path.join(folder, log), "w") as file:
        status = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=file, stderr=file).returncode
    if status != 0:
        raise Missing(f"{' '.join(words)} in {folder} ended with {status}: see {log} there")


# ---- CPython -------------------------------------------------------------------------------------------------

PYTHON_MODULES = """test_os test_signal test_threading test_subprocess test_socket test_mmap test_posix test_select test_selectors
    test_thread test_threadsignals test_fork1 test_faulthandler test_poll test_epoll test_pty test_resource test_wait3 test_wait4
    test_eintr test_ioctl test_fcntl test_memoryio test_exceptions test_generators test_queue test_asyncore""".split()


def unittest_results(text):
    """Lines of `python3 -m unittest -v`: `name (module.Class.name) ... ok`. What a test prints may stand in between."""
    results = {}
    tests = list(re.finditer(r"^(\w+) \(([\w.]+)\)(?:\n[^\n]*)?? \.\.\. ", text, re.M))
    for test, following in zip(tests, [*tests[1:], None]):
        shown = text[test.end():following.start() if following else len(text)]
        word = re.search(r"\b(ok|FAIL|ERROR|skipped|expected failure)\b", shown.partition("\n")[0])
        word = word or re.search(r"^(ok|FAIL|ERROR|skipped|expected failure)\b", shown, re.M)
        results[f"{test.group(2)}.{test.group(1)}"] = word.group(1) if word else "ok?"
    return results


#: Waits for ever in a virtual machine whose host does not answer.
PYTHON_LEFT_OUT = {"test_socket": "ThreadedVSOCKSocketStreamTest"}


def cpython(_):
    python = program("/usr/bin/python3", "python3")
    test = subprocess.run([python, "-c", "import test.test_os, sys; print(sys.modules['test'].__path__[0])"],
                          capture_output=True, text=True)
    if test.returncode != 0:
        raise Missing("no module test.test_os: apt-get install libpython3.11-testsuite (or of what version python3 is)")
    for module in PYTHON_MODULES:
        script = (f"import unittest, test.{module} as tests; vars(tests).pop('{PYTHON_LEFT_OUT.get(module, '')}', None); "
                  f"unittest.main(tests, argv=['{module}', '-v'])")
        yield Test(module, [python, "-B", "-c", script], None, unittest_results, 900)


# ---- perl ----------------------------------------------------------------------------------------------------

def tap_results(text):
    results = {}
    for verdict, number, rest in re.findall(r"^(ok|not ok) (\d+)([^\n]*)", text, re.M):
        results[number] = verdict + (" # skip" if "# skip" in rest.lower() else "")
    return results


PERL_FOLDERS = "base cmd comp io re uni mro op opbasic lib".split()


def perl(folder):
    top = source(folder, "perl-5")
    installed = program("perl", "perl")
    tests = os.path.join(top, "t")
    # The tests look for perl in their folder, and for its library beside it: the installed one.
    link = os.path.join(tests, "perl")
    if not os.path.islink(link):
        os.symlink(installed, link)
        os.rename(os.path.join(top, "lib"), os.path.join(top, "lib.source"))
        os.makedirs(os.path.join(top, "lib"))
        for where in subprocess.run([installed, "-MConfig", "-e", 'print "$Config{privlib}\\n$Config{archlib}\\n"'],
                                    capture_output=True, text=True, check=True).stdout.split():
            subprocess.run(["cp", "-a", os.path.realpath(where) + "/.", os.path.join(top, "lib")], check=True)
    for part in PERL_FOLDERS:
        for path in sorted(glob.glob(os.path.join(tests, part, "*.t"))):
            name = os.path.relpath(path, tests)
            yield Test(name, ["./perl", "-I../lib", name], tests, tap_results, 120)


# ---- Go ------------------------------------------------------------------------------------------------------

GO_PACKAGES = "runtime os os/signal os/exec syscall sync sync/atomic time net io bufio context".split()
GO_TESTS_TOGETHER = 20


def go_results(text):
    return {name: verdict for verdict, name in re.findall(r"^\s*--- (PASS|FAIL|SKIP): (\S+)", text, re.M)}


def go(folder):
    compiler = program("go", "golang-go")
    root = subprocess.run([compiler, "env", "GOROOT"], capture_output=True, text=True, check=True).stdout.strip()
    if not os.path.exists(os.path.join(root, "src/runtime/proc_test.go")):
        raise Missing("no tests of Go's library: apt-get install golang-src")
    built = os.path.join(folder, "go-tests")
    os.makedirs(built, exist_ok=True)
    for package in GO_PACKAGES:
        binary = os.path.join(built, package.replace("/", "_") + ".test")
        if not os.path.exists(binary):
            make([compiler, "test", "-c", "-vet=off", "-o", binary, package], built, "build.log")
        listed = subprocess.run([binary, "-test.list", "^Test"], capture_output=True, text=True, check=True).stdout
        names = re.findall(r"^Test\w+", listed, re.M)
        for first in range(0, len(names), GO_TESTS_TOGETHER):
            some = names[first:first + GO_TESTS_TOGETHER]
            yield Test(f"{package}/{some[0]}", [binary, "-test.short", "-test.v", "-test.timeout=1500s", f"-test.run=^({'|'.join(some)})$"],
                       os.path.realpath(os.path.join(root, "src", package)), go_results, 300)


# ---- liburing ------------------------------------------------------------------------------------------------

def liburing(folder):
    top = source(folder, "liburing-")
    tests = os.path.join(top, "test")
    if not os.path.exists(os.path.join(tests, "nop.t")):
        make(["./configure"], top, "configure.log")
        make(["make", "-C", "src"], top, "build.log")
        make(["make", "-k", "-C", "test"], top, "build.log")
    for path in sorted(glob.glob(os.path.join(tests, "*.t"))):
        yield Test(os.path.basename(path), [path], tests, None, 60)


# ---- the Open POSIX test suite, which the Linux Test Project keeps ----------------------------------------------

POSIX_INTERFACES = re.compile(r"aio_|clock|fork|kill|lio_|m(un)?lock|mmap|munmap|mq_|msync|nanosleep|pthread_|raise|sched_|sem_|shm_|sig|"
                              r"sleep|time")


def posix(folder):
    top = source(folder, "posixtestsuite-")
    built = os.path.join(folder, "posix-tests")
    os.makedirs(built, exist_ok=True)
    for path in sorted(glob.glob(os.path.join(top, "conformance/interfaces/*/*.c"))):
        interface = os.path.basename(os.path.dirname(path))
        if not POSIX_INTERFACES.match(interface) or re.search(r"(-core|testfrmwk|common)", os.path.basename(path)):
            continue
        name = f"{interface}/{os.path.basename(path)[:-2]}"
        binary = os.path.join(built, name.replace("/", "_"))
        if not os.path.exists(binary):
            words = ["gcc", "-O1", "-w", "-D_XOPEN_SOURCE=600", "-D_GNU_SOURCE", "-I", os.path.join(top, "include"), path,
                     "-o", binary, "-lpthread", "-lrt", "-lm"]
            if subprocess.run(words, stderr=subprocess.DEVNULL).returncode != 0:
                continue  # needs something that this system does not have
        yield Test(name, [binary], built, None, 60)


# ---- glibc ---------------------------------------------------------------------------------------------------

#: Threads, signals, processes, timers, files, memory. Built against the installed library, which has to be of the same version;
#: what needs the library's inside does not compile, and is left out.
GLIBC_FOLDERS = """sysdeps/pthread nptl signal posix rt misc io malloc stdlib setjmp time stdio-common socket dirent
    sysdeps/unix/sysv/linux sysdeps/unix/sysv/linux/x86""".split()
#: Headers of the library's own that its tests' support library includes.
GLIBC_HEADERS = {"support": "support", "test-skeleton.c": "test-skeleton.c", "intprops.h": "include/intprops.h",
                 "scratch_buffer.h": "include/scratch_buffer.h", "array_length.h": "include/array_length.h",
                 "libc-diag.h": "include/libc-diag.h", "stackinfo.h": "sysdeps/x86_64/stackinfo.h"}
GLIBC_PATHS = """SRCDIR_PATH OBJDIR_PATH OBJDIR_ELF_LDSO_PATH INSTDIR_PATH SLIBDIR_PATH
    LIBDIR_PATH BINDIR_PATH SBINDIR_PATH ROOTSBINDIR_PATH COMPLOCALEDIR_PATH""".split()


def glibc(folder):
    top = source(folder, "glibc-")
    built = os.path.join(folder, "glibc-tests")
    headers = os.path.join(built, "include")
    words = ["gcc", "-O1", "-w", "-std=gnu11", "-D_GNU_SOURCE", "-I", headers, "-I", os.path.join(top, "support"),
             "-include", os.path.join(headers, "inside.h"), *(f'-D{name}="{built}"' for name in GLIBC_PATHS)]
    library = os.path.join(built, "libsupport.a")
    if not os.path.exists(library):
        os.makedirs(headers, exist_ok=True)
        open(os.path.join(headers, "config.h"), "w").close()
        with open(os.path.join(headers, "inside.h"), "w") as file:  # what the library's own headers would say first
            file.write("#include <limits.h>\n#include <stdbool.h>\n#define TIMEOUTFACTOR 4\n#define libc_hidden_proto(name)\n")
        for name, path in GLIBC_HEADERS.items():
            os.symlink(os.path.join(top, path), os.path.join(headers, name))
        objects = []
        for path in sorted(glob.glob(os.path.join(top, "support", "*.c"))):
            name = os.path.basename(path)[:-2]
            if re.match(r"tst-|test-|README|echo-|shell-|links-|.*time64|.*_main", name) and name != "support_test_main":
                continue
            objects.append(os.path.join(built, name + ".o"))
            if subprocess.run([*words, "-c", path, "-o", objects[-1]], stderr=subprocess.DEVNULL).returncode != 0:
                objects.pop()
        make(["ar", "rcs", library, *objects], built, "build.log")
    for part in GLIBC_FOLDERS:
        for path in sorted(glob.glob(os.path.join(top, part, "tst-*.c"))):
            name = f"{os.path.basename(part)}/{os.path.basename(path)[:-2]}"
            binary = os.path.join(built, name.replace("/", "_"))
            compiled = [*words, path, "-o", binary, library, "-lpthread", "-lrt", "-lm", "-ldl"]
            if not re.search(r"static$|mod\w*$", name):
                yield Test(name, [binary], built, None, 60, build=lambda binary=binary, compiled=compiled: (
                    os.path.exists(binary) or subprocess.run(compiled, stderr=subprocess.DEVNULL).returncode == 0))


# ---- Tcl -----------------------------------------------------------------------------------------------------

def tcl_results(text):
    results = {name: "failed" for name in re.findall(r"^==== (\S+) .*FAILED$", text, re.M)}
    counts = re.search(r"Total\s+(\d+)\s+Passed\s+(\d+)\s+Skipped\s+(\d+)\s+Failed\s+(\d+)", text)
    if counts:
        results["counts"] = " ".join(counts.groups())
    return results


def tcl(folder):
    top = source(folder, "tcl8.6")
    shell = program("tclsh", "tcl")
    tests = os.path.join(top, "tests")
    for path in sorted(glob.glob(os.path.join(tests, "*.test"))):
        if not os.path.basename(path).startswith("http"):  # asks the network
            yield Test(os.path.basename(path), [shell, path], tests, tcl_results, 120)


# ---- bash ----------------------------------------------------------------------------------------------------

def bash(folder):
    top = source(folder, "bash-5")
    shell = program("bash", "bash")
    tests = os.path.join(top, "tests")
    for helper in ("recho", "zecho", "printenv", "xcase"):
        if not os.path.exists(os.path.join(tests, helper)):
            make(["gcc", "-w", "-DHAVE_UNISTD_H", "-I", "..", "-I", "../include", "-o", helper, f"../support/{helper}.c"], tests, "build.log")
    path = os.path.join(tests, "run-all")
    environment = {"THIS_SH": shell, "PATH": f"{tests}:{os.environ['PATH']}", "BASH_TSTOUT": os.path.join(tests, "out"),
                   "BUILD_DIR": top}
    for path in sorted(glob.glob(os.path.join(tests, "run-*"))):
        name = os.path.basename(path)
        if name in ("run-all", "run-minimal", "run-gprof") or name.endswith("~"):
            continue
        # They print what differs from the right output.
        yield Test(name, [shell, name], tests, lambda text: {"output": text}, 120, environment)


# ---- SQLite --------------------------------------------------------------------------------------------------

def sqlite_results(text):
    results = {name: "ok" for name in re.findall(r"^(\S+)\.\.\. Ok$", text, re.M)}
    results.update({name: "failed" for name in re.findall(r"^! (\S+) expected", text, re.M)})
    return results


SQLITE_TESTS = """select1 select2 insert update delete trans trans2 lock lock2 lock3 lock4 wal wal2 wal3 walthread thread001 thread002
    thread003 crash crash2 io ioerr malloc mmap1 mmap2 mmap3 pager1 pager2 shared shared2 vacuum fuzz func date json101 fts3aa
    fts4aa rtree1 window1 with1 index trigger1 view collate1 blob memdb backup exclusive savepoint utf16 attach""".split()


def sqlite(folder):
    top = source(folder, "sqlite3-")
    if not os.path.exists(os.path.join(top, "testfixture")):
        make(["sh", "-c", "./configure --with-tcl=/usr/lib/tcl8.6 --disable-amalgamation CFLAGS=-O1 && make testfixture"], top, "build.log")
    for name in SQLITE_TESTS:
        path = os.path.join(top, "test", name + ".test")
        if os.path.exists(path):
            yield Test(name, [os.path.join(top, "testfixture"), path], top, sqlite_results, 600)


# ---- PostgreSQL ----------------------------------------------------------------------------------------------

def postgres_results(text):
    """`test NAME ... ok 12 ms`, and what differs from the expected output but for the times in it."""
    results = dict(re.findall(r"^test (\S+) +\.\.\. (ok|FAILED)", text, re.M))
    results["differences"] = re.sub(r"^(?:---|\+\+\+|diff) .*\n", "", text.partition("\n=== differences\n")[2], flags=re.M)
    return results


def postgres(folder):
    """Each group of the schedule on a server of its own, which all its processes serve under zeroskid. Not as root."""
    tests = os.path.join(source(folder, "postgresql-"), "src/test/regress")
    installed = sorted(glob.glob("/usr/lib/postgresql/*/lib/pgxs/src/test/regress/pg_regress"))
    if not installed:
        raise Missing("no pg_regress: apt-get install postgresql")
    programs = os.path.join(installed[-1].partition("/lib/pgxs")[0], "bin")
    with open(os.path.join(tests, "parallel_schedule")) as schedule:
        groups = [line.split()[1:] for line in schedule if line.startswith("test:")]
    for group in groups:
        names = group if group == ["test_setup"] else ["test_setup", *group]
        script = (f"mkdir out; {installed[-1]} --temp-instance=$PWD/server --bindir={programs} --inputdir={tests} --outputdir=$PWD/out "
                  f"--dlpath=$PWD --no-locale --encoding=UTF8 {' '.join(names)}; status=$?; "
                  "echo; echo === differences; cat out/regression.diffs; exit $status")
        yield Test("+".join(group)[:60], ["/bin/sh", "-c", script], None, postgres_results, 600)


# ---- node ----------------------------------------------------------------------------------------------------

NODE_TESTS = re.compile(r"test-(assert|async|buffer|child-process|cluster|crypto|dgram|event|fs|gc|http-|memory|module|net|next-tick|"
                        r"os|performance|pipe|process|promise|readline|repl|signal|stdin|stdio|stdout|stream|timers|tls|tty|util|v8|"
                        r"vm|wasm|worker|zlib)")


def node(folder):
    top = source(folder, "nodejs-")
    binary = program("node", "nodejs")
    for path in sorted(glob.glob(os.path.join(top, "test/parallel/*.js"))):
        if NODE_TESTS.match(os.path.basename(path)):
            yield Test(os.path.basename(path)[:-3], [binary, path], top, None, 120)


# ---- stress-ng -----------------------------------------------------------------------------------------------

STRESS_CLASSES = "cpu vm memory signal scheduler pipe network filesystem interrupt".split()


#: What takes the machine from everybody else on it, or asks a network.
STRESS_LEFT_OUT = "bind-mount icmp-flood oom-pipe resources softlockup sockmany".split()
stress_seconds = 1


def stress_ng(folder):
    binary = program("stress-ng", "stress-ng")
    scratch = os.path.join(folder, "stress-ng")
    os.makedirs(scratch, exist_ok=True)
    # Each stressor alone: one that fails is known by name, and of those that need a device nothing is hidden.
    stressors = {}
    for each in STRESS_CLASSES:
        listed = subprocess.run([binary, "--class", each + "?"], capture_output=True, text=True).stdout
        for name in listed.partition(":")[2].split():
            stressors.setdefault(name, "signal" if name.startswith("sig") else each)  # older ones have no such class
    for name in STRESS_LEFT_OUT:
        stressors.pop(name, None)
    for name, each in sorted(stressors.items(), key=lambda pair: (STRESS_CLASSES.index(pair[1]), pair[0])):
        words = [binary, f"--{name}", "1", "--timeout", str(stress_seconds), "--verify", "--temp-path", scratch, "--oomable", "--no-rand-seed"]
        yield Test(f"{each}/{name}", words, scratch, None, 60 + 3 * stress_seconds)


ALL = {"cpython": cpython, "perl": perl, "go": go, "glibc": glibc, "liburing": liburing, "posix": posix, "tcl": tcl, "bash": bash,
       "sqlite": sqlite, "postgres": postgres, "node": node, "stress-ng": stress_ng}
