// String instructions: every operation and width, REP, REPE and REPNE, both directions, counts of 0 and 1, stopping
// early, 32-bit addresses, overlapping copies, unaligned so that elements cross lines and pages.
// build: bare
#include "bare.h"
.bss
.balign 4096
source: .zero 12288
target: .zero 12288
.text
.globl _start
fold_state:
    sub rsi, offset source
    FOLD rsi
    sub rdi, offset source
    FOLD rdi
    FOLD rcx
    FOLD rax
    FOLD_FLAGS
    ret
fill:                                 # source[i] = small pattern, so that scans find something
    lea rdi, [rip + source]
    xor ecx, ecx
1:  mov eax, ecx
    imul eax, eax, 37
    shr eax, 3
    and eax, 15
    mov [rdi + rcx], al
    mov [rdi + rcx + 12288], al
    inc ecx
    cmp ecx, 12288
    jb 1b
    mov byte ptr [rdi + 12288 + 5000], 0x77
    ret

.macro ADDRESSES offset, count
    mov rsi, offset source + \offset
    mov rdi, offset target + \offset + 3
    mov ecx, \count
    mov rax, 0x0706050403020107
.endm

.macro ALL_WIDTHS prefix, operation, offset, count
    .irp width, b, w, d, q
    ADDRESSES \offset, \count
    cmp rax, rax                      # ZF set before repe and repne
    \prefix \operation\width
    call fold_state
    .endr
.endm

_start:
    mov r12d, 1
again:
    call fill
    .irp count, 0, 1, 2, 7, 63, 250
    ALL_WIDTHS rep, movs, 4000, \count
    ALL_WIDTHS rep, stos, 4061, \count
    ALL_WIDTHS rep, lods, 4050, \count
    ALL_WIDTHS repe, scas, 100, \count
    ALL_WIDTHS repne, scas, 4090, \count
    ALL_WIDTHS repe, cmps, 4800, \count
    ALL_WIDTHS repne, cmps, 4800, \count
    .endr
    std                               # downwards
    .irp count, 0, 1, 7, 63, 250
    ALL_WIDTHS rep, movs, 8000, \count
    ALL_WIDTHS rep, stos, 8061, \count
    ALL_WIDTHS rep, lods, 8050, \count
    ALL_WIDTHS repne, scas, 8090, \count
    ALL_WIDTHS repe, cmps, 8800, \count
    .endr
    cld
    .irp width, b, w, d, q            # without a prefix
    ADDRESSES 60, 5
    movs\width
    stos\width
    lods\width
    scas\width
    cmps\width
    call fold_state
    .endr
    call fill
    mov rsi, offset source + 4000     # equal for a long way, then not
    mov rdi, offset target + 4000
    mov ecx, 3000
    repe cmpsb
    call fold_state
    mov rdi, offset target
    mov al, 0x77
    mov rcx, -1
    repne scasb
    call fold_state
    mov rsi, offset source            # overlapping: the distance is the period of the result
    mov rdi, offset source + 3
    mov ecx, 1000
    rep movsb
    call fold_state
    mov rsi, offset source
    mov rdi, offset source + 5
    mov ecx, 100
    rep movsd
    call fold_state
    mov esi, offset source + 10       # 32-bit addresses and count
    mov edi, offset target + 20
    mov rcx, 0x500000007
    addr32 rep movsw
    call fold_state
    mov edi, offset target + 20
    mov rcx, 0x500000011
    mov eax, 9
    addr32 repne scasb
    call fold_state
    mov rsi, offset source + 6000
1:  lodsw
    FOLD rax
    cmp rsi, offset source + 6200
    jb 1b
    mov rsi, offset source            # everything that was stored
    mov ecx, 3072
2:  lodsq
    FOLD rax
    loop 2b
    dec r12d
    jnz again
    FINISH
