// Worker threads that block every signal, as libraries' helper threads do, while they compute and allocate.
// build: dynamic -O1 -pthread
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "guest.h"

static volatile sig_atomic_t ticks;
static pthread_t main_thread;
static volatile int wrong_thread;
static void on_tick(int signal) {
  (void)signal;
  ++ticks;
  wrong_thread |= !pthread_equal(pthread_self(), main_thread);
}

static void* work(void* raw) {
  uint64_t x = (uint64_t)(uintptr_t)raw;
  uint64_t* table = malloc(100000 * sizeof *table);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 100000; ++i) {
      x = x * 6364136223846793005u + 1442695040888963407u;
      table[i] = round == 0 ? x : table[i] ^ x;
    }
  }
  for (int i = 0; i < 100000; ++i) x += table[i];
  free(table);
  return (void*)(uintptr_t)x;
}

int main(void) {
  main_thread = pthread_self();
  signal(SIGALRM, on_tick);
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  pthread_t threads[3];
  for (uintptr_t i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, work, (void*)(i + 1));
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  const struct itimerval every = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &every, NULL);
  for (int i = 0; i < 3; ++i) {
    void* sum;
    pthread_join(threads[i], &sum);
    printf("%016llx\n", (unsigned long long)(uintptr_t)sum);
  }
  while (ticks < 3) continue;
  printf("ticks in another thread: %d\n", wrong_thread);
  return 0;
}
