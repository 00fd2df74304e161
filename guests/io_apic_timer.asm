; Interrupts by the I/O APIC with the 8259 pair masked, as kernels of today route them: the 8254 at pin 2, three periods.
; Registers are selected by byte stores. Then the same pin masked: an edge is lost.
; source: 82093AA data sheet, "I/O APIC Registers"; SDM vol. 3A, "Handling Interrupts".
;
; cpu    all
; screen 3 ticks through pin 2
; screen IOREDTBL2 = 00000030, none while it is masked
        bits 32
        org 0x10000
%include "multiboot.inc"
%include "apic.inc"
        multiboot_header start
%include "flat32.inc"
%include "print32.inc"
%define IO_SELECT 0xFEC00000
%define IO_WINDOW 0xFEC00010
%define VECTOR 0x30
start:  enter_flat32
        set_gate VECTOR, tick, 0x8E00
        mov al, 0xFF
        out 0x21, al
        out 0xA1, al
        apic_set APIC_SVR, 0x1FF
        mov byte [IO_SELECT], 0x15      ; pin 2: to APIC 0
        mov dword [IO_WINDOW], 0
        mov byte [IO_SELECT], 0x14      ; fixed, edge-triggered
        mov dword [IO_WINDOW], VECTOR
        mov al, 0x34                    ; counter 0, mode 2, each millisecond
        out 0x43, al
        mov al, 1193 % 256
        out 0x40, al
        mov al, 1193 / 256
        out 0x40, al
        sti
.wait:  hlt
        cmp dword [ticks], 3
        jb .wait
        cli
        mov eax, [ticks]
        call print_decimal
        say " ticks through pin 2"
        call new_line
        say "IOREDTBL2 = "
        mov eax, [IO_WINDOW]
        call print_hex
        mov byte [IO_WINDOW + 2], 1     ; masked
        mov al, 0x30                    ; counter 0, mode 0: once, after a millisecond
        out 0x43, al
        mov al, 1193 % 256
        out 0x40, al
        mov al, 1193 / 256
        out 0x40, al
        sti
.poll:  mov al, 0xE2                    ; read back the status: bit 7 is the output
        out 0x43, al
        in al, 0x40
        test al, 0x80
        jz .poll
        cli
        cmp dword [ticks], 3
        jne .done
        say ", none while it is masked"
.done:  hlt
tick:   inc dword [ticks]
        apic_set APIC_EOI, 0
        iretd
ticks:  dd 0
