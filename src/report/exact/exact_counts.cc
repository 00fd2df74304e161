#include "report/exact/exact_counts.h"

#include <algorithm>
#include <set>

#include "isa/decode.h"

namespace zs::report {

using profile::ImageAddress;

void ExactCounts::add(const profile::PerfDataReader& reader, profile::Symbolizer& symbolizer) {
  profile::AddressSpaces& spaces = spaces_.emplace_back();
  for_each_sample(reader, spaces, [&](const profile::SampleRecord& told) {
    const session::Sample& sample = told.sample;
    if (sample.event == session::kRanInContexts) return;
    const profile::Location from = symbolizer.locate(spaces, sample.pid, sample.ip);
    if (sample.event == session::kRanInstructions) {
      (from.dso != nullptr ? files_[from.dso].times[value(from.image_address)] : in_no_file_) += sample.period;
      return;
    }
    const profile::Location to = symbolizer.locate(spaces, sample.pid, sample.address);
    if (from.dso != nullptr) files_[from.dso].all_taken += sample.period;
    if (from.dso == to.dso && from.dso != nullptr)
      files_[from.dso].taken[{value(from.image_address), value(to.image_address)}] += sample.period;
    else if (to.dso != nullptr)
      files_[to.dso].came[{0, value(to.image_address)}] += sample.period;
  });
}

std::string ExactCounts::built_twice() const {
  std::set<std::string> paths;
  for (const auto& [dso, counts] : files_) {
    if (!paths.insert(dso->path).second) return dso->path;
  }
  return "";
}

// A stretch is as long as each instruction follows the one before as often as that ran.
FileBranches branches_of(const FileCounts& counts, const profile::Dso& dso) {
  using arch::BranchKind;
  FileBranches found{.dso = &dso, .branches = counts.taken, .entries = counts.came, .taken = counts.all_taken};
  FileBranches::Pair stretch;                 // that is under way: its first and last instruction
  std::uint64_t times = 0, on = 0, next = 0;  // how often it ran, and went on to `next`
  const auto end_stretch = [&] {
    if (times != 0) found.stretches[stretch] += times;
  };
  for (const auto& [address, ran] : counts.times) {
    const Bytes code = dso.image->code(ImageAddress{address}, isa::kLongestInstruction);
    const auto insn = isa::decode(address, {reinterpret_cast<const std::uint8_t*>(code.data()), code.size()});
    if (!insn) continue;
    if (address != next || on != ran || on != times) {
      end_stretch();
      if (address == next && on != 0) found.passed[{stretch.second, address}] += on;
      stretch.first = address;
    }
    stretch.second = address;
    times = ran;
    next = insn->next();
    const BranchKind branch = insn->facts.branch;
    on = branch == BranchKind::None || branch == BranchKind::Conditional || branch == BranchKind::Far ? ran : 0;
    const bool is_jump =
        branch == BranchKind::Conditional || branch == BranchKind::RelativeJump || branch == BranchKind::IndirectJump;
    for (auto at = counts.taken.lower_bound({address, 0}); at != counts.taken.end() && at->first.first == address;
         ++at) {
      on -= std::min(on, at->second);
      if (is_jump) found.jumps.insert(*at);
    }
  }
  end_stretch();
  return found;
}

}  // namespace zs::report
