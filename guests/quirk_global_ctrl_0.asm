; Quirk global-ctrl-0: IA32_PERF_GLOBAL_CTRL is 0 after RESET, as manuals said up to 2022. Software that knows only
; PERFEVTSEL then counts nothing; without the quirk the general counters are enabled.
; source: SDM vol. 3A, "IA-32 and Intel 64 Processor States Following Power-up, Reset, or INIT", before and since March 2023.
;
; cpu     all
; options --quirk global-ctrl-0
; screen enabled after RESET: 00000000
; screen counted:             00000000
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
        multiboot_header start
%include "print32.inc"
%include "flat32.inc"

start:  enter_flat32
        mov ecx, IA32_PERF_GLOBAL_CTRL
        rdmsr
        mov ebp, eax
        wrmsr_const IA32_PERFEVTSEL0, 0, 0x4300C0
        times 10 nop
        say "enabled after RESET: "
        mov eax, ebp
        call print_hex
        call new_line
        say "counted:             "
        mov ecx, IA32_PMC0
        rdmsr
        call print_hex
        cli
        hlt
