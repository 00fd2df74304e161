// The order is record first, index second: a reader that sees the index sees the whole record.
#include "pmu/pebs_writer.h"

#include <span>

namespace zs::pmu {

namespace {

template <WireLayout T>
bool load(LinearMemory& memory, std::uint64_t address, T& into) {
  return memory.read(address, std::as_writable_bytes(std::span{&into, 1}));
}

}  // namespace

PebsWriter::Outcome PebsWriter::write(std::uint64_t ds_area, const arch::PebsV3& record) {
  arch::DsBuffer buffer{};
  if (!load(memory_, ds_area + arch::kDsPebsOffset, buffer)) return Outcome::Dropped;

  const std::size_t size = arch::record_size(format_);
  if (buffer.index < buffer.base || buffer.index > buffer.maximum) return Outcome::Dropped;
  if (buffer.maximum - buffer.index < size) return Outcome::Dropped;

  const auto bytes = std::as_bytes(std::span{&record, 1}).first(size);
  if (!memory_.write(buffer.index, bytes)) return Outcome::Dropped;
  const std::uint64_t index = buffer.index + size;
  if (!memory_.write(ds_area + arch::kDsPebsIndexOffset, std::as_bytes(std::span{&index, 1}))) return Outcome::Dropped;
  return index >= buffer.threshold ? Outcome::ReachedThreshold : Outcome::Stored;
}

std::optional<std::uint64_t> PebsWriter::reset_value(std::uint64_t ds_area, unsigned counter) {
  std::uint64_t value = 0;
  if (!load(memory_, ds_area + arch::ds_reset_slot_offset(counter), value)) return std::nullopt;
  return value;
}

}  // namespace zs::pmu
