// Each operation of a private futex, and what the kernel says to wrong arguments; a wait that a timeout or a signal ends.
// build: dynamic -O1 -pthread
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

static uint32_t words[3];
static int waiting, woken[6];

static long call(uint32_t* at, int operation, uint32_t value, const void* timeout, uint32_t* second, uint32_t third) {
  const long result = syscall(SYS_futex, at, operation, value, timeout, second, third);
  return result < 0 ? -errno : result;
}

static void* waiter(void* raw) {
  const int me = (int)(intptr_t)raw;
  __atomic_fetch_add(&waiting, 1, __ATOMIC_SEQ_CST);
  const long result = me < 4 ? call(&words[0], FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0)
                             : call(&words[0], FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, 1u << me);
  GUEST_CHECK(result == 0);
  __atomic_store_n(&woken[me], 1, __ATOMIC_SEQ_CST);
  return NULL;
}

static volatile int handled;
static void handler(int unused) {
  (void)unused;
  handled = 1;
}
static void* interrupted(void* unused) {
  (void)unused;
  __atomic_store_n(&words[2], 1, __ATOMIC_SEQ_CST);
  const struct timespec long_time = {.tv_sec = 100};
  const long result = call(&words[1], FUTEX_WAIT_PRIVATE, words[1], &long_time, NULL, 0);
  GUEST_CHECK(handled);
  return (void*)result;
}

int main(void) {
  pthread_t threads[6], one;
  for (intptr_t i = 0; i < 6; ++i) pthread_create(&threads[i], NULL, waiter, (void*)i);
  while (__atomic_load_n(&waiting, __ATOMIC_SEQ_CST) != 6) usleep(1000);
  usleep(100000);  // natively, for them to be asleep
  printf("changed %ld\n", call(&words[0], FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0));
  printf("misaligned %ld\n", call((uint32_t*)((char*)words + 2), FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0));
  printf("no bits %ld %ld\n", call(&words[0], FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, 0),
         call(&words[0], FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, 0));
  printf("nowhere %ld\n", call((uint32_t*)4096, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0));
  const struct timespec wrong = {.tv_nsec = 1000000000}, short_time = {.tv_nsec = 2000000};
  printf("wrong time %ld\n", call(&words[0], FUTEX_WAIT_PRIVATE, 0, &wrong, NULL, 0));
  printf("too late %ld\n", call(&words[0], FUTEX_WAIT_PRIVATE, 0, &short_time, NULL, 0));
  const struct timespec past = {.tv_sec = 1};
  printf("long past %ld\n", call(&words[0], FUTEX_WAIT_BITSET_PRIVATE, 0, &past, NULL, 1));
  printf("bits %ld\n", call(&words[0], FUTEX_WAKE_BITSET_PRIVATE, 9, NULL, NULL, 1u << 5));  // and the four that take any
  for (int i = 0; i < 6; ++i) {
    if (i != 4) pthread_join(threads[i], NULL);
  }
  printf("woken %d %d %d %d %d %d\n", woken[0], woken[1], woken[2], woken[3], woken[4], woken[5]);
  printf("value does not match %ld\n", call(&words[0], FUTEX_CMP_REQUEUE_PRIVATE, 1, (void*)1, &words[1], 7));
  printf("moved %ld\n", call(&words[0], FUTEX_CMP_REQUEUE_PRIVATE, 0, (void*)1, &words[1], 0));
  printf("left behind %ld\n", call(&words[0], FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
  words[2] = 5;
  const uint32_t add = FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_GT, 4), set = FUTEX_OP(FUTEX_OP_SET, 9, FUTEX_OP_CMP_LT, 0);
  printf("no more %ld", call(&words[1], FUTEX_WAKE_OP_PRIVATE, 1, (void*)1, &words[2], add));
  printf(", now %u\n", words[2]);
  pthread_join(threads[4], NULL);
  printf("nobody %ld", call(&words[1], FUTEX_WAKE_OP_PRIVATE, 1, (void*)1, &words[2], set));
  printf(", now %u\n", words[2]);
  const uint32_t shifted = FUTEX_OP((FUTEX_OP_OR | FUTEX_OP_OPARG_SHIFT), 4, FUTEX_OP_CMP_EQ, 0);
  call(&words[1], FUTEX_WAKE_OP_PRIVATE, 1, (void*)1, &words[2], shifted);
  printf("shifted %u\n", words[2]);

  words[2] = 0;
  const struct sigaction action = {.sa_handler = handler};
  sigaction(SIGUSR1, &action, NULL);
  pthread_create(&one, NULL, interrupted, NULL);
  while (__atomic_load_n(&words[2], __ATOMIC_SEQ_CST) != 1) usleep(1000);
  usleep(100000);
  pthread_kill(one, SIGUSR1);
  void* result;
  pthread_join(one, &result);
  printf("interrupted %ld\n", (long)(intptr_t)result);
  return 0;
}
