; Sampling of instruction fetches: every so many fetches one is tagged, and its registers say where it was. Each instruction is fetched
; by itself here, and nothing tells of caches or page tables. Nothing is counted until software clears IbsFetchVal.
; source: PPR of family 19H model 61H, MSRC001_1030 to MSRC001_1032 and MSRC001_103C; APM vol. 3, function 8000001BH.
; The WRMSR at 8FFEH is number 1, so the 159th NOP behind it is number 160.
;
; cpu    zen4
; screen capabilities 00000BFF
; screen PMI 1 IbsFetchCtl 00070000 000A000A at 0000909E
; screen PMI 1 IbsFetchCtl 00070000 000A000A at 0000909E
; screen PMI 2 IbsFetchCtl 00070000 000A000A at 0000929E
; screen counted: 00010000 0006000A
; screen PMI 3 after 145 to 160 fetches, IbsRandEn: 02070000 000A000A
; screen IbsFetchPhysAd 00000000 IbsFetchCtlExtd 00000000
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

%define IBS_FETCH_CTL      0xC0011030
%define IBS_FETCH_LIN_AD   0xC0011031
%define IBS_FETCH_PHYS_AD  0xC0011032
%define IBS_FETCH_CTL_EXTD 0xC001103C
%define EVERY_160          10              ; IbsFetchMaxCnt 160
%define ENABLE             (1 << 16)       ; IbsFetchEn, in the upper half
%define RANDOM             (1 << 25)       ; IbsRandEn, likewise

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

        mov eax, 0x8000001B
        cpuid
        show "capabilities "
        call new_line

        mov ecx, IBS_FETCH_CTL
        mov edx, ENABLE
        mov eax, EVERY_160
        jmp first
        place_at 0x8FFE
first:  wrmsr
        times 200 nop
        call show_pmi
        times 200 nop
        call show_pmi

        mov ecx, IBS_FETCH_CTL
        mov edx, ENABLE
        mov eax, EVERY_160
        jmp second
        place_at 0x91FE
second: wrmsr
        times 200 nop
        call show_pmi

        mov ecx, IBS_FETCH_CTL
        mov edx, ENABLE
        mov eax, EVERY_160
        wrmsr
        times 100 nop                   ; and the RDMSR is not counted when it reads
        rdmsr
        mov ebx, eax
        mov esi, edx
        xor eax, eax
        xor edx, edx
        wrmsr
        mov eax, esi
        show "counted: "
        mov eax, ebx
        show " "
        call new_line

        mov ecx, IBS_FETCH_CTL
        mov edx, ENABLE | RANDOM
        mov eax, EVERY_160
        jmp third
        place_at 0x93FE
third:  wrmsr
        times 200 nop
        say "PMI "
        mov eax, [pmi_count]
        call print_decimal
        mov ecx, IBS_FETCH_LIN_AD
        rdmsr
        sub eax, 0x9400 + 143           ; the address of number 145
        cmp eax, 15
        ja .wrong
        say " after 145 to 160 fetches, IbsRandEn: "
.wrong: mov ecx, IBS_FETCH_CTL
        rdmsr
        xchg eax, edx
        call print_hex
        xchg eax, edx
        show " "
        call new_line
        mov ecx, IBS_FETCH_PHYS_AD
        rdmsr
        show "IbsFetchPhysAd "
        mov ecx, IBS_FETCH_CTL_EXTD
        rdmsr
        show " IbsFetchCtlExtd "
        call new_line

        say "reserved bit: "
        mov dword [resume], .reserved
        mov ecx, IBS_FETCH_CTL
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

; Prints "PMI N IbsFetchCtl HIGH LOW at LOW"
show_pmi:
        say "PMI "
        mov eax, [pmi_count]
        call print_decimal
        mov ecx, IBS_FETCH_CTL
        rdmsr
        xchg eax, edx
        show " IbsFetchCtl "
        xchg eax, edx
        show " "
        mov ecx, IBS_FETCH_LIN_AD
        rdmsr
        show " at "
        call new_line
        ret
