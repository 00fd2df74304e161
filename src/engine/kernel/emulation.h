// Instructions that do not run in translated code because what they tell or set is the engine's: FS and GS and their
// bases, the rights of protection keys, and under --virtual-time the processor's clock, its random numbers, its name
// and, of one that is fixed, its extended state; and far returns, which set RIP, CS and more at once.
#pragma once

#include <cstdint>

#include "engine/kernel/kernel_parts.h"
#include "engine/kernel/threads.h"
#include "engine/translate/block.h"

namespace zs::engine {

class Emulation {
 public:
  Emulation(KernelParts& parts, Threads& threads) : parts_(parts), threads_(threads) {}

  void emulate(const Exit& exit);
  /// The instruction at `pc` cannot run here: says so, and ends the process.
  [[noreturn]] void refuse(std::uint64_t pc);

 private:
  /// What an instruction of Flow::Emulated encodes, but for its memory operand.
  struct Form {
    explicit Form(const Insn& insn);
    std::uint8_t opcode;                // behind 0FH
    unsigned extension = 0;             // ModRM.reg
    Gpr reg = kRax;                     // ModRM.rm
    Gpr second = kRax;                  // ModRM.reg
    bool wide = false, repeat = false;  // REX.W, F3H
    bool word = false;                  // 66H without REX.W
    /// Whether it is one of FS or GS themselves; which of them; whether it loads it, and as part of a far pointer.
    bool names_selector() const;
    bool names_gs() const;
    bool loads() const;
    bool is_far_pointer() const;
    /// Writes a register as an instruction of this operand size does.
    void set(std::uint64_t& gpr, std::uint64_t value) const;
  };
  /// These return false if they have raised a fault.
  bool emulate_segment_base(const Form& form, std::uint64_t pc);
  bool emulate_rights(bool writes, std::uint64_t pc);
  bool emulate_state(const Insn& insn, const Form& form);
  void emulate_cpuid();
  bool store_selector(const Insn& insn, const Form& form);
  bool load_selector(const Insn& insn, const Form& form);
  bool emulate_far_return(const Insn& insn);
  /// returns false, as those that raise one do
  bool raise_fault(std::uint64_t pc, int signal, int code, std::uint64_t address, std::uint64_t trap,
                   std::uint64_t error_code = 0);
  bool raise_operand_fault(std::uint64_t pc, std::uint64_t address, Reach reach, bool on_stack);
  void go_back_to(std::uint64_t pc);

  KernelParts& parts_;
  Threads& threads_;
};

}  // namespace zs::engine
