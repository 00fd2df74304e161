// Instructions that nobody chose: one after the other runs with registers and memory that a seed gives, first alone with the trap flag
// on, then, of those that went on to the next instruction, several as a block. What comes of each (the signal, registers, flags,
// vector registers, memory) goes into a sum; so two runs of one seed print the same, natively and elsewhere.
//   random_instructions SEED FIRST COUNT [show]     show: a line for each instruction; tests/suites/compare_random compares them
// Every instruction is a function of the seed and its number alone. Left out is what is not a function of the program (time, random
// numbers, descriptor tables), what ends or changes the process (system calls, segment bases, PKRU), and transfers that
// zeroskid refuses by name. Not compared: where the x87 says that its last instruction was.
// build: static -O1 -fno-stack-protector -mno-avx -fcf-protection=none
// run: 12 0 300
// run: 14 0 300
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <cpuid.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "guest.h"
#include "random.h"

// Multiples of these by 2, 3, 5 and 9, and their low halves, are no address of anything.
static uint8_t* const code = (uint8_t*)0x300004000000;
static uint8_t* const data = (uint8_t*)0x300008000000;
enum { PAGE = 4096, DATA_BYTES = 2 * PAGE, LONGEST = 15, IN_BLOCK = 8, ODD = 9 };

// ---- what runs ------------------------------------------------------------------------------------------------

enum map { ONE_BYTE, TWO_BYTES, MAP_38, MAP_3A, VEX, EVEX, OTHER_MAPS };
struct made {
  uint8_t bytes[32];
  unsigned length;  // with all the immediates that it might have
  enum map map;
  unsigned table;  // of VEX and EVEX: which opcode map
  uint8_t opcode, modrm;
  bool short_addresses, f3;
};

static void put(struct made* it, unsigned byte) { it->bytes[it->length++] = (uint8_t)byte; }

static void put_operands(struct made* it) {
  static const uint8_t mods[] = {0, 1, 2, 3, 3};
  const unsigned mod = mods[below(sizeof mods)], reg = below(8), rm = below(8);
  it->modrm = (uint8_t)(mod << 6 | reg << 3 | rm);
  put(it, it->modrm);
  unsigned base = rm;
  if (mod != 3 && rm == 4) {
    const unsigned sib = below(256);
    base = sib & 7;
    put(it, sib);
  }
  unsigned bytes = mod == 1 ? 1 : mod == 2 || (mod == 0 && base == 5) ? 4 : 0;
  if (bytes != 0) {
    const int32_t displacement = (int)below(256) - 128;
    for (unsigned i = 0; i < bytes; ++i) put(it, (unsigned)(displacement >> 8 * i) & 255);
  }
  for (unsigned i = 0; i < 8; ++i) put(it, below(256));  // immediates
}

static void make(struct made* it) {
  memset(it, 0, sizeof *it);
  static const uint8_t prefixes[] = {0x66, 0x66, 0xF2, 0xF2, 0xF3, 0xF3, 0x2E, 0x3E, 0x26, 0x36, 0x65, 0xF0, 0x67};
  for (unsigned n = below(8); n > 5; --n) {
    const unsigned prefix = prefixes[below(sizeof prefixes)];
    it->short_addresses |= prefix == 0x67;
    it->f3 |= prefix == 0xF3;
    put(it, prefix);
  }
  const unsigned which = below(100);
  it->map = which < 35 ? ONE_BYTE : which < 60 ? TWO_BYTES : which < 68 ? MAP_38 : which < 74 ? MAP_3A : which < 87 ? VEX : EVEX;
  it->opcode = (uint8_t)below(256);
  if (it->map <= MAP_3A) {
    if (one_in(2)) put(it, 0x40 | below(16));
    if (it->map != ONE_BYTE) put(it, 0x0F);
    if (it->map == MAP_38) put(it, 0x38);
    if (it->map == MAP_3A) put(it, 0x3A);
  } else if (it->map == VEX) {
    if (one_in(2)) {
      it->table = 1;
      put(it, 0xC5);
      put(it, below(256));
    } else {
      it->table = 1 + below(3);
      put(it, 0xC4);
      put(it, below(8) << 5 | it->table);
      put(it, below(256));
    }
  } else {
    it->table = 1 + below(6);
    put(it, 0x62);
    put(it, (below(16) << 4) | it->table);
    put(it, below(256) | 4);
    put(it, below(256));
  }
  put(it, it->opcode);
  put_operands(it);
}

// What would not be the same twice, or is not for this process to do.
static bool is_left_out(const struct made* it) {
  const bool repeats = memchr(it->bytes, 0xF2, 5) != NULL || memchr(it->bytes, 0xF3, 5) != NULL;
  const unsigned op = it->opcode, reg = it->modrm >> 3 & 7;
  if (it->map == ONE_BYTE) {
    switch (op) {
      case 0x0F: case 0x26: case 0x2E: case 0x36: case 0x3E: case 0x64: case 0x65: case 0x66: case 0x67: case 0xF0: case 0xF2:
      case 0xF3: case 0x62: case 0xC4: case 0xC5:  // prefixes: another instruction follows, of another map
        return true;
      case 0x8E: return true;                         // MOV to a segment register
      case 0x8C: return true;                         // MOV from one: the kernel's choice
      case 0x9D: return true;                         // POPF: the alignment check would be on in the handler, too
      case 0xC2: case 0xC3: return true;              // to where nothing is: as wild branches, said elsewhere
      case 0x6C: case 0x6D: case 0x6E: case 0x6F: case 0xA4: case 0xA5: case 0xA6: case 0xA7: case 0xAA: case 0xAB: case 0xAC:
      case 0xAD: case 0xAE: case 0xAF: return repeats;  // the trap flag comes behind each repetition
      case 0xCA: case 0xCB: case 0xCF: return true;   // far returns
      case 0xCD: return true;                         // INT n: system calls, and what software_interrupts.c has
      case 0xFF: return reg >= 2 && reg <= 5;         // calls and jumps to anywhere
      case 0xC7: case 0xC6: return reg == 7;          // XBEGIN, XABORT
      case 0xE8: case 0xE9: return it->length > 0 && memchr(it->bytes, 0x66, 5) != NULL;
      default: return (op & 0xF0) == 0x40 || ((op & 0xF0) == 0x70 && memchr(it->bytes, 0x66, 5) != NULL) ||
                      ((op >= 0xE0 && op <= 0xE3) || op == 0xEB || op == 0xC2 || op == 0xC3 ? memchr(it->bytes, 0x66, 5) != NULL : false);
    }
  }
  if (it->map == TWO_BYTES) {
    switch (op) {
      case 0x00: return true;                                       // SLDT, STR, VERR, ...
      case 0x01: return true;                                       // SGDT, XGETBV, RDTSCP, MONITORX, WRPKRU, ...
      case 0x02: case 0x03: return true;                            // LAR, LSL
      case 0x05: case 0x07: case 0x34: case 0x35: return true;      // SYSCALL, SYSENTER
      case 0x20: case 0x22: return memchr(it->bytes, 0xF0, 5) != NULL;  // MOV CR0 is CR8 with LOCK on some AMD: privileged, or none
      case 0x31: case 0xA2: return true;                            // RDTSC, CPUID
      case 0x38: case 0x3A: return true;
      case 0xA0: case 0xA1: case 0xA8: case 0xA9: case 0xB2: case 0xB4: case 0xB5: return true;  // segment registers
      case 0xAE: return true;                                       // XSAVE and its kin, WRFSBASE
      case 0xC7: return reg != 1;                                   // XSAVEC, RDRAND, RDSEED, RDPID
      default: return (op & 0xF0) == 0x80 && memchr(it->bytes, 0x66, 5) != NULL;
    }
  }
  if (it->map == VEX && it->table == 1 && op == 0xAE) return true;
  // VPERMQ, VPERMPD: their W must be 1, but not all processors look.
  if (it->map == VEX && it->table == 3 && op <= 1) return true;
  return false;
}

// Not in a block: what may lead somewhere else, with other flags, and FNSTENV and FNSAVE, which store where the
// instruction before was.
static bool is_alone(const struct made* it) {
  const unsigned op = it->opcode;
  if (it->map == ONE_BYTE && (op == 0xD9 || op == 0xDD) && it->modrm < 0xC0 && (it->modrm >> 3 & 7) == 6) return true;
  if (it->map == ONE_BYTE)
    return (op & 0xF0) == 0x70 || (op >= 0xE0 && op <= 0xE3) || op == 0xE8 || op == 0xE9 || op == 0xEB || op == 0xC2 || op == 0xC3 ||
           op == 0xFF || op == 0x9D || op == 0xCC || op == 0xF1;
  return it->map == TWO_BYTES && (op & 0xF0) == 0x80;
}

// ---- what it runs with, and what came of it ------------------------------------------------------------------------

enum { LEGACY = 512, HEADER = 576, COMPONENTS = 8 };
static struct { unsigned offset, size; } component[COMPONENTS];
static const unsigned compared[] = {2, 5, 6, 7};  // AVX, opmask, the upper halves of ZMM0-15, ZMM16-31
static uint64_t enabled;

static void ask_components(void) {
  unsigned a, b, c, d;
  __cpuid_count(0xD, 0, a, b, c, d);
  enabled = a;
  for (unsigned i = 2; i < COMPONENTS; ++i) {
    __cpuid_count(0xD, i, a, b, c, d);
    component[i].size = a;
    component[i].offset = b;
  }
}

static uint64_t some_value(void) {
  switch (below(4)) {
    case 0: return below(64);
    case 1: return any();
    case 2: return (uint64_t)0x3FF0000000000000 + (any() >> 14);  // near 1.0
    default: return any() >> below(64);
  }
}

static void set_registers(ucontext_t* uc, bool traps, bool low_only) {
  static const int general[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_R8,
                                REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RSP};
  greg_t* regs = uc->uc_mcontext.gregs;
  for (unsigned i = 0; i < 16; ++i) {
    const unsigned kind = below(8);
    uint64_t value = (uint64_t)data + 2048 + below(PAGE);
    if (kind == 0) value = below(64);
    if (kind == 1) value = (uint64_t)-(int64_t)below(64);
    if (kind == 2 && !low_only) value = any() | (uint64_t)1 << 63 | 1;
    if (kind == 2 && !low_only && one_in(2)) value = (value & ~((uint64_t)1 << 62)) | (uint64_t)1 << 47;  // not canonical
    regs[general[i]] = (greg_t)value;
  }
  regs[REG_RSP] = (greg_t)((uint64_t)data + 2048 + (below(PAGE) & ~7u));
  const uint64_t status = 0x8D5 | (one_in(4) ? 0x400 : 0);
  regs[REG_EFL] = (greg_t)((any() & status) | 0x202 | (traps ? 0x100 : 0));
  regs[REG_RIP] = (greg_t)code;

  uint8_t* fp = (uint8_t*)uc->uc_mcontext.fpregs;
  const uint16_t control = one_in(8) ? (uint16_t)(0x7F | below(16) << 8) : 0x37F;
  const uint8_t tags = (uint8_t)below(256);
  memset(fp, 0, 24);
  memcpy(fp, &control, 2);
  fp[3] = (uint8_t)(below(8) << 3);
  fp[4] = one_in(2) ? tags : 0;
  const uint32_t mxcsr = 0x1F80 | (one_in(8) ? (below(4) << 13) | (below(4) & 1u) << 6 | (below(2) << 15) : 0);
  memcpy(fp + 24, &mxcsr, 4);
  for (unsigned at = 32; at < 160; at += 16) {
    const uint64_t mantissa = any() | (uint64_t)1 << 63;
    const uint64_t exponent = 0x3FF0 + below(32) + (one_in(2) ? 0x8000 : 0);
    memcpy(fp + at, &mantissa, 8);
    memcpy(fp + at + 8, &exponent, 8);
  }
  for (unsigned at = 160; at < 416; at += 8) {
    const uint64_t value = some_value();
    memcpy(fp + at, &value, 8);
  }
  uint64_t present = 3;
  for (unsigned i = 0; i < sizeof compared / sizeof *compared; ++i) {
    const unsigned which = compared[i];
    if ((enabled >> which & 1) == 0) continue;
    present |= (uint64_t)1 << which;
    for (unsigned at = 0; at < component[which].size; at += 8) {
      const uint64_t value = some_value();
      memcpy(fp + component[which].offset + at, &value, 8);
    }
  }
  uint64_t header;
  memcpy(&header, fp + LEGACY, 8);
  header |= present;
  memcpy(fp + LEGACY, &header, 8);
}

static uint64_t words_sum(uint64_t sum, const void* from, size_t bytes) {
  const uint8_t* at = (const uint8_t*)from;
  for (size_t i = 0; i + 8 <= bytes; i += 8) {
    uint64_t word;
    memcpy(&word, at + i, 8);
    sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
    sum ^= sum >> 32;
  }
  return sum;
}

static uint64_t data_sum;
static void fill_data(void) {
  uint64_t x = 88172645463325252u;
  for (unsigned i = 0; i < DATA_BYTES; i += 8) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    memcpy(data + i, &x, 8);
  }
  data_sum = words_sum(GUEST_SUM, data, DATA_BYTES);
}

struct outcome {
  int signal, si_code;
  uint64_t registers, flags, vectors, memory, pc, address;
};

static void look(struct outcome* it, int signal, const siginfo_t* info, ucontext_t* uc) {
  const greg_t* regs = uc->uc_mcontext.gregs;
  const bool has_address = (signal == SIGSEGV || signal == SIGBUS) && info->si_code > 0 && info->si_code != SI_KERNEL;
  it->signal = signal;
  it->si_code = info->si_code;
  it->pc = (uint64_t)regs[REG_RIP] - (uint64_t)code;
  it->flags = (uint64_t)regs[REG_EFL];
  it->address = has_address ? (uint64_t)info->si_addr : 0;
  it->registers = words_sum(GUEST_SUM, regs, REG_RIP * sizeof *regs);
  it->registers = words_sum(it->registers, &regs[REG_TRAPNO], sizeof *regs);
  it->registers = words_sum(it->registers, &regs[REG_ERR], sizeof *regs);
  const uint8_t* fp = (const uint8_t*)uc->uc_mcontext.fpregs;
  uint64_t head[4] = {0};
  memcpy(head, fp, 5);           // control, status, tags
  memcpy(&head[1], fp + 24, 4);  // MXCSR
  memcpy(&head[2], fp + LEGACY, 8);
  const uint64_t present = head[2];
  head[2] = 0;
  uint64_t sum = words_sum(GUEST_SUM, head, sizeof head);
  for (unsigned at = 32; at < 160; at += 16) {
    uint64_t x87[2] = {0};
    memcpy(x87, fp + at, 10);
    sum = words_sum(sum, x87, sizeof x87);
  }
  sum = words_sum(sum, fp + 160, 256);
  static const uint8_t initial[1024];
  for (unsigned i = 0; i < sizeof compared / sizeof *compared; ++i) {
    const unsigned which = compared[i];
    if ((enabled >> which & 1) == 0) continue;
    const bool there = (present >> which & 1) != 0;
    sum = words_sum(sum, there ? fp + component[which].offset : initial, component[which].size);
  }
  it->vectors = sum;
  it->memory = words_sum(GUEST_SUM, data, DATA_BYTES);
  if (it->memory != data_sum) fill_data();
}

// ---- one after the other ---------------------------------------------------------------------------------------

static uint64_t seed, number, end, total = GUEST_SUM;
static bool show;
static struct made running;
static uint8_t block[IN_BLOCK * LONGEST + 1];
static unsigned block_length, in_block, block_runs;
static bool runs_block, begun, low_only;
static ucontext_t finish;

static void print(const char* what, const uint8_t* bytes, unsigned length, const struct outcome* it) {
  char text[2 * sizeof block + 1] = "";
  for (unsigned i = 0; i < length; ++i) snprintf(text + 2 * i, 3, "%02x", bytes[i]);
  printf("%lu %s %s: signal %d code %d at %lx pc %lx flags %lx registers %lx vectors %lx memory %lx\n", number, what, text, it->signal,
         it->si_code, it->address, it->pc, it->flags, it->registers, it->vectors, it->memory);
}

static void start(ucontext_t* uc, bool traps) {
  __builtin___clear_cache((char*)code, (char*)code + PAGE);
  set_registers(uc, traps, low_only);
}

static void begin_next(ucontext_t* uc) {
  if (number == end) {
    setcontext(&finish);
    __builtin_unreachable();
  }
  state = seed * 0xd1342543de82ef95u + number * 0x2545f4914f6cdd1du;
  do {
    make(&running);
  } while (is_left_out(&running));
  low_only = running.short_addresses;
  memset(code, 0xCC, PAGE);  // an instruction may have written there
  memcpy(code, running.bytes, running.length);
  start(uc, true);
}

static void on_signal(int signal, siginfo_t* info, void* raw) {
  ucontext_t* uc = (ucontext_t*)raw;
  struct outcome it;
  if (begun) {
    look(&it, signal, info, uc);
    total = words_sum(total, &it, sizeof it);
    if (runs_block) {
      if (show) print("block", block, block_length, &it);
      runs_block = false;
      in_block = block_length = 0;
      ++number;
    } else {
      const unsigned length = (unsigned)it.pc;
      if (show) print("alone", running.bytes, it.pc <= LONGEST && it.pc != 0 ? length : running.length, &it);
      const bool went_on = signal == SIGTRAP && info->si_code == TRAP_TRACE && it.pc != 0 && it.pc <= LONGEST;
      if (went_on && !is_alone(&running) && !running.short_addresses) {
        memcpy(block + block_length, code, length);
        block_length += length;
        ++in_block;
      }
      if (in_block == IN_BLOCK) {
        runs_block = true;
        block[block_length++] = 0xCC;
        memset(code, 0xCC, PAGE);
        memcpy(code, block, block_length);
        low_only = false;
        ++block_runs;
        return start(uc, false);
      }
      ++number;
    }
  }
  begun = true;
  begin_next(uc);
}

int main(int count, char** words) {
  seed = count > 1 ? strtoull(words[1], 0, 10) : 1;
  number = count > 2 ? strtoull(words[2], 0, 10) : 0;
  end = number + (count > 3 ? strtoull(words[3], 0, 10) : 1000);
  show = count > 4;
  setvbuf(stdout, NULL, _IOLBF, 0);
  ask_components();
  GUEST_CHECK(mmap(code, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == code);
  GUEST_CHECK(mmap(data, DATA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == data);
  GUEST_CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, data) == 0);
  fill_data();
  static uint8_t stack[1 << 16];
  const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  GUEST_CHECK(sigaltstack(&alternate, 0) == 0);
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
  sigfillset(&action.sa_mask);
  static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
  for (unsigned i = 0; i < sizeof signals / sizeof *signals; ++i) sigaction(signals[i], &action, 0);
  volatile bool over = false;
  getcontext(&finish);
  if (!over) {
    over = true;
    raise(SIGTRAP);
  }
  printf("seed %lu up to %lu: %lx\n", seed, end, total);
  return 0;
}
