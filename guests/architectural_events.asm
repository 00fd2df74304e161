; Each architectural event that CPUID offers counts within bounds, on each general counter, over a walk of memory
; larger than the caches: one load of a new line and ten instructions a round. Then a loop that touches no memory:
; no reference, no miss. The bounds are the ones that unit tests of hypervisors use; bus cycles run at a 24th of the
; core's in this PC.
; source: SDM vol. 3B, table "UMask and Event Select Encodings for Pre-Defined Architectural Performance Events".
;
; cpu    westmere haswell skylake-server sapphire-rapids goldmont core2
; screen core cycles                within bounds
; screen instructions               within bounds
; screen [haswell skylake-server sapphire-rapids goldmont core2] bus cycles                 within bounds
; screen LLC references             within bounds
; screen LLC misses                 within bounds
; screen branches                   within bounds
; screen branch misses              within bounds
; screen without memory: references 0, misses 0
; screen an LLC miss counter that overflows interrupts 1 time
        bits 32
%define ORIGIN 0x8000
        org ORIGIN
%include "multiboot.inc"
%include "msr.inc"
%include "apic.inc"
        multiboot_header start
%include "print32.inc"
%include "flat32.inc"

%define N 50000                         ; 3.2 MB, more than the last level holds
%define BUFFER 0x1000000

start:  enter_flat32
        mov eax, 10
        cpuid
        mov [version], al
        mov [counters], ah
        mov [missing], ebx
        shr eax, 24
        mov [events], eax
        xor ebp, ebp                    ; event
event:  cmp ebp, [events]
        jae memory_free
        cmp ebp, 7
        jae memory_free
        bt [missing], ebp
        jc .skip
        mov dword [counter], 0
        mov dword [bad], 0
.counter:
        call measure
        mov ebx, ebp
        shl ebx, 4
        cmp eax, [table + ebx + 8]
        jb .outside
        cmp eax, [table + ebx + 12]
        jbe .inside
.outside:
        mov [bad], eax
        inc dword [bad]
.inside:
        inc dword [counter]
        movzx eax, byte [counters]
        cmp [counter], eax
        jb .counter
        mov ebx, ebp
        shl ebx, 4
        mov esi, [table + ebx]
        call print_text
        mov dword [print_column], 27
        mov eax, [bad]
        test eax, eax
        jz .good
        dec eax
        call print_decimal
        say " is outside its bounds"
        call new_line
        jmp .skip
.good:  say "within bounds"
        call new_line
.skip:  inc ebp
        jmp event

memory_free:
        say "without memory: references "
        mov eax, 0x434F2E
        call count_nothing
        say ", misses "
        mov eax, 0x43412E
        call count_nothing
        call new_line

        ; a counter of misses that overflows at the hundredth
        set_gate PMI_VECTOR, pmi, 0x8E00
        or dword [APIC_SVR], 0x100
        apic_set APIC_LVT_PC, PMI_VECTOR
        mov al, 0xFF
        out 0x21, al
        out 0xA1, al
        mov dword [counter], 0
        mov ecx, IA32_PMC0
        mov eax, -100
        cdq
        wrmsr
        mov ecx, IA32_PERFEVTSEL0
        xor edx, edx
        mov eax, 0x53412E
        wrmsr
        call enable
        sti
        call walk
        cli
        call disable
        say "an LLC miss counter that overflows interrupts "
        mov eax, [interrupts]
        call print_decimal
        say " time"
        cli
        hlt

pmi:    inc dword [interrupts]
        apic_set APIC_EOI, 0
        iret

; EBP: event, [counter]: which counter. EAX: what it counted
measure:
        mov ebx, ebp
        shl ebx, 4
        mov ecx, IA32_PMC0
        add ecx, [counter]
        xor eax, eax
        xor edx, edx
        wrmsr
        mov ecx, IA32_PERFEVTSEL0
        add ecx, [counter]
        mov eax, [table + ebx + 4]
        wrmsr
        call enable
        call walk
        call disable
        mov ecx, [counter]
        rdpmc
        push eax
        mov ecx, IA32_PERFEVTSEL0
        add ecx, [counter]
        xor eax, eax
        xor edx, edx
        wrmsr
        pop eax
        ret

enable: cmp byte [version], 2
        jb .done
        mov ecx, IA32_PERF_GLOBAL_CTRL
        movzx ecx, byte [counters]
        mov eax, 1
        shl eax, cl
        dec eax
        xor edx, edx
        mov ecx, IA32_PERF_GLOBAL_CTRL
        wrmsr
.done:  ret
disable:
        cmp byte [version], 2
        jb .done
        wrmsr_const IA32_PERF_GLOBAL_CTRL, 0, 0
.done:  ret

; Ten instructions a round, a new line each
walk:   mov esi, BUFFER
        mov ecx, N
.round: mov eax, [esi]
        add esi, 64
        times 7 nop
        loop .round
        ret

; EAX: select. Prints what counter 0 counted in a loop without memory; code that enables and reads touches none either
count_nothing:
        push eax
        call enable
        mov ecx, IA32_PMC0
        xor eax, eax
        xor edx, edx
        wrmsr
        mov ecx, IA32_PERFEVTSEL0
        pop eax
        wrmsr
        mov ecx, 1000
.round: loop .round
        mov ecx, IA32_PERFEVTSEL0
        xor eax, eax
        wrmsr
        xor ecx, ecx
        rdpmc
        call print_decimal
        call disable
        ret

version:  db 0
counters: db 0
        align 4
missing:    dd 0
events:     dd 0
counter:    dd 0
bad:        dd 0
interrupts: dd 0
; name, select, least, most
table:  dd name0, 0x43003C, N, 50 * N
        dd name1, 0x4300C0, 10 * N, 102 * N / 10
        dd name2, 0x43013C, 10 * N / 24, 30 * N
        dd name3, 0x434F2E, 1, 2 * N
        dd name4, 0x43412E, 1, N
        dd name5, 0x4300C4, N, 11 * N / 10
        dd name6, 0x4300C5, 0, N / 10
name0:  db "core cycles", 0
name1:  db "instructions", 0
name2:  db "bus cycles", 0
name3:  db "LLC references", 0
name4:  db "LLC misses", 0
name5:  db "branches", 0
name6:  db "branch misses", 0
