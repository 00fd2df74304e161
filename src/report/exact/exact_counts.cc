#include "report/exact/exact_counts.h"

#include <span>

#include "isa/decode.h"

namespace zs::report {

using profile::ImageAddress;

ExactCounts::ExactCounts(const profile::PerfDataReader& reader, profile::Symbolizer& symbolizer) {
  reader.for_each(profile::PerfDataReader::Order::Time, [&](const profile::Record& record) {
    spaces_.apply(record);
    const auto* const told = std::get_if<profile::SampleRecord>(&record);
    if (told == nullptr) return;
    const session::Sample& sample = told->sample;
    const profile::Location from = symbolizer.locate(spaces_, sample.pid, sample.ip);
    if (sample.event == session::kRanInstructions) {
      if (from.dso != nullptr) files_[from.dso].times[value(from.image_address)] += sample.period;
      return;
    }
    const profile::Location to = symbolizer.locate(spaces_, sample.pid, sample.address);
    if (from.dso == to.dso && from.dso != nullptr)
      files_[from.dso].taken[{value(from.image_address), value(to.image_address)}] += sample.period;
    else if (to.dso != nullptr)
      files_[to.dso].came[{0, value(to.image_address)}] += sample.period;
  });
}

// A stretch is as long as one instruction follows the other as often as it ran itself.
FileBranches branches_of(const FileCounts& counts, const profile::Dso& dso) {
  FileBranches found{.dso = &dso, .branches = counts.taken, .entries = counts.came};
  std::map<std::uint64_t, std::uint64_t> left;  // by branches, from there
  for (const auto& [ends, times] : counts.taken) left[ends.first] += times;
  const auto insn_at = [&](std::uint64_t address) {
    constexpr std::size_t kLongest = 15;
    const Bytes code = dso.image->code(ImageAddress{address}, kLongest);
    return isa::decode(address, {reinterpret_cast<const std::uint8_t*>(code.data()), code.size()}, false);
  };
  std::uint64_t first = 0, last = 0, behind = 0, on = 0;  // of the stretch: behind it, and how often it went on there
  for (const auto& [address, times] : counts.times) {
    const auto insn = insn_at(address);
    if (!insn) continue;
    const bool goes_on = address == behind && on == times && last != 0;
    if (address == behind && on != 0) found.passed[{last, address}] += on;
    if (!goes_on) {
      if (last != 0) found.stretches[{first, last}] += counts.times.at(last);
      first = address;
    }
    last = address;
    behind = insn->next();
    const auto gone = left.find(address);
    on = times - (gone != left.end() ? std::min(gone->second, times) : 0);
    const bool leaves = insn->flow == isa::Flow::Jump || insn->flow == isa::Flow::IndirectJump ||
                        insn->flow == isa::Flow::Return || insn->flow == isa::Flow::Call ||
                        insn->flow == isa::Flow::IndirectCall;
    if (leaves) on = 0;
    if (gone == left.end()) continue;
    found.taken += gone->second;
    if (insn->flow != isa::Flow::Jump && insn->flow != isa::Flow::IndirectJump &&
        insn->flow != isa::Flow::ConditionalJump && insn->flow != isa::Flow::CounterJump)
      continue;
    for (auto at = counts.taken.lower_bound({address, 0}); at != counts.taken.end() && at->first.first == address; ++at)
      found.jumps.insert(*at);
  }
  if (last != 0) found.stretches[{first, last}] += counts.times.at(last);
  return found;
}

}  // namespace zs::report
