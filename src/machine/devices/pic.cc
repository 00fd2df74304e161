#include "machine/devices/pic.h"

#include <bit>

#include "base/check.h"

namespace zs::machine {
namespace {

constexpr std::uint8_t bit(unsigned n) { return static_cast<std::uint8_t>(1u << n); }

// A0 = 0: ICW1 has bit 4, OCW3 bit 3, OCW2 neither.
constexpr std::uint8_t kIcw1 = 0x10, kIcw1NeedsIcw4 = 0x01, kIcw1Single = 0x02;
constexpr std::uint8_t kOcw3 = 0x08, kOcw3ReadRegister = 0x02, kOcw3InService = 0x01;
constexpr std::uint8_t kOcw2Eoi = 0x20, kOcw2Specific = 0x40;
constexpr std::uint8_t kIcw4AutoEoi = 0x02;

}  // namespace

Pic::Pic() {
  chips_[0].vector = 0x08;
  chips_[1].vector = 0x70;
}

std::optional<unsigned> Pic::Chip::pending() const {
  const auto wanted = static_cast<std::uint8_t>(requests & ~mask);
  if (wanted == 0) return std::nullopt;
  const auto request = static_cast<unsigned>(std::countr_zero(wanted));
  if (in_service != 0 && request >= static_cast<unsigned>(std::countr_zero(in_service))) return std::nullopt;
  return request;
}

std::uint8_t Pic::Chip::acknowledge() {
  const auto request = pending();
  if (!request) return static_cast<std::uint8_t>(vector + 7);
  requests = static_cast<std::uint8_t>(requests & ~bit(*request));
  if (!auto_eoi) in_service |= bit(*request);
  return static_cast<std::uint8_t>(vector + *request);
}

void Pic::Chip::command(std::uint8_t value) {
  if ((value & kIcw1) != 0) {
    const std::uint8_t level = lines;
    *this = Chip{};
    lines = level;
    mask = 0;
    init_step = 2;
    icw4_comes = (value & kIcw1NeedsIcw4) != 0;
    single = (value & kIcw1Single) != 0;
  } else if ((value & kOcw3) != 0) {
    if ((value & kOcw3ReadRegister) != 0) read_in_service = (value & kOcw3InService) != 0;
  } else if ((value & kOcw2Eoi) != 0) {
    const bool specific = (value & kOcw2Specific) != 0;
    if (specific) {
      in_service = static_cast<std::uint8_t>(in_service & ~bit(value & 7u));
    } else {
      in_service = static_cast<std::uint8_t>(in_service & (in_service - 1));  // the lowest bit has the highest priority
    }
  }
}

void Pic::Chip::data(std::uint8_t value) {
  switch (init_step) {
    case 2:
      vector = static_cast<std::uint8_t>(value & 0xF8);
      init_step = single ? (icw4_comes ? 4 : 0) : 3;
      return;
    case 3: init_step = icw4_comes ? 4 : 0; return;
    case 4:
      auto_eoi = (value & kIcw4AutoEoi) != 0;
      init_step = 0;
      return;
    default: mask = value; return;
  }
}

/// The second chip's INTR is the first one's IRQ2.
void Pic::cascade() {
  if (chips_[1].pending()) {
    chips_[0].requests |= bit(kCascade);
  } else {
    chips_[0].requests = static_cast<std::uint8_t>(chips_[0].requests & ~bit(kCascade));
  }
}

std::uint8_t Pic::in(std::uint16_t port) {
  const Chip& chip = chips_[port >> 7 & 1];
  if ((port & 1) != 0) return chip.mask;
  return chip.read_in_service ? chip.in_service : chip.requests;
}

void Pic::out(std::uint16_t port, std::uint8_t value) {
  Chip& chip = chips_[port >> 7 & 1];
  if ((port & 1) != 0) {
    chip.data(value);
  } else {
    chip.command(value);
  }
  cascade();
}

void Pic::set_line(unsigned irq, bool up) {
  CHECK(irq < 16, irq);
  Chip& chip = chips_[irq / 8];
  const std::uint8_t line = bit(irq % 8);
  if (up && (chip.lines & line) == 0) chip.requests |= line;
  chip.lines = static_cast<std::uint8_t>(up ? chip.lines | line : chip.lines & ~line);
  cascade();
}

std::uint8_t Pic::acknowledge() {
  if (chips_[0].pending() != kCascade) return chips_[0].acknowledge();
  (void)chips_[0].acknowledge();
  const std::uint8_t vector = chips_[1].acknowledge();
  cascade();
  return vector;
}

bool Pic::enabled(unsigned irq) const {
  const bool here = (chips_[irq / 8].mask & bit(irq % 8)) == 0;
  return here && (irq < 8 || (chips_[0].mask & bit(kCascade)) == 0);
}

}  // namespace zs::machine
