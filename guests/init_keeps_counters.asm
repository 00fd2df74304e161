; INIT clears the recording mechanism and masks the LVT entry, but keeps the counters and their enables.
; source: SDM vol. 3A, table "IA-32 and Intel 64 Processor States Following Power-up, Reset, or INIT"; vol. 3B, "DS Save Area":
; "cleared on INIT". Which registers that means is not spelled out: here DEBUGCTL and PEBS_ENABLE.
; The BIOS goes on at the far pointer in 0040:0067.
;
; cpu    all
; screen PMC1         00001234
; screen PERFEVTSEL1  005300C4
; screen DEBUGCTL     00000000
; screen PEBS_ENABLE  00000000
; screen DS_AREA      00400000
; screen LVT          00010000
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
        mov word [0x467], again
        mov word [0x469], 0
        wrmsr_const IA32_DS_AREA, 0, DS_AREA
        wrmsr_const IA32_PMC0 + 1, 0, 0x1234
        wrmsr_const IA32_PERFEVTSEL0 + 1, 0, 0x5300C4
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 0
        wrmsr_const IA32_PEBS_ENABLE, 0, 1
        wrmsr_const IA32_DEBUGCTL, 0, DEBUGCTL_LBR
        apic_set APIC_SVR, 0x1FF
        apic_set APIC_LVT_PC, PMI_VECTOR
        mov al, 3
        out 0xF5, al                    ; INIT before the next instruction
        cli
        hlt

        bits 16
again:  cli                             ; real mode, as after RESET
        lgdt [flat_gdt_pointer]
        mov eax, cr0
        or al, 1
        mov cr0, eax
        jmp dword KERNEL_CODE:protected
        bits 32
protected:
        mov ax, KERNEL_DATA
        mov ds, ax
        mov es, ax
        mov ss, ax
        mov esp, STACK_TOP
        say "PMC1         "
        mov ecx, IA32_PMC0 + 1
        call show
        say "PERFEVTSEL1  "
        mov ecx, IA32_PERFEVTSEL0 + 1
        call show
        say "DEBUGCTL     "
        mov ecx, IA32_DEBUGCTL
        call show
        say "PEBS_ENABLE  "
        mov ecx, IA32_PEBS_ENABLE
        call show
        say "DS_AREA      "
        mov ecx, IA32_DS_AREA
        call show
        say "LVT          "
        mov eax, [APIC_LVT_PC]
        call print_hex
        cli
        hlt
show:   rdmsr
        call print_hex
        call new_line
        ret
