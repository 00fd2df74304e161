; Thread-local storage as 64-bit kernels do it: the FS selector is null, IA32_FS_BASE names the thread's block, and a
; return to ring 3 (IRETQ, SYSRET) leaves that base alone. A segment of ring 0 does not survive the return.
; source: SDM vol. 3A, "Segment Loading Instructions in IA-32e Mode"; vol. 2, IRET, SYSRET, SYSCALL.
;
; cpu    all
; screen ring 0 reads TLS0
; screen ring 3 reads TLS0 and TLS1
; screen ring 3 after SYSRET reads TLS0 and TLS1
        bits 32
%define ORIGIN 0x10000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
        multiboot_header start
%include "long64.inc"
        bits 64
%include "print64.inc"
        bits 32
start:  enter_long
        xor eax, eax
        mov fs, ax
        mov gs, ax
        mov ecx, 0xC0000100             ; IA32_FS_BASE, then IA32_GS_BASE
        mov eax, block0
        xor edx, edx
        wrmsr
        inc ecx
        mov eax, block1
        wrmsr
        say "ring 0 reads "
        mov rsi, [fs:0]
        call print_text
        call new_line
        mov ecx, IA32_EFER
        rdmsr
        or eax, 1                       ; SCE
        wrmsr
        mov ecx, 0xC0000081             ; IA32_STAR, then IA32_LSTAR
        mov eax, 0
        mov edx, KERNEL_CODE | (USER_DATA - 8) << 16
        wrmsr
        inc ecx
        mov eax, entered
        xor edx, edx
        wrmsr
        push USER_DATA
        push STACK_TOP - 0x800
        push 2
        push USER_CODE
        push user
        iretq
entered:
        o64 sysret
user:   say "ring 3 "
        call show_both
        syscall
        say "ring 3 after SYSRET "
        call show_both
        jmp $
show_both:
        say "reads "
        mov rsi, [fs:0]
        call print_text
        say " and "
        mov rsi, [gs:0]
        call print_text
        call new_line
        ret
        align 8
block0: dq name0
block1: dq name1
name0:  db "TLS0", 0
name1:  db "TLS1", 0
