; The checks that kvm-unit-tests' pmu_pebs makes of a hypervisor's PEBS, written anew for a bare PC: from four start
; values, each counter alone and all at once write records of the right size, groups and counters, and none without an
; overflow or without their enable; with adaptive records, for every set of groups and one and 32 branches. Then what it
; leaves out: each field of a record, reset values, threshold, a full buffer, and the interrupt of a counter that has
; INT set.
; source: SDM vol. 3B, "Processor Event Based Sampling", "Adaptive PEBS"; the tables of PEBS record formats.
;
; cpu    all
; screen [core2] format 0, counters 0000000000000001
; screen [nehalem westmere ivybridge] format 1, counters 000000000000000F
; screen [haswell] format 2, counters 000000000000000F
; screen [skylake-client skylake-server] format 3, counters 000000000000000F
; screen [goldmont] format 3, counters 0000000000000001
; screen [icelake-server sapphire-rapids] format 4, counters 0000000F000000FF
; screen records: holds
; screen fields: holds
; screen without their enable: holds
; screen reset values: holds
; screen threshold: holds
; screen a full buffer: holds
; screen the interrupt of a counter: holds
; screen reserved bits: holds
; screen [core2] 99 checks, 0 failed
; screen [goldmont] 109 checks, 0 failed
; screen [nehalem westmere ivybridge] 237 checks, 0 failed
; screen [haswell] 234 checks, 0 failed
; screen [skylake-client skylake-server] 236 checks, 0 failed
; screen [icelake-server] 10300 checks, 0 failed
; screen [sapphire-rapids] 10302 checks, 0 failed
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
%include "apic.inc"
        multiboot_header start
%include "long64.inc"

%define DS       0x500000
%define BUFFER   0x510000
%define DATA     0x600000
%define IA32_LBR_CTL 0x14CE
%define INSTRUCTIONS 0x4300C0
%define LOADS        0x4381D0           ; MEM_INST_RETIRED.ALL_LOADS, or its older names
%define SELECT_INT   0x100000
%define ADAPTIVE     (1 << 34)
%define OVF_BUF      (1 << 62)
%define SLOTS_FIXED  35                 ; IA32_FIXED_CTR3: no core model tells of issue slots here

start:  enter_long
        jmp main
%include "print64.inc"
%include "check64.inc"

main:   catch_faults
        set_gate64 PMI_VECTOR, pmi, 0x8E00
        apic_set APIC_SVR, 0x1FF
        mov al, 0xFF
        out 0x21, al
        out 0xA1, al
        set_msr IA32_PERF_GLOBAL_CTRL, 0
        set_msr IA32_DS_AREA, DS
        call look

        call no_groups
.shape: call check_records
        call check_fields
        call next_groups
        jnc .shape
        topic "records"
        topic "fields"
        call no_groups
        call check_disabled
        call check_reset
        call check_threshold
        call check_full
        call check_interrupt
        call check_reserved
        conclude

; ---- what there is

look:   get_msr IA32_PERF_CAPABILITIES
        mov ebx, eax
        shr eax, 8
        and eax, 15
        mov [abs format], al
        bt ebx, 14
        setc [abs baseline]
        xor ebx, ebx
        mov [abs usable], rbx
.next:  cmp ebx, 32
        jb .try
        cmp byte [abs baseline], 0      ; without, bits 32 and up tag loads
        je .done
.try:   xor eax, eax
        bts rax, rbx
        mov ecx, IA32_PEBS_ENABLE
        try call write_msr
        je .absent
        bts [abs usable], rbx
.absent:
        inc ebx
        cmp ebx, 40
        jb .next
.done:  set_msr IA32_PEBS_ENABLE, 0
        say "format "
        movzx eax, byte [abs format]
        call print_decimal
        say ", counters "
        mov rax, [abs usable]
        call print_hex
        call new_line
        btr qword [abs usable], SLOTS_FIXED
        xor eax, eax
        cpuid
        cmp eax, 7
        jb .legacy
        mov eax, 7
        xor ecx, ecx
        cpuid
        shr edx, 19
        and dl, 1
        mov [abs arch_lbr], dl
.legacy:
        ret

format:   db 0
baseline: db 0
arch_lbr: db 0
adaptive: db 0                  ; whether the counters' bits are set
        align 8
usable:   dq 0                  ; counters, as in IA32_PEBS_ENABLE
groups:   dq 0                  ; MSR_PEBS_DATA_CFG
size:     dq 0                  ; of a record
enabled:  dq 0                  ; counters of the run
start_at: dq 0
reset_to: dq 0
select:   dq 0
threshold_records: dq 0
maximum_records:   dq 0
unmasked: dq 0                  ; a bit for IF
stop_in_handler: dq 0
interrupts: dq 0
pmi_index:  dq 0
pmi_status: dq 0
tsc_before: dq 0
flags:      dq 0
values:     times 16 dq 0       ; AX BX CX DX SI DI BP SP R8..R15 of the run

; ---- shapes of records

; Basic records, or the fixed ones of older formats
no_groups:
        mov byte [abs adaptive], 0
        mov qword [abs groups], 0
        movzx eax, byte [abs format]
        mov eax, [sizes + rax * 4]
        mov [abs size], rax
        ret
sizes:  dd 144, 176, 192, 200, 32, 32

; The next set of groups; CF: there is none
next_groups:
        cmp byte [abs baseline], 0
        je .none
        mov rax, [abs groups]
        cmp byte [abs adaptive], 0
        mov byte [abs adaptive], 1
        je .set                         ; no group, but adaptive
        test eax, 8
        jz .more
        test eax, 31 << 24              ; 1, then 32 branches
        jnz .more
        or eax, 31 << 24
        jmp .set
.more:  and eax, 15
        inc eax
        cmp eax, 16
        je .none
.set:   mov [abs groups], rax
        mov ecx, MSR_PEBS_DATA_CFG
        call write_msr
        mov edx, 32
        bt eax, 0
        jnc .no_memory
        add edx, 32
.no_memory:
        bt eax, 1
        jnc .no_registers
        add edx, 144
.no_registers:
        bt eax, 2
        jnc .no_vectors
        add edx, 256
.no_vectors:
        bt eax, 3
        jnc .no_branches
        shr eax, 24
        inc eax
        imul eax, 24
        add edx, eax
.no_branches:
        mov [abs size], rdx
        clc
        ret
.none:  stc
        ret

; ---- a run

; Sets the Debug Store up for [enabled] counters, programs them, runs the stretch, stops
run:    call set_ds
        call program_counters
        mov qword [abs interrupts], 0
        apic_set APIC_LVT_PC, PMI_VECTOR
        call record_branches
        call stretch
        call stop_branches
        xor ebx, ebx
        mov r12d, 8
.clear: lea ecx, [rbx + IA32_PERFEVTSEL0]
        xor eax, eax
        try call write_msr
        inc ebx
        dec r12d
        jnz .clear
        set_msr IA32_PEBS_ENABLE, 0
        set_msr IA32_FIXED_CTR_CTRL, 0
        sti
        nop
        nop
        cli
        ret

set_ds: mov edi, BUFFER
        mov ecx, 0x10000 / 8
        mov rax, 0xCCCCCCCCCCCCCCCC
        rep stosq
        mov qword [abs DS + 0x20], BUFFER
        mov qword [abs DS + 0x28], BUFFER
        mov rax, [abs maximum_records]
        imul rax, [abs size]
        add rax, BUFFER
        mov [abs DS + 0x30], rax
        mov rax, [abs threshold_records]
        imul rax, [abs size]
        add rax, BUFFER
        mov [abs DS + 0x38], rax
        mov edi, DS + 0x40
        mov ecx, 64
        xor eax, eax
        rep stosq
        xor ebx, ebx                    ; the slots of [enabled] alone: the others are 0
.slot:  bt [abs enabled], rbx
        jnc .not
        mov eax, ebx
        cmp ebx, 32
        jb .set
        cmp byte [abs format], 5        ; where fixed counters have theirs
        jae .set
        sub eax, 32 - 8
.set:   mov rdx, [abs reset_to]
        mov [DS + 0x40 + rax * 8], rdx
.not:   inc ebx
        cmp ebx, 40
        jb .slot
        ret

; Each of [enabled] from [start_at] on; general ones count [select], fixed ones what they are for
program_counters:
        xor ebx, ebx
        xor edi, edi                    ; IA32_FIXED_CTR_CTRL
.next:  bt [abs enabled], rbx
        jnc .not
        mov rax, [abs start_at]
        mov rdx, 0x0000FFFFFFFFFFFF
        cmp ebx, 32
        jae .fixed
        lea ecx, [rbx + IA32_PMC0]      ; sign-extended
        call write_msr
        lea ecx, [rbx + IA32_PERFEVTSEL0]
        mov rax, [abs select]
        cmp byte [abs adaptive], 0
        je .write
        mov rdx, ADAPTIVE
        or rax, rdx
.write: call write_msr
        jmp .not
.fixed: and rax, rdx
        lea ecx, [rbx + IA32_FIXED_CTR0 - 32]
        call write_msr
        mov r8d, 3
        cmp byte [abs adaptive], 0
        je .plain
        bts r8, 32
.plain: lea ecx, [rbx * 4 - 128]
        shl r8, cl
        or rdi, r8
.not:   inc ebx
        cmp ebx, 40
        jb .next
        mov ecx, IA32_FIXED_CTR_CTRL
        mov rax, rdi
        call write_msr
        mov ecx, IA32_PEBS_ENABLE
        mov rax, [abs enabled]
        and rax, [abs pebs_mask]
        jmp write_msr
pebs_mask: dq -1

record_branches:
        cmp byte [abs arch_lbr], 0
        je .legacy
        set_msr IA32_LBR_CTL, 0x7F0007
        ret
.legacy:
        set_msr IA32_DEBUGCTL, DEBUGCTL_LBR
        ret
stop_branches:
        cmp byte [abs arch_lbr], 0
        je .legacy
        set_msr IA32_LBR_CTL, 0
        ret
.legacy:
        set_msr IA32_DEBUGCTL, 0
        ret

; Counting is on from stretch_start to stretch_end. Changes every register
%define NOPS 200
stretch:
        mov rax, 0x5A00000000
        xor ecx, ecx
.value: mov [values + rcx * 8], rax
        add rax, 0x1001
        inc ecx
        cmp ecx, 16
        jb .value
        mov rax, [abs values + 8 * 15]
        mov [abs DATA], rax
        mov qword [abs values + 8 * 4], DATA
        mov [abs values + 8 * 7], rsp
%assign i 0
%rep 16
        mov eax, 0x100 + i
        movq xmm%[i], rax
%assign i i + 1
%endrep
        rdtsc
        shl rdx, 32
        or rax, rdx
        mov [abs tsc_before], rax
        cmp qword [abs unmasked], 0
        je .masked
        sti
.masked:
        mov ecx, IA32_PERF_GLOBAL_CTRL
        mov eax, [abs enabled]
        mov edx, [abs enabled + 4]
        stc
        pushfq
        pop qword [abs flags]
stretch_start:
        wrmsr
        mov rax, [abs values]
        mov rbx, [abs values + 8]
        mov rcx, [abs values + 16]
        mov rdx, [abs values + 24]
        mov rsi, [abs values + 32]
        mov rdi, [abs values + 40]
        mov rbp, [abs values + 48]
        mov r8, [abs values + 64]
        mov r9, [abs values + 72]
        mov r10, [abs values + 80]
        mov r11, [abs values + 88]
        mov r12, [abs values + 96]
        mov r13, [abs values + 104]
        mov r14, [abs values + 112]
last_jump:
        jmp short loads
        nop
loads:
        times 60 mov r15, [rsi]         ; three bytes each
nops:   times NOPS nop
nops_end:
        mov ecx, IA32_PERF_GLOBAL_CTRL
        xor eax, eax
        xor edx, edx
stretch_end:
        wrmsr
        cli
        ret

pmi:    push rax
        push rcx
        push rdx
        inc qword [abs interrupts]
        mov rax, [abs DS + 0x28]        ; at once: what runs here is counted too
        mov [abs pmi_index], rax
        get_msr IA32_PERF_GLOBAL_STATUS
        mov [abs pmi_status], rax
        cmp qword [abs stop_in_handler], 0
        je .done
        set_msr IA32_PERF_GLOBAL_CTRL, 0
.done:
        apic_set APIC_EOI, 0
        pop rdx
        pop rcx
        pop rax
        iretq

get_status:
        mov ecx, IA32_PERF_GLOBAL_STATUS
        jmp read_msr
clear_status:
        get_msr IA32_PERF_GLOBAL_STATUS
        mov ecx, IA32_PERF_GLOBAL_OVF_CTRL
        jmp write_msr

; RSI: a record. RAX: the instruction that it is of, or where format 0 and 1 do not have it, the next
record_ip:
        mov rax, [rsi + 0x08]
        cmp byte [abs format], 2
        jb .done
        cmp byte [abs format], 4
        jae .done
        mov rax, [rsi + 0xB0]
.done:  ret

; ---- the checks

defaults:
        mov qword [abs threshold_records], 1
        mov qword [abs maximum_records], 50
        mov qword [abs select], INSTRUCTIONS
        mov qword [abs reset_to], 0
        mov qword [abs unmasked], 0
        mov qword [abs stop_in_handler], 0
        mov qword [abs pebs_mask], -1
        ret

check_records:
        call defaults
        mov dword [abs which_start], 0
.start: mov eax, [abs which_start]
        movsx rax, byte [starts + rax]
        mov [abs start_at], rax
        mov dword [abs which_counter], 0
.counter:
        mov ebx, [abs which_counter]
        bt [abs usable], rbx
        jnc .next
        mov [abs check_of], ebx
        xor eax, eax
        bts rax, rbx
        mov [abs enabled], rax
        call one_run
.next:  inc dword [abs which_counter]
        cmp dword [abs which_counter], 40
        jb .counter
        mov dword [abs check_of], 99    ; all of them
        mov rax, [abs usable]
        mov [abs enabled], rax
        call one_run
        inc dword [abs which_start]
        cmp dword [abs which_start], 4
        jb .start
        ret
starts: db 0, -16, -2, -1
which_start:   dd 0
which_counter: dd 0

one_run:
        call run
        call get_status
        cmp qword [abs start_at], 0
        jne .overflows
        check_is "no overflow: no status", 0
        mov rax, [abs DS + 0x28]
        check_is "no record", BUFFER
        mov rax, [abs interrupts]
        check_is "no interrupt", 0
        ret
.overflows:
        check_is "the buffer's status bit, and no counter's", OVF_BUF
        mov rax, [abs interrupts]
        check_is "an interrupt", 1
        call clear_status
        mov rax, [abs DS + 0x28]
        mov edx, BUFFER
        cmp rax, rdx
        check a, "a record"
        sub rax, BUFFER
        xor edx, edx
        div qword [abs size]
        mov rax, rdx
        check_is "whole ones", 0
        mov esi, BUFFER
        xor r13d, r13d                  ; counters of all records
.record:
        cmp rsi, [abs DS + 0x28]
        jae .seen
        call record_ip
        mov rdx, stretch_start
        cmp rax, rdx
        check ae, "it is of the stretch"
        mov rdx, stretch_end
        cmp rax, rdx
        check be, "to its end"
        cmp byte [abs format], 4
        jb .fixed_size
        movzx eax, word [rsi + 6]
        mov rdx, [abs size]
        check_equal "its size"
        mov rax, [rsi]
        shl rax, 16
        shr rax, 16
        mov rdx, [abs groups]
        check_equal "its groups"
        or r13, [rsi + 0x10]
        jmp .counters
.fixed_size:
        cmp byte [abs format], 1
        jb .counters
        or r13, [rsi + 0x90]
.counters:
        add rsi, [abs size]
        jmp .record
.seen:  cmp byte [abs format], 1
        jb .done
        mov rax, r13
        mov rdx, [abs enabled]
        check_equal "its counters"
.done:  ret

; Each field of a record of the 41st load, or instruction
check_fields:
        call defaults
        mov qword [abs enabled], 1
        mov qword [abs start_at], -40
        cmp byte [abs format], 2
        jb .go
        mov qword [abs select], LOADS
.go:    call run
        call clear_status
        movzx eax, byte [abs format]
        mov [abs check_of], eax
        mov esi, BUFFER
        call record_ip
        mov r14, rax
        mov rdx, loads
        cmp rax, rdx
        check ae, "a load"
        mov rdx, nops
        cmp rax, rdx
        check be, "of ours"
        sub rax, loads
        xor edx, edx
        mov ecx, 3
        div rcx
        mov rax, rdx
        check_is "where an instruction begins", 0
        cmp byte [abs format], 4
        jae .adaptive

        mov edi, legacy_order
        call registers
        cmp byte [abs format], 2
        jb .done
        mov rax, [rsi + 0x98]
        check_is "data address", DATA
        cmp byte [abs format], 3
        jb .done
        mov rax, [rsi + 0xC0]
        jmp time

.adaptive:
        mov rax, [rsi + 0x18]
        call time
        add esi, 32
        bt qword [abs groups], 0
        jnc .no_memory
        mov rax, [rsi]
        check_is "data address", DATA
        add esi, 32
.no_memory:
        bt qword [abs groups], 1
        jnc .no_registers
        mov edi, adaptive_order
        call registers
        add esi, 144
.no_registers:
        bt qword [abs groups], 2
        jnc .no_vectors
        xor ebx, ebx
.vector:
        mov [abs check_of], ebx
        mov rax, [rsi]
        lea edx, [rbx + 0x100]
        check_equal "XMM, low"
        mov rax, [rsi + 8]
        check_is "and high", 0
        add esi, 16
        inc ebx
        cmp ebx, 16
        jb .vector
.no_vectors:
        bt qword [abs groups], 3
        jnc .done
        mov rax, [rsi]
        check_is "the newest branch, from", last_jump
        mov rax, [rsi + 8]
        check_is "to", loads
.done:  ret

time:   mov rdx, [abs tsc_before]
        cmp rax, rdx
        check a, "time stamp, after the start"
        rdtsc
        mov r8, rax
        shl rdx, 32
        or rdx, r8
        mov rax, [rsi + 0x18]
        cmp byte [abs format], 4
        jae .now
        mov rax, [rsi + 0xC0]
.now:   cmp rax, rdx
        check b, "and before now"
        ret

; RSI: flags, next IP and 16 registers in the order of EDI
registers:
        mov rax, [rsi]
        mov rdx, [abs flags]
        xor rax, rdx
        and rax, 0xCD5 | 2              ; IF may differ
        xor rax, rdx
        check_equal "flags"
        mov rax, [rsi + 8]
        mov rdx, r14
        cmp byte [abs format], 2
        jb .ip
        add rdx, 3
.ip:    check_equal "next IP"
        xor ebx, ebx
.next:  mov [abs check_of], ebx
        movzx ecx, byte [rdi + rbx]
        mov rdx, [values + rcx * 8]
        mov rax, [rsi + 0x10 + rbx * 8]
        check_equal "register"
        inc ebx
        cmp ebx, 16
        jb .next
        ret
legacy_order:   db 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
adaptive_order: db 0, 2, 3, 1, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15

; Counters run, PEBS is off
check_disabled:
        call defaults
        mov qword [abs start_at], -16
        mov qword [abs pebs_mask], 0
        mov rax, [abs usable]
        mov [abs enabled], rax
        call run
        mov rax, [abs DS + 0x28]
        check_is "no record", BUFFER
        mov rax, [abs interrupts]
        check_is "no interrupt", 0
        call get_status
        mov rdx, [abs usable]
        check_equal "the counters' status bits"
        call clear_status
        topic "without their enable"
        ret

; From its reset value on, each counter that counts instructions records every tenth or eleventh: one that arms first
; (architecture.md) takes one more
check_reset:
        call defaults
        mov qword [abs start_at], -10
        mov qword [abs reset_to], -10
        mov qword [abs maximum_records], 100
        mov qword [abs threshold_records], 101
        mov dword [abs which_counter], 0
.counter:
        mov ebx, [abs which_counter]
        bt [abs usable], rbx
        jnc .next
        mov [abs check_of], ebx
        xor eax, eax
        bts rax, rbx
        mov [abs enabled], rax
        call run
        call clear_status
        mov rax, [abs DS + 0x28]
        sub rax, BUFFER
        xor edx, edx
        div qword [abs size]
        mov edx, NOPS / 11
        cmp rax, rdx
        check ae, "records"
        mov esi, BUFFER
        xor r12d, r12d                  ; where the last one was
        xor r13d, r13d                  ; how far apart they are
.record:
        cmp rsi, [abs DS + 0x28]
        jae .next
        call record_ip
        mov rdx, nops + 12
        cmp rax, rdx
        jb .other
        mov rdx, nops_end
        cmp rax, rdx
        ja .other
        mov r14, rax
        test r12, r12
        jz .first
        sub rax, r12
        test r13, r13
        jnz .apart
        mov r13, rax
        mov edx, 10
        cmp rax, rdx
        check ae, "ten apart"
        mov edx, 11
        cmp rax, rdx
        check be, "or eleven"
.apart: mov rdx, r13
        check_equal "as far apart as those before"
.first: mov r12, r14
.other: add rsi, [abs size]
        jmp .record
.next:  inc dword [abs which_counter]
        cmp dword [abs which_counter], 40
        jb .counter
        topic "reset values"
        ret

; The interrupt comes with the fourth record
check_threshold:
        call defaults
        mov qword [abs start_at], -10
        mov qword [abs reset_to], -10
        mov qword [abs threshold_records], 4
        mov qword [abs enabled], 1
        mov qword [abs unmasked], 1
        mov qword [abs stop_in_handler], 1
        call run
        mov dword [abs check_of], 0
        mov rax, [abs interrupts]
        check_is "an interrupt", 1
        mov rax, [abs pmi_index]
        mov rdx, [abs size]
        lea rdx, [rdx * 4 + BUFFER]
        check_equal "at the threshold"
        mov rax, [abs pmi_status]
        check_is "status", OVF_BUF
        call clear_status
        topic "threshold"
        ret

check_full:
        call defaults
        mov qword [abs start_at], -10
        mov qword [abs reset_to], -10
        mov qword [abs threshold_records], 10
        mov qword [abs maximum_records], 3
        mov qword [abs enabled], 1
        call run
        mov rbx, [abs size]
        lea rbx, [rbx * 3 + BUFFER]
        mov rax, [abs DS + 0x28]
        mov rdx, rbx
        check_equal "the index stays at the maximum"
        mov rax, [rbx]
        check_is "nothing is written behind it", 0xCCCCCCCCCCCCCCCC
        mov rax, [abs interrupts]
        check_is "nobody is told", 0
        call get_status
        btr rax, 0
        check_is "nor by status", 0
        call clear_status
        topic "a full buffer"
        ret

; A PEBS counter with INT interrupts at its record; then no status bit says why, but the index has moved
check_interrupt:
        call defaults
        mov qword [abs start_at], -10
        mov qword [abs threshold_records], 10
        mov qword [abs enabled], 1
        mov qword [abs select], INSTRUCTIONS | SELECT_INT
        mov qword [abs unmasked], 1
        mov qword [abs stop_in_handler], 1
        call run
        mov rax, [abs interrupts]
        check_is "an interrupt", 1
        mov rax, [abs pmi_status]
        check_is "without a status bit", 0
        mov rax, [abs pmi_index]
        mov rdx, [abs size]
        add rdx, BUFFER
        check_equal "a record is there"
        call clear_status
        topic "the interrupt of a counter"
        ret

check_reserved:
        mov ecx, IA32_PEBS_ENABLE
        mov rax, 1 << 61
        check_faults "bit 61 of PEBS_ENABLE", call write_msr
        mov ecx, IA32_DS_AREA
        mov rax, 1 << 62
        check_faults "an area that is not canonical", call write_msr
        mov ecx, MSR_PEBS_DATA_CFG
        cmp byte [abs baseline], 0
        je .legacy
        mov eax, 1 << 6
        check_faults "bit 6 of PEBS_DATA_CFG", call write_msr
        jmp .done
.legacy:
        check_faults "there is no PEBS_DATA_CFG", call read_msr
.done:  topic "reserved bits"
        ret
