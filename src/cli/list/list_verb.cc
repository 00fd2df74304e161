// `zeroskid list`: which events there are, what their numbers are worth, and what a select word means.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "arch/cpu_model.h"
#include "arch/metrics/metric.h"
#include "cli/command/command_line.h"
#include "cli/command/exit_status.h"
#include "cli/command/page.h"
#include "cli/command/say.h"
#include "cli/command/terminal.h"
#include "cli/command/verb.h"
#include "cli/command/words.h"
#include "cli/events/event_selection.h"
#include "cli/list/known_errors.h"
#include "cli/list/list_page.h"
#include "host/machine_facts.h"
#include "report/text/fit.h"
#include "report/text/json.h"

namespace zs::cli {
namespace {

// What `zeroskid list models` prints: the CPU models that --model takes.

/// Without their versions: the newest is meant then.
std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const arch::CpuModel& model : arch::cpu_models()) names.emplace_back(model.name.substr(0, model.name.find('@')));
  return names;
}

std::string model_list_page() {
  constexpr const char* kLine = "{:<20} {:<5} {:>4}  {}\n";
  std::string page = fmt::format(kLine, "MODEL", "PEBS", "LBR", "DESCRIPTION");
  for (const arch::CpuModel& model : arch::cpu_models()) {
    const std::string branches = model.has_lbr() ? std::to_string(model.lbr_entries) : "-";
    page += fmt::format(kLine, model.name, model.has_pebs() ? "yes" : "-", branches, model.description);
  }
  return page;
}

/// One object: "models" with name, pebs, lbr_entries, description.
std::string model_list_json() {
  report::Json page;
  page["models"] = report::Json::array();
  for (const arch::CpuModel& model : arch::cpu_models()) {
    page["models"].push_back({{"name", model.name},
                              {"pebs", model.has_pebs()},
                              {"lbr_entries", model.has_lbr() ? int{model.lbr_entries} : 0},
                              {"description", model.description}});
  }
  return page.dump(2) + "\n";
}

// `zeroskid list metrics`: what -M takes.

std::string metric_list_page(const arch::CpuModel& model) {
  constexpr const char* kLine = "{:<24} {:<24} {:<28} {}\n";
  std::string page = fmt::format(kLine, "METRIC", "GROUPS", "UNIT", "DESCRIPTION");
  for (const arch::Metric& row : arch::metric_rows()) {
    if (arch::has_metric(model, row)) page += fmt::format(kLine, row.name, row.groups, row.unit, row.description);
  }
  return page;
}

/// A line for each metric of the model: its name, groups, unit and what it is.
std::vector<std::string> metric_names(const arch::CpuModel& model) {
  std::vector<std::string> names;
  for (const arch::Metric& row : arch::metric_rows()) {
    if (arch::has_metric(model, row)) names.emplace_back(row.name);
  }
  return names;
}

/// One object: "cpu-model", and "metrics" with name, groups, unit, formula, description.
std::string metric_list_json(const arch::CpuModel& model) {
  report::Json page;
  page["cpu-model"] = model.name;
  page["metrics"] = report::Json::array();
  for (const arch::Metric& row : arch::metric_rows()) {
    if (!arch::has_metric(model, row)) continue;
    page["metrics"].push_back({{"name", row.name},
                               {"groups", row.groups},
                               {"unit", row.unit},
                               {"formula", row.formula},
                               {"description", row.description}});
  }
  return page.dump(2) + "\n";
}

constexpr int kNothingMatches = 1;
constexpr ExitRow kListStatuses[] = {
    {"0", "something matches"},
    {"1", "nothing matches"},
    {"129", "wrong usage"},
};

struct ListOptions {
  std::vector<std::string> globs;
  CpuChoice cpu;
  bool verbose = false, names = false, json = false, no_pager = false;
};

std::optional<int> parse(const Arguments& arguments, ListOptions& options) {
  CommandLine line("list", "Lists the events that -e takes, with what their numbers are worth.",
                   "[GLOB | 0xSELECT]... [OPTIONS]");
  line.words(options.globs, "EVENTS");
  line.flag("-v,--verbose", options.verbose, "Events that are not modelled too, aliases, and what is missing");
  line.flag("--names", options.names, "Names alone, one a line");
  line.flag("--json", options.json, "One JSON object (docs/formats/list-json.md)");
  line.flag("--no-pager", options.no_pager, "Straight to the terminal, also what is longer than it");
  line.named_value("--cpu,--model", options.cpu.name, options.cpu.option, "MODEL", "Events of this CPU model");
  line.note(
      "GLOB is compared with names and aliases; where nothing matches, names that contain it are listed.\n"
      "0xSELECT is a word as IA32_PERFEVTSELx (AMD: PERF_CTLx) takes it: its fields, and what it counts.\n"
      "`metrics` lists what stat -M takes instead, `models` the CPU models.\n"
      "-e also takes rNNNN, cpu/event=N,umask=N,.../ and these words; :p :pp :ppp sample precisely.\n"
      "PRECISE is what the vendor promises of PEBS: only = made for it, distribution = the overflowing instruction\n"
      "itself is recorded. Here :p samples every event precisely.");
  line.exit_statuses(kListStatuses);
  return line.parse(arguments);
}

std::string lines_of(const std::vector<std::string>& names) { return names.empty() ? "" : joined(names, "\n") + "\n"; }

std::vector<std::string> event_names(const std::vector<ListedEvent>& events) {
  std::vector<std::string> names;
  names.reserve(events.size());
  for (const ListedEvent& event : events) names.push_back(event.name);
  return names;
}

bool is_select_word(const std::string& text) {
  return text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') &&
         text.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string::npos;
}

int run_list(const Arguments& arguments) {
  ListOptions options;
  if (const auto done = parse(arguments, options)) return *done;
  const auto cpu = choose_cpu_model(options.cpu);
  if (!cpu) return refused(cpu.error());
  const arch::CpuModel& model = **cpu;
  const auto fitting = [](const std::string& page) { return report::folded(page, terminal_width(STDOUT_FILENO)); };
  Page out(options.no_pager ? Page::Pager::None : Page::Pager::Wanted);

  if (options.globs == std::vector<std::string>{"metrics"}) {
    out.print(options.json    ? metric_list_json(model)
              : options.names ? lines_of(metric_names(model))
                              : fitting(metric_list_page(model)));
    return out.status();
  }
  if (options.globs == std::vector<std::string>{"models"}) {
    out.print(options.json ? model_list_json() : options.names ? lines_of(model_names()) : fitting(model_list_page()));
    return out.status();
  }
  const auto words = std::stable_partition(options.globs.begin(), options.globs.end(), is_select_word);
  const std::vector<std::string> globs(words, options.globs.end());
  std::string page;
  for (auto word = options.globs.begin(); word != words; ++word) {
    page += options.json ? select_json(*word, model) : fitting(select_page(*word, model));
  }
  if (page.empty() || !globs.empty()) {
    const PfmNames pfm;
    std::vector<ListedEvent> events = list_events(model, pfm);
    show_errors(kept_errors(calibration_file()), host::ask_cpuid().brand, model.name, events);
    if (!globs.empty()) {
      events = matching(events, globs);
    } else if (!options.verbose && !options.json) {
      std::erase_if(events, [](const ListedEvent& event) { return event.kind == ListedClass::NotModelled; });
    }
    if (events.empty()) {
      say(Error{"list: no event of " + std::string(model.name) + " matches '" + globs.front() + "'",
                "zeroskid list -v shows every event"});
      return kNothingMatches;
    }
    page += options.json    ? list_json(model, events)
            : options.names ? lines_of(event_names(events))
                            : fitting(list_page(model, events, options.verbose));
  }
  out.print(page);
  return out.status();
}

}  // namespace

const Verb kListVerb{"list", "Events, their class, code and description", run_list};

}  // namespace zs::cli
