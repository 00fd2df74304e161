// Adds up what the threads of a program counted in its regions, and prints a block for each.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/stat/stat_page.h"
#include "session/wire/wire.h"

namespace zs::cli {

struct RegionTotals {
  std::string name;
  std::uint64_t entries = 0;
  std::uint64_t cut = 0, ends_alone = 0;        // as session::Region has them
  std::vector<std::uint64_t> sum, least, most;  // by event; least and most mean nothing without an entry
  session::UnitSums units;                      // of the estimated events
};

class StatRegions {
 public:
  /// events     of the recording
  /// expected   regions that were asked for, told of even if nobody enters them
  /// estimated  how many of them are estimates
  StatRegions(std::size_t events, std::size_t estimated, const std::vector<std::string>& expected);

  void look_at(const session::Message& message);
  /// totals  of a whole run that said its last word; what lies in a part of it cannot be more
  void add_run(const std::vector<std::uint64_t>& totals, const std::vector<std::uint32_t>& estimated);
  /// All threads of all runs, by name. Entries of threads that were killed as they last said.
  std::vector<RegionTotals> totals() const;

 private:
  using Key = std::pair<std::pair<std::int32_t, std::int32_t>, std::string>;  // thread and name

  RegionTotals& of(std::map<std::string, RegionTotals>& all, const std::string& name) const;

  std::size_t events_, estimated_;
  std::map<std::string, RegionTotals> ended_;  // of threads and images that have said their last word
  std::map<Key, session::Region> running_;
  std::vector<std::uint64_t> whole_;  // by event
};

/// What the columns of a region's counts are.
struct RegionColumns {
  const std::vector<StatEvent>& events;
  const std::vector<std::size_t>& counted_as;  // by column: of which event of the recording (kNotCounted: of none)
  const std::vector<StatMetric>& metrics;      // over the columns
  const EstimatedColumns& estimated;           // empty: there are none
};

std::string regions_page(const std::vector<RegionTotals>& regions, const RegionColumns& columns);
std::string regions_columns(const std::vector<RegionTotals>& regions, const RegionColumns& columns,
                            const std::string& separator);
std::string regions_json(const std::vector<RegionTotals>& regions, const RegionColumns& columns);

}  // namespace zs::cli
