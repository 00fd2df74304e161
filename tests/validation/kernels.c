/* One loop whose cost somebody has measured, or that arithmetic knows:  kernels NAME ROUNDS [BYTES] */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kLine = 64 };
static uint64_t state = 88172645463325252u;
static uint64_t next_random(void) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

static char* bytes_of(size_t bytes) {
  char* const at = aligned_alloc(4096, bytes);
  if (at == 0) exit(1);
  memset(at, 0, bytes);
  return at;
}

/* Each line holds the address of another, all in one circle. */
static uint64_t chase_in(long rounds, char* at, size_t bytes) {
  const size_t lines = bytes / kLine;
  uint32_t* const order = malloc(lines * sizeof *order);
  for (size_t i = 0; i < lines; ++i) order[i] = (uint32_t)i;
  for (size_t i = lines - 1; i > 0; --i) {
    const size_t j = next_random() % i;
    const uint32_t kept = order[i];
    order[i] = order[j];
    order[j] = kept;
  }
  for (size_t i = 0; i < lines; ++i) *(char**)(at + (size_t)order[i] * kLine) = at + (size_t)order[(i + 1) % lines] * kLine;
  char** here = (char**)at;
  /* So that what fits is there. */
  for (size_t i = 0; i < 2 * lines && bytes <= (size_t)8 << 20; ++i) here = (char**)*here;
  /* Many steps a turn: what the compiler does between two turns is no part of what is measured. */
  for (long i = 0; i < rounds; i += 50) __asm__ volatile(".rept 50\n mov (%0), %0\n .endr" : "+r"(here));
  return (uint64_t)here & 1;
}

static uint64_t chase(long rounds, size_t bytes) { return chase_in(rounds, bytes_of(bytes), bytes); }

/* The same by one load, from line to line `stride` bytes apart: those at 0, one stride, two, and so on, then the lines between them, pass
   after pass, so that what one pass brings for the next is long gone. */
static uint64_t stride_chase(long rounds, size_t bytes, size_t stride) {
  char* const at = bytes_of(bytes);
  const size_t passes = stride / kLine;
  char** last = (char**)at;
  for (size_t pass = 0; pass < passes; ++pass) {
    for (size_t i = pass * 29 % passes * kLine; i < bytes; i += stride) {
      *last = at + i;
      last = (char**)(at + i);
    }
  }
  *last = at;
  char** here = (char**)at;
  for (size_t i = 0; i < 2 * bytes / kLine && bytes <= (size_t)8 << 20; ++i) here = (char**)*here;
  for (long i = 0; i < rounds; ++i) __asm__ volatile("mov (%0), %0" : "+r"(here));
  return (uint64_t)here & 1;
}

/* A chase through 64 MiB, in pages as large as those that were asked for, or in small ones. */
static uint64_t chase_large(long rounds, size_t large) {
  const size_t bytes = (size_t)64 << 20;
  char* const at = aligned_alloc((size_t)2 << 20, bytes);
  if (at == 0 || (large != 0 && madvise(at, bytes, MADV_HUGEPAGE) != 0)) exit(1);
  return chase_in(rounds, at, bytes);
}

/* One load behind the other; of two loads of a line the second finds it on its way. */
static uint64_t walk(long rounds, size_t bytes, int loads) {
  const char* const at = bytes_of(bytes);
  uint64_t sum = 0;
  for (long i = 0; i < rounds; ++i) {
    const char* const here = at + (size_t)i * (loads == 2 ? kLine : 8) % bytes;
    sum += *(volatile const uint64_t*)here;
    if (loads == 2) sum += *(volatile const uint64_t*)(here + 32);
  }
  return sum;
}

/* A load that misses, and three behind it that hit. */
static uint64_t mixed(long rounds, size_t bytes) {
  const char* const at = bytes_of(bytes);
  volatile uint64_t near[3] = {1, 2, 3};
  uint64_t sum = 0;
  for (long i = 0; i < rounds; ++i) {
    sum += *(volatile const uint64_t*)(at + (next_random() % (bytes / kLine)) * kLine);
    sum += near[0] + near[1] + near[2];
  }
  return sum & 1;
}

static uint64_t stores(long rounds, size_t bytes) {
  char* const at = bytes_of(bytes);
  const uint64_t mask = bytes / kLine - 1;
  /* No store waits for the number of the one before. */
  for (long i = 0; i < rounds; ++i) {
    const uint64_t mixed = (uint64_t)i * 0x9E3779B97F4A7C15u;
    *(volatile uint64_t*)(at + ((mixed ^ mixed >> 29) >> 20 & mask) * kLine) = 1;
  }
  return 0;
}

static uint64_t branches(long rounds) {
  uint64_t sum = 0;
  for (long i = 0; i < rounds; ++i) {
    if ((next_random() & 4096) != 0) {
      __asm__ volatile("add $3, %0" : "+r"(sum));
    } else {
      __asm__ volatile("sub $1, %0" : "+r"(sum));
    }
  }
  return sum;
}

static uint64_t lines_of_a_set(long rounds, size_t lines) {
  char* const at = bytes_of(lines * 4096);
  uint64_t sum = 0;
  for (long i = 0; i < rounds; ++i) {
    for (size_t line = 0; line < lines; ++line) sum += *(volatile uint64_t*)(at + line * 4096);
  }
  return sum;
}

static uint64_t word __attribute__((aligned(128)));
static uint64_t locked_add(long rounds) {
  for (long i = 0; i < rounds; ++i) __atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);
  return word & 1;
}
/* As the published loop: it reads the word first, and again when somebody else was faster. */
static uint64_t compare_and_swap(long rounds) {
  for (long i = 0; i < rounds; ++i) {
    uint64_t seen = __atomic_load_n(&word, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(&word, &seen, seen + 1, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) continue;
  }
  return word & 1;
}

/* Pairs that differ in one thing: where a load is, or what was stored before it. */
static char field[3 * 4096] __attribute__((aligned(4096)));

/* Each load gives the address of the next, which is itself, `at` bytes into two pages. */
static uint64_t chase_at(long rounds, size_t at) {
  char* here = field + at;
  memcpy(here, &here, sizeof here);
  for (long i = 0; i < rounds; i += 50) __asm__ volatile(".rept 50\n mov (%0), %0\n .endr" : "+r"(here));
  return (uint64_t)here & 1;
}
/* The same with a store before each load, `distance` bytes before it. */
static uint64_t chase_behind(long rounds, size_t distance) {
  char* here = field + 4096 + 512;
  memcpy(here, &here, sizeof here);
  char* const stored = here - distance;
  for (long i = 0; i < rounds; i += 50) {
    __asm__ volatile(".rept 50\n movb $0, (%1)\n mov (%0), %0\n .endr" : "+r"(here) : "r"(stored) : "memory");
  }
  return (uint64_t)here & 1;
}
/* Locked additions `at` bytes into a page. */
static uint64_t locked_add_at(long rounds, size_t at) {
  char* const here = field + at;
  for (long i = 0; i < rounds; ++i) __asm__ volatile("lock addq $1, (%0)" : : "r"(here) : "memory");
  return 0;
}
/* Independent stores, likewise. */
static uint64_t stores_at(long rounds, size_t at) {
  char* const here = field + at;
  for (long i = 0; i < rounds; i += 50) __asm__ volatile(".rept 50\n mov %0, (%0)\n .endr" : : "r"(here) : "memory");
  return 0;
}
/* Independent loads, `at` bytes into a page. */
static uint64_t loads_at(long rounds, size_t at) {
  char* const here = field + at;
  for (long i = 0; i < rounds; i += 50) __asm__ volatile(".rept 50\n mov (%0), %%rax\n .endr" : : "r"(here) : "rax");
  return 0;
}
/* a[i] += s * b[i] over 256 doubles, four at a time, with `a` at the start of a page and `b` a page behind it less `bytes`: what is
   loaded of `b` has the low address bits of what was stored to `a` just before. A round is an element; each pass is fenced, as it was
   where this was measured. */
static uint64_t daxpy(long rounds, size_t bytes) {
  char* const a = field + 4096;
  char* const b = field + 8192 - bytes;
  for (long i = 0; i < rounds; i += 256) {
    uint64_t at = 0;
    __asm__ volatile(
        "lfence\n"
        "1: vmovupd (%2, %0), %%ymm1\n vmulpd %%ymm0, %%ymm1, %%ymm1\n vaddpd (%1, %0), %%ymm1, %%ymm1\n vmovupd %%ymm1, (%1, %0)\n"
        "add $32, %0\n cmp $2048, %0\n jne 1b\n"
        "lfence"
        : "+r"(at)
        : "r"(a), "r"(b)
        : "xmm0", "xmm1", "memory");
  }
  return 0;
}
/* Jumps, one in each line of so many bytes of code, each to a line that nobody expects, all in one circle, which is run whole. */
static uint64_t code(long rounds, size_t bytes) {
  const uint32_t lines = (uint32_t)(bytes / kLine);
  unsigned char* const at = mmap(0, bytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  uint32_t* const order = malloc(lines * sizeof *order);
  if (at == MAP_FAILED) exit(1);
  for (uint32_t i = 0; i < lines; ++i) order[i] = i;
  /* The first stays, so that it is where the circle begins. */
  for (uint32_t i = lines - 1; i > 1; --i) {
    const uint32_t j = 1 + (uint32_t)(next_random() % (i - 1)), kept = order[i];
    order[i] = order[j];
    order[j] = kept;
  }
  for (uint32_t i = 0; i < lines; ++i) {
    unsigned char* jump = at + (size_t)order[i] * kLine;
    if (i + 1 == lines) {
      /* dec rdi; jnz behind the ret; ret */
      memcpy(jump, "\x48\xff\xcf\x75\x01\xc3", 6);
      jump += 6;
    }
    const int32_t distance = (int32_t)(at + (size_t)order[(i + 1) % lines] * kLine - (jump + 5));
    *jump = 0xe9;
    memcpy(jump + 1, &distance, sizeof distance);
  }
  union {
    void* at;
    void (*run)(long);
  } circle = {at};
  circle.run(rounds / lines);
  return 0;
}
/* Ten stores of so many bytes, each read by a load of four, in flight together. */
static uint64_t ten_forwards(long rounds, size_t bytes) {
  for (long i = 0; i < rounds; ++i) {
    if (bytes == 4) {
      __asm__ volatile(".set k, 0\n .rept 10\n movl %%ecx, k(%0)\n movl k(%0), %%eax\n .set k, k + 64\n .endr" : : "r"(field) : "rax", "memory");
    } else {
      __asm__ volatile(".set k, 0\n .rept 10\n movb %%cl, k(%0)\n movl k(%0), %%eax\n .set k, k + 64\n .endr" : : "r"(field) : "rax", "memory");
    }
  }
  return 0;
}
/* A load of a word whose last `bytes` were stored, whose result is stored: through memory and back. */
static uint64_t through_memory(long rounds, size_t bytes) {
  uint64_t value = 1;
  for (long i = 0; i < rounds; i += 50) {
    if (bytes == 8) {
      __asm__ volatile(".rept 50\n movq %0, (%1)\n movq (%1), %0\n .endr" : "+r"(value) : "r"(field) : "memory");
    } else {
      __asm__ volatile(".rept 50\n movb %b0, (%1)\n movq (%1), %0\n .endr" : "+q"(value) : "r"(field) : "memory");
    }
  }
  return value & 1;
}
/* Divisions of 32 bits, each by itself or of the quotient before. */
static uint64_t divisions(long rounds, size_t chained) {
  uint32_t value = 1000000;
  for (long i = 0; i < rounds; i += 10) {
    if (chained != 0) {
      __asm__ volatile(".rept 10\n xorl %%edx, %%edx\n divl %1\n .endr" : "+a"(value) : "r"(1) : "rdx");
    } else {
      __asm__ volatile(".rept 10\n movl $1000000, %%eax\n xorl %%edx, %%edx\n divl %0\n .endr" : : "r"(7) : "rax", "rdx");
    }
  }
  return value & 1;
}
/* Whole lines written one behind the other, by streaming stores or by plain ones. */
static uint64_t lines_written(long rounds, size_t streaming) {
  const size_t bytes = (size_t)32 << 20;
  char* const at = bytes_of(bytes);
  for (long i = 0; i < rounds; ++i) {
    char* const line = at + (size_t)i * kLine % bytes;
    if (streaming != 0) {
      __asm__ volatile("movntdq %%xmm0, (%0)\n movntdq %%xmm0, 16(%0)\n movntdq %%xmm0, 32(%0)\n movntdq %%xmm0, 48(%0)" : : "r"(line) : "memory");
    } else {
      __asm__ volatile("movdqa %%xmm0, (%0)\n movdqa %%xmm0, 16(%0)\n movdqa %%xmm0, 32(%0)\n movdqa %%xmm0, 48(%0)" : : "r"(line) : "memory");
    }
  }
  return 0;
}

/* Each addition has the data that the one before has stored. */
static uint64_t count(long rounds) {
  for (long i = 0; i < rounds; ++i) __asm__ volatile("addq $1, %0" : "+m"(word));
  return word & 1;
}

static pthread_mutex_t lock __attribute__((aligned(128))) = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static void* waiter(void* unused) {
  pthread_mutex_lock(&held);
  return unused;
}
/* With a second thread, which waits: without one, the C library leaves the lock prefixes out. */
static uint64_t mutex(long rounds) {
  pthread_t thread;
  pthread_mutex_lock(&held);
  if (pthread_create(&thread, 0, waiter, 0) != 0) return 1;
  for (long i = 0; i < rounds; ++i) {
    pthread_mutex_lock(&lock);
    ++*(volatile uint64_t*)&word;
    pthread_mutex_unlock(&lock);
  }
  pthread_mutex_unlock(&held);
  pthread_join(thread, 0);
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* const name = argv[1];
  const long rounds = atol(argv[2]);
  const size_t bytes = argc > 3 ? strtoul(argv[3], 0, 10) : 0;
  uint64_t result = 0;
  if (strcmp(name, "daxpy") == 0) {
    result = daxpy(rounds, bytes);
  } else if (strcmp(name, "code") == 0) {
    result = code(rounds, bytes);
  } else if (strcmp(name, "chase") == 0) {
    result = chase(rounds, bytes);
  } else if (strncmp(name, "stride_", 7) == 0) {
    result = stride_chase(rounds, bytes, strtoul(name + 7, 0, 10));
  } else if (strcmp(name, "chase_at") == 0) {
    result = chase_at(rounds, bytes);
  } else if (strcmp(name, "chase_behind") == 0) {
    result = chase_behind(rounds, bytes);
  } else if (strcmp(name, "chase_large") == 0) {
    result = chase_large(rounds, bytes);
  } else if (strcmp(name, "stores_at") == 0) {
    result = stores_at(rounds, bytes);
  } else if (strcmp(name, "loads_at") == 0) {
    result = loads_at(rounds, bytes);
  } else if (strcmp(name, "ten_forwards") == 0) {
    result = ten_forwards(rounds, bytes);
  } else if (strcmp(name, "through_memory") == 0) {
    result = through_memory(rounds, bytes);
  } else if (strcmp(name, "divisions") == 0) {
    result = divisions(rounds, bytes);
  } else if (strcmp(name, "lines") == 0) {
    result = lines_written(rounds, bytes);
  } else if (strcmp(name, "walk") == 0) {
    result = walk(rounds, bytes, 1);
  } else if (strcmp(name, "pairs") == 0) {
    result = walk(rounds, bytes, 2);
  } else if (strcmp(name, "mixed") == 0) {
    result = mixed(rounds, bytes);
  } else if (strcmp(name, "stores") == 0) {
    result = stores(rounds, bytes);
  } else if (strcmp(name, "branches") == 0) {
    result = branches(rounds);
  } else if (strcmp(name, "set") == 0) {
    result = lines_of_a_set(rounds, bytes);
  } else if (strcmp(name, "add") == 0) {
    result = locked_add(rounds);
  } else if (strcmp(name, "add_at") == 0) {
    result = locked_add_at(rounds, bytes);
  } else if (strcmp(name, "cas") == 0) {
    result = compare_and_swap(rounds);
  } else if (strcmp(name, "count") == 0) {
    result = count(rounds);
  } else if (strcmp(name, "mutex") == 0) {
    result = mutex(rounds);
  } else {
    return 2;
  }
  printf("%llu\n", (unsigned long long)result);
  return 0;
}
