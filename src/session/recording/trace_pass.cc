#include "session/recording/trace_pass.h"

#include <sys/mman.h>

#include <algorithm>

#include "arch/records/bts.h"

namespace zs::session {
namespace {

constexpr std::size_t kBytes = sizeof(arch::BtsRecord);

}  // namespace

void TracedCode::mapped(const engine::Mapping& mapping) {
  const std::uint64_t end = mapping.start + mapping.length;
  std::vector<Range> left;
  for (const Range& old : ranges_) {  // what the mapping covers is gone
    const std::uint64_t old_end = old.start + old.bytes;
    if (old.start < mapping.start) left.push_back({old.start, std::min(old_end, mapping.start) - old.start});
    if (old_end > end) left.push_back({std::max(old.start, end), old_end - std::max(old.start, end)});
  }
  ranges_ = std::move(left);
  if ((mapping.protection & PROT_EXEC) == 0) return;
  for (const TraceFilter::FileRange& wanted : filter_.ranges) {
    if (wanted.file != identity_of(mapping)) continue;
    const std::uint64_t first = std::max(wanted.offset, mapping.file_offset);
    const std::uint64_t behind = std::min(wanted.offset + wanted.bytes, mapping.file_offset + mapping.length);
    if (first < behind) ranges_.push_back({mapping.start + (first - mapping.file_offset), behind - first});
  }
}

TracePass::TracePass(const TraceFilter& filter, const TracedCode& code, std::uint64_t number, const std::string& name)
    : filter_(filter), code_(code), number_(number), on_(filter.begins_on), in_region_(filter.regions.empty()) {
  renamed(name);
}

void TracePass::renamed(const std::string& name) {
  of_thread_ = filter_.threads.empty() || std::ranges::any_of(filter_.threads, [&](const std::string& wanted) {
                 return wanted == name || wanted == std::to_string(number_);
               });
}

void TracePass::reached(std::span<const engine::ProbeVisit> visits, RegionProbes& probes, bool in_region) {
  for (const engine::ProbeVisit& visit : visits) {
    for (const RegionProbes::Action& action : probes.at(visit.pc)) {
      if (action.kind == RegionProbes::Kind::SwitchOn) on_ = true;
      if (action.kind == RegionProbes::Kind::SwitchOff) on_ = false;
    }
  }
  in_region_ = filter_.regions.empty() || in_region;
}

void TracePass::take(std::span<const std::byte> records) {
  if (!open()) {
    filtered_ += records.size() / kBytes;
    gap_ = passed_;
    return;
  }
  arch::for_each_record(records, [&](const arch::BtsRecord& branch) {
    if (!filter_.ranges.empty() && !code_.has(branch.from) && !code_.has(branch.to)) {
      ++filtered_;
      gap_ = passed_;
      return;
    }
    if (gap_) passing_.insert(passing_.end(), kBytes, std::byte{0});
    passed_ = true;
    gap_ = false;
    const auto bytes = std::as_bytes(std::span(&branch, 1));
    passing_.insert(passing_.end(), bytes.begin(), bytes.end());
  });
}

std::vector<std::byte> TracePass::passed(std::size_t fewest, std::size_t most) {
  if (passing_.size() < std::max<std::size_t>(fewest, 1) * kBytes) return {};
  std::size_t size = std::min(passing_.size(), most * kBytes);
  if (arch::branches_in(std::span(passing_).subspan(size - kBytes, kBytes)) == 0)
    size -= kBytes;  // a gap stays with its branch
  const auto end = passing_.begin() + static_cast<std::ptrdiff_t>(size);
  std::vector<std::byte> records(passing_.begin(), end);
  passing_.erase(passing_.begin(), end);
  return records;
}

}  // namespace zs::session
