// `zeroskid c2c report`: which lines threads take from each other, why, and what would end it.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/c2c/shared_lines.h"
#include "cli/command/command_line.h"
#include "cli/command/exit_status.h"
#include "cli/command/say.h"
#include "cli/command/verb.h"
#include "cli/command/words.h"
#include "cli/report/recording_input.h"
#include "profile/aggregate/cache_lines.h"
#include "report/c2c/c2c_text.h"
#include "report/c2c/sharing_text.h"
#include "report/text/header_text.h"
#include "uarch/memory_parameters.h"

namespace zs::cli {
namespace {

// How much of what a recording says of shared lines depends on how its threads happened to meet: the same lines in
// recordings with other seeds of their schedule.

/// Threads have other numbers in each recording.
std::string comparable(std::string objects) {
  constexpr std::string_view kStack = "[stack] ";
  for (std::size_t at = objects.find(kStack); at != std::string::npos; at = objects.find(kStack, at + 1)) {
    const std::size_t digits = at + kStack.size();
    const std::size_t end = std::min(objects.find_first_not_of("0123456789", digits), objects.size());
    objects.erase(digits - 1, end - digits + 1);
  }
  return objects;
}

class SharingRange {
 public:
  /// The first `wanted` lines of a recording, with fields and what they are (find_fix).
  void add(const SharedLines& shared, std::size_t wanted) {
    ++recordings_;
    for (std::size_t i = 0; i < std::min(wanted, shared.lines.size()); ++i) {
      const report::SharedLine& line = shared.lines[i];
      report::ObjectCounts& counts = object_of(line).recordings.back();
      counts.hand_overs += line.log->hand_overs;
      counts.hitm += line.log->hitm;
      if (std::ranges::find(counts.kinds, line.sharing) == counts.kinds.end()) counts.kinds.push_back(line.sharing);
    }
    for (report::ObjectRange& object : objects_) object.recordings.resize(recordings_);
  }

  /// Another recording of the same program, read as `like` says.
  Result<void> add_recording(const std::string& path, const RecordingInput& like,
                             const uarch::MemoryParameters& parameters) {
    RecordingInput input = like;
    input.path = path;
    const auto reader = profile::PerfDataReader::open(path, {.truncated = like.truncated});
    if (!reader) return reader.error();
    if (reader->notes().sharing().empty())
      return Error{path + ": it has no log of shared lines to compare", "record it with: zeroskid c2c record"};
    profile::Symbolizer symbolizer = input.symbolizer();
    symbolizer.expect(*reader);
    profile::AddressSpaces spaces;
    reader->for_each(profile::PerfDataReader::Order::Time,
                     [&](const profile::Record& record) { spaces.apply(record); });
    SharedLines shared;
    if (auto read = read_shared_lines(*reader, shared); !read) return read.error();
    const std::size_t wanted = shared.heavy();
    name_fields(*reader, spaces, symbolizer, shared, wanted);
    for (std::size_t i = 0; i < wanted; ++i) find_fix(shared.lines[i], parameters);
    add(shared, wanted);
    return {};
  }

  const std::vector<report::ObjectRange>& objects() const { return objects_; }
  std::size_t recordings() const { return recordings_; }

 private:
  report::ObjectRange& object_of(const report::SharedLine& line) {
    const std::string name = comparable(line.objects());
    auto found = std::ranges::find(objects_, name, &report::ObjectRange::name);
    if (found == objects_.end()) {
      objects_.push_back({.name = name});
      found = objects_.end() - 1;
    }
    found->recordings.resize(recordings_);
    return *found;
  }

  std::vector<report::ObjectRange> objects_;  // as they were met
  std::size_t recordings_ = 0;
};

struct C2cReportOptions {
  RecordingInput input;
  std::string display, coalesce = "iaddr";
  std::vector<std::string> what_if, others;
  bool show_all = false, double_line = false, stdio = false, no_source = false, stats = false, header = false;
};

std::optional<int> parse(const Arguments& arguments, C2cReportOptions& options) {
  CommandLine line(
      "c2c report",
      "Shows which cache lines threads take from each other: perf's three tables of the samples; then each line\n"
      "as the model saw it, byte by byte: shared in earnest or by chance, and what would be left if its fields\n"
      "lay apart.",
      "[-i FILE] [OPTIONS]");
  add_input_options(line, options.input);
  line.value(
      "-d,--display", options.display, "tot|lcl|rmt|peer",
      "Rank lines by all HITM, local or remote ones, or by loads whose line a\nprocessor only says that another core "
      "had it, as ARM's do [tot, or peer\nwhere there are no others]");
  line.value("-s,-c,--coalesce", options.coalesce, "KEY[,KEY...]",
             "What tells rows of a line apart besides the offset: pid, tid, iaddr, dso\n[iaddr]");
  line.flag("--show-all", options.show_all, "Lines without HITM too, and every line that changed hands");
  line.flag("--double-cl", options.double_line,
            "Take two neighbouring lines for one in the tables, as adjacent-line prefetch does");
  line.values("--whatif", options.what_if, "FIELD=BYTES",
              "What would be left if that field lay at a multiple of BYTES; several are made one after the other");
  line.values("--with", options.others, "FILE",
              "Another recording of the same program, of another --schedule-seed: the range over all of them");
  line.flag("--stats", options.stats, "The first tables alone: what all loads and stores were");
  line.flag("--no-source", options.no_source, "No column of source lines");
  line.flag("--header", options.header, "What the recording says of itself, first");
  line.flag("--stdio", options.stdio, "Print text, which is done anyway");
  return parse_reader(line, arguments);
}

/// Nothing: as the samples are.
Result<std::optional<profile::HitmKind>> parse_order(const std::string& text) {
  using Order = std::optional<profile::HitmKind>;
  static constexpr std::string_view kNames[] = {"tot", "lcl", "rmt", "peer"};  // of HitmKind
  if (text.empty()) return Order();
  const auto* const name = std::ranges::find(kNames, text);
  if (name != std::end(kNames)) return Order(static_cast<profile::HitmKind>(name - kNames));
  return Error{"-d " + text + ": no such kind of HITM", "tot, lcl, rmt or peer"};
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
                               profile::Symbolizer& symbolizer, const C2cReportOptions& options,
                               const std::vector<Alignment>& alignments) {
  SharedLines shared;
  if (auto read = read_shared_lines(reader, shared); !read) return read.error();
  const auto core = recorded_core(reader);
  if (!core) return core.error();
  report::SharingStyle style{.model = std::string(core->name), .left_out = shared.left_out};
  style.lines = options.show_all ? shared.lines.size() : std::min(style.lines, shared.heavy());
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
  std::string text = report::sharing_text(shared.lines, style);
  if (options.others.empty()) return text;
  SharingRange range;
  range.add(shared, style.lines);
  for (const std::string& path : options.others) {
    if (auto read = range.add_recording(path, options.input, core->memory); !read) return read.error();
  }
  return text + report::range_text(range.objects(), range.recordings());
}

bool was_logged(const profile::PerfDataReader& reader) { return !reader.notes().sharing().empty(); }

int run_c2c_report(const Arguments& arguments) {
  C2cReportOptions options;
  if (const auto done = parse(arguments, options)) return *done;
  report::C2cStyle style{.coalesce = options.coalesce,
                         .show_all = options.show_all,
                         .only_sums = options.stats,
                         .source_lines = !options.no_source};
  const auto order = parse_order(options.display);
  if (!order) return refuse("c2c report", order.error());
  const auto keys = profile::parse_place_keys(options.coalesce);
  if (!keys) return refuse("c2c report", keys.error());
  const auto alignments = parse_alignments(options.what_if);
  if (!alignments) return refuse("c2c report", alignments.error());

  const auto reader = open_recording(options.input);
  if (!reader) return kToolFailed;
  if (!has_data_sources(*reader, "c2c")) return kToolFailed;
  if (!alignments->empty() && !was_logged(*reader))
    return failed({reader->name() + ": --whatif plays the model's log of a line again, and there is none",
                   "record with: zeroskid c2c record"});
  if (!options.others.empty() && !was_logged(*reader))
    return failed({reader->name() + ": --with compares the model's logs of lines, and there is none",
                   "record with: zeroskid c2c record"});
  if (!was_logged(*reader) && !has_samples(*reader, "record longer, or with a smaller -c"))
    return empty_status(*reader);
  profile::Symbolizer symbolizer = options.input.symbolizer();
  symbolizer.expect(*reader);
  const profile::CacheLines lines = profile::cache_lines(
      *reader, symbolizer,
      {.keys = *keys, .order = *order, .line_bytes = options.double_line ? std::uint64_t{128} : std::uint64_t{64}});
  std::string text = report::c2c_text(*reader, lines, symbolizer, style);
  if (!options.stats) {
    const auto model = was_logged(*reader) ? model_text(*reader, lines.spaces, symbolizer, options, *alignments)
                                           : Result<std::string>(report::no_sharing_text(lines.all));
    if (!model) return failed(model.error());
    text += *model;
  }
  Page page(options.input.pager());
  if (options.header) page.print(report::header_text(*reader));
  page.print(text);
  say_remarks(page, symbolizer);
  return page.status();
}

}  // namespace

const Verb kC2cReportVerb{"report", "Which lines threads fight over, why, and what would end it", run_c2c_report};

}  // namespace zs::cli
