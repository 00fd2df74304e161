; Quirk pebs-bounds, part of Goldmont: a PEBS index outside its buffer makes no record, but sets OvfBuf and interrupts; the counter's
; overflow bit is cleared and the counter is not reloaded. Elsewhere such a record vanishes without a sign.
; source: SDM vol. 3B, Goldmont, "PEBS Record Format" and the text on GLOBAL_STATUS[62].
; The index is one byte below the base.
;
; cpu    goldmont
; screen PMI 1 at 00009063 status 40000000 00000000
; screen PEBS index 004003FF
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
%include "apic.inc"
%include "ds.inc"
        multiboot_header start
%include "print32.inc"
%include "flat32.inc"
%include "pmi32.inc"
%include "pebs.inc"

start:  enter_flat32
        arm_pmi
        set_ds BTS_MAXIMUM, 0, 0
        set_pebs 2
        dec dword [DS_PEBS_INDEX]
        wrmsr_const IA32_PMC0, 0, -100
        wrmsr_const IA32_PEBS_ENABLE, 0, 1
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 1
        mov ecx, IA32_PERFEVTSEL0
        xor edx, edx
        mov eax, 0x4300C0
        jmp counting
        place_at 0x8FFE
counting:
        wrmsr
        times 200 nop
        call show_pmi
        say "PEBS index "
        mov eax, [DS_PEBS_INDEX]
        call print_hex
        cli
        hlt
