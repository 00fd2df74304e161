// Flags that are set in one block and read in another: after jumps, calls, returns, indirect branches, system calls.
// build: bare
#include "bare.h"
.text
.globl _start
keep:                                 # touches no flag
    lea rbx, [rbx + 1]
    mov rax, rbx
    ret
set_carry:
    stc
    ret
clear_all:
    cmp rbp, 1
    ret
_start:
    mov ebx, 1
    mov r12d, 64
again:
    mov rax, 0x7FFFFFFFFFFFFFFF
    add rax, r12                      # OF, SF
    call keep
    jmp 1f
1:  FOLD_FLAGS
    seto cl
    sets dl
    FOLD rcx
    FOLD rdx
    call set_carry
    adc rbx, 3
    FOLD rbx
    lea rsi, [rip + 2f]
    cmp r12, 32
    jmp rsi
2:  cmova rbx, rsi
    cmovb rbx, r12
    sbb rdx, rdx
    FOLD rdx
    xor eax, eax
    stc
    inc eax                           # keeps CF
    jc 3f
    ud2
3:  dec eax
    jnc bad
    FOLD_FLAGS
    mov eax, 24                       # sched_yield: SYSCALL keeps the flags in r11 and restores them
    std
    syscall
    FOLD_FLAGS
    cld
    mov rdx, r11
    and edx, 0xCD5
    FOLD rdx
    mov ecx, r12d
    mov rax, 0x8000000000000001
    rol rax, cl                       # shifts by CL leave flags alone when the count is 0
    FOLD_FLAGS
    shl rax, 0
    FOLD_FLAGS
    sub cl, cl
    stc
    shl rax, cl
    FOLD_FLAGS
    bt rax, 3
    rcl rax, 5
    FOLD rax
    lahf
    FOLD rax
    xor ah, 0x41
    sahf
    FOLD_FLAGS
    cmc
    jbe 4f
    add rbx, 1
4:  call clear_all
    setbe al
    movzx eax, al
    FOLD rax
    mov eax, 0x12345678
    adcx rax, rbx
    adox rax, rbx
    FOLD rax
    FOLD_FLAGS
    cmp r12, 1
    push rbx
    popcnt rbx, rbx
    tzcnt rbx, rbx
    pop rbx
    FOLD_FLAGS
    mul r12
    FOLD_FLAGS
    imul rax, rbx, 77
    FOLD_FLAGS
    neg rax
    FOLD_FLAGS
    cmpxchg rbx, rax
    FOLD_FLAGS
    xadd rbx, rax
    FOLD_FLAGS
    dec r12d
    jnz again
    FINISH
bad:
    mov eax, 231
    mov edi, 1
    syscall
