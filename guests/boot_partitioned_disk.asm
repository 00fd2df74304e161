; A disk of 64 KiB with a partition table is a hard disk, small as it is: DL is 80H, the geometry is that of the
; table's CHS fields, extensions are there. The first stage moves away, loads the second by CHS, that reads and
; writes by packet.
; source: Enhanced Disk Drive Specification 3.0; the layout of a master boot record.
;
; cpu    skylake-server westmere
; boot   image
; screen drive 00000080
; screen cylinders 2 heads 4 sectors 16
; screen extensions AA55 version 00000021
; screen sector 100 holds 6464, after writing 1234
        bits 16
%include "say16.inc"
        org 0x600
%define SECTORS 128
start:  cli
        xor ax, ax
        mov ds, ax
        mov es, ax
        mov ss, ax
        mov sp, 0x7C00
        cld
        mov si, 0x7C00                  ; away from where a boot sector loads
        mov di, 0x600
        mov cx, 256
        rep movsw
        jmp 0:moved
moved:  sti
        mov [drive], dl
        mov ax, 0x0204                  ; four sectors of the second stage
        mov bx, 0x800
        mov cx, 2
        mov dh, 0
        int 0x13
        jc failed
        jmp second
failed: say16 "cannot read"
        cli
        hlt
drive:  db 0
%include "print16.inc"
        times 0x1BE - ($ - $$) db 0
        db 0x80, 1, 1, 0                ; active; head 1, sector 1, cylinder 0
        db 0x0C, 3, 16, 1               ; ends at head 3, sector 16, cylinder 1
        dd 16, SECTORS - 16
        times 510 - ($ - $$) db 0
        dw 0xAA55

second: say16 "drive "
        movzx eax, byte [drive]
        call print_hex16
        call new_line16
        mov ah, 8
        mov dl, [drive]
        int 0x13
        say16 "cylinders "
        movzx ax, ch
        inc ax
        call print_decimal16
        say16 " heads "
        movzx ax, dh
        inc ax
        call print_decimal16
        say16 " sectors "
        mov ax, cx
        and ax, 63
        call print_decimal16
        call new_line16
        mov ah, 0x41
        mov bx, 0x55AA
        mov dl, [drive]
        int 0x13
        jc failed
        mov [version], ah
        cmp bx, 0xAA55
        jne failed
        say16 "extensions AA55 version "
        movzx eax, byte [version]
        call print_hex16
        call new_line16
        mov ah, 0x42
        call packet_call
        say16 "sector 100 holds "
        call show
        mov word [0x3000], 0x1234
        mov ax, 0x4300
        call packet_call
        mov word [0x3000], 0
        mov ah, 0x42
        call packet_call
        say16 ", after writing "
        call show
        cli
        hlt
packet_call:
        mov si, packet
        mov dl, [drive]
        int 0x13
        jc failed
        ret
; The word at 3000H as four digits
show:   movzx eax, word [0x3000]
        mov edi, eax
        mov cx, 4
        shl edi, 16
.next:  rol edi, 4
        mov ax, di
        and al, 15
        add al, '0'
        call print_character16
        loop .next
        ret
version: db 0
packet: db 16, 0
        dw 1, 0x3000, 0
        dq 100
        times 100 * 512 - ($ - $$) db 0
        times 512 db 0x64
        times SECTORS * 512 - ($ - $$) db 0
