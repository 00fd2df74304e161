; An adaptive PEBS record has the groups that MSR_PEBS_DATA_CFG asks for: here memory, general registers and two LBR entries.
; source: SDM vol. 3B, "Adaptive PEBS": IA32_PERFEVTSELx.Adaptive_Record, MSR_PEBS_DATA_CFG, tables of the groups.
; Loads are counted from -3 with PMC1: the third arms, the fourth is recorded.
;
; cpu    icelake-server sapphire-rapids
; screen size 256, groups B
; screen eventing IP 00009012, counters 2
; screen data address 00401012
; screen next 00009018, ESI 00401000
; ds     pebs 0 eventing_ip 9012 counters 2 data_address 401012 RIP 9018 RSI 401000
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
%include "ds.inc"
        multiboot_header start
%include "print32.inc"
%include "flat32.inc"

start:  enter_flat32
        set_ds BTS_MAXIMUM, PEBS_BASE + 256, PEBS_BASE + 256
        wrmsr_const MSR_PEBS_DATA_CFG, 0, 0x0100000B    ; memory, GPRs, LBRs; two entries
        wrmsr_const IA32_PMC0 + 1, 0, -3
        wrmsr_const IA32_PEBS_ENABLE, 0, 2
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 2
        mov esi, 0x401000
        mov ecx, IA32_PERFEVTSEL0 + 1
        mov edx, 4                      ; adaptive record
        mov eax, 0x4381D0               ; MEM_INST_RETIRED.ALL_LOADS
        jmp on
        place_at 0x8FFE
on:     wrmsr
%assign i 0
%rep 6
        mov eax, [dword esi + i]        ; six bytes each
%assign i i + 6
%endrep
        times 8 nop
        mov esi, PEBS_BASE
        say "size "
        movzx eax, word [esi + 6]
        call print_decimal
        say ", groups "
        mov eax, [esi]
        and eax, 15
        add al, 'A' - 10
        call print_character
        call new_line
        say "eventing IP "
        mov eax, [esi + 0x08]
        call print_hex
        say ", counters "
        mov eax, [esi + 0x10]
        call print_decimal
        call new_line
        say "data address "
        mov eax, [esi + 0x20]
        call print_hex
        call new_line
        say "next "
        mov eax, [esi + 0x48]
        call print_hex
        say ", ESI "
        mov eax, [esi + 0x40 + 0x40]
        call print_hex
        cli
        hlt
