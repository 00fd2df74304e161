#include "profile/perf_data/file_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace zs::profile {
namespace {

/// The event names that perf would make up for a file without EVENT_DESC.
std::string made_up_name(const perf::EventAttr& attr) {
  static constexpr std::string_view hardware[] = {
      "cycles",        "instructions", "cache-references",        "cache-misses",           "branches",
      "branch-misses", "bus-cycles",   "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles"};
  static constexpr std::string_view software[] = {
      "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
      "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
      "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};
  std::string name = fmt::format("raw {:#x}", attr.config);
  if (attr.type == static_cast<std::uint32_t>(perf::EventType::Hardware) && attr.config < std::size(hardware)) {
    name = hardware[attr.config];
  } else if (attr.type == static_cast<std::uint32_t>(perf::EventType::Software) && attr.config < std::size(software)) {
    name = software[attr.config];
  }
  const auto precise = static_cast<std::size_t>(attr.flags >> perf::attr_flag::precise_shift & 3);
  if (precise != 0) name += ":" + std::string(precise, 'p');
  return name;
}

}  // namespace

std::optional<Error> FileEvents::add(Bytes attr_bytes, std::vector<std::uint64_t> ids, std::string_view file,
                                     std::uint64_t at) {
  const auto index = static_cast<std::uint32_t>(all_.size());
  perf::EventAttr attr;
  std::memcpy(&attr, attr_bytes.data(), std::min(sizeof attr, attr_bytes.size()));
  const auto unknown = [&](std::string_view what, std::string_view word, std::uint64_t value, std::uint64_t known) {
    return Error{fmt::format("{}: at {:#x}: event {} has {} of an unknown kind: {} {:#x}, of which {:#x} is not known "
                             "here",
                             file, at, index + 1, what, word, value, value & ~known),
                 "a newer perf wrote it: perf of that version reads it"};
  };
  if ((attr.sample_type & ~perf::sample_field::defined) != 0) {
    return unknown("samples", "sample_type", attr.sample_type, perf::sample_field::defined);
  }
  if ((attr.branch_sample_type & ~perf::branch_filter::defined) != 0) {
    return unknown("branch stacks", "branch_sample_type", attr.branch_sample_type, perf::branch_filter::defined);
  }
  if ((attr.read_format & ~perf::read_format::defined) != 0) {
    return unknown("counter values", "read_format", attr.read_format, perf::read_format::defined);
  }
  FileEvent event{.name = made_up_name(attr), .attr = attr, .ids = std::move(ids), .layout = SampleLayout{attr}};
  for (const std::uint64_t id : event.ids) by_id_.try_emplace(id, index);
  all_.push_back(std::move(event));
  return std::nullopt;
}

std::optional<std::uint32_t> FileEvents::with_id(std::uint64_t id) const {
  const auto found = by_id_.find(id);
  return found != by_id_.end() ? std::optional(found->second) : std::nullopt;
}

std::optional<std::uint32_t> FileEvents::of_record(std::uint64_t id) const {
  if (const auto found = with_id(id)) return found;
  if (id == 0 || all_.size() == 1) return 0;  // as perf: 0 is written where no event has a part in it
  return std::nullopt;
}

}  // namespace zs::profile
