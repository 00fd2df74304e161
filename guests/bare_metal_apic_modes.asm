; A bare-metal 64-bit program that relies only on what the public manual says: brings the local APIC up as memory and then as x2APIC, and
; uses counters, PMI, PEBS and LBR in both.
; source: SDM vol. 3A, "Local APIC", "Extended XAPIC (x2APIC)"; vol. 3B, "Performance Monitoring".
; Each mode: fixed counter 0 overflows once (PMI), a PEBS record of a store is taken, the LBR stack holds the last jump.
;
; cpu    westmere nehalem ivybridge haswell skylake-client skylake-server icelake-server
; screen xAPIC:  version 15, counter PMI 1, IRR clear 1, EOI done
; screen         PEBS record 1, its counter reloaded 1
; screen         LBR newest jump found 1
; screen x2APIC: version 15, counter PMI 1, IRR clear 1, EOI done
; screen         PEBS record 1, its counter reloaded 1
; screen         LBR newest jump found 1
; screen timer interrupts 3, self-IPI 1, task priority held it back 1
; exit   77
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
        multiboot_header start
%include "long64.inc"
        bits 64
%include "print64.inc"
        bits 32
start:  enter_long
        set_gate64 0x52, counter_pmi, 0x8E00
        set_gate64 0x61, timer_tick, 0x8E00
        set_gate64 0x45, self_ipi, 0x8E00
        set_gate64 0xFF, spurious, 0x8E00

        say "xAPIC:  "
        mov ecx, IA32_APIC_BASE
        rdmsr
        test eax, 1 << 11
        jz fail
        mov dword [abs x2], 0
        call all_of_it

        mov ecx, IA32_APIC_BASE         ; EN is set; EXTD beside it
        rdmsr
        or eax, 1 << 10
        wrmsr
        say "x2APIC: "
        mov dword [abs x2], 1
        call all_of_it

        ; The timer: three periods. Divide by 1, vector 61H, periodic.
        mov edi, 0x3E0
        mov eax, 0xB
        call apic_write
        mov edi, 0x320
        mov eax, 0x20061
        call apic_write
        mov edi, 0x380
        mov eax, 1000
        call apic_write
.wait:  sti
        hlt
        cli
        cmp dword [abs ticks], 3
        jb .wait
        mov edi, 0x380
        xor eax, eax
        call apic_write
        say "timer interrupts "
        mov eax, [abs ticks]
        call print_decimal

        ; A self-IPI of class 4, held back by task priority 4 and let through by 3.
        mov eax, 4
        mov cr8, rax
        mov ecx, 0x83F
        mov eax, 0x45
        xor edx, edx
        wrmsr
        sti
        nop
        nop
        cli
        mov ebx, [abs ipis]
        mov eax, 3
        mov cr8, rax
        sti
        nop
        nop
        cli
        say ", self-IPI "
        mov eax, [abs ipis]
        call print_decimal
        say ", task priority held it back "
        xor eax, eax
        test ebx, ebx
        setz al
        call print_decimal
        exit_with 77
fail:   exit_with 1

; ------------------------------------------------------------------------------------------------ the APIC in both modes
x2:     dd 0
; EDI: offset as in xAPIC mode; EAX
apic_write:
        cmp dword [abs x2], 0
        jne .msr
        push rdi
        add edi, 0xFEE00000
        mov [rdi], eax
        pop rdi
        ret
.msr:   push rcx
        push rdx
        mov ecx, edi
        shr ecx, 4
        add ecx, 0x800
        xor edx, edx
        wrmsr
        pop rdx
        pop rcx
        ret
apic_read:
        cmp dword [abs x2], 0
        jne .msr
        push rdi
        add edi, 0xFEE00000
        mov eax, [rdi]
        pop rdi
        ret
.msr:   push rcx
        push rdx
        mov ecx, edi
        shr ecx, 4
        add ecx, 0x800
        rdmsr
        pop rdx
        pop rcx
        ret

; ------------------------------------------------------------------------------------------------ what both modes do
pmis:   dd 0
ticks:  dd 0
ipis:   dd 0
eois:   dd 0
area:   times 8 dq 0
        times 8 dq 0
records: times 512 db 0

all_of_it:
        mov edi, 0x30
        call apic_read
        movzx eax, al
        say "version "
        call print_hex8
        mov edi, 0xF0
        mov eax, 0x1FF
        call apic_write
        mov edi, 0x340
        mov eax, 0x52
        call apic_write

        ; Fixed counter 0 from -1000, ring 0, with PMI.
        mov dword [abs pmis], 0
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 0
        wrmsr_const IA32_FIXED_CTR0, 0xFFFF, -1000
        wrmsr_const IA32_FIXED_CTR_CTRL, 0, 9
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 1, 0
        sti
        mov ecx, 2000
.loop:  dec ecx
        jnz .loop
        cli
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 0
        say ", counter PMI "
        mov eax, [abs pmis]
        call print_decimal
        mov edi, 0x220                  ; IRR of vectors 64 to 95
        call apic_read
        say ", IRR clear "
        test eax, eax
        setz al
        movzx eax, al
        call print_decimal
        mov edi, 0x120                  ; ISR
        call apic_read
        test eax, eax
        jnz fail
        say ", EOI done"
        call new_line

        ; PEBS on PMC0, instructions retired from -50, one record, reload -7.
        mov rax, records
        mov [abs area + 0x20], rax
        mov [abs area + 0x28], rax
        lea rbx, [rax + 448]
        mov [abs area + 0x30], rbx
        mov [abs area + 0x38], rbx
        mov rax, 0xFFFFFFFFFFFF - 1000000
        mov [abs area + 0x40], rax
        mov rax, area
        mov rdx, rax
        shr rdx, 32
        mov ecx, IA32_DS_AREA
        wrmsr
        wrmsr_const IA32_PMC0, 0xFFFFFFFF, -50
        wrmsr_const IA32_PERFEVTSEL0, 0, 0x4200C0
        wrmsr_const IA32_PEBS_ENABLE, 0, 1
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 1
        mov ecx, 100
.more:  dec ecx
        jnz .more
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 0
        wrmsr_const IA32_PEBS_ENABLE, 0, 0
        xor eax, eax
        mov rbx, [abs area + 0x28]
        cmp rbx, [abs area + 0x20]
        seta al
        say "        PEBS record "
        call print_decimal
        mov ecx, IA32_PMC0
        rdmsr
        shl rdx, 32
        or rax, rdx
        mov rbx, 0xFFFFFFFFFFFF - 1000000
        cmp rax, rbx
        seta al
        movzx eax, al
        say ", its counter reloaded "
        call print_decimal
        call new_line

        ; The LBR stack: the newest entry is the jump before it was turned off.
        wrmsr_const IA32_DEBUGCTL, 0, DEBUGCTL_LBR
        mov ecx, 20
.twice: dec ecx
        jnz .twice
.last:  jmp .there
        nop
.there: wrmsr_const IA32_DEBUGCTL, 0, 0
        mov ecx, MSR_LASTBRANCH_TOS
        rdmsr
        lea ecx, [rax + MSR_LASTBRANCH_FROM]
        rdmsr
        mov ebx, eax
        add ecx, MSR_LASTBRANCH_TO - MSR_LASTBRANCH_FROM
        rdmsr
        xor esi, esi
        cmp ebx, .last
        jne .wrong
        cmp eax, .there
        jne .wrong
        inc esi
.wrong: say "        LBR newest jump found "
        mov eax, esi
        call print_decimal
        call new_line
        ret

print_hex8:
        push rcx
        push rax
        shl rax, 56
        mov ecx, 2
        call print_digits
        pop rax
        pop rcx
        ret

counter_pmi:
        push rax
        push rcx
        push rdx
        push rdi
        mov ecx, IA32_PERF_GLOBAL_STATUS
        rdmsr
        test edx, 1
        jz .not
        inc dword [abs pmis]
.not:   mov ecx, IA32_PERF_GLOBAL_OVF_CTRL
        wrmsr
        mov edi, 0x340
        mov eax, 0x52
        call apic_write
        jmp finish
timer_tick:
        push rax
        push rcx
        push rdx
        push rdi
        inc dword [abs ticks]
        jmp finish
self_ipi:
        push rax
        push rcx
        push rdx
        push rdi
        inc dword [abs ipis]
finish: mov edi, 0xB0
        xor eax, eax
        call apic_write
        pop rdi
        pop rdx
        pop rcx
        pop rax
spurious:
        iretq
