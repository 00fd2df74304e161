#include "session/pebs_drain.h"

#include <bit>
#include <cstring>

#include "base/check.h"

namespace zs::session {
namespace {

using arch::PebsFormat;

PebsFacts decode(std::span<const std::byte> bytes, PebsFormat format) {
  arch::PebsV3 record{};  // the newest: an older record is a prefix of it
  std::memcpy(&record, bytes.data(), bytes.size());
  const arch::PebsV1& v1 = record.v2.v1;
  PebsFacts facts{.counters = {v1.status}, .registers = v1.v0.registers, .data_address = v1.data_address};
  if (format >= PebsFormat::V2) facts.eventing_ip = record.v2.eventing_ip;
  if (format >= PebsFormat::V3) facts.tsc = record.tsc;
  return facts;
}

}  // namespace

DrainResult drain_pebs(std::span<const std::byte> records, PebsFormat format, arch::CounterSet pebs_counters,
                       const std::function<void(const PebsFacts&)>& receive) {
  CHECK(format >= PebsFormat::V1 && format <= PebsFormat::V3, static_cast<unsigned>(format));
  const std::size_t size = arch::record_size(format);
  DrainResult result;
  for (; records.size() >= size; records = records.subspan(size)) {
    ++result.records;
    PebsFacts facts = decode(records.first(size), format);
    facts.counters = facts.counters & pebs_counters;
    if (facts.counters.empty() && format < PebsFormat::V3 && std::has_single_bit(pebs_counters.bits)) {
      facts.counters = pebs_counters;
    }
    if (facts.counters.empty()) {
      ++result.unclaimed;
    } else {
      receive(facts);
    }
  }
  return result;
}

}  // namespace zs::session
