#include "machine/boot/key_buffer.h"

#include "machine/boot/bios_data_area.h"
#include "machine/devices/keys.h"
#include "machine/memory.h"

namespace zs::machine {
namespace {

// 40:17, and bit 1 of 40:96.
enum Held : std::uint8_t { kRightShift = 1, kLeftShift = 2, kControl = 4, kAlt = 8 };
constexpr std::uint8_t kExtendedCame = 2;

std::uint8_t held_by(std::uint8_t scan) {
  switch (scan) {
    case kScanRightShift: return kRightShift;
    case kScanLeftShift: return kLeftShift;
    case kScanControl: return kControl;
    case kScanAlt: return kAlt;
    default: return 0;
  }
}

/// What INT 16H says of a key: its scan code above, its character below. 0: no key.
std::uint16_t key_of(std::uint8_t scan, std::uint8_t held, bool extended) {
  constexpr std::uint8_t kF1 = 0x3B, kF10 = 0x44, kF11 = 0x57, kF12 = 0x58, kHome = 0x47, kDelete = 0x53;
  if ((scan >= kF11 && scan <= kF12)) return static_cast<std::uint16_t>((scan - kF11 + 0x85) << 8);
  if ((scan >= kF1 && scan <= kF10) || (scan >= kHome && scan <= kDelete)) {
    return static_cast<std::uint16_t>(scan << 8 | (extended ? 0xE0 : 0));
  }
  const char character = character_of_key(scan, (held & (kLeftShift | kRightShift)) != 0);
  if (character == 0) return 0;
  if ((held & kAlt) != 0) return static_cast<std::uint16_t>(scan << 8);
  const auto low = static_cast<std::uint8_t>((held & kControl) != 0 && character >= '@' ? character & 0x1F : character);
  return static_cast<std::uint16_t>(scan << 8 | low);
}

}  // namespace

std::uint16_t KeyBuffer::behind(std::uint16_t place) const {
  const auto next = static_cast<std::uint16_t>(place + 2);
  const bool wraps = next >= memory_.load<std::uint16_t>(kKeyboardEnd);
  return wraps ? memory_.load<std::uint16_t>(kKeyboardStart) : next;
}

bool KeyBuffer::empty() const {
  return memory_.load<std::uint16_t>(kKeyboardHead) == memory_.load<std::uint16_t>(kKeyboardTail);
}

bool KeyBuffer::full() const {
  return behind(memory_.load<std::uint16_t>(kKeyboardTail)) == memory_.load<std::uint16_t>(kKeyboardHead);
}

void KeyBuffer::put(std::uint16_t key) {
  const auto tail = memory_.load<std::uint16_t>(kKeyboardTail);
  memory_.store<std::uint16_t>(kDataArea + tail, key);
  memory_.store<std::uint16_t>(kKeyboardTail, behind(tail));
}

std::uint16_t KeyBuffer::front() const {
  return memory_.load<std::uint16_t>(kDataArea + memory_.load<std::uint16_t>(kKeyboardHead));
}

void KeyBuffer::pop() {
  memory_.store<std::uint16_t>(kKeyboardHead, behind(memory_.load<std::uint16_t>(kKeyboardHead)));
}

void KeyBuffer::take(std::uint8_t code) {
  const auto flags = memory_.load<std::uint8_t>(kKeyboardKind);
  const bool extended = (flags & kExtendedCame) != 0, comes = code == kScanExtended;
  memory_.store<std::uint8_t>(kKeyboardKind,
                              static_cast<std::uint8_t>(comes ? flags | kExtendedCame : flags & ~kExtendedCame));
  if (comes) return;
  const auto scan = static_cast<std::uint8_t>(code & ~kScanReleased);
  const auto held = memory_.load<std::uint8_t>(kKeysHeld);
  const bool released = (code & kScanReleased) != 0;
  if (const std::uint8_t bit = held_by(scan); bit != 0) {
    memory_.store<std::uint8_t>(kKeysHeld, static_cast<std::uint8_t>(released ? held & ~bit : held | bit));
    return;
  }
  const std::uint16_t key = key_of(scan, held, extended);
  if (!released && key != 0 && !full()) put(key);
}

}  // namespace zs::machine
