#include "profile/perf_data/perf_feature_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "profile/perf_data/event_attr.h"

namespace zs::profile {
namespace {

using perf::Feature;
using Parts = std::map<Feature, ByteWriter>;  // ascending, as the table has to be

/// A string as features hold them: u32 length, the bytes, NULs up to a multiple of 64, at least one.
void write_feature_string(ByteWriter& out, std::string_view text) {
  const std::size_t padded = align_up(text.size() + 1, perf::kStringAlignment);
  out.write(static_cast<std::uint32_t>(padded));
  out.write_c_string(text, perf::kStringAlignment);
}

void add_machine(Parts& parts, const Machine& machine, const std::string& version) {
  const auto text = [&parts](Feature feature, const std::string& value) {
    if (!value.empty()) write_feature_string(parts[feature], value);
  };
  text(Feature::Hostname, machine.hostname);
  text(Feature::OsRelease, machine.os_release);
  text(Feature::Version, version);
  text(Feature::Arch, machine.architecture);
  text(Feature::CpuDescription, machine.cpu_description);
  text(Feature::CpuId, machine.cpu_id);

  const std::uint32_t cpus = std::max(1u, machine.cpus);
  parts[Feature::CpuCount].write(cpus);
  parts[Feature::CpuCount].write(cpus);
  if (machine.memory_kb != 0) parts[Feature::TotalMemory].write(machine.memory_kb);

  if (!machine.pmu_capabilities.empty()) {
    ByteWriter& out = parts[Feature::CpuPmuCaps];
    out.write(static_cast<std::uint32_t>(machine.pmu_capabilities.size()));
    for (const Note& capability : machine.pmu_capabilities) {
      write_feature_string(out, capability.key);
      write_feature_string(out, capability.value);
    }
  }
}

/// One socket, one node, a core per CPU: what a software PMU plays.
void add_topology(Parts& parts, const Machine& machine) {
  const std::uint32_t cpus = std::max(1u, machine.cpus);
  const std::string all_cpus = cpus == 1 ? "0" : fmt::format("0-{}", cpus - 1);
  ByteWriter& topology = parts[Feature::CpuTopology];
  topology.write(std::uint32_t{1});
  write_feature_string(topology, all_cpus);
  topology.write(cpus);
  for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) write_feature_string(topology, fmt::format("{}", cpu));
  for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) {
    topology.write(cpu);
    topology.write(std::uint32_t{0});
  }
  topology.write(std::uint32_t{1});
  write_feature_string(topology, all_cpus);
  for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) topology.write(std::uint32_t{0});

  ByteWriter& numa = parts[Feature::NumaTopology];
  numa.write(std::uint32_t{1});
  numa.write(std::uint32_t{0});
  numa.write(machine.memory_kb);
  numa.write(machine.memory_kb);
  write_feature_string(numa, all_cpus);
}

/// Those of instruction-based sampling; on such a processor there are both.
constexpr std::pair<std::uint32_t, std::string_view> kIbsPmus[] = {{kIbsFetchType, "ibs_fetch"},
                                                                   {kIbsOpType, "ibs_op"}};

/// By this perf knows the fields that came with Zen 4. It asks of ibs_op, of fetches too.
void add_ibs_capabilities(ByteWriter& out) {
  out.write(static_cast<std::uint32_t>(std::size(kIbsPmus)));
  for (const auto& [type, name] : kIbsPmus) {
    out.write(std::uint32_t{1});  // capabilities of it
    write_feature_string(out, "zen4_ibs_extensions");
    write_feature_string(out, "1");
    write_feature_string(out, name);
  }
}

void add_events(Parts& parts, const RecordingDescription& description) {
  ByteWriter& events = parts[Feature::EventDescription];
  events.write(static_cast<std::uint32_t>(description.events.size()));
  events.write(static_cast<std::uint32_t>(sizeof(perf::EventAttr)));
  for (std::uint32_t event = 0; event < description.events.size(); ++event) {
    events.write(attr_of(description, event));
    const std::vector<std::uint64_t> ids = record_ids_of(description, event);
    events.write(static_cast<std::uint32_t>(ids.size()));
    write_feature_string(events, description.events[event].name);
    events.write_bytes(std::as_bytes(std::span(ids)));
  }

  if (description.branch_filter != 0) (void)parts[Feature::BranchStack];

  ByteWriter& mappings = parts[Feature::PmuMappings];
  const bool traces = std::ranges::any_of(description.events, &EventDescription::is_branch_trace);
  const bool ibs = std::ranges::any_of(description.events, [](const EventDescription& event) {
    return event.type == kIbsOpType || event.type == kIbsFetchType;
  });
  mappings.write(static_cast<std::uint32_t>(2u + traces + (ibs ? std::size(kIbsPmus) : 0)));
  mappings.write(static_cast<std::uint32_t>(perf::EventType::Raw));
  write_feature_string(mappings, "cpu");
  mappings.write(static_cast<std::uint32_t>(perf::EventType::Software));
  write_feature_string(mappings, "software");
  if (traces) {
    mappings.write(perf::kBranchTraceType);
    write_feature_string(mappings, "intel_bts");
  }
  if (ibs) {
    for (const auto& [type, name] : kIbsPmus) {
      mappings.write(type);
      write_feature_string(mappings, name);
    }
    add_ibs_capabilities(parts[Feature::PmuCaps]);
  }

  if (!description.groups.empty()) {
    ByteWriter& out = parts[Feature::GroupDescription];
    out.write(static_cast<std::uint32_t>(description.groups.size()));
    for (const EventGroup& group : description.groups) {
      write_feature_string(out, group.name.empty() ? "{anon_group}" : group.name);
      out.write(group.leader);
      out.write(group.members);
    }
  }
}

void add_command_line(Parts& parts, const RecordingDescription& description) {
  if (!description.command_line.empty()) {
    ByteWriter& out = parts[Feature::CommandLine];
    out.write(static_cast<std::uint32_t>(description.command_line.size()));
    for (const std::string& argument : description.command_line) write_feature_string(out, argument);
  }
}

void add_build_ids(Parts& parts, const FeatureSource& source) {
  for (const auto& image : source.spaces.images()) {
    if (!image->build_id || !source.used.contains(image.get())) continue;
    ByteWriter& out = parts[Feature::BuildId];
    const std::size_t at = out.size();
    out.write(perf::RecordHeader{0, perf::misc::user | perf::misc::build_id_size, 0});
    perf::BuildIdBody body;
    body.size = image->build_id->size;
    std::copy(image->build_id->bytes.begin(), image->build_id->bytes.end(), body.bytes);
    out.write(body);
    out.write_c_string(std::string_view{image->path}.substr(0, 4096));
    out.align(8);
    out.patch(at + offsetof(perf::RecordHeader, size), static_cast<std::uint16_t>(out.size() - at));
  }
}

}  // namespace

ByteWriter feature_table(const FeatureSource& source, std::uint64_t table_at, perf::FileHeader& header) {
  Parts parts;
  add_machine(parts, source.description.machine, source.description.version);
  add_topology(parts, source.description.machine);
  add_events(parts, source.description);
  add_command_line(parts, source.description);
  add_build_ids(parts, source);
  if (!source.traces.empty()) {
    ByteWriter& index = parts[Feature::Auxtrace];
    index.write(std::uint64_t{source.traces.size()});
    for (const AuxtracePlace& place : source.traces) {
      index.write(place.offset);
      index.write(place.bytes);
    }
  }
  if (source.packer != nullptr) parts[Feature::Compressed] = source.packer->feature();
  if (source.first_sample_ns) {
    parts[Feature::SampleTime].write(*source.first_sample_ns);
    parts[Feature::SampleTime].write(source.last_sample_ns);
  }

  ByteWriter all;
  std::uint64_t payload_at = table_at + parts.size() * sizeof(perf::Section);
  for (const auto& [feature, payload] : parts) {
    const auto bit = static_cast<std::uint32_t>(feature);
    header.features[bit / 64] |= std::uint64_t{1} << (bit % 64);
    all.write(perf::Section{payload_at, payload.size()});
    payload_at += payload.size();
  }
  for (const auto& [feature, payload] : parts) all.write_bytes(payload.bytes());
  return all;
}

}  // namespace zs::profile
