/* One thread counts, the other reads a number that nobody writes: in the counter's cache line, or two lines away:
   false_sharing shared|padded
   Compile it with: cc -O1 -g -pthread -o false_sharing examples/false_sharing/false_sharing.c */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { kCounts = 400000, kReads = 400000 };
static struct {
  volatile uint64_t counter;
  volatile uint64_t setting;
  char padding[112];
  volatile uint64_t setting_elsewhere;
} shared __attribute__((aligned(128)));

static __attribute__((noinline)) void count(void) {
  for (int i = 0; i < kCounts; ++i) ++shared.counter;
}

static __attribute__((noinline)) uint64_t read_often(const volatile uint64_t* setting) {
  uint64_t sum = 0;
  for (int i = 0; i < kReads; ++i) sum += *setting;
  return sum;
}

static void* counting(void* unused) {
  count();
  return unused;
}

int main(int argc, char** argv) {
  const int padded = argc > 1 && strcmp(argv[1], "padded") == 0;
  const volatile uint64_t* const setting = padded ? &shared.setting_elsewhere : &shared.setting;
  shared.setting = shared.setting_elsewhere = 1;
  pthread_t thread;
  if (pthread_create(&thread, 0, counting, 0) != 0) return 1;
  const uint64_t sum = read_often(setting);
  pthread_join(thread, 0);
  printf("%llu %llu\n", (unsigned long long)shared.counter, (unsigned long long)sum);
  return 0;
}
