// Instructions that are retired one by one, with the registers that they leave.
#pragma once

#include <cstdint>

#include "engine/account/core_feeder.h"
#include "engine/account/exit_counts.h"
#include "engine/account/probes.h"
#include "engine/account/stepped_insns.h"
#include "engine/account/tally.h"

namespace zs::engine {

class SingleSteps {
 public:
  SingleSteps(Run& run, Tally& tally, CoreFeeder& core, Probes& probes, ExitCounts& exits)
      : run_(run), tally_(tally), core_(core), probes_(probes), exits_(exits) {}

  /// The instruction at the thread's pc is about to run alone.
  /// report_to_core  that it runs, where there is a core and it is not told otherwise
  void begin(bool report_to_core);
  /// It has run, and the thread's pc is where it led.
  void retire(bool taken);
  /// The instruction at `pc` has run among others and went straight on to `next`; the registers are those after it.
  void retire_behind(std::uint64_t pc, std::uint64_t next, const std::uint64_t (&gprs)[16], std::uint64_t flags);
  /// A direct branch that is no call, so the registers are those before it and after it.
  void retire_branch(std::uint64_t pc, const std::uint64_t (&gprs)[16], std::uint64_t flags);
  /// Where the operand of an instruction lies that ends at `next_pc` and has not run.
  std::uint64_t effective_address(const MemoryOperand& operand, std::uint64_t next_pc) const;

 private:
  const Insn& insn_alone(std::uint64_t pc);
  static arch::Retired retired_alone(const Insn& insn);
  void retire_alone(const Insn& insn, bool taken, std::uint64_t next, const std::uint64_t (&gprs)[16],
                    std::uint64_t flags);

  Run& run_;
  Tally& tally_;
  CoreFeeder& core_;
  Probes& probes_;
  ExitCounts& exits_;
  SteppedInsns insns_;
};

}  // namespace zs::engine
