// One thread replaces a function that others keep calling; each caller must see the new one after it was told of it.
// build: dynamic -O1 -pthread
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "guest.h"

static unsigned char* code;
static atomic_int version, acknowledged;
static pthread_barrier_t start;

static void* caller(void* result) {
  pthread_barrier_wait(&start);
  int seen = 0;
  uint64_t wrong = 0;
  while (seen < 50) {
    const int now = atomic_load(&version);
    const int got = ((int (*)(void))(void*)code)();
    wrong += got < now;
    if (now > seen) {
      seen = now;
      atomic_fetch_add(&acknowledged, 1);
    }
    __builtin_ia32_pause();
  }
  *(uint64_t*)result = wrong;
  return NULL;
}

int main(void) {
  code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  GUEST_CHECK(code != MAP_FAILED);
  memcpy(code, "\xB8\x00\x00\x00\x00\xC3\x90\x90", 8);  // mov eax, version; ret: changed by one aligned store
  pthread_t threads[2];
  uint64_t wrong[2];
  pthread_barrier_init(&start, NULL, 3);
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, caller, &wrong[i]);
  pthread_barrier_wait(&start);
  for (uint64_t v = 1; v <= 50; ++v) {
    __atomic_store_n((uint64_t*)(void*)code, 0x9090C300000000B8u | v << 8, __ATOMIC_SEQ_CST);
    atomic_store(&version, (int)v);
    while (atomic_load(&acknowledged) < (int)(2 * v)) sched_yield();
  }
  uint64_t total = 0;
  for (int i = 0; i < 2; ++i) {
    pthread_join(threads[i], NULL);
    total += wrong[i];
  }
  printf("old versions seen: %llu\n", (unsigned long long)total);
  return 0;
}
