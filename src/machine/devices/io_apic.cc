#include "machine/devices/io_apic.h"

#include "machine/devices/local_apic.h"

namespace zs::machine {
namespace {

constexpr std::uint32_t kSelect = 0x00, kWindow = 0x10;
constexpr std::uint32_t kId = 0, kVersion = 1, kArbitration = 2, kFirstEntry = 0x10;
constexpr std::uint64_t kWritable = 0xFF00'0000'0001'AFFF;

}  // namespace

std::uint32_t IoApic::read(std::uint32_t offset) const {
  if (offset == kSelect) return index_;
  if (offset != kWindow) return 0;
  if (index_ >= kFirstEntry && index_ < kFirstEntry + 2 * kPins) {
    return static_cast<std::uint32_t>(entries_[(index_ - kFirstEntry) / 2] >> (index_ % 2 != 0 ? 32 : 0));
  }
  switch (index_) {
    case kId:
    case kArbitration: return id_;
    case kVersion: return 0x11 | (kPins - 1) << 16;
    default: return 0;
  }
}

void IoApic::write(std::uint32_t offset, std::uint32_t value) {
  if (offset == kSelect) {
    index_ = value & 0xFF;
  } else if (offset == kWindow && index_ == kId) {
    id_ = value & 0x0F000000;
  } else if (offset == kWindow && index_ >= kFirstEntry && index_ < kFirstEntry + 2 * kPins) {
    const unsigned pin = (index_ - kFirstEntry) / 2;
    std::uint64_t& entry = entries_[pin];
    const std::uint64_t remote = entry & kRemoteIrr;
    entry = index_ % 2 != 0 ? (entry & 0xFFFFFFFF) | std::uint64_t{value} << 32 : (entry & ~0xFFFFFFFFull) | value;
    entry &= kWritable;
    if ((entry & kLevel) != 0) entry |= remote;  // an edge-triggered pin has none
    offer(pin);
  }
}

bool IoApic::send(unsigned pin) const {
  const std::uint64_t entry = entries_[pin];
  return apic_.take_message(static_cast<std::uint32_t>(entry), static_cast<std::uint8_t>(entry >> 56));
}

void IoApic::offer(unsigned pin) {
  std::uint64_t& entry = entries_[pin];
  if ((entry & kLevel) == 0 || (entry & (kMasked | kRemoteIrr)) != 0 || (lines_ >> pin & 1) == 0) return;
  if (send(pin)) entry |= kRemoteIrr;
}

void IoApic::set_line(unsigned pin, bool up) {
  if (pin >= kPins) return;
  const std::uint32_t line = 1u << pin;
  const bool rises = up && (lines_ & line) == 0;
  lines_ = up ? lines_ | line : lines_ & ~line;
  if ((entries_[pin] & kLevel) != 0) return offer(pin);
  if (rises && enabled(pin)) (void)send(pin);
}

void IoApic::end_of_interrupt(std::uint8_t vector) {
  for (unsigned pin = 0; pin < kPins; ++pin) {
    if ((entries_[pin] & kRemoteIrr) == 0 || static_cast<std::uint8_t>(entries_[pin]) != vector) continue;
    entries_[pin] &= ~kRemoteIrr;
    offer(pin);
  }
}

}  // namespace zs::machine
