// What `zeroskid check` counted of a program, and the file in which it is kept beside the program's source: JSON with a
// row a line, made for version control (docs/formats/check.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/diff/changes.h"
#include "report/text/json.h"

namespace zs::cli {

inline constexpr const char* kWholeRunName = "whole run";

struct GateRow {
  std::string name;  // of a region, or kWholeRunName
  std::string event, value_class;
  double value = 0;
  double low = 0, high = 0;  // the interval of an estimate, and what other placements counted

  bool is_exact_number() const { return low == high; }
};

/// A run, or the runs of several placements.
struct GateRun {
  std::string version, model;
  std::string setting;  // of the modelled core and what is modelled of the run: two that differ count otherwise
  std::vector<std::string> command;
  int exit_status = 0;
  std::uint64_t layouts = 1;
  std::vector<GateRow> rows;
  std::optional<report::EventCounts> functions;  // how often instructions ran in each
};

/// What is kept of functions: at most 200, each with at least a ten thousandth of the instructions; the others are one
/// row, named report::kOtherFunctions.
report::EventCounts most_of(report::EventCounts counts);

std::string baseline_text(const GateRun& run);
/// name  of the file, for messages
Result<GateRun> parse_baseline(const std::string& text, const std::string& name);
/// Whether a document looks like one.
bool is_baseline(const report::Json& document);

/// A count as JSON has it: whole where it is whole.
report::Json number_json(double number);

/// Writes the file beside its place, then puts it there: readers see the old one or the new one, whole.
Result<void> replace_file(const std::string& path, const std::string& text);

/// most  no more bytes than that
Result<std::string> read_text(const std::string& path, std::size_t most = SIZE_MAX);

}  // namespace zs::cli
