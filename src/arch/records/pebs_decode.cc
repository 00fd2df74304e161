#include "arch/records/pebs_decode.h"

#include <cstring>

namespace zs::arch {

namespace {

/// The T at `offset`; the caller has checked that it is there.
template <WireLayout T>
T at(Bytes bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::optional<PebsFields> decode_32(Bytes bytes) {
  if (bytes.size() < sizeof(Pebs32)) return std::nullopt;
  PebsFields fields;
  fields.size = sizeof(Pebs32);
  fields.registers = widened(at<Pebs32>(bytes, 0));
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
  const auto places = adaptive_places(bytes);
  if (!places) return std::nullopt;
  const auto basic = at<PebsBasic>(bytes, 0);
  PebsFields fields;
  fields.size = places->size;
  fields.groups = places->groups;
  fields.lbr_count = places->lbr_count;
  fields.eventing_ip = basic.ip;
  fields.counters = basic.counters;
  fields.tsc = basic.tsc;
  if (places->groups.has(PebsDataCfg::memory)) {
    const auto memory = at<PebsMemory>(bytes, places->memory);
    fields.data_address = memory.address;
    fields.data_source = memory.source;
    fields.latency = memory.latency;
    fields.transaction = memory.transaction;
  }
  if (places->groups.has(PebsDataCfg::gprs)) fields.registers = legacy_order(at<PebsGprs>(bytes, places->gprs));
  if (places->groups.has(PebsDataCfg::xmms)) fields.xmms = at<PebsXmms>(bytes, places->xmms);
  for (unsigned n = 0; n < places->lbr_count; ++n) {
    fields.lbrs[n] = at<PebsLbr>(bytes, places->lbrs + n * sizeof(PebsLbr));
  }
  return fields;
}

}  // namespace

std::optional<AdaptivePlaces> adaptive_places(Bytes bytes) {
  if (bytes.size() < sizeof(PebsBasic)) return std::nullopt;
  const auto basic = at<PebsBasic>(bytes, 0);
  const PebsDataCfg groups{basic.format_size & ((std::uint64_t{1} << 48) - 1)};
  AdaptivePlaces places{.size = static_cast<std::size_t>(basic.format_size >> 48), .groups = groups};
  if ((groups.raw() & ~PebsDataCfg::fields.mask) != 0) return std::nullopt;
  if (places.size != adaptive_size(groups) || bytes.size() < places.size) return std::nullopt;
  places.memory = sizeof(PebsBasic);
  places.gprs = places.memory + (groups.has(PebsDataCfg::memory) ? sizeof(PebsMemory) : 0);
  places.xmms = places.gprs + (groups.has(PebsDataCfg::gprs) ? sizeof(PebsGprs) : 0);
  places.lbrs = places.xmms + (groups.has(PebsDataCfg::xmms) ? sizeof(PebsXmms) : 0);
  places.lbr_count = lbr_entries(groups);
  return places;
}

std::optional<PebsFields> decode_pebs(Bytes bytes, PebsFormat format, DsLayout layout) {
  if (layout == DsLayout::Words32) return decode_32(bytes);
  return is_adaptive(format) ? decode_adaptive(bytes) : decode_fixed(bytes, format);
}

}  // namespace zs::arch
