; Core 2 has four last-branch records, at other addresses than later processors, and no filter: of six jumps the last four are kept,
; and TOS, which starts at 0, points at the newest.
; source: SDM vol. 3B, "Last Branch, Interrupt, and Exception Recording (Intel Core 2 Duo and Intel Atom Processors)".
;
; cpu    core2
; screen TOS 2
; screen 0000900A -> 0000900C
; screen 00009008 -> 0000900A
; screen 00009006 -> 00009008
; screen 00009004 -> 00009006
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
%define FROM 0x40
%define TO   0x60
        multiboot_header start
%include "print32.inc"
%include "flat32.inc"

start:  enter_flat32
        mov ecx, IA32_DEBUGCTL
        xor edx, edx
        mov eax, DEBUGCTL_LBR
        jmp on
        place_at 0x8FFE
on:     wrmsr
%rep 6
        jmp short $+2                   ; 9000H, 9002H, ... 900AH
%endrep
        xor eax, eax
        wrmsr
        say "TOS "
        mov ecx, MSR_LASTBRANCH_TOS
        rdmsr
        mov esi, eax
        call print_decimal
        call new_line
        mov edi, 4
.entry: lea ecx, [esi + FROM]
        rdmsr
        call print_hex
        say " -> "
        lea ecx, [esi + TO]
        rdmsr
        call print_hex
        call new_line
        dec esi
        and esi, 3
        dec edi
        jnz .entry
        cli
        hlt
