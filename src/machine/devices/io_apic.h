// The I/O APIC, so far as software that sets it up notices: its two registers and 24 redirection entries,
// edge-triggered. source: 82093AA data sheet, "I/O APIC Registers".
#pragma once

#include <array>
#include <cstdint>

namespace zs::machine {

class LocalApic;

class IoApic {
 public:
  static constexpr std::uint64_t kBase = 0xFEC00000;
  static constexpr unsigned kPins = 24;
  explicit IoApic(LocalApic& apic) : apic_(apic) { entries_.fill(kMasked); }

  /// `offset` from the base.
  std::uint32_t read(std::uint32_t offset) const;
  void write(std::uint32_t offset, std::uint32_t value);
  /// A rising edge.
  void pulse(unsigned pin);
  bool enabled(unsigned pin) const { return pin < kPins && (entries_[pin] & kMasked) == 0; }

 private:
  static constexpr std::uint64_t kMasked = 1u << 16;
  LocalApic& apic_;
  std::uint32_t index_ = 0, id_ = 0;
  std::array<std::uint64_t, kPins> entries_{};
};

}  // namespace zs::machine
