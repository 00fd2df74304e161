// INT 15H and 1AH: what the PC has, moving and waiting, time.
#include <algorithm>
#include <vector>

#include "machine/boot/bios.h"
#include "machine/boot/bios_data_area.h"
#include "machine/boot/memory_map.h"
#include "machine/clock.h"
#include "machine/devices/pit.h"
#include "machine/memory.h"

namespace zs::machine {
namespace {

constexpr std::uint32_t kSmap = 0x534D4150;   // "SMAP"
constexpr std::uint64_t kTickPeriod = 65536;  // of the 8254, between two ticks

/// Chosen: a look at the time takes a tenth of a millisecond, so that a loop that waits some seconds by them ends after
/// thousands of looks, not after billions of instructions.
constexpr std::uint64_t kTimeLookTicks = kTscHz / 10'000;
constexpr std::uint64_t kTicksPerMicrosecond = kTscHz / 1'000'000;

constexpr std::uint32_t kTicksOfADay = 0x1800B0;

std::uint64_t periods_passed(std::uint64_t now) {
  return now / kTscHz * kPitHz / kTickPeriod +
         (now / kTscHz * kPitHz % kTickPeriod + now % kTscHz * kPitHz / kTscHz) / kTickPeriod;
}

}  // namespace

// ---- INT 15H

void Bios::memory_range(BiosCall& call) {
  const auto map = memory_map(memory_.size());
  constexpr std::uint32_t kEntryBytes = 20;
  if (call.edx != kSmap || call.ecx < kEntryBytes || call.ebx >= map.size()) {
    call.set_ah(0x86);
    call.set_carry(true);
    return;
  }
  const MemoryRange& range = map[call.ebx];
  const std::uint64_t length = range.end - range.first;
  const std::uint32_t words[] = {static_cast<std::uint32_t>(range.first), static_cast<std::uint32_t>(range.first >> 32),
                                 static_cast<std::uint32_t>(length), static_cast<std::uint32_t>(length >> 32),
                                 range.available ? 1u : 2u};
  if (!store(real_address(call.es, call.di()), std::as_bytes(std::span(words)))) {
    call.set_ah(0x86);
    call.set_carry(true);
    return;
  }
  call.eax = kSmap;
  call.ecx = kEntryBytes;
  call.ebx = call.ebx + 1 == map.size() ? 0 : call.ebx + 1;
  call.set_carry(false);
}

/// Descriptors of source and target at ES:SI + 10H and + 18H; CX words.
void Bios::move_block(BiosCall& call) {
  const std::uint64_t table = real_address(call.es, call.si());
  const auto base = [&](std::uint64_t descriptor) {
    const auto low = memory_.load<std::uint64_t>(table + descriptor);
    return (low >> 16 & 0xFFFFFF) | (low >> 32 & 0xFF000000);
  };
  std::vector<std::byte> words(std::size_t{call.cx()} * 2);
  const bool moved = memory_.read(base(0x10), words) && store(base(0x18), words);
  call.set_ah(moved ? 0 : 2);
  call.set_carry(!moved);
}

void Bios::system(BiosCall& call) {
  const auto done = [&](bool good) {
    call.set_ah(good ? 0 : 0x86);
    call.set_carry(!good);
  };
  constexpr std::uint64_t kMiB = 1 << 20;
  const std::uint64_t above_1m = memory_.size() - kMiB;
  switch (call.ah()) {
    case 0x24:
      switch (call.al()) {
        case 0: host_.set_a20(false); return done(true);
        case 1: host_.set_a20(true); return done(true);
        case 2: call.set_al(host_.a20() ? 1 : 0); return done(true);
        case 3: call.set_bx(3); return done(true);  // through the keyboard controller and port 92H
        default: break;
      }
      break;
    case 0x4F: call.set_carry(true); return;  // the scan code goes on as it is
    case 0x86: host_.pass_time((std::uint64_t{call.cx()} << 16 | call.dx()) * kTicksPerMicrosecond); return done(true);
    case 0x87: return move_block(call);
    case 0x88:
      done(true);
      call.set_ax(std::min<std::uint64_t>(above_1m >> 10, 0xFC00));
      return;
    case 0x90:
    case 0x91: return done(true);  // hooks of multitasking systems: nobody is there
    case 0xC0:
      call.es = kBiosSegment;
      call.set_bx(kConfigurationTable);
      return done(true);
    case 0xC1:
      call.es = kExtendedAreaSegment;
      call.set_carry(false);
      return;
    case 0xE8: {
      const std::uint64_t below_16m = std::min(above_1m >> 10, std::uint64_t{15} << 10);
      const std::uint64_t above_16m = memory_.size() > 16 * kMiB ? (memory_.size() - 16 * kMiB) >> 16 : 0;
      if (call.al() == 0x20) return memory_range(call);
      if (call.al() != 0x01 && call.al() != 0x81) break;
      const bool wide = call.al() == 0x81;
      for (std::uint32_t* reg : {&call.eax, &call.ecx}) {
        wide ? void(*reg = static_cast<std::uint32_t>(below_16m)) : BiosCall::set_word(*reg, below_16m);
      }
      for (std::uint32_t* reg : {&call.ebx, &call.edx}) {
        wide ? void(*reg = static_cast<std::uint32_t>(above_16m)) : BiosCall::set_word(*reg, above_16m);
      }
      call.set_carry(false);
      return;
    }
    default: break;
  }
  not_here(0x15, call);
  done(false);
}

// ---- INT 8 and 1AH

void Bios::count_tick() {
  if (counted_ahead_) {
    counted_ahead_ = false;
    return;
  }
  const std::uint32_t next = memory_.load<std::uint32_t>(kTicks) + 1;
  memory_.store<std::uint32_t>(kTicks, next >= kTicksOfADay ? 0 : next);
  if (next >= kTicksOfADay) {
    tick_base_ += kTicksOfADay;
    memory_.store<std::uint8_t>(kMidnight, 1);
  }
}

/// The counter, brought up to the clock: with interrupts off it would stand.
std::uint32_t Bios::ticks() {
  const auto counted = memory_.load<std::uint32_t>(kTicks);
  const std::uint64_t passed = periods_passed(host_.ticks()) - tick_base_;
  if (passed <= counted || passed >= kTicksOfADay) return counted;
  memory_.store<std::uint32_t>(kTicks, static_cast<std::uint32_t>(passed));
  constexpr std::uint8_t kReadRequests = 0x0A;
  ports_.out(0x20, 1, kReadRequests);
  counted_ahead_ = (ports_.in(0x20, 1) & 1) != 0;
  return static_cast<std::uint32_t>(passed);
}

void Bios::time(BiosCall& call) {
  enum Place : std::uint8_t { Seconds = 0, Minutes = 2, Hours = 4, Day = 7, Month = 8, Year = 9, Century = 0x32 };
  const auto pair = [this](Place high, Place low) { return cmos(high) << 8 | cmos(low); };
  const auto set_pair = [this](Place high, Place low, std::uint16_t value) {
    set_cmos(high, static_cast<std::uint8_t>(value >> 8));
    set_cmos(low, static_cast<std::uint8_t>(value));
  };
  call.set_carry(false);
  switch (call.ah()) {
    case 0x00: {
      host_.pass_time(kTimeLookTicks);
      const std::uint32_t now = ticks();
      call.set_cx(now >> 16);
      call.set_dx(now);
      call.set_al(memory_.load<std::uint8_t>(kMidnight));
      memory_.store<std::uint8_t>(kMidnight, 0);
      return;
    }
    case 0x01: {
      const std::uint32_t set = std::uint32_t{call.cx()} << 16 | call.dx();
      memory_.store<std::uint32_t>(kTicks, set);
      tick_base_ = periods_passed(host_.ticks()) - set;
      memory_.store<std::uint8_t>(kMidnight, 0);
      return;
    }
    case 0x02:
      host_.pass_time(kTimeLookTicks);
      call.set_cx(static_cast<unsigned>(pair(Hours, Minutes)));
      call.set_dx(static_cast<unsigned>(cmos(Seconds)) << 8);
      return;
    case 0x03:
      set_pair(Hours, Minutes, call.cx());
      set_cmos(Seconds, static_cast<std::uint8_t>(call.dx() >> 8));
      return;
    case 0x04:
      call.set_cx(static_cast<unsigned>(pair(Century, Year)));
      call.set_dx(static_cast<unsigned>(pair(Month, Day)));
      return;
    case 0x05:
      set_pair(Century, Year, call.cx());
      set_pair(Month, Day, call.dx());
      return;
    default: not_here(0x1A, call); call.set_carry(true);
  }
}

}  // namespace zs::machine
