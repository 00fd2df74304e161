; Text of 40 columns by the BIOS, in text mode 1 and then in CGA's graphics mode 4: what is shown at the end is the text
; of the mode that was set last.
; source: IBM PS/2 and PC BIOS Interface Technical Reference, "INT 10H".
;
; cpu    skylake-server
; boot   image
; screen 40 columns, then the next row begins her
; screen e
; screen mode 4 keeps its text
        bits 16
%include "say16.inc"
        org 0x7C00
start:  xor ax, ax
        mov ds, ax
        mov ss, ax
        mov sp, 0x7C00
        mov ax, 1
        int 0x10
        say16 "of mode 1"
        mov ax, 4
        int 0x10
        say16 "40 columns, then the next row begins here"
        call new_line16
        say16 "mode 4 keeps its text"
        mov ax, 0x0C03                  ; and a pixel is no character
        xor cx, cx
        xor dx, dx
        int 0x10
        cli
        hlt
%include "print16.inc"
        times 510 - ($ - $$) db 0
        dw 0xAA55
