// Two threads hand a token over by futex, ten thousand times: every wake must arrive, none too many.
// build: dynamic -O1 -pthread
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest.h"

enum { ROUNDS = 10000 };
static volatile int token;
static long passed[2];

static void* player(void* raw) {
  const int me = (int)(intptr_t)raw;
  for (int i = 0; i < ROUNDS; ++i) {
    int seen;  // one reading: what was looked at is what the kernel compares with
    while ((seen = __atomic_load_n(&token, __ATOMIC_ACQUIRE)) % 2 != me) {
      syscall(SYS_futex, &token, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
    }
    ++passed[me];
    __atomic_fetch_add(&token, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &token, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  }
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, player, (void*)1);
  player((void*)0);
  pthread_join(thread, NULL);
  printf("token %d passed %ld %ld\n", token, passed[0], passed[1]);
  return 0;
}
