# Where signal handlers of the engine return to; glibc keeps its own to itself. See signal_frame.h.

        .text
        .globl  zs_signal_restorer
        .globl  zs_signal_restorer_end
        .type   zs_signal_restorer, @function
zs_signal_restorer:
        mov     $15, %eax               # rt_sigreturn
        syscall
        ud2
zs_signal_restorer_end:
        .size   zs_signal_restorer, . - zs_signal_restorer
        .section .note.GNU-stack, "", @progbits
