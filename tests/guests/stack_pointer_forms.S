// Instructions whose operand is the stack pointer they also change, all push and pop widths, ENTER and LEAVE.
// build: bare
#include "bare.h"
.bss
.balign 16
area: .zero 4096
.text
.globl _start
_start:
    mov r15, rsp
    lea rsp, [rip + area + 2048]      # values below depend on offsets only
    mov r14, rsp
    .macro FOLD_OFFSET reg            # a stack address, as a distance
    push rax
    mov rax, \reg
    sub rax, r14
    FOLD rax
    pop rax
    .endm

    push rsp                          # the old value is stored
    pop rax
    FOLD_OFFSET rax
    push rsp
    pop rsp                           # ends at the popped value
    FOLD_OFFSET rsp
    push 0x1234
    push qword ptr [rsp]                        # address from the old rsp
    pop rax
    pop rcx
    FOLD rax
    FOLD rcx
    sub rsp, 64
    mov rdx, 0x1122334455667788
    push rdx
    pop qword ptr [rsp + 8]                     # address from the new rsp
    mov rax, [rsp + 8]
    FOLD rax
    push rdx
    pop qword ptr [rsp]
    mov rax, [rsp]
    FOLD rax
    push qword ptr [rsp + 8]
    pop rax
    FOLD rax
    push ax                           # two bytes
    FOLD_OFFSET rsp
    .byte 0x66, 0x68, 0x7F, 0x7F      # push 0x7F7F, two bytes
    pop cx
    pop ax
    FOLD rcx
    push -1                           # sign-extended imm8, imm32
    pop rax
    FOLD rax
    push 0x12345678
    pop rax
    FOLD rax
    push -0x12345678
    pop rax
    FOLD rax
    .irp reg, rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13
    push \reg
    .endr
    mov r11, rsp
    FOLD_OFFSET r11
    .irp reg, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx, rax
    pop \reg
    .endr
    push r11
    mov r11, 77
    pop r11
    FOLD r11
    pushfq
    pop rax
    and eax, 0xCD5
    FOLD rax
    push 0x8D5                        # all arithmetic flags
    popfq
    FOLD_FLAGS
    pushfw
    popfw
    FOLD_FLAGS
    push 2
    popfq
    FOLD_FLAGS
    mov rbp, 0x5151
    enter 32, 0
    FOLD_OFFSET rbp
    FOLD_OFFSET rsp
    enter 0, 0
    FOLD_OFFSET rsp
    leave
    leave
    FOLD rbp
    lea r11, [rsp - 256]
    xchg rsp, r11                     # rsp in every other place
    FOLD_OFFSET r11
    xchg rsp, r11
    lea rax, [rsp + 8]
    FOLD_OFFSET rax
    mov rax, rsp
    add rsp, 16
    sub rsp, 8
    and rsp, -64
    FOLD_OFFSET rsp
    mov rsp, rax
    cmp rsp, rax
    FOLD_FLAGS
    xadd rsp, rax                     # rsp doubles, rax = rsp
    mov rsp, rax
    cmova rsp, rax
    inc rsp
    dec rsp
    bswap rsp
    bswap rsp
    lea r11, [rip + called]
    push r11
    call [rsp]
    pop r11
    push r11
    call [rsp + 0]
    add rsp, 8
    FOLD_OFFSET rsp
    mov rsp, r15
    FINISH
called:
    mov rax, [rsp]
    lea rcx, [rip + called]
    sub rcx, rax                      # return addresses are those of this program
    FOLD rcx
    ret
