#include "cli/trace/trace_export.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

#include "base/items.h"
#include "base/units.h"
#include "cli/command/command_line.h"
#include "cli/command/exit_status.h"
#include "cli/command/output.h"
#include "cli/command/say.h"
#include "report/exact/callgrind_text.h"
#include "report/exact/exact_counts.h"
#include "report/exact/mix_text.h"
#include "report/exact/pprof.h"
#include "report/trace/branch_counts.h"

namespace zs::cli {
namespace {

struct FormatRow {
  TraceFormat format;
  std::string_view name;
  std::string (*text)(const report::FileBranches& branches);  // null: it is not of one file
};
constexpr FormatRow kFormats[] = {{TraceFormat::Bolt, "fdata", report::bolt_text},
                                  {TraceFormat::AutoFdo, "autofdo", report::autofdo_text},
                                  {TraceFormat::Lcov, "lcov", nullptr},
                                  {TraceFormat::Callgrind, "callgrind", nullptr},
                                  {TraceFormat::Pprof, "pprof", nullptr},
                                  {TraceFormat::Mix, "mix", nullptr},
                                  {TraceFormat::Opcodes, "opcodes", nullptr},
                                  {TraceFormat::MixOfFunctions, "mix-by-function", nullptr}};

/// The file that is meant; null, and says so, if no such one was executed.
const profile::Dso* dso_meant(const TraceExport& exports, const profile::AddressSpaces& spaces,
                              profile::Symbolizer& symbolizer) {
  std::string others;
  for (const auto& image : spaces.images()) {
    if (!image->code) continue;
    const profile::Dso* const dso = symbolizer.dso_of(*image);
    if (exports.dso.empty() || exports.dso == dso->path || exports.dso == dso->short_name) return dso;
    others += (others.empty() ? "" : ", ") + dso->short_name;
  }
  say(Error{"--dso " + exports.dso + ": no code of it was mapped", "files with code: " + others});
  return nullptr;
}

const FormatRow& row_of(TraceFormat format) { return *std::ranges::find(kFormats, format, &FormatRow::format); }

bool is_readable(const profile::Dso& dso) {
  if (dso.image != nullptr) return true;
  say(Error{dso.path + ": is not there any more, or is another build: its branches cannot be told apart",
            "run the program again"});
  return false;
}

/// what  it has, for people
bool write_out(const TraceExport::File& file, const std::string& text, const std::string& what, bool quiet) {
  if (!write_file(file.path, text)) return false;
  if (!quiet) say(what + " -> " + file.path);
  return true;
}

bool write_branches(const TraceExport::File& file, const report::FileBranches& branches, bool quiet) {
  return write_out(file, row_of(file.format).text(branches),
                   with_thousands(branches.taken) + " branches of " + branches.dso->path + ", at " +
                       with_thousands(branches.branches.size()) + " places",
                   quiet);
}

bool write_lines(const TraceExport::File& file, const report::ExactCounts& counts, const std::string& recording,
                 bool quiet) {
  const std::string text = report::lcov_text(counts);
  if (text.empty()) {
    say(Error{recording + ": no line of a source file that is here ran",
              "compile with -g, and leave the sources where they were"});
    return false;
  }
  return write_out(file, text, "lines, branches and functions", quiet);
}

constexpr std::string_view kHowToCount = "zeroskid profile -g --to callgrind PROGRAM counts them";

bool write_calls(const TraceExport::File& file, std::span<const profile::PerfDataReader> readers,
                 profile::Symbolizer& symbolizer, bool quiet) {
  report::CallGraph calls(symbolizer);
  for (const profile::PerfDataReader& reader : readers) {
    if (reader.events().size() <= session::kRanInContexts) {
      say(Error{reader.name() + ": has no calling contexts, which callgrind needs", std::string(kHowToCount)});
      return false;
    }
    calls.add(reader);
  }
  return write_out(file, calls.text(), "instructions and calls", quiet);
}

bool write_pprof(const TraceExport::File& file, std::span<const profile::PerfDataReader> readers,
                 profile::Symbolizer& symbolizer, bool quiet) {
  report::PprofProfile profile(symbolizer);
  for (const profile::PerfDataReader& reader : readers) profile.add(reader);
  return write_out(file, profile.gzipped(), "instructions and taken branches", quiet);
}

/// What is not of one file of code.
bool write_whole(const TraceExport::File& file, const report::ExactCounts& counts,
                 std::span<const profile::PerfDataReader> readers, profile::Symbolizer& symbolizer, bool quiet) {
  const auto write_mix = [&](report::MixRows rows) {
    return write_out(file, report::mix_text(counts, rows), "instructions by what they are", quiet);
  };
  switch (file.format) {
    case TraceFormat::Lcov: return write_lines(file, counts, readers.front().name(), quiet);
    case TraceFormat::Callgrind: return write_calls(file, readers, symbolizer, quiet);
    case TraceFormat::Pprof: return write_pprof(file, readers, symbolizer, quiet);
    case TraceFormat::Mix: return write_mix(report::MixRows::Kinds);
    case TraceFormat::Opcodes: return write_mix(report::MixRows::Opcodes);
    case TraceFormat::MixOfFunctions: return write_mix(report::MixRows::Functions);
    case TraceFormat::Bolt:
    case TraceFormat::AutoFdo: break;
  }
  return false;
}

int export_profile(const TraceExport& exports, std::span<const profile::PerfDataReader> readers, bool quiet) {
  profile::Symbolizer symbolizer;
  report::ExactCounts counts;
  for (const profile::PerfDataReader& reader : readers) {
    symbolizer.expect(reader);
    counts.add(reader, symbolizer);
    if (const std::string path = counts.built_twice(); !path.empty())
      return failed({reader.name() + ": " + path + " is another build here: its counts cannot be added to those before",
                     "merge recordings of one build"});
  }
  for (const std::string& remark : symbolizer.remarks()) say(remark);
  for (const TraceExport::File& file : exports.files) {
    if (row_of(file.format).text == nullptr) {
      if (!write_whole(file, counts, readers, symbolizer, quiet)) return kToolFailed;
      continue;
    }
    const profile::Dso* const dso = dso_meant(exports, counts.spaces(), symbolizer);
    if (dso == nullptr || !is_readable(*dso)) return kToolFailed;
    const auto of_file = counts.files().find(dso);
    const report::FileCounts none;
    if (!write_branches(file, branches_of(of_file != counts.files().end() ? of_file->second : none, *dso), quiet))
      return kToolFailed;
  }
  return 0;
}

}  // namespace

void add_export_options(CommandLine& line, TraceExport& exports, std::string& formats, bool profile) {
  line.group(profile ? "For other tools" : "For optimisers");
  line.value(
      "--to", formats, "FORMAT[=FILE][,FORMAT...]",
      std::string("Counts of branches as BOLT (fdata) or AutoFDO (autofdo)") +
          (profile
               ? " reads them, of lines as\ngenhtml does (lcov), of stacks as `go tool pprof` does (pprof), and with "
                 "-g of calls as KCachegrind\ndoes (callgrind); what the instructions are (mix, mix-by-function, "
                 "opcodes)\n"
               : "\nreads them ") +
          "[FILE: the recording's name and the format's]");
  std::vector<std::string> names;
  for (const FormatRow& row : kFormats) {
    if (profile || row.text != nullptr) names.emplace_back(row.name);
  }
  line.known_words("FORMAT", "", names);
  line.value("--dso", exports.dso, "FILE", "Of this executable or library [the program]");
  if (profile)
    line.values("--merge", exports.merged, "FILE",
                "Instead of a program: recordings of several runs, this and others, as one");
  line.value("--input", exports.input.path, "FILE", "Where no program is named: the recording [perf.data]");
}

Result<void> choose_formats(const std::string& formats, bool runs, bool contexts, TraceExport& exports) {
  if (!exports.merged.empty() && (runs || formats.empty())) {
    return Error{"--merge: adds up recordings that there are, for --to, and runs no program",
                 "zeroskid profile --to lcov --merge FILE --merge FILE"};
  }
  if (formats.empty()) return {};  // not asked for
  for (const std::string_view word : items_of(formats)) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const auto* const row = std::ranges::find(kFormats, word.substr(0, equals), &FormatRow::name);
    if (row == std::end(kFormats)) {
      return Error{
          "--to " + formats + ": no such format: '" + std::string(word.substr(0, equals)) + "'",
          "fdata is BOLT's, autofdo is AutoFDO's, lcov is genhtml's, callgrind is KCachegrind's, pprof is Go's"};
    }
    if (row->format == TraceFormat::Callgrind && runs && !contexts)
      return Error{"--to callgrind: needs calling contexts", std::string(kHowToCount)};
    const std::string_view named = word.substr(std::min(equals + 1, word.size()));
    exports.files.push_back(
        {row->format, named.empty() ? exports.input.path + "." + std::string(row->name) : std::string(named)});
  }
  return {};
}

/// Recordings of several runs as one.
int export_merged(const TraceExport& exports, bool quiet) {
  std::vector<profile::PerfDataReader> readers;
  for (const std::string& path : exports.merged) {
    RecordingInput input = exports.input;
    input.path = path;
    auto reader = open_recording(input);
    if (!reader) return kToolFailed;
    if (!profile::is_exact_profile(reader->description()))
      return failed(
          {path + ": no recording of zeroskid profile", "zeroskid profile -o " + path + " PROGRAM makes one"});
    readers.push_back(*std::move(reader));
  }
  return export_profile(exports, readers, quiet);
}

int export_trace(TraceExport exports, bool quiet) {
  if (!exports.merged.empty()) return export_merged(exports, quiet);
  exports.input.traces = profile::Traces::Pieces;
  const auto reader = open_recording(exports.input);
  if (!reader) return kToolFailed;
  if (profile::is_exact_profile(reader->description())) return export_profile(exports, {&*reader, 1}, quiet);
  if (!has_branch_trace(*reader)) return kToolFailed;
  for (const TraceExport::File& file : exports.files) {
    if (row_of(file.format).text != nullptr) continue;
    return failed({reader->name() + ": a branch trace has no counts of lines and contexts",
                   "zeroskid profile -g --to " + std::string(row_of(file.format).name) + " PROGRAM counts them"});
  }
  profile::Symbolizer symbolizer(profile::Names::AsLinked);
  symbolizer.expect(*reader);
  report::BranchCounts counts(symbolizer);
  reader->for_each(profile::PerfDataReader::Order::Time, [&](const profile::Record& record) { counts.take(record); });
  const profile::Dso* const dso = dso_meant(exports, counts.spaces(), symbolizer);
  if (dso == nullptr) return kToolFailed;
  for (const std::string& remark : symbolizer.remarks()) say(remark);
  if (!is_readable(*dso)) return kToolFailed;
  const report::FileBranches branches = report::branches_of(counts.steps(), *dso);
  for (const TraceExport::File& file : exports.files) {
    if (!write_branches(file, branches, quiet)) return kToolFailed;
  }
  return 0;
}

}  // namespace zs::cli
