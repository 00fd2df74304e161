; A floppy as GRUB Legacy writes it: its first stage asks for the geometry, probes for the track's length with the
; table that lies where a partition table would, and reads the second stage sector by sector to where that wants to
; be. The second opens A20 through the keyboard controller (reads the output port, sets the bit, writes it), and
; prints the memory map.
; source: IBM AT Technical Reference, "Keyboard Controller"; ACPI specification, "INT 15H, E820H".
;
; cpu    skylake-server westmere
; boot   image
; screen sectors of a track: 18
; screen A20 is open
; screen 00000000 0009FC00 00000001
; screen 0009FC00 00000400 00000002
; screen 000F0000 00010000 00000002
; screen 00100000 1FF00000 00000001
; screen FEC00000 00001000 00000002
; screen FEE00000 00001000 00000002
; screen FFFF0000 00010000 00000002
; screen AH=88h: 64512 KiB, E801h: 15360 and 7936
        bits 16
%include "say16.inc"
        org 0x7C00
%define STAGE2 0x8000
%define STAGE2_SECTORS 4
start:  cli
        xor ax, ax
        mov ds, ax
        mov es, ax
        mov ss, ax
        mov sp, 0x2000
        sti
        mov [drive], dl
        mov ah, 0x41                    ; extensions? a floppy has none
        mov bx, 0x55AA
        int 0x13
        jnc failed
        mov si, probe - 1
next:   inc si
        mov al, [si]
        test al, al
        jz failed
        movzx cx, al                    ; can its last sector be read?
        mov ax, 0x0201
        mov bx, 0x7000
        mov dx, 0
        int 0x13
        jc next
        mov [track], cl
        mov di, STAGE2_SECTORS
        mov bx, STAGE2
        mov cx, 2
read:   mov ax, 0x0201
        mov dh, 0
        mov dl, [drive]
        int 0x13
        jc failed
        add bx, 512
        inc cx
        dec di
        jnz read
        jmp 0:second
failed: mov ax, 0x0E46
        mov bx, 7
        int 0x10
        cli
        hlt
drive:  db 0
track:  db 0
        times 0x1BE - ($ - $$) db 0
probe:  db 36, 18, 15, 9, 0
        times 510 - ($ - $$) db 0
        dw 0xAA55

stage2_file:
        section stage2 vstart=STAGE2 follows=.text
second: say16 "sectors of a track: "
        movzx ax, byte [track]
        call print_decimal16
        call new_line16
        ; closed first, by the BIOS
        mov ax, 0x2400
        int 0x15
        call wrapped
        je .closed
        jmp stuck
.closed:
        call command_ready
        mov al, 0xD0
        out 0x64, al
.answer:
        in al, 0x64
        test al, 1
        jz .answer
        in al, 0x60
        push ax
        call command_ready
        mov al, 0xD1
        out 0x64, al
        call command_ready
        pop ax
        or al, 2
        out 0x60, al
        call command_ready
        call wrapped
        je stuck
        say16 "A20 is open"
        call new_line16
        xor ebx, ebx
.range: mov eax, 0xE820
        mov edx, 0x534D4150
        mov ecx, 24
        mov di, 0x500
        int 0x15
        jc stuck
        cmp eax, 0x534D4150
        jne stuck
        mov eax, [0x500]
        call print_hex16
        mov al, ' '
        call print_character16
        mov eax, [0x508]
        call print_hex16
        mov al, ' '
        call print_character16
        mov eax, [0x510]
        call print_hex16
        call new_line16
        test ebx, ebx
        jnz .range
        say16 "AH=88h: "
        mov ah, 0x88
        int 0x15
        call print_decimal16
        say16 " KiB, E801h: "
        mov ax, 0xE801
        int 0x15
        push bx
        call print_decimal16
        say16 " and "
        pop ax
        call print_decimal16
        cli
        hlt
stuck:  say16 "stuck"
        cli
        hlt
command_ready:
        in al, 0x64
        test al, 2
        jnz command_ready
        ret
; ZF: what is written at FFFF:0510 shows at 0000:0500
wrapped:
        push es
        mov ax, 0xFFFF
        mov es, ax
        mov word [0x500], 0x1111
        mov word [es:0x510], 0x2222
        cmp word [0x500], 0x2222
        pop es
        ret
%include "print16.inc"
        times STAGE2_SECTORS * 512 - ($ - $$) db 0
