; One string instruction over COUNT elements, no libc: the program whose counts anyone can work out.
;   -DOP=lodsb      lods stos movs scas cmps, b or w
;   -DPREFIX=rep    rep (lods stos movs) or repe (scas cmps): one retired instruction; without it a LOOP, two an element
; Both buffers hold zeros, so scas and cmps never stop early. Aligned: no access crosses a line.
bits 64
default rel

%ifndef COUNT
%define COUNT 1000000
%endif

section .bss
alignb 64
source: resb COUNT * 2
alignb 64
target: resb COUNT * 2

section .text
global _start
_start:
    lea rsi, [source]
    lea rdi, [target]
    mov ecx, COUNT
    xor eax, eax
    cld
%ifdef PREFIX
    PREFIX OP
%else
.next:
    OP
    loop .next
%endif
    mov eax, 60
    xor edi, edi
    syscall
