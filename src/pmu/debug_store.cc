// The order is record first, index second: a reader that sees the index sees the whole record.
#include "pmu/debug_store.h"

#include <algorithm>
#include <span>
#include <utility>

namespace zs::pmu {

using arch::DsBuffer;
using arch::DsBuffer32;
using arch::DsLayout;

namespace {

template <WireLayout T>
Bytes bytes_of(const T& value) {
  return std::as_bytes(std::span{&value, 1});
}
template <WireLayout T>
std::span<std::byte> room_of(T& value) {
  return std::as_writable_bytes(std::span{&value, 1});
}

}  // namespace

bool DebugStore::read(std::uint64_t address, std::span<std::byte> into) {
  if (memory_.read(address, into)) return true;
  if (!fault_) fault_ = DsFault{address, static_cast<std::uint32_t>(into.size()), false};
  return false;
}

bool DebugStore::write(std::uint64_t address, Bytes from) {
  if (memory_.write(address, from)) return true;
  if (!fault_) fault_ = DsFault{address, static_cast<std::uint32_t>(from.size()), true};
  return false;
}

std::optional<DsBuffer> DebugStore::buffer(std::uint64_t offset) {
  if (layout_ == DsLayout::Words64) {
    DsBuffer words{};
    if (!read(address_ + offset, room_of(words))) return std::nullopt;
    return words;
  }
  DsBuffer32 words{};
  if (!read(linear(address_ + offset), room_of(words))) return std::nullopt;
  return DsBuffer{words.base, words.index, words.maximum, words.threshold};
}

bool DebugStore::set_index(std::uint64_t offset, std::uint64_t index) {
  const std::uint64_t at = linear(address_ + offset + arch::ds_word_bytes(layout_));
  return write(at, bytes_of(index).first(arch::ds_word_bytes(layout_)));
}

DebugStore::Outcome DebugStore::store_pebs(Bytes record) {
  const std::uint64_t offset = arch::ds_pebs_offset(layout_);
  const auto pebs = buffer(offset);
  if (!pebs) return Outcome::Faulted;
  if (pebs->index < pebs->base || pebs->index > pebs->maximum) return Outcome::OutOfBounds;
  if (pebs->maximum - pebs->index < record.size()) return Outcome::Full;

  if (!write(pebs->index, record)) return Outcome::Faulted;
  const std::uint64_t index = pebs->index + record.size();
  if (!set_index(offset, index)) return Outcome::Faulted;
  return index >= pebs->threshold ? Outcome::ReachedThreshold : Outcome::Stored;
}

std::uint64_t DebugStore::room_below_threshold(std::uint64_t record_bytes) {
  const std::optional<DsFault> kept = fault_;  // the processor accesses nothing here
  const auto pebs = buffer(arch::ds_pebs_offset(layout_));
  fault_ = kept;
  if (!pebs || pebs->index < pebs->base || pebs->index > pebs->maximum || pebs->index >= pebs->threshold) return 0;
  return std::min(pebs->threshold - 1 - pebs->index, pebs->maximum - pebs->index) / record_bytes;
}

bool DebugStore::store_branch(const arch::TakenBranch& branch, bool interrupting) {
  const std::uint64_t offset = arch::ds_bts_offset(layout_);
  const auto bts = buffer(offset);
  if (!bts) return false;
  const std::uint64_t size = arch::bts_record_size(layout_);
  const auto fits = [&](std::uint64_t index) { return index <= bts->maximum && bts->maximum - index >= size; };

  std::uint64_t index = bts->index;
  const std::uint64_t next = index + size;
  if (fits(index)) {
    const std::uint64_t flags = branch.mispredicted || no_prediction_ ? 0 : arch::kBtsPredicted;
    bool stored = false;
    if (layout_ == DsLayout::Words64) {
      stored = write(index, bytes_of(arch::BtsRecord{branch.from, branch.to, flags}));
    } else {
      stored = write(
          index, bytes_of(arch::BtsRecord32{static_cast<std::uint32_t>(branch.from),
                                            static_cast<std::uint32_t>(branch.to), static_cast<std::uint32_t>(flags)}));
    }
    if (!stored) return false;
    index = next;
  }
  if (!interrupting && !fits(index)) index = bts->base;
  if (index != bts->index && !set_index(offset, index)) return false;
  return next >= bts->threshold;
}

std::optional<std::uint64_t> DebugStore::reset_value(unsigned counter) {
  const unsigned slot = arch::ds_reset_slot(counter, first_fixed_slot_);
  std::uint64_t value = 0;
  if (!read(linear(address_ + arch::ds_reset_slot_offset(slot, layout_)), room_of(value))) return std::nullopt;
  return value;
}

}  // namespace zs::pmu
