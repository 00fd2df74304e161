; A first kernel: it brings an IDT and no GDT, and takes an interrupt and loads segments by the one that the loader left.
; source: "Multiboot Specification version 0.6.96", "Machine state", leaves GDTR undefined; loaders leave flat segments.
;
; cpu    skylake-server
; screen interrupted and returned
        bits 32
        org 0x10000
%include "multiboot.inc"
        multiboot_header start
%include "print32.inc"
start:  mov esp, 0x80000
        mov eax, handler
        mov [idt + 0x40 * 8], ax
        mov [idt + 0x40 * 8 + 2], cs
        mov word [idt + 0x40 * 8 + 4], 0x8E00
        shr eax, 16
        mov [idt + 0x40 * 8 + 6], ax
        lidt [idt_pointer]
        mov ax, ds
        mov es, ax
        mov ss, ax
        int 0x40
        say " and returned"
        hlt
handler:
        say "interrupted"
        iretd
idt_pointer:
        dw 0x41 * 8 - 1
        dd idt
        align 8
idt:    times 0x41 dq 0
