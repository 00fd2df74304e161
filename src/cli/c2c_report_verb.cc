// `zeroskid c2c report`: which lines threads take from each other, why, and what would end it.
#include <algorithm>
#include <string>
#include <vector>

#include "cli/c2c_verb.h"
#include "cli/command_line.h"
#include "cli/exit_status.h"
#include "cli/recording_input.h"
#include "cli/say.h"
#include "cli/shared_fields.h"
#include "cli/sharing_fix.h"
#include "cli/words.h"
#include "profile/cache_lines.h"
#include "report/c2c_text.h"
#include "report/header_text.h"
#include "report/sharing_text.h"
#include "session/core_choice.h"

namespace zs::cli {
namespace {

struct Options {
  RecordingInput input;
  std::string display = "tot", coalesce = "iaddr";
  std::vector<std::string> what_if;
  bool show_all = false, double_line = false, stdio = false, no_source = false, stats = false, header = false;
};

std::optional<int> parse(const Arguments& arguments, Options& options) {
  CommandLine line(
      "c2c report",
      "Shows which cache lines threads take from each other: perf's three tables of the samples; then each line\n"
      "as the model saw it, byte by byte: shared in earnest or by chance, and what would be left if its fields\n"
      "lay apart.",
      "[-i FILE] [OPTIONS]");
  add_input_options(line, options.input);
  line.value("-d,--display", options.display, "tot|lcl|rmt", "Rank lines by all HITM, local or remote ones [tot]");
  line.value("-s,-c,--coalesce", options.coalesce, "KEY[,KEY...]",
             "What tells rows of a line apart besides the offset: pid, tid, iaddr, dso\n[iaddr]");
  line.flag("--show-all", options.show_all, "Lines without HITM too, and every line that changed hands");
  line.flag("--double-cl", options.double_line,
            "Take two neighbouring lines for one in the tables, as adjacent-line prefetch does");
  line.values("--whatif", options.what_if, "FIELD=BYTES",
              "What would be left if that field lay at a multiple of BYTES; several are made one after the other");
  line.flag("--stats", options.stats, "The first tables alone: what all loads and stores were");
  line.flag("--no-source", options.no_source, "No column of source lines");
  line.flag("--header", options.header, "What the recording says of itself, first");
  line.flag("--stdio", options.stdio, "Print text, which is done anyway");
  return parse_reader(line, arguments);
}

int wrong(const Error& error) { return refuse("c2c report", error); }

Result<profile::HitmKind> parse_order(const std::string& text) {
  if (text == "tot") return profile::HitmKind::Total;
  if (text == "lcl") return profile::HitmKind::Local;
  if (text == "rmt") return profile::HitmKind::Remote;
  return Error{"-d " + text + ": no such kind of HITM", "tot, lcl or rmt"};
}

const std::string* find_note(const profile::PerfDataReader& reader, std::string_view key) {
  const auto& notes = reader.description().notes;
  const auto note = std::ranges::find(notes, key, &profile::Note::key);
  return note == notes.end() ? nullptr : &note->value;
}

/// The core that was recorded, by what the recording says of it.
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

/// All that the recording has of lines that changed hands.
struct SharedLines {
  std::vector<session::ProcessSharing> processes;
  std::vector<report::SharedLine> lines;  // of `processes`
  std::uint64_t left_out = 0;
};

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

const session::ProcessSharing& process_of(const SharedLines& shared, const report::SharedLine& line) {
  return *std::ranges::find_if(shared.processes,
                               [&](const session::ProcessSharing& one) { return &one.threads == line.threads; });
}

/// Learns where stacks are, and names what lies in the lines.
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

Result<std::vector<Alignment>> parse_alignments(const std::vector<std::string>& texts) {
  std::vector<Alignment> alignments;
  for (const std::string& text : texts) {
    auto one = parse_alignment(text);
    if (!one) return one.error();
    alignments.push_back(*std::move(one));
  }
  return alignments;
}

std::string names_of_fields(const SharedLines& shared) {
  std::vector<std::string> names;
  for (const report::SharedLine& line : shared.lines) {
    for (const report::SharedField& field : line.fields) names.push_back(field.name());
  }
  constexpr std::size_t kMost = 12;
  if (names.size() > kMost) names.resize(kMost);
  return joined(names);
}

/// What the model's log says, as text. returns  an Error if the log is damaged, or has none of the fields of --whatif
Result<std::string> model_text(const profile::PerfDataReader& reader, const profile::AddressSpaces& spaces,
                               profile::Symbolizer& symbolizer, const Options& options,
                               const std::vector<Alignment>& alignments) {
  SharedLines shared;
  if (auto read = read_shared_lines(reader, shared); !read) return read.error();
  const auto core = recorded_core(reader);
  if (!core) return core.error();
  report::SharingStyle style{.model = std::string(core->name), .left_out = shared.left_out};
  // chosen: what starting and joining a thread hands over is below that
  constexpr std::uint64_t kFewest = 10;
  const auto light =
      std::ranges::find_if(shared.lines, [](const report::SharedLine& one) { return one.log->hand_overs < kFewest; });
  style.lines = options.show_all ? shared.lines.size()
                                 : std::min(style.lines, static_cast<std::size_t>(light - shared.lines.begin()));
  name_fields(reader, spaces, symbolizer, shared, style.lines);
  bool found = alignments.empty();
  for (std::size_t i = 0; i < std::min(style.lines, shared.lines.size()); ++i) {
    find_fix(shared.lines[i], core->memory);
    if (!alignments.empty()) found = try_alignments(shared.lines[i], alignments, core->memory) || found;
  }
  if (!found) {
    return Error{"--whatif " + options.what_if.front() + ": no line that changed hands has such a field",
                 shared.lines.empty() ? "no line changed hands" : "fields are " + names_of_fields(shared)};
  }
  return report::sharing_text(shared.lines, style);
}

bool was_logged(const profile::PerfDataReader& reader) { return !reader.sharing().empty(); }

}  // namespace

int run_c2c_report(const Arguments& arguments) {
  Options options;
  if (const auto done = parse(arguments, options)) return *done;
  report::C2cStyle style{.coalesce = options.coalesce,
                         .show_all = options.show_all,
                         .only_sums = options.stats,
                         .source_lines = !options.no_source};
  const auto order = parse_order(options.display);
  if (!order) return wrong(order.error());
  style.order = *order;
  const auto keys = profile::parse_place_keys(options.coalesce);
  if (!keys) return wrong(keys.error());
  const auto alignments = parse_alignments(options.what_if);
  if (!alignments) return wrong(alignments.error());

  const auto reader = open_recording(options.input);
  if (!reader) return kToolFailed;
  if (!reader->description().data_sources) {
    say(Error{reader->name() + ": the samples do not say where their data was", "record with: zeroskid c2c record"});
    return kToolFailed;
  }
  if (!alignments->empty() && !was_logged(*reader)) {
    say(Error{reader->name() + ": --whatif plays the model's log of a line again, and there is none",
              "record with: zeroskid c2c record"});
    return kToolFailed;
  }
  profile::Symbolizer symbolizer(options.input.names());
  symbolizer.expect(*reader);
  const profile::CacheLines lines = profile::cache_lines(
      *reader, symbolizer,
      {.keys = *keys, .order = *order, .line_bytes = options.double_line ? std::uint64_t{128} : std::uint64_t{64}});
  std::string text = report::c2c_text(*reader, lines, symbolizer, style);
  if (!options.stats) {
    const auto model = was_logged(*reader) ? model_text(*reader, lines.spaces, symbolizer, options, *alignments)
                                           : Result<std::string>(report::no_sharing_text());
    if (!model) {
      say(model.error());
      return kToolFailed;
    }
    text += *model;
  }
  Page page(options.input.pager());
  if (options.header) page.print(report::header_text(*reader));
  page.print(text);
  say_remarks(page, symbolizer);
  return page.status();
}

}  // namespace zs::cli
