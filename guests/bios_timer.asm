; A kernel that idles on the timer the BIOS left running: nothing is programmed, interrupts are on, HLT waits, the
; BIOS counts. Then INT 1CH, and the time of INT 1AH with interrupts off, which comes from the clock.
; source: IBM PC BIOS Interface Technical Reference, "INT 08H", "INT 1AH".
;
; cpu    skylake-server westmere
; boot   image
; screen 5 ticks in 5 halts
; screen INT 1Ch came 3 times
; screen interrupts off: 40:6C stands, INT 1Ah goes on
; screen INT 15h waited 18 ticks
        bits 16
%include "say16.inc"
        org 0x7C00
start:  xor ax, ax
        mov ds, ax
        mov es, ax
        mov ss, ax
        mov sp, 0x7C00
        mov eax, [0x46C]
        lea ebx, [eax + 5]
        xor cx, cx
wait_ticks:
        hlt
        inc cx
        cmp [0x46C], ebx
        jb wait_ticks
        say16 "5 ticks in "
        mov ax, cx
        call print_decimal16
        say16 " halts"
        call new_line16

        cli
        mov word [4 * 0x1C], user_tick
        mov word [4 * 0x1C + 2], 0
        sti
.again: hlt
        cmp word [count], 3
        jb .again
        say16 "INT 1Ch came "
        mov ax, [count]
        call print_decimal16
        say16 " times"
        call new_line16

        cli
        mov ebx, [0x46C]
        mov ah, 0x86
        mov cx, 3
        mov dx, 0x0D40                  ; 200,000 microseconds
        int 0x15
        cmp ebx, [0x46C]
        jne .done
        mov ah, 0
        int 0x1A
        cmp dx, bx
        jbe .done
        say16 "interrupts off: 40:6C stands, INT 1Ah goes on"
        call new_line16
        mov bx, dx
        mov ah, 0x86
        mov cx, 0x0F
        mov dx, 0x4240                  ; a million microseconds
        int 0x15
        mov ah, 0
        int 0x1A
        sub dx, bx
        say16 "INT 15h waited "
        mov ax, dx
        call print_decimal16
        say16 " ticks"
.done:  cli
        hlt
user_tick:
        inc word [cs:count]
        iret
count:  dw 0
%include "print16.inc"
        times 510 - ($ - $$) db 0
        dw 0xAA55
