// The events of a perf.data file: what its attributes say of each, and which ids its records have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "profile/perf_data/perf_data.h"
#include "profile/perf_data/records.h"
#include "profile/perf_data/sample_layout.h"

namespace zs::profile {

struct FileEvent {
  std::string name;
  perf::EventAttr attr;
  std::vector<std::uint64_t> ids;
  SampleLayout layout;
  std::string traced_as;  // of branches: the event whose trace they are of; "": samples were taken
  std::uint64_t samples = 0;
  std::uint64_t lost = 0;
};

class FileEvents {
 public:
  const std::vector<FileEvent>& all() const { return all_; }
  bool empty() const { return all_.empty(); }
  std::size_t size() const { return all_.size(); }
  FileEvent& operator[](std::size_t index) { return all_[index]; }
  const FileEvent& operator[](std::size_t index) const { return all_[index]; }

  /// attr_bytes  an event's attributes, as many as the file has of them
  /// file, at    the place of the attributes, for messages
  /// returns     what of them is not known here
  std::optional<Error> add(Bytes attr_bytes, std::vector<std::uint64_t> ids, std::string_view file, std::uint64_t at);
  /// The event whose records have this id, in so many words of the file.
  std::optional<std::uint32_t> with_id(std::uint64_t id) const;
  /// The same for a record of that id; where there is no doubt, whatever the id.
  std::optional<std::uint32_t> of_record(std::uint64_t id) const;

 private:
  std::vector<FileEvent> all_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_id_;
};

/// What each counter had counted when a sample last held its value. A sample that holds the counters of its group (perf
/// record -e '{a,b}:S') stands for one of each event that has counted since.
class CounterReadings {
 public:
  /// take  called with each event that the sample is one of, and its period
  template <typename Take>
  void each(const SampleRecord& sample, const FileEvents& events, const Take& take) {
    if (sample.counters.empty()) return take(sample.sample.event, sample.sample.period);
    const std::uint64_t flags = events[sample.sample.event].attr.flags;
    const std::int32_t tid = (flags & perf::attr_flag::inherit) != 0 ? sample.sample.tid : 0;  // then a thread's own
    for (const auto& [id, value] : sample.counters) {
      const std::uint64_t period = value - std::exchange(counted_[{id, tid}], value);
      const auto event = events.with_id(id);
      if (event && period != 0) take(*event, period);
    }
  }

 private:
  std::map<std::pair<std::uint64_t, std::int32_t>, std::uint64_t> counted_;  // by id and thread
};

}  // namespace zs::profile
