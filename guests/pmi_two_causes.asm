; Two causes, one vector: the counter's PMI and the Debug Store's arrive one after the other at the same address, because
; the first handler's own branches fill the BTS buffer.
; source: experiment 14-10; SDM vol. 3B, "Writing the DS Interrupt Service Routine".
; The WRMSR that enables the counter is the first of the eight instructions it counts. Delivery is record 8, the handler's
; first jump record 9, its IRET record 10: index = maximum = threshold.
;
; cpu    all
; screen [core2] PMC0 000000FF FFFFFFF8
; screen [westmere nehalem ivybridge haswell skylake-client skylake-server goldmont icelake-server sapphire-rapids] PMC0 0000FFFF FFFFFFF8
; screen interrupt 1 at 00009141: counter
; screen interrupt 2 at 00009141: BTS buffer
; screen 1: 00009133 -> 00009135
; screen 2: 00009135 -> 00009137
; screen 3: 00009137 -> 00009139
; screen 4: 00009139 -> 0000913B
; screen 5: 0000913B -> 0000913D
; screen 6: 0000913D -> 0000913F
; screen 7: 0000913F -> 00009141
; screen 8: 00009141 -> 0000979C
; screen 9: 0000979C -> 000097A0
; screen 10: 000098BA -> 00009141
; ds     bts_index 4001f0
; ds     bts 0 9133 9135
; ds     bts 7 9141 979c
; ds     bts 8 979c 97a0
; ds     bts 9 98ba 9141
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

start:  enter_flat32
        set_gate PMI_VECTOR, pmi, 0x8E00
        apic_set APIC_SVR, 0x1FF
        apic_set APIC_LVT_PC, PMI_VECTOR
        set_ds BTS_MAXIMUM, PEBS_BASE + 10 * 176, PEBS_BASE + 10 * 176
        wrmsr_const IA32_PMC0, 0, 0xFFFFFFF8            ; bit 31 is copied upwards
        mov ecx, IA32_PMC0
        rdmsr
        say "PMC0 "
        xchg eax, edx
        call print_hex
        say " "
        xchg eax, edx
        call print_hex
        call new_line
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 1
        sti
        jmp armed

        place_at 0x9100
armed:  wrmsr_const IA32_DEBUGCTL, 0, DEBUGCTL_TR | DEBUGCTL_BTS | DEBUGCTL_BTINT
        mov ecx, IA32_PERFEVTSEL0
        xor edx, edx
        mov eax, 0x5300C0               ; instructions retired, USR, OS, INT, EN
        place_at 0x9131
        wrmsr
%rep 11
        jmp $+2
%endrep
        cli
        xor ebx, ebx
        mov ebp, BTS_BASE
show:   inc ebx
        mov eax, ebx
        call print_decimal
        say ": "
        mov eax, [ebp]
        call print_hex
        say " -> "
        mov eax, [ebp + 8]
        call print_hex
        call new_line
        add ebp, BTS_RECORD
        cmp ebx, 10
        jb show
        hlt

count:  dd 0
causes: dd 0

        place_at 0x979C
pmi:    jmp short .entered
        nop
        nop
.entered:
        pushad
        wrmsr_const IA32_DEBUGCTL, 0, 0
        wrmsr_const IA32_PERFEVTSEL0, 0, 0
        inc dword [count]
        say "interrupt "
        mov eax, [count]
        call print_decimal
        say " at "
        mov eax, [esp + 32]             ; behind PUSHAD: the return address
        call print_hex
        say ":"
        mov ecx, IA32_PERF_GLOBAL_STATUS
        rdmsr
        test al, 1
        jz .no_counter
        say " counter"
        wrmsr_const IA32_PERF_GLOBAL_OVF_CTRL, 0, 1
        mov dword [causes], 1
.no_counter:
        mov eax, [DS_BTS_INDEX]
        cmp eax, [DS_AREA + 0x18]
        jb .no_buffer
        say " BTS buffer"
        mov dword [causes], 2           ; the trace ends here: the buffer is to be shown as it is
.no_buffer:
        call new_line
        apic_set APIC_LVT_PC, PMI_VECTOR
        apic_set APIC_EOI, 0
        cmp dword [causes], 2
        je .leave
        wrmsr_const IA32_DEBUGCTL, 0, DEBUGCTL_TR | DEBUGCTL_BTS | DEBUGCTL_BTINT
        popad                           ; POPAD and IRET follow without a branch
        iretd
.leave: popad
        iretd
