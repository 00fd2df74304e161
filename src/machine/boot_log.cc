#include "machine/boot_log.h"

#include <fmt/format.h>

#include <iterator>
#include <string>

#include "arch/cpu_model.h"
#include "arch/msrs.h"
#include "arch/records/ds_shape.h"
#include "arch/records/ds_text.h"
#include "machine/vcpu/vcpu.h"
#include "pmu/pmu.h"

namespace zs::machine {
namespace {

std::string_view name_of(arch::BranchKind kind) {
  switch (kind) {
    case arch::BranchKind::Conditional: return "conditional";
    case arch::BranchKind::RelativeJump: return "relative-jump";
    case arch::BranchKind::IndirectJump: return "indirect-jump";
    case arch::BranchKind::RelativeCall: return "relative-call";
    case arch::BranchKind::IndirectCall: return "indirect-call";
    case arch::BranchKind::Return: return "return";
    case arch::BranchKind::Far: return "far";
    case arch::BranchKind::None: break;
  }
  return "none";
}

}  // namespace

void BootLog::set_pc(Pc& pc, const arch::CpuModel& model, arch::QuirkSet quirks) {
  pc_ = &pc;
  model_ = &model;
  quirks_ = quirks;
}

void BootLog::debug_store(std::string_view why) {
  std::uint64_t area = 0, status = 0;
  (void)pc_->pmu().rdmsr(arch::DsArea::msrs.first, area);
  (void)pc_->pmu().rdmsr(arch::GlobalStatus::msrs.first, status);
  ds_(fmt::format("#{} {} at {:x} status {:016x}\n", interrupts_, why, pc_->cpu().linear_ip(), status));
  if (area == 0) return;
  const bool narrow = quirks_.has(arch::Quirk::Ds32) && !pc_->pmu().mode().ia32e;
  const arch::DsShape shape =
      arch::ds_shape(arch::with_quirks(*model_, quirks_), narrow ? arch::DsLayout::Words32 : arch::DsLayout::Words64);
  const auto read = [this](std::uint64_t linear, std::span<std::byte> into) { return pc_->cpu().peek(linear, into); };
  ds_(arch::ds_text(shape, read, area));
}

void BootLog::log_debug_store(PcConfig& config, Write write) {
  ds_ = std::move(write);
  config.pmi_requested = [this] {
    ++interrupts_;
    debug_store("pmi");
  };
}

void BootLog::log_trace(PcConfig& config, const Write& write) {
  config.trace.instruction = [this, write](const arch::Retired& retired, std::span<const MemoryAccess> accesses) {
    std::string line = fmt::format("I {} {} {:x}", ++instructions_, retired.cpl, retired.ip);
    for (const MemoryAccess& access : accesses) {
      fmt::format_to(std::back_inserter(line), " {}{:x}/{}", access.write ? 's' : 'l', access.linear, access.bytes);
    }
    write(line + "\n");
  };
  config.trace.transfer = [write](const arch::TakenBranch& branch, TransferCause cause) {
    write(fmt::format("T {} {:x} {} {:x} {}\n", branch.cpl_from, branch.from, branch.cpl_to, branch.to,
                      cause == TransferCause::Exception   ? "exception"
                      : cause == TransferCause::Interrupt ? "interrupt"
                                                          : name_of(branch.kind)));
  };
}

void BootLog::finish() {
  if (ds_) debug_store("end");
}

}  // namespace zs::machine
