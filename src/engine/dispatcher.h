// Where translated code comes back to: finds out why, brings the thread into the program's terms, and chooses what runs
// next: whole blocks up to the event horizon, short ones close to it, single instructions at it.
#pragma once

#include <cstdint>

#include "engine/kernel/guest_kernel.h"
#include "engine/overflow_points.h"
#include "engine/quiet_stretches.h"
#include "engine/stretches.h"

namespace zs::engine {

/// Called by the stubs (translate/stubs.h).
std::uint64_t dispatch_entry(Context* context);

class Dispatcher final : public Resumes {
 public:
  /// There is one at a time.
  Dispatcher(Run& run, Accountant& accountant, GuestKernel& kernel)
      : run_(run), accountant_(accountant), kernel_(kernel) {
    instance = this;
  }

  std::uint64_t resume(std::uint32_t link_from) override;

 private:
  friend std::uint64_t dispatch_entry(Context* context);
  static Dispatcher* instance;

  std::uint64_t dispatch();
  void leave_block(std::uint32_t& link_from);
  void leave_at_exit(std::uint32_t& link_from);
  void leave_at_guard();
  void leave_at_fault();
  void take_indirect_target();
  void handle_exit(const Exit& exit);
  void go_behind(const Exit& exit);
  void raise_software_trap(const Exit& exit);
  void handle_unfetchable(std::uint64_t pc);
  void tell_of_instruction_beyond_level(std::uint64_t pc);
  void trap_behind_step();
  std::uint32_t last_appended() const;  // the exit that translated code appended last
  std::uint32_t exit_at(std::uint64_t record_address) const;
  std::uint64_t choose(std::uint32_t link_from);
  void end_turn(std::uint32_t& link_from);
  void go_on_behind_interruption(std::uint32_t& link_from);
  void say_that_turns_are_short();
  bool fault_at_rdtsc();
  std::uint64_t enter_near(const Allowance& allowed, std::uint32_t link_from);
  std::uint64_t enter_step();

  Run& run_;
  Accountant& accountant_;
  GuestKernel& kernel_;
  Stretches stretches_{run_, accountant_};
  OverflowPoints stops_{run_, accountant_, kernel_.code, stretches_};
  QuietStretches quiet_{run_, accountant_, stretches_};
  bool quantum_over_ = false, told_of_level_ = false;
  unsigned short_turns_ = 0;
};

}  // namespace zs::engine
