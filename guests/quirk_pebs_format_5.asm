; Quirk pebs-format-5: the Debug Store has 32 reset values for general counters, and those of the fixed ones follow them. Slot 32, at
; offset 140H, holds 1000H; slot 8, where format 4 has FIXED_CTR0's, 2000H. Of 204 instructions the 100th is recorded: 104 more.
; source: drivers' name for the format, "4 with 32 general and 16 fixed reset values".
;
; cpu     icelake-server sapphire-rapids
; options --quirk pebs-format-5
; screen PEBS format:            5
; screen FIXED_CTR0, reloaded:   00001068
; ds      reset_fixed_0 1000
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
%include "pebs.inc"

start:  enter_flat32
        set_ds BTS_MAXIMUM, 0, 0
        set_pebs 2
        mov dword [DS_AREA + 0x140], 0x1000
        mov dword [DS_AREA + 0x80], 0x2000
        wrmsr_const IA32_FIXED_CTR0, 0xFFFF, -100
        wrmsr_const IA32_PEBS_ENABLE, 1, 0
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 1, 0
        wrmsr_const IA32_FIXED_CTR_CTRL, 0, 3
        times 200 nop
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 0
        say "PEBS format:            "
        mov ecx, IA32_PERF_CAPABILITIES
        rdmsr
        shr eax, 8
        and eax, 15
        call print_decimal
        call new_line
        say "FIXED_CTR0, reloaded:   "
        mov ecx, IA32_FIXED_CTR0
        rdmsr
        call print_hex
        cli
        hlt
