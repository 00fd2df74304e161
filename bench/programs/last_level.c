// What leaves the second level: one of several ways through memory, by one thread or several.
//
//   last_level walk|chase|scan|join MEBIBYTES [STEPS [THREADS]]
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 8 };  // words

struct Work {
  const char* way;
  uint64_t words, steps, seed, sum;
};

static uint64_t next_random(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

/// Each line holds the number of the next: one cycle through all of them (Sattolo).
static void link_lines(uint64_t* memory, uint64_t lines, uint64_t* random) {
  for (uint64_t i = 0; i < lines; ++i) memory[i * LINE] = i;
  for (uint64_t i = lines - 1; i > 0; --i) {
    const uint64_t k = next_random(random) % i, swap = memory[i * LINE];
    memory[i * LINE] = memory[k * LINE];
    memory[k * LINE] = swap;
  }
}

/// Keys and what belongs to them, by open addressing: half full.
static uint64_t join(uint64_t* table, uint64_t words, uint64_t steps, uint64_t* random) {
  const uint64_t slots = words / 2, keys = slots / 2;
  uint64_t sum = 0;
  for (uint64_t key = 1; key <= keys; ++key) {
    uint64_t at = key * 0x9E3779B97F4A7C15u % slots;
    while (table[2 * at] != 0) at = at + 1 == slots ? 0 : at + 1;
    table[2 * at] = key;
    table[2 * at + 1] = key * key;
  }
  for (uint64_t i = 0; i < steps; ++i) {
    const uint64_t key = next_random(random) % keys + 1;
    uint64_t at = key * 0x9E3779B97F4A7C15u % slots;
    while (table[2 * at] != key) at = at + 1 == slots ? 0 : at + 1;
    sum += table[2 * at + 1];
  }
  return sum;
}

static void* run(void* argument) {
  struct Work* work = argument;
  uint64_t* memory = calloc(work->words, sizeof *memory);
  const uint64_t lines = work->words / LINE;
  if (memory == NULL) exit(1);
  if (strcmp(work->way, "join") == 0) {
    work->sum = join(memory, work->words, work->steps, &work->seed);
  } else if (strcmp(work->way, "chase") == 0) {
    link_lines(memory, lines, &work->seed);
    for (uint64_t i = 0, at = 0; i < work->steps; ++i) work->sum += at = memory[at * LINE];
  } else if (strcmp(work->way, "walk") == 0) {
    for (uint64_t i = 0; i < work->steps; ++i) work->sum += memory[next_random(&work->seed) % work->words]++;
  } else {
    for (uint64_t i = 0; i < work->steps; ++i) work->sum += memory[i * LINE % work->words]++;
  }
  free(memory);
  return NULL;
}

int main(int argc, char** argv) {
  enum { MOST = 16 };
  const char* way = argc > 1 ? argv[1] : "join";
  const uint64_t mebibytes = argc > 2 ? strtoull(argv[2], NULL, 10) : 4;
  const uint64_t steps = argc > 3 ? strtoull(argv[3], NULL, 10) : 200000;
  const uint64_t threads = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
  struct Work work[MOST];
  pthread_t ids[MOST];
  if (mebibytes == 0 || threads == 0 || threads > MOST) return 1;
  for (uint64_t i = 0; i < threads; ++i) {
    work[i] = (struct Work){.way = way, .words = mebibytes << 17, .steps = steps, .seed = i + 1};
    if (pthread_create(&ids[i], NULL, run, &work[i]) != 0) return 1;
  }
  uint64_t sum = 0;
  for (uint64_t i = 0; i < threads; ++i) {
    pthread_join(ids[i], NULL);
    sum += work[i].sum;
  }
  printf("%llu\n", (unsigned long long)sum);
  return 0;
}
