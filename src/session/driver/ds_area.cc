#include "session/driver/ds_area.h"

#include <cstring>

#include "base/check.h"

namespace zs::session {

using arch::DsBuffer;
using arch::DsManagementArea;

namespace {

/// The management area with every reset value that a processor may have: 32 general and 16 fixed counters.
constexpr std::size_t kAreaBytes = 0x200;
constexpr unsigned kSlots = 48;
static_assert(arch::ds_reset_slot_offset(kSlots) <= kAreaBytes);

}  // namespace

DsArea::DsArea(std::size_t record_bytes, std::uint32_t threshold, std::uint32_t reserve, Buffer buffer)
    : buffer_(buffer),
      size_(kAreaBytes + record_bytes * (std::size_t{threshold} + reserve)),
      memory_(new Line[(size_ + sizeof(Line) - 1) / sizeof(Line)]()) {
  DsManagementArea area{};
  const std::uint64_t base = kAddress + kAreaBytes;
  area.*buffer_ = {.base = base,
                   .index = base,
                   .maximum = base + record_bytes * (std::uint64_t{threshold} + reserve),
                   .threshold = base + record_bytes * std::uint64_t{threshold}};
  std::memcpy(begin(), &area, sizeof area);
}

std::span<const std::byte> DsArea::management(std::size_t bytes) const {
  CHECK(bytes <= kAreaBytes, bytes);
  return {begin(), bytes};
}

void DsArea::set_reset(unsigned slot, std::uint64_t value) {
  CHECK(slot < kSlots, slot);
  std::memcpy(begin() + arch::ds_reset_slot_offset(slot), &value, sizeof value);
}

std::uint64_t DsArea::address_of(std::span<const std::byte> bytes) const {
  const std::ptrdiff_t offset = bytes.data() - begin();
  CHECK(offset >= 0 && static_cast<std::size_t>(offset) <= size_, offset);
  return kAddress + static_cast<std::uint64_t>(offset);
}

std::span<const std::byte> DsArea::records() const {
  DsManagementArea area;
  std::memcpy(&area, begin(), sizeof area);
  const DsBuffer used = area.*buffer_;
  CHECK(used.base <= used.index && used.index <= used.maximum, used.base, used.index, used.maximum);
  return {begin() + kAreaBytes, used.index - used.base};
}

std::span<const std::byte> DsArea::drain() {
  const std::span<const std::byte> drained = records();
  DsManagementArea area;
  std::memcpy(&area, begin(), sizeof area);
  (area.*buffer_).index = (area.*buffer_).base;
  std::memcpy(begin(), &area, sizeof area);
  return drained;
}

std::byte* DsArea::at(std::uint64_t where, std::size_t length) {
  const std::uint64_t offset = where - kAddress;
  return offset <= size_ && length <= size_ - offset ? begin() + offset : nullptr;
}

bool DsArea::read(std::uint64_t where, std::span<std::byte> into) {
  const std::byte* const from = at(where, into.size());
  if (from != nullptr) std::memcpy(into.data(), from, into.size());
  return from != nullptr;
}

bool DsArea::write(std::uint64_t where, std::span<const std::byte> from) {
  std::byte* const into = at(where, from.size());
  if (into != nullptr) std::memcpy(into, from.data(), from.size());
  return into != nullptr;
}

}  // namespace zs::session
