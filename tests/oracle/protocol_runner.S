# The smallest runner of the oracle (see tracee.h): announces the entry, jumps to it, and makes the "program" below
# depend on nothing outside: its getpid gives 42, its RDTSC gives 7. The program retires 14 instructions.
#include <sys/syscall.h>

#define PR_SET_TSC 26
#define PR_TSC_SIGSEGV 2
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON 1
#define SA_SIGINFO_AND_RESTORER 0x04000004
#define SIGSEGV 11
#define SIGSYS 31
#define UC_RDX 136
#define UC_RAX 144
#define UC_RIP 168

.intel_syntax noprefix
.section .note.GNU-stack, "", @progbits

.data
block_calls: .byte 1
.balign 8
on_segv: .quad segv_handler, SA_SIGINFO_AND_RESTORER, restorer, 0
on_sys:  .quad sys_handler, SA_SIGINFO_AND_RESTORER, restorer, 0

.section runner, "ax"
.globl _start
_start:
    mov edi, SIGSEGV
    lea rsi, [rip + on_segv]
    call sigaction
    mov edi, SIGSYS
    lea rsi, [rip + on_sys]
    call sigaction
    mov eax, SYS_prctl
    mov edi, PR_SET_TSC
    mov esi, PR_TSC_SIGSEGV
    syscall
    mov eax, SYS_prctl
    mov edi, PR_SET_SYSCALL_USER_DISPATCH
    mov esi, PR_SYS_DISPATCH_ON
    lea rdx, [rip + _start]
    lea r10, [rip + runner_end]
    sub r10, rdx                      # all of the runner
    lea r8, [rip + block_calls]
    syscall
    mov rax, 0x5A45524F534B4944
    int3
    pushfq                            # as runners do, to start the program with clean flags
    popfq
    xor eax, eax
    lea r11, [rip + program]
    jmp r11

sigaction:                            # edi = signal, rsi = action
    mov eax, SYS_rt_sigaction
    xor edx, edx
    mov r10d, 8
    syscall
    ret
restorer:
    mov eax, SYS_rt_sigreturn
    syscall
segv_handler:                         # rdx = ucontext; only RDTSC, two bytes long, can fault
    mov qword ptr [rdx + UC_RAX], 7
    mov qword ptr [rdx + UC_RDX], 0
    add qword ptr [rdx + UC_RIP], 2
    ret
sys_handler:
    cmp qword ptr [rdx + UC_RAX], SYS_getpid
    jne 1f
    mov qword ptr [rdx + UC_RAX], 42
    ret
1:  mov rax, [rdx + UC_RAX]           # exit_group, with the program's argument
    mov rdi, [rdx + 104]
    syscall
runner_end:

.text
program:
    mov eax, SYS_getpid
    syscall                           # 42
    mov ebx, eax
    rdtsc                             # 7
    add ebx, eax
    pushfq
    pop rdx                           # no trap flag in here
    and edx, 0x100
    lea edi, [ebx + edx]              # 49
    xor eax, eax
    cpuid                             # a hypervisor may emulate it
    nop                               # and lose the trap before this
    mov eax, SYS_exit_group
    syscall
