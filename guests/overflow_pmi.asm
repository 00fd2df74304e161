; A counter that starts at minus 100 interrupts after exactly 100 instructions: no skid. A general counter, then a fixed one.
; source: SDM vol. 3B, "Generating an Interrupt on Overflow": the instruction that enables the counter is the first counted.
; The WRMSR at xxFEH is number 1, so the 99th NOP behind it is number 100, and the PMI comes before the next.
;
; cpu    all
; screen PMI 1 at 00009063 status 00000000 00000001
; screen PMI 2 at 00009463 status 00000001 00000000
; screen a masked LVT entry: 2 PMIs
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
%include "apic.inc"
        multiboot_header start
%include "print32.inc"
%include "flat32.inc"
%include "pmi32.inc"

start:  enter_flat32
        arm_pmi
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 1, 1
        wrmsr_const IA32_PMC0, 0, -100
        mov ecx, IA32_PERFEVTSEL0
        xor edx, edx
        mov eax, 0x5300C0               ; instructions retired, USR, OS, INT, EN
        jmp general
        place_at 0x8FFE
general:
        wrmsr
        times 200 nop
        call show_pmi

        wrmsr_const IA32_PERFEVTSEL0, 0, 0
        mov ecx, IA32_FIXED_CTR0        ; some have 40 bits, some 48: all ones above
        mov edx, 0xFFFF
        mov eax, -100
        wrmsr
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 1, 1
        mov ecx, IA32_FIXED_CTR_CTRL
        xor edx, edx
        mov eax, 0x9                    ; counter 0: OS, PMI
        jmp fixed
        place_at 0x93FE
fixed:  wrmsr
        times 200 nop
        call show_pmi

        ; The same with the LVT entry masked: the request is forgotten.
        apic_set APIC_LVT_PC, 0x10000 | PMI_VECTOR
        wrmsr_const IA32_FIXED_CTR_CTRL, 0, 0
        wrmsr_const IA32_PMC0, 0, -100
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 1
        wrmsr_const IA32_PERFEVTSEL0, 0, 0x5300C0
        times 200 nop
        wrmsr_const IA32_PERFEVTSEL0, 0, 0
        apic_set APIC_LVT_PC, PMI_VECTOR
        times 20 nop
        say "a masked LVT entry: "
        mov eax, [pmi_count]
        call print_decimal
        say " PMIs"
        cli
        hlt
