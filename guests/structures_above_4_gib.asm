; A 64-bit kernel whose GDT, IDT, TSS and interrupt stack lie above 4 GiB, and that runs 32-bit code: an interrupt
; out of compatibility mode, and a segment register loaded there, find the tables all the same.
; source: SDM vol. 3A, "Segment Descriptor Tables in IA-32e Mode": bases have 64 bits; "64-Bit Mode IDT".
;
; cpu    all
; screen from 64-bit code:   CS 00000008 RSP FFFF8000401FFFD8
; screen from 32-bit code:   CS 00000030 RSP FFFF8000401FFFD8
; screen ES loaded in 32-bit code: 00000010
; screen INT 41h without IST: RSP 0000000000070FD8
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
        multiboot_header start
%include "long64.inc"

%define HIGH 0xFFFF800040000000         ; maps the first GiB once more; its low half is no memory
%define COMPAT_CODE 0x30

start:  enter_long
        mov qword [abs FREE_TABLES], 0
        mov qword [abs FREE_TABLES + 8], PAGE_DIRECTORIES | 7
        mov qword [abs PML4 + 256 * 8], FREE_TABLES | 7
        mov rax, cr3
        mov cr3, rax
        ; tables at 2 MiB - 64 KiB and up, reached through their high addresses only
        mov rsi, long_gdt
        mov rdi, HIGH + 0x1F0000
        mov rcx, 7
        rep movsq
        mov rax, 0x00CF9B000000FFFF     ; selector 30H: 32-bit code; over the upper half of the old TSS descriptor
        mov rdi, HIGH + 0x1F0000
        mov rbx, HIGH + 0x1F4000        ; the TSS
        mov word [rdi + 0x38], 0x67
        mov [rdi + 0x3A], bx
        mov rcx, rbx
        shr rcx, 16
        mov [rdi + 0x3C], cl
        mov word [rdi + 0x3D], 0x0089
        mov [rdi + 0x3F], ch
        shr rcx, 16
        mov [rdi + 0x40], ecx
        mov dword [rdi + 0x44], 0
        mov [rdi + COMPAT_CODE], rax
        mov qword [rbx + 0x24], 0
        mov rcx, HIGH + 0x200000
        mov [rbx + 0x24], rcx           ; IST1
        set_gate64 0x40, handler, 0x8E00
        set_gate64 0x41, plain_handler, 0x8E00
        mov byte [abs LONG_IDT + 0x40 * 16 + 4], 1
        mov rsi, LONG_IDT
        mov rdi, HIGH + 0x1F1000
        mov rcx, 512
        rep movsq
        lgdt [gdt_pointer]
        lidt [idt_pointer]
        mov ax, 0x38
        ltr ax
        ; the old tables are gone
        xor eax, eax
        mov rdi, LONG_IDT
        mov rcx, 512
        rep stosq
        mov rdi, long_gdt
        mov rcx, 7
        rep stosq

        lea rsi, [from64]
        call print_text
        int 0x40
        call new_line
        lea rsi, [from32]
        call print_text
        push COMPAT_CODE
        push compat
        o64 retf
        bits 32
compat: int 0x40
        mov ax, KERNEL_DATA
        mov es, ax
        mov ebp, es
        mov esp, 0x71000
        int 0x41
        jmp KERNEL_CODE:back
        bits 64
back:   call new_line
        lea rsi, [loaded]
        call print_text
        mov eax, ebp
        call print_hex32
        call new_line
        lea rsi, [without]
        call print_text
        mov rax, [saved]
        call print_hex
        cli
        hlt
handler:
        push rax
        push rsi
        mov eax, [rsp + 24]             ; CS
        call print_hex32
        lea rsi, [rsp_is]
        call print_text
        lea rax, [rsp + 16]
        call print_hex
        pop rsi
        pop rax
        iretq
plain_handler:
        mov [saved], rsp
        iretq
%include "print64.inc"
from64: db "from 64-bit code:   CS ", 0
from32: db "from 32-bit code:   CS ", 0
rsp_is: db " RSP ", 0
loaded: db "ES loaded in 32-bit code: ", 0
without: db "INT 41h without IST: RSP ", 0
saved:  dq 0
gdt_pointer:
        dw 0x47
        dq HIGH + 0x1F0000
idt_pointer:
        dw 4095
        dq HIGH + 0x1F1000
