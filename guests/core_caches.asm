; The core of the CPU model beside the interpreter (--detail complete): each load is in exactly one place, lines that were
; never touched are not in L1, a line that was is, cycles are no less than the width of the core allows, and the branch of
; a loop is mispredicted a few times.
; source: SDM vol. 3B, performance-monitoring events, MEM_INST_RETIRED, MEM_LOAD_RETIRED, BR_MISP_RETIRED.
;
; cpu     skylake-server
; options --detail complete
; screen lines never touched: holds
; screen one line: holds
; screen a loop: holds
; screen 11 checks, 0 failed
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
        multiboot_header start
%include "long64.inc"

%define N 4096
%define BUFFER 0x1000000
%define STRIDE 4096 + 64
%define ALL_LOADS  0x4381D0
%define L1_HITS    0x4301D1
%define L1_MISSES  0x4308D1
%define FB_HITS    0x4340D1
%define MISPREDICTS 0x4300C5
%define EVERYTHING 3, 0xF

start:  enter_long
        jmp main
%include "print64.inc"
%include "check64.inc"

; read MSR: into RAX
%macro read 1
        mov ecx, %1
        rdmsr
        shl rdx, 32
        or rax, rdx
%endmacro

; counters at 0, on
%macro begin 0
%assign counter 0
%rep 4
        wrmsr_const IA32_PMC0 + counter, 0, 0
%assign counter counter + 1
%endrep
        wrmsr_const IA32_FIXED_CTR0, 0, 0
        wrmsr_const IA32_FIXED_CTR0 + 1, 0, 0
        mov rsi, BUFFER
        mov edi, N
        wrmsr_const IA32_PERF_GLOBAL_CTRL, EVERYTHING
%endmacro
%macro finish 0
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 0
        read IA32_PMC0
        check_is "all loads", N
        read IA32_PMC0 + 1
        mov rbx, rax
        read IA32_PMC0 + 2
        mov rbp, rax
        read IA32_PMC0 + 3
        add rax, rbx
        add rax, rbp
        check_is "loads by where they were found", N
        read IA32_FIXED_CTR0
        mov rdi, rax
        shr rdi, 2
        read IA32_FIXED_CTR0 + 1
        cmp rax, rdi
        check ae, "cycles for four instructions each"
%endmacro

main:   wrmsr_const IA32_PERFEVTSEL0, 0, ALL_LOADS
        wrmsr_const IA32_PERFEVTSEL0 + 1, 0, L1_HITS
        wrmsr_const IA32_PERFEVTSEL0 + 2, 0, L1_MISSES
        wrmsr_const IA32_PERFEVTSEL0 + 3, 0, FB_HITS
        wrmsr_const IA32_FIXED_CTR_CTRL, 0, 0x33

        begin
.new:   mov rax, [rsi]
        add rsi, STRIDE
        dec edi
        jnz .new
        finish
        mov rax, rbp
        cmp rax, N / 2
        check a, "L1 misses of lines never touched"
        topic "lines never touched"

        begin
.same:  mov rax, [rsi]
        dec edi
        jnz .same
        finish
        mov rax, rbp
        cmp rax, 1
        check be, "L1 misses of one line"
        mov rax, rbx
        cmp rax, N / 2
        check a, "L1 hits of one line"
        topic "one line"

        wrmsr_const IA32_PERFEVTSEL0, 0, MISPREDICTS
        begin
.loop:  dec edi
        jnz .loop
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 0
        read IA32_PMC0
        cmp rax, 64
        check b, "mispredicted branches of a loop"
        read IA32_FIXED_CTR0 + 1
        cmp rax, N / 2
        check a, "cycles of a loop"
        topic "a loop"
        conclude
