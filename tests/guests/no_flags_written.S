// A loop of 75 instructions of which none writes flags: where instructions are sampled, nowhere is a place for a brake.
// build: bare
#include "bare.h"
.globl _start
_start:
    mov ecx, 20000
1:  .rept 36
    mov rax, rcx
    lea rdx, [rax + rcx]
    .endr
    lea ecx, [rcx - 1]
    jrcxz 2f
    jmp 1b
2:  mov eax, 60                # exit
    mov edi, ecx
    syscall
