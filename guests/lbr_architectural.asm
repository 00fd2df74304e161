; Architectural last-branch records: IA32_LBR_CTL lets kinds in, record 0 is the newest, INFO names the kind. With near relative
; calls in ring 0 only, two calls are kept of calls, jumps and returns; a write of IA32_LBR_DEPTH clears them.
; source: SDM vol. 3B, "Architectural Last Branch Records", "IA32_LBR_CTL MSR", table of branch types: 4, near relative call.
;
; cpu    sapphire-rapids
; screen newest: 00009007 -> 00009010 type 4
; screen before: 00009000 -> 00009010 type 4
; screen third:  00000000 -> 00000000 type 0
; screen after a write of the depth: 00000000
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
%define IA32_LBR_CTL   0x14CE
%define IA32_LBR_DEPTH 0x14CF
%define IA32_LBR_INFO  0x1200
%define IA32_LBR_FROM  0x1500
%define IA32_LBR_TO    0x1600
        multiboot_header start
%include "print32.inc"
%include "flat32.inc"

start:  enter_flat32
        mov ecx, IA32_LBR_CTL
        xor edx, edx
        mov eax, 1 | 2 | 1 << 19        ; enable, OS, near relative calls
        jmp on
        place_at 0x8FFE
on:     wrmsr
        call near routine               ; 9000H
        jmp short $+2
        call near routine               ; 9007H
        jmp done
        place_at 0x9010
routine:
        ret
done:   mov ecx, IA32_LBR_CTL
        xor eax, eax
        wrmsr
        say "newest: "
        xor esi, esi
        call entry
        say "before: "
        mov esi, 1
        call entry
        say "third:  "
        mov esi, 2
        call entry
        wrmsr_const IA32_LBR_DEPTH, 0, 32
        say "after a write of the depth: "
        mov ecx, IA32_LBR_FROM
        rdmsr
        call print_hex
        cli
        hlt

entry:  lea ecx, [esi + IA32_LBR_FROM]
        rdmsr
        call print_hex
        say " -> "
        lea ecx, [esi + IA32_LBR_TO]
        rdmsr
        call print_hex
        say " type "
        lea ecx, [esi + IA32_LBR_INFO]
        rdmsr
        mov eax, edx
        shr eax, 56 - 32
        and eax, 15
        call print_decimal
        call new_line
        ret
