// futex_waitv (Linux 5.16): a thread waits for several words, of its own process and of others, until one is woken, the
// time is over or a word is another; and what is wrong with a call. futex_wake, futex_wait and futex_requeue (Linux 6.7)
// likewise. Where the kernel has none, it says so.
// build: dynamic -O1 -pthread
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

enum { k32Bits = 2, kPrivate = 128, kWaitv = 449, kWake = 454, kWait = 455, kRequeue = 456 };
struct word {
  uint64_t value, address;
  uint32_t flags, reserved;
};
static uint32_t words[4];
static uint32_t* shared;
static volatile int waiting;

static struct word word_at(uint32_t* at, uint32_t flags) {
  return (struct word){.value = *at, .address = (uint64_t)at, .flags = flags};
}
static long wait_for(const struct word* all, unsigned count, int milliseconds) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  const long long nanoseconds = until.tv_nsec + 1000000LL * milliseconds;
  until.tv_sec += nanoseconds / 1000000000;
  until.tv_nsec = nanoseconds % 1000000000;
  waiting = 1;
  const long result = syscall(kWaitv, all, count, 0, milliseconds == 0 ? NULL : &until, CLOCK_MONOTONIC);
  return result < 0 ? -errno : result;
}

struct wake {
  uint32_t* at;
  int private;
};
// Wakes until it has woken somebody.
static void* waker(void* arguments) {
  const struct wake* const wake = arguments;
  while (!waiting) sched_yield();
  while (syscall(SYS_futex, wake->at, FUTEX_WAKE | (wake->private ? FUTEX_PRIVATE_FLAG : 0), 1, NULL, NULL, 0) != 1)
    sched_yield();
  return NULL;
}
static void woken(const char* what, const struct word* all, unsigned count, struct wake wake) {
  pthread_t thread;
  waiting = 0;
  pthread_create(&thread, NULL, waker, &wake);
  const long result = wait_for(all, count, 0);
  pthread_join(thread, NULL);
  printf("%s: %ld\n", what, result);
}

static void* lives(void* stop) {
  while (!*(volatile int*)stop) usleep(1000);
  return NULL;
}

static void errors(void) {
  struct word all[2] = {word_at(&words[0], k32Bits | kPrivate), word_at(&words[1], k32Bits | kPrivate)};
  printf("time over %ld, ", wait_for(all, 2, 5));
  all[1].value = 1;
  printf("another value %ld, ", wait_for(all, 2, 0));
  all[1].value = UINT64_C(1) << 32;
  printf("no value %ld, ", wait_for(all, 2, 0));
  all[1] = word_at(&words[1], kPrivate);
  printf("of 8 bits %ld, ", wait_for(all, 2, 0));
  all[1] = word_at(&words[1], k32Bits | kPrivate);
  all[1].address += 2;
  printf("misaligned %ld, ", wait_for(all, 2, 0));
  all[1].address = 8;
  printf("no word %ld, ", wait_for(all, 2, 0));
  printf("none %ld, too many %ld, nowhere %ld, ", wait_for(all, 0, 0), wait_for(all, 129, 0), wait_for(NULL, 1, 0));
  const struct timespec wrong = {.tv_nsec = 2000000000};
  all[1] = word_at(&words[1], k32Bits | kPrivate);
  printf("flags %d, ", syscall(kWaitv, all, 2, 1, NULL, 0) == 0 ? 0 : errno);
  printf("no time %d, ", syscall(kWaitv, all, 2, 0, &wrong, CLOCK_MONOTONIC) == 0 ? 0 : errno);
  printf("no clock %d\n", syscall(kWaitv, all, 2, 0, &wrong, CLOCK_BOOTTIME) == 0 ? 0 : errno);
}

static long answer(long result) { return result < 0 ? -errno : result; }
static long wake_later(uint32_t* at, uint64_t mask, int most, uint32_t flags) {
  return answer(syscall(kWake, at, mask, most, flags));
}
static void* waits_later(void* at) {
  const struct word* const word = at;
  return (void*)answer(syscall(kWait, word->address, word->value, UINT64_C(0xF0), word->flags, NULL, 0));
}
// A waiter is woken by a bit of its mask alone, or moved to another word first.
static void woken_later(const char* what, uint32_t* at, uint32_t* moved_to, uint32_t flags) {
  pthread_t thread;
  struct word both[2] = {word_at(at, flags), word_at(moved_to, flags)};
  pthread_create(&thread, NULL, waits_later, both);
  long moved = 0, others = 0;
  if (moved_to != at) {
    while ((moved = answer(syscall(kRequeue, both, 0, 0, 1))) == 0) sched_yield();
    others = wake_later(at, UINT32_MAX, 1, flags);
  }
  others += wake_later(moved_to, 0x0F, 1, flags);
  while (wake_later(moved_to, 0x10, 1, flags) != 1) sched_yield();
  void* result;
  pthread_join(thread, &result);
  printf("%s: moved %ld, woken by others' bits %ld, %ld\n", what, moved, others, (long)result);
}
static void later(void) {
  if (wake_later(words, UINT32_MAX, 1, k32Bits | kPrivate) == -ENOSYS) return;
  const uint32_t ours = k32Bits | kPrivate;
  const struct timespec past = {0}, wrong = {.tv_nsec = 2000000000};
  struct word both[2] = {word_at(words, ours), word_at(words + 1, ours)};
  both[0].value = 1;
  printf("wake: no bits %ld, too many %ld, none %ld, 8 bits %ld, misaligned %ld; ", wake_later(words, 0, 1, ours),
         wake_later(words, UINT64_C(1) << 32, 1, ours), wake_later(words, 1, 0, ours), wake_later(words, 1, 1, kPrivate),
         wake_later((uint32_t*)((char*)words + 1), 1, 1, ours));
  printf("wait: another value %ld, ", answer(syscall(kWait, words, 1L, 1L, ours, NULL, 0)));
  printf("no bits %ld, ", answer(syscall(kWait, words, 0L, 0L, ours, NULL, 0)));
  printf("over %ld, ", answer(syscall(kWait, words, 0L, 1L, ours, &past, CLOCK_MONOTONIC)));
  printf("by the date %ld, ", answer(syscall(kWait, words, 0L, 1L, ours, &past, CLOCK_REALTIME)));
  printf("no time %ld, ", answer(syscall(kWait, words, 0L, 1L, ours, &wrong, CLOCK_MONOTONIC)));
  printf("no clock %ld; ", answer(syscall(kWait, words, 0L, 1L, ours, &past, CLOCK_BOOTTIME)));
  printf("requeue: another value %ld, ", answer(syscall(kRequeue, both, 0, 1, 1)));
  both[0].value = 0;
  printf("nobody %ld, flags %ld, fewer than none %ld\n", answer(syscall(kRequeue, both, 0, 1, 1)),
         answer(syscall(kRequeue, both, 1, 1, 1)), answer(syscall(kRequeue, both, 0, -1, 1)));
  woken_later("private, later", &words[0], &words[0], ours);
  woken_later("private, later, moved", &words[0], &words[1], ours);
  woken_later("shared, later", &shared[0], &shared[0], k32Bits);
  woken_later("shared, later, moved", &shared[0], &shared[1], k32Bits);
}

int main(void) {
  if (syscall(kWaitv, NULL, 0, 0, NULL, 0) < 0 && errno == ENOSYS) {
    puts("no futex_waitv here");
    return 0;
  }
  shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  errors();
  later();
  volatile int stop = 0;
  pthread_t other;
  pthread_create(&other, NULL, lives, (void*)&stop);
  errors();
  struct word all[3];
  for (int i = 0; i < 3; ++i) all[i] = word_at(&words[i], k32Bits | kPrivate);
  for (int i = 0; i < 3; ++i) woken("private", all, 3, (struct wake){&words[i], 1});
  all[2] = word_at(&shared[0], k32Bits);
  woken("shared among private ones", all, 3, (struct wake){&shared[0], 0});
  woken("private beside a shared one", all, 3, (struct wake){&words[1], 1});
  for (int i = 0; i < 3; ++i) all[i] = word_at(&shared[i], k32Bits);
  woken("shared", all, 3, (struct wake){&shared[2], 0});
  later();
  stop = 1;
  pthread_join(other, NULL);
  waiting = 0;
  fflush(stdout);
  if (fork() == 0) {
    while (syscall(SYS_futex, &shared[1], FUTEX_WAKE, 1, NULL, NULL, 0) != 1) usleep(1000);
    _exit(0);
  }
  printf("by another process: %ld\n", wait_for(all, 3, 0));
  wait(NULL);
  return 0;
}
