; BTS in 64-bit mode: records carry 64-bit linear addresses. A call to the top of the address space, six jumps there, and the
; return.
; source: experiment 14-12; SDM vol. 3B, "64-bit Branch Trace Record".
;
; cpu    all
; screen 00000000000102C0 -> FFFFFFF810000000
; screen FFFFFFF810000000 -> FFFFFFF810000002
; screen FFFFFFF810000002 -> FFFFFFF810000004
; screen FFFFFFF810000004 -> FFFFFFF810000006
; screen FFFFFFF810000006 -> FFFFFFF810000008
; screen FFFFFFF810000008 -> FFFFFFF81000000A
; screen FFFFFFF81000000A -> FFFFFFF81000000C
; screen FFFFFFF81000000C -> 00000000000102C2
; screen 8 records
; ds     bts_index 4001c0
; ds     bts 0 102c0 fffffff810000000
; ds     bts 7 fffffff81000000c 102c2
        bits 32
%define ORIGIN 0x10000
%define FAR_CODE 0xFFFFFFF810000000
%define FAR_PHYSICAL 0x600000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
%include "ds.inc"
        multiboot_header start
        bits 64
        place_at 0x102BB
on:     wrmsr
        mov rax, rbx
        call rax                        ; 102C0H
        mov ecx, IA32_DEBUGCTL
        xor edx, edx
        xor eax, eax
        wrmsr
        jmp show_records

        bits 32
%include "long64.inc"
        bits 64
%include "print64.inc"
        bits 32
start:  enter_long
        set_ds BTS_BASE + 11 * BTS_RECORD, PEBS_BASE + 10 * 176, PEBS_BASE + 10 * 176

        ; PML4 entry 511, PDPT entry 480, page directory entry 128
        mov qword [abs PML4 + 511 * 8], FREE_TABLES | 7
        mov qword [abs FREE_TABLES + 480 * 8], (FREE_TABLES + 0x1000) | 7
        mov qword [abs FREE_TABLES + 0x1000 + 128 * 8], FAR_PHYSICAL | 0x87
        mov rsi, far_code
        mov rdi, FAR_CODE
        mov ecx, far_code_end - far_code
        rep movsb

        mov rbx, FAR_CODE
        mov ecx, IA32_DEBUGCTL
        xor edx, edx
        mov eax, DEBUGCTL_TR | DEBUGCTL_BTS
        jmp on

show_records:
        mov rbp, BTS_BASE
        xor ebx, ebx
show:   cmp rbp, [abs DS_BTS_INDEX]
        jae done
        mov rax, [rbp]
        call print_hex
        say " -> "
        mov rax, [rbp + 8]
        call print_hex
        call new_line
        inc ebx
        add rbp, BTS_RECORD
        jmp show
done:   mov eax, ebx
        call print_decimal
        say " records"
        cli
        hlt

far_code:
%rep 6
        jmp $+2
%endrep
        ret
far_code_end:
