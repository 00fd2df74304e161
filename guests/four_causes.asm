; Four causes share one vector and can be pending together: an overflow, a PEBS record whose counter also interrupts, the BTS
; threshold, the PEBS threshold. A handler that tests each on its own finds all four in one interrupt.
; source: SDM vol. 3B, "Writing the DS Interrupt Service Routine".
;
; cpu    all
; screen one interrupt:
; screen  counter 1
; screen  PEBS index moved
; screen  PEBS threshold
; screen  BTS threshold
; screen interrupts in all: 1
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
        set_gate PMI_VECTOR, pmi, 0x8E00
        apic_set APIC_SVR, 0x1FF
        apic_set APIC_LVT_PC, PMI_VECTOR
        cli                             ; until all have happened
        set_ds BTS_BASE + 4 * BTS_RECORD, 0, 0
        set_pebs 1
        mov dword [DS_RESET0], -1000000
        mov dword [DS_RESET0 + 4], -1
        wrmsr_const IA32_PMC0, 0, -10
        wrmsr_const IA32_PMC0 + 1, 0, -20
        wrmsr_const IA32_PEBS_ENABLE, 0, 1
        wrmsr_const IA32_PERFEVTSEL0, 0, 0x5300C0
        wrmsr_const IA32_PERFEVTSEL0 + 1, 0, 0x5300C0
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 3
        wrmsr_const IA32_DEBUGCTL, 0, DEBUGCTL_TR | DEBUGCTL_BTS | DEBUGCTL_BTINT
%rep 6
        jmp $+2
%endrep
        times 30 nop
        wrmsr_const IA32_DEBUGCTL, 0, 0
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 0
        sti
        nop
        nop
        cli
        say "interrupts in all: "
        mov eax, [count]
        call print_decimal
        hlt

count:  dd 0
pmi:    pushad
        inc dword [count]
        say "one interrupt:"
        call new_line
        mov ecx, IA32_PERF_GLOBAL_STATUS
        rdmsr
        mov ebx, edx
        test eax, 2
        jz .no_counter
        say " counter 1"
        call new_line
.no_counter:
        cmp dword [DS_PEBS_INDEX], PEBS_BASE
        je .no_record
        say " PEBS index moved"
        call new_line
.no_record:
        test ebx, OVF_BUFFER
        jz .no_pebs
        say " PEBS threshold"
        call new_line
.no_pebs:
        mov eax, [DS_BTS_INDEX]
        cmp eax, [DS_AREA + 0x18]
        jb .no_bts
        say " BTS threshold"
        call new_line
.no_bts:
        wrmsr_const IA32_PERF_GLOBAL_OVF_CTRL, OVF_BUFFER, 3
        mov dword [DS_BTS_INDEX], BTS_BASE
        mov dword [DS_PEBS_INDEX], PEBS_BASE
        apic_set APIC_LVT_PC, PMI_VECTOR
        apic_set APIC_EOI, 0
        popad
        iretd
