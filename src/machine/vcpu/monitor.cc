#include "machine/vcpu/monitor.h"

#include <algorithm>

#include "machine/vcpu/lower.h"

namespace zs::machine {
namespace {

const vcpu::Insn& original(const vcpu::Insn& insn) { return *static_cast<const vcpu::Insn*>(insn.code); }

}  // namespace

void Monitor::at_service(vcpu::Core& core, const vcpu::Insn& insn) {
  const Monitor& monitor = core.monitor;
  const std::uint64_t linear = core.linear_ip();
  if (core.real_addressing() && monitor.is_service(linear) && monitor.service_hook_ != nullptr) {
    // Services take addresses for physical ones.
    if ((core.cr0 & vcpu::cr0::pg) != 0) throw vcpu::Refusal{"a BIOS service in virtual-8086 mode with paging"};
    core.flush_reports();
    monitor.service_hook_->service(core.facade, static_cast<unsigned>(linear - monitor.service_first_));
    core.watch_stale = true;
    core.arm();
  }
  original(insn).run(core, original(insn));
}

void Monitor::at_breakpoint(vcpu::Core& core, const vcpu::Insn& insn) {
  const std::uint64_t here = core.linear_ip();
  if (core.monitor.has_breakpoint(here) && core.monitor.passes_ != here) throw vcpu::MonitorStop{here};
  original(insn).run(core, original(insn));
}

void Monitor::put_in_front(std::uint64_t linear, vcpu::Insn& insn) {
  const auto replace = [&](vcpu::Handler handler) {
    originals_.push_back(insn);
    insn.code = &originals_.back();
    insn.run = handler;
  };
  if (core_.mode == vcpu::Mode::Real16 && is_service(linear)) replace(at_service);
  if (has_breakpoint(linear)) replace(at_breakpoint);
}

void Monitor::check_access(std::uint64_t linear, unsigned bytes, bool write) {
  for (const DataWatch& watched : watchpoints_) {
    const bool overlaps = watched.linear < linear + bytes && linear < watched.linear + watched.bytes;
    if (!(write ? watched.write : watched.read) || !overlaps) continue;
    hit_ = linear;
    core_.arm();
  }
}

void Monitor::set_service_range(std::uint64_t first, unsigned count, ServiceHook* hook) {
  service_first_ = first;
  service_count_ = count;
  service_hook_ = hook;
  changed();
}

void Monitor::add_breakpoint(std::uint64_t linear) {
  breakpoints_.push_back(linear);
  changed();
}

void Monitor::remove_breakpoint(std::uint64_t linear) {
  std::erase(breakpoints_, linear);
  changed();
}

void Monitor::add_watchpoint(std::uint64_t linear, std::uint64_t bytes, WatchKind kind) {
  watchpoints_.push_back(watch_of(linear, bytes, kind));
  core_.refresh_watching();
}

void Monitor::remove_watchpoint(std::uint64_t linear, std::uint64_t bytes, WatchKind kind) {
  std::erase(watchpoints_, watch_of(linear, bytes, kind));
  core_.refresh_watching();
}

bool Monitor::has_breakpoint(std::uint64_t linear) const { return std::ranges::count(breakpoints_, linear) != 0; }

void Monitor::changed() {
  core_.decoded.clear();
  originals_.clear();
  core_.flush_tlb();
}

}  // namespace zs::machine
