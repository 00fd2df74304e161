#include "cli/c2c/sharing_range.h"

#include <algorithm>

#include "cli/c2c/sharing_fix.h"

namespace zs::cli {
namespace {

/// Threads have other numbers in each recording.
std::string comparable(std::string objects) {
  constexpr std::string_view kStack = "[stack] ";
  for (std::size_t at = objects.find(kStack); at != std::string::npos; at = objects.find(kStack, at + 1)) {
    const std::size_t digits = at + kStack.size();
    const std::size_t end = std::min(objects.find_first_not_of("0123456789", digits), objects.size());
    objects.erase(digits - 1, end - digits + 1);
  }
  return objects;
}

}  // namespace

report::ObjectRange& SharingRange::object_of(const report::SharedLine& line) {
  const std::string name = comparable(line.objects());
  auto found = std::ranges::find(objects_, name, &report::ObjectRange::name);
  if (found == objects_.end()) {
    objects_.push_back({.name = name});
    found = objects_.end() - 1;
  }
  found->recordings.resize(recordings_);
  return *found;
}

void SharingRange::add(const SharedLines& shared, std::size_t wanted) {
  ++recordings_;
  for (std::size_t i = 0; i < std::min(wanted, shared.lines.size()); ++i) {
    const report::SharedLine& line = shared.lines[i];
    report::ObjectCounts& counts = object_of(line).recordings.back();
    counts.hand_overs += line.log->hand_overs;
    counts.hitm += line.log->hitm;
    if (std::ranges::find(counts.kinds, line.sharing) == counts.kinds.end()) counts.kinds.push_back(line.sharing);
  }
  for (report::ObjectRange& object : objects_) object.recordings.resize(recordings_);
}

Result<void> SharingRange::add_recording(const std::string& path, const RecordingInput& like,
                                         const uarch::MemoryParameters& parameters) {
  RecordingInput input = like;
  input.path = path;
  const auto reader = profile::PerfDataReader::open(path, {.truncated = like.truncated});
  if (!reader) return reader.error();
  if (reader->sharing().empty())
    return Error{path + ": it has no log of shared lines to compare", "record it with: zeroskid c2c record"};
  profile::Symbolizer symbolizer(input.names());
  symbolizer.expect(*reader);
  profile::AddressSpaces spaces;
  reader->for_each(profile::PerfDataReader::Order::Time, [&](const profile::Record& record) { spaces.apply(record); });
  SharedLines shared;
  if (auto read = read_shared_lines(*reader, shared); !read) return read.error();
  const std::size_t wanted = shared.heavy();
  name_fields(*reader, spaces, symbolizer, shared, wanted);
  for (std::size_t i = 0; i < wanted; ++i) find_fix(shared.lines[i], parameters);
  add(shared, wanted);
  return {};
}

}  // namespace zs::cli
