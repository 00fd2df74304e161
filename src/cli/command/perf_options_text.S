// perf_options.txt, as perf_options.cc reads it.
.section .rodata
.globl zs_perf_options, zs_perf_options_end
zs_perf_options: .incbin "cli/command/perf_options.txt"
zs_perf_options_end:
.section .note.GNU-stack, "", @progbits
