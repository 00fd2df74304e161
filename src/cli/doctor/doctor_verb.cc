// `zeroskid doctor`: what is possible on this machine, why the rest is not, and the exact remedy.
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/command/command_line.h"
#include "cli/command/exit_status.h"
#include "cli/command/say.h"
#include "cli/command/verb.h"
#include "cli/costs/cost_measurement.h"
#include "cli/costs/costs.h"
#include "cli/costs/workload.h"
#include "cli/doctor/doctor_page.h"
#include "cli/run/user_cache.h"
#include "host/diagnosis.h"
#include "host/machine_facts.h"

namespace zs::cli {
namespace {

constexpr int kNothingWorks = 1;
constexpr ExitRow kDoctorStatuses[] = {
    {"0", "a back end works"},
    {"1", "none does"},
    {"125", "what --measure runs fails"},
    {"129", "wrong usage"},
};

constexpr std::uint64_t kNoWorkload = UINT64_MAX;

/// Costs that cannot be kept are told all the same.
void keep(const Costs& costs) {
  const std::string path = costs_path();
  if (path.empty()) {
    say(Error{"doctor --measure: nowhere to keep the costs", "set HOME or XDG_CACHE_HOME"});
    return;
  }
  if (const auto kept = keep_costs(costs, path)) {
    say("doctor: kept in " + path + "; zeroskid --help shows them");
  } else {
    say(kept.error());
  }
}

int run_doctor(const Arguments& arguments) {
  CommandLine line("doctor",
                   "Says which back ends work on this machine, why the others do not, and what would change "
                   "that.",
                   "[--measure] [--json]");
  bool json = false, measure = false;
  std::uint64_t rounds = kNoWorkload;
  line.flag("--json", json, "One JSON object (docs/formats/doctor-json.md)");
  line.flag("--measure", measure,
            "How much longer programs run under zeroskid here; takes some seconds, and is kept for --help");
  line.group("");  // what --measure runs
  line.number("--workload", rounds, 0, "N", "");
  line.exit_statuses(kDoctorStatuses);
  if (const auto done = line.parse(arguments)) return *done;
  if (!line.program().empty()) {
    say(Error{"doctor: there is nothing to do with '" + line.program().front() + "'",
              "zeroskid doctor --help lists the options"});
    return kUsage;
  }
  if (rounds != kNoWorkload) {
    write_all(STDOUT_FILENO, std::to_string(do_workload(rounds)) + "\n");
    return 0;
  }
  std::optional<Costs> costs;
  if (measure) {
    auto measured = measure_costs([](std::string_view now) { say("doctor: measuring " + std::string(now)); });
    if (!measured) {
      say(measured.error());
      return kToolFailed;
    }
    costs = *std::move(measured);
    keep(*costs);
  }
  const host::MachineFacts facts = host::ask_this_machine();
  const host::Diagnosis diagnosis = host::diagnose(facts);
  const KeptTranslations kept = kept_translations();
  write_all(STDOUT_FILENO,
            json ? doctor_json(facts, diagnosis, kept, costs) : doctor_page(facts, diagnosis, kept, costs));
  return diagnosis.software.state == host::State::Ready ? 0 : kNothingWorks;
}

}  // namespace

const Verb kDoctorVerb{"doctor", "What works on this machine, and why the rest does not", run_doctor};

}  // namespace zs::cli
