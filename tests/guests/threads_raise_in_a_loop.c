// A thread that does hardly anything but raise a signal, and holds a lock but for the time of that, and one that wants the lock:
// CPython's interpreter lock, and its test_signal.test_stress_modifying_handlers. Who waits is woken each time, and must find
// the lock free now and then: the time that the other one spends in its system calls is most of all.
// build: dynamic -O1 -pthread
#include <pthread.h>
#include <signal.h>

#include "guest.h"

enum { TURNS = 300 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t freed = PTHREAD_COND_INITIALIZER;
static int held;
static volatile sig_atomic_t came;
static volatile int begun, enough;

static void take(void) {
  pthread_mutex_lock(&mutex);
  while (held) pthread_cond_wait(&freed, &mutex);
  held = 1;
  pthread_mutex_unlock(&mutex);
}

static void leave(void) {
  pthread_mutex_lock(&mutex);
  held = 0;
  pthread_cond_signal(&freed);
  pthread_mutex_unlock(&mutex);
}

static void on_signal(int signal) {
  (void)signal;
  ++came;
}

static void* raise_in_a_loop(void* none) {
  take();
  begun = 1;
  while (!enough) {
    leave();
    raise(SIGUSR1);
    take();
    for (volatile int i = 0; i < 200; ++i) {
    }
  }
  leave();
  return none;
}

int main(void) {
  signal(SIGUSR1, on_signal);
  pthread_t other;
  GUEST_CHECK(pthread_create(&other, NULL, raise_in_a_loop, NULL) == 0);
  while (!begun) sched_yield();
  for (int i = 0; i < TURNS; ++i) {
    take();
    signal(SIGUSR1, i % 2 == 0 ? SIG_IGN : on_signal);
    leave();
  }
  enough = 1;
  pthread_join(other, NULL);
  printf("%d turns\n", TURNS);
  return 0;
}
