// A loop of known length: 3 instructions, 2,000 in the loop, 3 to end; with an argument 4, 24,000,000 and 3. Every second
// instruction of the loop is a branch.
// build: bare
#include "bare.h"
.globl _start
_start:
    mov ecx, 1000
    cmp qword ptr [rsp], 1
    je 1f
    mov ecx, 12000000
1:  dec ecx
    jnz 1b
    mov eax, 60                # exit
    xor edi, edi
    syscall
