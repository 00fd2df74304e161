/* Blocks with published cycles:  published_blocks            lists them: kind, cycles, text, a line each
 *                                published_blocks NUMBER ROUNDS   runs 32 instructions of that one in each round */
#include <stdio.h>
#include <stdlib.h>

enum Kind { kVector, kGeneral, kWide, kChain };
static const char* const names[] = {"independent", "independent", "independent", "chain"};

#define EACH_kVector(text) ".rept 4\n.irp d,0,1,2,3,4,5,6,7\n" text "\n.endr\n.endr\n"
#define EACH_kGeneral(text) ".rept 4\n.irp d,eax,ecx,edx,esi,r8d,r9d,r10d,r11d\n" text "\n.endr\n.endr\n"
#define EACH_kWide(text) ".rept 4\n.irp d,rax,rcx,rdx,rsi,r8,r9,r10,r11\n" text "\n.endr\n.endr\n"
#define EACH_kChain(text) ".rept 32\n" text "\n.endr\n"

typedef void Run(long rounds);
#define CONCAT(a, b) a##b
#define NAME(line) CONCAT(run_, line)

/* Ones everywhere: no value is slow. */
#define BLOCK(kind, cycles, text)                                                                                     \
  static void NAME(__LINE__)(long rounds) {                                                                           \
    const double one = 1;                                                                                             \
    __asm__ volatile(                                                                                                 \
        "vbroadcastsd %1, %%ymm15\n vmovapd %%ymm15, %%ymm14\n"                                                       \
        ".irp d,0,1,2,3,4,5,6,7\n vmovapd %%ymm15, %%ymm\\d\n.endr\n"                                                 \
        ".p2align 6\n1:\n" EACH_##kind(text) "dec %0\n jnz 1b\n vzeroupper"                                           \
        : "+D"(rounds)                                                                                                \
        : "m"(one)                                                                                                    \
        : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", \
          "xmm7", "xmm14", "xmm15", "cc");                                                                            \
  }
#include "published_blocks.def"
#undef BLOCK

static const struct {
  enum Kind kind;
  double cycles;
  const char* text;
  Run* run;
} blocks[] = {
#define BLOCK(kind, cycles, text) {kind, cycles, text, NAME(__LINE__)},
#include "published_blocks.def"
};
enum { kBlocks = sizeof blocks / sizeof *blocks };

int main(int argc, char** argv) {
  if (argc != 3) {
    for (int i = 0; i < kBlocks; ++i) printf("%s\t%g\t%s\n", names[blocks[i].kind], blocks[i].cycles, blocks[i].text);
    return 0;
  }
  const int number = atoi(argv[1]);
  if (number < 0 || number >= kBlocks) return 1;
  blocks[number].run(atol(argv[2]));
  return 0;
}
