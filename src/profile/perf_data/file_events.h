// The events of a perf.data file: what its attributes say of each, and which ids its records have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "profile/perf_data/perf_data.h"
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

}  // namespace zs::profile
