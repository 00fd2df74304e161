#include "profile/symbols/callchain.h"

namespace zs::profile {

void Callchains::add(const AddressSpaces& spaces, const SampleRecord& record, std::uint64_t address,
                     std::uint16_t cpumode, bool with_inlines) {
  if (chain_.size() >= longest_) return;
  const Location location = symbolizer_.locate(spaces, record.sample.pid, address, cpumode);
  if (with_inlines) {
    const std::vector<InlineFrame>& inlines = symbolizer_.inlines_of(location);
    for (std::size_t i = 0; i + 1 < inlines.size(); ++i) {
      chain_.push_back({frames_.of_inlined(location, inlines[i].function), location});
    }
  }
  chain_.push_back({frames_.of(location), location});
}

const std::vector<ChainEntry>& Callchains::of(const AddressSpaces& spaces, const PerfDataReader::Event& event,
                                              const SampleRecord& record) {
  namespace field = perf::sample_field;
  chain_.clear();
  const std::uint64_t fields = event.attr.sample_type;
  if ((fields & field::callchain) == 0) return chain_;
  const bool with_inlines = inlines_ == Inlines::Always;

  const bool call_stack = (fields & field::branch_stack) != 0 &&
                          (event.attr.branch_sample_type & perf::branch_filter::call_stack) != 0 &&
                          !record.sample.branches.empty();
  std::uint16_t cpumode = record.cpumode;
  for (const std::uint64_t entry : record.callchain_with_marks) {
    if (entry < perf::kContextMax) {
      add(spaces, record, entry, cpumode, with_inlines);
      continue;
    }
    cpumode = entry == perf::kContextKernel ? perf::misc::kernel : perf::misc::user;
    if (call_stack && entry == perf::kContextUser) break;  // the LBR replaces the user's part
  }
  if (call_stack) {
    // The newest entry leads into the function that runs; every entry left a caller.
    add(spaces, record, record.sample.ip, perf::misc::user, with_inlines);
    for (const session::SampledBranch& call : record.sample.branches) {
      add(spaces, record, call.from, perf::misc::user, with_inlines);
    }
  }
  if ((fields & field::stack_user) != 0 && !record.sample.user_stack.empty()) {
    for (const std::uint64_t address : unwinder_.unwind(spaces, record.sample, longest_)) {
      add(spaces, record, address, perf::misc::user, with_inlines);
    }
  }
  return chain_;
}

}  // namespace zs::profile
