; The checks that kvm-unit-tests' pmu makes of a hypervisor's counters, written anew for a bare PC: fixed counters and
; all counters at once within bounds, overflow of each, thresholds, RDPMC, writes to a running counter, widths of
; writes, exact counts; then enables, reserved bits, the LVT entry, NMI delivery and freezing. The general counters are
; tried through IA32_PMCx, and once more through IA32_A_PMCx where there are these. architectural_events.asm has the
; events one by one.
; source: SDM vol. 3B, "Architectural Performance Monitoring"; vol. 3A, "Local Vector Table".
;
; cpu    all
; screen fixed counters: holds
; screen all counters at once: holds
; screen overflow: holds
; screen threshold: holds
; screen RDPMC: holds
; screen a running counter is written: holds
; screen exact counts: holds
; screen [westmere nehalem core2] one width of writes
; screen [ivybridge haswell skylake-client skylake-server icelake-server sapphire-rapids goldmont] fixed counters: holds
; screen [ivybridge haswell skylake-client skylake-server icelake-server sapphire-rapids goldmont] all counters at once: holds
; screen [ivybridge haswell skylake-client skylake-server icelake-server sapphire-rapids goldmont] overflow: holds
; screen [ivybridge haswell skylake-client skylake-server icelake-server sapphire-rapids goldmont] threshold: holds
; screen [ivybridge haswell skylake-client skylake-server icelake-server sapphire-rapids goldmont] RDPMC: holds
; screen [ivybridge haswell skylake-client skylake-server icelake-server sapphire-rapids goldmont] a running counter is written: holds
; screen [ivybridge haswell skylake-client skylake-server icelake-server sapphire-rapids goldmont] exact counts: holds
; screen [ivybridge haswell skylake-client skylake-server icelake-server sapphire-rapids goldmont] widths of writes: holds
; screen rings and enables: holds
; screen reserved bits: holds
; screen interrupts: holds
; screen freezing: holds
; screen [core2] 106 checks, 0 failed
; screen [westmere nehalem] 154 checks, 0 failed
; screen [ivybridge haswell] 318 checks, 0 failed
; screen [goldmont skylake-client] 320 checks, 0 failed
; screen [skylake-server] 548 checks, 0 failed
; screen [icelake-server sapphire-rapids] 558 checks, 0 failed
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
%include "apic.inc"
        multiboot_header start
%include "long64.inc"

%define N 2000
%define BUFFER 0x1000000
%define NMI_VECTOR 2
%define INSTRUCTIONS 0x4300C0
%define USER_ONLY    0x4100C0
%define KERNEL_ONLY  0x4200C0
%define BRANCHES     0x4300C4
%define SELECT_INT   0x100000
%define STATUS_FROZEN (1 << 59)

start:  enter_long
        jmp main
%include "print64.inc"
%include "check64.inc"

main:   catch_faults
        set_gate64 PMI_VECTOR, pmi, 0x8E00
        set_gate64 NMI_VECTOR, nmi, 0x8E00
        apic_set APIC_SVR, 0x1FF
        mov al, 0xFF
        out 0x21, al
        out 0xA1, al
        call look
        set_msr IA32_PERF_GLOBAL_CTRL, 0
        call walk                       ; warm

widths: call check_fixed
        call check_all
        call check_overflow
        call check_threshold
        call check_rdpmc
        call check_running
        call check_exact
        cmp byte [abs full_writes], 0
        je .one_width
        cmp dword [abs counter_base], IA32_A_PMC0
        je .both
        mov dword [abs counter_base], IA32_A_PMC0
        jmp widths
.one_width:
        say "one width of writes"
        call new_line
        jmp once
.both:  call check_widths

once:   call check_enables
        call check_reserved
        call check_interrupts
        call check_freezing
        conclude

; ---- what there is

look:   mov eax, 10
        cpuid
        mov [abs version], al
        mov [abs general], ah
        mov [abs missing], ebx
        bswap eax
        mov cl, ah                      ; width of the general counters
        movzx r8d, al                   ; how many architectural events CPUID speaks of
        mov [abs events], r8d
        mov eax, edx
        and eax, 31
        mov [abs fixed], al
        mov rax, 1
        shl rax, cl
        dec rax
        mov [abs general_mask], rax
        mov ecx, edx
        shr ecx, 5
        mov rax, 1
        shl rax, cl
        dec rax
        mov [abs fixed_mask], rax
        mov eax, 1
        cpuid
        bt ecx, 15                      ; PDCM
        jnc .done
        get_msr IA32_PERF_CAPABILITIES
        shr eax, 13
        and al, 1
        mov [abs full_writes], al
.done:  movzx ecx, byte [abs general]
        mov rax, 1
        shl rax, cl
        dec rax
        mov rdx, rax
        movzx ecx, byte [abs fixed]
        mov rax, 1
        shl rax, cl
        dec rax
        shl rax, 32
        or rax, rdx
        mov [abs existing], rax
        ret

version:      db 0
general:      db 0
fixed:        db 0
full_writes:  db 0
        align 8
general_mask: dq 0
fixed_mask:   dq 0
existing:     dq 0              ; a bit for each, as in IA32_PERF_GLOBAL_CTRL
missing:      dd 0
events:       dd 0
counter_base: dd IA32_PMC0
interrupts:   dd 0
nmis:         dd 0
lvt_seen:     dd 0

; ---- one counter: EBX, 0 and up for general counters, 32 and up for fixed ones

value_msr:                              ; ECX
        lea ecx, [rbx + IA32_FIXED_CTR0 - 32]
        cmp ebx, 32
        jae .done
        mov ecx, [abs counter_base]
        add ecx, ebx
.done:  ret

; EDI: select; of a fixed counter: its four bits of control. Keeps every register
program:
        push rax
        push rcx
        cmp ebx, 32
        jae .fixed
        lea ecx, [rbx + IA32_PERFEVTSEL0]
        mov eax, edi
        call write_msr
        pop rcx
        pop rax
        ret
.fixed: lea ecx, [rbx * 4 - 128]
        mov eax, edi
        shl rax, cl
        mov ecx, IA32_FIXED_CTR_CTRL
        call write_msr
        pop rcx
        pop rax
        ret

; The counter with select EDI, from R10 on, over a walk: RAX
run_counter:
        call value_msr
        mov rax, r10
        call write_msr
        call program
        xor r11d, r11d
        bts r11, rbx
        call walk_with
        call value_msr
        call read_msr
        push rdi
        xor edi, edi
        call program
        pop rdi
        ret

; R11: what IA32_PERF_GLOBAL_CTRL enables meanwhile
walk_with:
        mov ecx, IA32_PERF_GLOBAL_CTRL
        mov rax, r11
        call write_msr
        call walk
        mov ecx, IA32_PERF_GLOBAL_CTRL
        xor eax, eax
        jmp write_msr

; Ten instructions a round, a new line each
walk:   mov esi, BUFFER
        mov ecx, N
.round: mov eax, [rsi]
        add esi, 64
        times 7 nop
        loop .round
        ret

get_status:
        mov ecx, IA32_PERF_GLOBAL_STATUS
        jmp read_msr
clear_status:
        get_msr IA32_PERF_GLOBAL_STATUS
        mov ecx, IA32_PERF_GLOBAL_OVF_CTRL
        jmp write_msr

; RAX within the bounds of event EDX (0 to 6: architectural; 7 to 10: what fixed counters count)
in_bounds:
        lea r9d, [rdx * 8 + bounds]
        mov r8d, [r9]
        mov r9d, [r9 + 4]
        mov edx, r8d
        cmp rax, r8
        check ae, "at least"
        mov edx, r9d
        cmp rax, r9
        check be, "at most"
        ret
bounds: dd N, 50 * N
        dd 10 * N, 102 * N / 10
        dd 10 * N / 24, 30 * N
        dd 1, 2 * N
        dd 1, N
        dd N, 11 * N / 10
        dd 0, N / 10
        dd 10 * N, 102 * N / 10         ; instructions
        dd N, 50 * N                    ; core cycles
        dd N / 10, 50 * N               ; reference cycles
        dd 0, 0                         ; slots: only a core model could tell of them, and this PC has none
selects: dw 0x003C, 0x00C0, 0x013C, 0x4F2E, 0x412E, 0x00C4, 0x00C5

; ---- the checks

check_fixed:
        mov ebx, 32
.next:  mov [abs check_of], ebx
        xor r10d, r10d
        mov edi, 3
        call cold
        call run_counter
        lea edx, [rbx - 32 + 7]
        call in_bounds
        inc ebx
        movzx eax, byte [abs fixed]
        add eax, 32
        cmp ebx, eax
        jb .next
        topic "fixed counters"
        ret

; A walk by another way than this: its lines leave the caches
cold:   wbinvd
        ret

; General counter n counts architectural event n modulo 7, or instructions where that event is missing
check_all:
        xor ebx, ebx
.set:   call event_of
        movzx edi, word [selects + rax * 2]
        or edi, 0x430000
        call program
        call value_msr
        xor eax, eax
        call write_msr
        inc ebx
        cmp bl, [abs general]
        jb .set
        mov ebx, 32
        xor edi, edi
.fixed: call value_msr
        xor eax, eax
        call write_msr
        shl rdi, 4
        or edi, 3
        inc ebx
        movzx eax, byte [abs fixed]
        add eax, 32
        cmp ebx, eax
        jb .fixed
        mov ecx, IA32_FIXED_CTR_CTRL
        mov rax, rdi
        call write_msr
        call cold
        mov r11, [abs existing]
        call walk_with
        xor ebx, ebx
.look:  mov [abs check_of], ebx
        call event_of
        mov edx, eax
        call value_msr
        call read_msr
        call in_bounds
        xor edi, edi
        call program
        inc ebx
        cmp bl, [abs general]
        jb .look
        mov ebx, 32
.look_fixed:
        mov [abs check_of], ebx
        call value_msr
        call read_msr
        lea edx, [rbx - 32 + 7]
        call in_bounds
        inc ebx
        movzx eax, byte [abs fixed]
        add eax, 32
        cmp ebx, eax
        jb .look_fixed
        set_msr IA32_FIXED_CTR_CTRL, 0
        topic "all counters at once"
        ret
event_of:                               ; EAX: the event of general counter EBX
        mov eax, ebx
        cmp eax, 7
        jb .of_7
        sub eax, 7
.of_7:  cmp eax, [abs events]
        jae .instructions
        bt [abs missing], eax
        jnc .done
.instructions:
        mov eax, 1
.done:  ret

; Each general counter and the first fixed one, without an interrupt and with one
check_overflow:
        xor ebx, ebx
.next:  xor r12d, r12d
.kind:  mov [abs check_of], ebx
        mov edi, INSTRUCTIONS
        mov r13d, SELECT_INT
        mov r14, [abs general_mask]
        cmp ebx, 32
        jb .count
        mov edi, 3
        mov r13d, 8
        mov r14, [abs fixed_mask]
.count: xor r10d, r10d
        call run_counter
        mov r10d, 1
        sub r10, rax
        cmp dword [abs counter_base], IA32_PMC0
        je .whole                       ; sign-extended by the write
        and r10, r14
.whole: test r12d, r12d
        jz .run
        or edi, r13d
.run:   mov dword [abs interrupts], 0
        apic_set APIC_LVT_PC, PMI_VECTOR
        call run_counter
        check_is "the counter", 1
        call get_status
        xor edx, edx
        bts rdx, rbx
        check_equal "its status bit, and no other"
        sti
        nop
        nop
        cli
        mov eax, [abs interrupts]
        mov edx, r12d
        check_equal "interrupts"
        call clear_status
        call get_status
        check_is "status, cleared", 0
        inc r12d
        cmp r12d, 2
        jb .kind
        inc ebx
        cmp ebx, 32
        ja .done
        cmp bl, [abs general]
        jb .next
        mov ebx, 32
        jmp .next
.done:  topic "overflow"
        ret

check_threshold:
        xor ebx, ebx
        xor r10d, r10d
.next:  mov [abs check_of], ebx
        mov edi, INSTRUCTIONS
        call run_counter
        mov r15, rax
        mov edi, INSTRUCTIONS | 1 << 24
        call run_counter
        test rax, rax
        check nz, "cycles with an instruction and more: there are some"
        mov r14, rax
        mov rdx, r15
        cmp rax, rdx
        check be, "no more than instructions"
        mov edi, INSTRUCTIONS | 2 << 24
        call run_counter
        mov edx, 10 * N
        cmp rax, rdx
        check b, "cycles with two and more: fewer than instructions"
        mov rdx, r14
        cmp rax, rdx
        check be, "and than those with one"
        mov edi, INSTRUCTIONS | 255 << 24
        call run_counter
        check_is "none has 255", 0
        inc ebx
        cmp bl, [abs general]
        jb .next
        topic "threshold"
        ret

check_rdpmc:
        xor ebx, ebx
.next:  mov [abs check_of], ebx
        mov r12, 0x00FF0123456789
        cmp dword [abs counter_base], IA32_PMC0
        jne .write
        mov r12, 0x23456789
.write: call value_msr
        mov rax, 0x00FF0123456789
        and rax, [abs general_mask]
        call write_msr
        and r12, [abs general_mask]
        mov ecx, ebx
        call read_counter
        mov rdx, r12
        check_equal "what was written"
        call value_msr
        mov rax, 0xF2345678             ; bit 31 set
        call write_msr
        mov ecx, ebx
        call read_counter
        mov edx, 0xF2345678
        cmp dword [abs counter_base], IA32_PMC0
        jne .same
        movsxd rdx, edx
        and rdx, [abs general_mask]
.same:  check_equal "bit 31, copied upwards by a short write"
        mov ecx, ebx
        bts ecx, 31
        check_faults "fast reads are NetBurst's", rdpmc
        inc ebx
        cmp bl, [abs general]
        jb .next
        mov ebx, 32
.fixed: mov [abs check_of], ebx
        call value_msr
        mov rax, 0x00FF0123456789
        and rax, [abs fixed_mask]
        mov r12, rax
        call write_msr
        lea ecx, [rbx - 32 + 0x40000000]
        call read_counter
        mov rdx, r12
        check_equal "what was written"
        inc ebx
        movzx eax, byte [abs fixed]
        add eax, 32
        cmp ebx, eax
        jb .fixed
        mov ecx, 64
        check_faults "there is no counter 64", rdpmc
        movzx ecx, byte [abs general]
        check_faults "nor one behind the last", rdpmc
        movzx ecx, byte [abs fixed]
        or ecx, 0x40000000
        check_faults "nor a fixed one", rdpmc
        topic "RDPMC"
        ret
read_counter:                           ; ECX; RAX
        rdpmc
        shl rdx, 32
        or rax, rdx
        ret

check_running:
        xor ebx, ebx
.next:  mov [abs check_of], ebx
        call value_msr
        xor eax, eax
        call write_msr
        mov edi, INSTRUCTIONS
        call program
        mov ecx, IA32_PERF_GLOBAL_CTRL
        xor eax, eax
        bts rax, rbx
        call write_msr
        call walk
        call value_msr
        xor eax, eax
        call write_msr
        set_msr IA32_PERF_GLOBAL_CTRL, 0
        call value_msr
        call read_msr
        mov edx, 100
        cmp rax, rdx
        check b, "it counts from what was written"
        call value_msr
        mov rax, [abs general_mask]
        mov r15, rax
        call write_msr
        call walk_running
        call get_status
        xor edx, edx
        bts rdx, rbx
        check_equal "it overflows from all ones"
        call clear_status
        call value_msr
        mov rax, -(10 * N)
        and rax, [abs general_mask]
        call write_msr
        xor edi, edi
        call program
        inc ebx
        cmp bl, [abs general]
        jb .next
        topic "a running counter is written"
        ret
walk_running:
        xor r11d, r11d
        bts r11, rbx
        jmp walk_with

; 16 instructions, 6 branches: counters that start just so far below 0 overflow, and not one earlier
%define EXACT_INSTRUCTIONS 16
%define EXACT_BRANCHES 6
check_exact:
        xor r12d, r12d                  ; 1: one less
.next:  mov [abs check_of], r12d
        mov ebx, 0
        mov edi, INSTRUCTIONS
        mov r10, -EXACT_INSTRUCTIONS
        call .set
        mov ebx, 1
        mov edi, BRANCHES
        mov r10, -EXACT_BRANCHES
        call .set
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 3         ; counted itself
        xor eax, eax
        jz .1
        ud2
.1:     mov ecx, 2
.2:     loop .2
        call .3
        jmp .4
.3:     ret
.4:     mov ecx, IA32_PERF_GLOBAL_CTRL
        times 5 nop
        xor edx, edx
        wrmsr
        call get_status
        mov edx, 3
        test r12d, r12d
        jz .all
        xor edx, edx
.all:   check_equal "both overflow, or neither"
        mov r15, rax
        mov ecx, 0
        call read_counter
        mov edx, r12d
        neg rdx
        and rdx, [abs general_mask]
        check_equal "instructions"
        mov ecx, 1
        call read_counter
        mov edx, r12d
        neg rdx
        and rdx, [abs general_mask]
        check_equal "branches"
        call clear_status
        inc r12d
        cmp r12d, 2
        jb .next
        xor ebx, ebx
        xor edi, edi
        call program
        inc ebx
        call program
        topic "exact counts"
        ret
.set:   call program
        call value_msr
        mov eax, r12d
        sub r10, rax
        mov rax, r10
        cmp dword [abs counter_base], IA32_PMC0
        je .write
        and rax, [abs general_mask]
.write: jmp write_msr

check_widths:
        xor ebx, ebx
.next:  mov [abs check_of], ebx
        mov r12, 0xFFFFFF0123456789
        mov r13, r12
        and r13, [abs general_mask]
        lea ecx, [rbx + IA32_PMC0]
        mov rax, r12
        call write_msr
        mov r14d, 0x23456789
        call .both
        lea ecx, [rbx + IA32_A_PMC0]
        mov eax, 0x23456789
        call write_msr
        call .both
        lea ecx, [rbx + IA32_A_PMC0]
        mov rax, r13
        call write_msr
        mov r14, r13
        call .both
        lea ecx, [rbx + IA32_A_PMC0]
        mov rax, r12
        check_faults "more than the counter holds", call write_msr
        call .both
        inc ebx
        cmp bl, [abs general]
        jb .next
        topic "widths of writes"
        ret
.both:  lea ecx, [rbx + IA32_PMC0]
        call read_msr
        mov rdx, r14
        check_equal "by IA32_PMCx"
        lea ecx, [rbx + IA32_A_PMC0]
        call read_msr
        check_equal "by IA32_A_PMCx"
        mov ecx, ebx
        call read_counter
        mov rdx, r14
        check_equal "by RDPMC"
        ret

check_enables:
        mov dword [abs counter_base], IA32_PMC0
        xor ebx, ebx
        xor r10d, r10d
.next:  mov [abs check_of], ebx
        mov edi, USER_ONLY
        call run_counter
        check_is "ring 3 only", 0
        mov edi, KERNEL_ONLY
        call run_counter
        mov r15, rax
        mov edi, INSTRUCTIONS
        call run_counter
        mov rdx, r15
        check_equal "all of it is ring 0"
        mov edi, INSTRUCTIONS & ~0x400000
        call run_counter
        check_is "without EN", 0
        mov edi, INSTRUCTIONS
        call program
        mov r11, [abs existing]
        btr r11, rbx
        call walk_with
        call value_msr
        call read_msr
        check_is "without its bit of GLOBAL_CTRL", 0
        xor edi, edi
        call program
        inc ebx
        cmp bl, [abs general]
        jb .next
        mov ebx, 32
        mov edi, 2
        call run_counter
        check_is "fixed, ring 3 only", 0
        mov edi, 1
        call run_counter
        mov edx, 10 * N
        cmp rax, rdx
        check ae, "fixed, ring 0 only"
        topic "rings and enables"
        ret

check_reserved:
        mov ecx, IA32_PERF_GLOBAL_STATUS
        xor eax, eax
        check_faults "GLOBAL_STATUS is not written", call write_msr
        mov ecx, IA32_PERF_CAPABILITIES
        check_faults "nor PERF_CAPABILITIES", call write_msr
        mov ecx, IA32_PERF_GLOBAL_CTRL
        movzx edx, byte [abs general]
        xor eax, eax
        bts rax, rdx
        check_faults "no such general counter to enable", call write_msr
        mov ecx, IA32_PERF_GLOBAL_OVF_CTRL
        check_faults "nor to clear", call write_msr
        movzx edx, byte [abs fixed]
        add edx, 32
        xor eax, eax
        bts rax, rdx
        check_faults "no such fixed counter to clear", call write_msr
        mov ecx, IA32_PERF_GLOBAL_CTRL
        check_faults "nor to enable", call write_msr
        movzx edx, byte [abs fixed]
        shl edx, 2
        xor eax, eax
        bts rax, rdx
        mov ecx, IA32_FIXED_CTR_CTRL
        check_faults "nor to control", call write_msr
        mov ecx, IA32_PERFEVTSEL0
        mov rax, 1 << 63
        check_faults "bit 63 of a select", call write_msr
        movzx ecx, byte [abs general]
        add ecx, IA32_PERFEVTSEL0
        check_faults "a select behind the last", call read_msr
        movzx ecx, byte [abs general]
        add ecx, IA32_PMC0
        check_faults "a counter behind the last", call read_msr
        get_msr IA32_PERF_GLOBAL_OVF_CTRL
        check_is "OVF_CTRL reads", 0
        cmp byte [abs version], 4
        jb .old
        set_msr IA32_PERF_GLOBAL_STATUS_SET, 1
        call get_status
        check_is "STATUS_SET", 1
        call clear_status
        set_msr IA32_PERFEVTSEL0, INSTRUCTIONS | SELECT_INT
        get_msr IA32_PERF_GLOBAL_INUSE
        check_is "INUSE", 1 << 63 | 1
        set_msr IA32_PERFEVTSEL0, 0
        get_msr IA32_PERF_GLOBAL_INUSE
        check_is "INUSE, of nothing", 0
        jmp .done
.old:   mov ecx, IA32_PERF_GLOBAL_STATUS_SET
        check_faults "STATUS_SET is of version 4", call read_msr
        mov ecx, IA32_PERF_GLOBAL_INUSE
        check_faults "and INUSE", call read_msr
.done:  mov dword [abs check_of], 0
        topic "reserved bits"
        ret

; Counter 0 overflows within a walk
overflow_once:
        xor ebx, ebx
        mov r10, -N
        mov edi, INSTRUCTIONS | SELECT_INT
        jmp run_counter

check_interrupts:
        mov dword [abs interrupts], 0
        apic_set APIC_LVT_PC, PMI_VECTOR
        sti
        call overflow_once
        mov eax, [abs interrupts]
        check_is "one PMI", 1
        mov eax, [abs lvt_seen]
        check_is "the handler finds the entry masked", 0x10000 | PMI_VECTOR
        call overflow_once
        mov eax, [abs interrupts]
        check_is "masked, no more", 1
        apic_set APIC_LVT_PC, PMI_VECTOR
        nop
        mov eax, [abs interrupts]
        check_is "nor later: it was not kept", 1
        call overflow_once
        mov eax, [abs interrupts]
        check_is "unmasked, again", 2
        cli
        apic_set APIC_LVT_PC, 0x400
        call overflow_once
        mov eax, [abs nmis]
        check_is "an NMI comes with IF clear", 1
        mov eax, [abs interrupts]
        check_is "instead", 2
        mov esi, APIC_LVT_PC
        mov eax, [rsi]
        check_is "and masks the entry too", 0x10400
        call clear_status
        topic "interrupts"
        ret

; FREEZE_PERFMON_ON_PMI: what is counted after the PMI is nothing
check_freezing:
        apic_set APIC_LVT_PC, PMI_VECTOR
        set_msr IA32_DEBUGCTL, DEBUGCTL_FREEZE_CTRS
        mov ebx, 1                      ; counts as counter 0 does
        mov edi, INSTRUCTIONS
        call program
        set_msr IA32_PMC0 + 1, 0
        set_msr IA32_PMC0, -N
        set_msr IA32_PERFEVTSEL0, INSTRUCTIONS | SELECT_INT
        sti
        set_msr IA32_PERF_GLOBAL_CTRL, 3
        call walk
        cli
        mov ecx, 1
        call read_counter
        check_is "counter 1 stopped with counter 0", N
        get_msr IA32_PERF_GLOBAL_CTRL
        mov r15, rax
        call get_status
        cmp byte [abs version], 4
        jae .streamlined
        check_is "status: no more than the overflow", 1
        mov rax, r15
        check_is "GLOBAL_CTRL is cleared", 0
        jmp .done
.streamlined:
        check_is "CTR_Frz is set", STATUS_FROZEN | 1
        mov rax, r15
        check_is "GLOBAL_CTRL stays", 3
        call clear_status
        mov ecx, 1
        call read_counter
        mov edx, N
        cmp rax, rdx
        check a, "counting goes on when CTR_Frz is cleared"
.done:  set_msr IA32_PERF_GLOBAL_CTRL, 0
        set_msr IA32_DEBUGCTL, 0
        call clear_status
        topic "freezing"
        ret

pmi:    push rax
        push rsi
        inc dword [abs interrupts]
        mov esi, APIC_LVT_PC
        mov eax, [rsi]
        mov [abs lvt_seen], eax
        apic_set APIC_EOI, 0
        pop rsi
        pop rax
        iretq
nmi:    inc dword [abs nmis]
        iretq
