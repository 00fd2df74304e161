; The last-exception registers are a copy of the newest last-branch record: with recording off they show the branch that was recorded last,
; not the one that was taken last before the exception.
; source: SDM vol. 3B, "Last Branch, Interrupt, and Exception Recording (P6 Family Processors)": on an exception the contents of the
; LastBranch registers are copied. Whether later processors keep an own record while LBR is clear, the manual does not say.
;
; cpu    westmere nehalem ivybridge haswell skylake-client skylake-server icelake-server goldmont
; screen recorded: 00009000 -> 00009002
; screen taken before the exception, unrecorded: 00009006
; screen last-exception record: 00009000 -> 00009002
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
        multiboot_header start
%include "print32.inc"
%include "flat32.inc"

start:  enter_flat32
        set_gate 6, invalid, 0x8E00
        mov ecx, IA32_DEBUGCTL
        xor edx, edx
        mov eax, DEBUGCTL_LBR
        jmp on
        place_at 0x8FFE
on:     wrmsr
        jmp short $+2                   ; 9000H, recorded
        xor eax, eax
        wrmsr
        jmp short $+2                   ; 9006H, not recorded
        ud2

invalid:
        say "recorded: "
        mov ecx, MSR_LASTBRANCH_TOS
        rdmsr
        mov esi, eax
        lea ecx, [esi + MSR_LASTBRANCH_FROM]
        lea edx, [esi + MSR_LASTBRANCH_TO]
        call pair
        say "taken before the exception, unrecorded: "
        mov eax, 0x9006
        call print_hex
        call new_line
        say "last-exception record: "
        mov ecx, MSR_LER_FROM_LIP
        mov edx, MSR_LER_TO_LIP
        call pair
        cli
        hlt

; ECX, EDX: the two registers
pair:   mov edi, edx
        rdmsr
        call print_hex
        say " -> "
        mov ecx, edi
        rdmsr
        call print_hex
        call new_line
        ret
