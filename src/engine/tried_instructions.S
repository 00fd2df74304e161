# See tried_instructions.h. The signal handler sends a thread that faults at a _fault label on at the _end label behind it.
        .text

        .macro  try name, instruction:vararg
        .weak   \name, \name\()_fault, \name\()_end     # tests/hosts has others of another machine
        .type   \name, @function
\name:
        .cfi_startproc
        mov     $20, %eax       # getpid, to INT 80h
\name\()_fault:
        \instruction
        mov     $1, %eax
        ret
\name\()_end:
        xor     %eax, %eax
        ret
        .cfi_endproc
        .size   \name, . - \name
        .endm

        try     zs_runs_rdgsbase, rdgsbase %rdx
        try     zs_runs_rdtsc, rdtsc
        try     zs_runs_int80, int $0x80

        .section .note.GNU-stack, "", @progbits
