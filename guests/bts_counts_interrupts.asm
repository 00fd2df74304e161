; Counting Debug Store interrupts: while a line of text is printed, each full buffer of ten records interrupts, and the handler
; counts and starts the buffer again. 19 interrupts and an index of two records: 19 x 10 + 2 = 192 records.
; source: experiment 14-13; SDM vol. 3B, "BTS Buffer": with BTINT = 1 the buffer interrupts.
; The interrupt that a full buffer raises finds no room for its own record; the handler's IRET is the first of the next ten.
;
; cpu    all
; screen Nineteen interrupts from one line
; screen 19 interrupts, index 00400130, 192 records
; ds     bts_index 400130
        bits 32
%define ORIGIN 0x10000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
%include "apic.inc"
%include "ds.inc"
        multiboot_header start
%include "long64.inc"
        bits 64
%include "print64.inc"
        bits 32
start:  enter_long
        set_gate64 PMI_VECTOR, pmi, 0x8E00
        apic_set APIC_SVR, 0x1FF
        apic_set APIC_LVT_PC, PMI_VECTOR
        set_ds BTS_MAXIMUM, PEBS_BASE + 10 * 176, PEBS_BASE + 10 * 176
        sti
        wrmsr_const IA32_DEBUGCTL, 0, DEBUGCTL_TR | DEBUGCTL_BTS | DEBUGCTL_BTINT
        mov rsi, line
        call print_line
        wrmsr_const IA32_DEBUGCTL, 0, 0

        mov eax, [abs interrupts]
        call print_decimal
        say " interrupts, index "
        mov eax, [abs DS_BTS_INDEX]
        call print_hex32
        say ", "
        mov ecx, [abs DS_BTS_INDEX]
        sub ecx, BTS_BASE
        xor edx, edx
        mov eax, ecx
        mov ecx, BTS_RECORD
        div ecx
        imul ecx, [abs interrupts], 10
        add eax, ecx
        call print_decimal
        say " records"
        cli
        hlt

interrupts: dd 0
line:   db "Nineteen interrupts from one line", 10, 0

; RSI: the text. Five branches for each of its 34 characters, three more for the whole: 173; 19 IRETs make 192.
print_line:
        mov al, [rsi]
        inc rsi
        test al, al
        jz .done
        call .one
        jmp print_line
.done:  ret
.one:   jmp print_character

pmi:    push rax
        push rcx
        push rdx
        wrmsr_const IA32_DEBUGCTL, 0, 0
        inc dword [abs interrupts]
        mov qword [abs DS_BTS_INDEX], BTS_BASE
        apic_set APIC_LVT_PC, PMI_VECTOR
        apic_set APIC_EOI, 0
        wrmsr_const IA32_DEBUGCTL, 0, DEBUGCTL_TR | DEBUGCTL_BTS | DEBUGCTL_BTINT
        pop rdx
        pop rcx
        pop rax
        iretq
