// What a handler finds around it: the frame's place and alignment, the red zone untouched, siginfo of kill and sigqueue,
// the saved mask in the ucontext and its effect when edited, uc_stack, the direction flag cleared.
// build: dynamic -O1
#define _GNU_SOURCE
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include "guest.h"

static volatile int aligned, df_clear, from_self, value, blocked_inside;

static void handler(int signal, siginfo_t* info, void* raw) {
  ucontext_t* context = (ucontext_t*)raw;
  uint64_t flags;
  __asm__ volatile("pushfq; pop %0" : "=r"(flags));
  df_clear = !(flags & 0x400);
  aligned = ((uintptr_t)context & 7) == 0 && ((uintptr_t)__builtin_frame_address(0) & 15) == 0;
  from_self = info->si_pid == getpid() && info->si_uid == getuid();
  value = info->si_code == SI_QUEUE ? info->si_value.sival_int : -1;
  sigset_t now;
  sigprocmask(SIG_BLOCK, NULL, &now);
  blocked_inside = sigismember(&now, signal);
  if (value == 5) sigaddset(&context->uc_sigmask, SIGHUP);  // takes effect at the return
}

static __attribute__((noinline)) uint64_t red_zone(void) {
  uint64_t sum;
  __asm__ volatile(  // values below rsp, then kill(getpid(), SIGUSR1) without moving rsp
      "movq $0x1111, -8(%%rsp); movq $0x2222, -64(%%rsp); movq $0x3333, -128(%%rsp)\n"
      "mov $39, %%eax; syscall; mov %%eax, %%edi; mov $10, %%esi; mov $62, %%eax; std; syscall; cld\n"
      "mov -8(%%rsp), %0; add -64(%%rsp), %0; add -128(%%rsp), %0\n"
      : "=&r"(sum) : : "rax", "rcx", "rdi", "rsi", "r11", "memory", "cc");
  return sum;
}

int main(void) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  sigaction(SIGUSR1, &action, NULL);
  printf("red zone %llx\n", (unsigned long long)red_zone());
  printf("aligned %d df clear %d from self %d blocked inside %d\n", aligned, df_clear, from_self, blocked_inside);
  sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 5});
  sigset_t now;
  sigprocmask(SIG_BLOCK, NULL, &now);
  printf("value %d, SIGHUP blocked by the frame: %d, SIGUSR1 free again: %d\n", value, sigismember(&now, SIGHUP), !sigismember(&now, SIGUSR1));
  return 0;
}
