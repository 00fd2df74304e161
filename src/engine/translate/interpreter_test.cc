// What the interpreter runs, the host runs too: the same bytes from the same registers, flags, vectors and memory, compared in all of them.
#include "engine/translate/interpreter.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ucontext.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "engine/isa_names.h"
#include "engine/translate/emitter.h"
#include "engine/translate/in_place_access.h"
#include "isa/decode.h"

namespace zs::engine {
namespace {

using Code = std::array<std::uint8_t, 16>;
constexpr std::uint64_t kStatusFlags = 0x8D5, kAlwaysSet = 0x202;

// Low, so that 32-bit displacements reach everything: a Context with its area for vectors, code, and memory for operands.
constexpr std::uint64_t kBase = 0x2000'0000, kCode = kBase + 0x10000, kMemory = kBase + 0x20000, kMemoryBytes = 0x2000;
constexpr std::uint64_t kPc = kCode + 0x800, kTaken = kPc + 0x60, kNoAccess = kMemory + kMemoryBytes;
constexpr std::size_t kVectors = kXsaveOffset + 160;

/// Everything that an instruction can change.
struct State {
  std::uint64_t gpr[16];
  std::uint64_t flags;
  std::uint64_t pc;
  std::array<std::byte, 256> vectors;
  std::array<std::byte, kMemoryBytes> memory;
};

void refuse(int, siginfo_t*, void* raw) {
  greg_t& pc = static_cast<ucontext_t*>(raw)->uc_mcontext.gregs[REG_RIP];
  if (!is_in_place_access(static_cast<std::uint64_t>(pc))) signal(SIGSEGV, SIG_DFL);
  pc = static_cast<greg_t>(reinterpret_cast<std::uint64_t>(&zs_in_place_access_refused));
}

class Interpreter : public testing::Test {
 protected:
  Interpreter() {
    void* const at = reinterpret_cast<void*>(kBase);
    constexpr std::size_t kAll = kNoAccess - kBase;
    EXPECT_EQ(
        mmap(at, kAll, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
        at);
    struct sigaction action = {};
    action.sa_sigaction = refuse;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &old_);
    const std::uint16_t x87_control = 0x37F;
    const std::uint32_t mxcsr = 0x1F80;
    std::memcpy(area(), &x87_control, sizeof x87_control);
    std::memcpy(area() + 24, &mxcsr, sizeof mxcsr);
    write_frame();
  }
  ~Interpreter() override {
    sigaction(SIGSEGV, &old_, nullptr);
    munmap(reinterpret_cast<void*>(kBase), kNoAccess - kBase);
  }
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  static Context& context() { return *reinterpret_cast<Context*>(kBase); }
  static std::byte* area() { return reinterpret_cast<std::byte*>(kBase + kXsaveOffset); }
  static void* memory() { return reinterpret_cast<void*>(kMemory); }

  /// Code that enters the instruction at kPc with what the Context holds, and two ends of it: behind it, and at kTaken.
  void write_frame() {
    Emitter out(kCode, kCode + 0x1000, kBase);
    const auto on_context = [&](std::initializer_list<unsigned> opcode, unsigned extension, std::size_t offset) {
      for (const unsigned byte : opcode) out.u8(byte);
      out.u8(0x05u | extension << 3);
      out.u32(Emitter::relative(kBase + offset, out.here() + 4));
    };
    constexpr unsigned kPushed[] = {kRbx, kRbp, kR12, kR13, kR14, kR15};
    for (const unsigned reg : kPushed) {
      if (reg >= 8) out.u8(0x41);
      out.u8(0x50u + (reg & 7u));
    }
    out.store(offsetof(Context, host_rsp), kRsp);
    on_context({0x48, 0x0F, 0xAE}, 1, kXsaveOffset);  // fxrstor64
    on_context({0xFF}, 6, offsetof(Context, flags));  // push [flags]
    out.u8(0x9D);                                     // popfq
    for (unsigned reg = 0; reg < 16; ++reg) out.load(static_cast<Gpr>(reg), 8 * reg);
    out.jmp(kPc);
    for (std::uint32_t end = 0; end < 2; ++end) {
      ends_[end] = out.here();
      for (unsigned reg = 0; reg < 16; ++reg) out.store(8 * reg, static_cast<Gpr>(reg));
      out.load(kRsp, offsetof(Context, host_rsp));
      out.u8(0x9C);                                     // pushfq
      on_context({0x8F}, 0, offsetof(Context, flags));  // pop [flags]
      out.store_imm32(offsetof(Context, exit_id), end);
      on_context({0x48, 0x0F, 0xAE}, 0, kXsaveOffset);  // fxsave64
      for (unsigned i = std::size(kPushed); i-- != 0;) out.pop(static_cast<Gpr>(kPushed[i]));
      out.u8(0xC3);
    }
    Emitter(kTaken, kTaken + 16, kBase).jmp(ends_[1]);
  }

  static void put(const State& state) {
    std::memcpy(context().gpr, state.gpr, sizeof state.gpr);
    context().flags = state.flags;
    std::memcpy(reinterpret_cast<void*>(kBase + kVectors), state.vectors.data(), state.vectors.size());
    std::memcpy(memory(), state.memory.data(), state.memory.size());
  }
  static void take(State& state) {
    std::memcpy(state.gpr, context().gpr, sizeof state.gpr);
    state.flags = context().flags;
    std::memcpy(state.vectors.data(), reinterpret_cast<void*>(kBase + kVectors), state.vectors.size());
    std::memcpy(state.memory.data(), memory(), state.memory.size());
  }

  void run_natively(State& state, const Code& code, unsigned length) {
    put(state);
    std::memcpy(reinterpret_cast<void*>(kPc), code.data(), length);
    Emitter(kPc + length, kPc + length + 8, kBase).jmp(ends_[0]);
    reinterpret_cast<void (*)()>(kCode)();
    take(state);
    state.pc = context().exit_id == 0 ? kPc + length : kTaken;
  }

  static bool run_interpreted(State& state, const Code& code, std::uint64_t in_use = 3, std::uint64_t fs = 0) {
    put(state);
    std::memcpy(area() + 512, &in_use, sizeof in_use);
    std::memcpy(reinterpret_cast<void*>(kPc), code.data(), code.size());
    state.pc = kPc;
    InterpretedState interpreted{
        .gpr = context().gpr, .flags = context().flags, .pc = state.pc, .fs = fs, .xsave = area()};
    const bool known = interpret(interpreted, reinterpret_cast<const std::uint8_t*>(kPc));
    take(state);
    return known;
  }

  static std::string differences(const State& a, const State& b) {
    std::string out;
    char text[96];
    for (unsigned reg = 0; reg < 16; ++reg) {
      if (a.gpr[reg] == b.gpr[reg]) continue;
      std::snprintf(text, sizeof text, " gpr%u %llx for %llx", reg, static_cast<unsigned long long>(a.gpr[reg]),
                    static_cast<unsigned long long>(b.gpr[reg]));
      out += text;
    }
    if (((a.flags ^ b.flags) & kStatusFlags) != 0) {
      std::snprintf(text, sizeof text, " flags %llx for %llx", static_cast<unsigned long long>(a.flags & kStatusFlags),
                    static_cast<unsigned long long>(b.flags & kStatusFlags));
      out += text;
    }
    if (a.pc != b.pc) out += " pc";
    if (a.vectors != b.vectors) out += " vectors";
    if (a.memory != b.memory) out += " memory";
    return out;
  }

  State random_state() {
    constexpr std::uint64_t kEdges[] = {0,          1,           0x7F,       0x80,           0x7FFF,          0x8000,
                                        0x7FFFFFFF, 0x80000000u, UINT64_MAX, UINT64_MAX - 1, UINT64_MAX << 63};
    State state;
    for (auto& byte : state.vectors) byte = static_cast<std::byte>(random_());
    const bool targets = random_() % 4 == 0;
    for (std::size_t i = 0; i < kMemoryBytes; i += 8) {
      const std::uint64_t value = targets              ? kTaken
                                  : random_() % 3 == 0 ? kEdges[random_() % std::size(kEdges)]
                                                       : random_();
      std::memcpy(state.memory.data() + i, &value, sizeof value);
    }
    for (std::uint64_t& gpr : state.gpr) {
      switch (random_() % 8) {
        case 0: gpr = kEdges[random_() % std::size(kEdges)]; break;
        case 1: gpr = random_(); break;
        case 2: gpr = targets ? kTaken : random_() & UINT32_MAX; break;
        case 3: gpr = random_() % 64; break;
        default: gpr = kMemory + 0x800 + random_() % 0x800; break;
      }
    }
    if (random_() % 2 == 0) {
      for (std::uint64_t& gpr : state.gpr) gpr &= ~std::uint64_t{15};  // what is aligned, and targets
    }
    state.gpr[kRsp] = kMemory + 0x800 + 8 * (random_() % 0x100);
    state.flags = kAlwaysSet | (random_() & kStatusFlags);
    return state;
  }

  /// Whether all that it touches is memory for operands.
  static bool stays_inside(const Insn& insn, const State& state) {
    for (std::size_t i = 0; i < insn.memory_count; ++i) {
      const MemoryOperand& operand = insn.memory[i];
      if (operand.fs || operand.gs || operand.address32 || operand.vector_index || operand.bit_register >= 0)
        return false;
      auto address = static_cast<std::uint64_t>(operand.displacement);
      if (operand.rip_relative) address += insn.next();
      if (operand.base >= 0) address += state.gpr[operand.base];
      if (operand.index >= 0) address += state.gpr[operand.index] * operand.scale;
      if (address < kMemory || address + 64 > kMemory + kMemoryBytes) return false;
    }
    return true;
  }

  /// Some encoding of an opcode; its displacement may reach memory for operands, and leads to kTaken where it is a branch.
  Code random_code(bool two_bytes, unsigned opcode) {
    Code code{};
    std::size_t at = 0;
    if (random_() % 4 == 0) code[at++] = 0x66;
    if (random_() % 4 == 0) code[at++] = random_() % 2 == 0 ? 0xF3 : 0xF2;
    if (random_() % 2 == 0) code[at++] = static_cast<std::uint8_t>(0x40 | (random_() & 15));
    if (two_bytes) code[at++] = 0x0F;
    code[at++] = static_cast<std::uint8_t>(opcode);
    for (std::size_t i = at; i < code.size(); ++i) code[i] = static_cast<std::uint8_t>(random_());
    if (random_() % 4 == 0) {
      const auto absolute = static_cast<std::uint32_t>(kMemory + 0x800 + 16 * (random_() % 0x80));
      const bool relative = random_() % 2 == 0;
      code[at] = static_cast<std::uint8_t>((code[at] & 0x38u) | (relative ? 5u : 4u));
      if (!relative) code[++at] = 0x25;
      const std::uint32_t displacement = relative ? absolute - static_cast<std::uint32_t>(kPc) : absolute;
      std::memcpy(code.data() + at + 1, &displacement, sizeof displacement);
    } else if (random_() % 2 == 0 && (code[at] >> 6) != 3) {
      code[at] = static_cast<std::uint8_t>((code[at] & 0x3Fu) | 0x40u);  // a displacement of one byte
    }
    const auto insn = decode(kPc, std::span(code).first(15), false);
    if (!insn || insn->target == 0) return code;
    const std::uint64_t next = kPc + insn->length;
    if (const bool is_short = !two_bytes && opcode != 0xE8 && opcode != 0xE9; is_short) {
      code[insn->length - 1u] = static_cast<std::uint8_t>(kTaken - next);
    } else {
      const auto displacement = static_cast<std::uint32_t>(kTaken - next);
      std::memcpy(code.data() + insn->length - 4, &displacement, sizeof displacement);
    }
    return code;
  }

  std::mt19937_64 random_{1};
  std::uint64_t ends_[2] = {};
  struct sigaction old_ = {};
};

/// Opcodes that must be among what is known, in some of their forms.
std::vector<unsigned> known(bool two_bytes) {
  std::vector<unsigned> opcodes;
  const auto add = [&](unsigned first, unsigned last) {
    for (unsigned opcode = first; opcode <= last; ++opcode) opcodes.push_back(opcode);
  };
  if (two_bytes) {
    add(0x10, 0x13), add(0x16, 0x17), add(0x1F, 0x1F), add(0x28, 0x29), add(0x40, 0x4F), add(0x57, 0x57),
        add(0x6C, 0x6C);
    add(0x6E, 0x6F), add(0x7E, 0x9F), add(0xA3, 0xA3), add(0xAF, 0xAF), add(0xB6, 0xB7), add(0xBA, 0xBA);
    add(0xBC, 0xBF), add(0xC8, 0xCF), add(0xD6, 0xD6), add(0xEF, 0xEF);
    return opcodes;
  }
  for (unsigned alu = 0; alu < 8; ++alu) add(8 * alu, 8 * alu + 5);
  add(0x50, 0x5F), add(0x63, 0x63), add(0x68, 0x6B), add(0x70, 0x81), add(0x83, 0x8B), add(0x8D, 0x8D), add(0x90, 0x90);
  add(0x98, 0x99), add(0xA8, 0xA9), add(0xB0, 0xC1), add(0xC3, 0xC3), add(0xC6, 0xC7), add(0xC9, 0xC9), add(0xD0, 0xD3);
  add(0xE8, 0xE9), add(0xEB, 0xEB), add(0xF6, 0xF7), add(0xFE, 0xFF);
  return opcodes;
}

TEST_F(Interpreter, DoesWhatTheHostDoes) {
  constexpr int kTries = 600;
  for (const bool two_bytes : {false, true}) {
    std::array<int, 256> ran{};
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
      for (int i = 0; i < kTries; ++i) {
        const Code code = random_code(two_bytes, opcode);
        const auto insn = decode(kPc, std::span(code).first(15), false);
        const State before = random_state();
        if (!insn || !stays_inside(*insn, before)) continue;
        State interpreted = before;
        const bool is_known = run_interpreted(interpreted, code);
        std::string shown;
        for (unsigned at = 0; at < insn->length; ++at) {
          char byte[8];
          std::snprintf(byte, sizeof byte, "%02x ", code[at]);
          shown += byte;
        }
        if (!is_known) {
          EXPECT_EQ(differences(interpreted,
                                [&] {
                                  State same = before;
                                  same.pc = kPc;
                                  return same;
                                }()),
                    "")
              << shown;
          continue;
        }
        if (interpreted.pc != kPc + insn->length && interpreted.pc != kTaken) continue;  // a wild indirect jump
        State native = before;
        run_natively(native, code, insn->length);
        ASSERT_EQ(differences(interpreted, native), "") << shown;
        ++ran[opcode];
      }
    }
    for (const unsigned opcode : known(two_bytes))
      EXPECT_GT(ran[opcode], 5) << std::hex << opcode << (two_bytes ? " behind 0F" : "");
  }
}

TEST_F(Interpreter, EndbrIsNothing) {
  const State before = random_state();
  State state = before;
  ASSERT_TRUE(run_interpreted(state, {0xF3, 0x0F, 0x1E, 0xFA}));
  EXPECT_EQ(state.pc, kPc + 4);
  state.pc = before.pc;
  EXPECT_EQ(differences(state, before), "");
}

TEST_F(Interpreter, FsIsAddedToAddresses) {
  State state = random_state();
  const std::uint64_t value = 0x1122'3344'5566'7788;
  std::memcpy(state.memory.data() + 0x28, &value, sizeof value);
  ASSERT_TRUE(run_interpreted(state, {0x64, 0x48, 0x8B, 0x04, 0x25, 0x28, 0, 0, 0}, 3, kMemory));  // mov rax, fs:[28h]
  EXPECT_EQ(state.gpr[kRax], value);
}

TEST_F(Interpreter, VectorsThatAreNotInUseAreZero) {
  State state = random_state();
  state.gpr[kRax] = 7;
  ASSERT_TRUE(run_interpreted(state, {0x66, 0x48, 0x0F, 0x6E, 0xC8}, 1));  // movq xmm1, rax
  std::array<std::byte, 256> expected{};
  expected[16] = std::byte{7};
  EXPECT_EQ(state.vectors, expected);
  std::uint64_t in_use;
  std::memcpy(&in_use, area() + 512, sizeof in_use);
  EXPECT_EQ(in_use, 3U);
}

struct Refused {
  const char* name;
  Code code;
};

/// At the end of what is mapped, rcx 8 bytes before it; rsp may not be used at all.
constexpr Refused kRefused[] = {
    {"a load", {0x48, 0x8B, 0x41, 0x08}},                 // mov rax, [rcx + 8]
    {"a store", {0x48, 0x89, 0x41, 0x08}},                // mov [rcx + 8], rax
    {"a store to both sides", {0x48, 0x89, 0x41, 0x04}},  // mov [rcx + 4], rax
    {"a vector to both sides", {0x0F, 0x11, 0x01}},       // movups [rcx], xmm0
    {"a misaligned vector", {0x0F, 0x29, 0x41, 0xF1}},    // movaps [rcx - 15], xmm0
    {"an addition to memory", {0x48, 0x01, 0x41, 0x08}},  // add [rcx + 8], rax
    {"a call", {0xE8, 0, 0, 0, 0}},
    {"a push", {0x50}},
    {"a pop", {0x58}},
    {"a return", {0xC3}},
    {"a locked addition", {0xF0, 0x48, 0x01, 0x01}},  // lock add [rcx], rax
    {"an exchange with memory", {0x48, 0x87, 0x01}},  // xchg [rcx], rax
    {"a division", {0x48, 0xF7, 0xF1}},
    {"a system call", {0x0F, 0x05}},
    {"a trap", {0xCC}},
    {"a string", {0xF3, 0xA4}},
    {"a pause", {0xF3, 0x90}},
    {"an exchange with r8", {0x49, 0x90}},
    {"a bit that may lie far away", {0x48, 0x0F, 0xA3, 0x01}},  // bt [rcx], rax
    {"a far call", {0xFF, 0x19}},
    {"a wrong prefix", {0x66, 0xE8, 0, 0, 0, 0}},
    {"gs", {0x65, 0x48, 0x8B, 0x01}},
    {"an address of 32 bits", {0x67, 0x48, 0x8B, 0x01}},
    {"what is an instruction of AVX", {0xC5, 0xF8, 0x10, 0x01}},
};

TEST_F(Interpreter, WhatIsRefusedChangesNothing) {
  for (const Refused& refused : kRefused) {
    State before = random_state();
    before.gpr[kRcx] = kNoAccess - 8;
    before.gpr[kRsp] = kNoAccess + 8;
    before.pc = kPc;
    State state = before;
    EXPECT_FALSE(run_interpreted(state, refused.code)) << refused.name;
    EXPECT_EQ(differences(state, before), "") << refused.name;
  }
}

/// It is loaded before it is found that it cannot be stored.
TEST_F(Interpreter, MemoryThatCannotBeWrittenIsRefused) {
  State before = random_state();
  before.gpr[kRcx] = kMemory;
  before.pc = kPc;
  put(before);
  std::memcpy(reinterpret_cast<void*>(kPc), "\x48\x01\x01", 3);  // add [rcx], rax
  ASSERT_EQ(mprotect(memory(), kMemoryBytes, PROT_READ), 0);
  std::uint64_t pc = kPc;
  InterpretedState state{.gpr = context().gpr, .flags = context().flags, .pc = pc, .fs = 0, .xsave = area()};
  EXPECT_FALSE(interpret(state, reinterpret_cast<const std::uint8_t*>(kPc)));
  ASSERT_EQ(mprotect(memory(), kMemoryBytes, PROT_READ | PROT_WRITE), 0);
  State after = before;
  take(after);
  EXPECT_EQ(pc, kPc);
  EXPECT_EQ(differences(after, before), "");
}

}  // namespace
}  // namespace zs::engine
