# See copy_code.h. The signal handler sends a thread that faults at a _fault label on at the _end label behind it.
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
        mov     %rdx, %rax              # rcx: how many were not copied
        sub     %rcx, %rax
        ret
        .cfi_endproc
        .size   zs_copy_code, . - zs_copy_code

        .globl  zs_copy_code16
        .type   zs_copy_code16, @function
zs_copy_code16:
        .cfi_startproc
        xor     %eax, %eax
        .globl  zs_copy_code16_fault
zs_copy_code16_fault:
        movups  (%rsi), %xmm0
        movups  %xmm0, (%rdi)
        mov     $1, %eax
        .globl  zs_copy_code16_end
zs_copy_code16_end:
        ret
        .cfi_endproc
        .size   zs_copy_code16, . - zs_copy_code16

        .globl  zs_touch
        .type   zs_touch, @function
zs_touch:
        .cfi_startproc
        test    %esi, %esi
        .globl  zs_touch_begin
zs_touch_begin:
        jnz     1f
        testb   $0, (%rdi)
        ret
        .globl  zs_touch_end
zs_touch_end:
1:      lock orb $0, (%rdi)
        .globl  zs_touch_left
zs_touch_left:
        ret
        .cfi_endproc
        .size   zs_touch, . - zs_touch

        .section .note.GNU-stack, "", @progbits
