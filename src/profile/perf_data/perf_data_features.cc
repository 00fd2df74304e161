// What a recording says of itself: its features, and what follows from the attributes of its events.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "profile/perf_data/perf_data_reader.h"

namespace zs::profile {

using perf::Feature;

// ---- features ----------------------------------------------------------------------------------------------------

bool PerfDataReader::has(Feature feature) const {
  const auto bit = static_cast<std::uint32_t>(feature);
  return (header_.features[bit / 64] >> (bit % 64) & 1) != 0;
}

bool PerfDataReader::finished() const {
  if (damage_) return false;
  return std::any_of(std::begin(header_.features), std::end(header_.features), [](auto word) { return word != 0; });
}

std::uint64_t PerfDataReader::lost_count() const { return found_.lost; }

void PerfDataReader::read_features() {
  ByteReader table(bytes_, name_);
  table.seek(header_.data.end());
  for (std::uint32_t bit = 0; bit < 256; ++bit) {
    if ((header_.features[bit / 64] >> (bit % 64) & 1) == 0) continue;
    const auto section = table.read<perf::Section>();
    if (!table.ok()) {
      remarks_.push_back(table.error("table of features").message);
      return;
    }
    ByteReader whole(bytes_, name_);
    whole.seek(section.offset);
    ByteReader in = whole.sub(section.size);
    if (in.ok()) read_feature(static_cast<Feature>(bit), in);
    if (!in.ok()) {
      const std::string_view known = bit < std::size(perf::kFeatureNames) ? perf::kFeatureNames[bit] : "?";
      remarks_.push_back(in.error(fmt::format("feature {} ({})", bit, known)).message);
    }
  }
}

void PerfDataReader::read_feature(Feature feature, ByteReader& in) {
  const auto text = [&in] {
    const auto size = in.read<std::uint32_t>();
    return std::string(in.take_padded_string(size));
  };
  Machine& machine = description_.machine;
  switch (feature) {
    case Feature::Hostname: machine.hostname = text(); break;
    case Feature::OsRelease: machine.os_release = text(); break;
    case Feature::Version: description_.version = text(); break;
    case Feature::Arch: machine.architecture = text(); break;
    case Feature::CpuDescription: machine.cpu_description = text(); break;
    case Feature::CpuId: machine.cpu_id = text(); break;
    case Feature::TotalMemory: machine.memory_kb = in.read<std::uint64_t>(); break;
    case Feature::CpuCount:
      in.skip(4);  // those that exist; the second number is those that are on line
      machine.cpus = in.read<std::uint32_t>();
      break;
    case Feature::CommandLine: {
      const auto count = in.read<std::uint32_t>();
      for (std::uint32_t i = 0; i < count && in.ok(); ++i) description_.command_line.push_back(text());
      break;
    }
    case Feature::EventDescription: {
      const auto count = in.read<std::uint32_t>();
      const auto attr_bytes = in.read<std::uint32_t>();
      for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
        in.skip(attr_bytes);
        const auto ids = in.read<std::uint32_t>();
        const std::string name = text();
        in.skip(8 * std::uint64_t{ids});
        if (in.ok() && i < events_.size() && !name.empty()) events_[i].name = name;
      }
      break;
    }
    case Feature::GroupDescription: {
      const auto count = in.read<std::uint32_t>();
      for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
        EventGroup group;
        group.name = text();
        if (group.name == "{anon_group}") group.name.clear();
        group.leader = in.read<std::uint32_t>();
        group.members = in.read<std::uint32_t>();
        if (group.leader + std::uint64_t{group.members} > events_.size()) {
          in.fail("has a group of more events than there are");
        }
        if (in.ok()) description_.groups.push_back(std::move(group));
      }
      break;
    }
    case Feature::CpuPmuCaps: {
      const auto count = in.read<std::uint32_t>();
      for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
        Note capability;
        capability.key = text();
        capability.value = text();
        if (in.ok()) machine.pmu_capabilities.push_back(std::move(capability));
      }
      break;
    }
    case Feature::BuildId:
      while (in.ok() && in.remaining() != 0) {
        const auto head = in.read<perf::RecordHeader>();
        if (in.ok() && head.size < sizeof head) in.fail("has a record shorter than its header");
        ByteReader row = in.sub(head.size - sizeof head);
        read_build_id(head, row);
      }
      break;
    default: break;  // topology, times: made anew by the writer, or not needed
  }
}

void PerfDataReader::read_build_id(const perf::RecordHeader& head, ByteReader& row) {
  const auto body = row.read<perf::BuildIdBody>();
  const std::string_view path = row.take_padded_string(row.remaining());
  const bool sized = (head.misc & perf::misc::build_id_size) != 0;
  const auto id = BuildId::of(body.bytes, sized ? body.size : std::uint8_t{20});
  if (row.ok() && id) build_ids_.push_back({std::string(path), *id});
}

void PerfDataReader::describe() {
  namespace flag = perf::attr_flag;
  namespace field = perf::sample_field;
  for (const Event& event : events_.all()) {
    const perf::EventAttr& attr = event.attr;
    const auto is = [&attr](std::uint64_t bit) { return (attr.flags & bit) != 0; };
    description_.events.push_back({.name = event.name,
                                   .type = attr.type,
                                   .config = attr.config,
                                   .config1 = attr.config1,
                                   .config2 = attr.config2,
                                   .period = attr.sample_period,
                                   .frequency = is(flag::frequency),
                                   .precise_ip = static_cast<std::uint8_t>(attr.flags >> flag::precise_shift & 3),
                                   .exclude_user = is(flag::exclude_user),
                                   .exclude_kernel = is(flag::exclude_kernel),
                                   .exclude_hypervisor = is(flag::exclude_hypervisor)});
  }
  // Events need not have the same fields: a recording has what any of them has.
  std::uint64_t fields = 0, branch_filter = 0;
  description_.interrupt_registers = 0;
  description_.inherit = false;
  for (const Event& event : events_.all()) {
    const perf::EventAttr& attr = event.attr;
    const bool branches = (attr.sample_type & field::branch_stack) != 0;
    const bool call_stack = branches && (attr.branch_sample_type & perf::branch_filter::call_stack) != 0;
    fields |= attr.sample_type;
    if (branches) branch_filter |= attr.branch_sample_type;
    description_.interrupt_registers |= attr.sample_regs_intr;
    description_.inherit = description_.inherit || (attr.flags & flag::inherit) != 0;
    if (description_.callchain != CallchainMode::None || (attr.sample_type & field::callchain) == 0) continue;
    description_.callchain = CallchainMode::FramePointers;
    if (call_stack) {
      description_.callchain = CallchainMode::LastBranches;
    } else if ((attr.sample_type & field::stack_user) != 0) {
      description_.callchain = CallchainMode::Dwarf;
      description_.stack_bytes = attr.sample_stack_user;
    }
  }
  if (description_.callchain != CallchainMode::LastBranches || has(Feature::BranchStack)) {
    description_.branch_filter = branch_filter;
  }
  description_.raw_records = (fields & field::raw) != 0;
  description_.data_sources = (fields & field::data_source) != 0;
  description_.latencies = (fields & (field::weight | field::weight_struct)) != 0;
}

}  // namespace zs::profile
