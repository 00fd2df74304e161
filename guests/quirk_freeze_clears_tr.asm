; Quirk freeze-clears-tr: with FREEZE_LBRS_ON_PMI a PMI clears TR as well, so the Debug Store stops with the LBRs. Two jumps before
; the counter overflows are stored, those of the handler are not.
; source: SDM vol. 3B, "Last Branch, Interrupt, and Exception Recording" of 45 nm and 32 nm Atom.
;
; cpu     all
; options --quirk freeze-clears-tr
; screen TR in the handler: 0
; screen BTS index:         00400130
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

start:  enter_flat32
        set_gate PMI_VECTOR, frozen, 0x8E00
        apic_set APIC_SVR, 0x1FF
        apic_set APIC_LVT_PC, PMI_VECTOR
        sti
        set_ds BTS_BASE + 11 * BTS_RECORD, PEBS_BASE + 10 * 176, PEBS_BASE + 10 * 176
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 1
        wrmsr_const IA32_PMC0, 0, -20
        wrmsr_const IA32_DEBUGCTL, 0, DEBUGCTL_TR | DEBUGCTL_BTS | DEBUGCTL_FREEZE_LBRS
        jmp short $+2
        jmp short $+2
        wrmsr_const IA32_PERFEVTSEL0, 0, 0x5300C0
        times 40 nop
        cli
        hlt

; TR is clear before the interrupt is delivered: its own transfer is not stored either.
frozen: mov ecx, IA32_DEBUGCTL
        rdmsr
        jmp short $+2
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
