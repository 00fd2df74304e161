; Quirk fence-stores: MFENCE, SFENCE, CLFLUSH and CPUID each count as a retired store, as was measured on Westmere. One store
; among them makes five.
; source: Weaver, Terpstra, Moore: "Non-determinism and overcount on modern hardware performance counter implementations".
;
; cpu     nehalem westmere
; options --quirk fence-stores
; screen stores counted: 5
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
        multiboot_header start
%include "print32.inc"
%include "flat32.inc"

start:  enter_flat32
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 1
        mov esi, 0x400000
        wrmsr_const IA32_PERFEVTSEL0, 0, 0x43020B     ; MEM_INST_RETIRED.STORES
        mfence
        sfence
        clflush [esi]
        xor eax, eax
        cpuid
        mov [esi], eax
        xor ecx, ecx
        rdpmc
        mov ebp, eax
        wrmsr_const IA32_PERFEVTSEL0, 0, 0
        say "stores counted: "
        mov eax, ebp
        call print_decimal
        cli
        hlt
