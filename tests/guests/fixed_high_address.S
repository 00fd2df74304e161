// A program linked far above 2 GiB, where no rip-relative distance reaches from low memory and no return address fits
// into 32 bits.
// build: bare -Wl,-Ttext-segment=0x234500000000
#include "bare.h"
.data
.balign 8
.balign 64
table: .quad add_one, twice, mix
.balign 64
values: .quad 3, 5, 7, 11, 13, 17, 19, 23
.text
.globl _start
add_one:
    add rbx, 1
    ret
twice:
    lea rbx, [rbx + rbx]
    ret
mix:
    xor rbx, [rip + values + 24]
    imul rbx, [rip + values + 40], 77
    ret
_start:
    mov ebx, 1
    mov r12d, 600
again:
    mov eax, r12d
    xor edx, edx
    mov ecx, 3
    div ecx
    lea rsi, [rip + table]
    call [rsi + rdx * 8]
    call [rip + table]
    add rbx, [rip + values + 8]
    add [rip + values], rbx
    movups xmm0, [rip + values + 16]
    paddq xmm0, [rip + values + 32]
    movups [rip + values + 32], xmm0
    mov r11, [rip + values + 32]
    cmp r11, [rip + values]
    jb 1f
    call twice
1:  FOLD rbx
    FOLD r11
    lea rdi, [rip + again]
    dec r12d
    jz 2f
    jmp rdi
2:  mov rax, rdi
    shr rax, 32
    FOLD rax                          # 2345H
    FINISH
