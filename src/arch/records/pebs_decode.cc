#include "arch/records/pebs_decode.h"

#include <algorithm>
#include <cstring>

namespace zs::arch {

namespace {

/// The next T, and `bytes` behind it; the caller has checked that it is there.
template <WireLayout T>
T take(Bytes& bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes = bytes.subspan(sizeof value);
  return value;
}

std::optional<PebsFields> decode_32(Bytes bytes) {
  if (bytes.size() < sizeof(Pebs32)) return std::nullopt;
  PebsFields fields;
  fields.size = sizeof(Pebs32);
  fields.registers = widened(take<Pebs32>(bytes));
  return fields;
}

std::optional<PebsFields> decode_fixed(Bytes bytes, PebsFormat format) {
  const std::size_t size = record_size(format);
  if (size == 0 || bytes.size() < size) return std::nullopt;
  PebsV3 record{};  // an older record is a prefix of a newer one
  std::memcpy(&record, bytes.data(), size);
  const PebsV1& v1 = record.v2.v1;
  PebsFields fields;
  fields.size = size;
  fields.registers = v1.v0.registers;
  (format >= PebsFormat::V3 ? fields.counters : fields.status) = v1.status;
  fields.data_address = v1.data_address;
  fields.data_source = v1.data_source;
  fields.latency = v1.latency;
  fields.eventing_ip = record.v2.eventing_ip;
  fields.transaction = record.v2.transaction;
  fields.tsc = record.tsc;
  return fields;
}

std::optional<PebsFields> decode_adaptive(Bytes bytes) {
  if (bytes.size() < sizeof(PebsBasic)) return std::nullopt;
  const auto basic = take<PebsBasic>(bytes);
  const std::uint64_t format = basic.format_size & ((std::uint64_t{1} << 48) - 1);
  PebsFields fields;
  fields.size = static_cast<std::size_t>(basic.format_size >> 48);
  if ((format & ~kPebsGroups) != 0 || fields.size > kMaxPebsRecord) return std::nullopt;

  // How many LBR entries there are follows from the size alone.
  const PebsDataCfg groups{format & ~PebsDataCfg::lbrs.mask};
  const std::size_t rest = adaptive_size(groups);
  if (fields.size < rest || bytes.size() < fields.size - sizeof(PebsBasic)) return std::nullopt;
  const std::size_t lbr_bytes = fields.size - rest;
  const bool has_lbrs = (format & PebsDataCfg::lbrs.mask) != 0;
  if (lbr_bytes % sizeof(PebsLbr) != 0 || has_lbrs != (lbr_bytes != 0)) return std::nullopt;
  fields.lbr_count = static_cast<unsigned>(lbr_bytes / sizeof(PebsLbr));
  if (fields.lbr_count > kMaxPebsLbrs) return std::nullopt;
  fields.groups = PebsDataCfg{format};
  if (has_lbrs) fields.groups = fields.groups.with(PebsDataCfg::lbr_entries, fields.lbr_count - 1);

  fields.eventing_ip = basic.ip;
  fields.counters = basic.counters;
  fields.tsc = basic.tsc;
  if (groups.has(PebsDataCfg::memory)) {
    const auto memory = take<PebsMemory>(bytes);
    fields.data_address = memory.address;
    fields.data_source = memory.source;
    fields.latency = memory.latency;
    fields.transaction = memory.transaction;
  }
  if (groups.has(PebsDataCfg::gprs)) fields.registers = legacy_order(take<PebsGprs>(bytes));
  if (groups.has(PebsDataCfg::xmms)) fields.xmms = take<PebsXmms>(bytes);
  for (unsigned n = 0; n < fields.lbr_count; ++n) fields.lbrs[n] = take<PebsLbr>(bytes);
  return fields;
}

}  // namespace

std::optional<PebsFields> decode_pebs(Bytes bytes, PebsFormat format, DsLayout layout) {
  if (layout == DsLayout::Words32) return decode_32(bytes);
  return is_adaptive(format) ? decode_adaptive(bytes) : decode_fixed(bytes, format);
}

}  // namespace zs::arch
