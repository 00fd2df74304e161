; The precise-store facility: PEBS on PMC3 with MSR_PEBS_ENABLE[63] names the address of a store. The first store overflows and arms, the
; second is recorded. This PC has no core model yet: where the store went is 0, as for loads.
; source: SDM vol. 3B, "Precise Store Facility" of Sandy Bridge: MEM_TRANS_RETIRED.PRECISE_STORE, PEBS_EN_PMC3 and PS_EN.
;
; cpu    ivybridge
; screen data address 00401018
; screen data source  00000000
; screen next         0000900C
; ds     pebs 0 data_address 401018 data_source 0 latency 0 RIP 900c
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
%include "ds.inc"
        multiboot_header start
%include "print32.inc"
%include "flat32.inc"
%include "pebs.inc"
%define IA32_PMC3        (IA32_PMC0 + 3)
%define IA32_PERFEVTSEL3 (IA32_PERFEVTSEL0 + 3)

start:  enter_flat32
        set_ds BTS_MAXIMUM, 0, 0
        set_pebs 1
        wrmsr_const IA32_PMC3, 0, -1
        wrmsr_const IA32_PEBS_ENABLE, 0x80000000, 8
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 8
        mov esi, 0x401000
        mov ecx, IA32_PERFEVTSEL3
        xor edx, edx
        mov eax, 0x4302CD
        jmp on
        place_at 0x8FFE
on:     wrmsr
        mov [dword esi], eax            ; 9000H: arms
        mov [dword esi + 0x18], eax     ; 9006H: recorded
        nop
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 0
        mov esi, PEBS_BASE
        say "data address "
        mov eax, [esi + 0x98]
        call print_hex
        call new_line
        say "data source  "
        mov eax, [esi + 0xA0]
        call print_hex
        call new_line
        say "next         "
        mov eax, [esi + 0x08]
        call print_hex
        cli
        hlt
