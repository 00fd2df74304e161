# See copy_code.h. A fault at _fault leaves in rcx how many bytes were not copied; the signal handler goes on at _end.
        .text
        .globl  zs_copy_code
        .type   zs_copy_code, @function
zs_copy_code:
        .cfi_startproc
        mov     %rdx, %rcx
        .globl  zs_copy_code_fault
zs_copy_code_fault:
        rep movsb
        .globl  zs_copy_code_end
zs_copy_code_end:
        mov     %rdx, %rax
        sub     %rcx, %rax
        ret
        .cfi_endproc
        .size   zs_copy_code, . - zs_copy_code

        .section .note.GNU-stack, "", @progbits
