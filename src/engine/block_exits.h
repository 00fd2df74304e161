// What is to be done where a block ends in what translated code cannot do: system calls, emulated instructions, code
// that is not there.
#pragma once

#include <cstdint>

#include "engine/kernel/guest_kernel.h"
#include "engine/translate/block.h"

namespace zs::engine {

class BlockExits {
 public:
  explicit BlockExits(GuestKernel& kernel) : kernel_(kernel) {}

  /// Brings the running thread behind `exit`, which is neither Direct nor Indirect.
  void handle(const Exit& exit);

 private:
  void raise_software_trap(const Exit& exit);
  void handle_unfetchable(std::uint64_t pc);
  void tell_of_instruction_beyond_level(std::uint64_t pc);

  GuestKernel& kernel_;
  bool told_of_level_ = false;
};

}  // namespace zs::engine
