# See segment_bases.h. The signal handler sends a thread whose RDGSBASE is no instruction here on at the _end label
# behind it.
        .text
        .globl  zs_runs_rdgsbase
        .type   zs_runs_rdgsbase, @function
zs_runs_rdgsbase:
        .cfi_startproc
        xor     %eax, %eax
        .globl  zs_runs_rdgsbase_fault
zs_runs_rdgsbase_fault:
        rdgsbase %rdx
        mov     $1, %eax
        .globl  zs_runs_rdgsbase_end
zs_runs_rdgsbase_end:
        ret
        .cfi_endproc
        .size   zs_runs_rdgsbase, . - zs_runs_rdgsbase

        .section .note.GNU-stack, "", @progbits
