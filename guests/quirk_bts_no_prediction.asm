; Quirk bts-no-prediction, part of Core 2: the third word of a BTS record is always 0. Elsewhere bit 4 says "predicted".
; source: SDM vol. 3B, "BTS Buffer", on processors that do not implement the predicted flag.
;
; cpu     all
; options --quirk bts-no-prediction
; screen flags of the record: 00000000
; ds      bts 0 9002 9004
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
        mov dword [BTS_BASE + 16], -1
        mov ecx, IA32_DEBUGCTL
        xor edx, edx
        mov eax, DEBUGCTL_TR | DEBUGCTL_BTS
        jmp tracing
        place_at 0x9000
tracing:
        wrmsr
        jmp short $+2                   ; 9002H
        xor eax, eax
        wrmsr
        say "flags of the record: "
        mov eax, [BTS_BASE + 16]
        call print_hex
        cli
        hlt
