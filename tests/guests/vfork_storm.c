// Hundreds of children that share their parent's memory until they execute or end, from several threads at once.
// build: dynamic -O1 -pthread
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

enum { kThreads = 4, kChildren = 60 };
static volatile int shared[kThreads];

static __attribute__((noinline)) pid_t start_child(volatile int* met, int kind) {
  const pid_t pid = vfork();
  if (pid != 0) return pid;
  ++*met;
  if (kind == 0) execl("/bin/sh", "sh", "-c", "exit 3", (char*)NULL);
  if (kind == 1) execl("/nowhere/at-all", "x", (char*)NULL);
  _exit(kind == 1 ? 4 : 5);
}

static void* in_thread(void* number) {
  const uint64_t mine = (uint64_t)number;
  uint64_t sum = 0;
  for (int i = 0; i < kChildren; ++i) {
    const pid_t pid = start_child(&shared[mine], i % 6);
    GUEST_CHECK(pid > 0);
    int status;
    GUEST_CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    sum += (uint64_t)WEXITSTATUS(status);
  }
  return (void*)sum;
}

int main(void) {
  pthread_t threads[kThreads];
  uint64_t sum = 0;
  for (uint64_t i = 0; i < kThreads; ++i) GUEST_CHECK(pthread_create(&threads[i], NULL, in_thread, (void*)i) == 0);
  for (int i = 0; i < kThreads; ++i) {
    void* result;
    GUEST_CHECK(pthread_join(threads[i], &result) == 0);
    sum += (uint64_t)result;
  }
  printf("%llu", (unsigned long long)sum);
  for (int i = 0; i < kThreads; ++i) printf(" %d", shared[i]);
  printf("\n");
  return 0;
}
