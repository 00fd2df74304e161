// One logical processor's performance-monitoring unit, exact to the register: software sees MSRs, a Debug Store area and
// a PMI; the processor around it reports what retired. Two ways to report, with identical results:
//   count()   many events at once, as long as headroom() allows: nothing observable but counter values changes
//   retire()  one instruction with its registers: overflow, PEBS arming and records, PMI happen here
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "arch/retired.h"
#include "pmu/interfaces.h"

namespace zs::arch {
struct CpuModel;
}

namespace zs::pmu {

class Pmu {
 public:
  /// All references must outlive the Pmu.
  Pmu(const arch::CpuModel& model, LinearMemory& memory, PmiSink& pmi, Clock& clock);
  ~Pmu();
  Pmu(const Pmu&) = delete;
  Pmu& operator=(const Pmu&) = delete;

  /// RDMSR, WRMSR, RDPMC as CPL 0 executes them. returns false where the processor raises #GP(0)
  bool rdmsr(std::uint32_t msr, std::uint64_t& value) const;
  bool wrmsr(std::uint32_t msr, std::uint64_t value);
  bool rdpmc(std::uint32_t ecx, std::uint64_t& value) const;

  /// A lane is one distinct event that at least one running counter counts at CPL 3 (for a counter with INV or E:
  /// every instruction, which it has to see). The list and wants_branches() change only when software writes a control
  /// register or a PMI freezes something; lanes_generation() then differs. A handler that stops and restarts counters
  /// without anyone looking in between changes nothing.
  std::span<const arch::EventMeaning> lanes() const;
  std::uint32_t lanes_generation() const;

  /// How many events of `lane` may be passed to count() before something other than a counter value would
  /// change (an overflow, a PEBS record of an armed counter). 0: the next instruction with such an event needs retire().
  /// A counter at 0 leaves room for 2^48 - 1. Always 0 for a lane with a counter that uses CMASK or E.
  std::uint64_t headroom(std::size_t lane) const;

  /// Adds `events` occurrences at CPL 3. CHECKs events <= headroom(lane).
  void count(std::size_t lane, std::uint64_t events);

  /// One instruction retired; `after` is the state after it (ip = next instruction). Order, SDM: LBR, counters, PEBS
  /// record, PMI. Writes DS records through LinearMemory. A taken branch is entered into the LBR here.
  void retire(const arch::Retired& retired, const arch::RegisterFile& after);

  /// Whether taken branches must be reported (LBR or BTS on); enter_branch() reports one that retired in bulk, in order.
  bool wants_branches() const;
  void enter_branch(const arch::TakenBranch& branch);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace zs::pmu
