// r11 in every role of general-purpose instructions: base, index, source, destination, count, stack, implicit
// clobber of SYSCALL; alone and together with as many other registers as an instruction can name.
// build: bare
#include "bare.h"
.bss
.balign 64
memory: .zero 4096
.text
.globl _start
callee_keeps:
    ret
callee_uses:
    lea r11, [r11 + r11 * 2 + 1]
    ret
_start:
    lea rdi, [rip + memory]
    mov r12d, 40
    mov r11, 0x0123456789ABCDEF
again:
    FOLD r11
    mov rax, r11                      # moves, all widths
    mov r11d, eax
    FOLD r11
    mov r11, rax
    mov r11w, 0x1234
    mov r11b, cl
    mov bl, r11b
    movzx ecx, r11b
    movsx rdx, r11w
    movsxd rsi, r11d
    FOLD rbx
    FOLD rcx
    FOLD rdx
    FOLD rsi
    movzx r11d, al
    movsx r11, cl
    movsxd r11, eax
    movabs r11, 0xFEDCBA9876543210
    mov r11, -1
    mov r11d, 0x80000000
    FOLD r11
    lea r11, [rdi + 128]              # base
    mov [r11], rax
    mov rcx, [r11]
    mov [r11 + 8], ecx
    mov dword ptr [r11 + 16], 0x55AA55AA
    mov byte ptr [r11 + 20], 7
    add [r11], rcx
    sub rcx, [r11 + 8]
    lock xadd [r11], rcx
    inc qword ptr [r11]
    not dword ptr [r11 + 16]
    cmp qword ptr [r11 + 8], 5
    FOLD_FLAGS
    FOLD rcx
    mov rcx, [r11 + 300]
    mov rcx, [r11 - 100]
    mov r11d, 5                       # index, every scale
    mov rcx, [rdi + r11]
    mov rcx, [rdi + r11 * 2 + 7]
    mov [rdi + r11 * 4 + 64], rcx
    mov [rdi + r11 * 8 + 64], r12
    lea rsi, [r11 * 8 + 3]
    lea rdx, [r11 + r11]
    lea r11, [r11 + r11 * 4 + 9]
    FOLD rsi
    FOLD rdx
    FOLD r11
    lea r11, [rdi + 64]
    mov r11, [r11]                    # destination and base
    FOLD r11
    lea r11, [rdi + 64]
    mov [r11 + 8], r11                # stored through itself, then made independent of the address
    sub [r11 + 8], rdi
    mov rcx, [r11 + 8]
    FOLD rcx
    lea r11, [rdi + 256]
    add r11, [r11]
    sub r11, rdi
    FOLD r11
    mov r11, r12                      # arithmetic
    add r11, r11
    adc r11, rcx
    sbb rcx, r11
    and r11, 0x7FFFFFFF
    or r11, rcx
    xor r11, 0x5A
    neg r11
    not r11
    inc r11
    dec r11
    sub r11, 1
    cmp r11, r12
    setl r11b
    test r11, r11
    FOLD_FLAGS
    FOLD r11
    mov r11, 0x1111111111111111
    imul r11, r12
    imul r11, r11, 9
    imul r11, rcx, 1000
    FOLD r11
    mov rax, r12
    mul r11
    FOLD rdx
    FOLD rax
    mov rax, 1000003
    xor edx, edx
    or r11, 1
    shr r11, 5
    or r11, 3
    div r11
    FOLD rdx
    mov rax, -1000003
    cqo
    idiv r11
    FOLD rax
    mov rcx, r11                      # shifts
    shl r11, 3
    shr r11, 1
    sar r11, cl
    rol r11, cl
    ror r11, 5
    rcl r11, 1
    rcr r11, cl
    shld r11, rax, 9
    shrd rax, r11, cl
    shld rax, r11, cl
    FOLD r11
    FOLD rax
    bswap r11
    bsf rcx, r11
    bsr r11, r11
    FOLD r11
    mov r11d, 37                      # bit offset into memory, negative too
    bt [rdi + 64], r11
    FOLD_FLAGS
    btc [rdi + 64], r11
    mov r11, -9
    bts [rdi + 128], r11
    btr [rdi + 64], r11d
    mov rcx, [rdi + 64]
    FOLD rcx
    bt r11, 3
    btc r11, rcx
    FOLD r11
    cmp r12d, 20                      # conditional moves and sets
    cmova r11, rcx
    cmovbe rcx, r11
    sete r11b
    FOLD r11
    cmovl r11, [rdi + 64]
    FOLD r11
    mov rax, r11                      # compare and exchange
    mov r11, 77
    cmpxchg [rdi + 64], r11
    lock cmpxchg [rdi + 72], r11
    mov rax, r11
    cmpxchg r11, rcx
    FOLD r11
    xchg r11, rax
    xchg [rdi + 64], r11
    xadd rcx, r11
    FOLD r11
    lea r11, [rdi + 512]
    xor eax, eax
    xor edx, edx
    mov ebx, 5
    mov ecx, 6
    cmpxchg8b [r11]
    lock cmpxchg16b [r11]
    FOLD rax
    push r11                          # stack
    pop rcx
    push qword ptr [r11]
    pop qword ptr [r11 + 8]
    push rcx
    pop r11
    push r11w
    pop r11w
    sub r11, rdi
    FOLD r11
    lea r11, [rip + callee_keeps]     # targets
    call r11
    push r11
    call [rsp]
    pop r11
    mov [rdi + 64], r11
    lea r11, [rdi + 64]
    call [r11]
    lea rcx, [rip + callee_uses]
    mov r11, r12
    call rcx
    FOLD r11
    lea r11, [rip + 1f]
    jmp r11
    ud2
1:  lea r11, [rip + 2f]
    mov [rdi + 64], r11
    lea r11, [rdi + 56]
    jmp [r11 + 8]
    ud2
2:  mov r11d, 3
    lea rcx, [rip + 3f]
    mov [rdi + 64 + 24], rcx
    jmp [rdi + r11 * 8 + 64]
    ud2
3:  mov r11, r12                      # with many others: no register is left for a spill
    mov rax, 1
    mov rbx, 2
    mov rcx, 3
    mov rdx, 4
    mov rsi, 5
    mov rbp, 6
    mov r8, 7
    mov r9, 8
    mov r10, 9
    mov r13, 10
    mov r14, 11
    mov r15, 12
    add rax, rbx
    adc rcx, rdx
    sbb rsi, rbp
    lea r8, [r9 + r10 * 2]
    imul r13, r14
    xor r15, r11
    add r11, [rdi + r12 * 8]
    lea r11, [r11 + r15 * 8 + 0x1234]
    cmova rbx, r11
    rol r14, 13
    add r10, rsi
    FOLD r11
    FOLD r15
    FOLD rbx
    FOLD r8
    FOLD r13
    FOLD r10
    stc
    mov eax, 24                       # sched_yield: SYSCALL leaves the flags in r11 and the next address in rcx
    syscall
4:  lea rdx, [rip + 4b]
    sub rcx, rdx
    FOLD rcx
    and r11d, 0xCD5
    FOLD r11
    mov r11, 0x0123456789ABCDEF
    add r11, r12
    enter 16, 0
    leave
    mov rcx, r11
    mov ecx, 3
    lea rsi, [rdi + 1024]
    push rdi
    lea rdi, [rdi + 2048]
    mov r11, rdi
    rep movsq                         # string instructions keep r11
    sub r11, rdi
    pop rdi
    FOLD r11
    movbe rcx, [rdi]
    movnti [rdi + 8], r11
    mov ecx, r12d
    lea r11, [r11 + rcx + 1]
    jrcxz 5f
    inc r11
5:  lea rbx, [rdi]
    movzx eax, r11b
    xlatb
    FOLD rax
    FOLD r11
    dec r12d
    jnz again
    FINISH
