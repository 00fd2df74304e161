; RDPMC in ring 3 needs CR4.PCE; an index that does not exist faults in any ring. Bit 30 chooses the fixed counters.
; source: SDM vol. 2B, "RDPMC - Read Performance-Monitoring Counters".
;
; cpu    all
; screen ring 0: 00000011
; screen ring 0, fixed 1: 00000022
; screen ring 0, index 30: #GP
; screen ring 3 without CR4.PCE: #GP
; screen ring 3 with CR4.PCE: 00000011
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
        multiboot_header start
%include "print32.inc"
%include "flat32.inc"

start:  enter_flat32
        set_gate 13, protection, 0x8E00
        set_gate 0x40, service, 0xEE00
        wrmsr_const IA32_PMC0, 0, 0x11
        wrmsr_const IA32_FIXED_CTR0 + 1, 0, 0x22
        say "ring 0: "
        xor ecx, ecx
        call read
        say "ring 0, fixed 1: "
        mov ecx, 0x40000001
        call read
        say "ring 0, index 30: "
        mov ecx, 30
        call read
        mov eax, USER_DATA
        mov ds, ax
        mov es, ax
        push dword USER_DATA
        push dword STACK_TOP - 0x2000
        pushfd
        push dword USER_CODE
        push dword user
        iretd

user:   say "ring 3 without CR4.PCE: "
        xor ecx, ecx
        call read
        int 0x40
        say "ring 3 with CR4.PCE: "
        xor ecx, ecx
        call read
        int 0x40

; ECX: index. Prints the low half, or that it faulted.
read:   mov dword [resume], .fault
        rdpmc
        call print_hex
        call new_line
        ret
.fault: say "#GP"
        call new_line
        ret

resume: dd 0
calls:  dd 0

protection:
        add esp, 4                      ; the error code
        push eax
        mov eax, [resume]
        mov [esp + 4], eax
        pop eax
        iretd

service:
        inc dword [calls]
        cmp dword [calls], 2
        je .end
        mov eax, cr4
        or eax, 0x100                   ; PCE
        mov cr4, eax
        iretd
.end:   cli
        hlt
