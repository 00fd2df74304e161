# The only instructions of C++ that touch memory of the program which may not be there. See in_place_access.h.
# The signal handler moves a thread that faults between _begin and _end to _refused.

        .text
        .globl  zs_in_place_access_begin
zs_in_place_access_begin:
        .macro  access name, instruction
        .globl  \name
        .type   \name, @function
\name:
        .cfi_startproc
        \instruction
        mov     $1, %edx
        ret
        .cfi_endproc
        .size   \name, . - \name
        .endm

        access  zs_in_place_load1, "movzbl (%rdi), %eax"
        access  zs_in_place_load2, "movzwl (%rdi), %eax"
        access  zs_in_place_load4, "movl (%rdi), %eax"
        access  zs_in_place_load8, "movq (%rdi), %rax"
        access  zs_in_place_store1, "movb %sil, (%rdi)"
        access  zs_in_place_store2, "movw %si, (%rdi)"
        access  zs_in_place_store4, "movl %esi, (%rdi)"
        access  zs_in_place_store8, "movq %rsi, (%rdi)"
        access  zs_in_place_load16, "movups (%rdi), %xmm0; movups %xmm0, (%rsi)"
        access  zs_in_place_store16, "movups (%rsi), %xmm0; movups %xmm0, (%rdi)"
        .globl  zs_in_place_access_end
zs_in_place_access_end:

        .globl  zs_in_place_access_refused
zs_in_place_access_refused:
        xor     %edx, %edx
        ret

        .section .note.GNU-stack, "", @progbits
