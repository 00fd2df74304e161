; A second bare-metal 64-bit program that relies only on what the public manual says: a profiler of ring 3 code. PMIs are NMIs,
; counters count user code only, PEBS fills a buffer of four records, the LBR stack leaves out the kernel; first with the APIC
; as memory, then as x2APIC.
; source: SDM vol. 3A, "Local APIC", "Nonmaskable Interrupt"; vol. 3B, "Performance Monitoring".
; The user code is two loops, 6001 and 2001 instructions: sampled every 997, six and two samples. INT 80H leaves it.
;
; cpu    westmere nehalem ivybridge haswell skylake-client skylake-server icelake-server
; screen xAPIC
; screen samples: first loop 6, second loop 2, elsewhere 0
; screen PEBS: 4 records, 4 of them in ring 3, buffer interrupts 1
; screen LBR: newest is the second loop's branch 1
; screen x2APIC
; screen samples: first loop 6, second loop 2, elsewhere 0
; screen PEBS: 4 records, 4 of them in ring 3, buffer interrupts 1
; screen LBR: newest is the second loop's branch 1
        bits 32
%define ORIGIN 0x8000
%define PERIOD 997
%define USER_STACK 0x70000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
        multiboot_header boot
%include "long64.inc"
        bits 64
%include "print64.inc"
        bits 32
boot:   enter_long
        set_gate64 2, nmi, 0x8E00
        set_gate64 0x80, leave_user, 0xEE00

        say "xAPIC"
        call new_line
        call profile
        mov ecx, IA32_APIC_BASE
        rdmsr
        or eax, 0x400
        wrmsr
        mov byte [abs mode], 1
        say "x2APIC"
        call new_line
        call profile
        cli
        hlt

mode:      db 0
           align 8
kernel_sp: dq 0
in_first:  dd 0
in_second: dd 0
nowhere:   dd 0
buffers:   dd 0
sampling:  dd 0
           align 64
store:     times 16 dq 0                ; the DS management area
samples:   times 4 * 200 db 0

; ---- user code
user:   mov ecx, 3000
.first: dec ecx
        jnz .first
user_second:
        mov ecx, 1000
.loop:  dec ecx
.branch:
        jnz .loop
        int 0x80
user_end:

; Runs it once; returns behind INT 80H.
run_user:
        mov [abs kernel_sp], rsp
        push qword USER_DATA
        push qword USER_STACK
        push qword 0x202
        push qword USER_CODE
        mov rax, user
        push rax
        iretq
leave_user:
        mov rsp, [abs kernel_sp]
        ret

; ---- the handler
nmi:    push rax
        push rcx
        push rdx
        push rbx
        mov ecx, IA32_PERF_GLOBAL_STATUS
        rdmsr
        mov ebx, edx
        push rax
        mov ecx, IA32_PERF_GLOBAL_OVF_CTRL
        wrmsr
        pop rax
        test ebx, OVF_BUFFER
        jz .no_buffer
        inc dword [abs buffers]
.no_buffer:
        test al, 1
        jz .done
        mov rax, [rsp + 32]
        mov rbx, user
        cmp rax, rbx
        jb .nowhere
        mov rbx, user_end
        cmp rax, rbx
        jae .nowhere
        mov rbx, user_second
        cmp rax, rbx
        jae .second
        inc dword [abs in_first]
        jmp .reload
.second:
        inc dword [abs in_second]
        jmp .reload
.nowhere:
        inc dword [abs nowhere]
.reload:
        cmp dword [abs sampling], 0
        je .done
        call load_period
.done:  call unmask_as_nmi
        pop rbx
        pop rdx
        pop rcx
        pop rax
        iretq

load_period:
        mov ecx, IA32_PMC0
        mov edx, 0
        mov eax, -PERIOD
        wrmsr
        ret

unmask_as_nmi:
        mov eax, 0x400
        cmp byte [abs mode], 0
        jne .msr
        mov ecx, 0xFEE00340
        mov [rcx], eax
        ret
.msr:   mov ecx, 0x834
        xor edx, edx
        wrmsr
        ret

enable_apic:
        mov eax, 0x1FF
        cmp byte [abs mode], 0
        jne .msr
        mov ecx, 0xFEE000F0
        mov [rcx], eax
        ret
.msr:   mov ecx, 0x80F
        xor edx, edx
        wrmsr
        ret

; ---- the three measurements
profile:
        call enable_apic
        call unmask_as_nmi
        mov dword [abs in_first], 0
        mov dword [abs in_second], 0
        mov dword [abs nowhere], 0
        mov dword [abs sampling], 1
        call load_period
        wrmsr_const IA32_PERFEVTSEL0, 0, 0x5100C0       ; USR, INT, EN
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 1
        call run_user
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 0
        mov dword [abs sampling], 0
        say "samples: first loop "
        mov eax, [abs in_first]
        call print_decimal
        say ", second loop "
        mov eax, [abs in_second]
        call print_decimal
        say ", elsewhere "
        mov eax, [abs nowhere]
        call print_decimal
        call new_line

        ; PEBS: four records.
        mov ecx, IA32_PERF_CAPABILITIES
        rdmsr
        shr eax, 8
        and eax, 15
        movzx ebp, byte [abs sizes + rax]
        mov rax, samples
        mov [abs store + 0x20], rax
        mov [abs store + 0x28], rax
        lea rax, [rax + rbp * 4]
        mov [abs store + 0x30], rax
        mov [abs store + 0x38], rax
        mov rax, -PERIOD
        mov [abs store + 0x40], rax
        wrmsr_const IA32_DS_AREA, 0, store
        mov dword [abs buffers], 0
        call load_period
        wrmsr_const IA32_PERFEVTSEL0, 0, 0x4100C0       ; no INT
        wrmsr_const IA32_PEBS_ENABLE, 0, 1
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 1
        call run_user
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 0
        wrmsr_const IA32_PEBS_ENABLE, 0, 0
        wrmsr_const IA32_PERF_GLOBAL_OVF_CTRL, 0, 1
        xor esi, esi                    ; records
        xor edi, edi                    ; of them in the user code
        mov rbx, samples
.next:  cmp rbx, [abs store + 0x28]
        jae .counted
        inc esi
        mov rax, [rbx + 8]              ; the instruction pointer is there in every format
        mov rdx, user
        cmp rax, rdx
        jb .other
        mov rdx, user_end
        cmp rax, rdx
        jae .other
        inc edi
.other: add rbx, rbp
        jmp .next
.counted:
        say "PEBS: "
        mov eax, esi
        call print_decimal
        say " records, "
        mov eax, edi
        call print_decimal
        say " of them in ring 3, buffer interrupts "
        mov eax, [abs buffers]
        call print_decimal
        call new_line

        ; LBR: only branches into ring 3 code. The last is the second loop's.
        wrmsr_const MSR_LBR_SELECT, 0, 1
        wrmsr_const IA32_DEBUGCTL, 0, DEBUGCTL_LBR
        call run_user
        wrmsr_const IA32_DEBUGCTL, 0, 0
        mov ecx, MSR_LASTBRANCH_TOS
        rdmsr
        lea ecx, [rax + MSR_LASTBRANCH_FROM]
        rdmsr
        xor esi, esi
        cmp eax, user_second.branch
        jne .wrong
        inc esi
.wrong: say "LBR: newest is the second loop's branch "
        mov eax, esi
        call print_decimal
        call new_line
        ret
sizes:  db 144, 176, 192, 200, 32, 32
