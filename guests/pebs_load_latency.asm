; A load-latency record names a load's address, where its data came from and how long it took. This PC has no core model yet:
; latency and source are 0, which is how the record says that they are not known; every load qualifies.
; source: SDM vol. 3B, "Load Latency Performance Monitoring Facility": PEBS_EN_PMC0 and LL_EN_PMC0, MSR_PEBS_LD_LAT.
;
; cpu    westmere nehalem haswell skylake-client skylake-server
; screen data address 00401018
; screen data source  00000000
; screen latency      00000000
; screen next         00009026
; ds     pebs 0 data_address 401018 data_source 0 latency 0 RIP 9026
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

start:  enter_flat32
        set_ds BTS_MAXIMUM, 0, 0
        set_pebs 1
        wrmsr_const IA32_PMC0, 0, -1
        wrmsr_const IA32_PEBS_ENABLE, 1, 1
        wrmsr_const MSR_PEBS_LD_LAT, 0, 3
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 1
        mov esi, 0x401000
        mov ebp, 0x4301CD               ; MEM_TRANS_RETIRED.LOAD_LATENCY
        xor eax, eax
        cpuid
        mov eax, 1
        cpuid
        and eax, 0xFFFF0
        cmp eax, 0x106A0                ; Nehalem
        je .older
        cmp eax, 0x20650                ; Westmere
        jne .event
.older: mov ebp, 0x43100B               ; MEM_INST_RETIRED.LATENCY_ABOVE_THRESHOLD
.event: mov ecx, IA32_PERFEVTSEL0
        xor edx, edx
        mov eax, ebp
        jmp on
        place_at 0x8FFE
on:     wrmsr
        mov eax, [dword esi]            ; 9000H: arms
        times 26 nop
        mov eax, [dword esi + 0x18]     ; 9020H: recorded
        times 8 nop
        mov esi, PEBS_BASE
        say "data address "
        mov eax, [esi + 0x98]
        call print_hex
        call new_line
        say "data source  "
        mov eax, [esi + 0xA0]
        call print_hex
        call new_line
        say "latency      "
        mov eax, [esi + 0xA8]
        call print_hex
        call new_line
        say "next         "
        mov eax, [esi + 0x08]
        call print_hex
        cli
        hlt
