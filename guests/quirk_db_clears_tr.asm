; Quirk db-clears-tr: a #DB clears TR besides LBR and BTF, and its own delivery is not in the BTS buffer. One jump is stored; without
; the quirk the transfer to the handler and the jump in it would follow.
; source: a reading of the P6 family's DebugCtlMSR; SDM vol. 3B names LBR and BTF only.
;
; cpu     all
; options --quirk db-clears-tr
; screen TR in the handler: 0
; screen BTS index:         00400118
; ds      bts 0 9009 9010
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
        set_gate 1, debug, 0x8E00
        set_ds BTS_BASE + 11 * BTS_RECORD, PEBS_BASE + 10 * 176, PEBS_BASE + 10 * 176
        jmp stepping

        place_at 0x8FF2
stepping:
        pushfd
        or dword [esp], 0x100
        mov ecx, IA32_DEBUGCTL
        ; the trap flag comes with the POPFD, so that the first trap is behind the jump
        xor edx, edx
        place_at 0x9001
        mov eax, DEBUGCTL_TR | DEBUGCTL_BTS
        wrmsr
        popfd                           ; 9008H
        jmp short .target               ; 9009H
        times 5 nop
.target:
        nop                             ; 9010H
        cli
        hlt

debug:  jmp short $+2
        mov ecx, IA32_DEBUGCTL
        rdmsr
        mov ebp, eax
        say "TR in the handler: "
        mov eax, ebp
        shr eax, 6
        and eax, 1
        call print_decimal
        call new_line
        say "BTS index:         "
        mov eax, [DS_BTS_INDEX]
        call print_hex
        cli
        hlt
