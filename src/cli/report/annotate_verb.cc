// `zeroskid annotate`: the hot functions of a recording, instruction by instruction.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "cli/command/command_line.h"
#include "cli/command/exit_status.h"
#include "cli/command/say.h"
#include "cli/command/verb.h"
#include "cli/command/words.h"
#include "cli/report/recording_input.h"
#include "profile/aggregate/heat.h"
#include "profile/aggregate/type_heat.h"
#include "report/text/annotate_text.h"
#include "report/text/type_text.h"

namespace zs::cli {
namespace {

// `annotate --data-type`: the types of a recording with the heat of their fields, in place of functions.

/// Whether a person who asks for `wanted` means the type: its name, without the kind, or without that and the
/// arguments of its template.
bool is_meant(std::string_view name, std::string_view wanted) {
  if (name == wanted) return true;
  for (const std::string_view kind : {"struct ", "union "}) {
    if (name.starts_with(kind)) name.remove_prefix(kind.size());
  }
  return name == wanted || name.substr(0, name.find('<')) == wanted;
}

std::string some_names(const profile::TypeHeats& heats) {
  constexpr std::size_t kMost = 10;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(kMost, heats.types.size()); ++i) names.push_back(heats.types[i].name);
  return names.empty() ? "no sample is of a struct" : "types with samples: " + joined(names);
}

/// wanted  a type's name, with "struct " before it or not; "true": the hottest
/// all     every type, and not only that
/// returns  the exit status
int annotate_types(const RecordingInput& input, const std::string& wanted, bool all, const report::TypeStyle& style) {
  const auto reader = open_recording(input);
  if (!reader) return kToolFailed;
  if (!has_data_sources(*reader, "mem")) return kToolFailed;
  if (!has_samples(*reader, kRecordMore)) return empty_status(*reader);
  profile::Symbolizer symbolizer = input.symbolizer();
  profile::TypeHeatReader types(symbolizer);
  const profile::TypeHeats heats = types.read(*reader);
  const bool named = wanted != "true";
  Page page(input.pager());
  page.print(report::type_shares(heats));
  std::size_t shown = 0;
  for (const profile::TypeHeat& heat : heats.types) {
    if (named ? !is_meant(heat.name, wanted) : shown != 0 && !all) continue;
    page.print(report::type_text(heat, style));
    ++shown;
  }
  if (!named && shown < heats.types.size()) {
    page.print("\n# --data-type=TYPE another type, --all every one: " + std::to_string(heats.types.size() - shown) +
               " more " + (heats.types.size() - shown == 1 ? "has" : "have") + " samples\n");
  }
  say_remarks(page, symbolizer);
  if (shown != 0) return page.status();
  return failed(
      {reader->name() + ": " +
           (named ? "no sample is of a type named '" + wanted + "'" : "no sample is of a struct that is known"),
       named ? some_names(heats) : "compile with -g: types are in debug information"});
}

constexpr ExitRow kAnnotateStatuses[] = {
    {"0", "read and printed"},
    {"125", "the recording cannot be read or has no such function or type"},
    {"129", "wrong usage"},
};

struct AnnotateOptions {
  RecordingInput input;
  std::string symbol, dso, data_type, syntax = "att", color = "auto";
  bool lines = false, no_source = false, stdio = false, all = false;
  std::uint64_t context = 5;
  PageWidth width;
};

/// Options and the name of a function in any order.
std::optional<int> parse(const Arguments& arguments, AnnotateOptions& options) {
  Arguments rest = arguments;
  for (;;) {
    CommandLine line("annotate",
                     "Shows the hottest function of a recording, or another, instruction by instruction, with source\n"
                     "lines and the share of the function's samples that each instruction got: those with samples,\n"
                     "and a few around them.",
                     "[-i FILE] [OPTIONS] [SYMBOL]");
    add_input_options(line, options.input);
    add_choice_options(line, options.input);
    line.value("-s,--symbol", options.symbol, "SYMBOL", "The function to show [the hottest of each event]");
    line.value("-d,--dso", options.dso, "FILE", "Only functions of this file");
    line.optional_value("--data-type", options.data_type, "[=TYPE]",
                        "The fields of a type in place of code, of a recording of mem record\n[the hottest type]");
    line.value("-M,--disassembler-style", options.syntax, "att|intel", "How to write instructions [att]");
    line.flag("-l,--print-line", options.lines, "FILE:LINE behind instructions, and the hottest lines first");
    line.flag("--all", options.all, "Every instruction, and of every function or type unless one is named");
    line.number("--context", options.context, 0, "N", "Instructions around each that has samples [5]");
    line.flag("--no-source", options.no_source, "Instructions only");
    line.flag("--stdio", options.stdio, "Print text, which is done anyway");
    line.value("--color", options.color, "auto|always|never", "When to colour [auto]");
    add_width_options(line, options.width);
    line.exit_statuses(kAnnotateStatuses);
    if (const auto done = line.parse(rest)) return done;
    if (line.program().empty()) return std::nullopt;
    if (!options.symbol.empty())
      return refused(
          {"annotate: one function at a time: '" + options.symbol + "' or '" + line.program().front() + "'", ""});
    options.symbol = line.program().front();
    rest.words.resize(1);
    rest.words.insert(rest.words.end(), line.program().begin() + 1, line.program().end());
  }
}

int wrong(const std::string& message) {
  say("annotate: " + message);
  return kUsage;
}

int run_annotate(const Arguments& arguments) {
  AnnotateOptions options;
  if (const auto done = parse(arguments, options)) return *done;
  report::AnnotateStyle style{.source = !options.no_source, .lines = options.lines};
  if (options.syntax == "intel") {
    style.syntax = report::Syntax::Intel;
  } else if (options.syntax != "att") {
    return wrong("-M is att or intel, not '" + options.syntax + "'");
  }
  const auto coloured = parse_page_colour(options.color);
  if (!coloured) return wrong(coloured.error().message);
  style.color = *coloured;
  style.width = page_width(options.width);
  if (!options.all) style.context = options.context;
  if (!options.data_type.empty()) {
    if (!options.symbol.empty()) return wrong("--data-type and a function exclude each other");
    return annotate_types(options.input, options.data_type, options.all, {.color = style.color, .width = style.width});
  }

  const auto reader = open_recording(options.input);
  if (!reader) return kToolFailed;
  if (!has_samples(*reader, kRecordMore)) return empty_status(*reader);
  profile::Symbolizer symbolizer = options.input.symbolizer();
  std::uint64_t outside = 0;
  const auto heats =
      profile::function_heats(*reader, symbolizer, {.symbol = options.symbol, .dso = options.dso}, outside);
  style.times = profile::is_exact_profile(reader->description());
  Page page(options.input.pager());
  std::vector<Error> failures;
  bool shown = false;
  std::size_t left_out = 0;
  const profile::PerfDataReader::Event* shown_event = nullptr;  // the last of which a function was shown
  for (const profile::FunctionHeat& heat : heats) {
    if (!options.all && options.symbol.empty() && heat.event == shown_event) {
      ++left_out;
      continue;
    }
    const auto text = report::annotate_text(heat, symbolizer, style);
    if (text) {
      page.print(*text);
      shown = true;
      shown_event = heat.event;
    } else {
      failures.push_back(text.error());
    }
  }
  if (shown && !options.all) {
    std::string more = "\n# --all shows every instruction";
    if (left_out != 0) {
      more += "\n# annotate SYMBOL another function: " + with_thousands(left_out) + " more " +
              (left_out == 1 ? "has" : "have") + " samples";
    }
    page.print(more + "\n");
  }
  say_remarks(page, symbolizer);
  for (const Error& failure : failures) say(failure);
  if (shown) return page.status();
  if (heats.empty()) {
    const std::string what = options.symbol.empty() ? "no sample is in a function with a name"
                                                    : "no sample is in a function named '" + options.symbol + "'";
    say(Error{reader->name() + ": " + what,
              options.symbol.empty() ? "" : "zeroskid report shows where the samples are"});
  }
  return kToolFailed;
}

}  // namespace

const Verb kAnnotateVerb{"annotate", "Hot functions, instruction by instruction", run_annotate};

}  // namespace zs::cli
