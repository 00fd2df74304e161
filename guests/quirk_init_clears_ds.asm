; Quirk init-clears-ds: INIT clears IA32_DS_AREA too. The manual says that INIT clears the recording mechanism, not which
; registers that is; without the quirk the address stays (init_keeps_counters).
; source: SDM vol. 3B, "DS Save Area". Port F5H of this PC, written 3, is an INIT; the BIOS goes on at 0040:0067.
;
; cpu     all
; options --quirk init-clears-ds
; screen DS_AREA before INIT: 00400000
; screen DS_AREA after INIT:  00000000
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
        mov word [0x467], again
        mov word [0x469], 0
        wrmsr_const IA32_DS_AREA, 0, DS_AREA
        say "DS_AREA before INIT: "
        call show
        mov al, 3
        out 0xF5, al
        cli
        hlt

        bits 16
again:  cli
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
        say "DS_AREA after INIT:  "
        call show
        cli
        hlt

show:   mov ecx, IA32_DS_AREA
        rdmsr
        call print_hex
        call new_line
        ret
