// Every form of indirect jump and call, with targets that change from one execution to the next.
// build: bare
#include "bare.h"
.data
.balign 8
table: .quad leaf_a, leaf_b, leaf_c, leaf_d
cell:  .quad 0
.text
.globl _start
leaf_a: add rbx, 1
    ret
leaf_b: lea rbx, [rbx * 2 + 1]
    ret
leaf_c: xor rbx, 0x5555
    ret
leaf_d: rol rbx, 3
    ret

_start:
    mov ebx, 1
    mov r12d, 400
again:
    mov eax, r12d
    and eax, 3
    lea rdx, [rip + table]
    call [rdx + rax * 8]              # base + index
    FOLD rbx
    mov rcx, [rdx + rax * 8]
    call rcx                          # register
    mov r11, rcx
    call r11
    mov r13, rcx
    call r13
    mov rsi, rsp
    mov rsp, rsi
    mov [rip + cell], rcx
    call [rip + cell]                 # rip-relative
    lea r14, [rip + cell]
    call [r14]
    mov r11, r14
    call [r11]
    lea r11, [rax + 1]
    and r11, 3
    call [rdx + r11 * 8]
    FOLD rbx
    push rcx
    call [rsp]                        # the pushed target, read before the return address is stored
    call [rsp + 0]
    pop rcx
    sub rsp, 64
    mov [rsp + 40], rcx
    call [rsp + 40]
    add rsp, 64
    lea rdi, [rip + back_1]           # jmp forms come back by a register
    lea rsi, [rip + jump_1]
    jmp rsi
jump_1:
    add rbx, 7
    jmp rdi
back_1:
    lea rdi, [rip + back_2]
    push rdi
    jmp [rsp]
back_2:
    pop rdi
    mov [rip + cell], rdi
    lea r11, [rip + back_3]
    mov [rip + cell], r11
    jmp [rip + cell]
    ud2
back_3:
    lea rsi, [rip + back_4]
    push rsi
    ret                               # a return that no call made
back_4:
    FOLD rbx
    FOLD_FLAGS
    dec r12d
    jnz again
    FINISH
