// LOOP, LOOPE, LOOPNE, JRCXZ, JECXZ, 32-bit counts, and jumps at the ends of their reach.
// build: bare
#include "bare.h"
.text
.globl _start
_start:
    mov ecx, 300
    xor ebx, ebx
1:  lea rbx, [rbx + rcx * 2]
    loop 1b
    FOLD rbx
    FOLD rcx

    mov ecx, 50                       # loope: runs while equal
    mov eax, 5
1:  inc rbx
    cmp ecx, 20
    setne dl
    cmp dl, 1
    loope 1b
    FOLD rcx
    FOLD_FLAGS

    mov ecx, 50                       # loopne
1:  inc rbx
    cmp ecx, 33
    loopne 1b
    FOLD rcx
    FOLD rbx

    mov rcx, 0x100000003              # 32-bit count: rcx is zero-extended
1:  inc rbx
    addr32 loop 1b
    FOLD rcx
    mov rcx, 0x100000000
    jrcxz 4f
    jecxz 1f
4:  jmp wrong
1:  mov ecx, 0
    jrcxz 2f
    jmp wrong
2:  FOLD_FLAGS
    mov ecx, 4
count_down:
    dec ecx
    FOLD rcx
    jrcxz 3f
    jmp count_down
3:
    stc                               # flags survive LOOP and JRCXZ
    mov ecx, 10
1:  adc rbx, rbx
    rcr rdx, 1
    loop 1b
    FOLD rbx
    FOLD rdx

    jmp 1f                            # short forward, 127 bytes
    .fill 120, 1, 0xCC
1:  jmp far_forward                   # near forward
near_back:
    FOLD rbx
    mov ecx, 1
    loop 1f                           # falls through with rcx = 0
    FINISH
1:  jmp wrong
    .fill 5000, 1, 0xCC
far_forward:
    cmp rbx, rbx
    jne wrong
    je near_back
wrong:
    mov eax, 231
    mov edi, 1
    syscall
