; Instruction-based sampling: every so many ops one is tagged, and its registers say what it did. Each instruction is one op here, and
; nothing tells of caches. Nothing is counted until software clears IbsOpVal. The interrupt comes by entry 0 of the APIC's extended ones,
; which IBS_CTL names.
; source: PPR of family 19H model 61H, MSRC001_1033 to MSRC001_103B; APM vol. 3, function 8000001BH.
; The WRMSR at 8FFEH is number 1, so the 159th NOP behind it is number 160. It begins anew at 2, the first of the random numbers. Later
; ones begin at 158: the WRMSR is number 159, and what follows it is tagged.
;
; cpu    zen4
; screen IBS 00000400, capabilities 00000BFF
; screen PMI 1 RIP 0000909E IbsOpCtl 00000002 000E000A
; screen PMI 1 RIP 0000909E IbsOpCtl 00000002 000E000A
; screen PMI 2 RIP 00009300 IbsOpCtl 00000004 000E000A
; screen load: IbsOpData3 00C60001 at 0000A000
; screen PMI 3 RIP 00009400 IbsOpCtl 00000008 000E000A
; screen jump: IbsOpData 00000028 00000000 to 00009480
; screen reserved bit: #GP
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
%include "apic.inc"
        multiboot_header start
%include "print32.inc"
%include "flat32.inc"

%define IBS_OP_CTL      0xC0011033
%define IBS_OP_RIP      0xC0011034
%define IBS_OP_DATA     0xC0011035
%define IBS_OP_DATA3    0xC0011037
%define IBS_DC_LIN_AD   0xC0011038
%define IBS_BR_TARGET   0xC001103B
%define EVERY_160_OPS   0x000A000A      ; IbsOpEn, IbsOpCntCtl, IbsOpMaxCnt 160

; show TEXT: prints it and EAX
%macro show 1
        say %1
        call print_hex
%endmacro

start:  enter_flat32
        set_gate 13, protection, 0x8E00
        set_gate PMI_VECTOR, pmi, 0x8E00
        apic_set APIC_SVR, 0x1FF
        apic_set APIC_EXTENDED_LVT, PMI_VECTOR
        sti

        mov eax, 0x80000001
        cpuid
        mov eax, ecx
        and eax, 1 << 10
        show "IBS "
        mov eax, 0x8000001B
        cpuid
        show ", capabilities "
        call new_line

        mov ecx, IBS_OP_CTL
        xor edx, edx
        mov eax, EVERY_160_OPS
        jmp first
        place_at 0x8FFE
first:  wrmsr
        times 200 nop
        call show_pmi
        times 200 nop
        call show_pmi

        mov ecx, IBS_OP_CTL
        mov edx, 158
        mov eax, EVERY_160_OPS
        jmp second
        place_at 0x92FE
second: wrmsr
        mov ebx, [value]
        nop
        call show_pmi
        mov ecx, IBS_OP_DATA3
        rdmsr
        show "load: IbsOpData3 "
        mov ecx, IBS_DC_LIN_AD
        rdmsr
        show " at "
        call new_line

        mov ecx, IBS_OP_CTL
        mov edx, 158
        mov eax, EVERY_160_OPS
        jmp third
        place_at 0x93FE
third:  wrmsr
        jmp target
        place_at 0x9480
target: nop
        call show_pmi
        mov ecx, IBS_OP_DATA
        rdmsr
        xchg eax, edx
        show "jump: IbsOpData "
        xchg eax, edx
        show " "
        mov ecx, IBS_BR_TARGET
        rdmsr
        show " to "
        call new_line

        say "reserved bit: "
        mov dword [resume], .reserved
        mov ecx, IBS_OP_CTL
        xor eax, eax
        mov edx, 1 << 31
        wrmsr
        say "taken"
        jmp .end
.reserved:
        say "#GP"
.end:   call new_line
        cli
        hlt

%include "resume32.inc"

; Prints "PMI N RIP LOW IbsOpCtl HIGH LOW"
show_pmi:
        say "PMI "
        mov eax, [pmi_count]
        call print_decimal
        mov ecx, IBS_OP_RIP
        rdmsr
        show " RIP "
        mov ecx, IBS_OP_CTL
        rdmsr
        xchg eax, edx
        show " IbsOpCtl "
        xchg eax, edx
        show " "
        call new_line
        ret

        place_at 0xA000
value:  dd 7
