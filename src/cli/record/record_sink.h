// Writes what arrives into a perf.data file.
//   * A process that execs ends its old threads first. perf records no EXIT there, and its reader would forget the
//     process; so the EXIT of a process waits until something shows that it really ended.
//   * In virtual time processes come in an order of their own (process_order.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "base/result.h"
#include "cli/record/last_branches.h"
#include "cli/record/process_order.h"
#include "cli/record/recorded_times.h"
#include "cli/run/collector.h"
#include "cli/stat/stat_totals.h"
#include "profile/perf_data/perf_data_writer.h"

namespace zs::cli {

class RecordSink final : public RecordingSink {
 public:
  /// estimated  how many events are estimates: units tell of those
  /// bound      of a trace: the last branches are kept
  RecordSink(profile::PerfDataWriter writer, bool virtual_time, std::size_t estimated = 0, TraceBound bound = {});

  void receive(session::Message&& message) override;
  void breathe() override;

  /// Samples of other times are left out. `times` outlives this.
  void keep_only(RecordedTimes& times) { times_ = &times; }
  std::uint64_t samples_of_other_times() const { return of_other_times_; }

  /// Writes what still waits, the summary and the features. Every error has been said then.
  /// returns whether the whole recording is in the file
  bool close();

  /// That arrived.
  std::uint64_t samples() const { return samples_; }
  /// Of these, once closed.
  std::uint64_t samples_in_file() const { return writer_.samples_written(); }
  /// Of traces, once closed.
  std::uint64_t branches_in_file() const { return writer_.branches_written(); }
  /// Before those, because a trace may be bounded.
  std::uint64_t branches_dropped() const { return last_branches_ ? last_branches_->dropped() : 0; }
  std::uint64_t bytes() const override { return writer_.bytes_written(); }
  const std::string& path() const { return writer_.path(); }
  /// Of all threads, once closed; origin means nothing.
  const session::Statistics& statistics() const { return ended_; }
  /// What units told of all threads so far.
  session::UnitSums units() const { return units_.units(); }

 private:
  void take(session::Sample& sample);
  void take(session::Hello& hello);
  void take(session::Comm& comm);
  void take(session::Mmap& mmap);
  void take(session::Fork& fork);
  void take(session::Exit& exit);
  void take(session::Lost& lost);
  void take(session::Statistics& statistics);
  void take(session::Units& units);
  void take(session::Counts& counts);
  void take(session::Sharing& sharing);
  void take(session::Branches& branches);
  void take(session::Ran& ran);
  void take(session::Notice&) {}
  void take(session::Window&) {}  // this and what follows: of stat alone
  void take(session::Region&) {}
  void take(session::RegionSpan&) {}

  void write(const session::Branches& branches);
  void keep_jit_maps();
  void write_last_branches(const profile::Summary& summary);
  profile::Summary summary(std::uint64_t dropped) const;
  void keep(const Result<void>& result);

  profile::PerfDataWriter writer_;
  std::int64_t began_at_ns_ = 0;         // since 1970
  std::unique_ptr<ProcessOrder> order_;  // in virtual time
  std::optional<Error> error_;
  bool error_is_told_ = false;
  std::uint64_t samples_ = 0, of_other_times_ = 0;
  RecordedTimes* times_ = nullptr;
  std::optional<LastBranches> last_branches_;            // of a bounded trace: none is in the file before the end
  std::map<std::int32_t, profile::Exit> waiting_exits_;  // by pid
  std::map<std::int64_t, session::Statistics> running_;  // by thread
  session::Statistics ended_;
  StatTotals units_;  // what they told, and no counts
};

}  // namespace zs::cli
