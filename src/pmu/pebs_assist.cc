#include "pmu/pebs_assist.h"

#include <algorithm>

#include "arch/quirks.h"

namespace zs::pmu {

using arch::CounterSet;
using arch::FixedCtrCtrl;
using arch::GlobalStatus;
using arch::PerfEvtSel;
using arch::Quirk;

CounterSet PebsAssist::record(CounterSet triggered, const arch::Retired& retired, const arch::RegisterFile& after,
                              bool code64, bool& reached_threshold) {
  const arch::PebsFormat format = model_.pebs_format();
  arch::PebsShape shape{.format = format, .layout = store_.layout()};
  if (arch::is_adaptive(format)) shape.groups = groups_of(triggered);
  PebsContent content{
      .after = after, .eventing_ip = retired.ip, .status = counters_.status().raw(), .counters = triggered.bits};
  content.data_address = counters_.accesses().address(triggered, retired);
  const arch::SourceWord word = counters_.accesses().source_word(triggered);
  const arch::AccessOutcome& access = word == arch::SourceWord::LoadLatency ? retired.load : retired.store;
  if (access.present) {
    content.data_source = arch::encode_source(model_.data_source, word, access.source);
    content.latency = arch::encode_latency(model_.data_source, word, access.latency);
  }
  if (arch::traits(format).has_tsc) content.tsc = clock_.tsc();

  const Bytes bytes = record_.lay_out(shape, content, code64, lbr_, vector_registers_);
  const DebugStore::Outcome outcome = store_.store_pebs(bytes);
  CounterSet served = triggered;
  switch (outcome) {
    case DebugStore::Outcome::ReachedThreshold:
    case DebugStore::Outcome::Stored:
      if (model_.pebs_serves == arch::PebsServes::Overflowed) served = served | counters_.arming().armed();
      reload({served.bits & ~reloaded_.bits & ~behind_.bits});
      counters_.clear_status(served.bits);
      break;
    case DebugStore::Outcome::OutOfBounds:
      if (!model_.quirks.has(Quirk::OutOfBoundsSetsOvfBuf)) break;
      counters_.clear_status(served.bits);
      reached_threshold = true;
      break;
    case DebugStore::Outcome::Full:
    case DebugStore::Outcome::Faulted: break;
  }
  counters_.arming().disarm(served);
  for (CounterSet rest = served & behind_; !rest.empty(); rest.bits &= rest.bits - 1) {
    const CounterSet counter = arch::only(rest.first());
    if ((reloaded_ & counter).empty()) take_period(rest.first());
    counters_.arming().set_due(behind_ & counter);
  }
  reloaded_.bits &= ~served.bits;
  if (outcome == DebugStore::Outcome::ReachedThreshold) reached_threshold = true;
  if (reached_threshold) counters_.set_status(GlobalStatus::buffer.mask);
  return served;
}

void PebsAssist::reload_wrapped(CounterSet wrapped) {
  for (CounterSet rest = wrapped; !rest.empty(); rest.bits &= rest.bits - 1) {
    const unsigned counter = rest.first();
    behind_ = behind_ | arch::only(counter);
    if (reloaded_.has(counter) || counters_.value(counter) >= period_of(counter)) continue;
    take_period(counter);
    reloaded_ = reloaded_ | arch::only(counter);
  }
}

std::uint64_t PebsAssist::period_of(unsigned counter) const {
  const std::uint64_t limit = limit_of(counter);
  return limit - (store_.reset_value(counter).value_or(0) & (limit - 1));
}

void PebsAssist::take_period(unsigned counter) {
  const std::uint64_t since = counters_.value(counter), period = period_of(counter);
  if (since < period) behind_.bits &= ~arch::only(counter).bits;
  counters_.set_value(counter, since - period);
}

void PebsAssist::set_counter(unsigned counter, std::uint64_t value) {
  counters_.set_value(counter, value);
  if (!behind_.has(counter)) return;
  behind_.bits &= ~arch::only(counter).bits;
  if (!reloaded_.has(counter)) counters_.arming().forget_due(arch::only(counter));
}

void PebsAssist::forget_due() { reloaded_ = behind_ = {}; }

void PebsAssist::reload(CounterSet counters) {
  for (CounterSet rest = counters; !rest.empty(); rest.bits &= rest.bits - 1) {
    const unsigned counter = rest.first();
    if (const auto value = store_.reset_value(counter)) counters_.set_value(counter, *value);
  }
}

/// The groups of a record: what PEBS_DATA_CFG asks for if one of its counters is adaptive, else the basic one.
arch::PebsDataCfg PebsAssist::groups_of(CounterSet triggered) const {
  for (CounterSet rest = triggered; !rest.empty(); rest.bits &= rest.bits - 1) {
    const unsigned counter = rest.first();
    const bool adaptive = counter < arch::kFirstFixedBit
                              ? counters_.select(counter).has(PerfEvtSel::adaptive)
                              : counters_.fixed_control().has(FixedCtrCtrl::adaptive, counter - arch::kFirstFixedBit);
    if (adaptive) return groups_;
  }
  return {};
}

// What record() asks for and writes must be the same later: so no vector registers.
Pmu::Repeating PebsAssist::repeating(std::size_t accumulator, Ring ring) const {
  if (vector_registers_ != nullptr) return {};
  const auto nearest = counters_.nearest(accumulator, ring);
  if (!nearest || !counters_.recorded_at_overflow().has(nearest->counter)) return {};
  const CounterSet counter = arch::only(nearest->counter);
  if ((counters_.arming().enabled() & counter).empty() || !(counters_.interrupting() & counter).empty()) return {};
  const auto value = store_.reset_value(nearest->counter);
  if (!value) return {};
  const arch::PebsFormat format = model_.pebs_format();
  arch::PebsShape shape{.format = format, .layout = store_.layout()};
  if (arch::is_adaptive(format)) shape.groups = groups_of(counter);
  const std::uint64_t limit = limit_of(nearest->counter);
  Pmu::Repeating found{.events = limit - (*value & (limit - 1)), .times = 0};
  const std::uint64_t first = counters_.headroom(accumulator, ring) + 1;
  if (nearest->others_room < first) return {};
  found.times = std::min(1 + (nearest->others_room - first) / found.events,
                         store_.room_below_threshold(arch::record_size(shape)));
  return found;
}

}  // namespace zs::pmu
