#include "machine/devices/ide_disk.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "machine/boot/disk_image.h"

namespace zs::machine {
namespace {

enum Register : std::uint16_t { kData = 0x1F0, kError, kCount, kSector, kLow, kHigh, kDrive, kStatus };
enum Status : std::uint8_t { kFailed = 0x01, kDataRequest = 0x08, kSeekDone = 0x10, kReady = 0x40 };
enum Error : std::uint8_t { kNone = 0, kAborted = 0x04, kIdNotFound = 0x10 };
enum Control : std::uint8_t { kNoInterrupts = 2, kSoftReset = 4 };
constexpr std::uint8_t kByLba = 0x40;

constexpr unsigned kIdentifyWords = 256;

}  // namespace

void IdeDisk::reset() {
  phase_ = Phase::None;
  error_ = 1;  // diagnostics passed
  count_ = sector_ = 1;
  low_ = high_ = drive_ = 0;
  status_ = kReady | kSeekDone;
}

std::uint64_t IdeDisk::first_sector() const {
  if ((drive_ & kByLba) != 0) {
    return (drive_ & 15u) << 24 | std::uint64_t{high_} << 16 | std::uint64_t{low_} << 8 | sector_;
  }
  const std::uint64_t cylinder = std::uint64_t{high_} << 8 | low_;
  const std::uint64_t track = disk()->sectors_per_track();
  if (sector_ == 0) return ~std::uint64_t{0};
  return (cylinder * disk()->heads() + (drive_ & 15u)) * track + sector_ - 1;
}

void IdeDisk::signal() {
  if ((control_ & kNoInterrupts) == 0) line_(true);
}

void IdeDisk::finish(std::uint8_t error) {
  phase_ = Phase::None;
  error_ = error;
  status_ = static_cast<std::uint8_t>(kReady | kSeekDone | (error != kNone ? kFailed : 0));
  signal();
}

void IdeDisk::begin_transfer(Phase phase) {
  next_ = first_sector();
  left_ = count_ == 0 ? 256 : count_;
  if (next_ >= disk()->sectors() || left_ > disk()->sectors() - next_) return finish(kIdNotFound);
  phase_ = phase;
  at_ = 0;
  error_ = kNone;
  status_ = kReady | kSeekDone | kDataRequest;
  if (phase == Phase::ToGuest) next_sector();  // a write asks for its first sector without an interrupt
}

/// Fills the buffer, or stores it.
void IdeDisk::next_sector() {
  if (phase_ == Phase::ToGuest) {
    if (left_ == 0) {
      phase_ = Phase::None;
      status_ = kReady | kSeekDone;
      return;
    }
    const auto data = disk()->read(next_, 1);
    std::memcpy(buffer_.data(), data.data(), buffer_.size());
  } else {
    (void)disk()->write(next_, std::as_bytes(std::span(buffer_)));
  }
  ++next_;
  --left_;
  at_ = 0;
  if (phase_ == Phase::FromGuest && left_ == 0) return finish(kNone);
  signal();
}

void IdeDisk::identify() {
  std::array<std::uint16_t, kIdentifyWords> words{};
  const auto text = [&](unsigned first, unsigned count, std::string_view letters) {
    for (unsigned n = 0; n < count * 2; ++n) {  // the first letter of a pair is in the high byte
      const auto letter = static_cast<unsigned char>(n < letters.size() ? letters[n] : ' ');
      words[first + n / 2] |= static_cast<std::uint16_t>(letter << (n % 2 == 0 ? 8 : 0));
    }
  };
  const auto sectors = static_cast<std::uint32_t>(std::min<std::uint64_t>(disk()->sectors(), 0x0FFFFFFF));
  words[0] = 0x0040;  // a fixed disk
  words[1] = words[54] = static_cast<std::uint16_t>(disk()->cylinders());
  words[3] = words[55] = static_cast<std::uint16_t>(disk()->heads());
  words[6] = words[56] = static_cast<std::uint16_t>(disk()->sectors_per_track());
  text(10, 10, "0");
  text(23, 4, "1");
  text(27, 20, "zeroskid virtual disk");
  words[47] = 0x8000;  // no READ MULTIPLE
  words[49] = 0x0200;  // LBA, no DMA
  words[53] = 1;       // words 54 to 58 are valid
  const auto by_address = static_cast<std::uint32_t>(std::uint32_t{words[54]} * words[55] * words[56]);
  words[57] = static_cast<std::uint16_t>(by_address);
  words[58] = static_cast<std::uint16_t>(by_address >> 16);
  words[60] = static_cast<std::uint16_t>(sectors);
  words[61] = static_cast<std::uint16_t>(sectors >> 16);
  words[80] = 0x001E;  // ATA-1 to ATA-4
  std::memcpy(buffer_.data(), words.data(), buffer_.size());
  phase_ = Phase::ToGuest;
  at_ = 0;
  left_ = 0;
  error_ = kNone;
  status_ = kReady | kSeekDone | kDataRequest;
  signal();
}

void IdeDisk::command(std::uint8_t value) {
  line_(false);
  switch (value) {
    case 0xEC: return identify();
    case 0x20:
    case 0x21: return begin_transfer(Phase::ToGuest);
    case 0x30:
    case 0x31: return begin_transfer(Phase::FromGuest);
    case 0x40:
    case 0x41: {
      const unsigned count = count_ == 0 ? 256 : count_;
      const bool there = first_sector() < disk()->sectors() && count <= disk()->sectors() - first_sector();
      return finish(there ? kNone : kIdNotFound);
    }
    case 0x90: reset(); return signal();
    case 0x91:  // initialise device parameters: the geometry stays
    case 0xE0:
    case 0xE1:
    case 0xE7:  // flush cache
    case 0xEF: return finish(kNone);
    default:
      if ((value & 0xF0) == 0x10 || (value & 0xF0) == 0x70) return finish(kNone);  // recalibrate, seek
      return finish(kAborted);
  }
}

std::uint8_t IdeDisk::take_byte() {
  if (phase_ != Phase::ToGuest) return 0xFF;
  const std::uint8_t value = buffer_[at_];
  if (++at_ == buffer_.size()) next_sector();
  return value;
}

void IdeDisk::give_byte(std::uint8_t value) {
  if (phase_ != Phase::FromGuest) return;
  buffer_[at_] = value;
  if (++at_ == buffer_.size()) next_sector();
}

std::uint8_t IdeDisk::in(std::uint16_t port) {
  if (port == kStatus) line_(false);
  if (port == kStatus || port == kControl) return disk() == nullptr ? std::uint8_t{0} : status_;
  switch (port) {
    case kData: return take_byte();
    case kError: return error_;
    case kCount: return count_;
    case kSector: return sector_;
    case kLow: return low_;
    case kHigh: return high_;
    case kDrive: return static_cast<std::uint8_t>(drive_ | 0xA0);
    default: return 0xFF;
  }
}

void IdeDisk::out(std::uint16_t port, std::uint8_t value) {
  switch (port) {
    case kData: return give_byte(value);
    case kError: return;  // features: none
    case kCount: count_ = value; return;
    case kSector: sector_ = value; return;
    case kLow: low_ = value; return;
    case kHigh: high_ = value; return;
    case kDrive: drive_ = value; return;
    case kStatus:
      if (disk() != nullptr) command(value);
      return;
    case kControl:
      if ((value & kSoftReset) != 0) reset();
      control_ = value;
      return;
    default: return;
  }
}

bool IdeDisk::wide_in(std::uint16_t port, unsigned bytes, std::uint32_t& value) {
  if (port != kData) return false;
  value = 0;
  for (unsigned n = 0; n < bytes; ++n) value |= std::uint32_t{take_byte()} << 8 * n;
  return true;
}

bool IdeDisk::wide_out(std::uint16_t port, unsigned bytes, std::uint32_t value) {
  if (port != kData) return false;
  for (unsigned n = 0; n < bytes; ++n) give_byte(static_cast<std::uint8_t>(value >> 8 * n));
  return true;
}

}  // namespace zs::machine
