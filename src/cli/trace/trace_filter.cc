#include "cli/trace/trace_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/items.h"
#include "base/number.h"
#include "cli/run/program_file.h"
#include "cli/run/region_options.h"
#include "profile/symbols/code_places.h"
#include "profile/symbols/elf_image.h"

namespace zs::cli {
namespace {

using profile::FunctionExtent;
using session::RegionSpec;
using session::TraceFilter;

/// One of several in a --filter: ACTION START[/SIZE][@FILE].
struct Clause {
  std::string action, start, size, file;
};

/// The words of a --filter. source: perf-record(1), "address filters".
class ClauseReader {
 public:
  explicit ClauseReader(std::string_view text) : rest_(text) {}

  /// returns nothing at the end
  std::optional<Clause> next() {
    skip(" \t,");
    if (rest_.empty()) return std::nullopt;
    Clause clause;
    clause.action = word(" \t,/@");
    clause.start = word(" \t,/@");
    if (takes('/')) clause.size = word(" \t,/@");
    if (takes('@')) clause.file = word(" \t,");
    return clause;
  }

 private:
  void skip(std::string_view these) { rest_.remove_prefix(std::min(rest_.find_first_not_of(these), rest_.size())); }
  std::string word(std::string_view until) {
    skip(" \t");
    const std::string_view found = rest_.substr(0, rest_.find_first_of(until));
    rest_.remove_prefix(found.size());
    return std::string(found);
  }
  bool takes(char sign) {
    skip(" \t");
    if (!rest_.starts_with(sign)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view rest_;
};

bool is_number(const std::string& text) { return !text.empty() && text[0] >= '0' && text[0] <= '9'; }

Result<std::uint64_t> number(const std::string& text) {
  const auto value = text.starts_with("0x") ? whole_number<std::uint64_t>(std::string_view(text).substr(2), 16)
                                            : whole_number<std::uint64_t>(text);
  if (!value) return Error{text + ": no number", "0x1130, or 4400"};
  return *value;
}

/// A number is an offset in the file, as perf has it; everything else the name of a function.
Result<std::vector<FunctionExtent>> places_of(const ProgramFile& file, const std::string& text) {
  if (text == "*") return std::vector{FunctionExtent{.offset = 0, .bytes = file.bytes}};
  if (!is_number(text)) return profile::find_extents(*file.image, text);
  const auto offset = number(text);
  if (!offset) return offset.error();
  if (*offset < file.bytes) return std::vector{FunctionExtent{.offset = *offset, .bytes = 0}};
  const auto meant = file.image->file_offset_of(profile::ImageAddress{*offset});
  return Error{fmt::format("{} lies behind the end of {}, which has {:#x} bytes; it is an offset in the file", text,
                           file.image->path(), file.bytes),
               meant ? fmt::format("what objdump shows at {} is at {:#x} of the file", text, value(*meant))
                     : "readelf -lW shows which addresses are where in it"};
}

Result<TraceFilter::FileRange> range_of(const ProgramFile& file, const Clause& clause, FunctionExtent place) {
  if (!clause.size.empty() && is_number(clause.size)) {
    const auto bytes = number(clause.size);
    if (!bytes) return bytes.error();
    place.bytes = *bytes;
  } else if (!clause.size.empty()) {  // up to the end of that function
    const auto last = profile::find_extents(*file.image, clause.size);
    if (!last) return last.error();
    const std::uint64_t end = last->front().offset + last->front().bytes;
    place.bytes = end > place.offset ? end - place.offset : 0;
  }
  if (place.bytes == 0)
    return Error{clause.start + ": a range of no bytes", "filter 0x1130/0x40, filter FUNCTION, filter FUNCTION / LAST"};
  return TraceFilter::FileRange{.file = file.identity, .offset = place.offset, .bytes = place.bytes};
}

class Placing {
 public:
  Placing(const std::string& program, session::RecordingConfig& config) : program_(program), config_(config) {}

  Result<void> place(const Clause& clause) {
    const bool ranged = clause.action == "filter", starts = clause.action == "start", stops = clause.action == "stop";
    if (clause.action == "tracestop")
      return Error{"tracestop: only one instruction can end a trace here, and not a range", "stop FUNCTION"};
    if (!ranged && !starts && !stops)
      return Error{"'" + clause.action + "' is none of filter, start and stop", "filter main, start FUNCTION"};
    if (clause.start.empty()) return Error{clause.action + ": of what?", clause.action + " FUNCTION, or 0xOFFSET"};
    if (!ranged && !clause.size.empty())
      return Error{clause.action + " " + clause.start + ": is one place, without a size",
                   "leave /" + clause.size + " out"};
    const std::string path = clause.file.empty() ? program_ : clause.file;
    if (!files_.contains(path)) {
      auto opened = open_program_file(path);
      if (!opened) {
        return Error{opened.error().message, "an ELF file: filter main @ /path/to/file; without @ it is the program's"};
      }
      files_.emplace(path, *std::move(opened));
    }
    const ProgramFile& file = files_.at(path);
    const auto places = places_of(file, clause.start);
    if (!places) return places.error();
    for (const FunctionExtent& place : *places) {
      if (!place.is_entry && (!ranged || !clause.size.empty())) continue;
      if (!ranged) {
        (starts ? switches_[path].begins : switches_[path].ends).push_back(place.offset);
        continue;
      }
      const auto range = range_of(file, clause, place);
      if (!range) return range.error();
      config_.trace_filter.ranges.push_back(*range);
    }
    config_.trace_filter.switched |= !ranged;
    config_.trace_filter.begins_on &= !starts;
    return {};
  }

  void finish() {
    for (auto& [path, spec] : switches_) {
      spec.switches = spec.in_file = true;
      spec.file = files_.at(path).identity;
      config_.regions.push_back(std::move(spec));
    }
  }

 private:
  const std::string& program_;
  session::RecordingConfig& config_;
  std::map<std::string, ProgramFile> files_;
  std::map<std::string, RegionSpec> switches_;  // by file
};

/// No place of the program has such a form, so it may be what the source calls a region.
bool may_be_marked(const std::string& spelling) {
  return !spelling.starts_with("0x") && spelling.find("@/") == std::string::npos &&
         spelling.find(':') == std::string::npos;
}

}  // namespace

void add_trace_filter_options(CommandLine& line, TraceFilterWords& words) {
  line.values(
      "--filter", words.filters, "FILTER",
      "Of a branch trace: branches that leave or enter a range: `filter FUNCTION`, `filter 0xOFFSET/SIZE@FILE`,\n"
      "`filter FIRST / LAST`; or from a place on, up to one: `start FUNCTION`, `stop 0xOFFSET@FILE`. Offsets\n"
      "are in the file, which is the program's if none is named. Several are separated by commas");
  line.values("--region", words.regions, "WHERE",
              "Likewise: while the thread is in a region: a function and what it calls, FILE:LINE, 0xADDR..0xADDR,\n"
              "or a name that the source marks (zeroskid/region.h)");
  line.values("--thread", words.threads, "WHICH[,WHICH...]",
              "Likewise: of threads of this name, or the N-th of each process, from 1");
}

void add_profile_filter_options(CommandLine& line, TraceFilterWords& words) {
  line.values(
      "--region,--toggle", words.regions, "WHERE",
      "Only what a thread does in a region: a function and what it calls, FILE:LINE, 0xADDR..0xADDR, or a name\n"
      "that the source marks (zeroskid/region.h)");
  line.flag("--from-main", words.from_main, "Only from `main` on, without what the loader does before it");
  line.values("--filter", words.filters, "FILTER",
              "Only code of a file or function: `filter * @ FILE`, `filter FUNCTION`, `filter 0xOFFSET/SIZE@FILE`; or\n"
              "from a place on, up to one: `start FUNCTION`, `stop 0xOFFSET@FILE`");
  line.values("--thread", words.threads, "WHICH[,WHICH...]",
              "Only threads of this name, or the N-th of each process, from 1");
}

std::string in_words(const TraceFilterWords& words) {
  std::string text;
  const auto add = [&](std::string_view before, const std::vector<std::string>& all) {
    for (const std::string& one : all) text += (text.empty() ? "" : "; ") + std::string(before) + one;
  };
  if (words.from_main) add("", {"from main"});
  add("", words.filters);
  add("region ", words.regions);
  add("thread ", words.threads);
  return text;
}

Result<void> place_trace_filter(const TraceFilterWords& words, const std::string& program,
                                session::RecordingConfig& config) {
  Placing placing(program, config);
  if (words.from_main) {
    if (auto placed = placing.place({.action = "start", .start = "main", .size = "", .file = ""}); !placed)
      return Error{"--from-main: " + placed.error().message, placed.error().hint};
  }
  for (const std::string& text : words.filters) {
    const auto wrong = [&](const Error& error) {
      return Error{"--filter '" + text + "': " + error.message, error.hint};
    };
    ClauseReader reader(text);
    auto clause = reader.next();
    if (!clause) return wrong({"says nothing", "filter main, start FUNCTION, stop FUNCTION"});
    for (; clause; clause = reader.next()) {
      if (auto placed = placing.place(*clause); !placed) return wrong(placed.error());
    }
  }
  placing.finish();
  for (const std::string& region : words.regions) {
    auto found = find_regions({region}, program);
    if (!found && !may_be_marked(region)) return found.error();
    if (found) config.regions.push_back(found->front());
    config.trace_filter.regions.push_back(region);
    config.marked_regions = true;
  }
  for (const std::string& list : words.threads) {
    for (const std::string_view one : items_of(list)) {
      constexpr std::size_t kLongestName = 15;
      if (one.empty()) return Error{"--thread " + list + ": a name is missing", "--thread worker,1"};
      config.trace_filter.threads.emplace_back(one.substr(0, kLongestName));
    }
  }
  return {};
}

}  // namespace zs::cli
