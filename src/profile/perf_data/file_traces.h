// The auxiliary traces of a perf.data file: what AUXTRACE_INFO says of them, and where their pieces are. Branch traces
// (intel_bts) can be read; those of other units are only counted.
// source: Linux 6.1, perf's intel_bts decoder. It leaves out the last record of each piece; here all of them count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/records/bts.h"
#include "base/bytes.h"
#include "base/result.h"
#include "profile/perf_data/file_events.h"
#include "profile/perf_data/perf_data.h"
#include "profile/perf_data/records.h"

namespace zs::profile {

/// What becomes of branch traces.
enum class Traces : std::uint8_t {
  PassedOver,  // and remarks() says so
  Pieces,      // for_each gives TracedBranches
  Samples,     // each branch is a sample of the event `branches`, where it came from, its address where it went; the
               // event takes the place of intel_bts//
};

class FileTraces {
 public:
  void want(Traces wanted) { wanted_ = wanted; }
  /// Whether branches are read, as pieces or as samples.
  bool reads_branches() const { return is_branches() && wanted_ != Traces::PassedOver; }
  bool makes_samples() const { return has_branches() && wanted_ == Traces::Samples; }
  /// body  of an AUXTRACE_INFO
  /// returns what is wrong with it: a branch trace's clock that is none
  std::optional<Error> read_info(ByteReader& body);
  /// body  of an AUXTRACE; the trace itself lies behind the record
  /// returns what is wrong with it: a branch trace that is no whole number of BTS records
  std::optional<Error> read_piece(ByteReader& body);
  /// body  of an AUX
  void read_aux(ByteReader& body);

  bool has_branches() const { return kind_ == perf::BranchTraceInfo::kIntelBts && bytes_ != 0; }
  bool is_branches() const { return kind_ == perf::BranchTraceInfo::kIntelBts; }
  /// The event whose trace it is becomes that of its branches, as perf makes it: without time, as a piece has one only.
  FileEvent& make_event(FileEvents& events);
  /// A piece as it is, or each of its branches as a sample. `record` is room for them.
  void give(const TracedBranches& piece, Record& record, const std::function<void(const Record&)>& take) const;
  std::uint64_t bytes() const { return bytes_; }
  /// "Intel PT"; "" if there is no trace
  std::string_view kind() const;
  /// Of a reference in an AUXTRACE.
  std::uint64_t time_ns_of(std::uint64_t reference) const;
  /// What is to be known of a branch trace that is read, one line each.
  std::vector<std::string> remarks() const;

 private:
  Traces wanted_ = Traces::PassedOver;
  std::uint32_t event_ = 0;  // of the samples
  std::uint32_t kind_ = 0;
  perf::BranchTraceInfo info_;
  std::uint64_t bytes_ = 0;
  std::uint64_t pieces_cut_ = 0;  // that the kernel had no room for
};

/// Calls take(from, to) for each branch of a piece, oldest first. Records of zeros are none: they end a piece, and
/// before a branch one says that others before it were not kept; gap() is called there.
template <typename Take, typename Gap>
void for_each_branch(Bytes records, Take&& take, Gap&& gap) {
  bool zeros = false;
  arch::for_each_record(records, [&](const arch::BtsRecord& record) {
    if (arch::is_branch(record)) {
      if (zeros) gap();
      take(record.from, record.to);
    }
    zeros = !arch::is_branch(record);
  });
}
template <typename Take>
void for_each_branch(Bytes records, Take&& take) {
  for_each_branch(records, take, [] {});
}

}  // namespace zs::profile
