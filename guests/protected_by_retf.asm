; A boot sector that goes to protected mode with pushes and RETF in place of a far jump, and prints from there. Between
; MOV CR0 and the first loads SS, DS and ES are what real mode loaded: selector 0, base 0, writable. They serve until
; they are loaded anew; only a load in protected mode makes a null selector an unusable segment.
; source: SDM vol. 3A, "Switching to Protected Mode", "Segment Registers".
;
; cpu    all
; boot   image
; screen protected by RETF
        bits 16
        org 0x7C00
        cli
        xor ax, ax
        mov ds, ax
        mov es, ax
        mov ss, ax
        mov sp, 0x7C00
        lgdt [pointer]
        mov eax, cr0
        or al, 1
        mov cr0, eax
        push dword 8
        push dword inside
        o32 retf
        bits 32
inside: mov word [es:0x7000], 0x0700 + 'p'      ; ES still is real mode's
        mov ax, 16
        mov ds, ax
        mov ax, [0x7000]
        mov edi, 0xB8000
        mov esi, text
.next:  mov [edi], ax
        add edi, 2
        lodsb
        test al, al
        jnz .next
        hlt
text:   db "rotected by RETF", 0
        align 8
gdt:    dq 0, 0x00CF9A000000FFFF, 0x00CF92000000FFFF
pointer:
        dw 23
        dd gdt
        times 510 - ($ - $$) db 0
        dw 0xAA55
