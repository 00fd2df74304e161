// RET imm16: pops the return address, then that many bytes of arguments; nested, and with the largest even amounts.
// build: bare
#include "bare.h"
.text
.globl _start
add_two:                              # [rsp+8], [rsp+16] -> rax, callee pops 16
    mov rax, [rsp + 8]
    add rax, [rsp + 16]
    ret 16
sum_four:                             # four arguments, calls add_two twice
    push qword ptr [rsp + 8]
    push qword ptr [rsp + 24]
    call add_two
    mov rbx, rax
    push qword ptr [rsp + 24]
    push qword ptr [rsp + 40]
    call add_two
    add rax, rbx
    ret 32
drop_nothing:
    ret 0
drop_page:
    ret 4096
_start:
    mov rbp, rsp
    mov r12d, 1000
1:  push r12
    push 3
    push -5
    push r12
    call sum_four
    FOLD rax
    call drop_nothing
    sub rsp, 4096
    call drop_page
    cmp rsp, rbp
    jne broken
    dec r12d
    jnz 1b
    FINISH
broken:
    mov eax, 231
    mov edi, 1
    syscall
