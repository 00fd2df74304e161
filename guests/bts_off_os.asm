; BTS_OFF_OS judges the privilege level of the branch's target: of ring 3 code that calls the system three times, only the
; two IRETs into user code are recorded; the INTs into ring 0 and everything there are absent.
; source: experiment 14-11; SDM vol. 3B, table "CPL-Qualified Branch Trace Store Encodings".
;
; cpu    all
; screen BTS index 00400130
; screen 0000E883 -> 00009010
; screen 0000E883 -> 00009017
; ds     bts_index 400130
; ds     bts 0 e883 9010
; ds     bts 1 e883 9017
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
%include "ds.inc"
        multiboot_header start
%include "print32.inc"
%include "flat32.inc"

start:  enter_flat32
        set_gate 0x40, service, 0xEE00
        set_ds BTS_BASE + 11 * BTS_RECORD, PEBS_BASE + 10 * 176, PEBS_BASE + 10 * 176
        mov ax, USER_DATA
        mov ds, ax
        mov es, ax
        push dword USER_DATA
        push dword STACK_TOP - 0x2000
        pushfd
        push dword USER_CODE
        push dword user
        iretd

        place_at 0x9000
user:   mov ebx, DEBUGCTL_TR | DEBUGCTL_BTS | DEBUGCTL_BTS_OFF_OS
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        nop
        int 0x40                        ; 900EH: on; returns to 9010H, which is recorded
        mov ebx, 0xFFFFFFFF
        int 0x40                        ; 9015H: nothing; the IRET is recorded
        xor ebx, ebx
        int 0x40                        ; off
        mov ebx, 0xFFFFFFFE
        int 0x40                        ; shows what was recorded; does not return

        place_at 0xE800
; INT 40H. EBX: DEBUGCTL, FFFFFFFFH nothing, FFFFFFFEH show and stop
service:
        cmp ebx, 0xFFFFFFFE
        je show
        ja leave_service
        mov ecx, IA32_DEBUGCTL
        xor edx, edx
        mov eax, ebx
        wrmsr
leave_service:
        jmp return
        place_at 0xE883
return: iretd

show:   mov ax, KERNEL_DATA
        mov ds, ax
        mov es, ax
        say "BTS index "
        mov eax, [DS_BTS_INDEX]
        call print_hex
        call new_line
        mov ebp, BTS_BASE
.next:  cmp ebp, [DS_BTS_INDEX]
        jae .done
        mov eax, [ebp]
        call print_hex
        say " -> "
        mov eax, [ebp + 8]
        call print_hex
        call new_line
        add ebp, BTS_RECORD
        jmp .next
.done:  cli
        hlt
