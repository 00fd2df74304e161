; Sampled loads and stores behind paging: IbsDcLinAd is where the program went, IbsDcPhysAd where that led, IbsOpMemWidth how wide it
; was. The first 4 MiB are mapped to themselves, and a second time above them.
; source: PPR of family 19H model 61H, MSRC001_1037 to MSRC001_1039.
; An op counter that begins at 158 of 160 counts the WRMSR, and what follows it is tagged.
;
; cpu    zen4
; screen load of 4 bytes:  IbsOpData3 00C60001 0040A004 -> 0000A004
; screen load of 1 byte:   IbsOpData3 00460001 0000A001 -> 0000A001
; screen store of 2 bytes: IbsOpData3 00860002 0040A002 -> 0000A002
; screen push:             IbsOpData3 00C60002 0040BFFC -> 0000BFFC
; screen no access:        IbsOpData3 00000000 00000000 -> 00000000
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
%define IBS_OP_DATA3    0xC0011037
%define IBS_DC_LIN_AD   0xC0011038
%define IBS_DC_PHYS_AD  0xC0011039
%define EVERY_160_OPS   0x000A000A      ; IbsOpEn, IbsOpCntCtl, IbsOpMaxCnt 160
%define DIRECTORY       0x10000
%define HIGH            0x400000

; show TEXT: prints it and EAX
%macro show 1
        say %1
        call print_hex
%endmacro

; sampled TEXT, INSTRUCTION: samples it and prints what its registers say
%macro sampled 2+
        mov ecx, IBS_OP_CTL
        mov edx, 158
        mov eax, EVERY_160_OPS
        wrmsr
        %2
        nop
        mov ecx, IBS_OP_DATA3
        rdmsr
        show %1
        mov ecx, IBS_DC_LIN_AD
        rdmsr
        show " "
        mov ecx, IBS_DC_PHYS_AD
        rdmsr
        show " -> "
        call new_line
%endmacro

start:  enter_flat32
        mov edi, DIRECTORY
        mov ecx, 1024
        xor eax, eax
        rep stosd
        mov dword [DIRECTORY], 0x83             ; present, writable, 4 MiB
        mov dword [DIRECTORY + 4], 0x83
        mov eax, 0xFEC00083                     ; the APIC
        mov [DIRECTORY + 4 * (0xFEC00000 >> 22)], eax
        mov eax, cr4
        or eax, 0x10                            ; PSE
        mov cr4, eax
        mov eax, DIRECTORY
        mov cr3, eax
        mov eax, cr0
        or eax, 0x80000000
        mov cr0, eax

        sampled "load of 4 bytes:  IbsOpData3 ", mov ebx, [HIGH + 0xA004]
        sampled "load of 1 byte:   IbsOpData3 ", mov bl, [0xA001]
        sampled "store of 2 bytes: IbsOpData3 ", mov [HIGH + 0xA002], bx
        mov ebp, esp
        mov esp, HIGH + 0xC000
        mov ecx, IBS_OP_CTL
        mov edx, 158
        mov eax, EVERY_160_OPS
        wrmsr
        push ebx
        mov esp, ebp
        mov ecx, IBS_OP_DATA3
        rdmsr
        show "push:             IbsOpData3 "
        mov ecx, IBS_DC_LIN_AD
        rdmsr
        show " "
        mov ecx, IBS_DC_PHYS_AD
        rdmsr
        show " -> "
        call new_line
        sampled "no access:        IbsOpData3 ", nop
        cli
        hlt
