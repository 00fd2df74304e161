# Where signal handlers of the engine return to; glibc keeps its own to itself. And how the kernel is made to take a signal where the
# program stands. See signal_frame.h.

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

# void zs_become_program(const KernelUcontext* uc, uint64_t* host_rsp): rt_sigreturn into the program's registers. Whoever jumps to
# zs_was_program with the rsp kept in *host_rsp returns from the call.
        .globl  zs_become_program
        .globl  zs_was_program
        .type   zs_become_program, @function
zs_become_program:
        push    %rbx
        push    %rbp
        push    %r12
        push    %r13
        push    %r14
        push    %r15
        mov     %rsp, (%rsi)
        mov     %rdi, %rsp
        jmp     zs_signal_restorer
zs_was_program:
        pushq   $2                      # DF, AC, TF clear for C++, and its floating-point state
        popfq
        pushq   $0x1F80
        ldmxcsr (%rsp)
        lea     8(%rsp), %rsp
        fninit
        pop     %r15
        pop     %r14
        pop     %r13
        pop     %r12
        pop     %rbp
        pop     %rbx
        ret
        .size   zs_become_program, . - zs_become_program
        .section .note.GNU-stack, "", @progbits
