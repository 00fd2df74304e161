// What works on this machine, why the rest does not, and what would change that. A pure function of MachineFacts.
// The one rule behind it: a remedy is named only if it would help. Lifting perf_event_paranoid where the hypervisor
// shows no counters helps nobody, and sends people to their administrator for nothing.
#pragma once

#include <string>
#include <vector>

#include "host/machine_facts.h"

namespace zs::host {

enum class State {
  Ready,   // works
  None,    // not there: no permission would bring it
  Denied,  // there, or possibly there, but forbidden
  Broken,  // there and allowed, but does not do its job
};
const char* name_of(State state);  // "ready" "none" "denied" "broken"

struct Finding {
  State state = State::None;
  std::string why;                    // one or more clauses, no newline
  std::vector<std::string> remedies;  // whole sentences or commands, each on its own; empty where nothing helps
};

struct Diagnosis {
  Finding hardware;  // a PMU reachable through perf_event_open
  Finding software;  // zeroskid's own
  Finding virtual_pc;
  std::string precise_events;  // who delivers them: "sw", or "no" with...
  std::string precise_why;     // ...what exactly
  std::string branch_records;
  std::string branch_why;
};

Diagnosis diagnose(const MachineFacts& facts);

/// "KVM" for "KVMKVMKVM"; an unknown signature in quotes; "an unnamed hypervisor" where there is none.
std::string hypervisor_name(const CpuidFacts& cpuid);

/// "ENOENT" for 2; "errno 9999" for what has no name.
std::string errno_name(int error);

}  // namespace zs::host
