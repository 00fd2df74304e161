; Nothing is recorded in system-management mode, and recording goes on after it; a machine check stops it for good.
; source: SDM vol. 3B, "DS Save Area" (usage): "The DS mechanism is disabled on transition to SMM, and on #MC".
; Port B2H raises an SMI; port F5H of this PC, written 1, a machine check.
;
; cpu    all
; screen after two jumps:           00400130
; screen after an SMI with jumps:   00400130, SMM ran 1 time
; screen after one more jump:       00400148
; screen after a machine check:     00400148, #MC 1 time
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
%include "ds.inc"
        multiboot_header start
%include "print32.inc"
%include "flat32.inc"
%define SMM_ENTRY 0x38000
%define SMM_COUNT 0x7F00

start:  enter_flat32
        set_gate 18, machine_check, 0x8E00
        mov eax, cr4
        or eax, 0x40                    ; MCE
        mov cr4, eax
        mov esi, smm
        mov edi, SMM_ENTRY
        mov ecx, smm_end - smm
        rep movsb
        mov dword [SMM_COUNT], 0
        set_ds BTS_BASE + 11 * BTS_RECORD, PEBS_BASE + 10 * 176, PEBS_BASE + 10 * 176
        mov ecx, IA32_DEBUGCTL
        xor edx, edx
        mov eax, DEBUGCTL_TR | DEBUGCTL_BTS
        wrmsr
        jmp short $+2
        jmp short $+2
        mov ebx, [DS_BTS_INDEX]
        out 0xB2, al
        nop
        mov ebp, [DS_BTS_INDEX]
        jmp short $+2
        mov esi, [DS_BTS_INDEX]
        mov al, 1
        out 0xF5, al
        nop
        jmp short $+2
        jmp short $+2
        mov edi, [DS_BTS_INDEX]

        say "after two jumps:           "
        mov eax, ebx
        call print_hex
        call new_line
        say "after an SMI with jumps:   "
        mov eax, ebp
        call print_hex
        say ", SMM ran "
        mov eax, [SMM_COUNT]
        call print_decimal
        say " time"
        call new_line
        say "after one more jump:       "
        mov eax, esi
        call print_hex
        call new_line
        say "after a machine check:     "
        mov eax, edi
        call print_hex
        say ", #MC "
        mov eax, [checks]
        call print_decimal
        say " time"
        cli
        hlt

checks: dd 0
machine_check:
        inc dword [checks]
        iretd

        bits 16
smm:    jmp short $+2                   ; in SMM: CS base 30000H, segments of 4 GiB from 0
        jmp short $+2
        jmp short $+2
        inc dword [dword SMM_COUNT]
        rsm
smm_end:
