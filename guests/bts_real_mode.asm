; The Debug Store works in real-address mode: a boot sector stores branches, with linear addresses, and prints through the BIOS.
; source: SDM vol. 3B, "DS Save Area": "DS save area can be used in real-address mode".
;
; cpu    all
; boot   image
; screen index 00020160
; screen 00007C80 00007C82
; screen 00007C82 00007C84
; screen 00007C84 00007C86
; screen 00007C86 00007C88
; ds     bts_index 20160
; ds     bts 0 7c80 7c82
; ds     bts 3 7c86 7c88
        bits 16
        org 0x7C00
%include "msr.inc"
%define AREA 0x20000
%define BUFFER 0x20100
start:  cli
        xor ax, ax
        mov ds, ax
        mov ss, ax
        mov sp, 0x7C00
        mov ax, AREA >> 4
        mov es, ax
        mov dword [es:0x00], BUFFER
        mov dword [es:0x08], BUFFER
        mov dword [es:0x10], BUFFER + 10 * 24
        mov dword [es:0x18], BUFFER + 11 * 24
        wrmsr_const IA32_DS_AREA, 0, AREA
        mov ecx, IA32_DEBUGCTL
        mov eax, DEBUGCTL_TR | DEBUGCTL_BTS
        times 0x7E - ($ - $$) nop
        wrmsr
%rep 4
        jmp short $+2
%endrep
        xor eax, eax
        wrmsr

        mov si, text
.text:  lodsb
        test al, al
        jz .index
        call put
        jmp .text
.index: mov eax, [es:0x08]
        call hex
        mov di, 0x100
        mov cx, 4
.record:
        mov al, 13
        call put
        mov al, 10
        call put
        mov eax, [es:di]
        call hex
        mov al, ' '
        call put
        mov eax, [es:di + 8]
        call hex
        add di, 24
        loop .record
        cli
        hlt

; EAX as eight digits
hex:    push cx
        mov cx, 8
.next:  rol eax, 4
        push eax
        and al, 15
        cmp al, 10
        sbb al, 0x69
        das
        call put
        pop eax
        loop .next
        pop cx
        ret

put:    mov ah, 0x0E
        mov bx, 7
        int 0x10
        ret
text:   db "index ", 0
        times 510 - ($ - $$) db 0
        dw 0xAA55
