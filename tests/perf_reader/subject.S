// The program that the recordings of these tests pretend to have run: tiny, static, and the same bytes wherever it is
// built, so that expected output can name addresses. Its lines are its source lines.
        .text
        .globl _start
        .type _start, @function
_start:
        call middle
        mov $60, %eax
        xor %edi, %edi
        syscall
        .size _start, . - _start

        .globl middle
        .type middle, @function
middle:
        push %rbp
        mov %rsp, %rbp
        call leaf
        pop %rbp
        ret
        .size middle, . - middle

        .globl leaf
        .type leaf, @function
leaf:
        mov $1000, %ecx
        lea table(%rip), %rsi
.Lagain:
        mov (%rsi), %rax
        add %rax, 8(%rsi)
        dec %ecx
        jne .Lagain
        ret
        .size leaf, . - leaf

        .data
        .globl table
        .type table, @object
table:
        .quad 1, 2
        .size table, 16
        .section .note.GNU-stack, "", @progbits
