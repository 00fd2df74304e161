; A program from the public manual alone: whoever wrote it had not read the PMU, the virtual PC or another guest. It brings up
; long mode, an IDT and the local APIC, as memory first and then as x2APIC, and drives the PMU through every path to a handler and back:
; fixed and general counters, PMIs as a vector and as NMI, the mask that the LVT entry puts on itself, rearming, the handshake over the
; status, freezing, RDPMC in ring 3, PEBS buffers drained in the handler, and branch records read after a PMI, with every filter.
;
; It takes from CPUID what there is, and checks what it finds: each check is a line "name: ok" or "name: FAILED found X needed Y",
; also on COM1. The last page, promised below, says what the processor is, and once more what failed and what was left out.
; Exit status: 0, 1 if a check failed, 2 after an exception nobody expected. Made for silicon as well (Multiboot loader,
; text mode), where it has not been tried.
;
; source: SDM vol. 3A, "Local APIC", "Extended XAPIC (x2APIC)", "CPUID Extensions and Topology Enumeration"; vol. 3B, "Performance
;   Monitoring" with "Architectural Performance Monitoring", "Freezing LBR and Performance Counters on PMI", "Last Branch Records",
;   "Processor Event Based Sampling (PEBS)", "Adaptive PEBS", "DS Save Area", and the sections on each microarchitecture; vol. 4.
; Where the manual leaves room so does the check: how far a counter gets past 0, or whether the event that PEBS records counts again.
;
; cpu    all
; screen [core2] model 15: PMU version 2, general counters 2 of 40, fixed 3 of 40 bits
; screen [nehalem] model 26: PMU version 3, general counters 4 of 48, fixed 3 of 48 bits
; screen [westmere] model 37: PMU version 3, general counters 4 of 48, fixed 3 of 48 bits
; screen [ivybridge] model 58: PMU version 3, general counters 4 of 48, fixed 3 of 48 bits
; screen [haswell] model 60: PMU version 3, general counters 4 of 48, fixed 3 of 48 bits
; screen [skylake-client] model 94: PMU version 4, general counters 4 of 48, fixed 3 of 48 bits
; screen [skylake-server] model 85: PMU version 4, general counters 8 of 48, fixed 3 of 48 bits
; screen [icelake-server] model 106: PMU version 5, general counters 8 of 48, fixed 4 of 48 bits
; screen [sapphire-rapids] model 143: PMU version 5, general counters 8 of 48, fixed 4 of 48 bits
; screen [goldmont] model 92: PMU version 4, general counters 4 of 48, fixed 3 of 48 bits
; screen [core2] x2APIC 0, LBR 4, PEBS 1, format 0
; screen [nehalem westmere ivybridge] x2APIC 1, LBR 16, PEBS 1, format 1
; screen [haswell] x2APIC 1, LBR 16, PEBS 1, format 2
; screen [skylake-client skylake-server goldmont] x2APIC 1, LBR 32, PEBS 1, format 3
; screen [icelake-server sapphire-rapids] x2APIC 1, LBR 32, PEBS 1, format 4
; screen [core2] x2apic: skipped, CPUID says there is none
; screen [core2 nehalem westmere ivybridge haswell] registers: STATUS_SET, INUSE: skipped, before version 4
; screen [core2] lbr: filters: skipped, no LBR_SELECT
; screen [nehalem westmere ivybridge] lbr: call stack: skipped, no such mode
; screen [goldmont] pebs: counter 1: skipped, precise events have counter 0 alone
; screen [nehalem westmere ivybridge] pebs: address of a load: skipped, the format has none for plain loads
; screen [nehalem westmere ivybridge haswell skylake-client skylake-server goldmont] pebs: fixed counter 0: skipped, no extended PEBS
; screen [core2] passed 162, failed 0, skipped 3
; screen [nehalem westmere] passed 296, failed 0, skipped 4
; screen [ivybridge] passed 298, failed 0, skipped 4
; screen [haswell] passed 302, failed 0, skipped 2
; screen [skylake-client skylake-server] passed 313, failed 0, skipped 1
; screen [icelake-server] passed 322, failed 0, skipped 0
; screen [sapphire-rapids] passed 323, failed 0, skipped 0
; screen [goldmont] passed 308, failed 0, skipped 2
; exit   0

        cpu x64
        org 0x100000

; ---- What the manual calls them --------------------------------------------------------------------------------------------------

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
IA32_PERF_GLOBAL_OVF    equ 0x390               ; OVF_CTRL to version 3, STATUS_RESET from version 4
IA32_PERF_GLOBAL_SET    equ 0x391
IA32_PERF_GLOBAL_INUSE  equ 0x392
IA32_PEBS_ENABLE        equ 0x3F1
MSR_PEBS_DATA_CFG       equ 0x3F2
IA32_A_PMC0             equ 0x4C1
IA32_DS_AREA            equ 0x600
IA32_LBR_CTL            equ 0x14CE
IA32_LBR_DEPTH          equ 0x14CF
IA32_EFER               equ 0xC0000080

APIC_ID                 equ 0x020               ; offsets of the memory-mapped registers; an x2APIC MSR is 800H + offset / 16
APIC_VERSION            equ 0x030
APIC_TPR                equ 0x080
APIC_PPR                equ 0x0A0
APIC_EOI                equ 0x0B0
APIC_LDR                equ 0x0D0
APIC_SVR                equ 0x0F0
APIC_ISR                equ 0x100
APIC_IRR                equ 0x200
APIC_ESR                equ 0x280
APIC_ICR_LOW            equ 0x300
APIC_ICR_HIGH           equ 0x310
APIC_DFR                equ 0x0E0
ICR_SELF                equ 1 << 18 | 1 << 14           ; shorthand, assert
ICR_LOGICAL             equ 1 << 11
APIC_LVT_PMI            equ 0x340
X2APIC                  equ 0x800
SVR_ENABLED             equ 1 << 8
LVT_MASK                equ 1 << 16
LBR_FRZ                 equ 1 << 58             ; of IA32_PERF_GLOBAL_STATUS
CTR_FRZ                 equ 1 << 59
LVT_NMI                 equ 4 << 8

EVTSEL_USR              equ 1 << 16
EVTSEL_OS               equ 1 << 17
EVTSEL_INT              equ 1 << 20
EVTSEL_EN               equ 1 << 22
FREEZE_LBRS             equ 1 << 11             ; of IA32_DEBUGCTL
FREEZE_PERFMON          equ 1 << 12

; ---- What we choose --------------------------------------------------------------------------------------------------------------

CODE0                   equ 0x08
DATA0                   equ 0x10
DATA3                   equ 0x18 | 3
CODE3                   equ 0x20 | 3
TSS_SELECTOR            equ 0x28

PMI_VECTOR              equ 0x51                ; class 5, for the TPR tests
IPI_VECTOR              equ 0x41
HIGHER_VECTOR           equ 0x61
LOWER_VECTOR            equ 0x31
SPURIOUS_VECTOR         equ 0xFF
LEAVE_VECTOR            equ 0x30                ; INT of ring 3 that ends its visit
NMI_VECTOR              equ 2
NO_FAULT                equ 0xFF
GP                      equ 13

PERIOD                  equ 10000               ; events to an overflow
PATIENCE                equ 20000               ; rounds of a loop that waits for one; six instructions each
CALL_PERIOD             equ 50                  ; near calls to a PEBS overflow; the handler itself makes fewer
RECORDS                 equ 4                   ; PEBS records to a PMI

FAULT_STATUS            equ 2                   ; exit: an exception nobody expected
EXIT_PORT               equ 0xF4

; ---- Macros ----------------------------------------------------------------------------------------------------------------------

%macro save_all 0
        push    rax
        push    rbx
        push    rcx
        push    rdx
        push    rsi
        push    rdi
        push    rbp
        push    r8
        push    r9
        push    r10
        push    r11
        push    r12
        push    r13
        push    r14
        push    r15
%endmacro
%macro restore_all 0
        pop     r15
        pop     r14
        pop     r13
        pop     r12
        pop     r11
        pop     r10
        pop     r9
        pop     r8
        pop     rbp
        pop     rdi
        pop     rsi
        pop     rdx
        pop     rcx
        pop     rbx
        pop     rax
%endmacro
SAVED                   equ 15 * 8              ; bytes

%macro text 2                                   ; label, string
        [section .data]
%1:     db %2, 0
        __?SECT?__
%endmacro

; expect name, found, needed: operands that PUSH takes. Nothing is changed but flags.
%macro expect 3
        text    %%name, %1
        push    %2
        push    %3
        push    %%name
        call    report_equal
%endmacro
; expect_between name, found, lowest, highest
%macro expect_between 4
        text    %%name, %1
        push    %2
        push    %3
        push    %4
        push    %%name
        call    report_between
%endmacro
%macro skip 2                                   ; name, why
        text    %%name, %1
        text    %%why, %2
        push    %%why
        push    %%name
        call    report_skipped
%endmacro

%macro read_msr 1                               ; to rax; changes rcx, rdx
        mov     ecx, %1
        rdmsr
        shl     rdx, 32
        or      rax, rdx
%endmacro
%macro write_msr 2                              ; changes rax, rcx, rdx
        mov     rax, %2
        mov     rdx, rax
        shr     rdx, 32
        mov     ecx, %1
        wrmsr
%endmacro
%macro expect_wrmsr 4                           ; name, MSR, value, vector or NO_FAULT
        mov     rax, %3
        mov     ecx, %2
        call    try_wrmsr
        expect  %1, qword [fault_vector], %4
%endmacro
%macro expect_rdmsr 3                           ; name, MSR, vector or NO_FAULT
        mov     ecx, %2
        call    try_rdmsr
        expect  %1, qword [fault_vector], %3
%endmacro
%macro apic_get 1                               ; to rax; changes rcx, rdx
        mov     ecx, %1
        call    apic_read
%endmacro
%macro apic_put 2                               ; changes rax, rcx, rdx
        mov     eax, %2
        mov     ecx, %1
        call    apic_write
%endmacro

; ---- Entry: 32-bit protected mode, flat, no paging -------------------------------------------------------------------------------

        section .text
        bits    32
header: dd      0x1BADB002, 0x10000, -(0x1BADB002 + 0x10000)
        dd      header, header, loaded_end, bss_end, start

start:  cli
        cld
        mov     esp, stack_top
        mov     [boot_magic], eax
        mov     al, 0xFF                        ; every line of both 8259s off: we want none of theirs
        out     0x21, al
        out     0xA1, al

        mov     eax, 0x80000000
        cpuid
        cmp     eax, 0x80000001
        jb      no_long_mode
        mov     eax, 0x80000001
        cpuid
        test    edx, 1 << 29
        jz      no_long_mode

        mov     dword [pml4], pdpt + 7          ; present, writable, user
        mov     edi, pdpt
        mov     eax, directories + 7
        mov     ecx, 4
.pdpt:  mov     [edi], eax
        add     eax, 0x1000
        add     edi, 8
        loop    .pdpt
        mov     edi, directories                ; 4 GiB in pages of 2 MiB, each at its own address
        xor     eax, eax
        mov     ecx, 2048
.page:  mov     edx, eax
        or      edx, 0x87                       ; present, writable, user, large
        cmp     eax, 0xC0000000                 ; above 3 GiB there are devices:
        jb      .put
        xor     edx, 0x87 ^ 0x9B                ; not for ring 3, not cached
.put:   mov     [edi], edx
        add     eax, 0x200000
        add     edi, 8
        loop    .page

        mov     eax, cr4
        or      eax, 1 << 5 | 1 << 9 | 1 << 10  ; PAE, OSFXSR, OSXMMEXCPT
        mov     cr4, eax
        mov     eax, pml4
        mov     cr3, eax
        mov     ecx, IA32_EFER
        rdmsr
        or      eax, 1 << 8                     ; LME
        wrmsr
        mov     eax, cr0
        and     eax, ~(1 << 2)                  ; EM
        or      eax, 1 << 31 | 1 << 1           ; PG, MP
        mov     cr0, eax
        lgdt    [gdt_pointer]
        jmp     CODE0:long_mode

no_long_mode:
        mov     esi, .why
        mov     edi, 0xB8000
.next:  lodsb
        test    al, al
        jz      .stop
        stosb
        mov     al, 7
        stosb
        jmp     .next
.stop:  mov     al, FAULT_STATUS
        out     EXIT_PORT, al
        hlt
        jmp     .stop
.why:   db      "this processor has no long mode", 0

; ---- 64-bit --------------------------------------------------------------------------------------------------------------------

        bits    64
long_mode:
        mov     ax, DATA0
        mov     ds, ax
        mov     es, ax
        mov     ss, ax
        xor     eax, eax
        mov     fs, ax
        mov     gs, ax
        mov     rsp, stack_top
        call    set_up_tables
        call    set_up_screen

        expect  "boot: multiboot magic", qword [boot_magic], 0x2BADB002
        read_msr IA32_EFER
        and     eax, 1 << 8 | 1 << 10
        expect  "boot: EFER.LME and LMA", rax, 1 << 8 | 1 << 10
        mov     qword [fault_resume], .after_ud
.ud:    ud2
.after_ud:
        expect  "idt: UD2 is exception 6", qword [fault_vector], 6
        expect  "idt: and a fault, RIP is its own", qword [fault_rip], .ud

        call    find_features
        call    apic_in_xapic_mode
        cmp     byte [x2apic_locked], 0
        jne     .x2apic
        mov     qword [prefix], xapic_prefix
        call    pmi_suite
        mov     qword [prefix], empty
        call    apic_to_x2apic_mode
        cmp     byte [x2apic_mode], 0
        je      .one_mode
.x2apic:
        mov     qword [prefix], x2apic_prefix
        call    pmi_suite
        mov     qword [prefix], empty
.one_mode:
        call    counter_registers
        call    counting
        call    rdpmc_from_ring_3
        call    freeze_on_pmi
        call    branch_records
        call    branch_records_at_pmi
        call    pebs
        call    apic_off_and_on
        jmp     finish

; The last page: what the processor is, what failed and what was left out once more, and how many.
finish: call    clear_screen
        mov     ebx, .facts
.fact:  mov     rsi, [rbx]
        call    puts
        mov     rax, [rbx + 8]
        add     ebx, 16
        test    rax, rax
        jz      .line
        mov     rax, [rax]
        call    put_decimal
        jmp     .fact
.line:  call    newline
        cmp     ebx, .totals
        jb      .fact
        ja      .end
        xor     edi, edi
.kept:  cmp     rdi, [kept]
        jae     .fact
        mov     esi, edi
        imul    esi, esi, COLUMNS
        add     esi, kept_lines
        mov     ecx, COLUMNS
.char:  lodsb
        test    al, al
        jz      .next
        call    put_char
        loop    .char
.next:  call    newline
        inc     edi
        jmp     .kept
.end:   cmp     qword [failed], 0
        setne   al
        jmp     exit
        [section .data]
        align   8
.facts: dq      .model, display_model, .version, pmu_version, .general, general_counters, .width, general_width
        dq      .fixed, fixed_counters, .width, fixed_width, .bits, 0
        dq      .x2apic, x2apic_seen, .lbr, lbr_depth, .pebs, pebs_known, .format, pebs_format, .empty, 0
.totals: dq     .passed, passed, .failed, failed, .skipped, skipped, .empty, 0
.model: db      "model ", 0
.version: db    ": PMU version ", 0
.general: db    ", general counters ", 0
.fixed: db      ", fixed ", 0
.width: db      " of ", 0
.bits:  db      " bits", 0
.x2apic: db     "x2APIC ", 0
.lbr:   db      ", LBR ", 0
.pebs:  db      ", PEBS ", 0
.format: db     ", format ", 0
.passed: db     "passed ", 0
.failed: db     ", failed ", 0
.skipped: db    ", skipped ", 0
.empty: db      0
        __?SECT?__

exit:   out     EXIT_PORT, al                   ; a machine without the port stays in the loop
        cli
.halt:  hlt
        jmp     .halt

; ---- Descriptor tables -----------------------------------------------------------------------------------------------------------

set_up_tables:
        mov     rax, tss                        ; the TSS descriptor: limit 67H, type 9, present
        mov     rdx, rax
        and     eax, 0xFFFFFF
        shl     rax, 16
        or      rax, 0x67
        mov     rcx, 0x89 << 40
        or      rax, rcx
        mov     rcx, rdx
        and     ecx, 0xFF000000
        shl     rcx, 32
        or      rax, rcx
        mov     [gdt.tss], rax
        shr     rdx, 32
        mov     [gdt.tss + 8], rdx
        mov     qword [tss + 4], entry_stack_top        ; RSP0
        mov     qword [tss + 36], nmi_stack_top         ; IST1
        mov     word [tss + 102], 104                   ; no I/O permission map
        mov     ax, TSS_SELECTOR
        ltr     ax

        xor     ecx, ecx
        mov     edi, idt
        mov     eax, stubs
.gate:  mov     [rdi], ax
        mov     word [rdi + 2], CODE0
        mov     word [rdi + 4], 0x8E00          ; interrupt gate, ring 0
        mov     edx, eax
        shr     edx, 16
        mov     [rdi + 6], dx
        mov     qword [handlers + rcx * 8], fault
        add     eax, STUB_BYTES
        add     edi, 16
        inc     ecx
        cmp     ecx, 256
        jb      .gate
        mov     byte [idt + NMI_VECTOR * 16 + 4], 1     ; IST1
        mov     byte [idt + LEAVE_VECTOR * 16 + 5], 0xEE        ; ring 3 may
        mov     qword [handlers + NMI_VECTOR * 8], pmi
        mov     qword [handlers + PMI_VECTOR * 8], pmi
        mov     qword [handlers + IPI_VECTOR * 8], ipi
        mov     qword [handlers + HIGHER_VECTOR * 8], inner_ipi
        mov     qword [handlers + LOWER_VECTOR * 8], inner_ipi
        mov     qword [handlers + LEAVE_VECTOR * 8], leave_ring_3
        mov     qword [handlers + SPURIOUS_VECTOR * 8], spurious
        lidt    [idt_pointer]
        ret

STUB_BYTES      equ 16
        align   16
stubs:
%assign vector 0
%rep 256
        align   STUB_BYTES
%if vector == 8 || (vector >= 10 && vector <= 14) || vector == 17 || vector == 21 || vector == 29 || vector == 30
%else
        push    0                               ; no error code of its own
%endif
        push    vector
        jmp     near to_handler
%assign vector vector + 1
%endrep

; The frame a handler finds at rbx.
struc frame
.saved          resq 15
.vector         resq 1
.error          resq 1
.rip            resq 1
.cs             resq 1
.rflags         resq 1
.rsp            resq 1
.ss             resq 1
endstruc

to_handler:
        save_all
        mov     rbx, rsp
        mov     rax, [rbx + frame.vector]
        call    [handlers + rax * 8]
        restore_all
        add     rsp, 16
.iretq: iretq

; Exceptions: expected while fault_resume is not 0. In ring 3 one ends the visit.
fault:  mov     rax, [rbx + frame.vector]
        mov     [fault_vector], rax
        mov     rax, [rbx + frame.rip]
        mov     [fault_rip], rax
        test    byte [rbx + frame.cs], 3
        jnz     leave_ring_3
        mov     rax, [fault_resume]
        test    rax, rax
        jz      .unexpected
        mov     [rbx + frame.rip], rax
        mov     qword [fault_resume], 0
        ret
.unexpected:
        mov     rsi, .exception
        call    puts
        mov     rax, [rbx + frame.vector]
        call    put_hex
        mov     rsi, .error
        call    puts
        mov     rax, [rbx + frame.error]
        call    put_hex
        mov     rsi, .at
        call    puts
        mov     rax, [rbx + frame.rip]
        call    put_hex
        call    newline
        mov     al, FAULT_STATUS
        jmp     exit
.exception: db  "FAILED: exception ", 0
.error: db      " error ", 0
.at:    db      " at ", 0

spurious:                                       ; no EOI
        ret

; rax to MSR ecx, and what came of it in fault_vector. Changes rdx.
try_wrmsr:
        mov     qword [fault_vector], NO_FAULT
        mov     qword [fault_resume], .out
        mov     rdx, rax
        shr     rdx, 32
        wrmsr
.out:   mov     qword [fault_resume], 0
        ret
; MSR ecx to rax. Changes rdx.
try_rdmsr:
        mov     qword [fault_vector], NO_FAULT
        mov     qword [fault_resume], .out
        rdmsr
        shl     rdx, 32
        or      rax, rdx
.out:   mov     qword [fault_resume], 0
        ret
; Counter ecx to rax. Changes rdx.
try_rdpmc:
        mov     qword [fault_vector], NO_FAULT
        mov     qword [fault_resume], .out
        rdpmc
        shl     rdx, 32
        or      rax, rdx
.out:   mov     qword [fault_resume], 0
        ret

; Runs rdi in ring 3, interrupts on, until INT LEAVE_VECTOR or an exception (fault_vector). Its rax comes back.
visit_ring_3:
        save_all
        pushfq
        mov     qword [fault_vector], NO_FAULT
        mov     [visitor_rsp], rsp
        push    DATA3
        push    user_stack_top
        push    0x202                           ; IF
        push    CODE3
        push    rdi
        iretq
leave_ring_3:
        mov     rax, [rbx + frame.saved + 14 * 8]
        mov     [visitor_rax], rax
        mov     rsp, [visitor_rsp]
        popfq
        restore_all
        mov     rax, [visitor_rax]
        ret

; ---- Screen and serial line ------------------------------------------------------------------------------------------------------

COM1            equ 0x3F8
SCREEN          equ 0xB8000
COLUMNS         equ 80
ROWS            equ 25
LAST_ROW        equ SCREEN + (ROWS - 1) * COLUMNS * 2
KEPT_LINES      equ ROWS - 4                    ; with the facts and the totals they fill the last page

set_up_screen:
        mov     rsi, line_settings
.next:  movzx   edx, byte [rsi]
        add     edx, COM1
        mov     al, [rsi + 1]
        out     dx, al
        add     rsi, 2
        cmp     rsi, line_settings_end
        jb      .next
clear_screen:
        mov     qword [row], SCREEN
        mov     edi, SCREEN
        mov     ecx, COLUMNS * ROWS
        mov     eax, 0x0720
        rep     stosw
        ret
line_settings:                                  ; register, value: 115200 8N1, FIFOs on, no interrupts
        db      1, 0,  3, 0x80,  0, 1,  1, 0,  3, 3,  2, 7,  4, 3
line_settings_end:

serial: push    rcx                             ; al; a line that is not there must not hold us
        push    rdx
        push    rax
        mov     ecx, 100000
        mov     edx, COM1 + 5
.wait:  in      al, dx
        test    al, 1 << 5
        jnz     .send
        loop    .wait
.send:  pop     rax
        mov     edx, COM1
        out     dx, al
        pop     rdx
        pop     rcx
        ret

put_char:
        push    rdi
        push    rax
        call    serial
        mov     rdi, [column]
        cmp     rdi, COLUMNS
        jae     .off                            ; the screen cuts long lines, the serial line does not
        add     rdi, rdi
        add     rdi, [row]
        mov     [rdi], al
        mov     al, [colour]
        mov     [rdi + 1], al
.off:   inc     qword [column]
        pop     rax
        pop     rdi
        ret

newline:
        push    rax
        push    rcx
        push    rsi
        push    rdi
        mov     al, 13
        call    serial
        mov     al, 10
        call    serial
        cmp     byte [keep_line], 0
        je      .scroll
        mov     byte [keep_line], 0
        mov     rdi, [kept]
        cmp     rdi, KEPT_LINES
        jae     .scroll
        inc     qword [kept]
        imul    edi, edi, COLUMNS
        add     edi, kept_lines
        mov     rsi, [row]
        mov     rcx, [column]
        cmp     rcx, COLUMNS
        jbe     .copy
        mov     ecx, COLUMNS
.copy:  lodsw
        stosb
        loop    .copy
.scroll:
        mov     qword [column], 0
        mov     byte [colour], 7
        cmp     qword [row], LAST_ROW
        je      .up
        add     qword [row], COLUMNS * 2
        jmp     .end
.up:    mov     edi, SCREEN
        mov     esi, SCREEN + COLUMNS * 2
        mov     ecx, COLUMNS * (ROWS - 1) / 4
        rep     movsq
        mov     ecx, COLUMNS
        mov     eax, 0x0720
        rep     stosw
.end:   pop     rdi
        pop     rsi
        pop     rcx
        pop     rax
        ret

puts:   push    rax                             ; rsi
.next:  lodsb
        test    al, al
        jz      .end
        call    put_char
        jmp     .next
.end:   pop     rax
        ret

put_hex:                                        ; rax
        push    rbx
        mov     ebx, 16
        call    put_number
        mov     al, 'H'
        call    put_char
        pop     rbx
        ret
put_decimal:
        push    rbx
        mov     ebx, 10
        call    put_number
        pop     rbx
        ret
put_number:                                     ; rax in base rbx
        push    rcx
        push    rdx
        xor     ecx, ecx
.digit: xor     edx, edx
        div     rbx
        movzx   edx, byte [.digits + rdx]
        push    rdx
        inc     ecx
        test    rax, rax
        jnz     .digit
.print: pop     rax
        call    put_char
        loop    .print
        pop     rdx
        pop     rcx
        ret
.digits: db     "0123456789ABCDEF"

; ---- Reports ---------------------------------------------------------------------------------------------------------------------

put_name:                                       ; rsi
        push    rsi
        mov     rsi, [prefix]
        call    puts
        pop     rsi
        jmp     puts
put_ok: inc     qword [passed]
        mov     byte [colour], 10
        mov     rsi, .ok
        call    puts
        jmp     newline
.ok:    db      ": ok", 0
put_failed:                                     ; found rax
        inc     qword [failed]
        mov     byte [keep_line], 1
        mov     byte [colour], 12
        mov     rsi, .failed
        call    puts
        call    put_hex
        mov     rsi, .needed
        jmp     puts
.failed: db     ": FAILED found ", 0
.needed: db     " needed ", 0

report_equal:                                   ; stack: name, needed, found
        save_all
        mov     rsi, [rsp + SAVED + 8]
        call    put_name
        mov     rax, [rsp + SAVED + 24]
        mov     rdx, [rsp + SAVED + 16]
        cmp     rax, rdx
        jne     .failed
        call    put_ok
        jmp     .done
.failed:
        call    put_failed
        mov     rax, rdx
        call    put_hex
        call    newline
.done:  restore_all
        ret     24

report_between:                                 ; stack: name, highest, lowest, found
        save_all
        mov     rsi, [rsp + SAVED + 8]
        call    put_name
        mov     rax, [rsp + SAVED + 32]
        cmp     rax, [rsp + SAVED + 24]
        jb      .failed
        cmp     rax, [rsp + SAVED + 16]
        ja      .failed
        call    put_ok
        jmp     .done
.failed:
        call    put_failed
        mov     rax, [rsp + SAVED + 24]
        call    put_hex
        mov     rsi, .to
        call    puts
        mov     rax, [rsp + SAVED + 16]
        call    put_hex
        call    newline
.done:  restore_all
        ret     32
.to:    db      " to ", 0

report_skipped:                                 ; stack: name, why
        save_all
        inc     qword [skipped]
        mov     byte [keep_line], 1
        mov     rsi, [rsp + SAVED + 8]
        call    put_name
        mov     rsi, .skipped
        call    puts
        mov     rsi, [rsp + SAVED + 16]
        call    puts
        call    newline
        restore_all
        ret     16
.skipped: db    ": skipped, ", 0

; ---- What the processor is -------------------------------------------------------------------------------------------------------

find_features:
        xor     eax, eax
        cpuid
        mov     [max_leaf], eax
        cmp     ebx, "Genu"
        sete    [intel]
        mov     eax, 1
        cpuid
        mov     [cpuid_1_ecx], ecx
        mov     [cpuid_1_edx], edx
        mov     ebx, eax                        ; DisplayModel, for family 6
        shr     ebx, 4
        and     ebx, 0xF
        mov     ecx, eax
        shr     ecx, 12
        and     ecx, 0xF0
        or      ebx, ecx
        mov     [display_model], ebx

        cmp     byte [intel], 0
        je      .end
        cmp     dword [max_leaf], 0x0A
        jb      .end
        mov     eax, 0x0A
        xor     ecx, ecx
        cpuid
        movzx   esi, al                         ; version
        cmp     esi, 2                          ; version 1 has no global registers
        jb      .end
        mov     [pmu_version], esi
        movzx   edi, ah
        mov     [general_counters], edi
        shr     eax, 16
        movzx   ecx, al                         ; width
        mov     [general_width], ecx
        mov     [missing_events], ebx
        mov     ebx, edx
        and     ebx, 0x1F
        mov     [fixed_counters], ebx
        shr     edx, 5
        movzx   edx, dl
        mov     [fixed_width], edx

        mov     rax, -1                         ; masks of the counters' bits and of the counters themselves
        shl     rax, cl
        not     rax
        mov     [general_mask], rax
        mov     ecx, edx
        mov     rax, -1
        shl     rax, cl
        not     rax
        mov     [fixed_mask], rax
        mov     ecx, ebx
        mov     eax, 1
        shl     rax, cl
        dec     rax
        shl     rax, 32
        mov     rdx, rax
        mov     ecx, edi
        mov     eax, 1
        shl     rax, cl
        dec     rax
        or      rax, rdx
        mov     [all_counters], rax
        mov     rdx, 1 << 62                    ; OvfBuffer
        or      rax, rdx
        cmp     esi, 4
        jb      .status
        mov     rdx, LBR_FRZ | CTR_FRZ
        or      rax, rdx
.status: mov    [status_bits], rax

        test    dword [cpuid_1_ecx], 1 << 15    ; PDCM
        jz      .no_capabilities
        read_msr IA32_PERF_CAPABILITIES
        mov     [capabilities], rax
.no_capabilities:
        call    find_pebs
        call    find_lbr
.end:   ret

; near_calls: an event that counts near calls and can be precise, 0 where there is none.
PRECISE_0       equ 1 << 0                      ; PMC0 records the event that overflows it, not the one after
LEGACY_LBR_FREEZE equ 1 << 1                    ; though the PMU is of version 4
find_pebs:
        test    dword [cpuid_1_edx], 1 << 21    ; DS
        jz      .end
        read_msr IA32_MISC_ENABLE
        test    eax, 1 << 12                    ; PEBS unavailable
        jnz     .end
        mov     byte [has_pebs], 1
        mov     qword [pebs_known], 1
        mov     rax, [capabilities]
        shr     eax, 8
        and     eax, 0xF
        mov     [pebs_format], eax
        mov     rsi, .models
        mov     edx, [display_model]
.find:  cmp     [rsi], dl
        je      .found
        add     rsi, 3
        cmp     rsi, .models_end
        jb      .find
        mov     esi, .big
.found: movzx   eax, byte [rsi + 1]
        shl     eax, 8
        jz      .has
        or      eax, 0xC4                       ; BR_INST_RETIRED
.has:   mov     [near_calls], eax
        mov     al, [rsi + 2]
        mov     [habits], al
.end:   ret
; DisplayModel, umask of BR_INST_RETIRED for near calls, habits. Umask 0: precise events know no calls (Core, the first Atoms).
; Sources: the tables of precise events and of events of each family; sections "Reduced Skid PEBS" and "PDist"; table "Core PMU
; Comparison Between the Goldmont and Silvermont Microarchitectures".
.models:
        db      0x0F, 0, 0,  0x16, 0, 0,  0x17, 0, 0,  0x1D, 0, 0,  0x1C, 0, 0,  0x26, 0, 0,  0x27, 0, 0,  0x35, 0, 0,  0x36, 0, 0
        db      0x37, 0xF9, 0,  0x4A, 0xF9, 0,  0x4D, 0xF9, 0,  0x5A, 0xF9, 0,  0x5D, 0xF9, 0,  0x4C, 0xF9, 0       ; Silvermont
        db      0x5C, 0xF9, PRECISE_0 | LEGACY_LBR_FREEZE,  0x5F, 0xF9, PRECISE_0 | LEGACY_LBR_FREEZE               ; Goldmont
        db      0x7A, 0xF9, PRECISE_0,  0x86, 0xF9, PRECISE_0,  0x96, 0xF9, PRECISE_0,  0x9C, 0xF9, PRECISE_0       ; and its heirs
        db      0xBE, 0xF9, PRECISE_0,  0xAF, 0xF9, PRECISE_0,  0xB6, 0xF9, PRECISE_0
        db      0x8F, 0x02, PRECISE_0,  0xCF, 0x02, PRECISE_0,  0xAD, 0x02, PRECISE_0                               ; Golden Cove
.models_end:
.big:   db      0, 0x02, 0                      ; everybody else since Nehalem

find_lbr:
        cmp     dword [max_leaf], 0x1C
        jb      .legacy
        mov     eax, 7
        xor     ecx, ecx
        cpuid
        test    edx, 1 << 19
        jz      .legacy
        mov     eax, 0x1C
        xor     ecx, ecx
        cpuid
        mov     [lbr_leaf_ebx], ebx
        mov     [lbr_leaf_ecx], ecx
        movzx   eax, al                         ; bit n: 8 * (n + 1) entries
        bsr     eax, eax
        jz      .end
        inc     eax
        shl     eax, 3
        mov     [lbr_depth], eax
        mov     byte [arch_lbr], 1
        mov     dword [lbr_from], 0x1500
        mov     dword [lbr_to], 0x1600
        ret
.legacy:
        mov     dword [lbr_from], 0x680         ; Nehalem and later; how many there are, the registers themselves say
        mov     dword [lbr_to], 0x6C0
        mov     esi, 0x680
        call    .count
        jnz     .legacy_end
        mov     dword [lbr_from], 0x40          ; Core and Atom
        mov     dword [lbr_to], 0x60
        mov     esi, 0x40
        call    .count
        jz      .end
.legacy_end:
        mov     ecx, MSR_LBR_SELECT
        call    try_rdmsr
        cmp     qword [fault_vector], NO_FAULT
        sete    [lbr_select]
.end:   ret
.count: xor     edi, edi
.more:  lea     ecx, [rsi + rdi]
        call    try_rdmsr
        cmp     qword [fault_vector], NO_FAULT
        jne     .counted
        inc     edi
        cmp     edi, 32
        jb      .more
.counted:
        mov     [lbr_depth], edi
        test    edi, edi
        ret

; ---- The local APIC --------------------------------------------------------------------------------------------------------------

apic_read:                                      ; register ecx to rax; changes rcx, rdx
        cmp     byte [x2apic_mode], 0
        jne     .msr
        mov     rax, [apic_base]
        mov     eax, [rax + rcx]
        ret
.msr:   shr     ecx, 4
        add     ecx, X2APIC
        rdmsr
        shl     rdx, 32
        or      rax, rdx
        ret
apic_write:                                     ; eax to register ecx; changes rcx, rdx
        cmp     byte [x2apic_mode], 0
        jne     .msr
        mov     rdx, [apic_base]
        mov     [rdx + rcx], eax
        ret
.msr:   shr     ecx, 4
        add     ecx, X2APIC
        xor     edx, edx
        wrmsr
        ret

; Bit of vector edi in the ISR or IRR (esi) to rax. Changes rcx, rdx, rdi.
apic_vector_bit:
        mov     ecx, edi
        shr     ecx, 5
        shl     ecx, 4
        add     ecx, esi
        call    apic_read
        mov     ecx, edi
        and     ecx, 31
        shr     eax, cl
        and     eax, 1
        ret
%macro vector_bit 2                             ; APIC_ISR or APIC_IRR, vector
        mov     esi, %1
        mov     edi, %2
        call    apic_vector_bit
%endmacro

read_errors:                                    ; a write latches what was seen since the last one
        apic_put APIC_ESR, 0
        apic_get APIC_ESR
        ret

ipi:    inc     qword [ipi_count]
        vector_bit APIC_ISR, IPI_VECTOR
        mov     [ipi_in_service], rax
        apic_get APIC_PPR
        mov     [ipi_ppr], rax
        cmp     dword [inner_vector], 0
        je      .alone
        sti                                     ; another one in the middle of this
        mov     eax, [inner_vector]
        or      eax, ICR_SELF
        mov     ecx, APIC_ICR_LOW
        call    apic_write
        call    wait_a_little
        cli
        mov     rax, [inner_count]
        mov     [inner_count_inside], rax
.alone: apic_put APIC_EOI, 0
        ret
inner_ipi:
        inc     qword [inner_count]
        apic_put APIC_EOI, 0
        ret

; An IPI with ICR bits ebx to destination edi; and what came in.
send_to_destination:
        mov     qword [ipi_count], 0
        sti
        or      ebx, 1 << 14 | IPI_VECTOR
        cmp     byte [x2apic_mode], 0
        jne     .msr
        shl     edi, 24
        mov     rdx, [apic_base]
        mov     [rdx + APIC_ICR_HIGH], edi
        mov     [rdx + APIC_ICR_LOW], ebx
        jmp     .sent
.msr:   mov     ecx, X2APIC + APIC_ICR_LOW / 16
        mov     eax, ebx
        mov     edx, edi
        wrmsr
.sent:  call    wait_a_little
        cli
        ret

apic_in_xapic_mode:
        bt      dword [cpuid_1_edx], 9
        setc    al
        movzx   eax, al
        expect  "apic: CPUID says there is one", rax, 1
        read_msr IA32_APIC_BASE
        test    eax, 1 << 10
        jz      .xapic
        mov     ecx, IA32_APIC_BASE             ; firmware left it in x2APIC mode: through disabled is the only way back,
        and     eax, ~(3 << 10)
        call    try_wrmsr
        cmp     qword [fault_vector], NO_FAULT
        je      .xapic
        mov     qword [x2apic_seen], 1          ; where there is one
        mov     byte [x2apic_locked], 1
        mov     byte [x2apic_mode], 1
        write_msr X2APIC + APIC_SVR / 16, SVR_ENABLED | SPURIOUS_VECTOR
        skip    "xapic", "locked in x2APIC mode"
        ret
.xapic: or      eax, 1 << 11
        mov     [apic_base_msr], rax
        write_msr IA32_APIC_BASE, qword [apic_base_msr]
        mov     rax, [apic_base_msr]
        mov     rcx, 0xFFFFFF000
        and     rcx, rax
        mov     [apic_base], rcx
        and     eax, 1 << 8 | 3 << 10
        expect  "apic: boot processor, xAPIC mode", rax, 1 << 8 | 1 << 11
        expect_rdmsr "xapic: x2APIC MSRs fault", X2APIC + APIC_ID / 16, GP
        test    dword [cpuid_1_ecx], 1 << 21
        jnz     .can
        mov     rax, [apic_base_msr]
        or      eax, 1 << 10
        expect_wrmsr "xapic: EXTD is reserved without x2APIC", IA32_APIC_BASE, rax, GP
.can:   mov     rax, [apic_base_msr]
        and     eax, ~(1 << 11)
        or      eax, 1 << 10
        expect_wrmsr "xapic: EXTD without EN faults", IA32_APIC_BASE, rax, GP

        apic_get APIC_VERSION
        movzx   edx, al
        expect_between "xapic: version is that of an integrated APIC", rdx, 0x10, 0x15
        shr     eax, 16
        movzx   eax, al
        expect_between "xapic: there is an LVT entry for the PMU", rax, 4, 15
        mov     eax, 1
        cpuid
        shr     ebx, 24
        apic_get APIC_ID
        shr     eax, 24
        expect  "xapic: the ID is CPUID's", rax, rbx

        apic_put APIC_SVR, SPURIOUS_VECTOR                 ; software-disabled
        apic_put APIC_LVT_PMI, PMI_VECTOR
        apic_get APIC_LVT_PMI
        expect  "xapic: disabled by software, LVT stays masked", rax, LVT_MASK | PMI_VECTOR
        apic_put APIC_SVR, SVR_ENABLED | SPURIOUS_VECTOR
        apic_get APIC_LVT_PMI
        expect  "xapic: enabling does not unmask", rax, LVT_MASK | PMI_VECTOR
        apic_put APIC_LVT_PMI, PMI_VECTOR
        apic_get APIC_LVT_PMI
        expect  "xapic: enabled, the mask goes", rax, PMI_VECTOR
        apic_put APIC_LVT_PMI, LVT_MASK
        apic_put APIC_TPR, 0

        mov     rax, [apic_base_msr]            ; 64 KiB further up, and back
        mov     rbx, [apic_base]
        add     rax, 0x10000
        expect_wrmsr "xapic: relocation", IA32_APIC_BASE, rax, NO_FAULT
        mov     eax, [rbx + 0x10000 + APIC_SVR]
        expect  "xapic: the registers moved", rax, SVR_ENABLED | SPURIOUS_VECTOR
        expect_wrmsr "xapic: and back", IA32_APIC_BASE, qword [apic_base_msr], NO_FAULT
        apic_get APIC_SVR
        expect  "xapic: and the registers with it", rax, SVR_ENABLED | SPURIOUS_VECTOR
        mov     rax, [apic_base_msr]
        or      eax, 1 << 9
        expect_wrmsr "xapic: reserved bit of APIC_BASE", IA32_APIC_BASE, rax, GP
        mov     rax, 1 << 60
        or      rax, [apic_base_msr]
        expect_wrmsr "xapic: APIC_BASE beyond any address", IA32_APIC_BASE, rax, GP
        jmp     interrupt_basics

; Interrupts without a PMU, in either mode.
interrupt_basics:
        mov     qword [ipi_count], 0
        call    read_errors
        apic_put APIC_TPR, 0x75
        apic_get APIC_TPR
        expect  "apic: TPR reads back", rax, 0x75
        mov     rax, cr8
        expect  "apic: CR8 is its class", rax, 7
        apic_get APIC_PPR
        expect  "apic: PPR follows when nothing is in service", rax, 0x75
        sti
        call    send_to_self
        expect  "apic: TPR holds a lower class back", qword [ipi_count], 0
        vector_bit APIC_IRR, IPI_VECTOR
        expect  "apic: it waits in the IRR", rax, 1
        xor     eax, eax
        mov     cr8, rax
        call    wait_a_little
        expect  "apic: CR8 = 0 lets it through, once", qword [ipi_count], 1
        cli
        expect  "apic: it was in service", qword [ipi_in_service], 1
        expect  "apic: PPR was its class", qword [ipi_ppr], IPI_VECTOR & 0xF0
        vector_bit APIC_ISR, IPI_VECTOR
        expect  "apic: EOI ended that", rax, 0
        call    read_errors
        expect  "apic: no errors", rax, 0
        apic_put APIC_ICR_LOW, ICR_SELF | 5    ; a vector below 16, to itself
        call    wait_a_little
        call    read_errors
        and     eax, 1 << 5
        expect  "apic: sending vector 5 is an error", rax, 1 << 5

        mov     dword [inner_vector], HIGHER_VECTOR
        mov     qword [inner_count], 0
        sti
        call    send_to_self
        cli
        expect  "apic: a higher class interrupts a handler", qword [inner_count_inside], 1
        mov     dword [inner_vector], LOWER_VECTOR
        mov     qword [inner_count], 0
        sti
        call    send_to_self
        cli
        mov     dword [inner_vector], 0
        expect  "apic: a lower one does not", qword [inner_count_inside], 0
        expect  "apic: it comes after EOI", qword [inner_count], 1

        apic_get APIC_ID
        cmp     byte [x2apic_mode], 0
        jne     .id
        shr     eax, 24
.id:    mov     edi, eax
        xor     ebx, ebx
        call    send_to_destination
        expect  "apic: IPI to our ID", qword [ipi_count], 1
        apic_get APIC_LDR
        cmp     byte [x2apic_mode], 0
        jne     .ldr
        mov     rdx, [apic_base]                ; flat model, we are bit 2
        mov     dword [rdx + APIC_DFR], 0xFFFFFFFF
        mov     dword [rdx + APIC_LDR], 4 << 24
        mov     eax, 0xC                        ; ours and another's
.ldr:   mov     edi, eax
        mov     ebx, ICR_LOGICAL
        call    send_to_destination
        expect  "apic: IPI to our logical ID", qword [ipi_count], 1
        ret
send_to_self:
        apic_put APIC_ICR_LOW, ICR_SELF | IPI_VECTOR
wait_a_little:
        push    rcx
        mov     ecx, 1000
.again: dec     ecx
        jnz     .again
        pop     rcx
        ret

apic_to_x2apic_mode:
        test    dword [cpuid_1_ecx], 1 << 21
        jnz     .can
        skip    "x2apic", "CPUID says there is none"
        ret
.can:   apic_put APIC_LVT_PMI, LVT_MASK | PMI_VECTOR
        apic_put APIC_TPR, 0x20
        mov     rax, [apic_base_msr]
        or      eax, 1 << 10
        expect_wrmsr "x2apic: the switch", IA32_APIC_BASE, rax, NO_FAULT
        mov     byte [x2apic_mode], 1
        mov     qword [x2apic_seen], 1
        read_msr IA32_APIC_BASE
        and     eax, 3 << 10
        expect  "x2apic: EN and EXTD", rax, 3 << 10
        apic_get APIC_LVT_PMI
        expect  "x2apic: the LVT came along", rax, LVT_MASK | PMI_VECTOR
        apic_get APIC_TPR
        expect  "x2apic: so did TPR", rax, 0x20
        apic_get APIC_SVR
        expect  "x2apic: and SVR", rax, SVR_ENABLED | SPURIOUS_VECTOR
        apic_put APIC_TPR, 0
        expect_between "x2apic: CPUID has leaf 0BH", qword [max_leaf], 0x0B, 0xFFFF
        mov     eax, 0x0B
        xor     ecx, ecx
        cpuid
        and     ebx, 0xFFFF
        expect_between "x2apic: and it counts processors", rbx, 1, 0xFFFF
        mov     ebx, edx
        apic_get APIC_ID
        expect  "x2apic: the ID is CPUID's", rax, rbx
        mov     ecx, eax
        and     ecx, 0xF
        mov     edx, 1
        shl     edx, cl
        and     eax, 0xFFFFFFF0
        shl     eax, 12
        or      edx, eax
        mov     ebx, edx
        apic_get APIC_LDR
        expect  "x2apic: the LDR follows from the ID", rax, rbx

        expect_rdmsr "x2apic: no DFR", X2APIC + 0xE, GP
        expect_rdmsr "x2apic: no second half of the ICR", X2APIC + 0x31, GP
        expect_rdmsr "x2apic: RDMSR of a hole", X2APIC + 0x40, GP
        expect_rdmsr "x2apic: RDMSR of EOI", X2APIC + 0xB, GP
        expect_rdmsr "x2apic: RDMSR of SELF IPI", X2APIC + 0x3F, GP
        expect_wrmsr "x2apic: WRMSR to the ID", X2APIC + 0x2, rbx, GP
        expect_wrmsr "x2apic: WRMSR to the version", X2APIC + 0x3, 0, GP
        expect_wrmsr "x2apic: WRMSR to the LDR", X2APIC + 0xD, rbx, GP
        expect_wrmsr "x2apic: WRMSR to the PPR", X2APIC + 0xA, 0, GP
        expect_wrmsr "x2apic: WRMSR of 1 to EOI", X2APIC + 0xB, 1, GP
        expect_wrmsr "x2apic: WRMSR of 1 to the ESR", X2APIC + 0x28, 1, GP
        expect_wrmsr "x2apic: reserved bit of TPR", X2APIC + 0x8, 1 << 8, GP
        expect_wrmsr "x2apic: reserved bit of LVT PMI", X2APIC + 0x34, LVT_MASK | 1 << 17, GP
        expect_wrmsr "x2apic: upper half of LVT PMI", X2APIC + 0x34, 1 << 32 | LVT_MASK, GP
        expect_wrmsr "x2apic: reserved bit of the ICR", X2APIC + 0x30, ICR_SELF | 1 << 20 | IPI_VECTOR, GP
        expect_wrmsr "x2apic: reserved bit of SELF IPI", X2APIC + 0x3F, 1 << 8 | IPI_VECTOR, GP
        expect_wrmsr "x2apic: reserved bit of SVR", X2APIC + 0xF, 1 << 16 | SVR_ENABLED | SPURIOUS_VECTOR, GP
        expect_wrmsr "x2apic: no direct way back", IA32_APIC_BASE, qword [apic_base_msr], GP
        mov     rax, [apic_base_msr]
        and     eax, ~(1 << 11)
        or      eax, 1 << 10
        expect_wrmsr "x2apic: EXTD without EN faults", IA32_APIC_BASE, rax, GP

        mov     qword [prefix], x2apic_prefix
        call    interrupt_basics
        mov     qword [prefix], empty
        mov     qword [ipi_count], 0
        sti
        write_msr X2APIC + 0x3F, IPI_VECTOR
        call    wait_a_little
        cli
        expect  "x2apic: SELF IPI", qword [ipi_count], 1
        call    read_errors
        write_msr X2APIC + 0x3F, 5
        call    read_errors
        and     eax, 1 << 5
        expect  "x2apic: SELF IPI of vector 5 is an error", rax, 1 << 5
        ret

; At the end: off, and on again as after a reset.
apic_off_and_on:
        cmp     byte [x2apic_locked], 0
        je      .can
        skip    "apic off", "locked in x2APIC mode"
        ret
.can:
        call    reset_pmu
        apic_put APIC_LVT_PMI, LVT_MASK
        mov     rax, [apic_base_msr]
        and     eax, ~(3 << 10)
        expect_wrmsr "apic off: EN and EXTD to 0", IA32_APIC_BASE, rax, NO_FAULT
        mov     byte [x2apic_mode], 0
        mov     eax, 1
        cpuid
        shr     edx, 9
        and     edx, 1
        expect  "apic off: CPUID hides it", rdx, 0
        mov     rax, [apic_base_msr]
        or      eax, 1 << 10
        expect_wrmsr "apic off: not straight to x2APIC", IA32_APIC_BASE, rax, GP
        expect_wrmsr "apic on: xAPIC again", IA32_APIC_BASE, qword [apic_base_msr], NO_FAULT
        mov     eax, 1
        cpuid
        shr     edx, 9
        and     edx, 1
        expect  "apic on: CPUID shows it", rdx, 1
        shr     ebx, 24
        apic_get APIC_ID
        shr     eax, 24
        expect  "apic on: the ID", rax, rbx
        ret

; ---- PMI -------------------------------------------------------------------------------------------------------------------------

; Counters off, overflows forgotten, LVT masked, the record of PMIs empty. Changes rax, rcx, rdx.
reset_pmu:
        cmp     dword [pmu_version], 0
        je      .none
        write_msr IA32_PERF_GLOBAL_CTRL, 0
        write_msr IA32_FIXED_CTR_CTRL, 0
        write_msr IA32_PERFEVTSEL0, 0
        write_msr IA32_DEBUGCTL, 0
        cmp     byte [has_pebs], 0
        je      .no_pebs
        write_msr IA32_PEBS_ENABLE, 0
.no_pebs:
        write_msr IA32_PERF_GLOBAL_OVF, qword [status_bits]
        apic_put APIC_LVT_PMI, LVT_MASK
        push    rdi
        xor     eax, eax
        mov     edi, pmi_record
        mov     ecx, (pmi_record_end - pmi_record) / 8
        rep     stosq
        mov     qword [pmi_action], stop_counting
        pop     rdi
.none:  ret

; The handler notes what it finds, in the order that disturbs least, and lets the test's action do the rest.
pmi:    inc     qword [pmi_count]
        inc     qword [pmi_depth]
        mov     rax, [pmi_depth]
        cmp     rax, [pmi_deepest]
        jbe     .not_deeper
        mov     [pmi_deepest], rax
.not_deeper:
        read_msr IA32_PERF_GLOBAL_STATUS
        and     rax, [status_bits]
        mov     [pmi_status], rax
        read_msr IA32_PERF_GLOBAL_CTRL
        mov     [pmi_control], rax
        read_msr IA32_DEBUGCTL
        mov     [pmi_debugctl], rax
        read_msr IA32_PMC0
        mov     [pmi_general], rax
        cmp     dword [fixed_counters], 0
        je      .no_fixed
        read_msr IA32_FIXED_CTR0
        mov     [pmi_fixed], rax
.no_fixed:
        mov     rax, [rbx + frame.vector]
        mov     [pmi_vector], rax
        mov     rax, [rbx + frame.rip]
        mov     [pmi_rip], rax
        mov     rax, [rbx + frame.cs]
        mov     [pmi_cs], rax
        apic_get APIC_LVT_PMI
        mov     [pmi_lvt], rax
        vector_bit APIC_ISR, PMI_VECTOR
        mov     [pmi_in_service], rax
        call    [pmi_action]
        cmp     qword [rbx + frame.vector], NMI_VECTOR
        je      .no_eoi                         ; an NMI is not in the ISR
        apic_put APIC_EOI, 0
.no_eoi:
        dec     qword [pmi_depth]
        ret

; Actions.
stop_counting:
        write_msr IA32_PERF_GLOBAL_CTRL, 0
        write_msr IA32_PERF_GLOBAL_OVF, qword [pmi_status]
        ret
rearm:  call    stop_counting
        mov     rax, [pmi_count]
        cmp     rax, [pmi_goal]
        jae     .enough
        call    load_counters
        apic_put APIC_LVT_PMI, [lvt]
        write_msr IA32_PERF_GLOBAL_CTRL, qword [counters]
.enough: ret
; The first PMI stays in its handler long enough for the next overflow.
overflow_in_handler:
        call    rearm
        cmp     qword [pmi_count], 1
        jne     .end
        mov     ecx, PERIOD
.again: dec     ecx
        jnz     .again
        read_msr IA32_PERF_GLOBAL_STATUS
        and     rax, [status_bits]
        mov     [status_in_handler], rax
        mov     rax, [pmi_count]
        mov     [count_in_handler], rax
.end:   ret

load_counters:                                  ; PERIOD events from overflow
        cmp     dword [fixed_counters], 0
        je      .no_fixed
        mov     rax, -PERIOD
        and     rax, [fixed_mask]
        mov     rdx, rax
        shr     rdx, 32
        mov     ecx, IA32_FIXED_CTR0
        wrmsr
.no_fixed:
        write_msr IA32_PMC0, -PERIOD            ; the upper half follows bit 31
        ret

; start_counters LVT, bits of IA32_PERF_GLOBAL_CTRL: from -PERIOD on. What they count, in which rings, with PMI or not: set before.
%macro start_counters 2
        mov     rax, %2
        mov     [counters], rax
        mov     dword [lvt], %1
        call    start_them
%endmacro
start_them:
        call    load_counters
        apic_put APIC_LVT_PMI, [lvt]
        write_msr IA32_PERF_GLOBAL_CTRL, qword [counters]
        ret

; Waits for PMI number edi, but not for ever.
wait_for_pmi:
        mov     ecx, PATIENCE
.again: cmp     [pmi_count], rdi
        jae     .end
        nop
        nop
        dec     ecx
        jnz     .again
.end:   ret
wait_for_pmi_end:

%macro status_to_rax 0
        read_msr IA32_PERF_GLOBAL_STATUS
        and     rax, [status_bits]
%endmacro

FIXED0          equ 1 << 32
GENERAL0        equ 1
GENERAL1        equ 2
FIXED0_OS_PMI   equ 0x9
FIXED0_USR_PMI  equ 0xA
INSTRUCTIONS    equ 0x00C0
BRANCHES        equ 0x00C4

; Everything about PMIs, in the APIC mode we are in.
pmi_suite:
        cmp     dword [pmu_version], 0
        jne     .there
        skip    "pmi", "no architectural PMU of version 2 or later"
        ret
.there: cmp     dword [fixed_counters], 0
        jne     .fixed
        skip    "pmi: fixed counter", "there is none"
        jmp     .general
.fixed: call    pmi_of_fixed_counter
        call    pmi_as_nmi
        call    pmi_held_back
        call    pmi_in_ring_3
.general:
        test    dword [missing_events], 1 << 1
        jz      .counts
        skip    "pmi: general counter", "CPUID says it cannot count instructions"
        ret
.counts: call   pmi_of_general_counter
        cmp     dword [fixed_counters], 0
        je      .end
        call    two_overflows
        call    every_counter
.end:   ret

pmi_of_fixed_counter:
        call    reset_pmu
        write_msr IA32_FIXED_CTR_CTRL, FIXED0_OS_PMI
        sti
        start_counters PMI_VECTOR, FIXED0
        mov     edi, 1
        call    wait_for_pmi
        cli
        expect  "fixed: one PMI", qword [pmi_count], 1
        expect  "fixed: the vector", qword [pmi_vector], PMI_VECTOR
        mov     rax, FIXED0
        expect  "fixed: status names the counter alone", qword [pmi_status], rax
        expect  "fixed: GLOBAL_CTRL untouched", qword [pmi_control], rax
        expect_between "fixed: the counter passed 0", qword [pmi_fixed], 0, PERIOD
        expect_between "fixed: interrupted where it counted", qword [pmi_rip], start_them, wait_for_pmi_end
        expect  "fixed: in service", qword [pmi_in_service], 1
        expect  "fixed: LVT masked itself", qword [pmi_lvt], LVT_MASK | PMI_VECTOR
        vector_bit APIC_ISR, PMI_VECTOR
        expect  "fixed: out of service after EOI", rax, 0
        status_to_rax
        expect  "fixed: OVF_CTRL cleared the status", rax, 0
        apic_get APIC_LVT_PMI
        expect  "fixed: nothing but us unmasks LVT", rax, LVT_MASK | PMI_VECTOR

        sti                                     ; a second overflow meets the mask
        start_counters LVT_MASK | PMI_VECTOR, FIXED0
        mov     edi, 2
        call    wait_for_pmi
        cli
        write_msr IA32_PERF_GLOBAL_CTRL, 0
        expect  "fixed: masked, no second PMI", qword [pmi_count], 1
        status_to_rax
        mov     rdx, FIXED0
        expect  "fixed: masked, status tells all the same", rax, rdx
        write_msr IA32_PERF_GLOBAL_OVF, FIXED0

        mov     qword [pmi_action], rearm
        mov     qword [pmi_goal], 6
        sti
        start_counters PMI_VECTOR, FIXED0
        mov     edi, 6
        call    wait_for_pmi
        mov     edi, 7
        call    wait_for_pmi
        cli
        expect  "fixed: rearmed by hand, five more", qword [pmi_count], 6

        call    reset_pmu                       ; no PMI bit in the control, no PMI
        write_msr IA32_FIXED_CTR_CTRL, 1
        sti
        start_counters PMI_VECTOR, FIXED0
        mov     edi, 1
        call    wait_for_pmi
        cli
        write_msr IA32_PERF_GLOBAL_CTRL, 0
        expect  "fixed: not asked for, no PMI", qword [pmi_count], 0
        status_to_rax
        mov     rdx, FIXED0
        expect  "fixed: not asked for, status tells", rax, rdx
        apic_get APIC_LVT_PMI
        expect  "fixed: not asked for, LVT stays open", rax, PMI_VECTOR
        ret

pmi_as_nmi:
        call    reset_pmu
        write_msr IA32_FIXED_CTR_CTRL, FIXED0_OS_PMI
        start_counters LVT_NMI | PMI_VECTOR, FIXED0     ; IF = 0 all along; the vector means nothing
        mov     edi, 1
        call    wait_for_pmi
        expect  "nmi: one, with interrupts off", qword [pmi_count], 1
        expect  "nmi: vector 2", qword [pmi_vector], NMI_VECTOR
        expect  "nmi: nothing in service", qword [pmi_in_service], 0
        expect  "nmi: LVT masked itself", qword [pmi_lvt], LVT_MASK | LVT_NMI | PMI_VECTOR

        call    reset_pmu
        apic_put APIC_TPR, 0xFF
        write_msr IA32_FIXED_CTR_CTRL, FIXED0_OS_PMI
        start_counters LVT_NMI, FIXED0
        mov     edi, 1
        call    wait_for_pmi
        apic_put APIC_TPR, 0
        expect  "nmi: no matter what TPR says", qword [pmi_count], 1

        call    reset_pmu
        mov     qword [pmi_action], overflow_in_handler
        mov     qword [pmi_goal], 2
        write_msr IA32_FIXED_CTR_CTRL, FIXED0_OS_PMI
        start_counters LVT_NMI, FIXED0
        mov     edi, 2
        call    wait_for_pmi
        mov     rax, FIXED0
        expect  "nmi: a second overflow in the handler", qword [status_in_handler], rax
        expect  "nmi: it waits", qword [count_in_handler], 1
        expect  "nmi: until IRET", qword [pmi_count], 2
        expect  "nmi: never one inside the other", qword [pmi_deepest], 1
        ret

pmi_held_back:
        call    reset_pmu
        write_msr IA32_FIXED_CTR_CTRL, FIXED0_OS_PMI
        start_counters PMI_VECTOR, FIXED0
        mov     edi, 1
        call    wait_for_pmi
        expect  "if: off, no PMI", qword [pmi_count], 0
        vector_bit APIC_IRR, PMI_VECTOR
        expect  "if: it waits in the IRR", rax, 1
        sti
        nop
        cli
        expect  "if: on, there it is", qword [pmi_count], 1
        vector_bit APIC_IRR, PMI_VECTOR
        expect  "if: and out of the IRR", rax, 0

        call    reset_pmu
        apic_put APIC_TPR, PMI_VECTOR & 0xF0
        sti
        write_msr IA32_FIXED_CTR_CTRL, FIXED0_OS_PMI
        start_counters PMI_VECTOR, FIXED0
        mov     edi, 1
        call    wait_for_pmi
        expect  "tpr: its class, no PMI", qword [pmi_count], 0
        apic_put APIC_TPR, (PMI_VECTOR & 0xF0) - 1
        call    wait_a_little
        cli
        expect  "tpr: below, there it is", qword [pmi_count], 1
        apic_put APIC_TPR, 0

        call    reset_pmu
        apic_put APIC_SVR, SPURIOUS_VECTOR
        write_msr IA32_FIXED_CTR_CTRL, FIXED0_OS_PMI
        sti
        start_counters PMI_VECTOR, FIXED0
        mov     edi, 1
        call    wait_for_pmi
        cli
        apic_put APIC_SVR, SVR_ENABLED | SPURIOUS_VECTOR
        expect  "svr: disabled by software, no PMI", qword [pmi_count], 0
        status_to_rax
        mov     rdx, FIXED0
        expect  "svr: though the counter did overflow", rax, rdx

        call    reset_pmu
        call    read_errors
        write_msr IA32_FIXED_CTR_CTRL, FIXED0_OS_PMI
        sti
        start_counters 5, FIXED0
        mov     edi, 1
        call    wait_for_pmi
        cli
        expect  "vector 5: no PMI", qword [pmi_count], 0
        status_to_rax
        mov     rdx, FIXED0
        expect  "vector 5: though the counter did overflow", rax, rdx
        call    read_errors
        and     eax, 1 << 6
        expect  "vector 5: received illegal vector", rax, 1 << 6
        ret

pmi_in_ring_3:
        call    reset_pmu
        write_msr IA32_FIXED_CTR_CTRL, FIXED0_USR_PMI
        sti
        start_counters PMI_VECTOR, FIXED0
        mov     edi, 1
        call    wait_for_pmi
        expect  "ring 3: ring 0 does not count", qword [pmi_count], 0
        mov     edi, wait_in_ring_3
        call    visit_ring_3
        cli
        expect  "ring 3: one PMI", qword [pmi_count], 1
        expect  "ring 3: that is where it came", qword [pmi_cs], CODE3
        expect_between "ring 3: in its loop", qword [pmi_rip], wait_in_ring_3, wait_in_ring_3_end
        ret
wait_in_ring_3:
        mov     ecx, PATIENCE
.again: cmp     qword [pmi_count], 1
        jae     .end
        dec     ecx
        jnz     .again
.end:   int     LEAVE_VECTOR
wait_in_ring_3_end:

pmi_of_general_counter:
        call    reset_pmu
        write_msr IA32_PERFEVTSEL0, EVTSEL_OS | EVTSEL_INT | EVTSEL_EN | INSTRUCTIONS
        sti
        start_counters PMI_VECTOR, GENERAL0
        mov     edi, 1
        call    wait_for_pmi
        cli
        expect  "general: one PMI", qword [pmi_count], 1
        expect  "general: status names the counter alone", qword [pmi_status], GENERAL0
        expect_between "general: the counter passed 0", qword [pmi_general], 0, PERIOD
        expect  "general: LVT masked itself", qword [pmi_lvt], LVT_MASK | PMI_VECTOR
        mov     qword [pmi_action], rearm
        mov     qword [pmi_goal], 4
        sti
        start_counters PMI_VECTOR, GENERAL0
        mov     edi, 4
        call    wait_for_pmi
        cli
        expect  "general: rearmed by hand, three more", qword [pmi_count], 4

        call    reset_pmu
        write_msr IA32_PERFEVTSEL0, EVTSEL_OS | EVTSEL_EN | INSTRUCTIONS
        sti
        start_counters PMI_VECTOR, GENERAL0
        mov     edi, 1
        call    wait_for_pmi
        cli
        write_msr IA32_PERF_GLOBAL_CTRL, 0
        expect  "general: without INT no PMI", qword [pmi_count], 0
        status_to_rax
        expect  "general: without INT status tells", rax, GENERAL0
        ret

two_overflows:
        call    reset_pmu
        write_msr IA32_FIXED_CTR_CTRL, FIXED0_OS_PMI
        write_msr IA32_PERFEVTSEL0, EVTSEL_OS | EVTSEL_INT | EVTSEL_EN | INSTRUCTIONS
        start_counters LVT_MASK | PMI_VECTOR, FIXED0 | GENERAL0
        mov     edi, 1
        call    wait_for_pmi
        write_msr IA32_PERF_GLOBAL_CTRL, 0
        status_to_rax
        mov     rdx, FIXED0 | GENERAL0
        expect  "two: both in the status", rax, rdx
        write_msr IA32_PERF_GLOBAL_OVF, GENERAL0
        status_to_rax
        mov     rdx, FIXED0
        expect  "two: one acknowledged, one left", rax, rdx
        write_msr IA32_PERF_GLOBAL_OVF, 0
        status_to_rax
        mov     rdx, FIXED0
        expect  "two: a 0 acknowledges nothing", rax, rdx
        write_msr IA32_PERF_GLOBAL_OVF, FIXED0
        status_to_rax
        expect  "two: none left", rax, 0
        ret

; Fixed counter 3 and later count what a version says; the first three, and every general counter.
every_counter:
        call    reset_pmu
        mov     qword [pmi_action], note_overflow
        mov     rbx, -PERIOD
        xor     edi, edi
        xor     r12d, r12d                      ; their bits of GLOBAL_CTRL
.general:
        bts     r12, rdi
        lea     ecx, [rdi + IA32_PMC0]
        mov     eax, ebx
        mov     edx, -1
        wrmsr
        lea     ecx, [rdi + IA32_PERFEVTSEL0]
        mov     eax, EVTSEL_OS | EVTSEL_INT | EVTSEL_EN | INSTRUCTIONS
        xor     edx, edx
        wrmsr
        inc     edi
        cmp     edi, [general_counters]
        jb      .general
        xor     edi, edi
        xor     r13d, r13d                      ; FIXED_CTR_CTRL
.fixed: lea     ecx, [rdi + 32]
        bts     r12, rcx
        shl     r13d, 4
        or      r13d, FIXED0_OS_PMI
        mov     rdx, rbx
        and     rdx, [fixed_mask]
        shr     rdx, 32
        mov     eax, ebx
        lea     ecx, [rdi + IA32_FIXED_CTR0]
        wrmsr
        inc     edi
        cmp     edi, 3
        jae     .loaded
        cmp     edi, [fixed_counters]
        jb      .fixed
.loaded:
        write_msr IA32_FIXED_CTR_CTRL, r13
        apic_put APIC_LVT_PMI, PMI_VECTOR
        sti
        write_msr IA32_PERF_GLOBAL_CTRL, r12
        mov     edi, 2                          ; the LVT masks itself after one
        call    wait_for_pmi
        cli
        write_msr IA32_PERF_GLOBAL_CTRL, 0
        status_to_rax
        expect  "all: every counter in the status", rax, r12
        expect  "all: one PMI, then the mask", qword [pmi_count], 1
        write_msr IA32_PERF_GLOBAL_OVF, r12
        status_to_rax
        expect  "all: acknowledged together", rax, 0
        mov     edi, [general_counters]         ; leave no event select behind
.clear: dec     edi
        lea     ecx, [rdi + IA32_PERFEVTSEL0]
        xor     eax, eax
        xor     edx, edx
        wrmsr
        test    edi, edi
        jnz     .clear
        ret
note_overflow:                                  ; acknowledges nothing
        ret

; ---- What the registers take and refuse ------------------------------------------------------------------------------------------

counter_registers:
        cmp     dword [pmu_version], 0
        je      .end
        call    reset_pmu
        write_msr IA32_PMC0, 0x12345678
        read_msr IA32_PMC0
        expect  "registers: PMC0 reads back", rax, 0x12345678
        mov     rax, 0x80000000                 ; bit 31 goes up, EDX is not looked at
        mov     rdx, 0x7F00000000
        or      rax, rdx
        mov     rbx, rax
        write_msr IA32_PMC0, rbx
        read_msr IA32_PMC0
        mov     rdx, -0x80000000
        and     rdx, [general_mask]
        expect  "registers: PMC0 extends bit 31", rax, rdx
        test    dword [capabilities], 1 << 13   ; FW_WRITE
        jz      .no_full_width
        mov     rbx, 0x5580000000
        write_msr IA32_A_PMC0, rbx
        read_msr IA32_PMC0
        expect  "registers: A_PMC0 writes the full width", rax, rbx
        mov     rax, [general_mask]
        inc     rax
        expect_wrmsr "registers: A_PMC0 above the width", IA32_A_PMC0, rax, GP
.no_full_width:
        cmp     dword [fixed_counters], 0
        je      .no_fixed
        mov     rbx, 0x123456789A
        write_msr IA32_FIXED_CTR0, rbx
        read_msr IA32_FIXED_CTR0
        expect  "registers: FIXED_CTR0 takes all its bits", rax, rbx
.no_fixed:
        mov     ebx, [general_counters]
        add     ebx, IA32_PMC0
        expect_rdmsr "registers: a general counter too many", ebx, GP
        mov     rax, 1 << 63
        mov     rbx, rax
        expect_wrmsr "registers: PERFEVTSEL0 bit 63", IA32_PERFEVTSEL0, rbx, GP
        expect_wrmsr "registers: GLOBAL_CTRL bit 63", IA32_PERF_GLOBAL_CTRL, rbx, GP
        expect_wrmsr "registers: FIXED_CTR_CTRL bit 63", IA32_FIXED_CTR_CTRL, rbx, GP
        mov     ecx, [general_counters]
        mov     eax, 1
        shl     rax, cl
        expect_wrmsr "registers: GLOBAL_CTRL, a counter too many", IA32_PERF_GLOBAL_CTRL, rax, GP
        mov     rax, [all_counters]
        expect_wrmsr "registers: GLOBAL_CTRL, every counter", IA32_PERF_GLOBAL_CTRL, rax, NO_FAULT
        read_msr IA32_PERF_GLOBAL_CTRL
        expect  "registers: GLOBAL_CTRL reads back", rax, qword [all_counters]
        write_msr IA32_PERF_GLOBAL_CTRL, 0
        mov     ecx, [fixed_counters]
        shl     ecx, 2
        mov     eax, 1
        shl     rax, cl
        expect_wrmsr "registers: FIXED_CTR_CTRL, a counter too many", IA32_FIXED_CTR_CTRL, rax, GP
        test    dword [cpuid_1_ecx], 1 << 15
        jz      .no_capabilities
        expect_wrmsr "registers: PERF_CAPABILITIES is read-only", IA32_PERF_CAPABILITIES, qword [capabilities], GP
.no_capabilities:
        expect_wrmsr "registers: GLOBAL_STATUS is read-only", IA32_PERF_GLOBAL_STATUS, 0, GP
        mov     rbx, 1 << 40
        expect_wrmsr "registers: DEBUGCTL bit 40", IA32_DEBUGCTL, rbx, GP
        expect_wrmsr "registers: freeze bits of DEBUGCTL", IA32_DEBUGCTL, FREEZE_LBRS | FREEZE_PERFMON, NO_FAULT
        read_msr IA32_DEBUGCTL
        expect  "registers: freeze bits read back", rax, FREEZE_LBRS | FREEZE_PERFMON
        write_msr IA32_DEBUGCTL, 0

        cmp     dword [pmu_version], 4
        jae     .version_4
        skip    "registers: STATUS_SET, INUSE", "before version 4"
        jmp     .end
.version_4:
        write_msr IA32_PERF_GLOBAL_SET, GENERAL0
        status_to_rax
        expect  "registers: STATUS_SET sets", rax, GENERAL0
        write_msr IA32_PERF_GLOBAL_OVF, GENERAL0
        status_to_rax
        expect  "registers: STATUS_RESET clears", rax, 0
        read_msr IA32_PERF_GLOBAL_INUSE
        and     rax, [all_counters]
        expect  "registers: INUSE, nothing is", rax, 0
        write_msr IA32_PERFEVTSEL0, INSTRUCTIONS
        read_msr IA32_PERF_GLOBAL_INUSE
        and     rax, [all_counters]
        expect  "registers: INUSE, an event select is enough", rax, GENERAL0
        cmp     dword [fixed_counters], 0
        je      .end
        write_msr IA32_PERFEVTSEL0, 0
        write_msr IA32_FIXED_CTR_CTRL, FIXED0_OS_PMI
        read_msr IA32_PERF_GLOBAL_INUSE
        mov     rdx, FIXED0
        mov     rbx, 1 << 63                    ; PMI_InUse: a counter asks for interrupts
        or      rdx, rbx
        or      rbx, [all_counters]
        and     rax, rbx
        expect  "registers: INUSE, fixed counter and PMI", rax, rdx
.end:   jmp     reset_pmu

; ---- Counting --------------------------------------------------------------------------------------------------------------------

; Runs a loop of ecx rounds, two instructions and one branch each, with GLOBAL_CTRL = rbx; PMC0 and FIXED_CTR0 to
; counted_general and counted_fixed. The rest of what is counted is the same whatever ecx.
count_loop:
        push    rcx
        write_msr IA32_PMC0, 0
        cmp     dword [fixed_counters], 0
        je      .no_fixed
        write_msr IA32_FIXED_CTR0, 0
.no_fixed:
        mov     rax, rbx
        mov     rdx, rax
        shr     rdx, 32
        pop     rdi
        mov     ecx, IA32_PERF_GLOBAL_CTRL
        wrmsr
.again: dec     edi
        jnz     .again
        xor     eax, eax
        xor     edx, edx
        wrmsr
        read_msr IA32_PMC0
        mov     [counted_general], rax
        cmp     dword [fixed_counters], 0
        je      .end
        read_msr IA32_FIXED_CTR0
        mov     [counted_fixed], rax
.end:   ret

; Of 1000 rounds more: PMC0 to rax, FIXED_CTR0 to rdx.
count_difference:
        mov     ecx, 1000
        call    count_loop
        push    qword [counted_general]
        push    qword [counted_fixed]
        mov     ecx, 2000
        call    count_loop
        mov     rdx, [counted_fixed]
        pop     rcx
        sub     rdx, rcx
        mov     rax, [counted_general]
        pop     rcx
        sub     rax, rcx
        ret

counting:
        cmp     dword [pmu_version], 0
        je      .end
        call    reset_pmu
        test    dword [missing_events], 1 << 1
        jnz     .no_instructions
        write_msr IA32_PERFEVTSEL0, EVTSEL_OS | EVTSEL_EN | INSTRUCTIONS
        mov     ebx, GENERAL0
        call    count_difference
        expect  "counting: instructions, exactly", rax, 2000
        write_msr IA32_PERFEVTSEL0, EVTSEL_USR | EVTSEL_EN | INSTRUCTIONS
        call    count_loop_1000
        expect  "counting: ring 3 alone sees none of ring 0", qword [counted_general], 0
        write_msr IA32_PERFEVTSEL0, EVTSEL_EN | INSTRUCTIONS
        call    count_loop_1000
        expect  "counting: no ring, no count", qword [counted_general], 0
        write_msr IA32_PERFEVTSEL0, 0xFF << 24 | EVTSEL_OS | EVTSEL_EN | INSTRUCTIONS
        call    count_loop_1000
        expect  "counting: CMASK 255, no cycle has so many", qword [counted_general], 0
        write_msr IA32_PERFEVTSEL0, EVTSEL_OS | INSTRUCTIONS
        call    count_loop_1000
        expect  "counting: EN off, no count", qword [counted_general], 0
        write_msr IA32_PERFEVTSEL0, EVTSEL_OS | EVTSEL_EN | INSTRUCTIONS
        mov     ebx, 2                          ; another counter's bit
        call    count_loop_1000
        expect  "counting: GLOBAL_CTRL off, no count", qword [counted_general], 0
        call    reset_pmu
        mov     r14d, EVTSEL_OS | EVTSEL_EN | INSTRUCTIONS
        call    count_ring_3_difference
        expect  "counting: ring 0 alone sees none of ring 3", rax, 0
        mov     r14d, EVTSEL_USR | EVTSEL_EN | INSTRUCTIONS
        call    count_ring_3_difference
        expect  "counting: ring 3 alone, exactly", rax, 2000
        mov     r14d, EVTSEL_USR | EVTSEL_OS | EVTSEL_EN | INSTRUCTIONS
        call    count_ring_3_difference
        expect  "counting: both rings, exactly", rax, 2000
.no_instructions:
        test    dword [missing_events], 1 << 5
        jnz     .no_branches
        write_msr IA32_PERFEVTSEL0, EVTSEL_OS | EVTSEL_EN | BRANCHES
        mov     ebx, GENERAL0
        call    count_difference
        expect  "counting: branches, exactly", rax, 1000
.no_branches:
        test    dword [missing_events], 1 << 0
        jnz     .no_cycles
        write_msr IA32_PERFEVTSEL0, EVTSEL_OS | EVTSEL_EN | 0x003C
        mov     ebx, GENERAL0
        call    count_difference
        expect_between "counting: cycles go by", rax, 1, 1000000
.no_cycles:
        cmp     dword [fixed_counters], 3
        jb      .end
        write_msr IA32_PERFEVTSEL0, EVTSEL_OS | EVTSEL_EN | INSTRUCTIONS
        write_msr IA32_FIXED_CTR_CTRL, 0x111
        write_msr IA32_FIXED_CTR0 + 1, 0
        write_msr IA32_FIXED_CTR0 + 2, 0
        mov     rbx, 7 << 32 | GENERAL0
        call    count_difference
        expect  "counting: fixed counter 0, exactly", rdx, 2000
        mov     rax, [counted_fixed]
        expect  "counting: both agree on instructions", rax, qword [counted_general]
        read_msr IA32_FIXED_CTR0 + 1
        mov     rbx, rax
        expect_between "counting: fixed counter 1, cycles", rbx, 1, 10000000
        read_msr IA32_FIXED_CTR0 + 2
        expect_between "counting: fixed counter 2, TSC cycles", rax, 1, 10000000
.end:   jmp     reset_pmu
; What PMC0, selected by r14, counts of 1000 rounds more in ring 3.
count_ring_3_difference:
        mov     r15d, 1000
        call    .visit
        push    rax
        mov     r15d, 2000
        call    .visit
        pop     rcx
        sub     rax, rcx
        ret
.visit: write_msr IA32_PERF_GLOBAL_CTRL, 0
        write_msr IA32_PMC0, 0
        write_msr IA32_PERFEVTSEL0, r14
        write_msr IA32_PERF_GLOBAL_CTRL, GENERAL0
        mov     edi, .loop
        call    visit_ring_3
        write_msr IA32_PERF_GLOBAL_CTRL, 0
        read_msr IA32_PMC0
        ret
.loop:  dec     r15d
        jnz     .loop
        int     LEAVE_VECTOR

count_loop_1000:
        mov     ecx, 1000
        jmp     count_loop

; ---- RDPMC -----------------------------------------------------------------------------------------------------------------------

rdpmc_from_ring_3:
        cmp     dword [pmu_version], 0
        je      .end
        call    reset_pmu
        write_msr IA32_PMC0, 0x2468ACE
        xor     ecx, ecx
        xor     eax, eax
        call    try_rdpmc
        expect  "rdpmc: ring 0 needs no CR4.PCE", rax, 0x2468ACE
        mov     ecx, [general_counters]
        call    try_rdpmc
        expect  "rdpmc: a counter too many", qword [fault_vector], GP
        mov     ecx, [fixed_counters]
        or      ecx, 1 << 30
        call    try_rdpmc
        expect  "rdpmc: a fixed counter too many", qword [fault_vector], GP
        mov     edi, rdpmc_0
        call    visit_ring_3
        expect  "rdpmc: ring 3 without CR4.PCE", qword [fault_vector], GP
        expect  "rdpmc: the fault is at RDPMC", qword [fault_rip], rdpmc_0.rdpmc
        mov     rax, cr4
        or      eax, 1 << 8
        mov     cr4, rax
        xor     eax, eax
        mov     edi, rdpmc_0
        call    visit_ring_3
        expect  "rdpmc: ring 3 with CR4.PCE", rax, 0x2468ACE
        mov     edi, rdpmc_too_many
        call    visit_ring_3
        expect  "rdpmc: ring 3, a counter too many", qword [fault_vector], GP
        cmp     dword [fixed_counters], 0
        je      .no_fixed
        mov     rbx, 0x1357902468
        write_msr IA32_FIXED_CTR0, rbx
        xor     eax, eax
        mov     edi, rdpmc_fixed
        call    visit_ring_3
        expect  "rdpmc: ring 3, fixed counter 0", rax, rbx
.no_fixed:
        mov     edi, rdmsr_in_ring_3
        call    visit_ring_3
        expect  "rdpmc: CR4.PCE is not for RDMSR", qword [fault_vector], GP

        test    dword [missing_events], 1 << 1
        jnz     .no_instructions
        write_msr IA32_PERFEVTSEL0, EVTSEL_USR | EVTSEL_EN | INSTRUCTIONS
        write_msr IA32_PERF_GLOBAL_CTRL, GENERAL0
        mov     edi, rdpmc_difference
        call    visit_ring_3
        expect  "rdpmc: ring 3 counts itself", rax, 2 * 100 + RDPMC_OVERHEAD
.no_instructions:
        mov     rax, cr4
        and     eax, ~(1 << 8)
        mov     cr4, rax
.end:   jmp     reset_pmu

rdpmc_0:
        xor     ecx, ecx
.rdpmc: rdpmc
        shl     rdx, 32
        or      rax, rdx
        int     LEAVE_VECTOR
rdpmc_too_many:
        mov     ecx, [general_counters]
        jmp     rdpmc_0.rdpmc
rdpmc_fixed:
        mov     ecx, 1 << 30
        jmp     rdpmc_0.rdpmc
rdmsr_in_ring_3:
        mov     ecx, IA32_PMC0
        rdmsr
        int     LEAVE_VECTOR
RDPMC_OVERHEAD  equ 4                           ; the first RDPMC itself, two MOV, LFENCE
rdpmc_difference:
        xor     ecx, ecx
        lfence
        rdpmc
        mov     esi, eax
        mov     edi, 100
.again: dec     edi
        jnz     .again
        lfence
        rdpmc
        sub     eax, esi
        int     LEAVE_VECTOR

; ---- FREEZE_PERFMON_ON_PMI ---------------------------------------------------------------------------------------------------------

; Notes how far the counter gets in the handler, and after CTR_FRZ is acknowledged.
watch_frozen_counter:
        read_msr IA32_PMC0
        push    rax
        call    count_a_little
        mov     [moved_frozen], rax
        read_msr IA32_PMC0
        pop     rcx
        sub     rax, rcx
        mov     [other_moved_frozen], rax
        mov     rax, [pmi_status]
        write_msr IA32_PERF_GLOBAL_OVF, rax
        call    count_a_little
        mov     [moved_acknowledged], rax
        write_msr IA32_PERF_GLOBAL_CTRL, FIXED0
        call    count_a_little
        mov     [moved_enabled], rax
        jmp     stop_counting
count_a_little:                                 ; how far FIXED_CTR0 gets in some thousand instructions
        push    rdi
        read_msr IA32_FIXED_CTR0
        mov     rdi, rax
        call    wait_a_little
        read_msr IA32_FIXED_CTR0
        sub     rax, rdi
        pop     rdi
        ret

freeze_on_pmi:
        cmp     dword [fixed_counters], 0
        jne     .can
        skip    "freeze", "no fixed counter"
        ret
.can:   call    reset_pmu
        mov     qword [pmi_action], watch_frozen_counter
        write_msr IA32_DEBUGCTL, FREEZE_PERFMON
        write_msr IA32_FIXED_CTR_CTRL, FIXED0_OS_PMI
        write_msr IA32_PERFEVTSEL0, EVTSEL_OS | EVTSEL_EN | INSTRUCTIONS
        sti
        start_counters PMI_VECTOR, FIXED0 | GENERAL0
        mov     edi, 1
        call    wait_for_pmi
        cli
        expect  "freeze: one PMI", qword [pmi_count], 1
        expect_between "freeze: stopped near the overflow", qword [pmi_fixed], 0, 1000
        expect  "freeze: the handler is not counted", qword [moved_frozen], 0
        expect  "freeze: nor by the other counter", qword [other_moved_frozen], 0
        expect_between "freeze: GLOBAL_CTRL starts it again", qword [moved_enabled], 1000, 10000
        cmp     dword [pmu_version], 4
        jae     .version_4
        mov     rax, [fixed0_bit]               ; PMC0 started at the same distance, and may have passed 0 as well
        and     rax, [pmi_status]
        expect  "freeze: status names the counter", rax, qword [fixed0_bit]
        expect  "freeze: GLOBAL_CTRL was cleared", qword [pmi_control], 0
        expect  "freeze: acknowledging does not start it", qword [moved_acknowledged], 0
        jmp     .end
.version_4:
        mov     rbx, FIXED0 | CTR_FRZ
        mov     rax, [pmi_status]
        and     rax, rbx
        expect  "freeze: status has the counter and CTR_FRZ", rax, rbx
        expect  "freeze: GLOBAL_CTRL keeps its bits", qword [pmi_control], qword [counters]
        expect_between "freeze: STATUS_RESET starts it again", qword [moved_acknowledged], 1000, 10000
.end:   expect  "freeze: DEBUGCTL keeps its bit", qword [pmi_debugctl], FREEZE_PERFMON
        call    reset_pmu
        write_msr IA32_FIXED_CTR_CTRL, FIXED0_OS_PMI    ; without the bit the handler is counted
        mov     qword [pmi_action], watch_frozen_counter
        sti
        start_counters PMI_VECTOR, FIXED0
        mov     edi, 1
        call    wait_for_pmi
        cli
        expect_between "no freeze: the handler is counted", qword [moved_frozen], 1000, 10000

        call    reset_pmu                       ; an overflow that asks for no PMI freezes nothing
        write_msr IA32_DEBUGCTL, FREEZE_PERFMON
        write_msr IA32_FIXED_CTR_CTRL, 1
        sti
        start_counters PMI_VECTOR, FIXED0
        mov     edi, 1
        call    wait_for_pmi
        cli
        call    count_a_little
        expect_between "freeze: not without a PMI", rax, 1000, 10000
        cmp     dword [pmu_version], 4
        jb      reset_pmu
        call    reset_pmu                       ; software can freeze as well
        write_msr IA32_FIXED_CTR_CTRL, 1
        write_msr IA32_PERF_GLOBAL_CTRL, FIXED0
        mov     rbx, CTR_FRZ
        write_msr IA32_PERF_GLOBAL_SET, rbx
        call    count_a_little
        expect  "freeze: STATUS_SET of CTR_FRZ stops", rax, 0
        write_msr IA32_PERF_GLOBAL_OVF, rbx
        call    count_a_little
        expect_between "freeze: STATUS_RESET of CTR_FRZ starts", rax, 1000, 10000
        jmp     reset_pmu

; ---- Last branch records -----------------------------------------------------------------------------------------------------------

KIND_JCC        equ 1 << 0                      ; in the order of MSR_LBR_SELECT, from its bit 2
KIND_REL_CALL   equ 1 << 1
KIND_IND_CALL   equ 1 << 2
KIND_RET        equ 1 << 3
KIND_IND_JMP    equ 1 << 4
KIND_REL_JMP    equ 1 << 5
KIND_FAR        equ 1 << 6
KIND_ALL        equ 0x7F
RING_0          equ 1 << 7                      ; which rings: neither bit means both
RING_3          equ 1 << 8

; One taken branch of every kind, and a table of them: from, to, kind.
%macro one_of_each 1                            ; name
%1:     jmp     near .a
        ud2
.a:     call    .f
.b:     clc
.jnc:   jnc     .c
        ud2
.c:     jc      .a                              ; not taken
        mov     eax, .g
.icall: call    rax
.d:     mov     eax, .e
.ijmp:  jmp     rax
        ud2
.f:     ret
        ud2
.g:     ret
        ud2
.e:     mov     eax, cs
        push    rax
        push    .end
.far:   o64 retf
        ud2
.end:
        [section .data]
        align   8
%1_branches:
        dq      %1, %1.a, KIND_REL_JMP
        dq      %1.a, %1.f, KIND_REL_CALL
        dq      %1.f, %1.b, KIND_RET
        dq      %1.jnc, %1.c, KIND_JCC
        dq      %1.icall, %1.g, KIND_IND_CALL
        dq      %1.g, %1.d, KIND_RET
        dq      %1.ijmp, %1.e, KIND_IND_JMP
        dq      %1.far, %1.end, KIND_FAR
%1_branches_end:
        __?SECT?__
%endmacro

; Sets the filter for kinds edi. The rest (LBR on) is lbr_switch and lbr_on.
set_filter:
        cmp     byte [arch_lbr], 0
        jne     .arch
        mov     dword [lbr_switch], IA32_DEBUGCTL
        mov     dword [lbr_on], 1
        cmp     byte [lbr_select], 0
        je      .end
        mov     eax, edi
        not     eax
        and     eax, KIND_ALL                   ; MSR_LBR_SELECT says what is left out
        shl     eax, 2
        mov     ecx, edi
        and     ecx, RING_3                     ; ring 3 alone: CPL_EQ_0, bit 0
        shr     ecx, 8
        or      eax, ecx
        mov     ecx, edi
        and     ecx, RING_0                     ; ring 0 alone: CPL_NEQ_0, bit 1
        shr     ecx, 6
        or      eax, ecx
        mov     ecx, MSR_LBR_SELECT
        xor     edx, edx
        wrmsr
.end:   ret
.arch:  mov     dword [lbr_switch], IA32_LBR_CTL
        mov     eax, 7                          ; LBREn, OS, USR
        test    edi, RING_3
        jz      .not_3
        and     eax, ~2
.not_3: test    edi, RING_0
        jz      .not_0
        and     eax, ~4
.not_0: xor     ecx, ecx
.kind:  bt      edi, ecx
        jnc     .next
        movzx   edx, byte [.bits + rcx]
        bts     eax, edx
.next:  inc     ecx
        cmp     ecx, 7
        jb      .kind
        mov     [lbr_on], eax
        ret
.bits:  db      16, 19, 20, 21, 18, 17, 22      ; of IA32_LBR_CTL: JCC, near relative and indirect call, return, jumps, other

clear_lbr:
        xor     edi, edi
.next:  mov     ecx, [lbr_from]
        add     ecx, edi
        xor     eax, eax
        xor     edx, edx
        wrmsr
        mov     ecx, [lbr_to]
        add     ecx, edi
        wrmsr
        inc     edi
        cmp     edi, [lbr_depth]
        jb      .next
        ret

; All records to lbr_records: from, to; the newest first.
read_lbr:
        xor     r8d, r8d
        cmp     byte [arch_lbr], 0
        jne     .start
        read_msr MSR_LASTBRANCH_TOS
        mov     r8d, eax
.start: xor     edi, edi
        mov     esi, lbr_records
.next:  mov     ecx, [lbr_from]
        call    .read
        mov     ecx, [lbr_to]
        call    .read
        inc     edi
        dec     r8d                             ; the next older: one lower, around the stack
        cmp     byte [arch_lbr], 0
        je      .around
        lea     r8d, [rdi]
.around:
        mov     eax, [lbr_depth]
        dec     eax
        and     r8d, eax
        cmp     edi, [lbr_depth]
        jb      .next
        ret
.read:  add     ecx, r8d
        rdmsr
        shl     rdx, 32
        or      rax, rdx
        shl     rax, 16                         ; bits 63 to 48 are flags in some formats
        sar     rax, 16
        mov     [rsi], rax
        add     rsi, 8
        ret

; Compares lbr_records with the branches of kinds edi in the table from rsi to rdx, and one record of nothing
; behind them if the stack has room. wrong: how many words differ; wrong_found, wrong_needed: the first.
compare_lbr:
        mov     qword [wrong], 0
        mov     ebx, lbr_records
        mov     ecx, [lbr_depth]
        shl     ecx, 4
        add     ecx, ebx                        ; end of what we have
.next:  cmp     rdx, rsi
        jbe     .rest
        sub     rdx, 24
        test    [rdx + 16], edi
        jz      .next
        cmp     rbx, rcx
        jae     .end
        mov     r8, [rdx]
        mov     r9, [rdx + 8]
        call    .record
        jmp     .next
.rest:  cmp     rbx, rcx
        jae     .end
        xor     r8d, r8d
        xor     r9d, r9d
        call    .record
.end:   ret
.record:
        mov     rax, [rbx]
        cmp     rax, r8
        je      .to
        call    wrong_word
.to:    mov     r8, r9
        mov     rax, [rbx + 8]
        cmp     rax, r8
        je      .done
        call    wrong_word
.done:  add     rbx, 16
        ret
; rax was found, r8 needed.
wrong_word:
        inc     qword [wrong]
        cmp     qword [wrong], 1
        jne     .end
        mov     [wrong_found], rax
        mov     [wrong_needed], r8
.end:   ret
%macro expect_nothing_wrong 1                   ; name
        call    wrong_to_stack
        text    %%name, %1
        push    qword [wrong_found]
        push    qword [wrong_needed]
        push    %%name
        call    report_equal
%endmacro
wrong_to_stack:                                 ; two equal values if nothing is wrong
        cmp     qword [wrong], 0
        jne     .end
        mov     qword [wrong_found], 0
        mov     qword [wrong_needed], 0
.end:   ret

; The branches between lbr_switch on and off.
run_branches:
        mov     ecx, [lbr_switch]
        mov     eax, [lbr_on]
        xor     edx, edx
        wrmsr
        one_of_each kernel_branches
        mov     ecx, [lbr_switch]
        xor     eax, eax
        xor     edx, edx
        wrmsr
        ret
run_user_branches:
        one_of_each user_branches
        int     LEAVE_VECTOR

%macro filter_test 2                            ; name, kinds
        mov     edi, %2
        call    record_branches
        expect_nothing_wrong %1
%endmacro
record_branches:
        push    rdi
        call    set_filter
        call    clear_lbr
        call    run_branches
        call    read_lbr
        pop     rdi
        mov     esi, kernel_branches_branches
        mov     edx, kernel_branches_branches_end
        jmp     compare_lbr

branch_records:
        cmp     dword [lbr_depth], 0
        jne     .can
        skip    "lbr", "no branch records"
        ret
.can:   call    reset_pmu
        mov     edi, KIND_ALL
        call    set_filter
        cmp     byte [arch_lbr], 0
        je      .no_depth
        write_msr IA32_LBR_DEPTH, qword [lbr_depth]
        read_msr IA32_LBR_DEPTH
        expect  "lbr: the depth is taken", rax, qword [lbr_depth]
        write_msr 0x1500, 0x1234
        write_msr IA32_LBR_DEPTH, qword [lbr_depth]
        read_msr 0x1500
        expect  "lbr: writing the depth clears", rax, 0
.no_depth:
        filter_test "lbr: every kind, newest first", KIND_ALL
        call    branch_types
        call    freeze_lbr_by_software
        cmp     byte [arch_lbr], 0
        jne     .filters
        cmp     byte [lbr_select], 0
        jne     .filters
        skip    "lbr: filters", "no LBR_SELECT"
        ret
.filters:
        filter_test "lbr: conditional jumps", KIND_JCC
        filter_test "lbr: relative calls", KIND_REL_CALL
        filter_test "lbr: indirect calls", KIND_IND_CALL
        filter_test "lbr: returns", KIND_RET
        filter_test "lbr: indirect jumps", KIND_IND_JMP
        filter_test "lbr: relative jumps", KIND_REL_JMP
        filter_test "lbr: far branches", KIND_FAR
        filter_test "lbr: calls and returns", KIND_REL_CALL | KIND_IND_CALL | KIND_RET
        filter_test "lbr: everything left out", 0
        filter_test "lbr: all in ring 0", KIND_ALL | RING_0
        mov     edi, KIND_FAR
        call    set_filter
        call    clear_lbr
        call    run_software_interrupt
        call    read_lbr
        mov     edi, KIND_FAR
        mov     esi, software_interrupt_branches
        mov     edx, software_interrupt_branches_end
        call    compare_lbr
        expect_nothing_wrong "lbr: INT and IRET are far"
        call    call_stack
        cmp     byte [arch_lbr], 0
        jne     .no_select
        mov     rbx, 1 << 63
        expect_wrmsr "lbr: LBR_SELECT bit 63", MSR_LBR_SELECT, rbx, GP
.no_select:
        mov     edi, KIND_ALL & ~KIND_FAR | RING_3
        call    set_filter
        call    clear_lbr
        call    branches_from_ring_3
        mov     edi, KIND_ALL & ~KIND_FAR
        mov     esi, user_branches_branches
        mov     edx, user_branches_branches_end
        call    compare_lbr
        expect_nothing_wrong "lbr: ring 3 alone"
        mov     edi, KIND_ALL & ~KIND_FAR | RING_0
        call    set_filter
        call    clear_lbr
        call    branches_from_ring_3
        mov     esi, lbr_records
        mov     ecx, [lbr_depth]
        xor     ebx, ebx
.user:  lodsq
        cmp     rax, user_branches
        jb      .other
        cmp     rax, user_branches.end
        jae     .other
        inc     ebx
.other: lodsq
        dec     ecx
        jnz     .user
        expect  "lbr: ring 0 alone, none of ring 3", rbx, 0
        jmp     reset_pmu

run_software_interrupt:
        mov     ecx, [lbr_switch]
        mov     eax, [lbr_on]
        xor     edx, edx
        wrmsr
.int:   int     LOWER_VECTOR
.after: mov     ecx, [lbr_switch]
        xor     eax, eax
        xor     edx, edx
        wrmsr
        ret
        [section .data]
        align   8
software_interrupt_branches:
        dq      run_software_interrupt.int, stubs + LOWER_VECTOR * STUB_BYTES, KIND_FAR
        dq      to_handler.iretq, run_software_interrupt.after, KIND_FAR
software_interrupt_branches_end:
        __?SECT?__

; The mode in which a return takes the record of its call away.
call_stack:
        mov     edi, KIND_REL_CALL | KIND_IND_CALL | KIND_RET
        call    set_filter
        cmp     byte [arch_lbr], 0
        jne     .arch
        read_msr MSR_LBR_SELECT
        or      eax, 1 << 9                     ; EN_CALLSTACK
        mov     ecx, MSR_LBR_SELECT
        call    try_wrmsr
        cmp     qword [fault_vector], NO_FAULT
        je      .run
.none:  skip    "lbr: call stack", "no such mode"
        ret
.arch:  test    dword [lbr_leaf_ebx], 1 << 2
        jz      .none
        or      dword [lbr_on], 1 << 3          ; CALL_STACK
.run:   call    clear_lbr
        mov     ecx, [lbr_switch]
        mov     eax, [lbr_on]
        xor     edx, edx
        wrmsr
.call:  call    .outer
        call    read_lbr
        mov     edi, KIND_REL_CALL
        mov     esi, .branches
        mov     edx, .branches_end
        call    compare_lbr
        expect_nothing_wrong "lbr: call stack, the calls not yet returned from"
        ret
.outer: call    .leaf
.inner_call:
        call    .inner
        ret
.inner: call    .leaf
        call    .leaf
        mov     ecx, [lbr_switch]
        xor     eax, eax
        xor     edx, edx
        wrmsr
        ret
.leaf:  nop
        ret
        [section .data]
        align   8
.branches:
        dq      .call, .outer, KIND_REL_CALL
        dq      .inner_call, .inner, KIND_REL_CALL
.branches_end:
        __?SECT?__

; Architectural records name the kind, if CPUID says so: bits 59 to 56 of the INFO register. Those of kernel_branches, newest first.
branch_types:
        cmp     byte [arch_lbr], 0
        je      .end
        test    dword [lbr_leaf_ecx], 1 << 2
        jz      .end
        mov     qword [wrong], 0
        xor     ebx, ebx
.next:  lea     ecx, [rbx + 0x1200]
        rdmsr
        shr     edx, 24
        and     edx, 0xF
        movzx   r8d, byte [.types + rbx]
        mov     eax, edx
        cmp     rax, r8
        je      .right
        call    wrong_word
.right: inc     ebx
        cmp     ebx, .types_end - .types
        jb      .next
        expect_nothing_wrong "lbr: the kind of each"
.end:   ret
.types: db      8, 1, 5, 3, 0, 5, 4, 2          ; other, indirect jump, return, indirect call, JCC, return, call, jump
.types_end:

; Version 4: LBR_FRZ stops recording, whoever set it.
freeze_lbr_by_software:
        cmp     dword [pmu_version], 4
        jb      .end
        test    byte [habits], LEGACY_LBR_FREEZE
        jnz     .end
        call    clear_lbr
        mov     rbx, LBR_FRZ
        write_msr IA32_PERF_GLOBAL_SET, rbx
        call    run_branches
        write_msr IA32_PERF_GLOBAL_OVF, rbx
        call    read_lbr
        expect  "lbr: STATUS_SET of LBR_FRZ stops", qword [lbr_records], 0
.end:   ret

branches_from_ring_3:
        mov     ecx, [lbr_switch]
        mov     eax, [lbr_on]
        xor     edx, edx
        wrmsr
        mov     edi, run_user_branches
        call    visit_ring_3
        mov     ecx, [lbr_switch]
        xor     eax, eax
        xor     edx, edx
        wrmsr
        jmp     read_lbr

; The handler reads the records. Frozen, they are those of the loop.
read_lbr_in_handler:
        call    read_lbr
        call    stop_counting                   ; version 4: acknowledging LBR_FRZ lets it record again
        xor     ecx, ecx
        jz      .thawed                         ; a conditional jump, taken
        ud2
.thawed:
        mov     ecx, [lbr_switch]
        xor     eax, eax
        xor     edx, edx
        wrmsr
        push    rbx
        mov     esi, lbr_records
        mov     edi, first_lbr_records
        mov     ecx, 64
        rep     movsq
        call    read_lbr
        mov     rax, [lbr_records]
        mov     [newest_thawed], rax
        mov     esi, first_lbr_records
        mov     edi, lbr_records
        mov     ecx, 64
        rep     movsq
        pop     rbx
        ret

branch_records_at_pmi:
        cmp     dword [lbr_depth], 0
        je      .none
        cmp     dword [fixed_counters], 0
        jne     .can
.none:  skip    "lbr at pmi", "no branch records or no fixed counter"
        ret
.can:   call    reset_pmu
        mov     qword [pmi_action], read_lbr_in_handler
        mov     edi, KIND_JCC
        call    set_filter
        call    clear_lbr
        write_msr IA32_DEBUGCTL, FREEZE_LBRS
        mov     eax, [lbr_on]
        cmp     byte [arch_lbr], 0
        jne     .on
        or      eax, FREEZE_LBRS
.on:    xor     edx, edx
        mov     ecx, [lbr_switch]
        wrmsr
        write_msr IA32_FIXED_CTR_CTRL, FIXED0_OS_PMI
        sti
        start_counters PMI_VECTOR, FIXED0
        mov     ecx, PATIENCE
.loop:  cmp     qword [pmi_count], 1
        jae     .out
        call    .callee
        jmp     .on_we_go
        ud2
.on_we_go:
        dec     ecx
.jnz:   jnz     .loop
        jmp     .out
.callee: ret
.out:   cli
        expect  "lbr at pmi: one PMI", qword [pmi_count], 1
        cmp     byte [arch_lbr], 0
        jne     .filtered
        cmp     byte [lbr_select], 0
        je      .unfiltered
.filtered:
        mov     qword [wrong], 0                ; every record is the loop's one conditional jump
        mov     ebx, lbr_records
        mov     r10d, [lbr_depth]
.record:
        mov     r8d, .jnz
        mov     r9d, .loop
        call    compare_lbr.record
        dec     r10d
        jnz     .record
        expect_nothing_wrong "lbr at pmi: the loop's jumps alone, all of them"
        jmp     .frozen
.unfiltered:
        mov     rax, [lbr_records]
        expect_between "lbr at pmi: the newest comes from the loop", rax, .loop, .callee
        mov     rax, [lbr_records + 8]
        expect_between "lbr at pmi: and stays in it", rax, .loop, .callee
.frozen:
        cmp     dword [pmu_version], 4
        jb      .legacy
        test    byte [habits], LEGACY_LBR_FREEZE
        jz      .version_4
.legacy:
        mov     rax, [pmi_debugctl]
        expect  "lbr at pmi: DEBUGCTL.LBR was cleared", rax, FREEZE_LBRS
        jmp     reset_pmu
.version_4:
        mov     rax, [pmi_status]
        shr     rax, 58
        and     eax, 1
        expect  "lbr at pmi: status has LBR_FRZ", rax, 1
        expect  "lbr at pmi: STATUS_RESET lets it record again", qword [newest_thawed], read_lbr_in_handler.thawed - 4
        cmp     byte [arch_lbr], 0
        jne     reset_pmu
        mov     rax, [pmi_debugctl]
        expect  "lbr at pmi: DEBUGCTL keeps its bits", rax, FREEZE_LBRS | 1
        jmp     reset_pmu

; ---- PEBS --------------------------------------------------------------------------------------------------------------------------

DS_PEBS_BASE    equ 0x20
DS_PEBS_INDEX   equ 0x28
DS_PEBS_MAX     equ 0x30
DS_PEBS_LIMIT   equ 0x38
DS_RESET_0      equ 0x40
DS_RESET_1      equ 0x48
DS_RESET_FIXED0 equ 0x80
ADAPTIVE        equ 1 << 34                     ; of IA32_PERFEVTSEL0
GROUP_MEMORY    equ 1 << 0                      ; of MSR_PEBS_DATA_CFG
GROUP_GPRS      equ 1 << 1
GROUP_XMMS      equ 1 << 2
GROUP_LBRS      equ 1 << 3

; One record, whatever its format, after parse_record. Registers in the order of the formats 0 to 3.
struc record
.registers      resq 18                         ; RFLAGS RIP RAX RBX RCX RDX RSI RDI RBP RSP R8..R15
.eventing       resq 1                          ; what the format does not have is 0
.counters       resq 1
.address        resq 1
.tsc            resq 1
.config         resq 1                          ; groups of an adaptive record
.size           resq 1
.xmm0           resq 2
.lbr0           resq 2
endstruc
R_RIP           equ 8
R_RBX           equ 3 * 8
R_RSP           equ 9 * 8

; Where IA32_DS_AREA's words point: RECORDS to the threshold, twice that to the end. Record size: pebs_size.
set_up_ds:
        mov     edi, ds_area
        xor     eax, eax
        mov     ecx, 0x200 / 8
        rep     stosq
        mov     edi, pebs_buffer
        mov     ecx, PEBS_BUFFER_BYTES / 8
        mov     rax, 0x5A5A5A5A5A5A5A5A
        rep     stosq
        mov     qword [ds_area + DS_PEBS_BASE], pebs_buffer
        mov     qword [ds_area + DS_PEBS_INDEX], pebs_buffer
        mov     eax, [pebs_size]
        imul    eax, eax, RECORDS
        lea     edx, [rax + pebs_buffer]
        mov     [ds_area + DS_PEBS_LIMIT], rdx
        add     edx, eax
        inc     edx                             ; the manual asks for a multiple of the size, plus 1
        mov     [ds_area + DS_PEBS_MAX], rdx
        write_msr IA32_DS_AREA, ds_area
        ret

; The record at rsi to [record]. Changes rax, rcx, rdx, rdi, rsi.
parse_record:
        mov     edi, parsed
        mov     ecx, record_size / 8
        xor     eax, eax
        push    rdi
        rep     stosq
        pop     rdi
        cmp     byte [adaptive], 0
        jne     .adaptive
        mov     eax, [pebs_size]
        mov     [parsed + record.size], rax
        push    rsi
        mov     ecx, 18
        rep     movsq
        pop     rsi
        cmp     dword [pebs_format], 1
        jb      .end
        mov     rax, [rsi + 0x98]
        mov     [parsed + record.address], rax
        cmp     dword [pebs_format], 2
        jb      .end
        mov     rax, [rsi + 0xB0]
        mov     [parsed + record.eventing], rax
        cmp     dword [pebs_format], 3
        jb      .end
        mov     rax, [rsi + 0x90]
        mov     [parsed + record.counters], rax
        mov     rax, [rsi + 0xC0]
        mov     [parsed + record.tsc], rax
.end:   ret
.adaptive:
        movzx   eax, word [rsi + 6]             ; record format: groups in bits 47 to 0, bytes above
        mov     [parsed + record.size], rax
        mov     rax, [rsi]
        shl     rax, 16
        shr     rax, 16
        mov     [parsed + record.config], rax
        mov     rax, [rsi + 8]
        mov     [parsed + record.eventing], rax
        mov     rax, [rsi + 0x10]
        mov     [parsed + record.counters], rax
        mov     rax, [rsi + 0x18]
        mov     [parsed + record.tsc], rax
        add     rsi, 0x20
        test    byte [parsed + record.config], GROUP_MEMORY
        jz      .no_memory
        mov     rax, [rsi]
        mov     [parsed + record.address], rax
        add     rsi, 0x20
.no_memory:
        test    byte [parsed + record.config], GROUP_GPRS
        jz      .no_gprs
        xor     ecx, ecx
.gpr:   movzx   edx, byte [.order + rcx]
        lodsq
        mov     [parsed + rdx * 8], rax
        inc     ecx
        cmp     ecx, 18
        jb      .gpr
.no_gprs:
        test    byte [parsed + record.config], GROUP_XMMS
        jz      .no_xmms
        mov     rax, [rsi]
        mov     [parsed + record.xmm0], rax
        mov     rax, [rsi + 8]
        mov     [parsed + record.xmm0 + 8], rax
        add     rsi, 16 * 16
.no_xmms:
        test    byte [parsed + record.config], GROUP_LBRS
        jz      .no_lbrs
        mov     rax, [rsi]
        mov     [parsed + record.lbr0], rax
        mov     rax, [rsi + 8]
        mov     [parsed + record.lbr0 + 8], rax
.no_lbrs:
        ret
; The group has RFLAGS RIP RAX RCX RDX RBX RSP RBP RSI RDI R8..R15.
.order: db      0, 1, 2, 4, 5, 3, 9, 8, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17

; Sizes of the formats 0 to 3; of adaptive records what the groups of rdi say.
find_pebs_size:
        cmp     byte [adaptive], 0
        jne     .adaptive
        mov     eax, [pebs_format]
        movzx   eax, byte [.sizes + rax]
        mov     [pebs_size], eax
        ret
.adaptive:
        mov     eax, 0x20
        test    edi, GROUP_MEMORY
        jz      .no_memory
        add     eax, 0x20
.no_memory:
        test    edi, GROUP_GPRS
        jz      .no_gprs
        add     eax, 18 * 8
.no_gprs:
        test    edi, GROUP_XMMS
        jz      .no_xmms
        add     eax, 16 * 16
.no_xmms:
        test    edi, GROUP_LBRS
        jz      .no_lbrs
        mov     ecx, edi
        shr     ecx, 24                         ; LBR entries, less one
        inc     ecx
        imul    ecx, ecx, 24
        add     eax, ecx
.no_lbrs:
        mov     [pebs_size], eax
        ret
.sizes: db      144, 176, 192, 200

%macro count_wrong 2                            ; found, needed: any operands of MOV
        mov     rax, %1
        mov     r8, %2
        cmp     rax, r8
        je      %%right
        call    wrong_word
%%right:
%endmacro

; Handler: drains the buffer. Every record is checked by [record_check]; rounds of the loop are noted.
drain:  write_msr IA32_PERF_GLOBAL_CTRL, 0
        save_all
        mov     rax, [ds_area + DS_PEBS_INDEX]
        sub     rax, pebs_buffer
        xor     edx, edx
        mov     ecx, [pebs_size]
        div     rcx
        mov     [drained], rax
        mov     [drained_rest], rdx
        mov     ebp, pebs_buffer
        xor     ebx, ebx
.next:  cmp     rbx, [drained]
        jae     .done
        cmp     rbx, 2 * RECORDS                ; there is no room for more
        jae     .done
        mov     rsi, rbp
        call    parse_record
        call    [record_check]
        mov     rax, [parsed + R_RBX]
        mov     [rounds + rbx * 8], rax
        mov     eax, [pebs_size]
        add     rbp, rax
        inc     ebx
        jmp     .next
.done:  mov     qword [ds_area + DS_PEBS_INDEX], pebs_buffer
        restore_all
        write_msr IA32_PERF_GLOBAL_OVF, qword [pmi_status]
        status_to_rax
        mov     [status_in_handler], rax
        mov     rax, [pmi_count]
        cmp     rax, [pmi_goal]
        jae     .end
        apic_put APIC_LVT_PMI, [lvt]
        write_msr IA32_PERF_GLOBAL_CTRL, qword [counters]
.end:   ret

; Calls, one a round, far enough from each other that the PMU is armed again in between.
%macro some_time 0
        lfence
        times 64 nop
        lfence
%endmacro
call_loop:
        mov     [loop_rsp], rsp
        xor     ebx, ebx
.round: mov     rax, PATTERN_RAX
        mov     rcx, PATTERN_RCX
        mov     rdx, PATTERN_RDX
        mov     rsi, PATTERN_RSI
        mov     rdi, PATTERN_RDI
        mov     rbp, PATTERN_RBP
        mov     r8, PATTERN_R8
        mov     r9, PATTERN_R9
        mov     r10, PATTERN_R10
        mov     r11, PATTERN_R11
        mov     r12, PATTERN_R12
        mov     r13, PATTERN_R13
        mov     r14, PATTERN_R14
        mov     r15, PATTERN_R15
        some_time
        inc     ebx
        cmp     esp, esp
        stc
.call:  call    .callee
        some_time
        mov     rax, [pmi_goal]
        cmp     [pmi_count], rax
        jae     .end
        cmp     ebx, [loop_rounds]
        jb      .round
.end:   ret
.callee: lfence
        ret
call_loop_end:
PATTERN_RAX     equ 0x1111A0A0A0A0A0A0
PATTERN_RCX     equ 0x2222B1B1B1B1B1B1
PATTERN_RDX     equ 0x3333C2C2C2C2C2C2
PATTERN_RSI     equ 0x4444D3D3D3D3D3D3
PATTERN_RDI     equ 0x5555E4E4E4E4E4E4
PATTERN_RBP     equ 0x6666F5F5F5F5F5F5
PATTERN_R8      equ 0x7777080808080808
PATTERN_R9      equ 0x0888090909090909
PATTERN_R10     equ 0x09990A0A0A0A0A0A
PATTERN_R11     equ 0x0AAA0B0B0B0B0B0B
PATTERN_R12     equ 0x0BBB0C0C0C0C0C0C
PATTERN_R13     equ 0x0CCC0D0D0D0D0D0D
PATTERN_R14     equ 0x0DDD0E0E0E0E0E0E
PATTERN_R15     equ 0x0EEE0F0F0F0F0F0F
FLAGS_OF_INTEREST equ 0xAD5                     ; CF PF AF ZF SF IF OF

; A record of call_loop's call.
check_call:
        cmp     byte [adaptive], 0
        je      .registers
        count_wrong [parsed + record.config], [data_cfg]
        mov     eax, [pebs_size]
        count_wrong [parsed + record.size], rax
        test    byte [data_cfg], GROUP_GPRS
        jz      .no_registers
.registers:
        mov     eax, FLAGS_OF_INTEREST
        and     rax, [parsed]
        count_wrong rax, 0x245                  ; IF ZF PF CF
        mov     rax, [loop_rsp]
        sub     rax, 8
        mov     rcx, rax
        count_wrong [parsed + R_RSP], rcx
        count_wrong [parsed + R_RIP], call_loop.callee
        xor     ecx, ecx
.pattern:
        movzx   edx, byte [.which + rcx]
        count_wrong [parsed + rdx * 8], [.patterns + rcx * 8]
        inc     ecx
        cmp     ecx, 14
        jb      .pattern
.no_registers:
        cmp     byte [adaptive], 0
        jne     .eventing
        cmp     dword [pebs_format], 2
        jb      .end
.eventing:
        count_wrong [parsed + record.eventing], call_loop.call
        cmp     dword [pebs_format], 3
        jb      .end
        count_wrong [parsed + record.counters], [counters]
        mov     rax, [parsed + record.tsc]
        cmp     rax, [last_tsc]
        ja      .later
        mov     r8, [last_tsc]
        inc     r8
        call    wrong_word
.later: mov     [last_tsc], rax
        test    byte [data_cfg], GROUP_XMMS
        jz      .no_xmms
        count_wrong [parsed + record.xmm0], [xmm_pattern]
        count_wrong [parsed + record.xmm0 + 8], [xmm_pattern + 8]
.no_xmms:
        test    byte [data_cfg], GROUP_LBRS
        jz      .end
        count_wrong [parsed + record.lbr0], call_loop.call
        count_wrong [parsed + record.lbr0 + 8], call_loop.callee
.end:   ret
.which: db      2, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17
        [section .data]
        align   8
.patterns: dq   PATTERN_RAX, PATTERN_RCX, PATTERN_RDX, PATTERN_RSI, PATTERN_RDI, PATTERN_RBP, PATTERN_R8, PATTERN_R9
        dq      PATTERN_R10, PATTERN_R11, PATTERN_R12, PATTERN_R13, PATTERN_R14, PATTERN_R15
xmm_pattern: dq 0x0123456789ABCDEF, 0xFEDCBA9876543210
        __?SECT?__

; A record of an instruction in call_loop, whichever: Core and Atom have no precise calls.
check_instruction:
        mov     rax, [parsed + R_RIP]
        cmp     rax, call_loop.round
        jb      .out
        cmp     rax, call_loop_end
        jb      .in
.out:   mov     r8d, call_loop
        call    wrong_word
.in:    xor     ecx, ecx
.pattern:
        movzx   edx, byte [check_call.which + 1 + rcx]  ; without RAX, which the loop uses
        count_wrong [parsed + rdx * 8], [check_call.patterns + 8 + rcx * 8]
        inc     ecx
        cmp     ecx, 13
        jb      .pattern
        ret

%macro start_pebs 1                             ; goal
        mov     qword [pmi_action], drain
        mov     qword [pmi_goal], %1
        call    start_pebs_now
%endmacro
; Event [pebs_event], period [pebs_period], PEBS_DATA_CFG [data_cfg].
start_pebs_now:
        mov     edi, [data_cfg]
        call    find_pebs_size
        call    set_up_ds
        mov     qword [wrong], 0
        mov     qword [last_tsc], 0
        mov     rax, [pebs_period]
        neg     rax
        mov     rbx, rax
        and     rax, [general_mask]
        mov     [ds_area + DS_RESET_0], rax
        write_msr IA32_PMC0, rbx
        cmp     byte [adaptive], 0
        je      .fixed_format
        mov     rax, [data_cfg]
        write_msr MSR_PEBS_DATA_CFG, rax
.fixed_format:
        write_msr IA32_PEBS_ENABLE, GENERAL0
        mov     eax, [pebs_event]
        or      eax, EVTSEL_OS | EVTSEL_EN
        cmp     byte [adaptive], 0
        je      .no_groups
        cmp     dword [data_cfg], 0
        je      .no_groups
        mov     rdx, ADAPTIVE
        or      rax, rdx
.no_groups:
        write_msr IA32_PERFEVTSEL0, rax
        mov     dword [lvt], PMI_VECTOR
        apic_put APIC_LVT_PMI, [lvt]
        mov     qword [counters], GENERAL0
        ret
%macro run_calls 0
        sti
        write_msr IA32_PERF_GLOBAL_CTRL, qword [counters]
        call    call_loop
        cli
        write_msr IA32_PERF_GLOBAL_CTRL, 0
%endmacro

pebs:   cmp     dword [pmu_version], 0
        je      .none
        cmp     byte [has_pebs], 0
        jne     .can
.none:  skip    "pebs", "there is none"
        ret
.can:   call    reset_pmu
        mov     rax, [capabilities]
        shr     eax, 14
        and     al, 1
        mov     [adaptive], al                  ; PEBS_BASELINE
        jnz     .known
        cmp     dword [pebs_format], 3
        jbe     .known
        skip    "pebs", "a record format we do not know"
        ret
.known: mov     rbx, 1 << 40
        expect_wrmsr "pebs: PEBS_ENABLE bit 40", IA32_PEBS_ENABLE, rbx, GP
        mov     rbx, 1 << 62
        expect_wrmsr "pebs: a DS area out of this world", IA32_DS_AREA, rbx, GP
        mov     qword [pebs_period], CALL_PERIOD
        mov     dword [loop_rounds], 20 * CALL_PERIOD
        mov     qword [data_cfg], 0
        cmp     byte [adaptive], 0
        je      .first
        mov     qword [data_cfg], GROUP_GPRS
.first: mov     eax, [near_calls]
        test    eax, eax
        jz      pebs_of_instructions
        mov     [pebs_event], eax
        mov     qword [record_check], check_call

        start_pebs 1
        run_calls
        expect  "pebs: one PMI", qword [pmi_count], 1
        mov     rax, [pmi_status]
        shr     rax, 62
        expect  "pebs: status has OvfBuffer", rax, 1
        expect  "pebs: OVF_CTRL cleared the status", qword [status_in_handler], 0
        expect  "pebs: records to the threshold", qword [drained], RECORDS
        expect  "pebs: whole ones", qword [drained_rest], 0
        expect_nothing_wrong "pebs: every field of every record"
        mov     eax, CALL_PERIOD                ; the CALL of call_loop was event 1, so round N is event N + 1
        test    byte [habits], PRECISE_0
        jz      .next_event
        dec     eax
.next_event:
        expect  "pebs: the first is where it belongs", qword [rounds], rax
        mov     rax, [rounds + 8]
        sub     rax, [rounds]
        mov     rbx, rax
        expect_between "pebs: the next a period later", rbx, CALL_PERIOD, CALL_PERIOD + 1
        mov     rax, [rounds + 16]
        sub     rax, [rounds + 8]
        expect  "pebs: and again as far", rax, rbx
        mov     rax, [rounds + 24]
        sub     rax, [rounds + 16]
        expect  "pebs: and again", rax, rbx

        call    reset_pmu
        start_pebs 2
        run_calls
        expect  "pebs: rearmed, two PMIs", qword [pmi_count], 2
        expect  "pebs: a second buffer of records", qword [drained], RECORDS
        expect_nothing_wrong "pebs: and every field of those"

        call    reset_pmu
        start_pebs 1
        apic_put APIC_LVT_PMI, LVT_NMI
        run_calls
        expect  "pebs: as NMI", qword [pmi_vector], NMI_VECTOR
        expect  "pebs: as NMI, records", qword [drained], RECORDS

        call    reset_pmu
        start_pebs 1
        write_msr IA32_DEBUGCTL, FREEZE_PERFMON
        run_calls
        expect  "pebs: freeze, records", qword [drained], RECORDS
        expect_nothing_wrong "pebs: freeze, every field"
        cmp     dword [pmu_version], 4
        jae     .version_4
        expect  "pebs: freeze, GLOBAL_CTRL was cleared", qword [pmi_control], 0
        jmp     .frozen
.version_4:
        mov     rax, [pmi_status]
        shr     rax, 59
        and     eax, 1
        expect  "pebs: freeze, status has CTR_FRZ", rax, 1
        expect  "pebs: freeze, GLOBAL_CTRL keeps its bit", qword [pmi_control], GENERAL0
.frozen:
        cmp     dword [near_calls], 0x02C4
        je      .second
        skip    "pebs: counter 1", "precise events have counter 0 alone"
        jmp     .ring_3
.second:
        call    reset_pmu
        start_pebs 1
        mov     rax, [ds_area + DS_RESET_0]
        mov     [ds_area + DS_RESET_1], rax
        xor     eax, eax
        mov     [ds_area + DS_RESET_0], rax
        write_msr IA32_PMC0 + 1, -CALL_PERIOD
        read_msr IA32_PERFEVTSEL0
        mov     rbx, rax
        write_msr IA32_PERFEVTSEL0, 0
        write_msr IA32_PERFEVTSEL0 + 1, rbx
        write_msr IA32_PEBS_ENABLE, GENERAL1
        mov     qword [counters], GENERAL1
        run_calls
        expect  "pebs: counter 1, records", qword [drained], RECORDS
        expect_nothing_wrong "pebs: counter 1, every field"
        write_msr IA32_PERFEVTSEL0 + 1, 0
.ring_3:
        call    reset_pmu
        mov     qword [record_check], check_user_call
        start_pebs 1
        mov     eax, [pebs_event]
        or      eax, EVTSEL_USR | EVTSEL_EN
        xor     edx, edx
        cmp     byte [adaptive], 0
        je      .user_event
        mov     edx, ADAPTIVE >> 32
.user_event:
        mov     ecx, IA32_PERFEVTSEL0
        wrmsr
        write_msr IA32_PERF_GLOBAL_CTRL, GENERAL0
        mov     edi, user_call_loop
        call    visit_ring_3
        write_msr IA32_PERF_GLOBAL_CTRL, 0
        expect  "pebs: ring 3, one PMI", qword [pmi_count], 1
        expect  "pebs: ring 3, records", qword [drained], RECORDS
        expect_nothing_wrong "pebs: ring 3, RIP, RSP, EventingIP"
        mov     qword [record_check], check_call

        call    reset_pmu                       ; no PMI: the threshold lies beyond the end
        start_pebs 1
        mov     qword [ds_area + DS_PEBS_LIMIT], pebs_buffer + PEBS_BUFFER_BYTES
        run_calls
        expect  "pebs: full, no PMI below the threshold", qword [pmi_count], 0
        mov     eax, [pebs_size]
        imul    eax, eax, 2 * RECORDS
        lea     ebx, [rax + pebs_buffer]
        expect  "pebs: full, the index stops at the maximum", qword [ds_area + DS_PEBS_INDEX], rbx
        mov     rax, 0x5A5A5A5A5A5A5A5A
        expect  "pebs: full, nothing written behind it", qword [rbx], rax

        cmp     byte [adaptive], 0
        je      pebs_loads
        call    reset_pmu
        mov     qword [data_cfg], 0
        start_pebs 1
        run_calls
        expect  "pebs: basic group, records", qword [drained], RECORDS
        expect_nothing_wrong "pebs: basic group, every field"
        call    reset_pmu
        mov     qword [data_cfg], GROUP_GPRS | GROUP_XMMS
        start_pebs 1
        movdqu  xmm0, [xmm_pattern]
        run_calls
        expect  "pebs: XMM group, records", qword [drained], RECORDS
        expect_nothing_wrong "pebs: XMM group, every field"
        cmp     dword [lbr_depth], 0
        je      pebs_loads
        call    reset_pmu
        mov     eax, [lbr_depth]
        dec     eax
        shl     eax, 24
        or      eax, GROUP_GPRS | GROUP_LBRS
        mov     [data_cfg], rax
        start_pebs 1
        mov     edi, KIND_ALL
        call    set_filter
        call    clear_lbr
        mov     ecx, [lbr_switch]
        mov     eax, [lbr_on]
        xor     edx, edx
        wrmsr
        run_calls
        mov     ecx, [lbr_switch]
        xor     eax, eax
        xor     edx, edx
        wrmsr
        expect  "pebs: LBR group, records", qword [drained], RECORDS
        expect_nothing_wrong "pebs: LBR group, every field"

pebs_loads:
        call    reset_pmu
        cmp     dword [pebs_format], 2
        jb      .too_old
        mov     qword [data_cfg], GROUP_MEMORY | GROUP_GPRS
        mov     dword [pebs_event], 0x81D0      ; MEM_INST_RETIRED.ALL_LOADS
        mov     qword [record_check], check_load
        mov     qword [pebs_period], CALL_PERIOD
        start_pebs 2
        sti
        mov     esi, load_data
        mov     ebx, CALL_PERIOD * RECORDS + CALL_PERIOD / 2
        write_msr IA32_PERF_GLOBAL_CTRL, GENERAL0
.again: some_time
.load:  mov     rax, [rsi + rbx * 8]
.after: dec     ebx
        jnz     .again
        cli
        write_msr IA32_PERF_GLOBAL_CTRL, 0
        expect  "pebs: loads, one PMI", qword [pmi_count], 1
        expect  "pebs: loads, records", qword [drained], RECORDS
        expect_nothing_wrong "pebs: loads, address and EventingIP"
        jmp     .fixed
.too_old:
        skip    "pebs: address of a load", "the format has none for plain loads"
.fixed: call    reset_pmu
        cmp     byte [adaptive], 0
        jne     .extended
        skip    "pebs: fixed counter 0", "no extended PEBS"
        ret
.extended:
        mov     qword [data_cfg], GROUP_GPRS
        mov     qword [record_check], check_fixed
        start_pebs 1
        write_msr IA32_PERFEVTSEL0, 0
        mov     rax, -1000
        and     rax, [fixed_mask]
        mov     [ds_area + DS_RESET_FIXED0], rax
        mov     rbx, rax
        write_msr IA32_FIXED_CTR0, rbx
        mov     rbx, FIXED0
        mov     [counters], rbx
        write_msr IA32_PEBS_ENABLE, rbx
        mov     rbx, 1 << 32 | 1                ; adaptive, ring 0
        write_msr IA32_FIXED_CTR_CTRL, rbx
        sti
        write_msr IA32_PERF_GLOBAL_CTRL, qword [counters]
        call    call_loop
        cli
        write_msr IA32_PERF_GLOBAL_CTRL, 0
        expect  "pebs: fixed counter 0, one PMI", qword [pmi_count], 1
        expect  "pebs: fixed counter 0, records", qword [drained], RECORDS
        expect_nothing_wrong "pebs: fixed counter 0, where and which"
        jmp     reset_pmu

; A record of user_call_loop's call: where, and on which stack.
check_user_call:
        count_wrong [parsed + R_RIP], user_call_loop.callee
        mov     rax, user_stack_top - 8
        mov     rcx, rax
        count_wrong [parsed + R_RSP], rcx
        cmp     byte [adaptive], 0
        jne     .eventing
        cmp     dword [pebs_format], 2
        jb      .end
.eventing:
        count_wrong [parsed + record.eventing], user_call_loop.call
.end:   ret
user_call_loop:
        xor     ebx, ebx
.round: some_time
        inc     ebx
.call:  call    .callee
        some_time
        cmp     qword [pmi_count], 1
        jae     .end
        cmp     ebx, 20 * CALL_PERIOD
        jb      .round
.end:   int     LEAVE_VECTOR
.callee: lfence
        ret

check_load:
        count_wrong [parsed + record.eventing], pebs_loads.load
        count_wrong [parsed + R_RIP], pebs_loads.after
        mov     rax, [parsed + R_RBX]
        lea     rcx, [load_data + rax * 8]
        count_wrong [parsed + record.address], rcx
        ret
check_fixed:
        count_wrong [parsed + record.counters], [counters]
        call    check_instruction
        mov     rax, [parsed + record.eventing]
        cmp     rax, call_loop
        jb      .out
        cmp     rax, call_loop_end
        jb      .in
.out:   mov     r8d, call_loop
        call    wrong_word
.in:    ret

; Core and Atom: instructions are precise, calls are not.
pebs_of_instructions:
        mov     dword [pebs_event], INSTRUCTIONS
        mov     qword [record_check], check_instruction
        mov     qword [pebs_period], 1000
        start_pebs 2
        run_calls
        expect  "pebs: instructions, two PMIs", qword [pmi_count], 2
        mov     rax, [pmi_status]
        shr     rax, 62
        expect  "pebs: status has OvfBuffer", rax, 1
        expect  "pebs: instructions, records to the threshold", qword [drained], RECORDS
        expect  "pebs: whole ones", qword [drained_rest], 0
        expect_nothing_wrong "pebs: RIP and registers of every record"
        jmp     reset_pmu

; ---- Data --------------------------------------------------------------------------------------------------------------------------

        section .data
        align   16
gdt:    dq      0, 0x00AF9A000000FFFF, 0x00CF92000000FFFF, 0x00CFF2000000FFFF, 0x00AFFA000000FFFF
.tss:   dq      0, 0
gdt_pointer:
        dw      gdt_pointer - gdt - 1
        dq      gdt
idt_pointer:
        dw      256 * 16 - 1
        dq      idt
prefix: dq      empty
empty:  db      0
xapic_prefix: db "xapic ", 0
x2apic_prefix: db "x2apic ", 0
colour: db      7
        align   8
fixed0_bit: dq  FIXED0                          ; PUSH takes no constant of 33 bits
        align   16
loaded_end:

        section .bss align=4096
pml4:           resb 4096
pdpt:           resb 4096
directories:    resb 4 * 4096
idt:            resb 4096
handlers:       resq 256
tss:            resb 2048               ; 104 bytes, and the rest of the page
ds_area:        resb 4096
PEBS_BUFFER_BYTES equ 16384
pebs_buffer:    resb PEBS_BUFFER_BYTES
                resb 4096
load_data:      resq 512
                resb 8192
stack_top:      resb 8192
entry_stack_top: resb 8192
nmi_stack_top:  resb 8192
user_stack_top:

boot_magic:     resq 1
fault_resume:   resq 1
fault_vector:   resq 1
fault_rip:      resq 1
visitor_rsp:    resq 1
visitor_rax:    resq 1
passed:         resq 1
failed:         resq 1
skipped:        resq 1
column:         resq 1
row:            resq 1                  ; its address
kept:           resq 1
kept_lines:     resb KEPT_LINES * COLUMNS
x2apic_seen:    resq 1
pebs_known:     resq 1
keep_line:      resb 8

cpuid_1_ecx:    resd 1
cpuid_1_edx:    resd 1
display_model:  resq 1
pmu_version:    resq 1
general_counters: resq 1
general_width:  resq 1
fixed_counters: resq 1
fixed_width:    resq 1
missing_events: resd 1
pebs_format:    resq 1
near_calls:     resd 1
lbr_from:       resd 1
lbr_to:         resd 1
lbr_leaf_ebx:   resd 1
lbr_leaf_ecx:   resd 1
lbr_switch:     resd 1
lbr_on:         resd 1
lvt:            resd 1
general_mask:   resq 1
fixed_mask:     resq 1
all_counters:   resq 1
status_bits:    resq 1
capabilities:   resq 1
lbr_depth:      resq 1
intel:          resb 1
has_pebs:       resb 1
arch_lbr:       resb 1
lbr_select:     resb 1
habits:         resb 1
adaptive:       resb 1
x2apic_mode:    resb 1
x2apic_locked:  resb 1
                resb 7
apic_base:      resq 1
max_leaf:       resq 1
apic_base_msr:  resq 1
ipi_count:      resq 1
ipi_in_service: resq 1
ipi_ppr:        resq 1
inner_vector:   resq 1
inner_count:    resq 1
inner_count_inside: resq 1

pmi_record:
pmi_count:      resq 1
pmi_depth:      resq 1
pmi_deepest:    resq 1
pmi_status:     resq 1
pmi_control:    resq 1
pmi_debugctl:   resq 1
pmi_general:    resq 1
pmi_fixed:      resq 1
pmi_vector:     resq 1
pmi_rip:        resq 1
pmi_cs:         resq 1
pmi_lvt:        resq 1
pmi_in_service: resq 1
status_in_handler: resq 1
count_in_handler: resq 1
moved_frozen:   resq 1
other_moved_frozen: resq 1
moved_acknowledged: resq 1
moved_enabled:  resq 1
drained:        resq 1
drained_rest:   resq 1
rounds:         resq 2 * RECORDS
pmi_record_end:
pmi_action:     resq 1
pmi_goal:       resq 1
counters:       resq 1
counted_general: resq 1
counted_fixed:  resq 1
wrong:          resq 1
wrong_found:    resq 1
wrong_needed:   resq 1
lbr_records:    resq 64
first_lbr_records: resq 64
newest_thawed:  resq 1
parsed:         resb record_size
record_check:   resq 1
pebs_size:      resq 1
pebs_period:    resq 1
pebs_event:     resq 1
data_cfg:       resq 1
last_tsc:       resq 1
loop_rsp:       resq 1
loop_rounds:    resq 1
bss_end:
