// Runs one instruction on the host with every register, the flags and the vector and x87 state chosen, and brings back
// what it left: the oracle of host_comparison_test. The instruction runs in a page of its own at a fixed low address,
// so that 32-bit code can be tried too (through the kernel's flat 32-bit code segment); signals it raises are caught
// and told.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace zs::machine::test {

struct NativeState {
  std::array<std::uint64_t, 16> gpr{};
  std::uint64_t flags = 0x202;
  alignas(16) std::array<std::uint8_t, 512> fx{};
};

/// Where things lie, the same for the host and for the interpreter. Data is what instructions may touch.
inline constexpr std::uint64_t kNativeBase = 0x30000000, kNativeData = kNativeBase + 0x4000, kNativeDataBytes = 0x4000;
inline constexpr std::uint64_t kNativeInsn64 = kNativeBase + 0x800, kNativeInsn32 = kNativeBase + 0x900;

class NativeRunner {
 public:
  NativeRunner();
  ~NativeRunner();
  NativeRunner(const NativeRunner&) = delete;
  NativeRunner& operator=(const NativeRunner&) = delete;
  /// "" or why the host cannot.
  const char* trouble() const { return trouble_; }
  std::span<std::uint8_t> data() const;
  /// returns the signal it ended with, 0 if none; `state` is then not what the instruction left
  int run(std::span<const std::uint8_t> insn, NativeState& state, bool code32);

 private:
  const char* trouble_ = "";
};

}  // namespace zs::machine::test
