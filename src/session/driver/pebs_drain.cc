#include "session/driver/pebs_drain.h"

#include <bit>

#include "arch/records/pebs_decode.h"

namespace zs::session {
namespace {

using arch::PebsFormat;

PebsFacts facts_of(const arch::PebsWords& record, const arch::PebsFormatTraits& format) {
  PebsFacts facts{.counters = {format.names_counters ? record.counters : record.status},
                  .registers = record.registers,
                  .data_address = record.data_address,
                  .data_source = record.data_source,
                  .latency = record.latency};
  if (format.has_eventing_ip) facts.eventing_ip = record.eventing_ip;
  if (format.has_tsc) facts.tsc = record.tsc;
  return facts;
}

}  // namespace

DrainResult drain_pebs(std::span<const std::byte> records, PebsFormat format, arch::CounterSet pebs_counters,
                       const std::function<void(const PebsFacts&)>& receive) {
  DrainResult result;
  arch::PebsWords record;
  const arch::PebsFormatTraits& traits = arch::traits(format);
  while (arch::decode_pebs(records, format, arch::DsLayout::Words64, record)) {
    PebsFacts facts = facts_of(record, traits);
    facts.record = records.first(record.size);
    records = records.subspan(record.size);
    ++result.records;
    facts.counters = facts.counters & pebs_counters;
    if (facts.counters.empty() && !traits.names_counters && std::has_single_bit(pebs_counters.bits)) {
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
