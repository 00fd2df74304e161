// Which operands are watched, and what the test in front of one notes when it runs.
#include "engine/translate/line_watch.h"

#include <gmock/gmock.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "arch/core_feed.h"
#include "engine/memory/layout.h"

namespace zs::engine {
namespace {

using arch::LineSample;
using testing::ElementsAre;
using testing::IsEmpty;

/// mov eax, [rbx]
const std::vector<std::uint8_t> kPlain{0x8B, 0x03};

/// What stands in front of an instruction of the program, behind it a return, and a Context in reach of both.
class WatchedCode {
 public:
  WatchedCode() {
    context().watch_mask = LineSample::kMask;
    forget_notes();
  }
  WatchedCode(const WatchedCode&) = delete;
  WatchedCode& operator=(const WatchedCode&) = delete;
  ~WatchedCode() { munmap(pages_, kPages * kPageSize); }

  /// returns whether anything does
  bool emit(const std::vector<std::uint8_t>& instruction) {
    std::vector<std::uint8_t> bytes = instruction;
    bytes.resize(isa::kLongestInstruction, 0x90);
    Insn insn = *isa::decode(0x40'0000, kPlain);  // what was there before does not matter
    EXPECT_TRUE(isa::decode_into(insn, 0x40'0000, bytes));
    EXPECT_EQ(insn.length, instruction.size());
    Emitter out(code(), cold_code(), at(0)), cold(cold_code(), at(kPages), at(0));
    LineWatch::emit(insn, StandIn(), out, cold);
    const bool any = out.here() != code();
    EXPECT_EQ(any, cold.here() != cold_code());
    out.u8(0xC3);
    return any;
  }

  struct Registers {
    std::uint64_t rax, rbx, rcx, r12, flags;
    bool operator==(const Registers&) const = default;
  };
  Registers run(Registers now) const {
    register std::uint64_t r12 asm("r12") = now.r12;
    asm volatile(
        "lea -128(%%rsp), %%rsp\n\t"  // the red zone
        "push %[flags]\n\t"
        "popfq\n\t"
        "call *%[code]\n\t"
        "pushfq\n\t"
        "pop %[flags]\n\t"
        "lea 128(%%rsp), %%rsp"
        : "+a"(now.rax), "+b"(now.rbx), "+c"(now.rcx), "+r"(r12), [flags] "+d"(now.flags)
        : [code] "S"(code())
        : "cc", "memory");
    now.r12 = r12;
    return now;
  }
  std::vector<std::uint64_t> take_notes() {
    const auto* const first = reinterpret_cast<const std::uint64_t*>(at(kNotes));
    std::vector<std::uint64_t> notes(first, first + (context().probe_note - at(kNotes)) / sizeof *first);
    forget_notes();
    return notes;
  }

 private:
  static constexpr std::size_t kNotes = 1, kCode = 2, kCold = 3, kPages = 4;

  std::uint64_t at(std::size_t page) const { return reinterpret_cast<std::uint64_t>(pages_) + page * kPageSize; }
  std::uint64_t code() const { return at(kCode); }
  std::uint64_t cold_code() const { return at(kCold); }
  Context& context() const { return *static_cast<Context*>(pages_); }
  void forget_notes() { context().probe_note = at(kNotes); }

  void* const pages_ =
      mmap(nullptr, kPages* kPageSize, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
};

struct WatchCase {
  const char* name;
  std::vector<std::uint8_t> instruction;
};
std::ostream& operator<<(std::ostream& out, const WatchCase& of) { return out << of.name; }
std::string name_of_watch(const testing::TestParamInfo<WatchCase>& of) { return of.param.name; }

class UnwatchedInsn : public testing::TestWithParam<WatchCase> {};

TEST_P(UnwatchedInsn, HasNothingInFrontOfIt) { EXPECT_FALSE(WatchedCode().emit(GetParam().instruction)); }

const WatchCase kUnwatched[] = {
    {"WithoutMemory", {0x89, 0xC8}},                                       // mov eax, ecx
    {"OfTheStack", {0x8B, 0x44, 0x24, 0x08}},                              // mov eax, [rsp+8]
    {"RelativeToItself", {0x8B, 0x05, 0x10, 0x00, 0x00, 0x00}},            // mov eax, [rip+0x10]
    {"WithoutABase", {0x8B, 0x04, 0x25, 0x00, 0x10, 0x00, 0x00}},          // mov eax, [0x1000]
    {"OfFs", {0x64, 0x8B, 0x03}},                                          // mov eax, fs:[rbx]
    {"OfGs", {0x65, 0x8B, 0x03}},                                          // mov eax, gs:[rbx]
    {"OfAString", {0xF3, 0xA4}},                                           // rep movsb
    {"WithVectorIndices", {0xC4, 0xE2, 0x69, 0x90, 0x04, 0x88}},           // vpgatherdd xmm0, [rax+xmm1*4], xmm2
    {"With32BitAddress", {0x67, 0x8B, 0x03}},                              // mov eax, [ebx]
    {"OfATable", {0xD7}},                                                  // xlat
    {"OfABitString", {0x48, 0x0F, 0xA3, 0x03}},                            // bt [rbx], rax
    {"ThatJumps", {0xFF, 0x23}},                                           // jmp [rbx]
    {"WithTheFarthestDisplacement", {0x8B, 0x83, 0xFF, 0xFF, 0xFF, 0x7F}}  // mov eax, [rbx+0x7FFFFFFF]
};
INSTANTIATE_TEST_SUITE_P(Rows, UnwatchedInsn, testing::ValuesIn(kUnwatched), name_of_watch);

class LineWatchTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kFlags = 0x202, kAllFlags = kFlags | 0x8D5;  // CF, PF, AF, ZF, SF, OF
  static constexpr std::uint64_t kLine = 64, kSampled = LineSample::kClass * kLine;

  void SetUp() override {
    if (!can_watch_lines()) GTEST_SKIP() << "the processor has no BMI2";
  }
  /// What is noted by that instruction with these registers.
  std::vector<std::uint64_t> notes_of(const std::vector<std::uint8_t>& instruction,
                                      const WatchedCode::Registers& registers) {
    EXPECT_TRUE(code_.emit(instruction));
    code_.run(registers);
    return code_.take_notes();
  }

  WatchedCode code_;
};

TEST_F(LineWatchTest, NotesTheLinesOfTheSampleAndNoOthers) {
  ASSERT_TRUE(code_.emit(kPlain));
  for (const std::uint64_t page : {std::uint64_t{0x1000}, std::uint64_t{0x7FFF'1234'5000}}) {
    for (std::uint64_t address = page; address < page + kPageSize; address += kLine - 1) {
      code_.run({.rax = 1, .rbx = address, .rcx = 3, .r12 = 4, .flags = kFlags});
      const auto notes = code_.take_notes();
      if (LineSample::has(address))
        EXPECT_THAT(notes, ElementsAre(address / kLine)) << address;
      else
        EXPECT_THAT(notes, IsEmpty()) << address;
    }
  }
}

TEST_F(LineWatchTest, TakesTheWholeAddressOfTheOperand) {
  constexpr std::uint64_t kBase = 0x50'0000;
  for (unsigned log = 0; log < 4; ++log) {
    const std::uint64_t index = kSampled >> log;
    const std::vector<std::uint8_t> by_rcx{0x8B, 0x14, static_cast<std::uint8_t>(log << 6 | kRcx << 3 | kRbx)};
    EXPECT_THAT(notes_of(by_rcx, {.rax = 1, .rbx = kBase, .rcx = index, .r12 = 4, .flags = kFlags}),
                ElementsAre((kBase + kSampled) / kLine))
        << log;
  }
  const WatchedCode::Registers registers{
      .rax = kSampled - 8, .rbx = kBase, .rcx = 3, .r12 = kBase + kSampled + kLine, .flags = kFlags};
  // mov edx, [rbx+rax+8]; [r12-0x40]; [r12]
  EXPECT_THAT(notes_of({0x8B, 0x54, 0x03, 0x08}, registers), ElementsAre((kBase + kSampled) / kLine));
  EXPECT_THAT(notes_of({0x41, 0x8B, 0x54, 0x24, 0xC0}, registers), ElementsAre((kBase + kSampled) / kLine));
  EXPECT_THAT(notes_of({0x41, 0x8B, 0x14, 0x24}, registers), IsEmpty());
}

TEST_F(LineWatchTest, NotesStandOneBehindTheOther) {
  ASSERT_TRUE(code_.emit(kPlain));
  for (const std::uint64_t page : {0x1000, 0x3000, 0x2000})
    code_.run({.rax = 1, .rbx = page + kSampled, .rcx = 3, .r12 = 4, .flags = kFlags});
  EXPECT_THAT(code_.take_notes(),
              ElementsAre((0x1000 + kSampled) / kLine, (0x3000 + kSampled) / kLine, (0x2000 + kSampled) / kLine));
}

TEST_F(LineWatchTest, LeavesRegistersAndFlagsAsTheyAre) {
  ASSERT_TRUE(code_.emit(kPlain));
  for (const std::uint64_t address : {std::uint64_t{0x1000}, 0x1000 + kSampled}) {
    for (const std::uint64_t flags : {kFlags, kAllFlags}) {
      const WatchedCode::Registers before{.rax = 1, .rbx = address, .rcx = 3, .r12 = 4, .flags = flags};
      EXPECT_EQ(code_.run(before), before);
    }
  }
}

}  // namespace
}  // namespace zs::engine
