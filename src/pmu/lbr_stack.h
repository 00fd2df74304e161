// The last-branch-record registers: a ring of the most recent taken branches, filtered by kind and by the ring they end
// in. In call-stack mode calls push and returns pop, so it holds the calls that have not returned. Four kinds of
// registers (arch/cpu_model.h) show the same ring: with a top-of-stack index, or the newest record first.
// Also the last-exception record: the newest record at the time of the last exception or interrupt.
// source: SDM vol. 3B, "LBR Stack", "Filtering of Last Branch Records", call stack profiling of Haswell; "Architectural
// Last Branch Records".
// AMD's: what was entered is valid and not speculative, because branches are entered when they retire. Simplification:
// the processor enters them as they execute, then tells of wrong paths too, and gives a branch that was fused with the
// instruction before it that one's address.
// Left out: transactions, which read 0; cycles, without a core clock.
#pragma once

#include <array>
#include <cstdint>

#include "arch/cpu_model.h"
#include "arch/msrs.h"
#include "arch/retired.h"
#include "pmu/interfaces.h"

namespace zs::pmu {

class LbrStack {
 public:
  LbrStack(const arch::CpuModel& model, Clock& clock);

  /// A taken branch; whether recording is on was looked at before.
  void enter(const arch::TakenBranch& branch);
  /// An exception or interrupt is taken: the branch before it becomes the last-exception record.
  void note_exception() { last_exception_ = entries_[tos_]; }

  arch::LbrSelect select() const { return select_; }
  void set_select(arch::LbrSelect select);
  arch::LbrCtl control() const { return control_; }
  void set_control(arch::LbrCtl control);
  arch::DbgExtnCfg extension() const { return extension_; }
  void set_extension(arch::DbgExtnCfg extension) { extension_ = extension; }
  /// Whether software has switched them on, by whichever register does that here.
  bool enabled(arch::DebugCtl debugctl) const;

  // The registers as they read; the newest entry is at tos(), older ones below it, modulo the depth.
  struct Entry {
    std::uint64_t from = 0, to = 0, info = 0;
  };
  unsigned tos() const { return tos_; }
  void set_tos(unsigned tos) { tos_ = tos; }
  const Entry& entry(unsigned index) const { return entries_[place(index)]; }
  Entry& entry(unsigned index) { return entries_[place(index)]; }

  unsigned depth() const { return mask_ + 1; }
  /// Architectural: a write of IA32_LBR_DEPTH, which clears every record.
  void set_depth(unsigned depth);
  /// The n-th newest record, whatever the kind; zeros beyond the depth.
  Entry newest(unsigned n) const { return n <= mask_ ? entries_[(tos_ - n) & mask_] : Entry{}; }

  const Entry& last_exception() const { return last_exception_; }
  Entry& last_exception() { return last_exception_; }

  /// RESET; a warm one leaves the records as they are.
  void reset(bool warm);

 private:
  unsigned place(unsigned index) const { return newest_first_ && index <= mask_ ? (tos_ - index) & mask_ : index; }
  bool is_timed(const arch::TakenBranch& branch) const { return timed_ || branch.cycle != 0; }
  std::uint64_t cycles_since_last(const arch::TakenBranch& branch);
  std::uint64_t info(const arch::TakenBranch& branch);

  arch::LbrKind kind_;
  arch::LbrFormat format_;
  bool newest_first_;
  bool has_info_;
  bool timed_;       // entries have cycle counts, whether or not a branch brings its cycle
  bool plain_info_;  // of INFO only the flags
  std::uint64_t from_flags_;
  Clock& clock_;
  unsigned deepest_;
  unsigned mask_;  // depth - 1
  unsigned tos_ = 0;
  std::array<Entry, arch::LbrFrom::msrs.count> entries_;
  Entry last_exception_;
  std::uint64_t last_cycles_ = 0;
  arch::LbrSelect select_;
  arch::LbrCtl control_;
  arch::DbgExtnCfg extension_;
  // the filter, resolved
  std::uint32_t wanted_ = 0;  // by bit of BranchKind
  bool to_kernel_ = true, to_user_ = true, call_stack_ = false;
};

}  // namespace zs::pmu
