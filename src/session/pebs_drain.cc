#include "session/pebs_drain.h"

#include <bit>

#include "arch/records/pebs_decode.h"

namespace zs::session {
namespace {

using arch::PebsFormat;

PebsFacts facts_of(const arch::PebsWords& record, PebsFormat format) {
  PebsFacts facts{.counters = {format >= PebsFormat::V3 ? record.counters : record.status},
                  .registers = record.registers,
                  .data_address = record.data_address,
                  .data_source = record.data_source,
                  .latency = record.latency};
  if (format >= PebsFormat::V2) facts.eventing_ip = record.eventing_ip;
  if (format >= PebsFormat::V3) facts.tsc = record.tsc;
  return facts;
}

}  // namespace

DrainResult drain_pebs(std::span<const std::byte> records, PebsFormat format, arch::CounterSet pebs_counters,
                       const std::function<void(const PebsFacts&)>& receive) {
  DrainResult result;
  arch::PebsWords record;
  while (arch::decode_pebs(records, format, arch::DsLayout::Words64, record)) {
    PebsFacts facts = facts_of(record, format);
    facts.record = records.first(record.size);
    records = records.subspan(record.size);
    ++result.records;
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
