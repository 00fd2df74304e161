// What calls about signals check, keep and forget, as the kernel does: flags of an action, alternate stacks, what was sent
// and is blocked; a word of set_tid_address that is waited for; a signal that ends the process that sends it to itself.
// build: dynamic -O1 -pthread
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

struct action {
  void* handler;
  unsigned long flags;
  void* restorer;
  unsigned long mask;
};

static void on_signal(int signal) { (void)signal; }

static long set_action(int signal, const struct action* action, struct action* old, size_t size) {
  return syscall(SYS_rt_sigaction, signal, action, old, size) == 0 ? 0 : -errno;
}

static void actions(void) {
  struct action all = {.handler = (void*)1, .flags = ~0ul, .mask = ~0ul}, kept;
  printf("set %ld\n", set_action(SIGURG, &all, NULL, 8));
  printf("kept %ld", set_action(SIGURG, NULL, &kept, 8));
  printf(" %p %lx %lx\n", kept.handler, kept.flags, kept.mask);
  printf("wrong %ld %ld %ld %ld %ld %ld\n", set_action(SIGURG, NULL, NULL, 4), set_action(0, &all, NULL, 8),
         set_action(65, &all, NULL, 8), set_action(SIGKILL, &all, NULL, 8), set_action(SIGKILL, NULL, &kept, 8),
         set_action(SIGURG, (void*)8, NULL, 8));
  printf("unwritable %ld\n", set_action(SIGURG, NULL, (void*)8, 8));
}

static void forgotten(int signal, int other_default) {
  sigset_t set, waiting;
  sigemptyset(&set);
  sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, NULL);
  sigaction(signal, &(struct sigaction){.sa_handler = on_signal}, NULL);
  kill(getpid(), signal);
  sigpending(&waiting);
  printf("signal %d waits %d", signal, sigismember(&waiting, signal));
  sigaction(signal, &(struct sigaction){.sa_handler = other_default ? SIG_DFL : SIG_IGN}, NULL);
  sigpending(&waiting);
  printf(" ignored %d", sigismember(&waiting, signal));
  sigaction(signal, &(struct sigaction){.sa_handler = on_signal}, NULL);
  kill(getpid(), signal);
  siginfo_t info;
  const struct timespec soon = {0, 50000000};
  printf(" taken %d", sigtimedwait(&set, &info, &soon));
  sigpending(&waiting);
  printf(" left %d\n", sigismember(&waiting, signal));
  sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void stacks(void) {
  static char room[1 << 16];
  const unsigned kAutodisarm = 1u << 31;
  const stack_t tried[] = {{room, 0, sizeof room},
                           {room, SS_DISABLE | (int)kAutodisarm, 77},
                           {room, 8, sizeof room},
                           {room, 0, 2047},
                           {room, (int)kAutodisarm, sizeof room},
                           {room, SS_DISABLE, 0}};
  for (size_t i = 0; i < sizeof tried / sizeof *tried; ++i) {
    stack_t old;
    const int result = sigaltstack(&tried[i], NULL) == 0 ? 0 : -errno;
    sigaltstack(NULL, &old);
    printf("stack %d: %x %zu %d\n", result, (unsigned)old.ss_flags, old.ss_size, old.ss_sp == room);
  }
}

// How a child ends that does `what`.
static void ends(const char* name, void (*what)(void)) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    what();
    printf("%s goes on\n", name);
    fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("%s: status %x\n", name, status & ~0x80);
}

static void no_restorer(void) {
  const struct action action = {.handler = (void*)on_signal};
  set_action(SIGUSR1, &action, NULL, 8);
  kill(getpid(), SIGUSR1);
}

static void small_stack(void) {
  char* const pages = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  sigaltstack(&(stack_t){pages + 8192, 0, 2048}, NULL);
  sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal, .sa_flags = SA_ONSTACK}, NULL);
  if (sysconf(_SC_MINSIGSTKSZ) <= 2048) kill(getpid(), SIGSEGV);
  kill(getpid(), SIGUSR1);
}

static int how;
static void* sender(void* unused) {
  (void)unused;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  usleep(20000);  // who makes a thread blocks everything until it is made
  if (how == 0) kill(getpid(), SIGTERM);
  if (how == 1) kill(0, SIGTERM);
  if (how == 2) syscall(SYS_tgkill, getpid(), getpid(), SIGTERM);
  if (how == 3) sigqueue(getpid(), SIGTERM, (union sigval){.sival_int = 1});
  if (how == 4) {
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    kill(getpid(), SIGTERM);
  }
  siginfo_t info;
  const struct timespec soon = {1, 0};
  printf("still there, %d\n", sigtimedwait(&set, &info, &soon));
  fflush(stdout);
  _exit(1);
}

static void ends_by_thread(void) {
  setpgid(0, 0);
  pthread_t thread;
  pthread_create(&thread, NULL, sender, NULL);
  pthread_join(thread, NULL);
}

static atomic_int word = 1, moved;
static void* gives_word(void* unused) {
  (void)unused;
  while (!moved) sched_yield();
  usleep(20000);
  syscall(SYS_set_tid_address, &word);
  return NULL;
}

// waits before: the kernel has the waiter before the word is anybody's
static void word_of_thread(int before) {
  word = 1;
  moved = !before;
  pthread_t thread;
  pthread_create(&thread, NULL, gives_word, NULL);
  if (!before) usleep(1000);
  moved = 1;
  const struct timespec most = {20, 0};
  const long result = syscall(SYS_futex, &word, FUTEX_WAIT, 1, &most, NULL, 0);
  printf("word: %ld %d\n", result == 0 || errno == EAGAIN ? 0 : (long)-errno, word);
}

int main(void) {
  actions();
  forgotten(SIGUSR1, 0);
  forgotten(SIGWINCH, 1);
  forgotten(SIGFPE, 0);
  stacks();
  ends("no restorer", no_restorer);
  ends("small stack", small_stack);
  for (how = 0; how < 5; ++how) ends("sent by a thread", ends_by_thread);
  word_of_thread(1);
  word_of_thread(0);
  return 0;
}
