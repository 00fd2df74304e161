// `zeroskid doctor`: what is possible on this machine, why the rest is not, and the exact remedy.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "cli/doctor_page.h"
#include "cli/verb.h"
#include "host/diagnosis.h"
#include "host/machine_facts.h"

namespace zs::cli {
namespace {

constexpr int kNothingWorks = 1, kUsage = 129;

int run_doctor(int argc, char** argv) {
  CLI::App app{"Says which back ends work on this machine, why the others do not, and what would change that.",
               "zeroskid doctor"};
  bool json = false;
  app.add_flag("--json", json, "One JSON object (docs/formats/doctor-json.md)");
  app.footer("Exit status: 0 if a back end works, 1 if none does, 129 for wrong usage.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? 0 : kUsage;
  }
  const host::MachineFacts facts = host::ask_this_machine();
  const host::Diagnosis diagnosis = host::diagnose(facts);
  const std::string page = json ? doctor_json(facts, diagnosis) : doctor_page(facts, diagnosis);
  if (std::fwrite(page.data(), 1, page.size(), stdout) != page.size() || std::fflush(stdout) != 0) return 125;
  return diagnosis.software.state == host::State::Ready ? 0 : kNothingWorks;
}

}  // namespace

const Verb kDoctorVerb{"doctor", "What works on this machine, and why the rest does not", run_doctor};

}  // namespace zs::cli
