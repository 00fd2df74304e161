; AMD's counters: six of 48 bits at addresses of their own, the first four at older ones too; codes of twelve bits; one bit each in a
; global status and control. A PMI leaves its LVT entry as it is. What Intel has instead is not there.
; source: APM vol. 2, "Performance Monitoring Counters"; vol. 3, functions 8000001DH and 80000022H.
; The WRMSR at xxFEH is number 1, so the 99th NOP behind it is number 100, and the PMI comes before the next.
;
; cpu    zen4
; screen AuthenticAMD 00A60F12
; screen counters 00000106, PerfMonV2 00000003
; screen L2 ways and line 01C0003F, sets 000007FF
; screen PMI 1 at 00009063 status 00000001
; screen PMI 2 at 00009463 status 00000002
; screen LVT entry 00000033
; screen old address 00000007, RDPMC 00000007
; screen reserved bits FFD7FFFF 0000030F
; screen IA32_PERF_GLOBAL_CTRL: #GP
; screen IA32_DS_AREA: #GP
; screen IA32_MISC_ENABLE: #GP
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
%include "apic.inc"
        multiboot_header start
%include "print32.inc"
%include "flat32.inc"

%define PERF_CTL0               0xC0010200
%define PERF_CTR0               0xC0010201
%define PERF_LEGACY_CTR0        0xC0010004
%define PERF_GLOBAL_STATUS      0xC0000300
%define PERF_GLOBAL_CTL         0xC0000301
%define PERF_GLOBAL_STATUS_CLR  0xC0000302
%define COUNT_INSTRUCTIONS      0x5300C0        ; EN, INT, OS, USR

; show TEXT: prints it and EAX
%macro show 1
        say %1
        call print_hex
%endmacro

start:  enter_flat32
        set_gate 13, protection, 0x8E00
        set_gate PMI_VECTOR, pmi, 0x8E00
        apic_set APIC_SVR, 0x1FF
        apic_set APIC_LVT_PC, PMI_VECTOR
        sti

        xor eax, eax
        cpuid
        mov [vendor], ebx
        mov [vendor + 4], edx
        mov [vendor + 8], ecx
        mov esi, vendor
        call print_text
        mov eax, 1
        cpuid
        show " "
        call new_line
        mov eax, 0x80000022
        cpuid
        xchg eax, ebx
        show "counters "
        xchg eax, ebx
        show ", PerfMonV2 "
        call new_line
        mov eax, 0x8000001D
        mov ecx, 2
        cpuid
        mov eax, ebx
        show "L2 ways and line "
        mov eax, ecx
        show ", sets "
        call new_line

        wrmsr_const PERF_CTR0, 0xFFFF, -100
        mov ecx, PERF_CTL0
        xor edx, edx
        mov eax, COUNT_INSTRUCTIONS
        jmp first
        place_at 0x8FFE
first:  wrmsr
        times 200 nop
        call show_pmi
        wrmsr_const PERF_CTL0, 0, 0
        wrmsr_const PERF_CTR0 + 2, 0xFFFF, -100
        wrmsr_const PERF_GLOBAL_CTL, 0, 0x3F
        mov ecx, PERF_CTL0 + 2
        xor edx, edx
        mov eax, COUNT_INSTRUCTIONS
        jmp second
        place_at 0x93FE
second: wrmsr
        times 200 nop
        call show_pmi
        mov eax, [APIC_LVT_PC]
        show "LVT entry "
        call new_line

        wrmsr_const PERF_CTR0 + 6, 0, 7         ; PERF_CTR3
        mov ecx, PERF_LEGACY_CTR0 + 3
        rdmsr
        show "old address "
        mov ecx, 3
        rdpmc
        show ", RDPMC "
        call new_line
        wrmsr_const PERF_GLOBAL_CTL, 0, 0
        wrmsr_const PERF_CTL0 + 10, -1, -1
        rdmsr
        show "reserved bits "
        mov eax, edx
        show " "
        call new_line

        say "IA32_PERF_GLOBAL_CTRL: "
        mov ecx, IA32_PERF_GLOBAL_CTRL
        call read
        say "IA32_DS_AREA: "
        mov ecx, IA32_DS_AREA
        call read
        say "IA32_MISC_ENABLE: "
        mov ecx, 0x1A0
        call read
        cli
        hlt

; ECX: MSR. Prints its low half, or that it faulted.
read:   mov dword [resume], .fault
        rdmsr
        call print_hex
        call new_line
        ret
.fault: say "#GP"
        call new_line
        ret

resume:    dd 0
vendor:    times 13 db 0
pmi_count: dd 0
pmi_ip:    dd 0
status:    dd 0

protection:
        add esp, 4                      ; the error code
        push eax
        mov eax, [resume]
        mov [esp + 4], eax
        pop eax
        iretd

pmi:    pushad
        mov ecx, PERF_GLOBAL_CTL
        xor edx, edx
        xor eax, eax
        wrmsr
        mov ecx, PERF_GLOBAL_STATUS
        rdmsr
        mov [status], eax
        mov ecx, PERF_GLOBAL_STATUS_CLR
        wrmsr
        inc dword [pmi_count]
        mov eax, [esp + 32]
        mov [pmi_ip], eax
        apic_set APIC_EOI, 0
        popad
        iretd

; Prints "PMI N at ADDRESS status LOW"
show_pmi:
        say "PMI "
        mov eax, [pmi_count]
        call print_decimal
        mov eax, [pmi_ip]
        show " at "
        mov eax, [status]
        show " status "
        call new_line
        ret
