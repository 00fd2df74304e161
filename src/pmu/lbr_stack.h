// The last-branch-record registers: a ring of the most recent taken branches, filtered by LBR_SELECT, its newest entry
// named by TOS. In call-stack mode calls push and returns pop, so the ring holds the calls that have not returned.
// source: SDM vol. 3B, "LBR Stack", "Filtering of Last Branch Records", call stack profiling of Haswell.
// Left out: cycles between branches, transactions; both read 0.
#pragma once

#include <array>
#include <cstdint>

#include "arch/cpu_model.h"
#include "arch/msrs.h"
#include "arch/retired.h"

namespace zs::pmu {

class LbrStack {
 public:
  explicit LbrStack(const arch::CpuModel& model);

  /// A taken branch; DEBUGCTL.LBR and LBR_Frz were looked at before.
  void enter(const arch::TakenBranch& branch);

  arch::LbrSelect select() const { return select_; }
  void set_select(arch::LbrSelect select);

  // The registers as they read; the newest entry is at tos(), older ones below it, modulo the depth.
  struct Entry {
    std::uint64_t from = 0, to = 0, info = 0;
  };
  unsigned tos() const { return tos_; }
  void set_tos(unsigned tos) { tos_ = tos; }
  const Entry& entry(unsigned index) const { return entries_[index]; }
  Entry& entry(unsigned index) { return entries_[index]; }

 private:
  arch::LbrFormat format_;
  unsigned last_;  // depth - 1
  unsigned tos_ = 0;
  std::array<Entry, arch::LbrFrom::msrs.count> entries_;
  arch::LbrSelect select_;
  // select_, resolved
  std::uint32_t wanted_ = 0;  // by bit of BranchKind
  bool to_kernel_ = true, to_user_ = true, call_stack_ = false;
};

}  // namespace zs::pmu
