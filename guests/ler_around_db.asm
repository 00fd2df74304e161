; The last-exception registers hold the branch that was taken before an exception; a #DB also stops the LBR stack: its own
; delivery is not in it.
; source: SDM vol. 3B, "Last Exception Records" and "LBR Stack": #DB clears DEBUGCTL.LBR.
; A trap after each instruction: the first comes behind the POPFD's successor, after the jump at 9009H.
;
; cpu    westmere nehalem ivybridge haswell skylake-client skylake-server icelake-server goldmont
; screen last branch before the #DB: 00009009 -> 00009010
; screen DEBUGCTL.LBR in the handler: 0
; screen newest LBR entry: 00009009 -> 00009010
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
        multiboot_header start
%include "print32.inc"
%include "flat32.inc"

start:  enter_flat32
        set_gate 1, debug, 0x8E00
        wrmsr_const IA32_DEBUGCTL, 0, DEBUGCTL_LBR
        jmp stepping

        place_at 0x9000
stepping:
        pushfd
        or dword [esp], 0x100
        popfd
        jmp short .target               ; 9009H
        times 5 nop
.target:
        nop                             ; 9010H
        cli
        hlt

debug:  mov ecx, IA32_DEBUGCTL
        rdmsr
        mov ebp, eax
        say "last branch before the #DB: "
        mov ecx, MSR_LER_FROM_LIP
        rdmsr
        call print_hex
        say " -> "
        mov ecx, MSR_LER_TO_LIP
        rdmsr
        call print_hex
        call new_line
        say "DEBUGCTL.LBR in the handler: "
        mov eax, ebp
        and eax, 1
        call print_decimal
        call new_line
        say "newest LBR entry: "
        mov ecx, MSR_LASTBRANCH_TOS
        rdmsr
        mov esi, eax
        lea ecx, [esi + MSR_LASTBRANCH_FROM]
        rdmsr
        call print_hex
        say " -> "
        lea ecx, [esi + MSR_LASTBRANCH_TO]
        rdmsr
        call print_hex
        cli
        hlt
