; A line typed at the BIOS: INT 16H waits for each key, and what is echoed is what came. Then the keyboard controller
; itself, polled with interrupts off: the key's code when it is pressed, and when it is let go.
; source: IBM PC BIOS Interface Technical Reference, "INT 16H"; IBM AT Technical Reference, "Keyboard".
;
; cpu    skylake-server
; boot   image
; options --keys Dir_*<Enter>x
; screen > Dir_*
; screen scan codes 2D AD
        bits 16
%include "say16.inc"
        org 0x7C00
start:  xor ax, ax
        mov ds, ax
        mov ss, ax
        mov sp, 0x7C00
        say16 "> "
.next:  mov ah, 0
        int 0x16
        cmp al, 13
        je .line
        mov ah, 0x0E
        int 0x10
        jmp .next
.line:  call new_line16
.let:   in al, 0x60                     ; Enter is let go
        cmp al, 0x9C
        jne .let
        cli
        say16 "scan codes "
        call take_code
        say16 " "
        call take_code
        cli
        hlt
take_code:
        in al, 0x64
        test al, 1
        jz take_code
        in al, 0x60
        call print_hex8
        ret
print_hex8:
        push ax
        shr al, 4
        call .digit
        pop ax
        and al, 15
.digit: add al, '0'
        cmp al, '9'
        jbe .put
        add al, 7
.put:   mov ah, 0x0E
        int 0x10
        ret
%include "print16.inc"
        times 510 - ($ - $$) db 0
        dw 0xAA55
