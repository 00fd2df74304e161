#include "report/diff/recording_counts.h"

#include <map>
#include <optional>

#include "profile/perf_data/address_space.h"
#include "profile/perf_data/recording.h"

namespace zs::report {
namespace {

using profile::ImageAddress;
using profile::Location;

/// Of one event in one function, by instruction.
struct CodeSum {
  Location somewhere;
  std::map<ImageAddress, Sum> instructions;
};
using CodeSums = std::map<std::pair<const profile::Dso*, const profile::Symbol*>, CodeSum>;

class CountsOfEvent {
 public:
  CountsOfEvent(profile::Symbolizer& symbolizer, bool lines) : symbolizer_(symbolizer), lines_(lines) {}

  void add(const CodeSum& heat) {
    const profile::Symbol* const symbol = heat.somewhere.symbol;
    const std::string dso = heat.somewhere.dso != nullptr ? heat.somewhere.dso->short_name : "[unknown]";
    const std::string name =
        symbol != nullptr ? std::string(without_suffixes(symbol->name())) : "[unknown in " + dso + "]";
    FunctionCounts& function = functions_[{dso, name}];
    function.name = name;
    function.dso = dso;
    if (symbol != nullptr && (function.begins.second == 0 || symbol->name() == name)) {
      Location first = heat.somewhere;
      first.image_address = symbol->start;
      if (const auto place = line_of(first)) function.begins = *place;
    }
    for (const auto& [address, sum] : heat.instructions) {
      function.sum.add(sum);
      Location at = heat.somewhere;
      at.image_address = address;
      if (const auto place = line_of(at)) function.lines[*place].add(sum);
    }
  }

  std::vector<FunctionCounts> finish() {
    std::vector<FunctionCounts> all;
    for (auto& [key, function] : functions_) all.push_back(std::move(function));
    return all;
  }

 private:
  std::optional<SourcePlace> line_of(const Location& location) {
    if (!lines_ || location.dso == nullptr) return std::nullopt;
    const auto& line = symbolizer_.line_of(location);
    if (!line) return std::nullopt;
    return SourcePlace(profile::base_name(line->file), line->line);
  }

  profile::Symbolizer& symbolizer_;
  bool lines_;
  std::map<std::pair<std::string, std::string>, FunctionCounts> functions_;
};

}  // namespace

std::vector<EventCounts> recording_counts(const profile::PerfDataReader& reader, profile::Symbolizer& symbolizer,
                                          bool lines) {
  const bool exact = is_exact_profile(reader.description());
  symbolizer.expect(reader);
  profile::AddressSpaces spaces;
  std::vector<CodeSums> heats(reader.events().size());
  reader.for_each(profile::PerfDataReader::Order::Time, [&](const profile::Record& record) {
    spaces.apply(record);
    const auto* const taken = std::get_if<profile::SampleRecord>(&record);
    if (taken == nullptr) return;
    const session::Sample& sample = taken->sample;
    if (exact && sample.event == session::kRanInContexts) return;  // the same once more
    const Location at = symbolizer.locate(spaces, sample.pid, sample.ip, taken->cpumode);
    CodeSum& heat = heats[sample.event][{at.dso, at.symbol}];
    heat.somewhere = at;
    const auto period = static_cast<double>(sample.period);
    heat.instructions[at.image_address].add({.value = period, .squared_error = exact ? 0 : 4 * period * period});
  });
  std::vector<EventCounts> events;
  for (std::size_t i = 0; i < heats.size(); ++i) {
    if (heats[i].empty()) continue;
    CountsOfEvent counts(symbolizer, lines);
    for (const auto& [key, heat] : heats[i]) counts.add(heat);
    EventCounts& event = events.emplace_back();
    event.event = reader.events()[i].name;
    event.value_class = exact ? "exact" : "sampled";
    event.functions = counts.finish();
    for (const FunctionCounts& function : event.functions) event.whole.add(function.sum);
  }
  return events;
}

}  // namespace zs::report
