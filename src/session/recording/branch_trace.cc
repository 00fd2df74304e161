#include "session/recording/branch_trace.h"

#include <utility>

#include "arch/msrs.h"
#include "arch/records/bts.h"
#include "base/check.h"

namespace zs::session {
namespace {

using arch::DebugCtl;

constexpr DebugCtl kTraceUserCode =
    DebugCtl{}.with(DebugCtl::tr, 1).with(DebugCtl::bts, 1).with(DebugCtl::btint, 1).with(DebugCtl::bts_off_os, 1);

}  // namespace

bool has_branch_trace(const arch::CpuModel& model) { return model.vendor == arch::Vendor::Intel; }

BranchTrace::BranchTrace(const arch::CpuModel& model, pmu::Clock& clock, Receive receive)
    : ds_(sizeof(arch::BtsRecord), kBranchesPerInterrupt, 1, &arch::DsManagementArea::bts),
      receive_(std::move(receive)),
      pmu_(model, ds_, *this, clock) {
  wrmsr(arch::DsArea::msrs[0], DsArea::kAddress);
  wrmsr(DebugCtl::msrs[0], kTraceUserCode.raw());
}

void BranchTrace::drain() {
  const std::span<const std::byte> records = ds_.drain();
  if (!records.empty()) receive_(records);
}

void BranchTrace::wrmsr(std::uint32_t msr, std::uint64_t value) { CHECK(pmu_.wrmsr(msr, value), msr, value); }

}  // namespace zs::session
