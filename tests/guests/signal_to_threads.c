// pthread_kill to chosen threads, process-wide signals to whoever does not block them, per-thread masks and stacks.
// build: dynamic -O1 -pthread
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include "guest.h"

static __thread int me;
static __thread volatile int got;
static sem_t ready, taken, done;
static volatile int last_taker;

static void handler(int signal) {
  (void)signal;
  ++got;
  last_taker = me;
  sem_post(&taken);
}

static void* worker(void* number) {
  me = (int)(intptr_t)number;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(me == 3 ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
  sem_post(&ready);
  while (sem_wait(&done) != 0) continue;
  return (void*)(intptr_t)got;
}

int main(void) {
  signal(SIGUSR1, handler);
  signal(SIGUSR2, handler);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  sem_init(&ready, 0, 0);
  sem_init(&taken, 0, 0);
  sem_init(&done, 0, 0);
  pthread_t threads[5];
  for (intptr_t i = 1; i < 5; ++i) pthread_create(&threads[i], NULL, worker, (void*)i);
  for (int i = 1; i < 5; ++i) sem_wait(&ready);
  for (int i = 1; i < 5; ++i) {
    for (int k = 0; k < 2 * i; ++k) {
      pthread_kill(threads[i], SIGUSR1);
      while (sem_wait(&taken) != 0) continue;
      GUEST_CHECK(last_taker == i);
    }
  }
  for (int k = 0; k < 10; ++k) {
    kill(getpid(), SIGUSR2);  // only thread 3 accepts it
    while (sem_wait(&taken) != 0) continue;
    GUEST_CHECK(last_taker == 3);
  }
  for (int i = 1; i < 5; ++i) sem_post(&done);
  for (int i = 1; i < 5; ++i) {
    void* count;
    pthread_join(threads[i], &count);
    printf("thread %d took %d\n", i, (int)(intptr_t)count);
  }
  return 0;
}
