// Lookup in the event tables; and the one event whose UMASK is a set.
#include "arch/events/tables.h"

#include <algorithm>

#include "arch/cpu_model.h"

namespace zs::arch {

std::span<const Event> events(const CpuModel& model) { return model.events(); }

const Event* find_event(const CpuModel& model, std::string_view name) {
  for (const Event& event : events(model)) {
    if (goes_by(event, name)) return &event;
  }
  return nullptr;
}

const Event* find_event(const CpuModel& model, std::uint16_t event, std::uint8_t umask) {
  if (event == 0) return nullptr;  // rows with code 00H are those of fixed counters
  for (const Event& row : events(model)) {
    if (row.code == event && row.umask == umask && row.cmask == 0 && !row.edge && !row.any) return &row;
  }
  return nullptr;
}

std::uint16_t event_code(const CpuModel& model, PerfEvtSel select) {
  const std::uint64_t high = (select.raw() & model.code_bits()) >> 32;
  return static_cast<std::uint16_t>(select.get(PerfEvtSel::event) | high << 8);
}

namespace {

std::uint8_t umask_of(PerfEvtSel select) { return static_cast<std::uint8_t>(select.get(PerfEvtSel::umask)); }

}  // namespace

const Event* find_event(const CpuModel& model, PerfEvtSel select) {
  return find_event(model, event_code(model, select), umask_of(select));
}

const Event* find_whole_event(const CpuModel& model, PerfEvtSel select) {
  constexpr std::uint64_t kConditions = PerfEvtSel::cmask.mask | PerfEvtSel::invert.mask | PerfEvtSel::edge.mask;
  const std::uint64_t whole = kConditions | model.code_bits();
  if ((select.raw() & kConditions) == 0 || event_code(model, select) == 0) return nullptr;
  for (const Event& row : events(model)) {
    if (row.config() == (select.raw() & whole) && row.kind() != EventClass::NotModelled) return &row;
  }
  return nullptr;
}

const EventMeaning* meaning_of(const CpuModel& model, std::uint16_t event, std::uint8_t umask) {
  if (const Event* row = find_event(model, event, umask); row != nullptr) return row->meaning;
  // FP_ARITH_INST_RETIRED: the one event whose UMASK is a set of classes rather than a number.
  const auto is_of_classes = [event](const Event& row) {
    return row.code == event && row.meaning == &kFpArith[row.umask];
  };
  return umask != 0 && std::ranges::any_of(events(model), is_of_classes) ? &kFpArith[umask] : nullptr;
}

const EventMeaning* meaning_of(const CpuModel& model, PerfEvtSel select) {
  return meaning_of(model, event_code(model, select), umask_of(select));
}

const Event* fixed_event(const CpuModel& model, unsigned index) {
  const Event* found = nullptr;
  for (const Event& row : events(model)) {
    if (row.code != 0 || !row.counters.has(kFirstFixedBit + index)) continue;
    if (found == nullptr || row.precise == Precise::Distribution) found = &row;
  }
  return found;
}

namespace {

bool is_sampled_by(Facility facility, const CpuModel& model, std::uint16_t event, std::uint8_t umask) {
  const Event* const row = find_event(model, event, umask);
  return row != nullptr && row->facility == facility;
}

}  // namespace

bool is_precise_store(const CpuModel& model, std::uint16_t event, std::uint8_t umask) {
  return model.precise_store && is_sampled_by(Facility::PreciseStore, model, event, umask);
}

bool is_load_latency(const CpuModel& model, std::uint16_t event, std::uint8_t umask) {
  return model.load_latency && is_sampled_by(Facility::LoadLatency, model, event, umask);
}

bool is_precise_store(const CpuModel& model, PerfEvtSel select) {
  return is_precise_store(model, event_code(model, select), umask_of(select));
}

bool is_load_latency(const CpuModel& model, PerfEvtSel select) {
  return is_load_latency(model, event_code(model, select), umask_of(select));
}

bool is_store_latency(const CpuModel& model, std::uint16_t event, std::uint8_t umask) {
  return model.store_latency && is_sampled_by(Facility::StoreLatency, model, event, umask);
}

}  // namespace zs::arch
