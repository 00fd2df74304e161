; FREEZE_PERFMON_ON_PMI: a PMI stops all counters. Up to version 3 it clears IA32_PERF_GLOBAL_CTRL; from version 4 on it sets
; CTR_Frz in IA32_PERF_GLOBAL_STATUS and leaves the enables alone.
; source: SDM vol. 3B, "Freezing LBR and Performance Counters on PMI".
; PMC0 overflows after 100 instructions; PMC1 counts the same and must have stopped with it.
;
; cpu    all
; screen [core2 westmere nehalem ivybridge haswell] frozen: GLOBAL_CTRL 00000000, CTR_Frz 0
; screen [skylake-client skylake-server goldmont icelake-server sapphire-rapids] frozen: GLOBAL_CTRL 00000003, CTR_Frz 1
; screen PMC1 counted 103
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
%include "apic.inc"
        multiboot_header start
%include "print32.inc"
%include "flat32.inc"

start:  enter_flat32
        set_gate PMI_VECTOR, frozen, 0x8E00
        apic_set APIC_SVR, 0x1FF
        apic_set APIC_LVT_PC, PMI_VECTOR
        sti
        wrmsr_const IA32_DEBUGCTL, 0, DEBUGCTL_FREEZE_CTRS
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 3
        wrmsr_const IA32_PMC0, 0, -100
        wrmsr_const IA32_PMC0 + 1, 0, 0
        mov ecx, IA32_PERFEVTSEL0 + 1
        xor edx, edx
        mov eax, 0x4300C0               ; no INT
        mov ebx, 0x5300C0
        jmp short .on
.on:    wrmsr                           ; PMC1 counts this one
        dec ecx                         ; 2
        xchg eax, ebx                   ; 3
        wrmsr                           ; 4, and 1 of PMC0: PMC0 overflows at 103 of PMC1
        times 200 nop
        cli
        hlt

frozen: mov ecx, IA32_PERF_GLOBAL_CTRL
        rdmsr
        mov ebx, eax
        mov ecx, IA32_PERF_GLOBAL_STATUS
        rdmsr
        mov esi, edx
        say "frozen: GLOBAL_CTRL "
        mov eax, ebx
        call print_hex
        say ", CTR_Frz "
        mov eax, esi
        shr eax, 59 - 32
        and eax, 1
        call print_decimal
        call new_line
        say "PMC1 counted "
        mov ecx, 1
        rdpmc
        call print_decimal
        cli
        hlt
