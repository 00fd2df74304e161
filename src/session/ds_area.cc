#include "session/ds_area.h"

#include <cstring>

#include "base/check.h"

namespace zs::session {

using arch::DsBuffer;
using arch::DsManagementArea;

DsArea::DsArea(std::size_t record_bytes, std::uint32_t threshold, std::uint32_t reserve)
    : size_(sizeof(DsManagementArea) + record_bytes * (std::size_t{threshold} + reserve)),
      memory_(new Line[(size_ + sizeof(Line) - 1) / sizeof(Line)]()) {
  DsManagementArea area{};
  const std::uint64_t base = address() + sizeof(DsManagementArea);
  area.pebs = {.base = base,
               .index = base,
               .maximum = base + record_bytes * (std::uint64_t{threshold} + reserve),
               .threshold = base + record_bytes * std::uint64_t{threshold}};
  std::memcpy(begin(), &area, sizeof area);
}

std::uint64_t DsArea::address() const { return reinterpret_cast<std::uintptr_t>(memory_.get()); }

void DsArea::set_reset(unsigned counter, std::uint64_t value) {
  CHECK(counter < DsManagementArea{}.pebs_reset.size(), counter);
  std::memcpy(begin() + arch::ds_reset_slot_offset(counter), &value, sizeof value);
}

std::span<const std::byte> DsArea::drain() {
  DsManagementArea area;
  std::memcpy(&area, begin(), sizeof area);
  const DsBuffer pebs = area.pebs;
  CHECK(pebs.base <= pebs.index && pebs.index <= pebs.maximum, pebs.base, pebs.index, pebs.maximum);
  area.pebs.index = pebs.base;
  std::memcpy(begin(), &area, sizeof area);
  return {begin() + sizeof(DsManagementArea), pebs.index - pebs.base};
}

std::byte* DsArea::at(std::uint64_t where, std::size_t length) {
  const std::uint64_t offset = where - address();
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
