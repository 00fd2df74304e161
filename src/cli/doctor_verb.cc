// `zeroskid doctor`: what is possible on this machine, why the rest is not, and the exact remedy.
#include <unistd.h>

#include <string>

#include "cli/command_line.h"
#include "cli/doctor_page.h"
#include "cli/exit_status.h"
#include "cli/say.h"
#include "cli/verb.h"
#include "host/diagnosis.h"
#include "host/machine_facts.h"

namespace zs::cli {
namespace {

constexpr int kNothingWorks = 1;
constexpr ExitRow kStatuses[] = {
    {"0", "a back end works"},
    {"1", "none does"},
    {"129", "wrong usage"},
};

int run_doctor(const Arguments& arguments) {
  CommandLine line("doctor",
                   "Says which back ends work on this machine, why the others do not, and what would change "
                   "that.",
                   "[--json]");
  bool json = false;
  line.flag("--json", json, "One JSON object (docs/formats/doctor-json.md)");
  line.exit_statuses(kStatuses);
  if (const auto done = line.parse(arguments)) return *done;
  if (!line.program().empty()) {
    say(Error{"doctor: there is nothing to do with '" + line.program().front() + "'",
              "zeroskid doctor --help lists the options"});
    return kUsage;
  }
  const host::MachineFacts facts = host::ask_this_machine();
  const host::Diagnosis diagnosis = host::diagnose(facts);
  write_all(STDOUT_FILENO, json ? doctor_json(facts, diagnosis) : doctor_page(facts, diagnosis));
  return diagnosis.software.state == host::State::Ready ? 0 : kNothingWorks;
}

}  // namespace

const Verb kDoctorVerb{"doctor", "What works on this machine, and why the rest does not", run_doctor};

}  // namespace zs::cli
