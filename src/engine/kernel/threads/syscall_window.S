# The only place where system calls of the program that a signal may call off are made. See syscall_window.h.
# The signal handler moves a thread that it finds between _begin and _syscall to _interrupted; a call that the kernel restarts
# (SA_RESTART) is found at _syscall, too.

        .text
        .globl  zs_interruptible_syscall
        .type   zs_interruptible_syscall, @function
zs_interruptible_syscall:
        .cfi_startproc
        mov     %rdx, %r11
        mov     %rsi, %rcx
        mov     %rdi, %rax
        mov     0(%rcx), %rdi
        mov     8(%rcx), %rsi
        mov     16(%rcx), %rdx
        mov     24(%rcx), %r10
        mov     32(%rcx), %r8
        mov     40(%rcx), %r9
        .globl  zs_syscall_window_begin
zs_syscall_window_begin:
        cmpl    $0, (%r11)
        jne     zs_syscall_window_interrupted
        .globl  zs_syscall_window_syscall
zs_syscall_window_syscall:
        syscall
        ret
        .globl  zs_syscall_window_interrupted
zs_syscall_window_interrupted:
        mov     $-512, %rax
        ret
        .cfi_endproc
        .size   zs_interruptible_syscall, . - zs_interruptible_syscall

        .globl  zs_interruptible_clone
        .type   zs_interruptible_clone, @function
zs_interruptible_clone:
        .cfi_startproc
        mov     8(%rsp), %r11           # pending
        mov     %rcx, %r10              # child_tid
        mov     %r8, -8(%rsi)           # entry
        mov     %r9, -16(%rsi)          # argument
        sub     $16, %rsi
        xor     %r8d, %r8d              # tls: not ours to set
        mov     $56, %eax
        jmp     zs_clone_window_begin
        .globl  zs_interruptible_clone3
        .type   zs_interruptible_clone3, @function
zs_interruptible_clone3:
        mov     %r8, %r11               # pending
        mov     40(%rdi), %r9           # stack
        add     48(%rdi), %r9           # and its size
        mov     %rdx, -8(%r9)           # entry
        mov     %rcx, -16(%r9)          # argument
        subq    $16, 48(%rdi)
        mov     $435, %eax
        .globl  zs_clone_window_begin
zs_clone_window_begin:
        cmpl    $0, (%r11)
        jne     zs_clone_window_interrupted
        .globl  zs_clone_window_syscall
zs_clone_window_syscall:
        syscall
        test    %rax, %rax
        jz      1f
        ret
        .globl  zs_clone_window_interrupted
zs_clone_window_interrupted:
        mov     $-512, %rax
        ret
1:      xor     %ebp, %ebp
        pop     %rdi
        pop     %rax
        call    *%rax
        ud2
        .cfi_endproc
        .size   zs_interruptible_clone3, . - zs_interruptible_clone3
        .size   zs_interruptible_clone, zs_interruptible_clone3 - zs_interruptible_clone

        .section .note.GNU-stack, "", @progbits
