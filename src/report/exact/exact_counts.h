// The counts of exact profiles by file: how often each instruction ran and each branch was taken. And what others
// read of them:
//   * BOLT and AutoFDO, as of a branch trace (report/trace/branch_counts.h);
//   * lcov's tracefile, for genhtml: lines, branches and functions of unmodified binaries with debug information.
//     source: geninfo(1), "FILES".
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <utility>

#include "profile/perf_data/address_space.h"
#include "profile/perf_data/perf_data_reader.h"
#include "profile/symbols/symbolizer.h"
#include "report/trace/branch_counts.h"

namespace zs::report {

/// Of one file, in image addresses.
struct FileCounts {
  std::map<std::uint64_t, std::uint64_t> times;                                  // by instruction
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> taken, came;  // from, to; from other files: 0, to
  std::uint64_t all_taken = 0;                                                   // with those that led to other files
};

struct ByNumber {
  bool operator()(const profile::Dso* a, const profile::Dso* b) const { return a->number < b->number; }
};

class ExactCounts {
 public:
  /// All of a recording of `zeroskid profile`, beside what there is.
  void add(const profile::PerfDataReader& reader, profile::Symbolizer& symbolizer);

  const std::map<const profile::Dso*, FileCounts, ByNumber>& files() const { return files_; }
  /// Instructions where nothing is mapped that is known.
  std::uint64_t in_no_file() const { return in_no_file_; }
  /// Of the first recording.
  const profile::AddressSpaces& spaces() const { return spaces_.front(); }
  /// The path of a file that ran in two builds, whose counts cannot be added up; "": of none.
  std::string built_twice() const;

 private:
  std::list<profile::AddressSpaces> spaces_;  // of each recording: the symbolizer knows images by where they are
  std::map<const profile::Dso*, FileCounts, ByNumber> files_;
  std::uint64_t in_no_file_ = 0;
};

/// The same as a branch trace would give, for BOLT and AutoFDO.
FileBranches branches_of(const FileCounts& counts, const profile::Dso& dso);

/// Of all source files that there are: those of the files that ran, with what of them never did.
std::string lcov_text(const ExactCounts& counts);

}  // namespace zs::report
