; A circular BTS buffer wraps: of eleven jumps into room for ten records, the last lies over the first.
; source: experiment 14-9; SDM vol. 3B, "BTS Buffer": with BTINT = 0 the buffer is circular.
;
; cpu    all
; screen BTS index 00400118
; screen record 0: 00009014 -> 00009016
; screen record 1: 00009002 -> 00009004
; screen record 9: 00009012 -> 00009014
; screen behind the buffer: 00000000
; ds     bts_index 400118
; ds     bts 0 9014 9016
; ds     bts 1 9002 9004
; ds     bts 9 9012 9014
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
%include "ds.inc"
        multiboot_header start
%include "print32.inc"
%include "flat32.inc"

start:  enter_flat32
        set_ds BTS_BASE + 11 * BTS_RECORD, PEBS_BASE + 10 * 176, PEBS_BASE + 10 * 176
        mov ecx, IA32_DEBUGCTL
        xor edx, edx
        mov eax, DEBUGCTL_TR | DEBUGCTL_BTS
        jmp tracing

        place_at 0x8FFE
tracing:
        wrmsr
%rep 11
        jmp $+2
%endrep
        xor eax, eax
        wrmsr

        say "BTS index "
        mov eax, [DS_BTS_INDEX]
        call print_hex
        call new_line
        say "record 0: "
        mov ebx, BTS_BASE
        call print_record
        say "record 1: "
        mov ebx, BTS_BASE + BTS_RECORD
        call print_record
        say "record 9: "
        mov ebx, BTS_BASE + 9 * BTS_RECORD
        call print_record
        say "behind the buffer: "
        mov eax, [BTS_MAXIMUM]
        call print_hex
        cli
        hlt

print_record:
        mov eax, [ebx]
        call print_hex
        say " -> "
        mov eax, [ebx + 8]
        call print_hex
        call new_line
        ret
