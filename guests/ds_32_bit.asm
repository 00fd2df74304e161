; Without DTES64 and outside IA-32e mode the Debug Store has 32-bit fields: BTS records of 12 bytes, PEBS records of 40.
; source: SDM vol. 3B, "DS Save Area", figure of the 32-bit layout.
; Eleven jumps into a circular buffer for ten; then a PEBS record of the NOP behind the 100th instruction.
;
; cpu     nehalem westmere ivybridge haswell
; options --quirk ds32
; screen BTS index 0040010C
; screen record 0: 00009014 -> 00009016
; screen PMI 1 at 00009464 status 40000000 00000000
; screen PEBS index 00400428, EIP 00009464, ESP 00080000
; ds     bts_index 40010c
; ds     bts 0 9014 9016
; ds     bts 9 9012 9014
; ds     pebs 0 EIP 9464 ESP 80000
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

start:  enter_flat32
        arm_pmi
        mov dword [DS_AREA + 0x00], BTS_BASE
        mov dword [DS_AREA + 0x04], BTS_BASE
        mov dword [DS_AREA + 0x08], BTS_BASE + 10 * 12
        mov dword [DS_AREA + 0x0C], BTS_BASE + 11 * 12
        mov dword [DS_AREA + 0x10], PEBS_BASE
        mov dword [DS_AREA + 0x14], PEBS_BASE
        mov dword [DS_AREA + 0x18], PEBS_BASE + 40
        mov dword [DS_AREA + 0x1C], PEBS_BASE + 40
        mov dword [DS_AREA + 0x20], -100
        mov dword [DS_AREA + 0x24], 0xFFFF
        wrmsr_const IA32_DS_AREA, 0, DS_AREA
        mov ecx, IA32_DEBUGCTL
        xor edx, edx
        mov eax, DEBUGCTL_TR | DEBUGCTL_BTS
        jmp tracing
        place_at 0x8FFE
tracing:
        wrmsr
%rep 11
        jmp $+2
%endrep
        xor eax, eax
        wrmsr
        say "BTS index "
        mov eax, [DS_AREA + 0x04]
        call print_hex
        call new_line
        say "record 0: "
        mov eax, [BTS_BASE]
        call print_hex
        say " -> "
        mov eax, [BTS_BASE + 4]
        call print_hex
        call new_line

        wrmsr_const IA32_PMC0, 0, -100
        wrmsr_const IA32_PEBS_ENABLE, 0, 1
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 1
        mov ecx, IA32_PERFEVTSEL0
        xor edx, edx
        mov eax, 0x4300C0
        jmp counting
        place_at 0x93FE
counting:
        wrmsr
        times 200 nop
        call show_pmi
        say "PEBS index "
        mov eax, [DS_AREA + 0x14]
        call print_hex
        say ", EIP "
        mov eax, [PEBS_BASE + 4]
        call print_hex
        say ", ESP "
        mov eax, [PEBS_BASE + 0x24]
        call print_hex
        cli
        hlt
