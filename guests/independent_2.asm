; A bare-metal 64-bit program written from the public manual alone, by somebody who had not read this PMU: it asks CPUID what there is, then
; holds the processor to what the manual promises of it. Each check prints a line on the screen and to COM1; the last page sums up, and
; the exit status is the number of checks that failed. It is meant to run on silicon too: counts are compared exactly only where the
; manual allows nothing else, and where a processor may be late (PMI, PEBS after arming) the check says how late.
;
; source: SDM vol. 2, CPUID, leaves 01H, 07H, 0AH, 1CH; vol. 3A, "Advanced Programmable Interrupt Controller"; vol. 3B, "Debug, Branch
;         Profile, TSC", "Last Branch Records", "Performance Monitoring"; the tables of PEBS record formats 0 to 4 there.
;
; Its own mistakes, found by the first runs and decided by the manual:
;   - BTINT clear does not make the BTS buffer silent: the threshold has to be out of reach ("Setting Up the BTS Buffer", note)
;   - instructions that the NMI handler runs after it lets counters go count, and their overflow waits for IRET: more samples
;   - before format 3 two counters that armed together may share one record, whose status names both
;   - Goldmont is version 4, but freezes its LBR stack in the older way (table "Core PMU Comparison", Goldmont)
;   - an interrupt after every instruction of ring 0 never gets on: the handler's own last instructions overflow the counter again
;   - IA32_LBR_CTL written to see what it takes must not have LBREn set: it records
;   - eight counters of a Skylake without hyper-threading are not eight PEBS counters: four
;
; cpu    all
; screen [core2] perfmon 2, general 2 x 40, fixed 3 x 40, PEBS format 0, last branches 4
; screen [goldmont] perfmon 4, general 4 x 48, fixed 3 x 48, PEBS format 3, last branches 32
; screen [nehalem westmere ivybridge] perfmon 3, general 4 x 48, fixed 3 x 48, PEBS format 1, last branches 16
; screen [haswell] perfmon 3, general 4 x 48, fixed 3 x 48, PEBS format 2, last branches 16
; screen [skylake-client] perfmon 4, general 4 x 48, fixed 3 x 48, PEBS format 3, last branches 32
; screen [skylake-server] perfmon 4, general 8 x 48, fixed 3 x 48, PEBS format 3, last branches 32
; screen [icelake-server sapphire-rapids] perfmon 5, general 8 x 48, fixed 4 x 48, PEBS format 4, last branches 32
; screen discovery: ok
; screen exceptions: ok
; screen APIC in memory: ok
; screen [core2] x2APIC: not on this processor
; screen [nehalem westmere ivybridge haswell skylake-client skylake-server icelake-server sapphire-rapids goldmont] x2APIC: ok
; screen counters: ok
; screen interrupts of counters: ok
; screen timer and IPI beside counters: ok
; screen ring 3: ok
; screen sampling profiler: ok
; screen PEBS: ok
; screen [core2 goldmont] load latency: not on this processor
; screen [nehalem westmere ivybridge haswell skylake-client skylake-server icelake-server sapphire-rapids] load latency: ok
; screen last-branch records: ok
; screen branch trace store: ok
; screen   light 14% #######
; screen   medium 29% ##############
; screen   heavy 57% ############################
; screen   outside 0%
; screen [core2] checks 168, failed 0
; screen [goldmont] checks 267, failed 0
; screen [nehalem westmere] checks 252, failed 0
; screen [ivybridge] checks 262, failed 0
; screen [haswell] checks 267, failed 0
; screen [skylake-client skylake-server] checks 277, failed 0
; screen [icelake-server sapphire-rapids] checks 299, failed 0

; ---- what it needs, what it keeps
VERSION_MIN     equ 2
FAILURES_KEPT   equ 6                   ; on the last page

; ---- where things lie -----------------------------------------------------------------------------------------
LOAD            equ 0x100000
PML4            equ 0x400000            ; six pages of tables
PDPT            equ 0x401000
PD              equ 0x402000            ; .. 0x405fff
IDT             equ 0x406000
BSS_FIRST       equ 0x400000
BSS_END         equ 0x4A0000
STACK           equ 0x420000            ; its top
STACK_USER      equ 0x428000
DS_AREA         equ 0x430000
PEBS_BUFFER     equ 0x440000
BTS_BUFFER      equ 0x450000
LOAD_BUFFER     equ 0x460000            ; 64 KiB: a ring of pointers
HISTOGRAM       equ 0x480000            ; three counters, eight places each
VARIABLES       equ 0x490000

CODE            equ 0x08
DATA            equ 0x10
USER_DATA       equ 0x1B
USER_CODE       equ 0x23
TSS             equ 0x28

; ---- registers, by the names of the manual --------------------------------------------------------------------
IA32_APIC_BASE          equ 0x1B
IA32_PMC0               equ 0xC1
IA32_PERFEVTSEL0        equ 0x186
IA32_MISC_ENABLE        equ 0x1A0
MSR_LBR_SELECT          equ 0x1C8
MSR_LASTBRANCH_TOS      equ 0x1C9
IA32_DEBUGCTL           equ 0x1D9
IA32_FIXED_CTR0         equ 0x309
IA32_PERF_CAPABILITIES  equ 0x345
IA32_FIXED_CTR_CTRL     equ 0x38D
IA32_PERF_GLOBAL_STATUS equ 0x38E
IA32_PERF_GLOBAL_CTRL   equ 0x38F
IA32_PERF_GLOBAL_OVF_CTRL equ 0x390     ; GLOBAL_STATUS_RESET from version 4 on
IA32_PERF_GLOBAL_STATUS_SET equ 0x391
IA32_PERF_GLOBAL_INUSE  equ 0x392
IA32_PEBS_ENABLE        equ 0x3F1
MSR_PEBS_DATA_CFG       equ 0x3F2
MSR_PEBS_LD_LAT         equ 0x3F6
IA32_A_PMC0             equ 0x4C1
IA32_DS_AREA            equ 0x600
IA32_TSC_DEADLINE       equ 0x6E0
IA32_LBR_CTL            equ 0x14CE
IA32_LBR_DEPTH          equ 0x14CF
IA32_EFER               equ 0xC0000080

APIC_ID         equ 0x020
APIC_VERSION    equ 0x030
APIC_TPR        equ 0x080
APIC_PPR        equ 0x0A0
APIC_EOI        equ 0x0B0
APIC_LDR        equ 0x0D0
APIC_DFR        equ 0x0E0
APIC_SVR        equ 0x0F0
APIC_ISR        equ 0x100
APIC_IRR        equ 0x200
APIC_ESR        equ 0x280
APIC_ICR        equ 0x300
APIC_TIMER      equ 0x320
APIC_PERF       equ 0x340
APIC_INITIAL    equ 0x380
APIC_CURRENT    equ 0x390
APIC_DIVIDE     equ 0x3E0

SEL_EN_OS       equ 0x420000            ; IA32_PERFEVTSELx: EN, OS
SEL_EN_USR      equ 0x410000
SEL_INT         equ 0x100000
INSTRUCTIONS    equ 0x00C0              ; the architectural events, umask and event
CYCLES          equ 0x003C
BRANCHES        equ 0x00C4

VECTOR_TIMER    equ 0x40
VECTOR_PMI      equ 0x41
VECTOR_LOW      equ 0x50
VECTOR_HIGH     equ 0x60
VECTOR_NEST     equ 0x70
VECTOR_BACK     equ 0x80                ; INT from ring 3
VECTOR_TOP      equ 0x90
VECTOR_SPURIOUS equ 0xFF

; ---- words ----------------------------------------------------------------------------------------------------
%macro WR 2                             ; WR msr, value: both constants
        mov ecx, %1
        mov rax, %2
        call wr
%endmacro
%macro RD 1
        mov ecx, %1
        call rd
%endmacro
%macro APIC_WR 2
        mov ecx, %1
        mov eax, %2
        call apic_write
%endmacro
%macro APIC_RD 1
        mov ecx, %1
        call apic_read
%endmacro
%macro CHECK 2                          ; CHECK name, needed: what was found is in RAX
%ifnidni %2, rdx
        mov rdx, %2
%endif
[section .data]
%%name  db %1, 0
__SECT__
        mov esi, %%name
        call check_equal
%endmacro
%macro CHECK_IN 3                       ; CHECK_IN name, least, most
[section .data]
%%name  db %1, 0
__SECT__
        mov rdx, %2
        mov rcx, %3
        mov esi, %%name
        call check_range
%endmacro
%macro CHECK_FAULT 2                    ; CHECK_FAULT name, needed: #GP at a WRMSR of RAX to ECX?
        call wr_faults
        CHECK %1, %2
%endmacro
%macro NOT_HERE 1
[section .data]
%%name  db %1, ": not on this processor", 10, 0
__SECT__
        mov esi, %%name
        call print
%endmacro
%macro SAY 1+
[section .data]
%%text  db %1, 0
__SECT__
        mov esi, %%text
        call print
%endmacro
%macro SECTION 1                        ; the checks from here on are part of ...
[section .data]
%%name  db %1, 0
__SECT__
        mov esi, %%name
        call section_begin
%endmacro
%macro SAY_NUMBER 2                     ; SAY_NUMBER text, [memory]
        SAY %1
        mov rax, %2
        call print_decimal
%endmacro
%macro PUSH_ALL 0
        push rax
        push rcx
        push rdx
        push rbx
        push rbp
        push rsi
        push rdi
        push r8
        push r9
        push r10
        push r11
        push r12
        push r13
        push r14
        push r15
%endmacro
%macro POP_ALL 0
        pop r15
        pop r14
        pop r13
        pop r12
        pop r11
        pop r10
        pop r9
        pop r8
        pop rdi
        pop rsi
        pop rbp
        pop rbx
        pop rdx
        pop rcx
        pop rax
%endmacro
%macro LBR_ON 0                         ; no branch of its own
        mov ecx, [lbr_control]
        mov eax, [lbr_on]
        xor edx, edx
        wrmsr
%endmacro
%macro LBR_OFF 0
        mov ecx, [lbr_control]
        xor eax, eax
        xor edx, edx
        wrmsr
%endmacro
FRAME_RIP       equ 15 * 8              ; above PUSH_ALL

        org LOAD
section .text
        bits 32
header: dd 0x1BADB002, 0x10000, -(0x1BADB002 + 0x10000)
        dd header, header, 0, 0, start32

; ---- from protected mode with flat segments to long mode -------------------------------------------------------
start32:
        cli
        cld
        mov esp, STACK
        mov edi, BSS_FIRST
        mov ecx, (BSS_END - BSS_FIRST) / 4
        xor eax, eax
        rep stosd
        mov dword [PML4], PDPT + 7      ; present, writable, for ring 3 too
        mov edi, PDPT
        mov eax, PD + 7
        mov ecx, 4
.pdpt:  mov [edi], eax
        add edi, 8
        add eax, 0x1000
        loop .pdpt
        mov edi, PD
        mov eax, 0x87                   ; 2 MiB pages; the last GiB, with the APIC, uncached
        mov ecx, 2048
.pd:    mov [edi], eax
        cmp eax, 0xC0000000
        jb .cached
        or dword [edi], 0x18
.cached:
        add edi, 8
        add eax, 0x200000
        loop .pd
        mov eax, cr4
        or eax, 0x620                   ; PAE, OSFXSR, OSXMMEXCPT
        mov cr4, eax
        mov eax, PML4
        mov cr3, eax
        mov ecx, IA32_EFER
        rdmsr
        or eax, 0x100                   ; LME
        wrmsr
        mov eax, cr0
        and eax, ~4
        or eax, 0x80000003
        mov cr0, eax
        lgdt [gdtr]
        jmp CODE:start64

        bits 64
start64:
        mov eax, DATA
        mov ds, eax
        mov es, eax
        mov ss, eax
        xor eax, eax
        mov fs, eax
        mov gs, eax
        mov rsp, STACK
        mov eax, tss
        mov [gdt_tss + 2], ax
        shr eax, 16
        mov [gdt_tss + 4], al
        call serial_start
        call fill_idt
        lidt [idtr]
        mov al, 0xFF                    ; the old interrupt controllers stay silent
        out 0x21, al
        out 0xA1, al

        SAY "independent_2: what the manual promises about the PMU", 10
        SECTION "discovery"
        call discover
        cmp dword [version], VERSION_MIN
        jb .none
        SECTION "exceptions"
        call test_exceptions
        SECTION "APIC in memory"
        call test_xapic
        SECTION "x2APIC"
        call test_x2apic
        SECTION "counters"
        call test_counters
        SECTION "interrupts of counters"
        call test_pmi
        SECTION "timer and IPI beside counters"
        call test_timer_beside_counters
        SECTION "ring 3"
        call test_rings
        SECTION "sampling profiler"
        call test_profiler
        SECTION "PEBS"
        call test_pebs
        SECTION "load latency"
        call test_load_latency
        SECTION "last-branch records"
        call test_lbr
        SECTION "branch trace store"
        call test_bts
.none:  call summary
        mov eax, [failures]
        cmp dword [checks], 0
        jne .counted
        mov eax, 100
.counted:
        cmp eax, 100
        jbe .exit
        mov eax, 100
.exit:  out 0xF4, al
        cli
        hlt
        jmp $

; ---- what is there --------------------------------------------------------------------------------------------
discover:
        push rbx
        mov eax, 1
        cpuid
        mov [signature], eax
        mov [leaf1_ecx], ecx
        mov [leaf1_edx], edx
        mov ecx, eax                    ; DisplayModel
        shr eax, 4
        and eax, 15
        mov edx, ecx
        shr edx, 12
        and edx, 0xF0
        or eax, edx
        mov [model], eax
        xor eax, eax
        cpuid
        mov [max_leaf], eax
        cmp eax, 10
        jb .end
        mov eax, 10
        xor ecx, ecx
        cpuid
        movzx r8d, al
        mov [version], r8d
        mov r8d, eax
        shr r8d, 8
        and r8d, 255
        mov [gp_counters], r8d
        mov [leaf10_ebx], ebx
        shr eax, 16
        movzx r8d, al
        mov [gp_width], r8d
        shr eax, 8
        mov [leaf10_length], eax
        mov eax, edx
        and eax, 31
        mov [fixed_counters], eax
        shr edx, 5
        and edx, 255
        mov [fixed_width], edx
        mov eax, 1                      ; a bit for each fixed counter
        push rcx
        mov ecx, [fixed_counters]
        shl rax, cl
        pop rcx
        dec rax
        cmp dword [version], 5
        jb .bitmap
        or eax, ecx
.bitmap:
        mov [fixed_bitmap], eax
        mov ecx, [gp_width]
        xor eax, eax
        bts rax, rcx
        dec rax
        mov [gp_mask], rax
        mov ecx, [fixed_width]
        xor eax, eax
        bts rax, rcx
        dec rax
        mov [fixed_mask], rax
        mov eax, 1                      ; all bits of GLOBAL_CTRL that exist
        mov ecx, [gp_counters]
        shl rax, cl
        dec rax
        mov ecx, [fixed_bitmap]
        shl rcx, 32
        or rax, rcx
        mov [all_counters], rax

        bt dword [leaf1_ecx], 15        ; PDCM
        jnc .no_capabilities
        RD IA32_PERF_CAPABILITIES
        mov [capabilities], rax
.no_capabilities:
        bt dword [leaf1_edx], 21        ; DS
        jnc .no_ds
        RD IA32_MISC_ENABLE
        bt eax, 11
        setnc [have_bts]
        bt eax, 12
        setnc [have_pebs]
        bt dword [leaf1_ecx], 2         ; DTES64: the layout below is the one for 64 bits
        jc .no_ds
        mov byte [have_bts], 0
        mov byte [have_pebs], 0
.no_ds:
        mov rax, [capabilities]
        shr eax, 8
        and eax, 15
        mov [pebs_format], eax
        mov rax, [capabilities]
        shr eax, 14
        and eax, 1
        mov [pebs_baseline], eax
        SAY "signature "
        mov eax, [signature]
        call print_hex
        SAY_NUMBER " perfmon ", [version]
        SAY_NUMBER " counters ", [gp_counters]
        SAY_NUMBER "x", [gp_width]
        SAY_NUMBER " fixed ", [fixed_counters]
        SAY_NUMBER "x", [fixed_width]
        SAY 10, "capabilities "
        mov rax, [capabilities]
        call print_hex
        SAY_NUMBER " pebs format ", [pebs_format]
        SAY 10
        mov eax, [version]
        CHECK_IN "perfmon version", 2, 5
        mov eax, [gp_counters]
        CHECK_IN "general counters", 1, 32
        mov eax, [gp_width]
        CHECK_IN "width of general counters", 32, 64
        mov eax, [fixed_counters]
        CHECK_IN "fixed counters", 1, 16
        mov eax, [leaf10_length]
        CHECK_IN "leaf 0AH has seven architectural events or more", 7, 32
        mov eax, [leaf10_ebx]
        and eax, 0x23                   ; cycles, instructions, branches are used below
        CHECK "leaf 0AH: events not there", 0
.end:   pop rbx
        ret

; ---- exceptions -----------------------------------------------------------------------------------------------
test_exceptions:
        RD IA32_EFER
        and eax, 0x500
        CHECK "EFER: LME and LMA", 0x500
        mov qword [fixup], .ud
        ud2
.ud:    movzx eax, byte [fault_vector]
        CHECK "UD2 is vector 6", 6
        mov rax, [fault_rip]
        mov rdx, .ud - 2
        CHECK "#UD points at its instruction", rdx
        mov qword [fixup], .pf
        mov rbx, 0x10000000000
        mov al, [rbx + 4]
.pf:    movzx eax, byte [fault_vector]
        CHECK "absent page is vector 14", 14
        mov rax, [fault_cr2]
        mov rdx, 0x10000000004
        CHECK "CR2", rdx
        mov rax, [fault_error]
        CHECK "error code of a read, absent, ring 0", 0
        mov qword [fixup], .gp
        mov rbx, 0x0000800000000000
        mov al, [rbx]
.gp:    movzx eax, byte [fault_vector]
        CHECK "non-canonical address is vector 13", 13
        ret

; ---- the local APIC -------------------------------------------------------------------------------------------
test_xapic:
        RD IA32_APIC_BASE
        bt eax, 10
        jnc .there                      ; firmware may have gone on to x2APIC, which only a reset leaves
        mov dword [apic_x2], 1
        APIC_WR APIC_SVR, 0x100 + VECTOR_SPURIOUS
        NOT_HERE "xAPIC"
        ret
.there: and eax, 0xFFFFFD00
        CHECK "APIC base: BSP, enabled, not x2APIC", 0xFEE00900
        APIC_RD APIC_VERSION
        mov ebx, eax
        movzx eax, bl
        CHECK_IN "APIC version", 0x10, 0x15
        mov eax, ebx
        shr eax, 16
        and eax, 255
        CHECK_IN "last LVT entry", 4, 6
        APIC_WR APIC_SVR, VECTOR_SPURIOUS ; disabled by software
        APIC_WR APIC_PERF, VECTOR_PMI
        APIC_RD APIC_PERF
        CHECK "LVT stays masked while the APIC is disabled", 0x10000 + VECTOR_PMI
        APIC_WR APIC_SVR, 0x100 + VECTOR_SPURIOUS
        call test_apic_common
        ret

test_x2apic:
        bt dword [leaf1_ecx], 21
        jc .there
        NOT_HERE "x2APIC"
        ret
.there: APIC_RD APIC_ID
        shr eax, 24
        mov ebx, eax
        RD IA32_APIC_BASE
        or eax, 0x400
        mov ecx, IA32_APIC_BASE
        call wr
        mov dword [apic_x2], 1
        RD IA32_APIC_BASE
        and eax, 0xC00
        CHECK "x2APIC enabled", 0xC00
        APIC_RD APIC_ID
        CHECK "x2APIC id is the initial id", rbx
        mov r12d, eax
        APIC_RD APIC_LDR
        mov edx, r12d
        shr edx, 4
        shl edx, 16
        mov ecx, r12d
        and ecx, 15
        mov r13d, 1
        shl r13d, cl
        or edx, r13d
        CHECK "x2APIC logical id", rdx
        call test_apic_common

        mov ecx, 0x802
        xor eax, eax
        CHECK_FAULT "x2APIC id is read-only", 1
        mov ecx, 0x80B
        mov eax, 1
        CHECK_FAULT "x2APIC EOI takes only 0", 1
        mov ecx, 0x80B
        call rd_faults
        mov eax, edx
        CHECK "x2APIC EOI is write-only", 1
        mov ecx, 0x831
        call rd_faults
        mov eax, edx
        CHECK "no MSR 831H", 1
        mov ecx, 0x80E
        call rd_faults
        mov eax, edx
        CHECK "no MSR 80EH", 1
        mov ecx, 0x83F
        call rd_faults
        mov eax, edx
        CHECK "SELF IPI is write-only", 1
        mov ecx, 0x808
        mov eax, 0x100
        CHECK_FAULT "TPR bit 8 is reserved", 1
        mov ecx, 0x808
        mov rax, 0x100000000
        CHECK_FAULT "TPR bit 32 is reserved", 1
        mov ecx, 0x828
        mov eax, 1
        CHECK_FAULT "ESR takes only 0", 1
        RD IA32_APIC_BASE
        and eax, ~0x400
        mov ecx, IA32_APIC_BASE
        CHECK_FAULT "x2APIC to xAPIC is illegal", 1
        RD IA32_APIC_BASE
        and eax, ~0x800
        mov ecx, IA32_APIC_BASE
        CHECK_FAULT "EXTD without EN is illegal", 1

        mov qword [irq_log], 0
        sti
        WR 0x83F, VECTOR_LOW
        call linger
        cli
        mov rax, [irq_log]
        CHECK "SELF IPI by MSR 83FH", VECTOR_LOW

        RD IA32_APIC_BASE               ; x2APIC, disabled, xAPIC, x2APIC again
        mov r12, rax
        and eax, ~0xC00
        mov ecx, IA32_APIC_BASE
        call wr
        mov eax, 1
        cpuid
        shr edx, 9
        and edx, 1
        mov eax, edx
        CHECK "CPUID hides a disabled APIC", 0
        mov ecx, 0x802
        call rd_faults
        mov eax, edx
        CHECK "disabled: no MSR 802H", 1
        mov rax, r12
        and eax, ~0x400
        mov ecx, IA32_APIC_BASE
        call wr
        mov eax, 1
        cpuid
        shr edx, 9
        and edx, 1
        mov eax, edx
        CHECK "CPUID shows an enabled APIC", 1
        mov dword [apic_x2], 0
        APIC_RD APIC_SVR
        CHECK "enabled again: SVR is as after reset", 0xFF
        APIC_RD APIC_PERF
        CHECK "enabled again: the LVT is masked", 0x10000
        mov ecx, 0x802
        call rd_faults
        mov eax, edx
        CHECK "xAPIC: no MSR 802H", 1
        mov rax, r12
        mov ecx, IA32_APIC_BASE
        call wr
        mov dword [apic_x2], 1
        APIC_WR APIC_SVR, 0x100 + VECTOR_SPURIOUS
        APIC_RD APIC_SVR
        CHECK "x2APIC again", 0x100 + VECTOR_SPURIOUS
        ret

; Interrupts to itself, their order, the task priority, the timer: the same in both modes.
test_apic_common:
        APIC_WR APIC_TPR, 0
        mov qword [irq_log], 0
        APIC_WR APIC_ICR, 0x44000 + VECTOR_LOW
        APIC_WR APIC_ICR, 0x44000 + VECTOR_HIGH
        call linger
        APIC_RD APIC_IRR + (VECTOR_LOW / 32) * 16
        shr eax, VECTOR_LOW % 32
        and eax, 1
        CHECK "IRR holds the low vector while IF is 0", 1
        APIC_RD APIC_IRR + (VECTOR_HIGH / 32) * 16
        shr eax, VECTOR_HIGH % 32
        and eax, 1
        CHECK "IRR holds the high vector while IF is 0", 1
        sti
        call linger
        cli
        mov rax, [irq_log]
        CHECK "the higher vector comes first", VECTOR_HIGH * 256 + VECTOR_LOW
        mov rax, [irq_isr]
        CHECK "ISR holds the vector in its handler", 1
        mov rax, [irq_ppr]
        CHECK "PPR is the class of the vector in its handler", VECTOR_LOW
        APIC_RD APIC_ISR + (VECTOR_LOW / 32) * 16
        CHECK "ISR is empty after EOI", 0

        mov qword [irq_log], 0
        mov eax, VECTOR_LOW / 16
        mov cr8, rax
        APIC_RD APIC_TPR
        CHECK "CR8 is TPR", VECTOR_LOW
        APIC_WR APIC_ICR, 0x44000 + VECTOR_LOW
        APIC_WR APIC_ICR, 0x44000 + VECTOR_HIGH
        sti
        call linger
        mov rax, [irq_log]
        CHECK "TPR lets only the higher class through", VECTOR_HIGH
        xor eax, eax
        mov cr8, rax
        call linger
        cli
        mov rax, [irq_log]
        CHECK "TPR 0 lets the rest through", VECTOR_HIGH * 256 + VECTOR_LOW

        mov qword [irq_log], 0          ; the same by the register
        APIC_WR APIC_TPR, VECTOR_LOW
        sti
        APIC_WR APIC_ICR, 0x44000 + VECTOR_LOW
        call linger
        mov rax, [irq_log]
        CHECK "TPR by its register holds back", 0
        APIC_WR APIC_TPR, 0
        call linger
        cli
        mov rax, [irq_log]
        CHECK "TPR by its register lets through", VECTOR_LOW
        mov qword [irq_log], 0          ; the instruction after STI runs before an interrupt
        APIC_WR APIC_ICR, 0x44000 + VECTOR_LOW
        call linger
        sti
        cli
        call linger
        mov rax, [irq_log]
        CHECK "STI, CLI: nothing gets through", 0
        pushfq
        or qword [rsp], 0x200
        popfq
        nop
        cli
        mov rax, [irq_log]
        CHECK "POPF lets it through", VECTOR_LOW
        mov qword [irq_log], 0          ; one vector, three times, waits once
        APIC_WR APIC_ICR, 0x44000 + VECTOR_LOW
        APIC_WR APIC_ICR, 0x44000 + VECTOR_LOW
        APIC_WR APIC_ICR, 0x44000 + VECTOR_LOW
        sti
        call linger
        cli
        mov rax, [irq_log]
        CHECK "IRR holds a vector once", VECTOR_LOW
        mov qword [irq_log], 0
        APIC_WR APIC_ICR, 0x84000 + VECTOR_LOW
        sti
        call linger
        cli
        mov rax, [irq_log]
        CHECK "IPI to all including self", VECTOR_LOW
        mov qword [irq_log], 0
        APIC_WR APIC_ICR, 0xC4000 + VECTOR_LOW
        sti
        call linger
        cli
        mov rax, [irq_log]
        CHECK "IPI to all excluding self", 0
        mov qword [irq_log], 0
        APIC_RD APIC_ID
        mov edx, eax
        mov eax, 0x4000 + VECTOR_LOW
        call send_ipi
        sti
        call linger
        cli
        mov rax, [irq_log]
        CHECK "IPI to its own physical id", VECTOR_LOW
        mov qword [irq_log], 0
        cmp dword [apic_x2], 1
        je .logical
        APIC_WR APIC_DFR, -1            ; flat
        APIC_WR APIC_LDR, 0x40000000
.logical:
        APIC_RD APIC_LDR
        mov edx, eax
        mov eax, 0x4800 + VECTOR_LOW
        call send_ipi
        sti
        call linger
        cli
        mov rax, [irq_log]
        CHECK "IPI to its own logical id", VECTOR_LOW
        mov qword [pmis], 0             ; an NMI needs neither IF nor EOI
        mov qword [pmi_hook], hook_nothing
        APIC_RD APIC_ID
        mov edx, eax
        mov eax, 0x4400
        call send_ipi
        call linger
        mov rax, [pmis]
        CHECK "NMI by IPI while IF is 0", 1
        mov qword [irq_log], 0          ; the handler of 70H sends a lower and a higher one
        APIC_WR APIC_ICR, 0x44000 + VECTOR_NEST
        sti
        call linger
        cli
        mov rax, [irq_log]
        mov rdx, 0x7090716050
        CHECK "nested: 70H in, 90H, 70H out, 60H, 50H", rdx

        APIC_WR APIC_ESR, 0
        APIC_WR APIC_ICR, 0x44000 + 5
        call linger
        APIC_WR APIC_ESR, 0
        APIC_RD APIC_ESR
        and eax, 0x20
        CHECK "ESR: send illegal vector", 0x20
        APIC_WR APIC_ESR, 0

        APIC_WR APIC_DIVIDE, 0xB        ; by 1
        APIC_WR APIC_TIMER, 0x10000 + VECTOR_TIMER
        APIC_WR APIC_INITIAL, -1
        call linger
        APIC_RD APIC_CURRENT
        mov ebx, eax
        call linger
        APIC_RD APIC_CURRENT
        cmp eax, ebx
        setb al
        movzx eax, al
        CHECK "timer counts down", 1
        APIC_RD APIC_INITIAL
        mov edx, -1
        CHECK "initial count reads back", rdx
        APIC_WR APIC_INITIAL, 1000000
        APIC_RD APIC_CURRENT
        CHECK_IN "a new initial count starts again", 900000, 1000000
        mov ebx, eax
        call linger
        APIC_RD APIC_CURRENT
        sub ebx, eax
        APIC_WR APIC_DIVIDE, 0xA        ; by 128
        APIC_WR APIC_INITIAL, 1000000
        APIC_RD APIC_CURRENT
        mov r12d, eax
        call linger
        APIC_RD APIC_CURRENT
        sub r12d, eax
        mov eax, r12d
        shr ebx, 4
        CHECK_IN "divided by 128 it is slower", 0, rbx
        APIC_WR APIC_DIVIDE, 0xB
        mov qword [ticks], 0
        APIC_WR APIC_TIMER, 0x30000 + VECTOR_TIMER
        APIC_WR APIC_INITIAL, 10
        sti
        call linger
        cli
        mov rax, [ticks]
        CHECK "masked timer: no interrupts", 0
        APIC_WR APIC_INITIAL, 0
        APIC_RD APIC_CURRENT
        CHECK "initial count 0 stops the timer", 0

        mov qword [ticks], 0
        APIC_WR APIC_TIMER, VECTOR_TIMER
        APIC_WR APIC_INITIAL, 3000
        sti
        mov esi, 1
        call wait_ticks
        call linger
        call linger
        cli
        mov rax, [ticks]
        CHECK "one-shot timer: interrupts", 1
        APIC_RD APIC_CURRENT
        CHECK "one-shot timer: rest", 0
        mov qword [ticks], 0            ; inside one instruction
        APIC_WR APIC_TIMER, 0x20000 + VECTOR_TIMER
        APIC_WR APIC_INITIAL, 50
        mov r12d, 20000
        sti
.fill:  mov eax, 0xA5
        mov edi, LOAD_BUFFER
        mov ecx, 0x1000
        rep stosb
        dec r12d
        jz .filled
        cmp qword [ticks], 3
        jb .fill
.filled:
        cli
        mov rbx, rdi
        APIC_WR APIC_TIMER, 0x10000 + VECTOR_TIMER
        APIC_WR APIC_INITIAL, 0
        sti
        call linger
        cli
        mov rax, rbx
        CHECK "REP STOSB that is interrupted ends where it should", LOAD_BUFFER + 0x1000
        mov rax, [ticks]
        CHECK_IN "timer interrupts REP STOSB", 3, 1000000
        xor eax, eax
        mov edi, LOAD_BUFFER
        mov ecx, 0x1000
        mov al, 0xA5
        repe scasb
        sete al
        movzx eax, al
        CHECK "REP STOSB fills every byte", 1
        APIC_WR APIC_TIMER, VECTOR_TIMER
        mov qword [ticks], 0
        APIC_WR APIC_INITIAL, 3000
        sti                             ; the next instruction still runs before an interrupt
        hlt
        cli
        mov rax, [ticks]
        CHECK "timer ends HLT", 1
        mov qword [ticks], 0
        APIC_WR APIC_TIMER, 0x20000 + VECTOR_TIMER
        APIC_WR APIC_INITIAL, 3000
        sti
        mov esi, 5
        call wait_ticks
        cli
        APIC_WR APIC_TIMER, 0x10000 + VECTOR_TIMER
        APIC_WR APIC_INITIAL, 0
        sti
        call linger                     ; what is still pending
        cli
        mov rax, [ticks]
        CHECK_IN "periodic timer: interrupts", 5, 6

        bt dword [leaf1_ecx], 24
        jc .deadline
        NOT_HERE "TSC deadline"
        ret
.deadline:
        mov qword [ticks], 0
        APIC_WR APIC_TIMER, 0x40000 + VECTOR_TIMER
        mfence
        rdtsc
        shl rdx, 32
        or rax, rdx
        add rax, 20000
        mov r12, rax
        mov ecx, IA32_TSC_DEADLINE
        call wr
        RD IA32_TSC_DEADLINE
        CHECK "TSC deadline reads back while it waits", r12
        APIC_WR APIC_INITIAL, 500
        APIC_RD APIC_CURRENT
        CHECK "initial count is ignored in deadline mode", 0
        sti
        mov esi, 1
        call wait_ticks
        rdtsc
        shl rdx, 32
        or rax, rdx
        cli
        cmp rax, r12
        setae al
        movzx eax, al
        CHECK "TSC deadline does not come early", 1
        mov rax, [ticks]
        CHECK "TSC deadline: interrupts", 1
        RD IA32_TSC_DEADLINE
        CHECK "TSC deadline is 0 afterwards", 0
        APIC_WR APIC_TIMER, 0x10000 + VECTOR_TIMER
        ret

; ---- counters -------------------------------------------------------------------------------------------------
test_counters:
        call clear_pmu
        WR IA32_PERFEVTSEL0, SEL_EN_OS + INSTRUCTIONS
        mov r8d, 1
        call measure_loop
        CHECK "instructions of a loop of 1000", 2001
        WR IA32_PERFEVTSEL0, SEL_EN_OS + BRANCHES
        mov r8d, 1
        call measure_loop
        CHECK "branches of a loop of 1000", 1000
        WR IA32_PERFEVTSEL0, SEL_EN_OS + INSTRUCTIONS
        mov r13d, body_rep
        mov r8d, 1
        call measure_body
        CHECK "a REP STOSB is one instruction", 3
        mov rax, [gp_mask]              ; over the end: no sign, no rest
        mov [count_from], rax
        mov edi, body_loop
        call measure
        mov qword [count_from], 0
        CHECK_IN "a counter wraps at its width", 2001, 2010
        WR IA32_PERF_GLOBAL_OVF_CTRL, 1
        call pebs_events
        cmp dword [pebs_format], 0
        je .no_calls
        mov eax, [pebs_select_0]
        cmp eax, SEL_EN_OS + 0x7EC4
        je .no_calls
        WR IA32_PERFEVTSEL0, SEL_EN_OS + 0x02C4
        mov r13d, pebs_work
        mov r8d, 1
        call measure_body
        CHECK "near calls", PEBS_ROUNDS
.no_calls:
        cmp dword [pebs_format], 2
        jb .no_stores
        WR IA32_PERFEVTSEL0, SEL_EN_OS + 0x82D0
        mov r13d, store_work
        mov r8d, 1
        call measure_body
        CHECK "stores", 1000
        WR IA32_PERFEVTSEL0, SEL_EN_OS + 0x81D0
        mov edi, LOAD_BUFFER
        mov qword [rdi], LOAD_BUFFER
        mov r13d, load_work
        mov r8d, 1
        call measure_body
        CHECK "loads", LOADS
.no_stores:
        WR IA32_PERFEVTSEL0, SEL_EN_USR + INSTRUCTIONS
        mov r8d, 1
        mov edi, body_loop
        call measure
        CHECK "ring 3 only: nothing in ring 0", 0
        WR IA32_PERFEVTSEL0, SEL_EN_OS + INSTRUCTIONS
        xor r8d, r8d
        mov edi, body_loop
        call measure
        CHECK "GLOBAL_CTRL 0: nothing", 0
        WR IA32_PERFEVTSEL0, SEL_EN_OS - 0x400000 + INSTRUCTIONS
        mov r8d, 1
        mov edi, body_loop
        call measure
        CHECK "EN 0: nothing", 0
        WR IA32_PERFEVTSEL0, SEL_EN_OS + CYCLES
        mov r8d, 1
        mov edi, body_loop
        call measure
        mov r12, rax
        CHECK_IN "cycles of a loop of 1000", 200, 200000
        WR IA32_PERFEVTSEL0, SEL_EN_OS + INSTRUCTIONS + 0x1000000
        mov r8d, 1
        mov edi, body_loop
        call measure
        CHECK_IN "CMASK 1: cycles that retire something", 100, 2100
        WR IA32_PERFEVTSEL0, SEL_EN_OS + INSTRUCTIONS + 0xFF000000
        mov r8d, 1
        mov edi, body_loop
        call measure
        CHECK "CMASK 255: no cycle retires so many", 0

        cmp dword [gp_counters], 2
        jb .one
        call clear_pmu
        WR IA32_PERFEVTSEL0, SEL_EN_OS + INSTRUCTIONS
        WR IA32_PERFEVTSEL0 + 1, SEL_EN_OS + INSTRUCTIONS
        mov r8d, 3
        mov edi, body_loop
        call measure
        mov r12, rax
        RD IA32_PMC0 + 1
        CHECK "two counters of one event agree", r12
.one:
        call clear_pmu
        WR IA32_FIXED_CTR_CTRL, 1
        mov r8, 0x100000000
        mov edi, body_empty
        call measure
        RD IA32_FIXED_CTR0
        mov r12, rax
        WR IA32_FIXED_CTR0, 0
        mov edi, body_loop
        call measure
        RD IA32_FIXED_CTR0
        sub rax, r12
        CHECK "fixed counter 0: instructions of the loop", 2001
        WR IA32_FIXED_CTR_CTRL, 2
        WR IA32_FIXED_CTR0, 0
        mov edi, body_loop
        call measure
        RD IA32_FIXED_CTR0
        CHECK "fixed counter 0, ring 3 only: nothing", 0
        call clear_pmu

        WR IA32_PMC0, -256              ; writes have 32 bits, and their sign
        RD IA32_PMC0
        mov rdx, -256
        and rdx, [gp_mask]
        CHECK "PMC0 extends the sign to its width", rdx
        xor ecx, ecx
        rdpmc
        shl rdx, 32
        or rax, rdx
        mov rdx, -256
        and rdx, [gp_mask]
        CHECK "RDPMC 0 is PMC0", rdx
        mov rax, -3
        and rax, [fixed_mask]
        mov r12, rax
        mov ecx, IA32_FIXED_CTR0
        call wr
        mov ecx, 0x40000000
        rdpmc
        shl rdx, 32
        or rax, rdx
        CHECK "RDPMC 40000000H is fixed counter 0", r12
        bt qword [capabilities], 13
        jnc .no_full
        mov rax, 0x123456789A
        and rax, [gp_mask]
        mov r12, rax
        mov ecx, IA32_A_PMC0
        call wr
        RD IA32_PMC0
        CHECK "A_PMC0 takes the full width", r12
        jmp .full
.no_full:
        NOT_HERE "full-width writes"
        mov ecx, IA32_A_PMC0
        call rd_faults
        mov eax, edx
        CHECK "no MSR 4C1H without FW_WRITE", 1
.full:
        call clear_pmu
        xor r13d, r13d                  ; each general counter on its own
        xor ebx, ebx
.each:  lea ecx, [rbx + IA32_PERFEVTSEL0]
        mov eax, SEL_EN_OS + INSTRUCTIONS
        call wr
        mov r8d, 1
        mov ecx, ebx
        shl r8, cl
        mov edi, body_empty
        call count_run
        lea ecx, [rbx + IA32_PMC0]
        call rd
        mov r12, rax
        lea ecx, [rbx + IA32_PMC0]
        xor eax, eax
        call wr
        mov edi, body_loop
        call count_run
        mov ecx, ebx
        rdpmc
        shl rdx, 32
        or rax, rdx
        sub rax, r12
        cmp rax, 2001
        je .right
        inc r13d
.right: inc ebx
        cmp ebx, [gp_counters]
        jb .each
        mov eax, r13d
        CHECK "general counters that count otherwise", 0
        call clear_pmu
        xor r13d, r13d                  ; fixed counters
        xor ebx, ebx
.fixed: bt [fixed_bitmap], ebx
        jnc .absent
        lea ecx, [rbx * 4]
        mov eax, 1
        shl rax, cl
        mov ecx, IA32_FIXED_CTR_CTRL
        call wr
        lea ecx, [rbx + 32]
        mov r8d, 1
        shl r8, cl
        mov edi, body_long
        call count_run
        lea ecx, [rbx + IA32_FIXED_CTR0]
        call rd
        cmp rax, 1000
        jae .absent
        inc r13d
.absent:
        inc ebx
        cmp ebx, 3                      ; the next one, slots, below
        jb .fixed
        mov eax, r13d
        CHECK "fixed counters that do not count", 0
        bt dword [fixed_bitmap], 3
        jnc .no_slots
        call clear_pmu
        WR IA32_FIXED_CTR_CTRL, 0x1010  ; slots beside cycles
        mov r8, 0xA00000000
        mov edi, body_long
        call count_run
        RD IA32_FIXED_CTR0 + 1
        mov r12, rax
        RD IA32_FIXED_CTR0 + 3
        test rax, rax
        jz .uncounted
        CHECK_IN "slots, at least one in each cycle", r12, 1 << 40
        jmp .no_slots
.uncounted:
        SAY "fixed counter 3, slots: does not count here", 10
.no_slots:
        call clear_pmu
        mov qword [fixup], .rdpmc
        mov byte [fault_vector], 0
        mov ecx, [gp_counters]
        rdpmc
.rdpmc: mov qword [fixup], 0
        movzx eax, byte [fault_vector]
        CHECK "RDPMC of a counter too many faults", 13
        mov ecx, IA32_DEBUGCTL
        mov eax, 0x100000
        CHECK_FAULT "DEBUGCTL bit 20 is reserved", 1
        bt dword [leaf1_ecx], 15
        jnc .no_pdcm
        mov ecx, IA32_PERF_CAPABILITIES
        mov rax, [capabilities]
        CHECK_FAULT "PERF_CAPABILITIES is read-only", 1
.no_pdcm:
        WR IA32_PERFEVTSEL0, SEL_EN_OS + INSTRUCTIONS + 0x1040000
        mov r8d, 1
        mov edi, body_loop
        call measure
        CHECK_IN "EDGE: times that retiring begins", 1, 2100

        call clear_pmu                  ; HLT: cycles stand, the time stamp does not
        WR IA32_PERFEVTSEL0, SEL_EN_OS + CYCLES
        APIC_WR APIC_DIVIDE, 0xB
        APIC_WR APIC_TIMER, VECTOR_TIMER
        mov qword [ticks], 0
        rdtsc
        shl rdx, 32
        or rax, rdx
        mov r12, rax
        APIC_WR APIC_INITIAL, 5000
        mov r8d, 1
        mov edi, body_halt
        call measure
        mov r13, rax
        rdtsc
        shl rdx, 32
        or rax, rdx
        sub rax, r12
        shr rax, 1
        mov r12, rax
        APIC_WR APIC_TIMER, 0x10000 + VECTOR_TIMER
        mov rax, [ticks]
        CHECK "HLT was ended by the timer", 1
        mov rax, r13
        CHECK_IN "cycles in HLT, less than half of the time stamp's", 1, r12

        call clear_pmu
        WR IA32_PERFEVTSEL0, SEL_EN_OS + INSTRUCTIONS
        WR IA32_PMC0, -10
        mov r8d, 1
        mov edi, body_loop
        call count_run
        RD IA32_PERF_GLOBAL_STATUS
        and eax, 1
        CHECK "overflow sets its status bit", 1
        RD IA32_PMC0
        CHECK_IN "counter goes on from 0", 1991, 2010
        WR IA32_PERF_GLOBAL_OVF_CTRL, 1
        RD IA32_PERF_GLOBAL_STATUS
        and eax, 1
        CHECK "390H clears the status bit", 0
        mov ecx, IA32_PERF_GLOBAL_STATUS
        mov eax, 1
        CHECK_FAULT "GLOBAL_STATUS is read-only", 1
        mov ecx, IA32_PERF_GLOBAL_CTRL
        mov eax, 0x80000000
        CHECK_FAULT "GLOBAL_CTRL bit 31 is reserved", 1
        mov ecx, IA32_FIXED_CTR_CTRL
        mov rax, 0x8000000000000000
        CHECK_FAULT "FIXED_CTR_CTRL bit 63 is reserved", 1
        cmp byte [have_pebs], 0
        je .no_pebs
        mov ecx, IA32_PEBS_ENABLE
        mov eax, 0x80000000
        CHECK_FAULT "PEBS_ENABLE bit 31 is reserved", 1
        mov ecx, IA32_DS_AREA
        mov rax, 0x0000800000000000
        CHECK_FAULT "DS_AREA takes canonical addresses only", 1
.no_pebs:
        mov ecx, IA32_PERFEVTSEL0
        mov rax, 0x8000000000000000
        CHECK_FAULT "PERFEVTSEL bit 63 is reserved", 1
        mov ecx, IA32_PERF_GLOBAL_CTRL
        mov rax, [all_counters]
        CHECK_FAULT "GLOBAL_CTRL takes every counter of leaf 0AH", 0
        RD IA32_PERF_GLOBAL_CTRL
        CHECK "GLOBAL_CTRL reads back", [all_counters]
        call clear_pmu

        cmp dword [version], 4
        jae .v4
        NOT_HERE "status set, in use"
        ret
.v4:    mov rax, [all_counters]
        mov ecx, IA32_PERF_GLOBAL_STATUS_SET
        call wr
        RD IA32_PERF_GLOBAL_STATUS
        and rax, [all_counters]
        CHECK "391H sets status bits", [all_counters]
        mov rax, [all_counters]
        mov ecx, IA32_PERF_GLOBAL_OVF_CTRL
        call wr
        RD IA32_PERF_GLOBAL_STATUS
        CHECK "390H resets them", 0
        RD IA32_PERF_GLOBAL_INUSE
        CHECK "nothing in use", 0
        mov ecx, IA32_PERF_GLOBAL_INUSE
        xor eax, eax
        CHECK_FAULT "GLOBAL_INUSE is read-only", 1
        WR IA32_PERFEVTSEL0, INSTRUCTIONS
        WR IA32_FIXED_CTR_CTRL, 0x20
        RD IA32_PERF_GLOBAL_INUSE
        mov rdx, 0x200000001
        CHECK "in use: PMC0, fixed counter 1", rdx
        WR IA32_PERFEVTSEL0, SEL_INT + INSTRUCTIONS
        RD IA32_PERF_GLOBAL_INUSE
        shr rax, 63
        CHECK "in use: PMI", 1
        call clear_pmu
        ret

; ---- interrupts of counters -----------------------------------------------------------------------------------
test_pmi:
        call clear_pmu
        mov dword [lvt_perf], VECTOR_PMI
        APIC_WR APIC_PERF, VECTOR_PMI
        mov qword [pmis], 0
        mov qword [pmi_hook], hook_once
        WR IA32_PERFEVTSEL0, SEL_EN_OS + SEL_INT + INSTRUCTIONS
        WR IA32_PMC0, -500
        sti
        mov r8d, 1
        mov edi, body_loop
        call count_run
        call linger
        cli
        mov rax, [pmis]
        CHECK "PMI by vector", 1
        mov rax, [pmi_status]
        and eax, 1
        CHECK "its cause, in its handler", 1
        mov eax, [pmi_lvt]
        CHECK "delivery masks the LVT entry", 0x10000 + VECTOR_PMI
        mov rax, [pmi_rip]
        CHECK_IN "it comes inside the loop", body_loop, body_loop_end
        mov rax, [pmi_ctrl]
        CHECK "without freezing GLOBAL_CTRL stays", 1

        call clear_pmu                  ; NMI, with IF 0, and frozen
        mov dword [lvt_perf], 0x400
        APIC_WR APIC_PERF, 0x400
        mov qword [pmis], 0
        WR IA32_PERFEVTSEL0, SEL_EN_OS + SEL_INT + INSTRUCTIONS
        WR IA32_PMC0, -500
        WR IA32_DEBUGCTL, 0x1000        ; FREEZE_PERFMON_ON_PMI
        mov r8d, 1
        mov edi, body_loop
        call count_run
        mov rax, [pmis]
        CHECK "PMI as NMI while IF is 0", 1
        mov eax, [pmi_lvt]
        CHECK "delivery masks the LVT entry of the NMI", 0x10400
        cmp dword [version], 4
        jae .streamlined
        mov rax, [pmi_ctrl]
        CHECK "freeze: GLOBAL_CTRL is cleared", 0
        jmp .frozen
.streamlined:
        mov rax, [pmi_status]
        shr rax, 59
        and eax, 1
        CHECK "freeze: CTR_FRZ", 1
        mov rax, [pmi_ctrl]
        CHECK "freeze: GLOBAL_CTRL stays", 1
.frozen:
        mov rax, [pmi_pmc0]
        CHECK_IN "freeze: the counter stands near 0", 0, 100

        call clear_pmu                  ; a fixed counter
        APIC_WR APIC_PERF, 0x400
        mov qword [pmis], 0
        WR IA32_FIXED_CTR_CTRL, 9
        mov rax, -500
        and rax, [fixed_mask]
        mov ecx, IA32_FIXED_CTR0
        call wr
        mov r8, 0x100000000
        mov edi, body_loop
        call count_run
        mov rax, [pmis]
        CHECK "PMI of fixed counter 0", 1
        mov rax, [pmi_status]
        shr rax, 32
        and eax, 1
        CHECK "status bit 32", 1

        cmp dword [gp_counters], 2      ; two at once
        jb .masked
        call clear_pmu
        APIC_WR APIC_PERF, 0x400
        mov qword [pmis], 0
        WR IA32_DEBUGCTL, 0x1000
        WR IA32_PERFEVTSEL0, SEL_EN_OS + SEL_INT + INSTRUCTIONS
        WR IA32_PERFEVTSEL0 + 1, SEL_EN_OS + SEL_INT + INSTRUCTIONS
        WR IA32_PMC0, -500
        WR IA32_PMC0 + 1, -500
        mov r8d, 3
        mov edi, body_loop
        call count_run
        mov rax, [pmis]
        CHECK "two counters overflow at once: PMIs", 1
        mov rax, [pmi_status]
        and eax, 3
        CHECK "two counters overflow at once: status", 3
        cmp dword [version], 4
        jb .masked
        call clear_pmu                  ; clearing CTR_FRZ is enough to go on
        WR IA32_DEBUGCTL, 0x1000
        APIC_WR APIC_PERF, 0x10400
        WR IA32_PERFEVTSEL0, SEL_EN_OS + SEL_INT + INSTRUCTIONS
        WR IA32_PERFEVTSEL0 + 1, SEL_EN_OS + INSTRUCTIONS
        WR IA32_PMC0, -500
        mov ecx, IA32_PERF_GLOBAL_CTRL
        mov eax, 3
        xor edx, edx
        wrmsr
        call body_loop
        RD IA32_PMC0 + 1
        mov r12, rax
        call body_loop
        RD IA32_PMC0 + 1
        sub rax, r12
        CHECK "frozen counters stand", 0
        WR IA32_PERF_GLOBAL_OVF_CTRL, (1 << 59) + 1
        RD IA32_PMC0 + 1
        mov r12, rax
        call body_loop
        RD IA32_PMC0 + 1
        sub rax, r12
        CHECK_IN "CTR_FRZ cleared: they go on", 2003, 2020
.masked:
        call clear_pmu                  ; masked: no interrupt, but the status
        APIC_WR APIC_PERF, 0x10400
        mov qword [pmis], 0
        WR IA32_PERFEVTSEL0, SEL_EN_OS + SEL_INT + INSTRUCTIONS
        WR IA32_PMC0, -500
        mov r8d, 1
        mov edi, body_loop
        call count_run
        mov rax, [pmis]
        CHECK "masked LVT: no PMI", 0
        RD IA32_PERF_GLOBAL_STATUS
        and eax, 1
        CHECK "masked LVT: the status bit all the same", 1
        call clear_pmu
        ret

hook_every:
        mov rax, [rdi + FRAME_RIP]
        cmp rax, user_code
        jb .elsewhere
        cmp rax, user_code_end
        jb .there
.elsewhere:
        inc qword [every_wrong]
.there: WR IA32_PMC0, -1
        mov qword [ctrl_after], 1
        mov qword [debugctl_after], 0
        call acknowledge
        ret

; Keeps what the interrupt found; counting stays off.
hook_once:
        mov rax, [rdi + FRAME_RIP]
        mov [pmi_rip], rax
        mov qword [ctrl_after], 0
        mov qword [debugctl_after], 0
        RD IA32_PMC0
        mov [pmi_pmc0], rax
        call acknowledge
        ret

; ---- the APIC timer beside a counter --------------------------------------------------------------------------
; A counter sees the loop and the handlers of all ticks, no more and no less. Whether a hardware interrupt itself
; counts as an instruction is not promised, hence one for each tick.
test_timer_beside_counters:
        call clear_pmu
        WR IA32_PERFEVTSEL0, SEL_EN_OS + INSTRUCTIONS
        mov r8d, 1
        mov edi, body_empty
        call measure
        mov r12, rax
        mov qword [ticks], 0
        APIC_WR APIC_DIVIDE, 0xB
        APIC_WR APIC_TIMER, 0x20000 + VECTOR_TIMER
        WR IA32_PMC0, 0
        APIC_WR APIC_INITIAL, 2000
        mov r8d, 1
        mov edi, body_long
        call count_run_open
        APIC_WR APIC_TIMER, 0x10000 + VECTOR_TIMER
        APIC_WR APIC_INITIAL, 0
        mov r13, [ticks]
        RD IA32_PMC0
        sub rax, r12
        mov r14, rax
        sti                             ; one that came too late
        call linger
        cli
        mov rax, r13
        CHECK_IN "ticks beside the counter", 1, 1000000
        mov rcx, r13
        mov eax, timer_length_x2
        cmp dword [apic_x2], 1
        je .x2
        mov eax, timer_length_x
.x2:    imul rcx, rax
        add rcx, 400003                 ; two more: STI and CLI
        mov rdx, rcx
        add rcx, r13
        mov rax, r14
        mov rbx, rdx
        mov rbp, rcx
        CHECK_IN "counter saw the loop and every handler", rbx, rbp
        call clear_pmu

        mov qword [irq_log], 0          ; a self-IPI, a PMI and a counter
        mov qword [pmis], 0
        mov dword [lvt_perf], VECTOR_PMI
        APIC_WR APIC_PERF, VECTOR_PMI
        mov qword [pmi_hook], hook_order
        WR IA32_PERFEVTSEL0, SEL_EN_OS + SEL_INT + INSTRUCTIONS
        WR IA32_PMC0, -500
        mov r8d, 1
        mov edi, body_loop
        call count_run
        APIC_WR APIC_ICR, 0x44000 + VECTOR_LOW
        call linger
        sti
        call linger
        cli
        mov rax, [irq_log]
        CHECK "self-IPI 50H goes before PMI 41H", VECTOR_LOW * 256 + VECTOR_PMI
        call clear_pmu
        ret

hook_order:
        mov rax, [irq_log]
        shl rax, 8
        or rax, VECTOR_PMI
        mov [irq_log], rax
        mov qword [ctrl_after], 0
        mov qword [debugctl_after], 0
        call acknowledge
        ret

; ---- rings ----------------------------------------------------------------------------------------------------
test_rings:
        call clear_pmu
        mov qword [user_entry], user_code
        mov eax, TSS
        cmp byte [tss_loaded], 0
        jne .loaded
        ltr ax
        mov byte [tss_loaded], 1
.loaded:
        WR IA32_PERFEVTSEL0, SEL_EN_USR + INSTRUCTIONS
        mov edi, 500
        call user_run
        mov r12, rax
        mov edi, 1500
        call user_run
        sub rax, r12
        CHECK "ring 3: 1000 more rounds are 2000 instructions", 2000
        mov rax, r12
        CHECK_IN "ring 3: nothing of ring 0", 1000, 1003
        WR IA32_PERFEVTSEL0, SEL_EN_OS + INSTRUCTIONS
        mov edi, 500
        call user_run
        mov r12, rax
        mov edi, 1500
        call user_run
        sub rax, r12
        CHECK "ring 0: ring 3 does not count", 0
        call clear_pmu
        mov dword [lvt_perf], 0x400     ; a PMI out of ring 3
        APIC_WR APIC_PERF, 0x400
        mov qword [pmi_hook], hook_once
        mov qword [pmis], 0
        WR IA32_PERFEVTSEL0, SEL_EN_USR + SEL_INT + INSTRUCTIONS
        mov edi, 1500
        mov qword [user_start], -1000
        call user_run
        mov qword [user_start], 0
        mov rax, [pmis]
        CHECK "PMI out of ring 3", 1
        mov rax, [pmi_rip]
        CHECK_IN "its address is in the loop of ring 3", user_code, user_code_end
        call clear_pmu

        APIC_WR APIC_PERF, 0x400        ; an interrupt after every instruction of ring 3: it goes on all the same.
        mov qword [pmis], 0             ; (in ring 0 the handler's last instructions would count, and it would not)
        mov qword [pmi_hook], hook_every
        mov qword [every_wrong], 0
        WR IA32_PERFEVTSEL0, SEL_EN_USR + SEL_INT + INSTRUCTIONS
        mov qword [user_start], -1
        mov edi, 20
        call user_run
        mov qword [user_start], 0
        mov rax, [pmis]
        CHECK_IN "an interrupt after every instruction: PMIs", 2, 41
        mov rax, [every_wrong]
        CHECK_IN "an interrupt after every instruction: addresses outside", 0, 1
        call clear_pmu

        mov qword [user_entry], user_rdpmc ; RDPMC in ring 3 is CR4.PCE's to allow
        mov qword [fixup], user_rdpmc_end
        mov byte [fault_vector], 0
        mov rax, cr4
        and eax, ~0x100
        mov cr4, rax
        call user_run
        movzx eax, byte [fault_vector]
        CHECK "ring 3: RDPMC faults without CR4.PCE", 13
        mov qword [fixup], user_rdpmc_end
        mov byte [fault_vector], 0
        mov rax, cr4
        or eax, 0x100
        mov cr4, rax
        call user_run
        movzx eax, byte [fault_vector]
        CHECK "ring 3: RDPMC with CR4.PCE", 0
        mov qword [fixup], 0
        mov qword [user_entry], user_wrmsr
        mov qword [fixup], user_rdpmc_end
        call user_run
        movzx eax, byte [fault_vector]
        CHECK "ring 3: RDMSR faults", 13
        mov qword [user_entry], user_code

        cmp byte [have_pebs], 0         ; PEBS of ring 3 alone
        je .end
        WR IA32_DS_AREA, DS_AREA
        call pebs_record_size
        call pebs_buffer
        APIC_WR APIC_PERF, 0x10400
        call pebs_events
        mov rax, -101
        and rax, [gp_mask]
        mov [DS_AREA + 0x40], rax
        mov eax, [pebs_select_0]
        xor eax, 0x30000                ; USR for OS
        or rax, [pebs_adaptive]
        mov ecx, IA32_PERFEVTSEL0
        call wr
        WR IA32_PEBS_ENABLE, 1
        mov qword [user_start], -101
        mov edi, 1500
        call user_run
        mov qword [user_start], 0
        WR IA32_PEBS_ENABLE, 0
        mov rax, [DS_AREA + 0x28]
        sub rax, PEBS_BUFFER
        xor edx, edx
        div dword [pebs_size]
        CHECK_IN "ring 3: records", 13, PEBS_ROOM
        mov esi, PEBS_BUFFER
        xor ebx, ebx
.record:
        cmp rsi, [DS_AREA + 0x28]
        jae .recorded
        call pebs_parse
        mov rax, [record_ip]
        cmp rax, user_code
        jb .elsewhere
        cmp rax, user_code_end
        jb .advance
.elsewhere:
        inc ebx
.advance:
        mov eax, [pebs_size]
        add rsi, rax
        jmp .record
.recorded:
        mov eax, ebx
        CHECK "ring 3: records with an address elsewhere", 0
.end:   call clear_pmu
        ret

; Runs RDI rounds in ring 3 and returns PMC0 in RAX.
user_run:
        mov [kernel_rsp], rsp
        mov rax, [user_start]
        mov ecx, IA32_PMC0
        call wr
        mov ecx, IA32_PERF_GLOBAL_CTRL
        mov eax, 1
        xor edx, edx
        wrmsr
        push USER_DATA
        push STACK_USER
        push 2
        push USER_CODE
        push qword [user_entry]
        iretq
user_back:                              ; INT 80H
        mov ecx, IA32_PERF_GLOBAL_CTRL
        xor eax, eax
        xor edx, edx
        wrmsr
        mov rsp, [kernel_rsp]
        mov eax, DATA
        mov ss, eax
        RD IA32_PMC0
        ret
user_code:
        dec edi
        jnz user_code
        int VECTOR_BACK
user_code_end:
user_wrmsr:
        mov ecx, IA32_PERF_GLOBAL_CTRL
        rdmsr
        int VECTOR_BACK
user_rdpmc:
        xor ecx, ecx
        rdpmc
user_rdpmc_end:
        int VECTOR_BACK

; ---- a sampling profiler --------------------------------------------------------------------------------------
; Three functions whose work is 1 : 2 : 4. Each counter interrupts after its own period; the NMI handler enters
; the address it interrupted.
PROFILE_ROUNDS  equ 20
PROFILE_WORK    equ 1000
PERIOD_0        equ 1009
PERIOD_1        equ 211
PERIOD_F        equ 1511
HANDLER_TAIL    equ 24                  ; instructions
PROFILE_TOTAL   equ PROFILE_ROUNDS * PROFILE_WORK * 7 * 8

test_profiler:
        call clear_pmu
        mov edi, HISTOGRAM
        xor eax, eax
        mov ecx, 64
        rep stosq
        mov qword [pmis], 0
        mov qword [pmi_hook], hook_profile
        mov dword [lvt_perf], 0x400
        APIC_WR APIC_PERF, 0x400
        WR IA32_PERFEVTSEL0, SEL_EN_OS + SEL_INT + INSTRUCTIONS
        WR IA32_PMC0, -PERIOD_0
        mov r12, 1
        cmp dword [gp_counters], 2
        jb .fixed
        WR IA32_PERFEVTSEL0 + 1, SEL_EN_OS + SEL_INT + BRANCHES
        WR IA32_PMC0 + 1, -PERIOD_1
        or r12, 2
.fixed: WR IA32_FIXED_CTR_CTRL, 9
        mov rax, -PERIOD_F
        and rax, [fixed_mask]
        mov ecx, IA32_FIXED_CTR0
        call wr
        bts r12, 32
        mov [profile_ctrl], r12
        WR IA32_DEBUGCTL, 0x1000
        mov r8, r12
        mov edi, profiled
        call count_run
        WR IA32_DEBUGCTL, 0
        mov ebx, HISTOGRAM + 0x80
        SAY "samples by fixed counter 0:", 10
        call print_histogram
        mov ebx, HISTOGRAM
        SAY "samples by instructions:", 10
        call print_histogram
        mov ebx, HISTOGRAM
        mov r14, PROFILE_TOTAL
        mov r15, PERIOD_0
        mov ebp, HANDLER_TAIL
        SAY "of instructions: "
        call check_histogram
        mov ebx, HISTOGRAM + 0x80
        mov r14, PROFILE_TOTAL
        mov r15, PERIOD_F
        SAY "of fixed counter 0: "
        call check_histogram
        cmp dword [gp_counters], 2
        jb .end
        mov ebx, HISTOGRAM + 0x40
        mov r14, PROFILE_ROUNDS * PROFILE_WORK * 7
        mov r15, PERIOD_1
        mov ebp, 2
        SAY "of branches: "
        call check_histogram
.end:   call clear_pmu
        ret

hook_profile:
        mov r8, [pmi_status]
        mov rax, [rdi + FRAME_RIP]
        mov ecx, 3                      ; outside
        cmp rax, light
        jb .place
        cmp rax, profiled_end
        jae .place
        xor ecx, ecx
        cmp rax, medium
        jb .place
        inc ecx
        cmp rax, heavy
        jb .place
        inc ecx
.place: bt r8, 0
        jnc .one
        inc qword [HISTOGRAM + rcx * 8]
        push rcx
        WR IA32_PMC0, -PERIOD_0
        pop rcx
.one:   bt r8, 1
        jnc .fixed
        inc qword [HISTOGRAM + 0x40 + rcx * 8]
        push rcx
        WR IA32_PMC0 + 1, -PERIOD_1
        pop rcx
.fixed: bt r8, 32
        jnc .end
        inc qword [HISTOGRAM + 0x80 + rcx * 8]
        mov rax, -PERIOD_F
        and rax, [fixed_mask]
        mov ecx, IA32_FIXED_CTR0
        call wr
.end:   mov rax, [profile_ctrl]
        mov [ctrl_after], rax
        mov qword [debugctl_after], 0x1000
        call acknowledge
        ret

print_histogram:                        ; RBX: four numbers
        xor r12d, r12d
        xor r13d, r13d
.sum:   add r13, [rbx + r12 * 8]
        inc r12d
        cmp r12d, 4
        jb .sum
        test r13, r13
        jz .end
        xor r12d, r12d
.line:  SAY "  "
        mov esi, [names + r12 * 4]
        call print
        mov rax, [rbx + r12 * 8]
        call print_decimal
        SAY 10
        imul rax, [rbx + r12 * 8], 100
        mov rcx, r13                    ; to the nearest
        shr rcx, 1
        add rax, rcx
        xor edx, edx
        div r13
        mov [profile_shares + r12 * 8], rax
        inc r12d
        cmp r12d, 4
        jb .line
        mov ebx, profile_shares
        call print_bars
.end:   ret
print_bars:                             ; RBX: four percentages; a # for every two
        xor r12d, r12d
.line:  SAY "  "
        mov esi, [names + r12 * 4]
        call print
        mov rax, [rbx + r12 * 8]
        call print_decimal
        SAY "% "
        mov r13, [rbx + r12 * 8]
        shr r13, 1
        jz .full
.bar:   mov al, '#'
        call print_char
        dec r13
        jnz .bar
.full:  SAY 10
        inc r12d
        cmp r12d, 4
        jb .line
        ret

; RBX: four numbers; R14: events of the work; R15: period; RBP: events of a handler after it lets counters run again.
; An interrupt during the handler's tail waits for its IRET, so the sample falls into the work all the same.
check_histogram:
        mov r13, [rbx]
        add r13, [rbx + 8]
        add r13, [rbx + 16]
        mov rax, r14
        xor edx, edx
        div r15
        mov r12, rax
        shr r12, 3                      ; an eighth less: processors take a while to stop and go
        sub rax, r12
        mov r12, rax
        imul rbp, [pmis]
        lea rax, [r14 + rbp]
        xor edx, edx
        div r15
        lea r14, [rax + 3]
        mov rax, r13
        CHECK_IN "samples taken", r12, r14
        inc r13
        imul rax, [rbx], 1000
        xor edx, edx
        div r13
        CHECK_IN "per mille in the light function, 143", 103, 183
        imul rax, [rbx + 8], 1000
        xor edx, edx
        div r13
        CHECK_IN "per mille in the medium function, 286", 236, 336
        imul rax, [rbx + 16], 1000
        xor edx, edx
        div r13
        CHECK_IN "per mille in the heavy function, 571", 511, 631
        ret

        align 64
light:  mov ecx, PROFILE_WORK
.round: add eax, ecx
        xor edx, eax
        lea eax, [eax + edx + 1]
        rol edx, 3
        nop
        nop
        dec ecx
        jnz .round
        ret
medium: mov ecx, PROFILE_WORK * 2
.round: add eax, ecx
        xor edx, eax
        lea eax, [eax + edx + 2]
        rol edx, 5
        nop
        nop
        dec ecx
        jnz .round
        ret
heavy:  mov ecx, PROFILE_WORK * 4
.round: add eax, ecx
        xor edx, eax
        lea eax, [eax + edx + 3]
        rol edx, 7
        nop
        nop
        dec ecx
        jnz .round
        ret
profiled_end:
profiled:
        mov r9d, PROFILE_ROUNDS
.round: call light
        call medium
        call heavy
        dec r9d
        jnz .round
        ret

; ---- PEBS -----------------------------------------------------------------------------------------------------
; A loop that calls: conditional branches and near calls, each with a counter and a period of its own. R15 counts
; the rounds down, so that a record tells when it was taken. Format 0 has one PEBS counter: instructions.
PEBS_ROUNDS     equ 2000
PEBS_PERIOD_0   equ 97
PEBS_PERIOD_1   equ 61
PEBS_ROOM       equ 16
PEBS_THRESHOLD  equ 8
PEBS_SHADOW     equ 8                   ; how late a record may come, in rounds

test_pebs:
        call clear_pmu
        cmp byte [have_pebs], 0
        jne .there
        NOT_HERE "PEBS"
        ret
.there: WR IA32_DS_AREA, DS_AREA
        call pebs_record_size
        call pebs_events
        call pebs_buffer
        mov qword [pebs_seen_0], 0
        mov qword [pebs_seen_1], 0
        mov qword [pebs_last_0], 0
        mov qword [pebs_last_1], 0
        mov qword [pebs_wrong_place], 0
        mov qword [pebs_wrong_distance], 0
        mov qword [pebs_wrong_cause], 0
        mov qword [pebs_wrong_size], 0
        mov qword [pebs_short], 0
        mov qword [pebs_no_status], 0
        mov qword [pebs_tsc_back], 0
        mov qword [pebs_last_tsc], 0
        mov qword [pmis], 0
        mov qword [pmi_hook], hook_pebs
        mov dword [lvt_perf], 0x400
        APIC_WR APIC_PERF, 0x400
        mov rax, -PEBS_PERIOD_0
        and rax, [gp_mask]
        mov [DS_AREA + 0x40], rax
        mov rax, -PEBS_PERIOD_1
        and rax, [gp_mask]
        mov [DS_AREA + 0x48], rax
        WR IA32_PMC0, -PEBS_PERIOD_0
        mov eax, [pebs_select_0]
        or rax, [pebs_adaptive]
        mov ecx, IA32_PERFEVTSEL0
        call wr
        cmp qword [profile_ctrl], 1
        je .one
        WR IA32_PMC0 + 1, -PEBS_PERIOD_1
        mov eax, [pebs_select_1]
        or rax, [pebs_adaptive]
        mov ecx, IA32_PERFEVTSEL0 + 1
        call wr
.one:   mov rax, [profile_ctrl]
        mov ecx, IA32_PEBS_ENABLE
        call wr
        RD IA32_PEBS_ENABLE
        CHECK "PEBS_ENABLE reads back", [profile_ctrl]
        mov r8, [profile_ctrl]
        mov edi, pebs_work
        call count_run
        RD IA32_PMC0
        mov [pebs_pmc0], rax
        RD IA32_PMC0 + 1
        mov [pebs_pmc1], rax
        WR IA32_PEBS_ENABLE, 0
        mov rax, [pmis]
        mov [pebs_pmis], rax
        call pebs_drain                 ; what has not reached the threshold

        cmp dword [pebs_format], 0
        je .expect0
        mov rax, [pebs_seen_0]
        CHECK_IN "records of conditional branches", PEBS_ROUNDS / (PEBS_PERIOD_0 + PEBS_SHADOW), PEBS_ROUNDS / PEBS_PERIOD_0
        cmp qword [profile_ctrl], 1
        je .both
        mov rax, [pebs_seen_1]
        CHECK_IN "records of near calls", PEBS_ROUNDS / (PEBS_PERIOD_1 + PEBS_SHADOW), PEBS_ROUNDS / PEBS_PERIOD_1
        mov rax, [pebs_pmc1]
        call signed_counter
        CHECK_IN "PMC1 was reloaded from its own slot", -PEBS_PERIOD_1, PEBS_SHADOW
        jmp .both
.expect0:
        mov rax, [pebs_seen_0]
        CHECK_IN "records of instructions", PEBS_ROUNDS * 4 / (PEBS_PERIOD_0 + PEBS_SHADOW), PEBS_ROUNDS * 5 / PEBS_PERIOD_0
.both:  mov rax, [pebs_pmc0]
        call signed_counter
        CHECK_IN "PMC0 was reloaded from its own slot", -PEBS_PERIOD_0, PEBS_SHADOW
        mov rax, [pebs_wrong_place]
        CHECK "records with an address elsewhere", 0
        mov rax, [pebs_wrong_distance]
        CHECK "records not one period after the last", 0
        mov rax, [pebs_pmis]
        CHECK_IN "threshold interrupts", 1, 20
        mov rax, [pebs_short]
        CHECK "interrupts before the threshold", 0
        mov rax, [pebs_no_status]
        CHECK "interrupts without OvfBuf in the status", 0
        cmp dword [pebs_format], 1
        jb .no_cause
        mov rax, [pebs_wrong_cause]
        CHECK "records that do not name their counter", 0
        cmp dword [pebs_format], 3
        jb .no_cause
        mov rax, [pebs_tsc_back]
        CHECK "records whose TSC goes back", 0
.no_cause:
        cmp dword [pebs_format], 4
        jb .no_groups
        mov rax, [pebs_wrong_size]
        CHECK "adaptive records of another size", 0
        call test_pebs_groups
        call test_pebs_fixed
        call test_pebs_contents
.no_groups:
        call test_pebs_slots
        call test_pebs_registers
        call test_pebs_addresses
        call clear_pmu
        call test_pebs_full
        call test_pebs_freeze
        ret

; A full buffer takes no record more and nothing lies behind it.
test_pebs_full:
        cmp byte [have_pebs], 0
        je .end
        call pebs_buffer
        APIC_WR APIC_PERF, 0x10400
        mov rax, [DS_AREA + 0x30]
        mov qword [DS_AREA + 0x38], rax ; threshold at the end
        mov r12, rax
        mov rdi, rax
        mov eax, 0x5A5A5A5A
        mov ecx, 256
        rep stosd
        mov rax, -11
        and rax, [gp_mask]
        mov [DS_AREA + 0x40], rax
        WR IA32_PMC0, -11
        mov eax, [pebs_select_0]
        or rax, [pebs_adaptive]
        mov ecx, IA32_PERFEVTSEL0
        call wr
        WR IA32_PEBS_ENABLE, 1
        mov r8d, 1
        mov edi, pebs_work
        call count_run
        WR IA32_PEBS_ENABLE, 0
        mov rax, [DS_AREA + 0x28]
        CHECK "full buffer: the index is at its end", r12
        xor eax, eax
        mov ecx, 128
        mov rdi, r12
        mov rdx, 0x5A5A5A5A5A5A5A5A
.look:  cmp [rdi], rdx
        je .same
        inc eax
.same:  add rdi, 8
        loop .look
        CHECK "full buffer: words changed behind it", 0
        call clear_pmu
.end:   ret

; The threshold's interrupt freezes the counters too.
test_pebs_freeze:
        call pebs_start_one
        mov dword [lvt_perf], 0x400
        APIC_WR APIC_PERF, 0x400
        mov qword [pmis], 0
        mov qword [pmi_hook], hook_once
        WR IA32_DEBUGCTL, 0x1000
        mov r8d, 1
        mov edi, pebs_work
        call count_run
        WR IA32_PEBS_ENABLE, 0
        mov rax, [pmis]
        CHECK "threshold and freeze: PMIs", 1
        mov rax, [DS_AREA + 0x28]
        sub rax, PEBS_BUFFER
        xor edx, edx
        div dword [pebs_size]
        CHECK_IN "threshold and freeze: records", PEBS_THRESHOLD, PEBS_THRESHOLD + 1
        mov rax, [pmi_status]
        shr rax, 62
        and eax, 1
        CHECK "threshold and freeze: OvfBuf", 1
        cmp dword [version], 4
        jae .streamlined
        mov rax, [pmi_ctrl]
        CHECK "threshold and freeze: GLOBAL_CTRL is cleared", 0
        jmp .end
.streamlined:
        mov rax, [pmi_status]
        shr rax, 59
        and eax, 1
        CHECK "threshold and freeze: CTR_FRZ", 1
.end:   call clear_pmu
        ret

; Every group of an adaptive record, and none.
test_pebs_groups:
        call clear_pmu
        cmp dword [pebs_baseline], 0
        je .end
        mov dword [group_case], 0
.case:  mov eax, [group_case]
        mov r12d, [group_config + rax * 8]
        mov r13d, [group_config + rax * 8 + 4]
        mov eax, r12d
        mov ecx, MSR_PEBS_DATA_CFG
        call wr
        mov [pebs_size], r13d
        call pebs_buffer
        APIC_WR APIC_PERF, 0x10400
        mov rax, -97
        and rax, [gp_mask]
        mov [DS_AREA + 0x40], rax
        WR IA32_PMC0, -97
        mov eax, [pebs_select_0]
        bts rax, 34
        mov ecx, IA32_PERFEVTSEL0
        call wr
        WR IA32_PEBS_ENABLE, 1
        mov r8d, 1
        mov edi, pebs_work
        call count_run
        WR IA32_PEBS_ENABLE, 0
        mov rax, [PEBS_BUFFER]
        shr rax, 48
        CHECK "size of the record in its first word", r13
        mov eax, [PEBS_BUFFER]          ; a reader walks the record by it, the number of last branches included
        mov edx, r12d
        CHECK "its groups", rdx
        mov rax, [PEBS_BUFFER + 8]
        mov rdx, pebs_jnz
        CHECK "its address is that of the branch", rdx
        inc dword [group_case]
        cmp dword [group_case], 5
        jb .case
        call clear_pmu                  ; without Adaptive_Record only the basic group
        WR MSR_PEBS_DATA_CFG, 3
        mov dword [pebs_size], 32
        call pebs_buffer
        APIC_WR APIC_PERF, 0x10400
        WR IA32_PMC0, -97
        mov eax, [pebs_select_0]
        mov ecx, IA32_PERFEVTSEL0
        call wr
        WR IA32_PEBS_ENABLE, 1
        mov r8d, 1
        mov edi, pebs_work
        call count_run
        WR IA32_PEBS_ENABLE, 0
        mov rax, [PEBS_BUFFER]
        shr rax, 48
        CHECK "no Adaptive_Record: the basic group alone", 32
        call pebs_record_size
.end:   ret

; Each counter that can has a reset slot: the same work, the same records.
test_pebs_slots:
        cmp dword [pebs_format], 1
        jb .end
        mov ecx, IA32_PEBS_ENABLE
        mov eax, 3
        call wr_faults
        test eax, eax
        jnz .end
        WR IA32_PEBS_ENABLE, 0
        mov r14d, [gp_counters]         ; four at most until format 3, however many count
        cmp dword [pebs_format], 4
        jae .all
        cmp r14d, 4
        jbe .all
        mov r14d, 4
.all:   xor r13d, r13d
        xor ebx, ebx
.next:  call clear_pmu
        call pebs_buffer
        APIC_WR APIC_PERF, 0x10400
        lea rcx, [rbx + rbx * 2]        ; a period of its own: 131 and three more for each
        lea rax, [rcx + 131]
        mov r12, rax
        neg rax
        and rax, [gp_mask]
        mov [DS_AREA + 0x40 + rbx * 8], rax
        lea ecx, [rbx + IA32_PMC0]
        mov rax, r12
        neg rax
        call wr
        mov eax, [pebs_select_0]
        or rax, [pebs_adaptive]
        lea ecx, [rbx + IA32_PERFEVTSEL0]
        call wr
        mov ecx, ebx
        mov eax, 1
        shl eax, cl
        mov r8, rax
        mov ecx, IA32_PEBS_ENABLE
        call wr_faults
        test eax, eax
        jnz .wrong
        mov edi, pebs_work
        call count_run
        WR IA32_PEBS_ENABLE, 0
        mov rax, [DS_AREA + 0x28]
        sub rax, PEBS_BUFFER
        xor edx, edx
        div dword [pebs_size]
        mov r9, rax
        mov eax, PEBS_ROUNDS
        xor edx, edx
        div r12
        cmp r9, rax                     ; no more than one period each
        ja .wrong
        inc r9                          ; and hardly fewer
        cmp r9, rax
        jae .good
.wrong: inc r13d
.good:  inc ebx
        cmp ebx, r14d
        jb .next
        mov eax, r13d
        CHECK "counters that are not reloaded from their slots", 0
        call clear_pmu
.end:   ret

; Every register of a record, each with a value of its own.
test_pebs_registers:
        call pebs_record_size
        call pebs_start_one
        mov edi, register_work
        call count_run
        WR IA32_PEBS_ENABLE, 0
        mov rax, [DS_AREA + 0x28]
        sub rax, PEBS_BUFFER
        CHECK_IN "registers: bytes of records", 144, 0x10000
        xor ebx, ebx                    ; which register
        xor r12d, r12d                  ; wrong ones
        mov r13d, PEBS_BUFFER
        mov r14d, places_plain
        cmp dword [pebs_format], 4
        jb .compare
        mov r14d, places_adaptive
        add r13d, 0x40
.compare:
        movzx ecx, byte [r14 + rbx]
        mov rax, [r13 + rcx]
        mov rdx, [register_values + rbx * 8]
        cmp rax, rdx
        je .same
        inc r12d
        SAY "  register "
        push rax
        mov eax, ebx
        call print_decimal
        SAY " is "
        pop rax
        call print_hex
        SAY 10
.same:  inc ebx
        cmp ebx, 14
        jb .compare
        mov eax, r12d
        CHECK "registers that differ in a record", 0
        mov rax, [r13]
        and eax, 0x42                   ; bit 1 is always set; ZF is clear while the loop goes on
        CHECK "flags in a record", 2
        movzx ecx, byte [r14 + 14]
        mov rax, [r13 + rcx]
        mov rdx, [work_rsp]
        CHECK "RSP in a record", rdx
        call clear_pmu
        ret

register_work:
        push rbx
        push r12
        push r13
        push r14
        push rbp
        mov [work_rsp], rsp
        mov r15d, 400
        mov rax, [register_values]
        mov rbx, [register_values + 8]
        mov rcx, [register_values + 16]
        mov rdx, [register_values + 24]
        mov rsi, [register_values + 32]
        mov rdi, [register_values + 40]
        mov rbp, [register_values + 48]
        mov r8, [register_values + 56]
        mov r9, [register_values + 64]
        mov r10, [register_values + 72]
        mov r11, [register_values + 80]
        mov r12, [register_values + 88]
        mov r13, [register_values + 96]
        mov r14, [register_values + 104]
.next:  dec r15
        jnz .next
        pop rbp
        pop r14
        pop r13
        pop r12
        pop rbx
        ret

; One counter, period 97, no interrupt; R8 is what count_run needs.
pebs_start_one:
        call pebs_buffer
        APIC_WR APIC_PERF, 0x10400
        mov rax, -97
        and rax, [gp_mask]
        mov [DS_AREA + 0x40], rax
        WR IA32_PMC0, -97
        mov eax, [pebs_select_0]
        or rax, [pebs_adaptive]
        mov ecx, IA32_PERFEVTSEL0
        call wr
        WR IA32_PEBS_ENABLE, 1
        mov r8d, 1
        ret

; Data addresses of stores (format 2 and later): RDI is the address and is moved on by the next instruction.
test_pebs_addresses:
        cmp dword [pebs_format], 2
        jae .there
        NOT_HERE "data address of stores"
        ret
.there: mov eax, [pebs_select_0]
        push rax
        mov dword [pebs_select_0], SEL_EN_OS + 0x82D0 ; stores
        call pebs_start_one
        mov edi, store_work
        call count_run
        WR IA32_PEBS_ENABLE, 0
        pop rax
        mov [pebs_select_0], eax
        mov rax, [DS_AREA + 0x28]
        sub rax, PEBS_BUFFER
        xor edx, edx
        div dword [pebs_size]
        CHECK_IN "records of stores", 8, 10
        mov esi, PEBS_BUFFER
        xor ebx, ebx
.record:
        cmp rsi, [DS_AREA + 0x28]
        jae .done
        call pebs_parse
        mov rax, [record_address]
        cmp rax, [record_r15]
        je .advance
        inc ebx
.advance:
        mov eax, [pebs_size]
        add rsi, rax
        jmp .record
.done:  mov eax, ebx
        CHECK "stores whose data address is not R15", 0
        call clear_pmu
        ret
store_work:
        mov r15d, LOAD_BUFFER
        mov ecx, 1000
.next:  mov [r15], rcx
        dec ecx
        lea r15, [r15 + 8]
        jnz .next
        ret

; What the XMM and the LBR groups hold.
test_pebs_contents:
        call clear_pmu
        cmp dword [pebs_baseline], 0
        je .end
        call find_lbr
        mov ebx, 15                     ; XMMn: n + 1 in every byte
.value: lea eax, [rbx + 1]
        imul eax, eax, 0x01010101
        movd xmm0, eax
        pshufd xmm0, xmm0, 0
        mov ecx, ebx
        shl ecx, 4
        movups [LOAD_BUFFER + rcx], xmm0
        dec ebx
        jns .value
%assign n 0
%rep 16
        movups xmm%[n], [LOAD_BUFFER + n * 16]
%assign n n + 1
%endrep
        WR MSR_PEBS_DATA_CFG, 0x0300000F
        mov dword [pebs_size], 32 + 32 + 144 + 256 + 4 * 24
        xor eax, eax
        call lbr_select
        call pebs_start_one
        LBR_ON
        mov r8d, 1
        mov edi, pebs_work
        call count_run
        LBR_OFF
        WR IA32_PEBS_ENABLE, 0
        xor eax, eax
        mov esi, LOAD_BUFFER
        mov edi, PEBS_BUFFER + 32 + 32 + 144
        mov ecx, 32
.xmm:   mov rdx, [rsi]
        cmp rdx, [rdi]
        je .same
        inc eax
.same:  add esi, 8
        add edi, 8
        loop .xmm
        CHECK "XMM group: quadwords that differ", 0
        xor eax, eax                    ; youngest first
        mov esi, pebs_branches
        mov edi, PEBS_BUFFER + 32 + 32 + 144 + 256
        mov ecx, 3
.lbr:   mov rdx, [rsi]
        cmp rdx, [rdi]
        jne .other
        mov rdx, [rsi + 8]
        cmp rdx, [rdi + 8]
        je .branch
.other: inc eax
        push rax
        SAY "  branch "
        mov rax, [rdi]
        call print_hex
        SAY " "
        mov rax, [rdi + 8]
        call print_hex
        SAY 10
        pop rax
.branch:
        add esi, 16
        add edi, 24
        loop .lbr
        CHECK "LBR group: branches that differ", 0
.end:   call clear_pmu
        call pebs_record_size
        ret
[section .data]
        align 8
pebs_branches:
        dq pebs_jnz, pebs_loop, pebs_leaf, pebs_loop + 5, pebs_loop, pebs_leaf
register_values:
%assign n 1
%rep 14
        dq 0x0101010101010101 * n
%assign n n + 1
%endrep
;                RAX   RBX   RCX   RDX   RSI   RDI   RBP   R8    R9    R10   R11   R12   R13   R14   RSP
places_plain:    db 0x10, 0x18, 0x20, 0x28, 0x30, 0x38, 0x40, 0x50, 0x58, 0x60, 0x68, 0x70, 0x78, 0x80, 0x48
places_adaptive: db 0x10, 0x28, 0x18, 0x20, 0x40, 0x48, 0x38, 0x50, 0x58, 0x60, 0x68, 0x70, 0x78, 0x80, 0x30
__SECT__

; PEBS of fixed counter 0, with the reset slot of its own (PEBS_BASELINE).
test_pebs_fixed:
        call clear_pmu
        cmp dword [pebs_baseline], 0
        je .end
        call pebs_buffer
        APIC_WR APIC_PERF, 0x10400
        mov rax, -301
        and rax, [fixed_mask]
        mov edx, 0x80                   ; behind eight general slots; behind 32 from format 5 on
        cmp dword [pebs_format], 5
        jb .slot
        mov edx, 0x140
.slot:  mov [DS_AREA + rdx], rax
        mov ecx, IA32_FIXED_CTR0
        call wr
        mov rax, 0x100000001            ; OS, and Adaptive_Record of fixed counter 0
        mov ecx, IA32_FIXED_CTR_CTRL
        call wr
        mov rax, 0x100000000
        mov ecx, IA32_PEBS_ENABLE
        call wr
        mov r8, 0x100000000
        mov edi, pebs_work
        call count_run
        WR IA32_PEBS_ENABLE, 0
        mov rax, [DS_AREA + 0x28]
        sub rax, PEBS_BUFFER
        xor edx, edx
        div dword [pebs_size]
        CHECK "fixed counter 0: records until the buffer is full", PEBS_ROOM
        mov rax, [PEBS_BUFFER + 0x10]
        mov rdx, 0x100000000
        CHECK "fixed counter 0: named in the record", rdx
        mov rax, [PEBS_BUFFER + 8]
        CHECK_IN "fixed counter 0: its address", pebs_work, pebs_work_end
.end:   call clear_pmu
        ret

pebs_work:
        mov r15d, PEBS_ROUNDS
pebs_loop:
        call pebs_leaf
        dec r15
pebs_jnz:
        jnz pebs_loop
        ret
pebs_leaf:
        ret
pebs_work_end:

; What the counters sample, and which of them can.
pebs_events:
        cmp dword [pebs_format], 0
        je .format0
        mov dword [pebs_select_0], SEL_EN_OS + 0x01C4 ; BR_INST_RETIRED: conditional (taken, on newer ones)
        mov dword [pebs_select_1], SEL_EN_OS + 0x02C4 ; BR_INST_RETIRED.NEAR_CALL
        mov eax, [model]                ; Goldmont numbers its branches otherwise: JCC
        mov edi, goldmonts
        mov ecx, goldmonts_end - goldmonts
        repne scasb
        jne .umask
        mov dword [pebs_select_0], SEL_EN_OS + 0x7EC4
.umask: mov qword [profile_ctrl], 3
        mov ecx, IA32_PEBS_ENABLE       ; some have one PEBS counter only
        mov eax, 3
        call wr_faults
        test eax, eax
        jz .both
        mov qword [profile_ctrl], 1
.both:  ret
.format0:
        mov dword [pebs_select_0], SEL_EN_OS + INSTRUCTIONS
        mov qword [profile_ctrl], 1
        ret

; The size of a record by format; for adaptive ones what MSR_PEBS_DATA_CFG asks for: memory and registers.
pebs_record_size:
        mov eax, [pebs_format]
        cmp eax, 4
        jae .adaptive
        movzx eax, byte [record_sizes + rax]
        mov [pebs_size], eax
        mov qword [pebs_adaptive], 0
        ret
.adaptive:
        mov dword [pebs_size], 32 + 32 + 144
        mov rax, 1 << 34
        mov [pebs_adaptive], rax
        WR MSR_PEBS_DATA_CFG, 3
        ret

pebs_buffer:
        mov edi, PEBS_BUFFER
        xor eax, eax
        mov ecx, 0x8000 / 8
        rep stosq
        mov qword [DS_AREA + 0x20], PEBS_BUFFER
        mov qword [DS_AREA + 0x28], PEBS_BUFFER
        mov eax, [pebs_size]
        imul eax, eax, PEBS_ROOM
        add eax, PEBS_BUFFER
        mov [DS_AREA + 0x30], rax
        mov eax, [pebs_size]
        imul eax, eax, PEBS_THRESHOLD
        add eax, PEBS_BUFFER
        mov [DS_AREA + 0x38], rax
        ret

hook_pebs:
        mov rax, [DS_AREA + 0x28]
        cmp rax, [DS_AREA + 0x38]
        jae .reached
        inc qword [pebs_short]
.reached:
        bt qword [pmi_status], 62
        jc .status
        inc qword [pebs_no_status]
.status:
        call pebs_drain
        mov rax, [profile_ctrl]
        mov [ctrl_after], rax
        mov qword [debugctl_after], 0
        call acknowledge
        ret

pebs_drain:
        mov esi, PEBS_BUFFER
.next:  cmp rsi, [DS_AREA + 0x28]
        jae .end
        call pebs_parse
        cmp dword [pebs_format], 0
        je .format0
        ; which of the two, by the address
        mov rax, [record_ip]
        cmp rax, pebs_loop
        je .cond
        cmp rax, pebs_leaf
        je .call
        inc qword [pebs_wrong_place]
        jmp .advance
.cond:  mov edx, pebs_jnz
        mov ecx, 1
        jmp .place
.call:  mov edx, pebs_loop
        mov ecx, 2
.place: cmp qword [record_event_ip], 0
        je .placed
        cmp [record_event_ip], rdx
        je .placed
        inc qword [pebs_wrong_place]
.placed:
        ; The record names its counter. When the other one armed meanwhile, one record may name and reload both:
        ; it then ends a period of both.
        test [record_status], rcx
        jnz .named
        inc qword [pebs_wrong_cause]
.named: or rcx, [record_status]
        test ecx, 1
        jz .not_0
        inc qword [pebs_seen_0]
        mov rax, [pebs_last_0]
        mov rdx, [record_r15]
        mov [pebs_last_0], rdx
        mov r9d, PEBS_PERIOD_0
        call .distance
.not_0: test ecx, 2
        jz .advance
        inc qword [pebs_seen_1]
        mov rax, [pebs_last_1]
        mov rdx, [record_r15]
        mov [pebs_last_1], rdx
        mov r9d, PEBS_PERIOD_1
        call .distance
        jmp .advance
.distance:                              ; from RAX to RDX, not below R9
        test rax, rax
        jnz .later
        mov eax, PEBS_ROUNDS + 1
.later: sub rax, rdx
        cmp rax, r9
        jb .wrong
        add r9d, PEBS_SHADOW
        cmp rax, r9
        jbe .right
.wrong: inc qword [pebs_wrong_distance]
.right: ret
.advance:
        cmp dword [pebs_format], 3
        jb .no_tsc
        mov rax, [record_tsc]
        cmp rax, [pebs_last_tsc]
        jae .forward
        inc qword [pebs_tsc_back]
.forward:
        mov [pebs_last_tsc], rax
.no_tsc:
        mov eax, [pebs_size]
        add rsi, rax
        jmp .next
.end:   mov qword [DS_AREA + 0x28], PEBS_BUFFER
        ret
.format0:
        inc qword [pebs_seen_0]
        mov rax, [record_ip]
        cmp rax, pebs_loop
        jb .elsewhere
        cmp rax, pebs_work_end
        jb .advance
.elsewhere:
        inc qword [pebs_wrong_place]
        jmp .advance

; RSI: a record. What all formats have in common goes to record_...
pebs_parse:
        mov qword [record_event_ip], 0
        cmp dword [pebs_format], 4
        jae .adaptive
        mov rax, [rsi + 0x08]
        mov [record_ip], rax
        mov rax, [rsi + 0x18]
        mov [record_bx], rax
        mov rax, [rsi + 0x88]
        mov [record_r15], rax
        cmp dword [pebs_format], 1
        jb .end
        mov rax, [rsi + 0x90]
        mov [record_status], rax
        mov rax, [rsi + 0x98]
        mov [record_address], rax
        mov rax, [rsi + 0xA8]
        mov [record_latency], rax
        cmp dword [pebs_format], 2
        jb .end
        mov rax, [rsi + 0xB0]
        mov [record_event_ip], rax
        cmp dword [pebs_format], 3
        jb .end
        mov rax, [rsi + 0xC0]
        mov [record_tsc], rax
.end:   ret
.adaptive:                              ; basic 0, memory 20H, registers 40H
        mov rax, [rsi]
        shr rax, 48
        cmp eax, [pebs_size]
        je .size
        inc qword [pebs_wrong_size]
.size:  mov rax, [rsi + 0x08]
        mov [record_event_ip], rax
        mov rax, [rsi + 0x10]
        mov [record_status], rax
        mov rax, [rsi + 0x18]
        mov [record_tsc], rax
        mov rax, [rsi + 0x20]
        mov [record_address], rax
        movzx eax, word [rsi + 0x30]    ; a format may put more above
        mov [record_latency], rax
        mov rax, [rsi + 0x48]
        mov [record_ip], rax
        mov rax, [rsi + 0x40 + 0x28]
        mov [record_bx], rax
        mov rax, [rsi + 0x40 + 0x88]
        mov [record_r15], rax
        ret

; ---- load latency ---------------------------------------------------------------------------------------------
; A walk round a ring of pointers, one to a line: what a record says was loaded from its data address is what lies
; there. PMC3 can do it on every processor that has the facility in general counters.
LOADS           equ 3000
LOAD_PERIOD     equ 53
LOAD_THRESHOLD  equ 3
test_load_latency:
        call clear_pmu
        cmp byte [have_pebs], 0
        je .none
        cmp dword [pebs_format], 1
        jb .none
        cmp dword [gp_counters], 4
        jae .threshold
.none:  NOT_HERE "load latency"
        ret
.threshold:
        mov ecx, MSR_PEBS_LD_LAT
        mov eax, LOAD_THRESHOLD
        call wr_faults
        test eax, eax
        jz .there
        jmp .none
.there: mov edi, LOAD_BUFFER
        mov ecx, 1023
        mov eax, LOAD_BUFFER            ; each line points 37 lines on, so that no prefetcher helps
.ring:  add eax, 37 * 64
        and eax, 0xFFFF
        add eax, LOAD_BUFFER
        mov [rdi], rax
        mov rdi, rax
        loop .ring
        mov qword [rdi], LOAD_BUFFER
        WR IA32_DS_AREA, DS_AREA
        call pebs_record_size
        call pebs_buffer
        APIC_WR APIC_PERF, 0x10400
        mov r12d, 0x01CD                ; MEM_TRANS_RETIRED.LOAD_LATENCY
        mov r13, 8
        mov eax, [model]                ; Nehalem and Westmere: MEM_INST_RETIRED.LATENCY_ABOVE_THRESHOLD
        mov edi, nehalems
        mov ecx, nehalems_end - nehalems
        repne scasb
        jne .event
        mov r12d, 0x100B
.event: cmp dword [version], 5          ; LL_EN bits went when their places became the fixed counters'
        jae .no_enable
        bts r13, 35
.no_enable:
        mov rax, -LOAD_PERIOD
        and rax, [gp_mask]
        mov [DS_AREA + 0x58], rax
        RD MSR_PEBS_LD_LAT
        CHECK "latency threshold reads back", LOAD_THRESHOLD
        WR IA32_PMC0 + 3, -LOAD_PERIOD
        mov eax, r12d
        or eax, SEL_EN_OS
        or rax, [pebs_adaptive]
        mov ecx, IA32_PERFEVTSEL0 + 3
        call wr
        mov r8, 8
        cmp byte [arch_lbr], 0          ; Golden Cove wants its helper event beside it
        je .alone
        WR IA32_PERFEVTSEL0, SEL_EN_OS + 0x8203
        mov r8, 9
.alone: mov rax, r13
        mov ecx, IA32_PEBS_ENABLE
        call wr
        RD IA32_PEBS_ENABLE
        CHECK "PEBS_ENABLE for load latency reads back", r13
        mov edi, load_work
        call count_run
        WR IA32_PEBS_ENABLE, 0
        mov rax, [DS_AREA + 0x28]
        sub rax, PEBS_BUFFER
        xor edx, edx
        div dword [pebs_size]
        mov r12, rax
        CHECK_IN "load latency: records", 1, PEBS_ROOM
        xor r13d, r13d                  ; wrong address
        xor r14d, r14d                  ; wrong value
        xor ebx, ebx                    ; too fast
        mov esi, PEBS_BUFFER
.record:
        test r12, r12
        jz .done
        call pebs_parse
        mov rax, [record_address]
        cmp rax, LOAD_BUFFER
        jb .elsewhere
        cmp rax, LOAD_BUFFER + 0x10000
        jae .elsewhere
        mov rdx, [rax]
        cmp rdx, [record_bx]
        je .latency
        inc r14
        jmp .latency
.elsewhere:
        inc r13
.latency:
        mov rax, [record_latency]       ; 0: a unit that does not know
        test rax, rax
        jz .advance
        cmp rax, LOAD_THRESHOLD
        jae .advance
        inc ebx
.advance:
        mov eax, [pebs_size]
        add rsi, rax
        dec r12
        jmp .record
.done:  mov rax, r13
        CHECK "load latency: data address elsewhere", 0
        mov rax, r14
        CHECK "load latency: another value than lies there", 0
        mov eax, ebx
        CHECK "load latency: below the threshold", 0
        call clear_pmu
        ret

load_work:
        mov ebx, LOAD_BUFFER
        mov r15d, LOADS
.next:  mov rbx, [rbx]
        dec r15d
        jnz .next
        ret

; ---- last-branch records --------------------------------------------------------------------------------------
test_lbr:
        call clear_pmu
        call find_lbr
        SAY_NUMBER "last-branch records: ", [lbr_depth]
        SAY 10
        mov eax, [lbr_depth]
        CHECK_IN "last-branch records", 4, 64

        xor eax, eax
        call lbr_select
        LBR_ON
        jmp .a
.a:     call lbr_leaf
.back:  jmp .b
.b:     LBR_OFF
        mov edi, .plain
        mov r12d, 4
        call lbr_compare
        CHECK "plain branches: records that differ", 0
        jmp .filters
[section .data]
        align 8
.plain: dq .back, .b, lbr_leaf, .back, .a, lbr_leaf, .a - 2, .a
__SECT__
.filters:
        call lbr_clear                  ; more branches than records
        xor eax, eax
        call lbr_select
        mov ebx, 100
        LBR_ON
.many:  dec ebx
.many_jnz:
        jnz .many
        LBR_OFF
        xor ecx, ecx
        xor ebx, ebx
.each:  call lbr_read
        cmp rax, .many_jnz
        jne .differs
        cmp rdx, .many
        je .as_it_is
.differs:
        inc ebx
.as_it_is:
        inc ecx
        cmp ecx, [lbr_depth]
        jb .each
        mov eax, ebx
        CHECK "a hundred branches: records that differ", 0
        call test_btf
        cmp byte [lbr_filters], 0
        jne .can_filter
        NOT_HERE "LBR filters"
        jmp .freeze
.can_filter:
        call lbr_clear                  ; ring 3 alone
        mov eax, 3
        call lbr_select
        LBR_ON
        mov edi, 4
        call user_run
        LBR_OFF
        xor ecx, ecx
        xor ebx, ebx                    ; branches of the loop in ring 3
        xor r13d, r13d                  ; branches with neither end there
.ring:  call lbr_read
        mov r8, rax
        or r8, rdx
        jz .ring_next
        cmp rax, user_code + 2
        jne .not_jnz
        cmp rdx, user_code
        jne .not_jnz
        inc ebx
        jmp .ring_next
.not_jnz:
        cmp rdx, user_code
        je .ring_next
        cmp rax, user_code_end - 2
        je .ring_next
        inc r13d
.ring_next:
        inc ecx
        cmp ecx, [lbr_depth]
        jb .ring
        mov eax, ebx
        CHECK "filter for ring 3: branches of its loop", 3
        mov eax, r13d
        CHECK "filter for ring 3: branches of ring 0", 0
        xor r15d, r15d                  ; one branch of each kind, one kind at a time
.kind:  call lbr_clear
        mov eax, r15d
        add eax, 4
        call lbr_select
        mov r14d, .ind_leaf
        mov r13d, .ind_to
        xor eax, eax
        LBR_ON
        test edx, edx                   ; 0
.k_jcc: jz .k_call
        nop
.k_call:
        call lbr_leaf
.k_ind: call r14
.k_jmpi:
        jmp r13
        nop
.ind_to:
        jmp .k_int
        nop
.k_int: int VECTOR_SPURIOUS
.k_end: LBR_OFF
        jmp .look
.ind_leaf:
        ret
.look:  mov edi, [.kinds + r15 * 8]
        mov r12d, [.kinds + r15 * 8 + 4]
        call lbr_compare
        CHECK "one kind of branch: records that differ", 0
        mov ecx, r12d
        call lbr_read
        or rax, rdx
        CHECK "one kind of branch: no other", 0
        inc r15d
        cmp r15d, 7
        jb .kind
        jmp .near_calls
[section .data]
        align 8
.kinds: dd .kind_jcc, 1, .kind_call, 1, .kind_ind, 1, .kind_ret, 2, .kind_jmpi, 1, .kind_jmp, 1, .kind_far, 2
.kind_jcc:      dq .k_jcc, .k_call
.kind_call:     dq .k_call, lbr_leaf
.kind_ind:      dq .k_ind, .ind_leaf
.kind_ret:      dq .ind_leaf, .k_jmpi, lbr_leaf, .k_ind
.kind_jmpi:     dq .k_jmpi, .ind_to
.kind_jmp:      dq .ind_to, .k_int
.kind_far:      dq spurious, .k_end, .k_int, spurious
__SECT__
.near_calls:
        mov eax, 1                      ; calls only
        call lbr_select
        LBR_ON
        call lbr_leaf
        jmp .c
.c:     mov ecx, 3
.spin:  dec ecx
        jnz .spin
        LBR_OFF
        mov edi, .calls
        mov r12d, 1
        call lbr_compare
        CHECK "filter for near calls: records that differ", 0
        jmp .stack
[section .data]
        align 8
.calls: dq .c - 7, lbr_leaf
__SECT__
.stack:
        mov eax, 2                      ; call stack
        call lbr_select_faults
        test eax, eax
        jz .can_stack
        NOT_HERE "LBR call stack"
        jmp .freeze
.can_stack:
        LBR_ON
        call lbr_leaf                   ; comes and goes
        call nest_a
.after_a:
        LBR_OFF
        mov rax, [nest_wrong]
        CHECK "call stack in the third call: records that differ", 0
.freeze:
        xor eax, eax
        call lbr_select
        call clear_pmu                  ; FREEZE_LBRS_ON_PMI
        mov dword [lvt_perf], 0x400
        APIC_WR APIC_PERF, 0x400
        mov qword [pmis], 0
        mov qword [pmi_hook], hook_freeze
        WR IA32_PERFEVTSEL0, SEL_EN_OS + SEL_INT + INSTRUCTIONS
        WR IA32_PMC0, -500
        WR IA32_DEBUGCTL, 0x800
        cmp byte [arch_lbr], 0
        jne .arch
        WR IA32_DEBUGCTL, 0x801
        jmp .run
.arch:  LBR_ON
.run:   mov r8d, 1
        mov edi, body_loop
        call count_run
        LBR_OFF
        mov rax, [pmis]
        CHECK "freeze of last-branch records: PMI", 1
        cmp dword [version], 4
        jb .legacy
        mov eax, [model]                ; Goldmont streamlines the counters' freeze only
        mov edi, goldmonts
        mov ecx, 2
        repne scasb
        jne .streamlined
.legacy:
        mov rax, [pmi_debugctl]
        and eax, 1
        CHECK "freeze: DEBUGCTL.LBR is cleared", 0
        jmp .frozen
.streamlined:
        mov rax, [pmi_status]
        shr rax, 58
        and eax, 1
        CHECK "freeze: LBR_FRZ", 1
.frozen:
        mov rax, [lbr_at_pmi]
        mov rdx, body_loop_jnz
        CHECK "freeze: the youngest record is the loop's", rdx
        call clear_pmu
        ret

; Single step on branches: #DB comes behind the jump, not before it, and BTF is off then.
test_btf:
        mov qword [fixup], .stepped
        mov ecx, IA32_DEBUGCTL
        mov eax, 2
        xor edx, edx
        wrmsr
        pushfq
        or qword [rsp], 0x100
        popfq
        nop
        nop
        jmp .to
        nop
.to:    nop
        nop
.stepped:
        pushfq
        and qword [rsp], ~0x100
        popfq
        mov qword [fixup], 0
        movzx eax, byte [fault_vector]
        CHECK "BTF: #DB", 1
        mov rax, [fault_rip]
        mov rdx, .to
        CHECK "BTF: it comes behind the branch", rdx
        RD IA32_DEBUGCTL
        and eax, 2
        CHECK "BTF: #DB clears it", 0
        mov rax, dr6
        shr eax, 14
        and eax, 1
        CHECK "BTF: DR6.BS", 1
        WR IA32_DEBUGCTL, 0
        ret

lbr_clear:
        xor ebx, ebx
.next:  mov ecx, [lbr_from]
        add ecx, ebx
        xor eax, eax
        call wr
        mov ecx, [lbr_to]
        add ecx, ebx
        xor eax, eax
        call wr
        inc ebx
        cmp ebx, [lbr_depth]
        jb .next
        ret

hook_freeze:
        xor ecx, ecx
        call lbr_read
        mov [lbr_at_pmi], rax
        mov qword [ctrl_after], 0
        mov qword [debugctl_after], 0
        call acknowledge
        ret

lbr_leaf:
        ret
nest_a: test ecx, ecx
        jz .on
.on:    call nest_b
.back:  ret
nest_b: xor eax, eax
        jz .on
.on:    call lbr_leaf
        call nest_c
.back:  ret
nest_c: jmp .on
.on:    LBR_OFF
        mov edi, .stack
        mov r12d, 3
        call lbr_compare
        mov [nest_wrong], rax
        ret
[section .data]
        align 8
.stack: dq nest_b.back - 5, nest_c, nest_a.back - 5, nest_b, test_lbr.after_a - 5, nest_a
__SECT__

; How many there are, and where. The number of a model's records is found by reading: an MSR that is not there faults.
find_lbr:
        push rbx
        mov byte [arch_lbr], 0
        cmp dword [max_leaf], 0x1C
        jb .legacy
        mov eax, 7
        xor ecx, ecx
        cpuid
        bt edx, 19
        jnc .legacy
        mov byte [arch_lbr], 1
        mov eax, 0x1C
        xor ecx, ecx
        cpuid
        mov r9d, ebx
        movzx eax, al                   ; bit n: depth 8 * (n + 1)
        bsr eax, eax
        inc eax
        shl eax, 3
        mov [lbr_depth], eax
        mov ecx, IA32_LBR_DEPTH
        call wr
        mov dword [lbr_control], IA32_LBR_CTL
        mov dword [lbr_from], 0x1500
        mov dword [lbr_to], 0x1600
        shr r9d, 1                      ; branch filtering
        and r9d, 1
        mov [lbr_filters], r9b
        pop rbx
        ret
.legacy:
        mov dword [lbr_control], IA32_DEBUGCTL
        mov dword [lbr_on], 1
        mov dword [lbr_from], 0x680
        mov dword [lbr_to], 0x6C0
        mov ecx, 0x680
        call rd_faults
        test edx, edx
        jnz .core2
        mov dword [lbr_depth], 16
        mov ecx, 0x690
        call rd_faults
        test edx, edx
        jnz .found
        mov dword [lbr_depth], 32
        jmp .found
.core2: mov dword [lbr_from], 0x40
        mov dword [lbr_to], 0x60
        mov dword [lbr_depth], 4
        mov ecx, 0x44
        call rd_faults
        test edx, edx
        jnz .found
        mov dword [lbr_depth], 8
.found: mov ecx, MSR_LBR_SELECT
        call rd_faults
        xor dl, 1
        mov [lbr_filters], dl
        pop rbx
        ret

; EAX: 0 all branches, 1 near calls, 2 call stack, 3 ring 3, 4 to 10 one kind of branch alone.
; Returns 1 in EAX if the processor does not take it.
lbr_select_faults:
        cmp byte [arch_lbr], 0
        jne .arch
        cmp byte [lbr_filters], 0
        je .none
        mov eax, [lbr_legacy_modes + rax * 4]
        mov ecx, MSR_LBR_SELECT
        jmp wr_faults
.arch:  mov eax, [lbr_arch_modes + rax * 4]
        mov [lbr_on], eax
        and eax, ~1                     ; LBREn waits for LBR_ON
        mov ecx, IA32_LBR_CTL
        jmp wr_faults
.none:  xor eax, eax
        ret
lbr_select:
        jmp lbr_select_faults

; ECX: which, 0 the youngest. RAX from, RDX to; without the flags that some formats keep above.
lbr_read:
        push rcx
        push rbx
        cmp byte [arch_lbr], 0
        jne .index
        mov ebx, ecx
        RD MSR_LASTBRANCH_TOS
        sub eax, ebx
        mov ecx, [lbr_depth]
        dec ecx
        and ecx, eax
.index: mov ebx, ecx
        add ecx, [lbr_to]
        call rd
        shl rax, 16
        sar rax, 16
        push rax
        mov ecx, ebx
        add ecx, [lbr_from]
        call rd
        shl rax, 16
        sar rax, 16
        pop rdx
        pop rbx
        pop rcx
        ret

; RDI: pairs that the youngest R12 records need to be. RAX: how many differ.
lbr_compare:
        push rcx
        push r13
        xor ecx, ecx
        xor r13d, r13d
.next:  call lbr_read
        cmp rax, [rdi]
        jne .other
        cmp rdx, [rdi + 8]
        je .same
.other: inc r13
        call lbr_tell
.same:  add rdi, 16
        inc ecx
        cmp ecx, r12d
        jb .next
        mov rax, r13
        pop r13
        pop rcx
        ret
lbr_tell:                               ; a record that differs
        push rax
        push rdx
        SAY "  record "
        mov rax, [rsp + 8]
        call print_hex
        SAY " -> "
        mov rax, [rsp]
        call print_hex
        SAY " needed "
        mov rax, [rdi]
        call print_hex
        SAY " -> "
        mov rax, [rdi + 8]
        call print_hex
        SAY 10
        pop rdx
        pop rax
        ret

; ---- branch trace store ---------------------------------------------------------------------------------------
BTS_ROOM        equ 24
BTS_THRESHOLD   equ 8
BTS_ROUNDS      equ 40
test_bts:
        call clear_pmu
        cmp byte [have_bts], 0
        jne .there
        NOT_HERE "BTS"
        ret
.there: WR IA32_DS_AREA, DS_AREA
        call bts_buffer
        mov dword [lvt_perf], 0x400
        APIC_WR APIC_PERF, 0x400
        mov qword [pmis], 0
        mov qword [pmi_hook], hook_bts
        mov qword [bts_edges], 0
        mov qword [bts_wrong], 0
        mov qword [bts_short], 0
        mov ecx, IA32_DEBUGCTL
        mov eax, 0x1C0                  ; TR, BTS, BTINT
        xor edx, edx
        wrmsr
        mov r15d, BTS_ROUNDS
bts_loop:
        call bts_leaf
bts_back:
        dec r15d
bts_jnz:
        jnz bts_loop
        mov ecx, IA32_DEBUGCTL
        xor eax, eax
        xor edx, edx
        wrmsr
        mov rax, [pmis]
        mov [bts_pmis], rax
        call bts_drain
        mov rax, [bts_edges]
        CHECK "BTS: branches of the loop", BTS_ROUNDS * 3 - 1
        mov rax, [bts_wrong]
        CHECK "BTS: other branches", 0
        mov rax, [bts_pmis]
        CHECK_IN "BTS: interrupts", (BTS_ROUNDS * 3 - 1) / BTS_ROOM, (BTS_ROUNDS * 3 - 1) / (BTS_THRESHOLD - 2)
        mov rax, [bts_short]
        CHECK "BTS: interrupts before the threshold", 0

        call clear_pmu                  ; without BTINT the buffer is a ring
        call bts_buffer                 ; ... if the threshold is out of reach: BTINT alone does not prevent interrupts
        mov qword [DS_AREA + 0x18], BTS_BUFFER + 24 * BTS_ROOM + 24
        APIC_WR APIC_PERF, 0x400
        mov qword [pmis], 0
        mov ecx, IA32_DEBUGCTL
        mov eax, 0xC0                   ; TR, BTS
        xor edx, edx
        wrmsr
        mov r15d, BTS_ROUNDS
.ring:  dec r15d
.jnz:   jnz .ring
        mov ecx, IA32_DEBUGCTL
        xor eax, eax
        xor edx, edx
        wrmsr
        mov rax, [pmis]
        CHECK "BTS as a ring: no interrupt", 0
        mov rax, [DS_AREA + 8]
        CHECK "BTS as a ring: index", BTS_BUFFER + 24 * ((BTS_ROUNDS - 1) % BTS_ROOM)
        xor ecx, ecx
        mov edi, BTS_BUFFER
        xor eax, eax
.look:  cmp qword [rdi], .jnz
        jne .other
        cmp qword [rdi + 8], .ring
        je .same
.other: inc eax
.same:  add edi, 24
        inc ecx
        cmp ecx, BTS_ROOM
        jb .look
        CHECK "BTS as a ring: other branches", 0

        bt dword [leaf1_ecx], 4         ; DS-CPL
        jc .filter
        NOT_HERE "BTS by ring"
        ret
.filter:
        call bts_buffer                 ; BTS_OFF_OS: ring 3 alone
        mov qword [DS_AREA + 0x18], BTS_BUFFER + 24 * BTS_ROOM + 24
        mov ecx, IA32_DEBUGCTL
        mov eax, 0x2C0
        xor edx, edx
        wrmsr
        mov edi, 10
        call user_run
        mov ecx, IA32_DEBUGCTL
        xor eax, eax
        xor edx, edx
        wrmsr
        mov edi, BTS_BUFFER
        xor eax, eax
.count: cmp rdi, [DS_AREA + 8]
        jae .counted
        cmp qword [rdi], user_code
        jb .next
        cmp qword [rdi], user_code_end
        jae .next
        cmp qword [rdi + 8], user_code
        jne .next
        inc eax
.next:  add edi, 24
        jmp .count
.counted:
        CHECK "BTS_OFF_OS: branches inside ring 3", 9
        mov rax, [DS_AREA + 8]
        sub rax, BTS_BUFFER
        CHECK_IN "BTS_OFF_OS: bytes, with at most the ways in and out", 9 * 24, 11 * 24
        call bts_buffer                 ; BTS_OFF_USR: none of ring 3
        mov qword [DS_AREA + 0x18], BTS_BUFFER + 24 * BTS_ROOM + 24
        mov ecx, IA32_DEBUGCTL
        mov eax, 0x4C0
        xor edx, edx
        wrmsr
        mov edi, 10
        call user_run
        mov ecx, IA32_DEBUGCTL
        xor eax, eax
        xor edx, edx
        wrmsr
        mov edi, BTS_BUFFER
        xor eax, eax
.usr:   cmp rdi, [DS_AREA + 8]
        jae .usr_counted
        cmp qword [rdi], user_code + 2
        jne .usr_next
        inc eax
.usr_next:
        add edi, 24
        jmp .usr
.usr_counted:
        CHECK "BTS_OFF_USR: branches inside ring 3", 0
        mov rax, [DS_AREA + 8]
        sub rax, BTS_BUFFER
        CHECK_IN "BTS_OFF_USR: bytes", 24, BTS_ROOM * 24
        call clear_pmu
        ret

bts_leaf:
        ret

bts_buffer:
        mov edi, BTS_BUFFER
        xor eax, eax
        mov ecx, 0x1000 / 8
        rep stosq
        mov qword [DS_AREA + 0x00], BTS_BUFFER
        mov qword [DS_AREA + 0x08], BTS_BUFFER
        mov qword [DS_AREA + 0x10], BTS_BUFFER + 24 * BTS_ROOM
        mov qword [DS_AREA + 0x18], BTS_BUFFER + 24 * BTS_THRESHOLD
        ret

hook_bts:
        mov rax, [DS_AREA + 8]
        cmp rax, [DS_AREA + 0x18]
        jae .reached
        inc qword [bts_short]
.reached:
        call bts_drain
        mov qword [ctrl_after], 0
        mov qword [debugctl_after], 0x1C0
        call acknowledge
        ret

; Records of the loop are counted. The way into and out of the handler is allowed, anything else is not.
bts_drain:
        mov esi, BTS_BUFFER
.next:  cmp rsi, [DS_AREA + 8]
        jae .end
        mov rax, [rsi]
        mov rdx, [rsi + 8]
        cmp rdx, nmi_entry
        je .advance
        cmp rax, nmi_iret
        je .advance
        mov rcx, rdx
        cmp rax, bts_loop
        je .call
        cmp rax, bts_leaf
        je .return
        cmp rax, bts_jnz
        jne .wrong
        cmp rdx, bts_loop
        jne .wrong
        jmp .edge
.call:  cmp rdx, bts_leaf
        je .edge
        jmp .wrong
.return:
        cmp rdx, bts_back
        jne .wrong
.edge:  inc qword [bts_edges]
        jmp .advance
.wrong: inc qword [bts_wrong]
.advance:
        add rsi, 24
        jmp .next
.end:   mov qword [DS_AREA + 8], BTS_BUFFER
        ret

; ---- bodies, and how they are measured ------------------------------------------------------------------------
body_empty:
        ret
body_loop:
        mov ecx, 1000
body_loop_next:
        dec ecx
body_loop_jnz:
        jnz body_loop_next
        ret
body_loop_end:
body_halt:
        sti
        hlt
        cli
        ret
body_long:
        mov ecx, 200000
.next:  dec ecx
        jnz .next
        ret

; Runs RDI with GLOBAL_CTRL R8.
count_run:
        mov ecx, IA32_PERF_GLOBAL_CTRL
        mov rax, r8
        mov rdx, r8
        shr rdx, 32
        wrmsr
        call rdi
        mov ecx, IA32_PERF_GLOBAL_CTRL
        xor eax, eax
        xor edx, edx
        wrmsr
        ret
count_run_open:                         ; the same with interrupts let in: STI and CLI are counted
        mov ecx, IA32_PERF_GLOBAL_CTRL
        mov rax, r8
        mov rdx, r8
        shr rdx, 32
        wrmsr
        sti
        call rdi
        cli
        mov ecx, IA32_PERF_GLOBAL_CTRL
        xor eax, eax
        xor edx, edx
        wrmsr
        ret
measure:                                ; PMC0 from [count_from], in RAX
        mov rax, [count_from]
        mov ecx, IA32_PMC0
        call wr
        call count_run
        RD IA32_PMC0
        ret
measure_loop:                           ; the loop, without what surrounds it
        mov r13d, body_loop
measure_body:                           ; the same for R13
        mov edi, body_empty
        call measure
        push rax
        mov edi, r13d
        call measure
        pop rdx
        sub rax, rdx
        ret
body_rep:
        mov ecx, 100
        mov edi, LOAD_BUFFER
        rep stosb
        ret

signed_counter:                         ; RAX from the width of a general counter to 64 bits
        mov ecx, 64
        sub ecx, [gp_width]
        shl rax, cl
        sar rax, cl
        ret

clear_pmu:
        PUSH_ALL
        WR IA32_PERF_GLOBAL_CTRL, 0
        WR IA32_DEBUGCTL, 0
        cmp byte [have_pebs], 0
        je .no_pebs
        WR IA32_PEBS_ENABLE, 0
.no_pebs:
        WR IA32_FIXED_CTR_CTRL, 0
        xor ebx, ebx
.general:
        lea ecx, [rbx + IA32_PERFEVTSEL0]
        xor eax, eax
        call wr
        lea ecx, [rbx + IA32_PMC0]
        xor eax, eax
        call wr
        inc ebx
        cmp ebx, [gp_counters]
        jb .general
        xor ebx, ebx
.fixed: bt [fixed_bitmap], ebx
        jnc .absent
        lea ecx, [rbx + IA32_FIXED_CTR0]
        xor eax, eax
        call wr
.absent:
        inc ebx
        cmp ebx, 16
        jb .fixed
        RD IA32_PERF_GLOBAL_STATUS
        mov ecx, IA32_PERF_GLOBAL_OVF_CTRL
        call wr
        APIC_WR APIC_PERF, 0x10000
        POP_ALL
        ret

; What every PMI handler does at its end.
acknowledge:
        APIC_RD APIC_PERF
        mov [pmi_lvt], eax
        mov rax, [pmi_status]
        mov ecx, IA32_PERF_GLOBAL_OVF_CTRL
        call wr
        APIC_WR APIC_PERF, [lvt_perf]
        ret

; ---- interrupts -----------------------------------------------------------------------------------------------
; The first instructions stop counting and tracing without a branch of their own: what follows is not measured.
%macro PMI_ENTRY 0
        PUSH_ALL
        mov ecx, IA32_DEBUGCTL
        rdmsr
        mov [pmi_debugctl], eax
        mov [pmi_debugctl + 4], edx
        xor eax, eax
        xor edx, edx
        wrmsr
        mov ecx, IA32_PERF_GLOBAL_CTRL
        rdmsr
        mov [pmi_ctrl], eax
        mov [pmi_ctrl + 4], edx
        xor eax, eax
        xor edx, edx
        wrmsr
        mov ecx, IA32_PERF_GLOBAL_STATUS
        rdmsr
        mov [pmi_status], eax
        mov [pmi_status + 4], edx
        inc qword [pmis]
        mov rdi, rsp
        call [pmi_hook]
%endmacro
%macro PMI_EXIT 0
        mov ecx, IA32_PERF_GLOBAL_CTRL
        mov eax, [ctrl_after]
        mov edx, [ctrl_after + 4]
        wrmsr
        mov ecx, IA32_DEBUGCTL
        mov eax, [debugctl_after]
        mov edx, [debugctl_after + 4]
        wrmsr
        POP_ALL
%endmacro

nmi_entry:
        PMI_ENTRY
        PMI_EXIT
nmi_iret:
        iretq
pmi_entry:
        PMI_ENTRY
        call end_of_interrupt
        PMI_EXIT
        iretq

timer_x2:
        push rax
        push rcx
        push rdx
        inc qword [ticks]
        mov ecx, 0x80B
        xor eax, eax
        xor edx, edx
        wrmsr
        pop rdx
        pop rcx
        pop rax
        iretq
timer_length_x2 equ 15                  ; with the three of timer_entry
timer_x:
        push rax
        inc qword [ticks]
        mov eax, 0xFEE00000 + APIC_EOI
        mov dword [rax], 0
        pop rax
        iretq
timer_length_x  equ 8
timer_entry:
        cmp dword [apic_x2], 0
        je timer_x
        jmp timer_x2

%macro IPI_ENTRY 1
        PUSH_ALL
        mov rax, [irq_log]
        shl rax, 8
        or rax, %1
        mov [irq_log], rax
        APIC_RD APIC_ISR + (%1 / 32) * 16
        shr eax, %1 % 32
        and eax, 1
        mov [irq_isr], rax
        APIC_RD APIC_PPR
        mov [irq_ppr], rax
        call end_of_interrupt
        POP_ALL
        iretq
%endmacro
ipi_low:        IPI_ENTRY VECTOR_LOW
ipi_high:       IPI_ENTRY VECTOR_HIGH
ipi_top:        IPI_ENTRY VECTOR_TOP
ipi_nest:
        PUSH_ALL
        shl qword [irq_log], 8
        or qword [irq_log], VECTOR_NEST
        sti
        APIC_WR APIC_ICR, 0x44000 + VECTOR_LOW
        APIC_WR APIC_ICR, 0x44000 + VECTOR_HIGH
        APIC_WR APIC_ICR, 0x44000 + VECTOR_TOP
        call linger
        cli
        shl qword [irq_log], 8
        or qword [irq_log], VECTOR_NEST + 1
        call end_of_interrupt
        POP_ALL
        iretq
spurious:       iretq
hook_nothing:
        mov qword [ctrl_after], 0
        mov qword [debugctl_after], 0
        ret

; EAX: the low half of the ICR; EDX: the id in the form that this mode's id registers have.
send_ipi:
        cmp dword [apic_x2], 0
        je .memory
        mov ecx, 0x830
        wrmsr
        ret
.memory:
        mov ecx, 0xFEE00000
        mov [rcx + APIC_ICR + 0x10], edx
        mov [rcx + APIC_ICR], eax
        ret

end_of_interrupt:
        APIC_WR APIC_EOI, 0
        ret

; An exception that was asked for continues at [fixup]; any other ends the run.
%assign vector 0
%rep 32
exception_%[vector]:
%if vector = 8 || vector = 10 || vector = 11 || vector = 12 || vector = 13 || vector = 14 || vector = 17 || vector = 21
%else
        push 0
%endif
        push vector
        jmp exception
        align 16
%assign vector vector + 1
%endrep
exception:
        push rax
        mov rax, [rsp + 8]
        mov [fault_vector], al
        mov rax, [rsp + 16]
        mov [fault_error], rax
        mov rax, [rsp + 24]
        mov [fault_rip], rax
        mov rax, cr2
        mov [fault_cr2], rax
        mov rax, [fixup]
        test rax, rax
        jz .unasked
        mov [rsp + 24], rax
        and qword [rsp + 40], ~0x100    ; a single step is over
        mov qword [fixup], 0
        pop rax
        add rsp, 16
        iretq
.unasked:
        mov [fault_rcx], rcx
        SAY "exception FAILED: vector "
        movzx eax, byte [fault_vector]
        call print_hex
        SAY " at "
        mov rax, [fault_rip]
        call print_hex
        SAY " error "
        mov rax, [fault_error]
        call print_hex
        SAY " rcx "
        mov rax, [fault_rcx]
        call print_hex
        SAY 10
        mov al, 101
        out 0xF4, al
        cli
        hlt
        jmp $

fill_idt:
        xor ebx, ebx
.exceptions:
        mov eax, [exceptions + rbx * 4]
        call .gate
        inc ebx
        cmp ebx, 32
        jb .exceptions
        mov esi, gates
.others:
        movzx ebx, byte [rsi]
        test ebx, ebx
        jz .end
        mov eax, [rsi + 1]
        call .gate
        add rsi, 5
        jmp .others
.end:   mov byte [IDT + VECTOR_BACK * 16 + 5], 0xEE ; for ring 3
        ret
.gate:  mov edx, ebx
        shl edx, 4
        mov [IDT + rdx], ax
        mov word [IDT + rdx + 2], CODE
        mov word [IDT + rdx + 4], 0x8E00 ; interrupt gate
        shr eax, 16
        mov [IDT + rdx + 6], ax
        ret

; ---- registers ------------------------------------------------------------------------------------------------
wr:     push rdx                        ; MSR ECX is RAX
        mov rdx, rax
        shr rdx, 32
        wrmsr
        pop rdx
        ret
rd:     push rdx                        ; RAX is MSR ECX
        rdmsr
        shl rdx, 32
        or rax, rdx
        pop rdx
        ret
wr_faults:                              ; EAX is 1 if WRMSR faults
        mov qword [fixup], .fault
        mov rdx, rax
        shr rdx, 32
        wrmsr
        mov qword [fixup], 0
        xor eax, eax
        ret
.fault: mov eax, 1
        ret
rd_faults:                              ; EDX is 1 if RDMSR faults
        mov qword [fixup], .fault
        rdmsr
        mov qword [fixup], 0
        xor edx, edx
        ret
.fault: mov edx, 1
        ret
apic_write:                             ; the register at offset ECX is EAX
        push rcx
        push rdx
        cmp dword [apic_x2], 0
        je .memory
        shr ecx, 4
        add ecx, 0x800
        xor edx, edx
        wrmsr
        pop rdx
        pop rcx
        ret
.memory:
        mov edx, 0xFEE00000
        mov [rdx + rcx], eax
        pop rdx
        pop rcx
        ret
apic_read:
        push rcx
        push rdx
        cmp dword [apic_x2], 0
        je .memory
        shr ecx, 4
        add ecx, 0x800
        rdmsr
        pop rdx
        pop rcx
        ret
.memory:
        mov edx, 0xFEE00000
        mov eax, [rdx + rcx]
        pop rdx
        pop rcx
        ret

linger: push rcx                        ; long enough for an interrupt that is on its way
        mov ecx, 2000
.next:  pause
        loop .next
        pop rcx
        ret
wait_ticks:                             ; until [ticks] is ESI, but not for ever
        mov ecx, 3000000
.next:  cmp [ticks], rsi
        jae .end
        pause
        loop .next
.end:   ret

; ---- what is told ---------------------------------------------------------------------------------------------
check_equal:                            ; RSI name, RAX found, RDX needed; keeps RAX
        PUSH_ALL
        mov r12, rax
        mov r13, rdx
        call check_name
        cmp r12, r13
        je .ok
        call check_found
        mov rax, r13
        call print_hex
        SAY 10
        POP_ALL
        ret
.ok:    SAY "ok", 10
        POP_ALL
        ret
check_range:                            ; RSI name, RAX found, RDX least, RCX most, both signed
        PUSH_ALL
        mov r12, rax
        mov r13, rdx
        mov r14, rcx
        call check_name
        cmp r12, r13
        jl .failed
        cmp r12, r14
        jg .failed
        SAY "ok", 10
        POP_ALL
        ret
.failed:
        call check_found
        mov rax, r13
        call print_hex
        SAY ".."
        mov rax, r14
        call print_hex
        SAY 10
        POP_ALL
        ret
check_name:                             ; and keeps it in R15
        inc dword [checks]
        mov eax, [current_section]
        inc dword [section_checks + rax * 4]
        mov r15, rsi
        call print
        SAY ": "
        ret
check_found:
        mov eax, [failures]
        cmp eax, FAILURES_KEPT
        jae .kept
        shl eax, 5
        mov [failed_checks + rax], r15
        mov [failed_checks + rax + 8], r12
        mov [failed_checks + rax + 16], r13
.kept:  inc dword [failures]
        mov eax, [current_section]
        inc dword [section_failures + rax * 4]
        SAY "FAILED found "
        mov rax, r12
        call print_hex
        SAY " needed "
        ret

section_begin:
        push rax
        inc dword [current_section]
        mov eax, [current_section]
        mov [section_names + rax * 4], esi
        pop rax
        ret

; The last page: everything at a glance, on a fresh screen.
summary:
        mov edi, 0xB8000
        mov rax, 0x0720072007200720
        mov ecx, 25 * 20
        rep stosq
        mov qword [row], 0
        mov qword [column], 0
        SAY_NUMBER "perfmon ", [version]
        SAY_NUMBER ", general ", [gp_counters]
        SAY_NUMBER " x ", [gp_width]
        SAY_NUMBER ", fixed ", [fixed_counters]
        SAY_NUMBER " x ", [fixed_width]
        SAY_NUMBER ", PEBS format ", [pebs_format]
        SAY_NUMBER ", last branches ", [lbr_depth]
        SAY 10
        mov ebx, 1
.section:
        mov esi, [section_names + rbx * 4]
        call print
        cmp dword [section_checks + rbx * 4], 0
        je .empty
        cmp dword [section_failures + rbx * 4], 0
        jne .failed
        SAY ": ok", 10
        jmp .next
.empty: SAY ": not on this processor", 10
        jmp .next
.failed:
        mov eax, [section_failures + rbx * 4]
        mov [scratch], rax
        SAY_NUMBER ": FAILED ", [scratch]
        SAY 10
.next:  inc ebx
        cmp ebx, [current_section]
        jbe .section
        mov eax, [profile_shares]
        test eax, eax
        jz .failures
        mov rbx, profile_shares
        call print_bars
.failures:
        xor ebx, ebx
.check: cmp ebx, [failures]
        jae .end
        cmp ebx, FAILURES_KEPT
        jae .end
        mov r12d, ebx
        shl r12d, 5
        mov rsi, [failed_checks + r12]
        call print
        SAY ": found "
        mov rax, [failed_checks + r12 + 8]
        call print_hex
        SAY " needed "
        mov rax, [failed_checks + r12 + 16]
        call print_hex
        SAY 10
        inc ebx
        jmp .check
.end:   SAY_NUMBER "checks ", [checks]
        SAY_NUMBER ", failed ", [failures]
        SAY 10
        ret

print_decimal:
        push rbx
        push rcx
        push rdx
        mov ebx, 10
        xor ecx, ecx
        mov eax, eax
.digit: xor edx, edx
        div rbx
        push rdx
        inc ecx
        test rax, rax
        jnz .digit
.out:   pop rax
        add al, '0'
        call print_char
        loop .out
        pop rdx
        pop rcx
        pop rbx
        ret
print_hex:                              ; without zeros in front
        push rbx
        push rcx
        mov rbx, rax
        bsr rcx, rax
        jnz .some
        xor ecx, ecx
.some:  and ecx, ~3
.digit: mov rax, rbx
        shr rax, cl
        and eax, 15
        mov al, [digits + rax]
        call print_char
        sub ecx, 4
        jns .digit
        pop rcx
        pop rbx
        ret
print:  push rax
        push rsi
.next:  mov al, [rsi]
        test al, al
        jz .end
        call print_char
        inc rsi
        jmp .next
.end:   pop rsi
        pop rax
        ret
print_char:                             ; AL, on the screen and to COM1
        push rax
        push rcx
        push rdx
        push rsi
        push rdi
        push rax
        mov ecx, 100000
.wait:  mov dx, 0x3FD
        in al, dx
        test al, 0x20
        jnz .ready
        loop .wait
.ready: pop rax
        mov dx, 0x3F8
        out dx, al
        mov ecx, [column]
        cmp al, 10
        je .line
        mov edx, [row]
        imul edx, edx, 80
        add edx, ecx
        mov ah, 7
        mov [0xB8000 + rdx * 2], ax
        inc ecx
        cmp ecx, 80
        jb .placed
.line:  xor ecx, ecx
        inc dword [row]
        cmp dword [row], 25
        jb .placed
        mov dword [row], 24
        push rcx
        mov edi, 0xB8000
        mov esi, 0xB8000 + 160
        mov ecx, 24 * 20
        rep movsq
        mov rax, 0x0720072007200720
        mov ecx, 20
        rep stosq
        pop rcx
.placed:
        mov [column], ecx
        pop rdi
        pop rsi
        pop rdx
        pop rcx
        pop rax
        ret
serial_start:
        mov esi, serial_setup
.next:  movzx edx, word [rsi]
        test edx, edx
        jz .end
        mov al, [rsi + 2]
        out dx, al
        add rsi, 3
        jmp .next
.end:   ret

section .data
        align 8
gdt:    dq 0
        dq 0x00AF9A000000FFFF           ; code, ring 0
        dq 0x00CF92000000FFFF           ; data, ring 0
        dq 0x00CFF2000000FFFF           ; data, ring 3
        dq 0x00AFFA000000FFFF           ; code, ring 3
gdt_tss: dw 103                         ; where it is, start64 fills in
        dw 0, 0x8900, 0
        dq 0
gdt_end:
gdtr:   dw gdt_end - gdt - 1
        dq gdt
idtr:   dw 0xFFF
        dq IDT
        align 8
tss:    dd 0
        dq STACK - 0x4000               ; RSP0
        times 104 - 12 db 0

exceptions:
%assign vector 0
%rep 32
%if vector = 2
        dd nmi_entry
%else
        dd exception_%[vector]
%endif
%assign vector vector + 1
%endrep
%macro GATE 2
        db %1
        dd %2
%endmacro
gates:
        GATE VECTOR_TIMER, timer_entry
        GATE VECTOR_PMI, pmi_entry
        GATE VECTOR_LOW, ipi_low
        GATE VECTOR_HIGH, ipi_high
        GATE VECTOR_NEST, ipi_nest
        GATE VECTOR_TOP, ipi_top
        GATE VECTOR_BACK, user_back
        GATE VECTOR_SPURIOUS, spurious
        db 0
serial_setup:                           ; 115200, 8 bits, no parity, one stop bit
        dw 0x3F9
        db 0
        dw 0x3FB
        db 0x80
        dw 0x3F8
        db 1
        dw 0x3F9
        db 0
        dw 0x3FB
        db 3
        dw 0x3FA
        db 0
        dw 0x3FC
        db 3
        dw 0
digits: db "0123456789abcdef"
names:  dd .light, .medium, .heavy, .outside
.light: db "light ", 0
.medium: db "medium ", 0
.heavy: db "heavy ", 0
.outside: db "outside ", 0
nehalems: db 0x1A, 0x1E, 0x1F, 0x2E, 0x25, 0x2C, 0x2F
nehalems_end:
goldmonts: db 0x5C, 0x5F, 0x7A
goldmonts_end:
record_sizes: db 144, 176, 192, 200
        align 4
; MSR_PEBS_DATA_CFG and the bytes of a record: 32, memory 32, registers 144, XMM 256, 24 for each last branch
group_config:
        dd 0x00000000, 32
        dd 0x00000001, 32 + 32
        dd 0x00000002, 32 + 144
        dd 0x00000007, 32 + 32 + 144 + 256
        dd 0x0300000F, 32 + 32 + 144 + 256 + 4 * 24
lbr_legacy_modes:                       ; MSR_LBR_SELECT: a set bit leaves out, but for EN_CALLSTACK
        dd 0
        dd 0x1F6                        ; all but CPL_EQ_0 and NEAR_REL_CALL
        dd 0x3C6                        ; CPL_NEQ_0, JCC, NEAR_IND_JMP, NEAR_REL_JMP, FAR_BRANCH, EN_CALLSTACK
        dd 0x001                        ; CPL_EQ_0
%assign kind 2
%rep 7                                   ; JCC, NEAR_REL_CALL, NEAR_IND_CALL, NEAR_RET, NEAR_IND_JMP, NEAR_REL_JMP, FAR_BRANCH
        dd 0x1FE - (1 << kind)
%assign kind kind + 1
%endrep
lbr_arch_modes:                         ; IA32_LBR_CTL: a set bit takes in
        dd 0x7F0003                     ; LBREn, OS, all kinds
        dd 0x080003                     ; NEAR_REL_CALL
        dd 0x38000B                     ; CALL_STACK; relative and indirect calls, returns
        dd 0x7F0005                     ; LBREn, USR, all kinds
        dd 0x010003, 0x080003, 0x100003, 0x200003, 0x040003, 0x020003, 0x400003

absolute VARIABLES                      ; start32 made them 0
signature:              resq 1
leaf1_ecx:              resq 1
leaf1_edx:              resq 1
model:                  resq 1
max_leaf:               resq 1
version:                resq 1
gp_counters:            resq 1
gp_width:               resq 1
gp_mask:                resq 1
fixed_counters:         resq 1
fixed_width:            resq 1
fixed_mask:             resq 1
fixed_bitmap:           resq 1
all_counters:           resq 1
leaf10_ebx:             resq 1
leaf10_length:          resq 1
capabilities:           resq 1
pebs_format:            resq 1
pebs_baseline:          resq 1
have_bts:               resq 1
have_pebs:              resq 1
arch_lbr:               resq 1
lbr_filters:            resq 1
lbr_depth:              resq 1
lbr_control:            resq 1
lbr_on:                 resq 1
lbr_from:               resq 1
lbr_to:                 resq 1
lbr_at_pmi:             resq 1
nest_wrong:             resq 1
checks:                 resq 1
failures:               resq 1
row:                    resq 1
column:                 resq 1
apic_x2:                resq 1
ticks:                  resq 1
fixup:                  resq 1
fault_vector:           resq 1
fault_error:            resq 1
fault_rip:              resq 1
fault_cr2:              resq 1
fault_rcx:              resq 1
irq_log:                resq 1
irq_isr:                resq 1
irq_ppr:                resq 1
lvt_perf:               resq 1
pmis:                   resq 1
pmi_hook:               resq 1
pmi_ctrl:               resq 1
pmi_status:             resq 1
pmi_debugctl:           resq 1
pmi_lvt:                resq 1
pmi_rip:                resq 1
pmi_pmc0:               resq 1
ctrl_after:             resq 1
debugctl_after:         resq 1
user_entry:             resq 1
every_wrong:            resq 1
work_rsp:               resq 1
count_from:             resq 1
kernel_rsp:             resq 1
user_start:             resq 1
tss_loaded:             resq 1
profile_ctrl:           resq 1
pebs_size:              resq 1
pebs_adaptive:          resq 1
pebs_select_0:          resq 1
pebs_select_1:          resq 1
pebs_seen_0:            resq 1
pebs_seen_1:            resq 1
pebs_last_0:            resq 1
pebs_last_1:            resq 1
pebs_pmc0:              resq 1
pebs_pmc1:              resq 1
pebs_pmis:              resq 1
pebs_wrong_place:       resq 1
pebs_wrong_distance:    resq 1
pebs_wrong_cause:       resq 1
pebs_wrong_size:        resq 1
pebs_short:             resq 1
pebs_no_status:         resq 1
pebs_tsc_back:          resq 1
pebs_last_tsc:          resq 1
group_case:             resq 1
record_ip:              resq 1
record_event_ip:        resq 1
record_bx:              resq 1
record_r15:             resq 1
record_status:          resq 1
record_address:         resq 1
record_latency:         resq 1
record_tsc:             resq 1
bts_edges:              resq 1
bts_wrong:              resq 1
bts_short:              resq 1
bts_pmis:               resq 1
current_section:                resq 1
scratch:                resq 1
profile_shares:         resq 4
section_names:          resd 16
section_checks:         resd 16
section_failures:       resd 16
failed_checks:          resq 4 * FAILURES_KEPT
