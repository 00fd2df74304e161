; One branch fills both buffers: its PEBS record is written first, then its BTS record, then there is one interrupt.
; source: SDM vol. 3B, "PEBS Buffer": "PEBS records are produced before BTS records" for the same instruction.
; Branches are counted from -9: the ninth jump arms, the tenth is recorded and is the tenth BTS record too.
; Goldmont and Sapphire Rapids are left out: on their PMC0 the overflowing jump itself is recorded, one jump earlier.
;
; cpu    core2 westmere nehalem ivybridge haswell skylake-client skylake-server icelake-server
; screen PMI 1 at 00009014 status 40000000 00000000
; screen BTS index 004001F0
; screen PEBS records 1
; ds     bts 9 9012 9014
; ds     [core2 westmere nehalem ivybridge haswell skylake-client skylake-server] pebs 0 RIP 9014
; ds     [haswell skylake-client skylake-server icelake-server] pebs 0 eventing_ip 9012
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
%include "pebs.inc"

start:  enter_flat32
        set_gate PMI_VECTOR, pmi, 0x8E00
        apic_set APIC_SVR, 0x1FF
        apic_set APIC_LVT_PC, PMI_VECTOR
        sti
        set_ds BTS_MAXIMUM, 0, 0
        set_pebs 1
        mov dword [DS_RESET0], -9
        mov dword [DS_RESET0 + 4], -1
        wrmsr_const IA32_PMC0, 0, -9
        wrmsr_const IA32_PEBS_ENABLE, 0, 1
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 1
        jmp on
        place_at 0x8FE0
on:     wrmsr_const IA32_PERFEVTSEL0, 0, 0x4300C4        ; branches retired
        mov ecx, IA32_DEBUGCTL
        mov eax, DEBUGCTL_TR | DEBUGCTL_BTS | DEBUGCTL_BTINT
        place_at 0x8FFE
        wrmsr
%rep 12
        jmp $+2
%endrep
        call show_pmi
        say "BTS index "
        mov eax, [DS_BTS_INDEX]
        call print_hex
        call new_line
        say "PEBS records "
        call pebs_record_size
        mov ebx, eax
        mov eax, [DS_PEBS_INDEX]
        sub eax, PEBS_BASE
        xor edx, edx
        div ebx
        call print_decimal
        cli
        hlt

pmi:    pushad
        wrmsr_const IA32_DEBUGCTL, 0, 0
        popad
        jmp pmi_remember
