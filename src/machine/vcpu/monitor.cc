// What the monitor puts in front of single instructions: BIOS services at fixed real-mode addresses, and breakpoints.
// The decoded record is replaced by one that first does the monitor's part; nothing else runs slower.
#include <algorithm>

#include "machine/vcpu/lower.h"

namespace zs::machine::vcpu {
namespace {

const Insn& original(const Insn& i) { return *static_cast<const Insn*>(i.code); }

void at_service(Core& c, const Insn& i) {
  const std::uint64_t number = c.linear_ip() - c.service_first;
  if (!c.protected_mode && number < c.service_count && c.service_hook != nullptr) {
    c.flush_reports();
    c.service_hook->service(c.facade, static_cast<unsigned>(number));
    c.watch_stale = true;
    c.arm();
  }
  original(i).run(c, original(i));
}

void at_breakpoint(Core& c, const Insn& i) {
  const std::uint64_t here = c.linear_ip();
  const bool set = std::find(c.breakpoints.begin(), c.breakpoints.end(), here) != c.breakpoints.end();
  if (set && !c.resuming) throw MonitorStop{here};
  original(i).run(c, original(i));
}

}  // namespace

void hook_watched(Core& core, std::uint64_t linear, Insn& insn) {
  const auto replace = [&](Handler handler) {
    core.originals.push_back(insn);
    insn.code = &core.originals.back();
    insn.run = handler;
  };
  if (core.mode == Mode::Real16 && linear - core.service_first < core.service_count) replace(at_service);
  if (std::find(core.breakpoints.begin(), core.breakpoints.end(), linear) != core.breakpoints.end())
    replace(at_breakpoint);
}

void Core::monitor_changed() {
  decoded.clear();
  originals.clear();
  flush_tlb();
}

}  // namespace zs::machine::vcpu
