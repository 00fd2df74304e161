#include "session/windows/regions.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>

#include "base/check.h"
#include "session/driver/pmu_plan.h"

namespace zs::session {
namespace {

using engine::ProbeTime;

/// What a mark of the source leads to: these bytes, 'B' or 'E', the name, a zero byte. See include/zeroskid/region.h.
constexpr std::string_view kMark = "zsregion";
constexpr std::size_t kLongestName = 200;

bool is_end(RegionProbes::Kind kind) {
  return kind == RegionProbes::Kind::End || kind == RegionProbes::Kind::StretchEnd ||
         kind == RegionProbes::Kind::FunctionReturn || kind == RegionProbes::Kind::SwitchOff;
}

}  // namespace

RegionProbes::RegionProbes(const RecordingConfig& config, ProgramMemory& memory) : config_(config), memory_(memory) {
  for (const RegionSpec& spec : config.regions) {
    const std::uint32_t number = region(spec.name);
    if (spec.in_file) continue;
    for (const std::uint64_t pc : spec.ends) add(pc, {Kind::StretchEnd, number}, false);
    for (const std::uint64_t pc : spec.begins) add(pc, {Kind::StretchBegin, number}, false);
  }
}

std::uint32_t RegionProbes::region(const std::string& name) {
  const auto [at, fresh] = numbers_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (fresh) names_.push_back(name);
  return at->second;
}

void RegionProbes::add(std::uint64_t pc, Action action, bool with_registers) {
  found_ = {};
  Actions& actions = actions_[pc];
  const auto same = [&](const Action& a) { return a.kind == action.kind && a.region == action.region; };
  if (std::ranges::any_of(actions, same)) return;
  actions.insert(is_end(action.kind) ? actions.begin() : actions.end(), action);
  // What is counted changes there, so a profile's trace has to end.
  with_registers = with_registers || config_.profiles() || std::ranges::any_of(actions, [](const Action& a) {
                     return a.kind == Kind::FunctionEntry || a.kind == Kind::FunctionReturn;
                   });
  new_.push_back({.pc = pc, .time = ProbeTime::Before, .with_registers = with_registers});
}

void RegionProbes::mapped(const engine::Mapping& mapping) {
  if ((mapping.protection & PROT_EXEC) == 0) return;
  for (const RegionSpec& spec : config_.regions) {
    if (!spec.in_file || spec.file != identity_of(mapping)) continue;
    const std::uint32_t number = region(spec.name);
    const auto probe_all = [&](const std::vector<std::uint64_t>& offsets, Kind kind) {
      for (const std::uint64_t offset : offsets) {
        if (offset - mapping.file_offset >= mapping.length) continue;  // of another mapping; also if it lies before
        const bool repeats = std::ranges::find(spec.repeated, offset) != spec.repeated.end();
        add(mapping.start + (offset - mapping.file_offset), {kind, number, repeats}, kind == Kind::FunctionEntry);
      }
    };
    probe_all(spec.ends, spec.switches ? Kind::SwitchOff : Kind::StretchEnd);
    probe_all(spec.begins, spec.switches ? Kind::SwitchOn : spec.function ? Kind::FunctionEntry : Kind::StretchBegin);
  }
}

ProbeTime RegionProbes::marker(std::uint64_t pc, std::uint64_t operand) {
  if (!config_.marked_regions) return ProbeTime::None;
  std::array<char, kMark.size() + 1 + kLongestName + 1> text{};
  const std::size_t read = memory_.read(operand, std::as_writable_bytes(std::span(text)));
  const std::string_view found(text.data(), read);
  if (!found.starts_with(kMark) || found.size() < kMark.size() + 2) return ProbeTime::None;
  const char which = found[kMark.size()];
  const std::string_view rest = found.substr(kMark.size() + 1);
  const std::size_t length = rest.find('\0');
  if ((which != 'B' && which != 'E') || length == std::string_view::npos || length == 0) return ProbeTime::None;
  const std::string name(rest.substr(0, length));
  const std::vector<std::string>& traced = config_.trace_filter.regions;
  if (!traced.empty() && std::ranges::find(traced, name) == traced.end()) return ProbeTime::None;
  // What the code at `pc` said before is gone.
  found_ = {};
  actions_[pc] = {{.kind = which == 'B' ? Kind::Begin : Kind::End, .region = region(name)}};
  return which == 'B' ? ProbeTime::After : ProbeTime::Before;
}

std::uint64_t RegionProbes::word_at(std::uint64_t address) const {
  std::uint64_t word = 0;
  return memory_.read(address, std::as_writable_bytes(std::span(&word, 1))) == sizeof word ? word : 0;
}

std::uint64_t RegionProbes::return_address(const arch::RegisterFile& at_entry) {
  const std::uint64_t pc = word_at(at_entry.sp);
  if (pc != 0) add(pc, {.kind = Kind::FunctionReturn}, true);
  return pc;
}

const RegionProbes::Actions& RegionProbes::look_up(std::uint64_t pc) const {
  static const Actions none;
  const auto found = actions_.find(pc);
  return found == actions_.end() ? none : found->second;
}

ThreadRegions::ThreadRegions(const RecordingConfig& config, RegionProbes& probes, const EventCounters& counters)
    : config_(config),
      probes_(probes),
      counters_(counters),
      events_(reported_events(config)),
      base_(config.events.size()),
      estimated_(config.estimated_events()) {
  std::size_t accumulators = 1;
  for (std::size_t event = 0; event < base_.size(); ++event) {
    const std::size_t accumulator = counters.accumulator(event);
    const bool none = accumulator == EventCounters::kNoAccumulator;
    accumulators_.push_back(none ? Accumulator{.number = 0, .mask = 0}
                                 : Accumulator{.number = accumulator, .mask = UINT32_MAX});
    accumulators = std::max(accumulators, accumulators_.back().number + 1);
  }
  nothing_.resize(accumulators);
}

void ThreadRegions::read_counters() {
  counters_.totals(base_);
  uncounted_ = nothing_.data();
}

Region& ThreadRegions::of(std::uint32_t region) {
  if (region >= regions_.size()) regions_.resize(region + 1);
  while (has_units() && region >= estimates_.size()) estimates_.push_back({.sums = UnitSums(estimated_.size())});
  Region& counted = regions_[region];
  if (counted.sum.empty()) {
    counted.name = probes_.name(region);
    counted.sum.assign(events_, 0);
    counted.least.assign(events_, UINT64_MAX);
    counted.most.assign(events_, 0);
  }
  return counted;
}

std::optional<std::size_t> ThreadRegions::newest(std::uint32_t region) const {
  for (std::size_t i = depth_; i-- > 0;) {
    if (open_[i].region == region) return i;
  }
  return std::nullopt;
}

void ThreadRegions::begin(std::uint32_t region, const arch::RegisterFile* at_entry) {
  if (region >= nesting_.size()) nesting_.resize(region + 1);
  ++nesting_[region];
  if (depth_ == open_.size()) open_.emplace_back().before.resize(events_);
  Open& open = open_[depth_++];
  open.region = region;
  open.sp = at_entry == nullptr ? 0 : at_entry->sp;
  if (config_.region_spans) open.position = now(config_.position_event);
  std::uint64_t* const before = open.before.data();
  for (std::size_t event = 0; event < events_; ++event) before[event] = now(event);
  if (!has_units()) return;
  open.first_instruction = instructions_now();
  if (unit_) look_at(open.unit_before);
}

void ThreadRegions::look_at(UnitCounts& counts) const {
  counts.instructions = instructions_now();
  counts.events.clear();
  for (const std::uint32_t event : estimated_) counts.events.push_back(now(event));
}

/// What the unit has brought the region since either began.
void ThreadRegions::add_part_of_unit(const Open& open) {
  UnitCounts by_now;
  look_at(by_now);
  of(open.region);
  estimates_[open.region].sums.add(*unit_, open.unit_before, by_now);
}

void ThreadRegions::begin_unit(const Unit& unit) {
  unit_ = unit;
  read_counters();
  for (std::size_t i = 0; i < depth_; ++i) look_at(open_[i].unit_before);
}

void ThreadRegions::end_unit() {
  read_counters();
  std::vector<bool> added(nesting_.size());
  for (std::size_t i = 0; i < depth_; ++i) {
    if (!added[open_[i].region]) add_part_of_unit(open_[i]);  // what lies in it is in it
    added[open_[i].region] = true;
  }
  unit_.reset();
}

/// The newest open region ends here.
void ThreadRegions::close(bool cut, std::vector<RegionSpan>& spans) {
  CHECK(depth_ > 0);
  const Open& open = open_[--depth_];
  Region& counted = of(open.region);
  ++counted.entries;
  if (cut) ++counted.cut;
  const bool outermost = --nesting_[open.region] == 0;  // else what it counts is in the entry that it lies in
  const std::uint64_t* const before = open.before.data();
  std::uint64_t *const sum = counted.sum.data(), *const least = counted.least.data(), *const most = counted.most.data();
  for (std::size_t event = 0; event < events_; ++event) {
    const std::uint64_t value = now(event) - before[event];
    if (outermost) sum[event] += value;
    least[event] = std::min(least[event], value);
    most[event] = std::max(most[event], value);
  }
  if (has_units() && outermost) estimates_[open.region].instructions += instructions_now() - open.first_instruction;
  if (unit_ && outermost) add_part_of_unit(open);
  if (!config_.region_spans) return;
  spans.push_back({.name = counted.name, .begin = open.position, .end = now(config_.position_event)});
}

void ThreadRegions::close_down_to(std::size_t open, std::vector<RegionSpan>& spans) {
  while (depth_ > open + 1) close(true, spans);
  close(false, spans);
}

// The stack grows down: a function whose entry lies below `sp` has been left. The one that returns to `pc` did so
// properly, unless a landing pad leads there: the calls that it made have written over the return address.
void ThreadRegions::leave_frames_below(std::uint64_t sp, std::uint64_t pc, std::vector<RegionSpan>& spans) {
  std::size_t keep = depth_;
  for (std::size_t i = 0; i < depth_; ++i) {
    if (open_[i].sp != 0 && open_[i].sp < sp) {
      keep = i;
      break;
    }
  }
  while (depth_ > keep) {
    const Open& open = open_[depth_ - 1];
    const bool returned = open.sp != 0 && open.sp < sp && open.return_to == pc && probes_.word_at(open.sp) == pc;
    close(!returned, spans);
  }
}

/// A call has written the return address into the word that RSP points at, so no other call is open that did; but a
/// function may have put this one in its place (a tail call), and jump back to its own first instruction, which is no
/// entry. One that an exception or longjmp has left ends here.
void ThreadRegions::enter(RegionProbes::Action entry, const arch::RegisterFile& registers,
                          std::vector<RegionSpan>& spans) {
  const std::uint64_t return_to = probes_.return_address(registers);
  for (std::size_t i = depth_; i-- > 0;) {
    const Open& open = open_[i];
    if (open.sp == 0) continue;
    if (open.sp != registers.sp) break;
    if (open.return_to == return_to && open.region != entry.region) continue;
    if (open.return_to == return_to && entry.repeats) return;
    while (depth_ > i) close(true, spans);
  }
  begin(entry.region, &registers);
  open_[depth_ - 1].return_to = return_to;
}

void ThreadRegions::reached(std::span<const engine::ProbeVisit> visits, const arch::RegisterFile* registers,
                            std::vector<RegionSpan>& spans) {
  read_counters();
  for (const engine::ProbeVisit& one : visits) {
    if (!one.uncounted.empty()) uncounted_ = one.uncounted.data();
    visit(one, registers, spans);
  }
}

void ThreadRegions::visit(const engine::ProbeVisit& visit, const arch::RegisterFile* registers,
                          std::vector<RegionSpan>& spans) {
  if (registers != nullptr && depth_ != 0) leave_frames_below(registers->sp, visit.pc, spans);
  const RegionProbes::Actions& actions = probes_.at(visit.pc);
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const RegionProbes::Action action = actions[i];
    switch (action.kind) {
      case RegionProbes::Kind::Begin: begin(action.region, nullptr); break;
      case RegionProbes::Kind::StretchBegin:
        if (!newest(action.region)) begin(action.region, nullptr);
        break;
      case RegionProbes::Kind::End:
        if (const auto open = newest(action.region)) {
          close_down_to(*open, spans);
        } else {
          ++of(action.region).ends_alone;
        }
        break;
      case RegionProbes::Kind::StretchEnd:
        if (const auto open = newest(action.region)) close_down_to(*open, spans);
        break;
      case RegionProbes::Kind::FunctionEntry:
        // That adds a place to the probes, which may move. Entries stand last, and one address has one function.
        return enter(action, *registers, spans);
      case RegionProbes::Kind::FunctionReturn: break;  // seen by its frame
      case RegionProbes::Kind::SwitchOn:
      case RegionProbes::Kind::SwitchOff: break;  // of a trace (session/recording/trace_pass.h)
    }
  }
}

void ThreadRegions::end(std::vector<RegionSpan>& spans) {
  if (depth_ == 0) return;
  read_counters();
  while (depth_ > 0) close(true, spans);
}

std::vector<Region> ThreadRegions::counts() const {
  std::vector<Region> out;
  for (std::size_t number = 0; number < regions_.size(); ++number) {
    if (regions_[number].sum.empty()) continue;
    Region& region = out.emplace_back(regions_[number]);
    if (!has_units()) continue;
    UnitSums sums = estimates_[number].sums;
    sums.set_instructions(estimates_[number].instructions);
    region.units = sums.packed();
    sums.put_totals(estimated_, region.sum);
  }
  return out;
}

}  // namespace zs::session
