#include "machine/devices/cmos.h"

#include <algorithm>

#include "machine/memory.h"

namespace zs::machine {
namespace {

constexpr std::uint8_t bcd(std::uint64_t number) { return static_cast<std::uint8_t>(number / 10 << 4 | number % 10); }

enum Place : std::uint8_t {
  kSeconds = 0x00,
  kMinutes = 0x02,
  kHours = 0x04,
  kWeekday = 0x06,
  kDay = 0x07,
  kMonth = 0x08,
  kYear = 0x09,
  kStatusA = 0x0A,
  kStatusB = 0x0B,
  kStatusC = 0x0C,
  kStatusD = 0x0D,
  kFloppies = 0x10,
  kEquipment = 0x14,
  kBaseKiB = 0x15,
  kExtendedKiB = 0x17,
  kCentury = 0x32,
  kAbove16MiB = 0x34,  // in 64 KiB
};

constexpr std::uint64_t kSecondsOfADay = 86400;
constexpr std::uint8_t kUpdateInProgress = 0x80;
constexpr std::uint64_t kUpdateTicks = kTscHz / 1'000'000 * 2228;  // the last 244 + 1984 microseconds of each second

}  // namespace

Cmos::Cmos(const Clock& clock, std::uint64_t memory_bytes) : clock_(clock) {
  const auto word = [this](Place place, std::uint64_t value) {
    bytes_[place] = static_cast<std::uint8_t>(value);
    bytes_[place + 1u] = static_cast<std::uint8_t>(value >> 8);
  };
  bytes_[kWeekday] = 6;  // Friday, 1 January 2010
  bytes_[kDay] = 1;
  bytes_[kMonth] = 1;
  bytes_[kYear] = bcd(10);
  bytes_[kCentury] = bcd(20);
  bytes_[kStatusA] = 0x26;
  bytes_[kStatusB] = 0x02;  // 24 hours
  bytes_[kStatusD] = 0x80;  // the battery is good
  bytes_[kFloppies] = 0x40;
  bytes_[kEquipment] = 0x21;
  word(kBaseKiB, kLowMemoryKiB);
  const std::uint64_t above_1m = memory_bytes - (1 << 20);
  word(kExtendedKiB, std::min<std::uint64_t>(above_1m >> 10, 0xFFFF));
  word(static_cast<Place>(kExtendedKiB + 0x19),
       std::min<std::uint64_t>(above_1m >> 10, 0xFFFF));  // 30H: the same again
  constexpr std::uint64_t kSixteenMiB = 16 << 20;
  word(kAbove16MiB, memory_bytes > kSixteenMiB ? (memory_bytes - kSixteenMiB) >> 16 : 0);
}

std::uint64_t Cmos::seconds_of_day() const {
  return (clock_.now() / kTscHz + offset_) % kSecondsOfADay;  // a run does not last until midnight: the date stands
}

std::uint8_t Cmos::in(std::uint16_t port) {
  if ((port & 1) == 0) return 0xFF;
  const std::uint64_t seconds = seconds_of_day();
  switch (index_) {
    case kSeconds: return bcd(seconds % 60);
    case kMinutes: return bcd(seconds / 60 % 60);
    case kHours: return bcd(seconds / 3600);
    case kStatusA: {
      const bool updating = clock_.now() % kTscHz >= kTscHz - kUpdateTicks;
      return static_cast<std::uint8_t>(bytes_[kStatusA] | (updating ? kUpdateInProgress : 0));
    }
    default: return bytes_[index_];
  }
}

void Cmos::out(std::uint16_t port, std::uint8_t value) {
  if ((port & 1) == 0) {
    index_ = value & 0x7F;  // bit 7 disables NMI on old boards
    return;
  }
  const std::uint64_t unit = index_ == kSeconds ? 1 : index_ == kMinutes ? 60 : index_ == kHours ? 3600 : 0;
  if (unit != 0) {
    const std::uint64_t number = (value >> 4) * 10u + (value & 15u), limit = unit == 3600 ? 24 : 60;
    const std::uint64_t now = seconds_of_day() / unit % limit;
    offset_ = (offset_ + kSecondsOfADay + (number % limit) * unit - now * unit) % kSecondsOfADay;
  } else if (index_ != kStatusC && index_ != kStatusD) {
    bytes_[index_] = index_ == kStatusA ? static_cast<std::uint8_t>(value & ~kUpdateInProgress) : value;
  }
}

}  // namespace zs::machine
