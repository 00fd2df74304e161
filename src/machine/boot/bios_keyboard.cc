// INT 9 and INT 16H: scan codes become keys in the buffer of the BIOS data area, and callers take them from there.
// source: IBM PS/2 and PC BIOS Interface Technical Reference, "INT 09H", "INT 16H", "Keyboard Data Area".
#include "machine/boot/bios.h"
#include "machine/boot/bios_data_area.h"
#include "machine/clock.h"
#include "machine/devices/keyboard_controller.h"
#include "machine/devices/keys.h"
#include "machine/memory.h"
#include "machine/port_map.h"

namespace zs::machine {
namespace {

/// Chosen: a look for a key takes a millisecond, so that a menu that waits some seconds for one ends after thousands of
/// looks, not after billions of instructions.
constexpr std::uint64_t kKeyLookTicks = kTscHz / 1'000;
/// 200 seconds of looks for a key with nothing else asked but the time: it waits for one. So do 200 seconds of halts.
constexpr std::uint64_t kPollsForAKey = 200'000, kHaltsForAKey = 3'640;

}  // namespace

/// Where the buffer is full the code stays with the keyboard, and comes when a key has been taken.
void Bios::key_interrupt() {
  if (!keys_.full()) keys_.take(static_cast<std::uint8_t>(ports_.in(KeyboardController::kData, 1)));
  ports_.out(0x20, 1, 0x20);
}

bool Bios::must_wait_for_key(const BiosCall& call) {
  if ((call.ah() & 0xEF) != 0 || !keys_.empty()) return false;
  const bool comes = host_.keys_to_come();
  if (!comes && (owns_the_tick() || ++key_polls_ >= kHaltsForAKey)) host_.waits_for_a_key();
  return true;
}

void Bios::keyboard(BiosCall& call) {
  switch (call.ah() & 0xEF) {
    case 0x00:
    case 0x01: {
      const bool takes = (call.ah() & 1) == 0;
      if (!takes) {
        host_.pass_time(kKeyLookTicks);
        if (keys_.empty() && !host_.keys_to_come() && ++key_polls_ >= kPollsForAKey) host_.waits_for_a_key();
        call.set_zero(keys_.empty());
      }
      if (keys_.empty()) return takes ? call.set_ax(0) : void();
      key_polls_ = 0;
      const std::uint16_t key = keys_.front();
      const bool old_call = (call.ah() & 0x10) == 0;  // does not know of the second set of arrows
      call.set_ax(old_call && (key & 0xFF) == kScanExtended ? key & 0xFF00 : key);
      if (!takes) return;
      keys_.pop();
      if ((ports_.in(KeyboardController::kStatus, 1) & 1) == 0) return;
      keys_.take(static_cast<std::uint8_t>(ports_.in(KeyboardController::kData, 1)));
      return;
    }
    case 0x02:
      call.set_al(memory_.load<std::uint8_t>(kKeysHeld));
      if (call.ah() == 0x12) call.set_ah(0);
      return;
    case 0x03: return;
    case 0x05: {
      const bool room = !keys_.full();
      if (room) keys_.put(call.cx());
      return call.set_al(room ? 0 : 1);
    }
    default: not_here(0x16, call); return;
  }
}

}  // namespace zs::machine
