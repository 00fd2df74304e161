; LBR_SELECT suppresses kinds of branches: with everything but near relative calls suppressed, two calls among jumps, conditional
; jumps and returns are all that the stack holds. TOS points at the newest.
; source: SDM vol. 3B, "MSR_LBR_SELECT" and "LBR Stack and IA32_LASTBRANCH_TOS".
;
; cpu    westmere nehalem ivybridge haswell skylake-client skylake-server icelake-server goldmont
; screen TOS 2
; screen newest:   00009013 -> 0000901C
; screen before:   00009000 -> 0000901C
; screen nothing more: 00000000 -> 00000000
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
        multiboot_header start
%include "print32.inc"
%include "flat32.inc"

start:  enter_flat32
        mov ecx, MSR_LBR_SELECT
        xor edx, edx
        mov eax, 0x1F6                  ; CPL > 0, JCC, indirect call, return, indirect and relative jump, far
        wrmsr
        wrmsr_const IA32_DEBUGCTL, 0, DEBUGCTL_LBR
        jmp stretch

        place_at 0x9000
stretch:
        call near routine               ; 9000H
        jmp short .next                 ; 9005H
        nop
.next:  xor eax, eax
        jz .taken
        nop
.taken: place_at 0x9013
        call near routine               ; 9013H
        jmp done
        place_at 0x901C
routine:
        ret

done:   wrmsr_const IA32_DEBUGCTL, 0, 0
        say "TOS "
        mov ecx, MSR_LASTBRANCH_TOS
        rdmsr
        call print_decimal
        call new_line
        say "newest:   "
        mov esi, 2
        call entry
        say "before:   "
        mov esi, 1
        call entry
        say "nothing more: "
        mov esi, 3
        call entry
        cli
        hlt

; ESI: which. The upper half of FROM has flags on some processors.
entry:  lea ecx, [esi + MSR_LASTBRANCH_FROM]
        rdmsr
        call print_hex
        say " -> "
        lea ecx, [esi + MSR_LASTBRANCH_TO]
        rdmsr
        call print_hex
        call new_line
        ret
