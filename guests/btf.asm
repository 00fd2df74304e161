; With BTF in IA32_DEBUGCTL the trap flag traps on taken branches, not on every instruction; the #DB clears BTF.
; source: SDM vol. 3B, "Single-Stepping on Branches".
;
; cpu    all
; screen #DB at 00009014 with BTF: 1 trap
; screen BTF after the trap: 0
; screen the next trap came at 00009015
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
        wrmsr_const IA32_DEBUGCTL, 0, DEBUGCTL_BTF
        jmp stepping

        place_at 0x9000
stepping:
        pushfd
        or dword [esp], 0x100
        popfd                           ; TF from the next instruction on
        times 7 nop
        jmp short .target               ; 9010H: the first taken branch
        nop
        nop
.target:
        nop                             ; 9014H
        nop
        nop
        nop
        cli
        hlt

traps:  dd 0
        align 4
debug:  inc dword [traps]
        cmp dword [traps], 2
        je .second
        mov ebp, [esp]
        mov ecx, IA32_DEBUGCTL
        rdmsr
        mov ebx, eax
        say "#DB at "
        mov eax, ebp
        call print_hex
        say " with BTF: "
        mov eax, [traps]
        call print_decimal
        say " trap"
        call new_line
        say "BTF after the trap: "
        mov eax, ebx
        shr eax, 1
        and eax, 1
        call print_decimal
        call new_line
        iretd                           ; TF is still in the frame: each instruction now
.second:
        say "the next trap came at "
        mov eax, [esp]
        call print_hex
        cli
        hlt
