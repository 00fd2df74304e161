// The fast decoder says the same as Zydis, field by field, or nothing. Opcodes are tried exhaustively, the rest in
// every shape that decides anything. Where it says nothing there is nothing to compare, so these tests spend their time
// on what it does answer.
#include "isa/fast_decode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "isa/loaded_code.h"

namespace zs::isa {
namespace {

using Code = std::array<std::uint8_t, 15>;
constexpr std::uint64_t kPc = 0x7FFF'F000'1000;

/// Names of the fields in which the two differ; "" if they are equal.
std::string differences(const Insn& fast, const Insn& zydis) {
  // These do not compile once a field is added: fast_decode() must write it, stale() set it, and this compare it.
  [[maybe_unused]] const auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19,
                                f20, f21] = fast;
  [[maybe_unused]] const auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14] = fast.memory[0];
  std::string out;
  const auto compare = [&out](const char* field, auto a, auto b) {
    if (a == b) return;
    out += std::string(" ") + field + " " + std::to_string(static_cast<long long>(a)) + " for " +
           std::to_string(static_cast<long long>(b));
  };
  compare("pc", fast.pc, zydis.pc);
  compare("target", fast.target, zydis.target);
  if (fast.bytes != zydis.bytes) out += " bytes";
  compare("length", fast.length, zydis.length);
  compare("flow", fast.flow, zydis.flow);
  compare("condition", fast.condition, zydis.condition);
  compare("return_pop", fast.return_pop, zydis.return_pop);
  compare("target_register", fast.target_register, zydis.target_register);
  compare("facts.branch", fast.facts.branch, zydis.facts.branch);
  compare("facts.fp", fast.facts.fp, zydis.facts.fp);
  compare("facts.fp_weight", fast.facts.fp_weight, zydis.facts.fp_weight);
  compare("facts.loads", fast.facts.loads, zydis.facts.loads);
  compare("facts.stores", fast.facts.stores, zydis.facts.stores);
  compare("facts.nop", fast.facts.nop, zydis.facts.nop);
  compare("facts.prefetch", fast.facts.prefetch, zydis.facts.prefetch);
  compare("facts.locked", fast.facts.locked, zydis.facts.locked);
  compare("facts.rep_string", fast.facts.rep_string, zydis.facts.rep_string);
  compare("gprs", fast.gprs, zydis.gprs);
  compare("rip_relative", fast.rip_relative, zydis.rip_relative);
  compare("fs", fast.fs, zydis.fs);
  compare("gs", fast.gs, zydis.gs);
  compare("modrm_at", fast.modrm_at, zydis.modrm_at);
  compare("sib_at", fast.sib_at, zydis.sib_at);
  compare("disp_at", fast.disp_at, zydis.disp_at);
  compare("trace_register_at", fast.trace_register_at, zydis.trace_register_at);
  compare("opcode_at", fast.opcode_at, zydis.opcode_at);
  compare("vvvv_at", fast.vvvv_at, zydis.vvvv_at);
  compare("memory_count", fast.memory_count, zydis.memory_count);
  for (unsigned i = 0; i < std::min(fast.memory_count, zydis.memory_count); ++i) {
    const MemoryOperand &a = fast.memory[i], &b = zydis.memory[i];
    compare("memory.base", a.base, b.base);
    compare("memory.index", a.index, b.index);
    compare("memory.scale", a.scale, b.scale);
    compare("memory.rip_relative", a.rip_relative, b.rip_relative);
    compare("memory.fs", a.fs, b.fs);
    compare("memory.gs", a.gs, b.gs);
    compare("memory.address32", a.address32, b.address32);
    compare("memory.read", a.read, b.read);
    compare("memory.write", a.write, b.write);
    compare("memory.vector_index", a.vector_index, b.vector_index);
    compare("memory.plus_al", a.plus_al, b.plus_al);
    compare("memory.bit_register", a.bit_register, b.bit_register);
    compare("memory.displacement", a.displacement, b.displacement);
    compare("memory.bytes", a.bytes, b.bytes);
  }
  return out;
}

/// An Insn no field of which has its first value, so that one the decoder forgets to write shows.
Insn stale() {
  Insn insn;
  insn.pc = insn.target = 0x1234'5678'9ABC;
  insn.bytes.fill(0xEE);
  insn.length = insn.condition = insn.modrm_at = insn.sib_at = insn.disp_at = 0xEE;
  insn.flow = Flow::Refused;
  insn.return_pop = insn.gprs = 0xEEEE;
  insn.target_register = 9;
  insn.facts = {.branch = arch::BranchKind::Far,
                .fp = arch::FpArith::Packed512Single,
                .fp_weight = 9,
                .loads = 9,
                .stores = 9,
                .nop = true,
                .locked = true,
                .rep_string = true};
  insn.rip_relative = true;
  insn.memory_count = 2;
  insn.memory.fill({.base = 9,
                    .index = 9,
                    .scale = 9,
                    .rip_relative = true,
                    .fs = true,
                    .gs = true,
                    .address32 = true,
                    .read = true,
                    .write = true,
                    .vector_index = true,
                    .plus_al = true,
                    .bit_register = 9,
                    .displacement = 99,
                    .bytes = 99});
  insn.trace_register_at = insn.opcode_at = insn.vvvv_at = 0xEE;
  return insn;
}

/// Compares the two decoders on what it is given; the first few differences fail the test, all are counted.
class Comparison {
 public:
  ~Comparison() { EXPECT_EQ(wrong_, 0u) << "of " << answered_ << " answers"; }

  /// The instruction's length; 0 if the fast decoder does not know it.
  unsigned at(std::span<const std::uint8_t> code) {
    if (!fast_decode(kPc, code, insn_)) return 0;
    ++answered_;
    const auto zydis = decode_with_zydis(kPc, code);
    const std::string difference = zydis ? differences(insn_, *zydis) : " an instruction for none";
    if (!difference.empty() && ++wrong_ <= 20) ADD_FAILURE() << hex(code) << ':' << difference;
    const unsigned length = insn_.length;
    insn_ = stale_;
    return length;
  }
  std::size_t answered() const { return answered_; }

 private:
  static std::string hex(std::span<const std::uint8_t> code) {
    std::string text;
    char two[4];
    for (const std::uint8_t byte : code) {
      std::snprintf(two, sizeof two, "%02X ", byte);
      text += two;
    }
    return text;
  }

  const Insn stale_ = stale();
  Insn insn_ = stale_;
  std::size_t answered_ = 0, wrong_ = 0;
};

/// What may follow an opcode's ModRM: SIB bytes with and without base and index, displacements and immediates of both
/// signs.
constexpr std::array<std::uint8_t, 10> kTails[] = {
    {0x24, 0x12, 0x34, 0x56, 0x78, 0x1A, 0x11, 0x22, 0x33, 0x44},
    {0xEB, 0xF8, 0x85, 0x80, 0xF7, 0xFF, 0x92, 0x83, 0x84, 0x85},
    {0x1D, 0x80, 0xFF, 0xFF, 0xFF, 0x80, 0xFF, 0xFF, 0xFF, 0xFF},
    {0x5B, 0x00, 0x00, 0x00, 0x80, 0x7F, 0x00, 0x00, 0x00, 0x80},
};

constexpr std::size_t kEveryTail = std::size(kTails);

/// Appends every ModRM byte and one tail, or every one, to the opening of an instruction.
void try_every_modrm(Comparison& comparison, std::span<const std::uint8_t> opening, std::size_t wanted_tail) {
  const std::size_t before = comparison.answered();
  Code code{};
  std::copy(opening.begin(), opening.end(), code.begin());
  for (std::size_t i = 0; i < kEveryTail; ++i) {
    if (wanted_tail != kEveryTail && wanted_tail != i) continue;
    const auto& tail = kTails[i];
    const std::size_t room = code.size() - opening.size() - 1;
    std::copy_n(tail.begin(), std::min(room, tail.size()),
                code.begin() + static_cast<std::ptrdiff_t>(opening.size()) + 1);
    for (unsigned modrm = 0; modrm < 256; ++modrm) {
      code[opening.size()] = static_cast<std::uint8_t>(modrm);
      comparison.at(code);
    }
    if (comparison.answered() == before) return;  // no ModRM byte makes it known
  }
}

using Bytes = std::vector<std::uint8_t>;

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Nothing, each prefix, the pairs that compilers write, some that they do not; each without and with every REX.
std::vector<Bytes> prefixes() {
  const std::vector<Bytes> plain = {{},           {0x66},       {0xF2},       {0xF3},       {0xF0},
                                    {0x64},       {0x65},       {0x67},       {0x2E},       {0x3E},
                                    {0x66, 0x66}, {0x66, 0x64}, {0x64, 0x66}, {0x66, 0xF0}, {0x66, 0x2E},
                                    {0x64, 0x65}, {0x66, 0xF2}, {0xF3, 0x66}, {0xF2, 0xF3}, {0xF0, 0xF2}};
  std::vector<Bytes> all = plain;
  for (const Bytes& before : plain) {
    const bool common = before.size() <= 1;
    for (std::uint8_t rex = 0x40; rex < 0x50; ++rex) {
      if (common || rex % 5 == 0) all.push_back(before + Bytes{rex});
    }
  }
  return all;
}

TEST(FastDecode, AgreesWithZydisOnEveryOpcodeBehindEveryPrefix) {
  Comparison comparison;
  std::size_t turn = 0;
  for (const Bytes& prefix : prefixes()) {
    const bool has_rex = !prefix.empty() && (prefix.back() & 0xF0u) == 0x40;
    const std::size_t tail = has_rex ? ++turn % kEveryTail : kEveryTail;
    for (const Bytes& escape : {Bytes{}, Bytes{0x0F}, Bytes{0x0F, 0x38}, Bytes{0x0F, 0x3A}}) {
      for (unsigned opcode = 0; opcode < 256; ++opcode) {
        try_every_modrm(comparison, prefix + escape + Bytes{static_cast<std::uint8_t>(opcode)}, tail);
      }
    }
  }
  EXPECT_GT(comparison.answered(), 1'000'000u);
}

TEST(FastDecode, AgreesWithZydisOnEveryVexOpcode) {
  Comparison comparison;
  for (unsigned payload = 0; payload < 256; ++payload) {
    const unsigned vvvv = payload >> 3 & 15u;
    if (vvvv != 15 && vvvv != 4 && vvvv != 0) continue;  // none, r11, r15
    const auto second = static_cast<std::uint8_t>(payload);
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
      const auto third = static_cast<std::uint8_t>(opcode);
      try_every_modrm(comparison, Bytes{0xC5, second, third}, kEveryTail);
      for (const unsigned first :
           {0x00u, 0x04u, 0xE0u, 0xE1u, 0xE2u, 0xE3u, 0x01u, 0x82u, 0x43u, 0x61u, 0xA2u, 0xC3u}) {
        if (vvvv == 0 && first < 0xE0) continue;
        try_every_modrm(comparison, Bytes{0xC4, static_cast<std::uint8_t>(first), second, third}, kEveryTail);
      }
    }
  }
  EXPECT_GT(comparison.answered(), 500'000u);
  for (const std::uint8_t prefix : Bytes{0x66, 0xF2, 0xF3, 0xF0, 0x48, 0x64, 0x2E}) {
    try_every_modrm(comparison, Bytes{prefix, 0xC5, 0xF9, 0x6F}, kEveryTail);
  }
}

TEST(FastDecode, AgreesWithZydisOnEveryWayToAddressMemory) {
  Comparison comparison;
  for (std::uint8_t rex = 0x40; rex < 0x50; ++rex) {
    for (unsigned sib = 0; sib < 256; ++sib) {
      for (const std::uint8_t modrm : Bytes{0x04, 0x44, 0x84, 0x1C, 0x5C, 0x9C}) {
        for (const std::uint8_t displacement : Bytes{0x00, 0x7F, 0x80, 0xFF}) {
          Code code{rex, 0x8B, modrm, static_cast<std::uint8_t>(sib)};
          std::fill(code.begin() + 4, code.end(), displacement);
          EXPECT_NE(comparison.at(code), 0u);
        }
      }
    }
  }
}

TEST(FastDecode, AgreesWithZydisOnRandomBytes) {
  Comparison comparison;
  std::mt19937_64 random(2);  // NOLINT: the same bytes in every run
  Code code{};
  for (unsigned i = 0; i < 1'000'000; ++i) {
    for (std::uint8_t& byte : code) byte = static_cast<std::uint8_t>(random());
    comparison.at(code);
  }
  constexpr std::uint8_t common[] = {0x66, 0xF2, 0xF3, 0xF0, 0x2E, 0x64, 0x65, 0x67, 0x0F, 0x38,
                                     0x3A, 0xC4, 0xC5, 0x48, 0x41, 0x4C, 0xE2, 0xF9, 0x8B, 0x6F};
  for (unsigned i = 0; i < 1'000'000; ++i) {
    for (std::uint8_t& byte : code) {
      const std::uint64_t drawn = random();
      byte = (drawn & 0x100u) != 0 ? common[(drawn >> 16) % std::size(common)] : static_cast<std::uint8_t>(drawn);
    }
    comparison.at(code);
  }
  EXPECT_GT(comparison.answered(), 300'000u);
}

/// The share of the instructions that the fast decoder answers, all of them compared.
double compare_all(std::span<const std::uint8_t> code) {
  Comparison comparison;
  const auto starts = instructions_of(code);
  for (const std::size_t at : starts) comparison.at(code.subspan(at, 15));
  return starts.empty() ? 1 : static_cast<double>(comparison.answered()) / static_cast<double>(starts.size());
}

TEST(FastDecode, AgreesWithZydisOnTheLibrariesOfThisProcessAndAnswersNearlyAllOfTheCLibrary) {
  for (const LoadedCode& code : loaded_code()) {
    const double share = compare_all(code.bytes.first(std::min<std::size_t>(code.bytes.size(), 2 << 20)));
    std::printf("%6.2f %% of %s\n", 100 * share, code.name.empty() ? "this test" : code.name.c_str());
    if (code.is_libc()) {
      EXPECT_GE(share, 0.97);  // the rest is AVX-512 string functions and x87
    }
  }
}

TEST(FastDecode, AgreesWithZydisOnInstalledPrograms) {
  for (const std::string path : {"/bin/bash", "/usr/bin/perl", "/usr/bin/python3", "/usr/bin/git"}) {
    std::ifstream file(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    const auto segments = executable_segments(bytes);
    if (segments.empty()) std::printf("   not here: %s\n", path.c_str());
    for (const auto code : segments) {
      const double share = compare_all(code.first(std::min<std::size_t>(code.size(), 1 << 20)));
      std::printf("%6.2f %% of %s\n", 100 * share, path.c_str());
      EXPECT_GE(share, 0.97) << path;
    }
  }
}

TEST(FastDecode, LeavesBuffersThatAreShorterThanAnInstructionMayBeToZydis) {
  const Code long_one{0x2E, 0x2E, 0x48, 0x81, 0x84, 0x88, 1, 2, 3, 4, 5, 6, 7, 8, 0x90};
  for (const auto& code : {long_one, Code{0x90}, Code{0x48, 0x89, 0xC3}, Code{0xC5, 0xF9, 0x6F, 0x04, 0x24}}) {
    for (std::size_t size = 0; size <= code.size(); ++size) {
      const auto cut = std::span(code).first(size);
      Insn insn;
      EXPECT_EQ(fast_decode(kPc, cut, insn), size == code.size());
      const auto whole = decode(kPc, cut), zydis = decode_with_zydis(kPc, cut);
      ASSERT_EQ(whole.has_value(), zydis.has_value()) << size;
      if (whole) {
        EXPECT_EQ(differences(*whole, *zydis), "");
      }
    }
  }
}

TEST(FastDecode, RefusesWhatPassesFifteenBytes) {
  // add qword [rax + rcx*4 + disp32], imm32 has 12 bytes: three more prefixes fit.
  for (unsigned more = 0; more < 14; ++more) {
    Code code{};
    std::fill_n(code.begin(), more, std::uint8_t{0x66});
    const Code rest{0x48, 0x81, 0x84, 0x88, 1, 2, 3, 4, 5, 6, 7, 8};
    std::copy_n(rest.begin(), code.size() - more, code.begin() + more);
    Comparison comparison;
    EXPECT_EQ(comparison.at(code) != 0, more <= 3) << more;
  }
}

TEST(FastDecode, LeavesTheCallersInsnAloneIfItDoesNotKnow) {
  Insn insn = stale();
  EXPECT_FALSE(fast_decode(kPc, Code{0xD9, 0xE8}, insn));  // fld1
  EXPECT_FALSE(decode_into(insn, kPc, Bytes{0x06}));       // no instruction
  EXPECT_EQ(differences(insn, stale()), "");
}

}  // namespace
}  // namespace zs::isa
