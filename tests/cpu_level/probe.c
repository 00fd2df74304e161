// What a program learns of its processor and machine, and whether its vector registers come through what changes them.
//   probe facts         CPUID, the auxiliary vector, files and system calls, one a line
//   probe state SEED    XSAVE, XRSTOR, a signal's frame: prints "kept", or what was lost
//   probe run NAME      an instruction of that set; prints "ran"
#define _GNU_SOURCE
#include <cpuid.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <ucontext.h>
#include <unistd.h>

static void leaf(unsigned number, unsigned subleaf) {
  unsigned a, b, c, d;
  __cpuid_count(number, subleaf, a, b, c, d);
  printf("cpuid %x %x: %08x %08x %08x %08x\n", number, subleaf, a, b, c, d);
}

static void file(const char* name) {
  FILE* stream = fopen(name, "r");
  char line[1024];
  while (stream && fgets(line, sizeof line, stream)) printf("%s: %s", name, line);
  if (stream) fclose(stream);
}

static int facts(void) {
  static const unsigned leaves[] = {0, 1, 2, 5, 6, 7, 0xA, 0xB, 0xD, 0x14, 0x15, 0x16, 0x19, 0x1F, 0x40000000, 0x80000000, 0x80000001,
                                    0x80000002, 0x80000003, 0x80000004, 0x80000006, 0x80000007, 0x80000008, 0x8000001D};
  for (unsigned i = 0; i < sizeof leaves / sizeof *leaves; ++i) leaf(leaves[i], 0);
  for (unsigned i = 0; i < 5; ++i) leaf(4, i);
  for (unsigned i = 1; i < 10; ++i) leaf(0xD, i);
  printf("hwcap %lx %lx frame %lu\n", getauxval(AT_HWCAP), getauxval(AT_HWCAP2), getauxval(51));
  cpu_set_t set;
  const int got = sched_getaffinity(0, sizeof set, &set);
  printf("affinity %d of %d\n", got, CPU_COUNT(&set));
  printf("processors %ld %ld caches %ld %ld %ld\n", sysconf(_SC_NPROCESSORS_ONLN), sysconf(_SC_NPROCESSORS_CONF),
         sysconf(_SC_LEVEL1_DCACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE), sysconf(_SC_LEVEL3_CACHE_SIZE));
  struct utsname name;
  uname(&name);
  printf("%s %s %s %s\n", name.sysname, name.nodename, name.release, name.version);
  struct sysinfo info;
  sysinfo(&info);
  printf("memory %lu %lu %u\n", info.totalram, info.totalswap, info.mem_unit);
  static const char* const files[] = {"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/sys/kernel/osrelease",
                                      "/sys/devices/system/cpu/online", "/sys/devices/system/cpu/possible", "/sys/fs/cgroup/cpu.max"};
  for (unsigned i = 0; i < sizeof files / sizeof *files; ++i) file(files[i]);
  return 0;
}

static uint8_t wanted[16][32], seen[16][32];
static uint8_t area[8192] __attribute__((aligned(64)));

__attribute__((target("avx"))) static void put(uint8_t (*from)[32]) {
  __asm__ volatile("vmovdqu (%0), %%ymm0; vmovdqu 32(%0), %%ymm1; vmovdqu 96(%0), %%ymm3; vmovdqu 480(%0), %%ymm15"
                   ::"r"(from) : "xmm0", "xmm1", "xmm3", "xmm15");
}
__attribute__((target("avx"))) static void get(uint8_t (*to)[32]) {
  __asm__ volatile("vmovdqu %%ymm0, (%0); vmovdqu %%ymm1, 32(%0); vmovdqu %%ymm3, 96(%0); vmovdqu %%ymm15, 480(%0)" ::"r"(to) : "memory");
}
static int same(void) {
  static const int numbers[] = {0, 1, 3, 15};
  for (int i = 0; i < 4; ++i)
    if (memcmp(wanted[numbers[i]], seen[numbers[i]], 32) != 0) return 0;
  return 1;
}

// Changes the registers, and in the frame the lower half of ymm1.
__attribute__((target("avx"))) static void handler(int number, siginfo_t* info, void* context) {
  (void)number, (void)info;
  ucontext_t* frame = context;
  memset(&frame->uc_mcontext.fpregs->_xmm[1], 0x5A, 16);
  __asm__ volatile("vzeroall" ::: "xmm0", "xmm1", "xmm3", "xmm15");
}

__attribute__((target("avx"))) static int state(unsigned seed) {
  srandom(seed);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 32; ++j) wanted[i][j] = random();
  // Bytes around the area say whether more was stored than CPUID tells.
  unsigned a, bytes, c, d, low, high;
  __cpuid_count(0xD, 0, a, bytes, c, d);
  memset(area, 0xEE, sizeof area);
  memset(area + 512, 0, 64);
  put(wanted);
  __asm__ volatile("xsave (%0)" ::"r"(area), "a"(-1), "d"(-1) : "memory");
  __asm__ volatile("vzeroall" ::: "xmm0", "xmm1", "xmm3", "xmm15");
  for (unsigned i = bytes; i < sizeof area; ++i)
    if (area[i] != 0xEE) return printf("byte %u is written behind %u\n", i, bytes), 1;
  __asm__ volatile("xrstor (%0)" ::"r"(area), "a"(-1), "d"(-1) : "memory");
  get(seen);
  if (!same()) return printf("lost by XRSTOR\n"), 1;
  // Of AVX alone: the lower halves stay.
  __asm__ volatile("vpxor %%xmm3, %%xmm3, %%xmm3; xrstor (%0)" ::"r"(area), "a"(4), "d"(0) : "memory", "xmm3");
  get(seen);
  for (int j = 0; j < 16; ++j)
    if (seen[3][j] != 0 || seen[3][16 + j] != wanted[3][16 + j]) return printf("XRSTOR of a part\n"), 1;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & a) != a) return printf("XCR0 %x, CPUID %x\n", low, a), 1;
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  sigaction(SIGUSR1, &action, 0);
  const long me = getpid();
  put(wanted);
  long result = 62;  // kill
  __asm__ volatile("syscall" : "+a"(result) : "D"(me), "S"((long)SIGUSR1) : "rcx", "r11", "memory");
  get(seen);
  memset(wanted[1], 0x5A, 16);
  puts(same() ? "kept" : "lost by a signal");
  return !same();
}

static int run(const char* name) {
  const unsigned char *bytes = 0, crc[] = {0xF2, 0x48, 0x0F, 0x38, 0xF1, 0xC8, 0xC3}, add[] = {0xC5, 0xFD, 0xFE, 0xC0, 0xC3},
                      shift[] = {0xC4, 0xE2, 0xF9, 0xF7, 0xC0, 0xC3}, wide[] = {0x62, 0xF1, 0x7D, 0x48, 0xFE, 0xC0, 0xC3},
                      encrypt[] = {0x66, 0x0F, 0x38, 0xDC, 0xC0, 0xC3}, zeros[] = {0xF3, 0x48, 0x0F, 0xBC, 0xC0, 0xC3};
  static unsigned char page[4096] __attribute__((aligned(4096)));
  const struct { const char* name; const unsigned char* code; unsigned size; } all[] = {
      {"crc32", crc, sizeof crc}, {"vpaddd", add, sizeof add}, {"shlx", shift, sizeof shift}, {"vpaddd-zmm", wide, sizeof wide},
      {"aesenc", encrypt, sizeof encrypt}, {"tzcnt", zeros, sizeof zeros}};
  for (unsigned i = 0; i < sizeof all / sizeof *all; ++i)
    if (strcmp(all[i].name, name) == 0) memcpy(page, bytes = all[i].code, all[i].size);
  extern int mprotect(void*, size_t, int);
  if (!bytes || mprotect(page, sizeof page, 7) != 0) return 2;
  ((void (*)(void))page)();
  return puts("ran") < 0;
}

int main(int count, char** words) {
  if (count == 2 && !strcmp(words[1], "facts")) return facts();
  if (count == 3 && !strcmp(words[1], "state")) return state((unsigned)atoi(words[2]));
  return count == 3 ? run(words[2]) : 2;
}
