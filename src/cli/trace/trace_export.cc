#include "cli/trace/trace_export.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

#include "base/items.h"
#include "cli/command/exit_status.h"
#include "cli/command/say.h"
#include "report/trace/branch_counts.h"

namespace zs::cli {
namespace {

struct FormatRow {
  TraceFormat format;
  std::string_view name;
  std::string (*text)(const report::FileBranches& branches);
};
constexpr FormatRow kFormats[] = {{TraceFormat::Bolt, "fdata", report::bolt_text},
                                  {TraceFormat::AutoFdo, "autofdo", report::autofdo_text}};

/// The file that is meant; null, and says so, if no such one was executed.
const profile::Dso* dso_meant(const TraceExport& exports, const report::BranchCounts& counts,
                              profile::Symbolizer& symbolizer) {
  std::string others;
  for (const auto& image : counts.spaces().images()) {
    if (!image->code) continue;
    const profile::Dso* const dso = symbolizer.dso_of(*image);
    if (exports.dso.empty() || exports.dso == dso->path || exports.dso == dso->short_name) return dso;
    others += (others.empty() ? "" : ", ") + dso->short_name;
  }
  say(Error{"--dso " + exports.dso + ": no code of it was mapped", "files with code: " + others});
  return nullptr;
}

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) say(path + ": cannot write: " + std::strerror(errno));
  return static_cast<bool>(file);
}

}  // namespace

Result<void> choose_formats(const std::string& formats, TraceExport& exports) {
  if (formats.empty()) return {};  // not asked for
  for (const std::string_view word : items_of(formats)) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const auto* const row = std::ranges::find(kFormats, word.substr(0, equals), &FormatRow::name);
    if (row == std::end(kFormats)) {
      return Error{"--to " + formats + ": no such format: '" + std::string(word.substr(0, equals)) + "'",
                   "fdata is BOLT's, autofdo is AutoFDO's"};
    }
    const std::string_view named = word.substr(std::min(equals + 1, word.size()));
    exports.files.push_back(
        {row->format, named.empty() ? exports.input.path + "." + std::string(row->name) : std::string(named)});
  }
  return {};
}

int export_trace(TraceExport exports, bool quiet) {
  exports.input.traces = profile::Traces::Pieces;
  const auto reader = open_recording(exports.input);
  if (!reader || !has_branch_trace(*reader)) return kToolFailed;
  profile::Symbolizer symbolizer(profile::Names::AsLinked);
  symbolizer.expect(*reader);
  report::BranchCounts counts(symbolizer);
  reader->for_each(profile::PerfDataReader::Order::Time, [&](const profile::Record& record) { counts.take(record); });
  const profile::Dso* const dso = dso_meant(exports, counts, symbolizer);
  if (dso == nullptr) return kToolFailed;
  for (const std::string& remark : symbolizer.remarks()) say(remark);
  if (dso->image == nullptr) {
    say(Error{dso->path + ": is not there any more, or is another build: its branches cannot be told apart",
              "trace the program again"});
    return kToolFailed;
  }
  const report::FileBranches branches = report::branches_of(counts.steps(), *dso);
  for (const TraceExport::File& file : exports.files) {
    const auto* const row = std::ranges::find(kFormats, file.format, &FormatRow::format);
    if (!write_file(file.path, row->text(branches))) return kToolFailed;
    if (!quiet) {
      say(with_separators(branches.taken) + " branches of " + dso->path + ", at " +
          with_separators(branches.branches.size()) + " places -> " + file.path);
    }
  }
  return 0;
}

}  // namespace zs::cli
