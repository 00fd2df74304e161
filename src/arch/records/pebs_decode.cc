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

bool decode_32(Bytes bytes, PebsWords& words) {
  if (bytes.size() < sizeof(Pebs32)) return false;
  words = {.size = sizeof(Pebs32), .groups = {}, .registers = widened(at<Pebs32>(bytes, 0))};
  return true;
}

bool decode_fixed(Bytes bytes, PebsFormat format, PebsWords& words) {
  const std::size_t size = traits(format).record_bytes;
  if (size == 0 || bytes.size() < size) return false;
  PebsV3 record{};  // an older record is a prefix of a newer one
  std::memcpy(&record, bytes.data(), size);
  const PebsV1& v1 = record.v2.v1;
  const bool names_counters = traits(format).names_counters;
  words = {.size = size,
           .groups = {},
           .registers = v1.v0.registers,
           .status = names_counters ? 0 : v1.status,
           .counters = names_counters ? v1.status : 0,
           .eventing_ip = record.v2.eventing_ip,
           .tsc = record.tsc,
           .data_address = v1.data_address,
           .data_source = v1.data_source,
           .latency = v1.latency,
           .transaction = record.v2.transaction};
  return true;
}

bool decode_adaptive(Bytes bytes, PebsWords& words) {
  const auto places = adaptive_places(bytes);
  if (!places) return false;
  const auto basic = at<PebsBasic>(bytes, 0);
  words = {.size = places->size,
           .groups = places->groups,
           .registers = {},
           .counters = basic.counters,
           .eventing_ip = basic.ip,
           .tsc = basic.tsc};
  if (places->groups.has(PebsDataCfg::memory)) {
    const auto memory = at<PebsMemory>(bytes, places->memory);
    words.data_address = memory.address;
    words.data_source = memory.source;
    words.latency = memory.latency;
    words.transaction = memory.transaction;
  }
  if (places->groups.has(PebsDataCfg::gprs)) words.registers = legacy_order(at<PebsGprs>(bytes, places->gprs));
  return true;
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

bool decode_pebs(Bytes bytes, PebsFormat format, DsLayout layout, PebsWords& words) {
  if (layout == DsLayout::Words32) return decode_32(bytes, words);
  return is_adaptive(format) ? decode_adaptive(bytes, words) : decode_fixed(bytes, format, words);
}

std::optional<PebsFields> decode_pebs(Bytes bytes, PebsFormat format, DsLayout layout) {
  PebsFields fields;
  if (!decode_pebs(bytes, format, layout, fields)) return std::nullopt;
  if (layout == DsLayout::Words32 || !is_adaptive(format)) return fields;
  const auto places = adaptive_places(bytes);
  if (fields.groups.has(PebsDataCfg::xmms)) fields.xmms = at<PebsXmms>(bytes, places->xmms);
  fields.lbr_count = places->lbr_count;
  for (unsigned n = 0; n < places->lbr_count; ++n) {
    fields.lbrs[n] = at<PebsLbr>(bytes, places->lbrs + n * sizeof(PebsLbr));
  }
  return fields;
}

}  // namespace zs::arch
