; Graphics: mode 13H by the BIOS, a picture with all 256 colours, two colours changed through the DAC's ports. There
; is no text on the screen; --screenshot writes the picture, and tests/machine/boot_test.py compares it.
; source: IBM VGA XGA Technical Reference, "Video BIOS Modes", "Video DAC".
;
; cpu    skylake-server
; boot   image
        bits 16
        org 0x7C00
start:  xor ax, ax
        mov ds, ax
        mov ss, ax
        mov sp, 0x7C00
        mov ax, 0x0013
        int 0x10
        mov ax, 0xA000
        mov es, ax
        xor di, di
        cld
        xor bx, bx                      ; row
row:    mov cx, 320
.pixel: mov al, cl
        add al, bl
        stosb
        loop .pixel
        inc bx
        cmp bx, 200
        jb row
        mov dx, 0x3C8
        mov al, 1
        out dx, al
        inc dx
        mov al, 63                      ; 1: red; 2: green
        out dx, al
        xor al, al
        out dx, al
        out dx, al
        out dx, al
        mov al, 63
        out dx, al
        xor al, al
        out dx, al
        mov ax, 0x0C01                  ; a pixel by the BIOS
        mov cx, 319
        mov dx, 199
        int 0x10
        cli
        hlt
        times 510 - ($ - $$) db 0
        dw 0xAA55
