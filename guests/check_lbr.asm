; The checks that kvm-unit-tests' pmu_lbr makes of a hypervisor's last-branch records, written anew for a bare PC: the
; depth is found by trying registers until one is missing, each takes a value, and a program with branches fills them
; all. Then what it leaves out: the order of records and the top of the stack, each kind of branch alone, rings, call
; stacks, the freeze on a PMI and, of architectural records, the depth register and reserved bits.
; source: SDM vol. 3B, "Last Branch, Interrupt, and Exception Recording", "Architectural Last Branch Records".
;
; cpu    all
; screen [core2] depth 4, by MSRs 40H and 60H
; screen [nehalem westmere ivybridge haswell] depth 16, by MSRs 680H and 6C0H
; screen [skylake-client skylake-server icelake-server goldmont] depth 32, by MSRs 680H and 6C0H
; screen [sapphire-rapids] depth 32, architectural
; screen registers: holds
; screen all are filled: holds
; screen order: holds
; screen kinds: holds
; screen rings: holds
; screen call stack: holds
; screen freezing: holds
; screen reserved bits: holds
; screen [core2] 31 checks, 0 failed
; screen [nehalem westmere ivybridge] 94 checks, 0 failed
; screen [haswell] 97 checks, 0 failed
; screen [skylake-client skylake-server icelake-server goldmont] 160 checks, 0 failed
; screen [sapphire-rapids] 163 checks, 0 failed
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
%include "apic.inc"
        multiboot_header start
%include "long64.inc"

%define IA32_LBR_CTL      0x14CE
%define IA32_LBR_DEPTH    0x14CF
%define IA32_TSC_DEADLINE 0x6E0
%define ARCH_LBR_FROM     0x1500
%define ARCH_LBR_TO       0x1600
%define SMALL_LBR_FROM    0x40
%define SMALL_LBR_TO      0x60
%define ADDRESS_BITS      0x0000FFFFFFFFFFFF    ; FROM has flags above them
%define LBR_FROZEN        (1 << 58)


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
        call look
        call check_registers
        call check_filled
        call check_order
        call check_kinds
        call check_rings
        call check_call_stack
        call check_freezing
        call check_reserved
        conclude

first_from: dd MSR_LASTBRANCH_FROM
first_to:   dd MSR_LASTBRANCH_TO
depth:  dd 0
architectural: db 0
selects:       db 0             ; whether there is a filter: not on Core 2
call_stacks:   db 0             ; whether the filter has a call-stack mode
version:       db 0
interrupts:    dd 0
recording_then: dq 0

look:   mov eax, 10
        cpuid
        mov [abs version], al
        xor eax, eax
        cpuid
        cmp eax, 7
        jb .legacy
        mov eax, 7
        xor ecx, ecx
        cpuid
        bt edx, 19
        jc .arch
.legacy:
        mov ecx, MSR_LASTBRANCH_FROM
        try call read_msr
        je .small
        mov byte [abs selects], 1
        mov ecx, MSR_LBR_SELECT
        mov eax, 1 << 9
        try call write_msr
        setne [abs call_stacks]
        jmp count
.small: mov dword [abs first_from], SMALL_LBR_FROM
        mov dword [abs first_to], SMALL_LBR_TO
        jmp count
.arch:  mov byte [abs architectural], 1
        mov byte [abs selects], 1
        mov byte [abs call_stacks], 1
        mov dword [abs first_from], ARCH_LBR_FROM
        mov dword [abs first_to], ARCH_LBR_TO
count:  xor ebx, ebx
.next:  lea ecx, [rbx]
        add ecx, [abs first_from]
        try call read_msr
        je .done
        inc ebx
        cmp ebx, 64
        jb .next
.done:  mov [abs depth], ebx
        say "depth "
        mov eax, ebx
        call print_decimal
        cmp byte [abs architectural], 0
        jne .arch
        cmp dword [abs first_from], SMALL_LBR_FROM
        je .small
        say ", by MSRs 680H and 6C0H"
        jmp .line
.small: say ", by MSRs 40H and 60H"
        jmp .line
.arch:  say ", architectural"
.line:  jmp new_line

; ---- recording on and off. On: R8 has the filter's bits as IA32_LBR_CTL has them, a 1 lets in.
%define CTL_OS     (1 << 1)
%define CTL_USER   (1 << 2)
%define CTL_STACK  (1 << 3)
%define CTL_ALL    (0x7F << 16 | CTL_OS | CTL_USER)

; Writes the filter; keeps every register. The old select suppresses, in an order of its own.
set_filter:
        push rax
        push rcx
        push rdx
        cmp byte [abs architectural], 0
        jne .done                       ; it is in the register that enables
        cmp byte [abs selects], 0
        je .done
        mov edx, 0x1FF
        xor ecx, ecx
.bit:   movzx eax, byte [filter_bits + rcx]
        bt r8, rax
        jnc .next
        btr edx, ecx
.next:  inc ecx
        cmp ecx, 9
        jb .bit
        mov eax, edx
        test r8d, CTL_STACK
        jz .write
        or eax, 1 << 9
.write: mov ecx, MSR_LBR_SELECT
        call write_msr
.done:  pop rdx
        pop rcx
        pop rax
        ret
; By bit of MSR_LBR_SELECT, the bit of IA32_LBR_CTL: ring 0, ring 3, JCC, relative call, indirect call, return, indirect
; jump, relative jump, far
filter_bits: db 1, 2, 16, 19, 20, 21, 18, 17, 22

; on: from the next instruction on branches are recorded, as R8 lets them in. off: until here. Both change RAX, RCX, RDX
%macro on 0
        call on_register
        wrmsr
%endmacro
%macro off 0
        mov ecx, [abs off_register]
        xor eax, eax
        xor edx, edx
        wrmsr
%endmacro
on_register:
        call set_filter
        mov ecx, IA32_DEBUGCTL
        mov eax, DEBUGCTL_LBR
        cmp byte [abs architectural], 0
        je .done
        mov ecx, IA32_LBR_CTL
        lea eax, [r8 + 1]
.done:  mov [abs off_register], ecx
        xor edx, edx
        ret
off_register: dd 0

clear_records:
        xor ebx, ebx
.next:  mov ecx, [abs first_from]
        add ecx, ebx
        xor eax, eax
        call write_msr
        mov ecx, [abs first_to]
        add ecx, ebx
        call write_msr
        inc ebx
        cmp ebx, [abs depth]
        jb .next
        cmp byte [abs architectural], 0
        jne .done
        set_msr MSR_LASTBRANCH_TOS, 0
.done:  ret

; EBX: which, 0 the newest. RAX: FROM, R9: TO
newest: mov edx, ebx
        cmp byte [abs architectural], 0
        jne .index
        get_msr MSR_LASTBRANCH_TOS
        sub eax, ebx
        mov edx, [abs depth]
        dec edx
        and edx, eax
.index: mov ecx, [abs first_to]
        add ecx, edx
        call read_msr
        mov r9, rax
        mov ecx, [abs first_from]
        add ecx, edx
        call read_msr
        mov rcx, ADDRESS_BITS
        and rax, rcx
        and r9, rcx
        ret

; EAX: how many records are not zero
count_records:
        xor r12d, r12d
        xor ebx, ebx
.next:  call newest
        or rax, r9
        jz .empty
        inc r12d
.empty: inc ebx
        cmp ebx, [abs depth]
        jb .next
        mov eax, r12d
        ret

; ---- the checks

check_registers:
        xor ebx, ebx
.next:  mov [abs check_of], ebx
        mov ecx, [abs first_from]
        add ecx, ebx
        lea eax, [rbx + 0x123456]
        call write_msr
        mov ecx, [abs first_to]
        add ecx, ebx
        lea eax, [rbx + 0x654321]
        call write_msr
        mov ecx, [abs first_from]
        add ecx, ebx
        call read_msr
        lea edx, [rbx + 0x123456]
        check_equal "FROM takes a value"
        mov ecx, [abs first_to]
        add ecx, ebx
        call read_msr
        lea edx, [rbx + 0x654321]
        check_equal "and TO"
        inc ebx
        cmp ebx, [abs depth]
        jb .next
        mov ecx, [abs first_from]
        add ecx, ebx
        check_faults "there is no FROM behind them", call read_msr
        mov ecx, [abs first_to]
        add ecx, ebx
        cmp ecx, IA32_TSC_DEADLINE      ; where the 33rd would be
        je .done
        check_faults "and no TO", call write_msr
.done:  mov dword [abs check_of], 0
        topic "registers"
        ret

check_filled:
        call clear_records
        call count_records
        check_is "they are empty", 0
        mov r8d, CTL_ALL
        on
        mov ebx, 100
.next:  bt ebx, 0
        jc .odd
        call .return
        jmp .both
.odd:   lea rax, [.both]
        jmp rax
.return:
        ret
.both:  dec ebx
        jnz .next
        off
        mov ecx, [abs off_register]
        call read_msr
        check_is "recording is off", 0
        call count_records
        mov edx, [abs depth]
        check_equal "all are filled"
        topic "all are filled"
        ret

; Jumps, three more than there is room for: the newest is the last, and each one before it. A jump is two bytes
check_order:
        call clear_records
        mov eax, [abs depth]
        add eax, 3
        mov ebx, MOST + 3
        sub ebx, eax
        lea rbx, [jumps + rbx * 2]
        mov r8d, CTL_ALL
        on
        jmp rbx                         ; is a record itself
MOST equ 64
jumps:
%rep MOST + 3
        jmp short $+2
%endrep
jumps_end:
        off
        cmp byte [abs architectural], 0
        jne .records
        get_msr MSR_LASTBRANCH_TOS
        mov edx, [abs depth]            ; depth + 4 records, the first at 1
        dec edx
        and edx, 4
        check_equal "the top has wrapped"
.records:
        xor ebx, ebx
.next:  mov [abs check_of], ebx
        call newest
        lea rdx, [rbx * 2]
        neg rdx
        add rdx, jumps_end - 2
        check_equal "from"
        add rdx, 2
        mov rax, r9
        check_equal "to"
        inc ebx
        cmp ebx, [abs depth]
        jb .next
        mov dword [abs check_of], 0
        topic "order"
        ret

; One of each kind, two returns. Changes RAX
%macro branches 0
        xor eax, eax
        jz %%jcc
        ud2
%%jcc:  call near %%relative
        lea rax, [%%indirect]
        call rax
        lea rax, [%%jump]
        jmp rax
%%relative:
        ret
%%indirect:
        ret
%%jump: jmp short %%far
        ud2
%%far:  mov eax, esp
        push KERNEL_DATA
        push rax
        pushfq
        push KERNEL_CODE
        push qword %%over
        iretq
%%over:
%endmacro

; Bit of IA32_LBR_CTL, and how many of `branches` there are of that kind
kinds:  db 16, 1                        ; JCC
        db 17, 1                        ; relative jump
        db 18, 1                        ; indirect jump
        db 19, 1                        ; relative call
        db 20, 1                        ; indirect call
        db 21, 2                        ; return
        db 22, 1                        ; far
KINDS equ ($ - kinds) / 2
check_kinds:
        cmp byte [abs selects], 0
        je .none
        xor r13d, r13d
.next:  mov [abs check_of], r13d
        call clear_records
        movzx ecx, byte [kinds + r13 * 2]
        mov r8d, CTL_OS | CTL_USER
        bts r8d, ecx
        on
        branches
        off
        call count_records
        movzx edx, byte [kinds + r13 * 2 + 1]
        check_equal "of this kind alone"
        call clear_records
        movzx ecx, byte [kinds + r13 * 2]
        mov r8d, CTL_ALL
        btr r8d, ecx
        on
        branches
        off
        call count_records
        mov edx, 8
        movzx ecx, byte [kinds + r13 * 2 + 1]
        sub edx, ecx
        check_equal "of all but this kind"
        inc r13d
        cmp r13d, KINDS
        jb .next
        mov dword [abs check_of], 0
        jmp .done
.none:  mov ecx, MSR_LBR_SELECT
        check_faults "there is no filter", call read_msr
.done:  topic "kinds"
        ret

check_rings:
        cmp byte [abs selects], 0
        je .done
        call clear_records
        mov r8d, CTL_ALL & ~CTL_OS
        on
        branches
        off
        call count_records
        check_is "ring 3 alone", 0
        mov r8d, CTL_ALL & ~CTL_USER
        on
        branches
        off
        call count_records
        check_is "ring 0 alone", 8
.done:  topic "rings"
        ret

; Calls that have not returned stay, others go
check_call_stack:
        cmp byte [abs call_stacks], 0
        je .none
        call clear_records
        mov r8d, CTL_OS | CTL_STACK | 1 << 19 | 1 << 20 | 1 << 21
        on
.outer: call near .first
.first: call near .leaf
.middle:
        call near .second
.second:
        call near .leaf
        off
        call count_records
        check_is "two calls have not returned", 2
        xor ebx, ebx
        call newest
        mov rdx, .middle
        check_equal "the inner one"
        mov rax, r9
        mov rdx, .second
        check_equal "and where it led"
        inc ebx
        call newest
        mov rdx, .outer
        check_equal "the outer one"
        add rsp, 16
        jmp .done
.leaf:  ret
.none:  mov ecx, MSR_LBR_SELECT
        mov eax, 1 << 9
        check_faults "there is no such mode", call write_msr
.done:  topic "call stack"
        ret

; FREEZE_LBRS_ON_PMI: the jumps behind the overflow are not recorded, and the interrupt itself is not
check_freezing:
        call clear_records
        apic_set APIC_LVT_PC, PMI_VECTOR
        set_msr IA32_PMC0, -3
        set_msr IA32_PERF_GLOBAL_CTRL, 1
        mov r8d, CTL_ALL
        call on_register                ; both registers are written, the second when the first is on
        cmp byte [abs architectural], 0
        jne .other
        or eax, DEBUGCTL_FREEZE_LBRS
        jmp .count
.other: wrmsr
        mov ecx, IA32_DEBUGCTL
        mov eax, DEBUGCTL_FREEZE_LBRS
.count: wrmsr
        sti
        mov ecx, IA32_PERFEVTSEL0
        mov eax, 0x5300C4               ; branches, INT
        wrmsr
        jmp short $+2
        jmp short $+2
.last:  jmp short .past
.past:  jmp short $+2
        jmp short $+2
        cli
        set_msr IA32_PERFEVTSEL0, 0
        mov eax, [abs interrupts]
        check_is "a PMI", 1
        xor ebx, ebx
        call newest
        mov rdx, .last
        check_equal "the newest is that which overflowed"
        mov rax, [abs recording_then]
        cmp byte [abs version], 4
        jb .legacy
        mov edx, DEBUGCTL_FREEZE_LBRS
        cmp byte [abs architectural], 0
        jne .debugctl
        or edx, DEBUGCTL_LBR
        call is_goldmont
        jne .debugctl
.legacy:
        mov edx, DEBUGCTL_FREEZE_LBRS
.debugctl:
        check_equal "DEBUGCTL in the handler"
        get_msr IA32_PERF_GLOBAL_STATUS
        mov rdx, LBR_FROZEN | 1
        cmp byte [abs version], 4
        jb .old
        call is_goldmont
        jne .status
.old:   mov edx, 1
.status:
        check_equal "status"
        mov ecx, IA32_PERF_GLOBAL_OVF_CTRL
        call write_msr
        set_msr IA32_DEBUGCTL, 0
        cmp byte [abs architectural], 0
        je .thawed
        jmp short .thaw                 ; recorded again
.thaw:  xor ebx, ebx
        off
        call newest
        mov rdx, .thaw
        mov rax, r9
        check_equal "recording goes on when LBR_Frz is cleared"
.thawed:
        set_msr IA32_PERF_GLOBAL_CTRL, 0
        topic "freezing"
        ret
; ZF: Goldmont, whose LBRs freeze as before version 4
is_goldmont:
        push rax
        push rbx
        push rcx
        push rdx
        mov eax, 1
        cpuid
        and eax, 0xFFFF0
        cmp eax, 0x506C0
        pop rdx
        pop rcx
        pop rbx
        pop rax
        ret

pmi:    push rax
        push rcx
        inc dword [abs interrupts]
        get_msr IA32_DEBUGCTL
        mov [abs recording_then], rax
        apic_set APIC_EOI, 0
        pop rcx
        pop rax
        iretq

check_reserved:
        cmp byte [abs architectural], 0
        je .legacy
        mov ecx, IA32_LBR_CTL
        mov eax, 1 << 23
        check_faults "bit 23 of LBR_CTL", call write_msr
        mov ecx, MSR_LASTBRANCH_TOS
        check_faults "there is no top", call read_msr
        mov ecx, IA32_LBR_DEPTH
        mov eax, 7
        check_faults "no such depth", call write_msr
        set_msr ARCH_LBR_FROM, 0x1234
        set_msr IA32_LBR_DEPTH, 8
        get_msr ARCH_LBR_FROM
        check_is "a write of the depth clears", 0
        mov r8d, CTL_ALL
        on
%rep 20
        jmp short $+2
%endrep
        off
        mov dword [abs depth], 32
        call count_records
        check_is "so many fit then", 8
        jmp .done
.legacy:
        mov ecx, MSR_LASTBRANCH_TOS
        mov eax, [abs depth]
        check_faults "the top stays within the depth", call write_msr
        mov ecx, IA32_LBR_CTL
        check_faults "there is no LBR_CTL", call read_msr
        mov ecx, IA32_DEBUGCTL
        mov eax, 1 << 3
        check_faults "bit 3 of DEBUGCTL", call write_msr
.done:  topic "reserved bits"
        ret
