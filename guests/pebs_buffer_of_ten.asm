; A PEBS buffer of ten records interrupts when the tenth is written, not before. The overflow arms; the next event is recorded.
; source: SDM vol. 3B, "Processor Event Based Sampling (PEBS)": "an overflow condition in the counter will arm PEBS".
; Period 100: the WRMSR at 8FFEH is event 1, the NOP at 9062H event 100 arms, the one at 9063H is recorded. Then again.
; OvfBuf is bit 62 of IA32_PERF_GLOBAL_STATUS; the counter's own bit was cleared when its record was written.
; On Goldmont and Sapphire Rapids PMC0 records the overflowing instruction itself: one NOP earlier each time.
;
; cpu    all
; screen [core2 westmere nehalem ivybridge haswell skylake-client skylake-server icelake-server] PMI 1 at 000093F1 status 40000000 00000000
; screen [goldmont sapphire-rapids] PMI 1 at 000093E7 status 40000000 00000000
; screen records: 10
; ds     [core2 westmere nehalem ivybridge haswell skylake-client skylake-server] pebs 0 RIP 9064
; ds     [core2 westmere nehalem ivybridge haswell skylake-client skylake-server] pebs 1 RIP 90c9
; ds     [core2 westmere nehalem ivybridge haswell skylake-client skylake-server] pebs 9 RIP 93f1
; ds     [icelake-server] pebs 9 eventing_ip 93f0 counters 1
; ds     [goldmont sapphire-rapids] pebs 9 eventing_ip 93e6
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
        arm_pmi
        set_ds BTS_MAXIMUM, 0, 0
        set_pebs 10
        mov dword [DS_RESET0], -100
        mov dword [DS_RESET0 + 4], -1
        wrmsr_const IA32_PMC0, 0, -100
        wrmsr_const IA32_PEBS_ENABLE, 0, 1
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 1
        mov ecx, IA32_PERFEVTSEL0
        xor edx, edx
        mov eax, 0x4300C0               ; instructions retired, USR, OS, EN
        jmp on
        place_at 0x8FFE
on:     wrmsr
        times 1200 nop
        call show_pmi
        say "records: "
        call pebs_record_size
        mov ebx, eax
        mov eax, [DS_PEBS_INDEX]
        sub eax, PEBS_BASE
        xor edx, edx
        div ebx
        call print_decimal
        cli
        hlt
