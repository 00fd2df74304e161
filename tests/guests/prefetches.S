// Software prefetches of every kind over 64 pages, and string instructions of many, few and no elements: what some processors'
// events count as loads, and what they count once. 5 prefetches a page, 10 instructions in that loop.
// build: bare
#include "bare.h"
.globl _start
_start:
    lea rbx, buffer[rip]
    mov ebp, 64
1:  prefetcht0 [rbx]
    prefetcht1 [rbx + 64]
    prefetcht2 [rbx + 128]
    prefetchnta [rbx + 192]
    prefetchw [rbx + 256]
    add qword ptr [rbx], 1        # a load and a store
    mov rax, [rbx + 64]
    add rbx, 4096
    dec ebp
    jnz 1b
    cld
    lea rsi, buffer[rip]
    lea rdi, buffer[rip + 131072]
    mov ecx, 10000
    rep movsb
    mov ecx, 3
    rep stosq
    xor ecx, ecx
    rep movsq                     # nothing, and yet an instruction that loads and stores
    mov ecx, 100
    repe cmpsb
    cmpsb
    mov eax, 60                   # exit
    xor edi, edi
    syscall

.bss
.balign 4096
buffer: .skip 64 * 4096
