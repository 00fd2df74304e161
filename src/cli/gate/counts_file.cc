#include "cli/gate/counts_file.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/items.h"
#include "base/number.h"
#include "cli/gate/baseline.h"
#include "report/diff/recording_counts.h"

namespace zs::cli {
namespace {

using report::EventCounts;
using report::Json;

EventCounts counts_of(std::string event, std::string value_class, double value, double error) {
  EventCounts counts;
  counts.event = std::move(event);
  counts.value_class = std::move(value_class);
  counts.whole = {.value = value, .squared_error = error * error};
  return counts;
}

std::vector<EventCounts> counts_of(GateRun run) {
  std::vector<EventCounts> all;
  for (const GateRow& row : run.rows) {
    const std::string name = row.name == kWholeRunName ? row.event : row.event + " in " + row.name;
    all.push_back(counts_of(name, row.value_class, row.value, (row.high - row.low) / 2));
  }
  if (!run.functions) return all;
  auto of_all = std::ranges::find(all, "instructions", &EventCounts::event);
  if (of_all == all.end())
    of_all = all.insert(of_all, counts_of(run.functions->event, "exact", run.functions->whole.value, 0));
  of_all->functions = std::move(run.functions->functions);
  return all;
}

/// A line of `stat -j`; nothing where it has no number.
std::optional<EventCounts> counts_of(const Json& line) {
  const auto text = [&](const char* name) {
    const Json* const member = line.find(name);
    return member != nullptr ? member->text() : std::nullopt;
  };
  const Json *const sum = line.find("sum"), *const half = line.find("half-width");
  const auto counted = text("counter-value");
  const auto value = sum != nullptr ? sum->number() : counted ? whole_number<double>(*counted) : std::nullopt;
  const auto event = text("event");
  if (!event || !value) return std::nullopt;
  std::string name(*event);
  for (const auto& [key, before] : {std::pair("thread", " of "), std::pair("region", " in ")}) {
    if (const auto of = text(key)) name += before + std::string(*of);
  }
  const double error = half != nullptr ? half->number().value_or(0) : 0;
  return counts_of(name, std::string(text("class").value_or("not told")), *value, error);
}

Result<CountsFile> read_json(const std::string& path, const std::string& text) {
  CountsFile file{.path = path, .events = {}, .remarks = {}};
  if (const auto document = Json::parse(text); document && is_baseline(*document)) {
    auto run = parse_baseline(text, path);
    if (!run) return run.error();
    file.events = counts_of(*std::move(run));
    return file;
  }
  for (const std::string_view line : pieces_of(text, '\n')) {
    const auto document = Json::parse(line);
    if (!document || !document->is_object()) {
      return Error{path + ": is no recording, no output of stat -j and no baseline of check", ""};
    }
    if (auto counts = counts_of(*document)) {
      file.events.push_back(*std::move(counts));
    } else if (const Json* const event = document->find("event")) {
      file.remarks.push_back(path + ": has no number of " + std::string(event->text().value_or("an event")));
    }
  }
  if (file.events.empty()) return Error{path + ": holds no counts", ""};
  return file;
}

}  // namespace

Result<CountsFile> read_counts(const RecordingInput& input, bool lines) {
  const auto beginning = read_text(input.path, 1);
  if (!beginning) return beginning.error();
  if (*beginning == "{") {
    const auto text = read_text(input.path);
    return text ? read_json(input.path, *text) : text.error();
  }
  const auto reader = open_recording(input);
  if (!reader) return Error{};
  profile::Symbolizer symbolizer = input.symbolizer();
  CountsFile file{.path = input.path, .events = report::recording_counts(*reader, symbolizer, lines), .remarks = {}};
  file.remarks = symbolizer.remarks();
  if (file.events.empty()) return Error{input.path + ": holds no samples", std::string(kRecordMore)};
  return file;
}

}  // namespace zs::cli
