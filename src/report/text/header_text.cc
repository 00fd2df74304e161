#include "report/text/header_text.h"

#include <fmt/format.h>

#include <cstddef>
#include <ctime>
#include <iterator>
#include <span>
#include <string_view>

namespace zs::report {
namespace {

using profile::PerfDataReader;
using profile::perf::Feature;

/// The names of the bits that are set, "IP|TID|TIME".
std::string names_of(std::uint64_t word, std::span<const std::string_view> by_bit) {
  std::string names;
  for (std::size_t bit = 0; bit < by_bit.size(); ++bit) {
    if ((word >> bit & 1) != 0) names += fmt::format("{}{}", names.empty() ? "" : "|", by_bit[bit]);
  }
  return names;
}

std::string event_line(const PerfDataReader::Event& event) {
  namespace perf = profile::perf;
  const perf::EventAttr& attr = event.attr;
  std::string line = fmt::format("# event : name = {}, ", event.name);
  if (!event.ids.empty()) {
    line += ", id = {";
    for (std::size_t i = 0; i < event.ids.size(); ++i) line += fmt::format("{} {}", i == 0 ? "" : ",", event.ids[i]);
    line += " }";
  }
  const auto number = [&line](std::string_view name, std::uint64_t value) {
    if (value != 0) line += fmt::format(", {} = {}", name, value);
  };
  const auto hex = [&line](std::string_view name, std::uint64_t value) {
    if (value != 0) line += fmt::format(", {} = {:#x}", name, value);
  };
  const auto text = [&line](std::string_view name, const std::string& value) {
    if (!value.empty()) line += fmt::format(", {} = {}", name, value);
  };
  number("type", attr.type);
  number("size", attr.size);
  hex("config", attr.config);
  number("{ sample_period, sample_freq }", attr.sample_period);
  text("sample_type", names_of(attr.sample_type, perf::sample_field::names));
  text("read_format", names_of(attr.read_format, perf::read_format::names));
  for (std::size_t bit = 0; bit < std::size(perf::attr_flag::names); ++bit) {
    const std::string_view name = perf::attr_flag::names[bit];
    if (bit == perf::attr_flag::precise_shift) number("precise_ip", attr.flags >> bit & 3);
    if (!name.empty()) number(name, attr.flags >> bit & 1);
  }
  text("branch_sample_type", names_of(attr.branch_sample_type, perf::branch_filter::names));
  hex("sample_regs_user", attr.sample_regs_user);
  number("sample_stack_user", attr.sample_stack_user);
  hex("sample_regs_intr", attr.sample_regs_intr);
  text("read from the trace of", event.traced_as);
  return line + "\n";
}

std::string seconds(std::uint64_t ns) { return fmt::format("{}.{:06}", ns / 1'000'000'000, ns / 1000 % 1'000'000); }

}  // namespace

std::string header_text(const PerfDataReader& reader) {
  const auto& header = reader.header();
  const auto& description = reader.description();
  const auto& machine = description.machine;
  std::string out = "# ========\n";
  if (reader.captured_at() != 0) {
    const std::time_t when = reader.captured_at();
    std::tm local{};
    char text[64] = "";
    localtime_r(&when, &local);
    std::strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &local);
    out += fmt::format("# captured on    : {}\n", text);
  }
  out += fmt::format("# header version : 1\n# data offset    : {}\n# data size      : {}\n# feat offset    : {}\n",
                     header.data.offset, header.data.size, header.data.end());
  const auto text = [&out](std::string_view name, const std::string& value) {
    if (!value.empty()) out += fmt::format("# {} : {}\n", name, value);
  };
  text("hostname", machine.hostname);
  text("os release", machine.os_release);
  text("perf version", description.version);
  if (reader.has(Feature::Arch)) text("arch", machine.architecture);
  if (reader.has(Feature::CpuCount)) {
    out += fmt::format("# nrcpus online : {}\n# nrcpus avail : {}\n", machine.cpus, machine.cpus);
  }
  text("cpudesc", machine.cpu_description);
  text("cpuid", machine.cpu_id);
  if (machine.memory_kb != 0) out += fmt::format("# total memory : {} kB\n", machine.memory_kb);
  if (!description.command_line.empty()) {
    out += "# cmdline : ";
    for (const std::string& argument : description.command_line) out += argument + " ";
    out += '\n';
  }
  for (const auto& event : reader.events()) out += event_line(event);
  if (reader.has(Feature::BranchStack)) out += "# contains samples with branch stack\n";
  for (const profile::EventGroup& group : description.groups) {
    out += fmt::format("# group: {}{{", group.name);
    for (std::uint32_t i = 0; i < group.members; ++i) {
      out += fmt::format("{}{}", i == 0 ? "" : ",", reader.events()[group.leader + i].name);
    }
    out += "}\n";
  }
  if (reader.sample_count() != 0) {
    const std::uint64_t first = reader.first_sample_ns(), last = reader.last_sample_ns();
    out += fmt::format("# time of first sample : {}\n# time of last sample : {}\n# sample duration : {:>10.3f} ms\n",
                       seconds(first), seconds(last), static_cast<double>(last - first) / 1e6);
  }
  if (!machine.pmu_capabilities.empty()) {
    out += "# cpu pmu capabilities: ";
    for (std::size_t i = 0; i < machine.pmu_capabilities.size(); ++i) {
      out += fmt::format("{}{}={}", i == 0 ? "" : ", ", machine.pmu_capabilities[i].key,
                         machine.pmu_capabilities[i].value);
    }
    out += '\n';
  }
  for (const profile::Note& note : description.notes) out += fmt::format("# zeroskid: {} = {}\n", note.key, note.value);
  for (const profile::Note& note : reader.summary().notes) {
    out += fmt::format("# zeroskid: {} = {}\n", note.key, note.value);
  }
  if (!reader.finished()) out += "# not finished: the recording was interrupted before it could write its summary\n";
  std::string missing;
  for (std::size_t bit = 1; bit < std::size(profile::perf::kFeatureNames); ++bit) {
    if (!reader.has(static_cast<Feature>(bit))) missing += fmt::format(" {}", profile::perf::kFeatureNames[bit]);
  }
  if (!missing.empty()) out += fmt::format("# missing features:{} \n", missing);
  return out + "# ========\n#\n";
}

}  // namespace zs::report
