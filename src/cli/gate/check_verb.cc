// `zeroskid check`: counts a program and says whether it is within a budget of its baseline. For CI.
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/command/command_line.h"
#include "cli/command/exit_status.h"
#include "cli/command/output.h"
#include "cli/command/say.h"
#include "cli/command/verb.h"
#include "cli/gate/baseline.h"
#include "cli/gate/counted_run.h"
#include "cli/gate/gate_page.h"
#include "cli/gate/judgement.h"
#include "cli/gate/noise.h"
#include "cli/run/run_program.h"
#include "cli/stat/stat_options.h"
#include "report/diff/changes.h"

namespace zs::cli {
namespace {

constexpr ExitRow kStatusesOfCheck[] = {
    {"0", "within the budget; with --update: written"},
    {"1", "worse: some count rose beyond its budget"},
    {"3", "better: none rose, some fell beyond it; update the baseline"},
    {"4", "not comparable: no baseline, other events or model, a crash, a count of nothing"},
    {"0, 1", "with --explain-noise: two runs are the same, or part"},
    {"125", "zeroskid failed: wrong usage, nothing to run, output not written"},
};

struct CheckOptions {
  StatOptions stat;
  std::string baseline, budget, format = "text";
  std::uint64_t layouts = 1;
  bool update = false, noise = false;
  std::vector<Budget> budgets;
  GatePrinter print = nullptr;
};

std::optional<int> parse(const Arguments& arguments, CheckOptions& options) {
  StatOptions& stat = options.stat;
  CommandLine line("check",
                   "Runs a program in virtual time, counts it, and compares with a baseline in a file.\n"
                   "Exact counts decide; a modelled or estimated one only outside its interval.",
                   "--baseline FILE --budget EVENT=PERCENT[,...] [OPTIONS] [--] PROGRAM [ARGUMENTS]");
  line.value("--baseline", options.baseline, "FILE", "What was counted before; kept beside the source");
  line.value("--budget", options.budget, "EVENT=PERCENT[,...]",
             "What is counted, and how much it may rise or fall: instructions=1%,branches=0.5%");
  line.flag("--update", options.update, "Make this run the baseline");
  line.number("--layouts", options.layouts, 1, "N",
              "Run it in N seeded placements of stack, heap, mappings and functions: a count decides\n"
              "only outside what they counted [1]");
  line.values("--region", stat.regions, "WHERE", "Rows of a part of the run too, as stat has it");
  line.flag("--explain-noise", options.noise,
            "In place of that: the first branch where two runs part, in each thread, and what the\n"
            "program asks for that virtual time leaves as it is");
  line.group("How it is printed");
  line.value("--format", options.format, "text|json|junit|markdown", "[text]");
  line.value("-o,--output", stat.output, "FILE", "Where to [stderr]");
  stat.run.has_budget = true;
  stat.run.kept_variables.clear();
  add_run_options(line, stat.run);
  line.exit_statuses(kStatusesOfCheck);
  if (const auto status = line.parse(arguments)) return status;
  stat.program = line.program();
  stat.run.virtual_time = true;
  return std::nullopt;
}

bool is_one_file(const std::string& a, const std::string& b) {
  std::error_code problem;
  return !a.empty() && std::filesystem::weakly_canonical(a, problem) == std::filesystem::weakly_canonical(b, problem);
}

Result<void> choose(CheckOptions& options) {
  StatOptions& stat = options.stat;
  const std::string example = "zeroskid check --baseline FILE --budget instructions=1% PROGRAM";
  if (stat.program.empty()) return Error{"no program to count", example};
  if (options.noise) {
    if (options.format != "text") return Error{"--explain-noise: is text, not " + options.format, ""};
    stat.events = {"instructions"};
    return choose_counting(stat);
  }
  if (options.baseline.empty()) return Error{"--baseline: is needed", example};
  if (options.budget.empty()) return Error{"--budget: is needed", example};
  if (is_one_file(stat.output, options.baseline)) return Error{"-o and --baseline name one file", ""};
  options.print = gate_printer(options.format);
  if (options.print == nullptr)
    return Error{"--format " + options.format + ": no such format", "text, json, junit or markdown"};
  auto budgets = parse_budgets(options.budget);
  if (!budgets) return budgets.error();
  options.budgets = *std::move(budgets);
  for (const Budget& budget : options.budgets) stat.events.push_back(budget.event);
  if (auto chosen = choose_counting(stat); !chosen) return chosen;
  if (stat.report.events.size() != options.budgets.size())
    return Error{"--budget: an event of it is several", "name each"};
  for (const StatEvent& event : stat.report.events) {
    if (event.number_class == profile::ValueClass::Measured)
      return Error{"--budget: " + event.name + " is counted by the kernel, with zeroskid's share: it decides nothing",
                   "instructions=1%"};
  }
  return {};
}

/// Which functions made it so, where the baseline has kept them.
void explain(const GateRun& baseline, const StatOptions& stat, Judgement& judgement) {
  if (!baseline.functions) return;
  const auto now = count_functions(stat);
  if (!now) {
    say(Error{"which functions changed is not known: " + now.error().message, now.error().hint});
    return;
  }
  judgement.functions = report::function_changes(*baseline.functions, *now);
  for (const report::Change& one : judgement.functions) judgement.instructions += one.difference();
}

/// returns whether it is in its place; if not, that has been said
bool update(const CheckOptions& options, GateRun& run) {
  auto functions = count_functions(options.stat);
  if (functions) {
    run.functions = most_of(*std::move(functions));
  } else {
    say(Error{"the baseline will not tell which functions changed: " + functions.error().message,
              functions.error().hint});
  }
  const auto written = replace_file(options.baseline, baseline_text(run));
  if (!written) say(written.error());
  return written.has_value();
}

std::string unusable_row(const GateRun& run) {
  for (const GateRow& row : run.rows) {
    if (row.value == 0) return row.name + ": " + row.event + " counted nothing";
  }
  return "";
}

/// As most systems have them: the largest stack decides where a program's mappings lie.
void fix_limits() {
  for (const auto& [resource, usual] : {std::pair(RLIMIT_STACK, rlim_t{8} << 20), {RLIMIT_NOFILE, 1024}}) {
    rlimit limit{};
    getrlimit(resource, &limit);
    limit.rlim_cur = std::min(usual, limit.rlim_max);
    setrlimit(resource, &limit);
  }
}

int check(CheckOptions& options) {
  StatOptions& stat = options.stat;
  Output output;
  if (output.open_file(stat.output)) return kToolFailed;
  if (options.noise) {
    ProgramToRun program;
    if (find_program_to_run(stat.program, program) != 0) return kToolFailed;
    const auto parts = explain_noise(stat, output);
    if (!parts) return failed(parts.error());
    return output.flush() ? static_cast<int>(*parts) : kToolFailed;
  }
  Judgement judgement;
  const auto text = read_text(options.baseline);
  auto baseline = text ? parse_baseline(*text, options.baseline) : Result<GateRun>(text.error());
  if (!baseline && !options.update) judgement.problems.push_back(baseline.error().message);

  GateRun now{.command = stat.program};
  if (judgement.problems.empty()) {
    ProgramToRun program;
    if (find_program_to_run(stat.program, program) != 0) return kToolFailed;
    fix_limits();
    bool failed = false;
    auto counted = count_run(stat, program, options.layouts, failed);
    if (failed) return kToolFailed;
    if (counted) {
      now = *std::move(counted);
    } else {
      judgement.problems.push_back(counted.error().message);
    }
  }
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is told of
  if (const std::string why = options.update ? unusable_row(now) : ""; !why.empty()) judgement.problems.push_back(why);
  const bool is_updated = options.update && judgement.problems.empty();
  if (is_updated && !update(options, now)) return kToolFailed;
  if (judgement.problems.empty()) judgement = judge(baseline ? *baseline : now, now, options.budgets);
  const Verdict verdict = judgement.verdict();
  if (!is_updated && (verdict == Verdict::Worse || verdict == Verdict::Better)) explain(*baseline, stat, judgement);

  output.add(options.print({now, options.budgets, judgement, options.baseline, is_updated}));
  if (!output.flush()) return kToolFailed;
  return is_updated ? 0 : exit_status_of(verdict);
}

int run_check(const Arguments& arguments) {
  CheckOptions options;
  if (const auto status = parse(arguments, options)) return *status == 0 ? 0 : kToolFailed;
  if (auto chosen = choose(options); !chosen) return failed(chosen.error());
  return check(options);
}

}  // namespace

const Verb kCheckVerb{"check", "Whether a program counts as before: for CI", run_check};

}  // namespace zs::cli
