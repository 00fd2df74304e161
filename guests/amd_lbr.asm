; AMD's last-branch stack: 16 pairs of registers, the newest first, enabled by DbgExtnCfg alone. FROM[63]: mispredicted; TO[63]: valid.
; LbrSelect leaves kinds of branches out. The part has no freezing: what its PMI handler branches is recorded too, if nobody stops it.
; source: APM vol. 2, "Last Branch Stack"; vol. 3, function 80000022H; which bits are flags, as Linux reads them.
;
; cpu    zen4
; screen CPUID 80000022: 00000003 00000106
; screen newest:      80000000 00009013 -> 0000901C
; screen before:      80000000 00009000 -> 0000901C
; screen nothing more: 00000000 00000000 -> 00000000
; screen of 20 turns the newest: 80000000 00009106 -> 00009104
; screen the 16th:               80000000 00009106 -> 00009104
; screen the 17th: #GP
; screen stopped:     80000000 00009106 -> 00009104
; screen FREEZE_LBRS_ON_PMI: #GP
; screen reserved bit of LbrSelect: #GP
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
        multiboot_header start
%include "print32.inc"
%include "flat32.inc"

%define LBR_SELECT      0xC000010E
%define DBG_EXTN_CFG    0xC000010F
%define LBR_V2_EN       0x40
%define LBR_FROM        0xC0010300
%define LBR_TO          0xC0010301

; show TEXT: prints it and EAX
%macro show 1
        say %1
        call print_hex
%endmacro

; refused MSR, VALUE: prints whether WRMSR faults
%macro refused 2
        mov dword [resume], %%fault
        wrmsr_const %1, 0, %2
        say "taken"
        jmp %%end
%%fault:
        say "#GP"
%%end:  call new_line
%endmacro

start:  enter_flat32
        set_gate 13, protection, 0x8E00
        mov eax, 0x80000022
        cpuid
        show "CPUID 80000022: "
        mov eax, ebx
        show " "
        call new_line

        wrmsr_const LBR_SELECT, 0, 0x1F6        ; CPL > 0, JCC, indirect call, return, indirect and relative jump, far
        wrmsr_const DBG_EXTN_CFG, 0, LBR_V2_EN
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

done:   wrmsr_const DBG_EXTN_CFG, 0, 0
        say "newest:      "
        xor esi, esi
        call entry
        say "before:      "
        mov esi, 1
        call entry
        say "nothing more: "
        mov esi, 2
        call entry

        wrmsr_const LBR_SELECT, 0, 0
        mov ebx, 20
        wrmsr_const DBG_EXTN_CFG, 0, LBR_V2_EN
        jmp turns
        place_at 0x9104
turns:  dec ebx
        nop
        jnz turns                       ; 9106H
        wrmsr_const DBG_EXTN_CFG, 0, 0
        jmp shown                       ; no longer recorded
shown:  say "of 20 turns the newest: "
        xor esi, esi
        call entry
        say "the 16th:               "
        mov esi, 15
        call entry
        say "the 17th: "
        mov dword [resume], .absent
        mov ecx, LBR_FROM + 32
        rdmsr
        say "read"
.absent:
        say "#GP"
        call new_line
        say "stopped:     "
        xor esi, esi
        call entry

        say "FREEZE_LBRS_ON_PMI: "
        refused IA32_DEBUGCTL, DEBUGCTL_FREEZE_LBRS
        say "reserved bit of LbrSelect: "
        refused LBR_SELECT, 0x200
        cli
        hlt

resume:    dd 0

protection:
        add esp, 4                      ; the error code
        push eax
        mov eax, [resume]
        mov [esp + 4], eax
        pop eax
        iretd

; ESI: which. "HIGH LOW -> LOW": the flags of TO, then both addresses.
entry:  lea ecx, [esi + esi + LBR_TO]
        rdmsr
        mov eax, edx
        call print_hex
        say " "
        lea ecx, [esi + esi + LBR_FROM]
        rdmsr
        call print_hex
        say " -> "
        lea ecx, [esi + esi + LBR_TO]
        rdmsr
        call print_hex
        call new_line
        ret
