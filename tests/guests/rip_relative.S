// rip-relative operands of every kind, above all those with an immediate behind the displacement.
// build: bare
#include "bare.h"
.data
.balign 64
words: .quad 0x1122334455667788, 0x99AABBCCDDEEFF00, 3, 4, 5, 6, 7, 8
cells: .zero 256
targets: .quad first, second
.text
.globl _start
first:
    add rbx, 5
    ret
second:
    xor rbx, 0x77
    ret
_start:
    mov ebx, 1
    mov r12d, 50
again:
    mov rax, [rip + words]
    movzx ecx, byte ptr [rip + words + 1]
    movsx rdx, word ptr [rip + words + 2]
    movsxd rsi, dword ptr [rip + words + 12]
    FOLD rax
    FOLD rcx
    FOLD rdx
    FOLD rsi
    lea r8, [rip + words + 16]
    sub r8, offset words
    FOLD r8
    mov byte ptr [rip + cells], 0x12            # imm8, imm16, imm32
    mov word ptr [rip + cells + 2], 0x1234
    mov dword ptr [rip + cells + 4], 0x12345678
    mov qword ptr [rip + cells + 8], -0x12345678
    add byte ptr [rip + cells], 1
    add word ptr [rip + cells + 2], 0x7FFF
    add dword ptr [rip + cells + 4], 0x10
    add qword ptr [rip + cells + 8], 0x12345679
    FOLD_FLAGS
    cmp dword ptr [rip + cells + 4], 0x12345688
    FOLD_FLAGS
    test byte ptr [rip + cells], 0x13
    FOLD_FLAGS
    test qword ptr [rip + cells + 8], 0x7F
    FOLD_FLAGS
    imul rax, [rip + words + 16], 100
    imul ecx, dword ptr [rip + words + 24], 0x12345
    FOLD rax
    FOLD rcx
    shl qword ptr [rip + cells + 16], 3
    sar dword ptr [rip + cells + 24], 1
    mov cl, 5
    rol qword ptr [rip + cells + 8], cl
    shld qword ptr [rip + cells + 8], rax, 7
    shrd qword ptr [rip + cells + 8], rax, cl
    bt qword ptr [rip + words], 9
    FOLD_FLAGS
    bts dword ptr [rip + cells + 32], 17
    btc qword ptr [rip + cells + 40], 33
    inc qword ptr [rip + cells + 48]
    neg dword ptr [rip + cells + 56]
    not byte ptr [rip + cells + 57]
    xchg rax, [rip + cells + 64]
    lock add qword ptr [rip + cells + 72], 9
    lock xadd [rip + cells + 80], rax
    cmpxchg [rip + cells + 88], rbx
    lock cmpxchg16b [rip + cells + 96]
    push qword ptr [rip + words + 32]
    pop qword ptr [rip + cells + 112]
    cmove rax, [rip + words + 40]
    setne [rip + cells + 120]
    mul qword ptr [rip + words + 48]
    xor edx, edx
    div qword ptr [rip + words + 56]
    FOLD rax
    mov r11, [rip + words]                      # with r11
    add [rip + cells + 128], r11
    add r11, [rip + cells + 128]
    mov [rip + cells + 136], r11
    imul r11, [rip + words + 16], 77
    FOLD r11
    movups xmm0, [rip + words]                  # vector, with imm8
    pshufd xmm1, [rip + words + 16], 0x1B
    shufps xmm0, [rip + words], 0x4E
    palignr xmm0, [rip + words + 16], 5
    pinsrw xmm0, word ptr [rip + words + 6], 2
    pextrb [rip + cells + 144], xmm0, 3
    roundps xmm2, [rip + words + 16], 1
    pcmpistri xmm0, [rip + words], 0x18
    FOLD rcx
    pblendw xmm1, [rip + words], 0xA5
    cmpps xmm2, [rip + words], 1
    paddq xmm0, xmm1
    movups [rip + cells + 160], xmm0
    cvtsi2sd xmm3, qword ptr [rip + words + 16]
    cvttsd2si rax, xmm3
    FOLD rax
    fild qword ptr [rip + words + 24]
    fistp qword ptr [rip + cells + 176]
    fnstcw [rip + cells + 184]
    fldcw [rip + cells + 184]
    stmxcsr [rip + cells + 188]
    ldmxcsr [rip + cells + 188]
    call [rip + targets]
    call [rip + targets + 8]
    mov rax, [rip + targets]
    call rax
    FOLD rbx
    prefetcht0 [rip + words]
    nop dword ptr [rip + words]
    mov rcx, [rip + again]                      # code as data
    FOLD rcx
    lea rsi, [rip + cells]
    mov ecx, 24
1:  mov rax, [rsi + rcx * 8 - 8]
    FOLD rax
    loop 1b
    dec r12d
    jnz again
    FINISH
