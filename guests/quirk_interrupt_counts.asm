; Quirk interrupt-counts: a hardware interrupt counts as one more instruction, branch, load and store. An NMI whose handler is
; nothing but IRET: without the quirk one branch and no store.
; source: Weaver, Terpstra, Moore: "Non-determinism and overcount on modern hardware performance counter implementations".
; Port F5H of this PC, written 4, is an NMI.
;
; cpu     nehalem westmere
; options --quirk interrupt-counts
; screen branches 2, stores 1
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
        multiboot_header start
%include "print32.inc"
%include "flat32.inc"

start:  enter_flat32
        set_gate 2, handler, 0x8E00
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 3
        wrmsr_const IA32_PERFEVTSEL0, 0, 0x4300C4     ; branches
        wrmsr_const IA32_PERFEVTSEL0 + 1, 0, 0x43020B ; stores
        mov al, 4
        out 0xF5, al
        nop
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 0
        say "branches "
        xor ecx, ecx
        rdpmc
        call print_decimal
        say ", stores "
        mov ecx, 1
        rdpmc
        call print_decimal
        cli
        hlt
handler:
        iretd
