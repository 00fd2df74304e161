#include "engine/block_exits.h"

#include <cstdio>
#include <span>
#include <string>

#include "arch/linear.h"
#include "base/check.h"
#include "engine/memory/copy_code.h"

namespace zs::engine {
namespace {

bool can_be_read(std::uint64_t address) {
  std::uint8_t byte;
  return zs_copy_code(&byte, address, 1) == 1;
}

}  // namespace

void BlockExits::handle(const Exit& exit) {
  Thread& thread = *kernel_.run.thread;
  switch (exit.kind) {
    case ExitKind::Syscall:
    case ExitKind::Interrupt: kernel_.calls.handle(exit); break;
    case ExitKind::Emulated: kernel_.emulation.emulate(exit); break;
    case ExitKind::Stale:
    case ExitKind::NeedsStep:
    case ExitKind::Horizon: thread.pc = exit.target; break;
    case ExitKind::Breakpoint:
      thread.step.active = false;
      thread.pc = exit.target;
      raise_software_trap(exit);
      break;
    case ExitKind::Refused: kernel_.emulation.refuse(exit.pc);
    case ExitKind::Undecodable:
      thread.step.active = false;
      thread.pc = exit.pc;
      tell_of_instruction_beyond_level(exit.pc);
      if (isa::is_too_long(kernel_.code.fetch(exit.pc)))
        kernel_.signals.raise_fault(SIGSEGV, SI_KERNEL, 0, 13);
      else
        kernel_.signals.raise_fault(SIGILL, ILL_ILLOPN, exit.pc, 6);
      break;
    case ExitKind::Unfetchable:
      thread.step.active = false;
      thread.pc = exit.pc;
      handle_unfetchable(exit.pc);
      break;
    case ExitKind::Direct:
    case ExitKind::Indirect: CHECK(false && "handled by Dispatcher::leave_block");
  }
}

// Once in each process: a program may try which instructions there are.
void BlockExits::tell_of_instruction_beyond_level(std::uint64_t pc) {
  Run& run = kernel_.run;
  const arch::CpuLevel level = run.config.cpu_level;
  if (level == arch::CpuLevel::Host || told_of_level_ || !isa::decode(pc, kernel_.code.fetch(pc))) return;
  told_of_level_ = true;
  char at[24];
  std::snprintf(at, sizeof at, "0x%llx", static_cast<unsigned long long>(pc));
  run.observer().notice(run.program.exe_path + ": at " + at + " is an instruction that " +
                        std::string(arch::name_of(level)) + " does not have; --cpu-level host runs it");
}

void BlockExits::handle_unfetchable(std::uint64_t pc) {
  Run& run = kernel_.run;
  if (kernel_.calls.call_vsyscall(pc)) return;
  if (!arch::is_canonical(pc)) return kernel_.signals.raise_fault(SIGSEGV, SI_KERNEL, 0, 13);
  // Whoever hears of the fault may put code there.
  run.invalidate(pc, pc + kLongestInstruction);
  if (kernel_.awaited.contains(pc)) return kernel_.awaited.touch_without_lock({pc, pc + kLongestInstruction}, false);
  // The byte that could not be fetched may be on the page after the instruction's first.
  std::uint64_t address = pc;
  while (address < pc + kLongestInstruction && run.map.mappings().is_executable(address) && can_be_read(address))
    ++address;
  kernel_.signals.raise_page_fault(address, Reach::Fetches);
}

// What INT3 and its kin are to the program, which stands behind them.
// source: Linux, arch/x86/kernel/traps.c: exc_int3(), exc_overflow(), exc_debug_user()
void BlockExits::raise_software_trap(const Exit& exit) {
  constexpr std::uint8_t kIcebp = 0xF1, kIntN = 0xCD, kOverflow = 4;
  Signals& signals = kernel_.signals;
  const std::span<const std::uint8_t> bytes = kernel_.code.fetch(exit.pc);
  const std::uint64_t length = exit.target - exit.pc;
  if (bytes.size() < length) return signals.raise_fault(SIGTRAP, SI_KERNEL, 0, 3);
  const std::uint8_t opcode = length >= 2 && bytes[length - 2] == kIntN ? kIntN : bytes[length - 1];
  if (opcode == kIcebp) return signals.raise_fault(SIGTRAP, TRAP_BRKPT, exit.target, 1);
  if (opcode == kIntN && bytes[length - 1] == kOverflow) return signals.raise_fault(SIGSEGV, SI_KERNEL, 0, 4);
  signals.raise_fault(SIGTRAP, SI_KERNEL, 0, 3);
}

}  // namespace zs::engine
