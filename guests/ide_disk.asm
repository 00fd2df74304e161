; A kernel with a disk driver of its own: IDENTIFY, two sectors by LBA28 with REP INSW, a sector written and read
; again, an address past the end refused, IRQ14 counted.
; source: ATA-4, "Command Descriptions".
;
; cpu    skylake-server
; boot   image
; options --drive disk
; screen zeroskid virtual disk, 64 sectors
; screen sector 40: 2828, sector 41: 2929
; screen sector 50 after writing: 7777
; screen sector 64: status 51 error 10
; screen IRQ14 came 6 times
        bits 16
%include "say16.inc"
        org 0x7C00
start:  cli
        xor ax, ax
        mov ds, ax
        mov es, ax
        mov ss, ax
        mov sp, 0x7C00
        mov word [4 * 0x76], irq14
        mov word [4 * 0x76 + 2], 0
        sti
        cld
        mov ax, 0x0202                  ; the rest of this program, by the BIOS
        mov bx, 0x7E00
        mov cx, 2
        mov dh, 0
        int 0x13
        jc $
        jmp more
irq14:  push ax
        inc word [cs:count]
        mov al, 0x20
        out 0xA0, al
        out 0x20, al
        pop ax
        iret
count:  dw 0
; AL: command, EBX: sector, CL: how many
command:
        push ax
        mov dx, 0x1F6
        mov eax, ebx
        shr eax, 24
        or al, 0xE0
        out dx, al
        mov dx, 0x1F2
        mov al, cl
        out dx, al
        mov eax, ebx
        inc dx
        out dx, al
        shr eax, 8
        inc dx
        out dx, al
        shr eax, 8
        inc dx
        out dx, al
        mov dx, 0x1F7
        pop ax
        out dx, al
.wait:  in al, dx
        test al, 0x80
        jnz .wait
        ret
read_sector:
        mov dx, 0x1F0
        mov cx, 256
        rep insw
        ret
%include "print16.inc"
        times 510 - ($ - $$) db 0
        dw 0xAA55

more:   mov al, 0xEC
        xor ebx, ebx
        mov cl, 0
        call command
        mov di, 0x3000
        call read_sector
        mov si, 0x3000 + 27 * 2
        mov cx, 10
.name:  lodsw                           ; 20 of its letters, and one more
        xchg al, ah
        call print_character16
        mov al, ah
        call print_character16
        loop .name
        mov al, [0x3000 + 27 * 2 + 21]
        call print_character16
        say16 ", "
        mov ax, [0x3000 + 60 * 2]
        call print_decimal16
        say16 " sectors"
        call new_line16
        mov al, 0x20
        mov ebx, 40
        mov cl, 2
        call command
        mov di, 0x4000
        call read_sector
        call read_sector
        say16 "sector 40: "
        mov ax, [0x4000]
        call show
        say16 ", sector 41: "
        mov ax, [0x4200]
        call show
        call new_line16
        mov al, 0x30
        mov ebx, 50
        mov cl, 1
        call command
        mov word [0x4000], 0x7777
        mov si, 0x4000
        mov dx, 0x1F0
        mov cx, 256
        rep outsw
        mov al, 0x20
        mov ebx, 50
        mov cl, 1
        call command
        mov di, 0x5000
        call read_sector
        say16 "sector 50 after writing: "
        mov ax, [0x5000]
        call show
        call new_line16
        mov al, 0x20
        mov ebx, 64
        mov cl, 1
        call command
        mov ah, al
        mov dx, 0x1F1
        in al, dx
        push ax
        say16 "sector 64: status "
        mov al, ah
        call show_byte
        say16 " error "
        pop ax
        call show_byte
        call new_line16
        say16 "IRQ14 came "
        mov ax, [count]
        call print_decimal16
        say16 " times"
        cli
        hlt
; AX, AL as digits
show:   push ax
        mov al, ah
        call show_byte
        pop ax
show_byte:
        push ax
        shr al, 4
        call .digit
        pop ax
        push ax
        and al, 15
        call .digit
        pop ax
        ret
.digit: add al, '0'
        cmp al, '9'
        jbe .put
        add al, 7
.put:   jmp print_character16
        times 40 * 512 - ($ - $$) db 0
        times 512 db 0x28
        times 512 db 0x29
        times 64 * 512 - ($ - $$) db 0
