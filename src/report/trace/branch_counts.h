// How often each branch of a file was taken and each stretch between two of them run, of a branch trace: complete
// counts, where perf's branch stacks are samples. And what optimisers read of them:
//   * BOLT's fdata: branches by function and offset, and the edges to the next block that stretches pass.
//     source: LLVM 16, bolt/include/bolt/Profile/DataReader.h; perf2bolt's own files (tests/perf_reader/bolt_test.py).
//   * AutoFDO's text profile: stretches, no samples of addresses, branches. source: AutoFDO, sample_reader.cc (text).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "profile/perf_data/address_space.h"
#include "profile/perf_data/records.h"
#include "profile/symbols/symbolizer.h"
#include "report/trace/steps.h"

namespace zs::report {

/// The steps of all threads of a recording.
class BranchCounts {
 public:
  explicit BranchCounts(profile::Symbolizer& symbolizer) : steps_(symbolizer, spaces_) {}

  /// Of a recording read with Traces::Pieces, in the order of time. visit: is told of each step, or null
  using Visit = std::function<void(std::int32_t tid, const Step& step)>;
  void take(const profile::Record& record, const Visit& visit = nullptr);

  const TracedSteps& steps() const { return steps_; }
  const profile::AddressSpaces& spaces() const { return spaces_; }

 private:
  struct Thread {
    std::int32_t pid = 0;
    std::uint64_t begin = 0;
  };

  profile::AddressSpaces spaces_;
  TracedSteps steps_;
  std::unordered_map<std::int32_t, Thread> threads_;
};

/// Of one file, in image addresses.
struct FileBranches {
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  const profile::Dso* dso = nullptr;
  std::map<Pair, std::uint64_t> branches;         // from, to
  std::map<Pair, std::uint64_t> entries;          // from other files: 0, to
  std::map<Pair, std::uint64_t> stretches;        // first and last instruction
  std::map<Pair, std::uint64_t> passed;           // from the end of a stretch on to the next instruction
  std::map<Pair, std::uint64_t> jumps;            // those of `branches` that are neither calls nor returns
  std::map<Pair, std::uint64_t> calls_to_system;  // and to behind them: no branches to optimisers
  std::uint64_t taken = 0;                        // all that left an instruction of the file
};
FileBranches branches_of(const TracedSteps& steps, const profile::Dso& dso);

std::string bolt_text(const FileBranches& branches);
std::string autofdo_text(const FileBranches& branches);

}  // namespace zs::report
