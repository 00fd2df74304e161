#include "cli/c2c/shared_lines.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "cli/c2c/shared_fields.h"
#include "profile/types/data_objects.h"
#include "session/driver/core_choice.h"

namespace zs::cli {
namespace {

const std::string* find_note(const profile::PerfDataReader& reader, std::string_view key) {
  const auto& notes = reader.description().notes;
  const auto note = std::ranges::find(notes, key, &profile::Note::key);
  return note == notes.end() ? nullptr : &note->value;
}

const session::ProcessSharing& process_of(const SharedLines& shared, const report::SharedLine& line) {
  return *std::ranges::find_if(shared.processes,
                               [&](const session::ProcessSharing& one) { return &one.threads == line.threads; });
}

}  // namespace

Result<uarch::CoreModel> recorded_core(const profile::PerfDataReader& reader) {
  const std::string* const name = find_note(reader, "CPU model");
  const arch::CpuModel* const model = name == nullptr ? nullptr : arch::find_cpu_model(*name);
  if (model == nullptr) {
    return Error{reader.name() + ": the CPU model " + (name == nullptr ? "is not said" : *name + " is not known here"),
                 "record it again with this zeroskid"};
  }
  session::RecordingConfig config;
  config.cpu_model = *name;
  if (const std::string* const core = find_note(reader, "modelled core")) {
    // "full, l2.bytes=2M": the depth, then settings
    std::string_view rest = *core;
    for (std::size_t comma = rest.find(", "); comma != std::string_view::npos; comma = rest.find(", ")) {
      rest.remove_prefix(comma + 2);
      config.model_settings.emplace_back(rest.substr(0, rest.find(", ")));
    }
  }
  return session::chosen_core(config, *model);
}

Result<void> read_shared_lines(const profile::PerfDataReader& reader, SharedLines& shared) {
  shared.processes.reserve(reader.sharing().size());
  for (const profile::SharingBytes& bytes : reader.sharing()) {
    if (!bytes.complete) continue;  // the recording was cut short there
    auto process =
        session::decode_sharing(bytes.bytes, reader.name() + ": lines of process " + std::to_string(bytes.pid));
    if (!process) return process.error();
    shared.left_out += process->hand_overs_left_out;
    shared.processes.push_back(*std::move(process));
    const session::ProcessSharing& kept = shared.processes.back();
    for (const uarch::LineLog& log : kept.lines)
      shared.lines.push_back({.log = &log, .pid = bytes.pid, .threads = &kept.threads});
  }
  std::ranges::stable_sort(shared.lines, [](const report::SharedLine& a, const report::SharedLine& b) {
    return a.log->hand_overs > b.log->hand_overs;
  });
  return {};
}

void name_fields(const profile::PerfDataReader& reader, const profile::AddressSpaces& spaces,
                 profile::Symbolizer& symbolizer, SharedLines& shared, std::size_t wanted) {
  profile::DataObjects objects(spaces, symbolizer);
  reader.for_each(profile::PerfDataReader::Order::File, [&](const profile::Record& record) {
    if (const auto* const sample = std::get_if<profile::SampleRecord>(&record)) objects.learn(sample->sample);
  });
  SharedFields fields(spaces, symbolizer, objects);
  for (std::size_t i = 0; i < std::min(wanted, shared.lines.size()); ++i) {
    report::SharedLine& line = shared.lines[i];
    fields.name(line.pid, process_of(shared, line), line);
  }
}

std::size_t SharedLines::heavy() const {
  const auto light =
      std::ranges::find_if(lines, [](const report::SharedLine& one) { return one.log->hand_overs < kFewestHandOvers; });
  return static_cast<std::size_t>(light - lines.begin());
}

}  // namespace zs::cli
