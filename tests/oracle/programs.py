"""The programs whose counts are compared: name, words; {guests} and {strings} are build folders."""
import os
import shutil

#: Small programs of ours: static ones first, no libc at all in the .S ones.
GUESTS = [
    ["{strings}/small_rep_movsb"], ["{strings}/small_loop_cmpsw"],
    ["{guests}/rep_strings"], ["{guests}/prefetches"], ["{guests}/r11_forms"], ["{guests}/flags_across_blocks"],
    ["{guests}/indirect_branches"], ["{guests}/stack_pointer_forms"], ["{guests}/loops_and_jrcxz"],
    ["{guests}/computed_goto"], ["{guests}/setjmp_longjmp"], ["{guests}/qsort_static"], ["{guests}/fp_kernels"],
    ["{guests}/far_returns", "quietly"], ["{guests}/segment_registers", "quietly"], ["{guests}/static_pie"],
    ["{guests}/avx2_kernels"], ["{guests}/avx512_kernels"],
]

#: Installed programs, all dynamically linked, none above two million instructions.
INSTALLED = [
    ["/bin/true"], ["/bin/echo", "hello", "world"], ["/bin/cat", "/etc/hostname"], ["/bin/ls", "/etc/apt"],
    ["/usr/bin/expr", "6", "*", "7"], ["/usr/bin/mawk", "BEGIN { for (i = 0; i < 100; ++i) s += i * i; print s }"],
    ["/bin/sed", "s/:.*//", "/etc/passwd"], ["/usr/bin/sort", "-t:", "-k3n", "/etc/passwd"],
    ["/bin/gzip", "-c", "/etc/passwd"], ["/bin/grep", "-c", "sh$", "/etc/passwd"],
    ["/usr/bin/sha256sum", "/etc/passwd"], ["/usr/bin/factor", "1234567890123"],
    ["/usr/bin/wc", "/etc/passwd"], ["/bin/date", "-u", "-d", "@86400"], ["/bin/dash", "-c", "echo $((6 * 7))"],
    ["/usr/bin/printf", "%05d\\n", "42"], ["/usr/bin/seq", "100"], ["/usr/bin/bc", "--version"],
    ["/usr/bin/perl", "-e", "print 6 * 7"], ["/usr/bin/xz", "-c", "/etc/hostname"],
    ["/usr/bin/sqlite3", ":memory:", "select 6 * 7"],
]

#: What `make test` compares: every kind once, few steps each.
QUICK = {"small_rep_movsb", "small_loop_cmpsw", "prefetches", "r11_forms", "flags_across_blocks", "indirect_branches",
         "stack_pointer_forms", "loops_and_jrcxz", "computed_goto", "setjmp_longjmp", "fp_kernels", "static_pie",
         "avx2_kernels", "avx512_kernels", "far_returns", "true", "echo", "dash"}

#: What `make test` compares the oracle with itself on: the hardware's trap flag is slow.
QUICK_SELF = {"small_rep_movsb", "small_loop_cmpsw", "r11_forms", "flags_across_blocks", "stack_pointer_forms",
              "loops_and_jrcxz", "setjmp_longjmp"}


def chosen(guests, strings, subset, only):
    """The programs that exist here, as lists of words. `subset`: names to keep, or none for all."""
    result = []
    for words in GUESTS + INSTALLED:
        words = [word.replace("{guests}", guests).replace("{strings}", strings) for word in words]
        name = os.path.basename(words[0])
        if (only and only not in " ".join(words)) or (subset and name not in subset):
            continue
        if not shutil.which(words[0]):
            print(f"SKIP {words[0]}: not here")
            continue
        result.append(words)
    return result
