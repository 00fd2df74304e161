// Values going onto a stack that need not be the current one: nothing is written before every place was found writable,
// so a transfer that faults on its frame leaves no trace.
#pragma once

#include <array>

#include "machine/vcpu/core.h"

namespace zs::machine::vcpu {

class Frame {
 public:
  /// `slot` bytes a value; `user`: the stack belongs to CPL 3. A 64-bit stack has no segment to check.
  Frame(Core& core, const Segment& ss, std::uint64_t sp, unsigned slot, bool user, bool wide, std::uint32_t error)
      : core_(core), ss_(ss), sp_(sp), slot_(slot), user_(user), wide_(wide), error_(error) {
    mask_ = wide ? ~std::uint64_t{0} : ss.big() ? 0xFFFFFFFF : 0xFFFF;
  }
  void push(std::uint64_t value) { values_[count_++] = value; }
  /// Checks all places; throws #SS(error) or #PF.
  void check();
  /// Writes. returns the stack pointer with the bits the stack does not use taken from `before`
  std::uint64_t write(std::uint64_t before);

 private:
  std::uint64_t place(unsigned n) const { return (sp_ - (n + 1) * slot_) & mask_; }
  std::uint64_t linear(unsigned n) const { return wide_ ? place(n) : (ss_.base + place(n)) & 0xFFFFFFFF; }
  Core& core_;
  Segment ss_;
  std::uint64_t sp_, mask_ = 0;
  unsigned slot_;
  bool user_, wide_;
  std::uint32_t error_;
  std::array<std::uint64_t, 40> values_{};
  unsigned count_ = 0;
};

/// Whether a legacy stack segment holds [address, address + bytes).
bool stack_allows(const Segment& ss, bool real_mode, std::uint64_t address, unsigned bytes);

}  // namespace zs::machine::vcpu
