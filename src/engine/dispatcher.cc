#include "engine/dispatcher.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "arch/linear.h"
#include "base/check.h"
#include "engine/kernel/threads/restartable_sequences.h"
#include "engine/memory/copy_code.h"
#include "engine/memory/guest_access.h"
#include "engine/memory/store_key.h"
#include "engine/raw_syscall.h"
#include "engine/segment_bases.h"
#include "engine/tried_instructions.h"

namespace zs::engine {

namespace {

/// Where to enter the cache, or 0; counted if it is entered.
std::uint64_t taken(std::uint64_t& times, std::uint64_t at) {
  if (at != 0) ++times;
  return at;
}

bool can_be_read(std::uint64_t address) {
  std::uint8_t byte;
  return zs_copy_code(&byte, address, 1) == 1;
}

// Under some hypervisors PR_SET_TSC makes no difference.
bool rdtsc_can_fault() {
  static const bool can = [] {
    raw_syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    const bool runs = zs_runs_rdtsc();
    raw_syscall(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
    return !runs;
  }();
  return can;
}

}  // namespace

Dispatcher* Dispatcher::instance = nullptr;

// Each translation has its own way in, and the caller is that of the one that was left.
std::uint64_t dispatch_entry(Context*) {
  Dispatcher& dispatcher = *Dispatcher::instance;
  const Stubs& stubs = dispatcher.run_.stubs;
  const std::uint64_t left = stubs.enter;
  const std::uint64_t at = dispatcher.dispatch();
  if (stubs.enter != left) reinterpret_cast<void (*)(std::uint64_t)>(stubs.enter)(at);
  return at;
}

std::uint64_t Dispatcher::dispatch() {
  std::uint32_t link_from = kNone;
  kernel_.entry.end();
  if (run_.context.past_stop != 0) run_.context.trace_pointer -= kPastStops;
  run_.context.tripped = 0;
  if (const std::uint64_t odd = kernel_.entry.take_odd_stack_pointer(); odd != 0) run_.gpr(kRsp) = odd;
  if ((run_.context.flags & kTrapFlag) != 0) {
    run_.context.flags &= ~kTrapFlag;
    run_.thread->traps = true;
  }
  stops_.forget_where_stopped();
  stops_.retire_deferred();
  if (!kernel_.entry.untrip()) quantum_over_ = run_.context.reason == ExitReason::Guard;
  if (run_.thread->step.active && run_.thread->step.insn.gs) set_real_gs_base(run_.context.fs_base);
  const std::uint64_t opened = kernel_.code.take_open_page();
  leave_block(link_from);
  // Not behind what has not retired: a step that was stale, or had a signal instead.
  if (std::exchange(run_.thread->step_traps, false) && !run_.thread->step.active) trap_behind_step();
  accountant_.core.take_time_pmi();
  // What is known is told now and then, so that a program that is killed has not counted for nothing.
  if (quantum_over_) run_.observer().flush(run_.shown());
  // What ran with its page's write protection lifted may be stale already.
  if (opened != 0) run_.invalidate(opened, opened + kPageSize);
  return resume(link_from);
}

std::uint32_t Dispatcher::exit_at(std::uint64_t record_address) const {
  std::uint32_t record;
  std::memcpy(&record, reinterpret_cast<const void*>(record_address), sizeof record);
  return run_.counting.form == TraceForm::Spaced ? SpacedRecord::exit(record) : record & ~kProbedRecord;
}

std::uint32_t Dispatcher::last_appended() const {
  return exit_at(run_.context.trace_pointer - (run_.counting.form == TraceForm::Records ? sizeof(std::uint32_t) : 0));
}

// ---- why translated code was left ---------------------------------------------------------------------------

void Dispatcher::leave_block(std::uint32_t& link_from) {
  run_.wants_indirect_entry = false;
  ++run_.visits.left[static_cast<std::size_t>(run_.context.reason)];
  if (const std::uint64_t far = kernel_.entry.take_far_lookup(); far != 0) run_.translator->note_far_target(far);
  switch (run_.context.reason) {
    case ExitReason::Unlinked:
    case ExitReason::StepDone: leave_at_exit(link_from); break;
    case ExitReason::IndirectMiss:
      take_indirect_target();
      accountant_.drain({});
      accountant_.steps.retire(true);
      run_.wants_indirect_entry = true;
      break;
    case ExitReason::Stopped:
      quantum_over_ = true;
      stops_.leave_stop();
      break;
    case ExitReason::Guard: leave_at_guard(); break;
    case ExitReason::Fault: leave_at_fault(); break;
  }
}

void Dispatcher::take_indirect_target() {
  run_.thread->pc = run_.gpr(kRcx);
  run_.gpr(kRcx) = run_.context.slot_rcx;
  run_.indirect_target = run_.thread->pc;
}

void Dispatcher::leave_at_exit(std::uint32_t& link_from) {
  Thread& thread = *run_.thread;
  const std::uint32_t id = run_.context.reason == ExitReason::StepDone ? run_.context.exit_id : last_appended();
  const Exit exit = run_.translator->blocks().exit(id);
  if (exit.kind == ExitKind::Stale) run_.indirect_target = exit.target;  // in case an indirect branch led there
  if (exit.kind == ExitKind::Horizon) link_from = id;
  accountant_.drain({});
  if (exit.kind != ExitKind::Direct) return handle_exit(exit);
  thread.pc = exit.target;
  if (exit.brake) quantum_over_ = true;
  if (thread.step.active)
    accountant_.steps.retire(exit.taken);
  else
    link_from = id;
}

void Dispatcher::leave_at_guard() {
  if (run_.counting.form == TraceForm::Budget && run_.trace_start == run_.trace().end() - run_.trace().room() &&
      (run_.threads.size() == 1 || run_.trace().room() < TraceBuffer::kBytes))
    run_.trace().grow_budget_view();
  const std::uint32_t id = exit_at(record_of_append(run_.context.guard_pc, run_.trace().pointer_bias() != 0));
  const Exit exit = run_.translator->blocks().exit(id);
  if (exit.kind == ExitKind::Indirect) take_indirect_target();
  if (run_.counting.form == TraceForm::Budget)
    accountant_.drain({});
  else
    accountant_.drain(id);
  if (exit.kind == ExitKind::Direct)
    run_.thread->pc = exit.target;
  else if (exit.kind != ExitKind::Indirect)
    handle_exit(exit);
}

void Dispatcher::leave_at_fault() {
  Thread& thread = *run_.thread;
  const BlockStore::Place place = run_.translator->blocks().locate(thread.fault.cache_pc);
  CHECK(place.block != kNone);
  thread.pc = place.pc;
  const Block block = run_.translator->blocks().block(place.block);
  const bool budget = run_.counting.form == TraceForm::Budget && block.variant != Variant::Step;
  run_.indirect_target = block.pc;  // in case an indirect branch led there
  // Behind a stop the pointer stands before what is told already, so all is told at once, unless a probe lies in
  // between.
  const bool at_once = budget && block.probe == ProbeTime::None;
  if (budget) run_.context.trace_pointer -= block.advanced(place.instruction);
  if (at_once) run_.context.trace_pointer += place.instruction;
  accountant_.drain({});
  if (block.probe == ProbeTime::Before && block.variant != Variant::Step && place.instruction != 0)
    accountant_.probes.reached(block.pc, nullptr);
  const bool counted = block.variant != Variant::Step && place.instruction != 0 &&
                       (!thread.cpu.pmus.empty() || thread.cpu.core != nullptr || thread.cpu.counts_paths);
  if (budget) {
    if (!at_once) run_.context.trace_pointer += place.instruction;
    accountant_.drain({});
  } else if (counted) {
    accountant_.count_into(place.block, place.instruction, place.pc);
  }
  thread.step.active = thread.step_traps = false;
  Fault& fault = thread.fault;
  fault.present = false;
  if (fault.info.si_signo == kWaitsForMemory) return kernel_.awaited.wait_for_operands();
  if (fault.info.si_signo == SIGSEGV && kernel_.code.handle_write(reinterpret_cast<std::uint64_t>(fault.info.si_addr)))
    return;
  if (fault.info.si_signo == SIGSEGV && fault.info.si_code > 0 &&
      run_.map.is_tools(reinterpret_cast<std::uint64_t>(fault.info.si_addr)))
    fault.find_nothing_mapped();
  if (fault.info.si_signo != SIGSEGV && fault.info.si_signo != SIGBUS)
    fault.info.si_addr = reinterpret_cast<void*>(thread.pc);  // the cache address is not the program's business
  kernel_.signals.deliver(fault.info.si_signo, fault.info, &fault);
}

void Dispatcher::handle_exit(const Exit& exit) {
  if (exit.kind == ExitKind::Horizon) quantum_over_ = true;
  go_behind(exit);
  const bool called = exit.kind == ExitKind::Syscall || exit.kind == ExitKind::Interrupt;
  if (called && stretches_.call_ends_turn()) quantum_over_ = true;
}

// Brings the running thread behind `exit`, which is neither Direct nor Indirect.
void Dispatcher::go_behind(const Exit& exit) {
  Thread& thread = *run_.thread;
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
    case ExitKind::Indirect: CHECK(false && "handled by leave_block()");
  }
}

// Once in each process: a program may try which instructions there are.
void Dispatcher::tell_of_instruction_beyond_level(std::uint64_t pc) {
  const arch::CpuLevel level = run_.config.cpu_level;
  if (level == arch::CpuLevel::Host || told_of_level_ || !isa::decode(pc, kernel_.code.fetch(pc))) return;
  told_of_level_ = true;
  char at[24];
  std::snprintf(at, sizeof at, "0x%llx", static_cast<unsigned long long>(pc));
  run_.observer().notice(run_.program.exe_path + ": at " + at + " is an instruction that " +
                         std::string(arch::name_of(level)) + " does not have; --cpu-level host runs it");
}

void Dispatcher::handle_unfetchable(std::uint64_t pc) {
  if (kernel_.calls.call_vsyscall(pc)) return;
  if (!arch::is_canonical(pc)) return kernel_.signals.raise_fault(SIGSEGV, SI_KERNEL, 0, 13);
  // Whoever hears of the fault may put code there.
  run_.invalidate(pc, pc + kLongestInstruction);
  if (kernel_.awaited.contains(pc)) return kernel_.awaited.touch_without_lock({pc, pc + kLongestInstruction}, false);
  // The byte that could not be fetched may be on the page after the instruction's first.
  std::uint64_t address = pc;
  while (address < pc + kLongestInstruction && run_.map.mappings().is_executable(address) && can_be_read(address))
    ++address;
  kernel_.signals.raise_page_fault(address, Reach::Fetches);
}

// What INT3 and its kin are to the program, which stands behind them.
// source: Linux, arch/x86/kernel/traps.c: exc_int3(), exc_overflow(), exc_debug_user()
void Dispatcher::raise_software_trap(const Exit& exit) {
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

// Behind the instruction the program is where its trap flag brings it.
void Dispatcher::trap_behind_step() {
  Thread& thread = *run_.thread;
  if (is_pushf(thread.step.insn)) {
    const auto pushed = read_guest_value<std::uint64_t>(run_.gpr(kRsp));
    const std::uint64_t with_flag = pushed.value_or(0) | kTrapFlag;
    if (pushed) run_.write(run_.gpr(kRsp), &with_flag, 2);  // the bytes that PUSHF has pushed in any case
  }
  kernel_.signals.raise_fault(SIGTRAP, TRAP_TRACE, thread.pc, 1);
}

// ---- what runs next --------------------------------------------------------------------------------------------

std::uint64_t Dispatcher::resume(std::uint32_t link_from) {
  while (true) {
    const std::uint64_t at = choose(link_from);
    kernel_.entry.begin();
    if (run_.thread->pending.load() == 0) {
      if (run_.thread->step.active && run_.thread->step.insn.gs) set_real_gs_base(run_.context.gs_base);
      StoreKey::instance().close_in(reinterpret_cast<std::byte*>(&run_.context) + kXsaveOffset);
      return at;
    }
    kernel_.entry.end();
    run_.thread->step.active = false;
    run_.context.forget_passed_stops();
  }
}

// Once, and not for a few: any program with threads has some when they start and end.
void Dispatcher::say_that_turns_are_short() {
  constexpr unsigned kMany = 64;
  if (!stretches_.turns_are_short() || ++short_turns_ != kMany) return;
  run_.observer().notice(
      "threads fight over cache lines: in units, and for samples of time or with registers or stacks, they take "
      "shorter turns, and what comes of sharing and locks differs from what stat --detail complete counts, up to "
      "several times "
      "(record --detail complete --intr-regs=none: not so, but for events of time)");
}

// Near an overflow blocks end of themselves, and not at the end of a turn.
void Dispatcher::end_turn(std::uint32_t& link_from) {
  if (!std::exchange(quantum_over_, false) && !run_.counting.at_once) return;
  if (run_.ran < stretches_.turn_bytes()) return;
  say_that_turns_are_short();
  run_.ran = 0;
  look_for_processor(run_);
  kernel_.futexes.turn_ended();
  const std::uint64_t generation = run_.code_generation();
  if (run_.lock.contended()) kernel_.turns.yield();
  if (kernel_.process_turns.wanted()) kernel_.turn_calls.compute(*run_.thread);
  if (generation != run_.code_generation()) link_from = kNone;  // in another thread's turn
}

void Dispatcher::go_on_behind_interruption(std::uint32_t& link_from) {
  if (!std::exchange(run_.thread->interrupted, false)) return;
  const std::uint64_t pc = run_.thread->pc;
  if (!restart_sequence(run_)) kernel_.signals.raise_fault(SIGSEGV, SI_KERNEL, 0, 0);
  if (run_.thread->pc != pc) link_from = kNone;
}

std::uint64_t Dispatcher::choose(std::uint32_t link_from) {
  const Thread& thread = *run_.thread;
  while (true) {
    end_turn(link_from);
    go_on_behind_interruption(link_from);
    if (kernel_.signals.deliver_waiting()) link_from = kNone;
    kernel_.native_rest.begin_if_asked();
    if (accountant_.phases.follow()) {
      link_from = kNone;
      stops_.forget_where_stopped();
    }
    accountant_.logged.leave();
    if (kernel_.code.take_translates_anew()) {
      run_.flush();
      link_from = kNone;
    }
    if (thread.rdtsc_faults && fault_at_rdtsc()) {
      link_from = kNone;
      continue;
    }
    if (run_.config.precise_only || kernel_.code.page_is_open() || thread.process->traced || thread.traps) break;

    Allowance allowed = accountant_.tally.allowance();
    if (const std::uint64_t at = quiet_.enter(allowed, link_from); at != 0) return taken(run_.visits.quiet, at);
    if (stretches_.is_far(allowed)) {
      if (const std::uint64_t at = stops_.leave_near(allowed); at != 0) return taken(run_.visits.near, at);
      stops_.link_behind_stop(link_from);
      const std::uint64_t generation = run_.code_generation();
      const Block* block = &run_.translator->get(thread.pc, Variant::Full, link_from);
      if (accountant_.probes.stop_counting_elements()) {
        link_from = kNone;
        continue;
      }
      if (link_from != kNone && generation == run_.code_generation()) run_.translator->link(link_from, *block);
      if (run_.wants_indirect_entry) {
        const std::uint32_t index = run_.translator->blocks().index_of(*block);
        run_.translator->add_indirect_entry(index);
        block = &run_.translator->blocks().block(index);
      }
      if (block->instructions == 0) break;      // its first instruction needs to run alone, or cannot run
      allowed = accountant_.tally.allowance();  // the block may have raised the most that one record can mean
      if (stretches_.is_far(allowed)) {
        run_.context.trace_pointer = run_.trace_start = stretches_.begin(allowed);
        quiet_.begin_others(allowed);
        accountant_.logged.begin_short();
        return taken(run_.visits.full, block->entry);
      }
    }
    if (const std::uint64_t at = enter_near(allowed, link_from); at != 0) return at;
    break;
  }
  return enter_step();
}

// returns whether the thread is there, which has asked for that
bool Dispatcher::fault_at_rdtsc() {
  const std::uint64_t pc = run_.thread->pc;
  const std::optional<Insn> insn = isa::decode(pc, kernel_.code.fetch(pc), run_.config.processor());
  if (!insn || !isa::is_rdtsc_or_rdtscp(*insn) || !rdtsc_can_fault()) return false;
  kernel_.signals.raise_fault(SIGSEGV, SI_KERNEL, 0, 13);
  return true;
}

// Close to an overflow. returns where to enter the cache; 0: the next instruction is to run alone
std::uint64_t Dispatcher::enter_near(const Allowance& allowed, std::uint32_t link_from) {
  if (accountant_.logged.possible()) return taken(run_.visits.logged, accountant_.logged.enter(link_from));
  if (const std::uint64_t at = stops_.approach(allowed.instructions, link_from); at != 0)
    return taken(run_.visits.near, at);
  run_.context.trace_pointer = run_.trace_start = run_.trace().begin();
  // With a core model what does nothing special may still run where nothing else may.
  if (run_.counting.models ? allowed.plain < run_.config.max_block_instructions : allowed.instructions == 0) return 0;
  const Block& bounded = run_.translator->get(run_.thread->pc, up_to(allowed.instructions));
  return bounded.instructions != 0 ? taken(run_.visits.bounded, bounded.entry) : 0;
}

std::uint64_t Dispatcher::enter_step() {
  Thread& thread = *run_.thread;
  ++run_.visits.step;
  run_.context.trace_pointer = run_.trace_start = run_.trace().begin();
  const Block& single = run_.translator->get(thread.pc, Variant::Step);
  thread.step.first_exit = single.first_exit;
  if (single.instructions != 0) accountant_.steps.begin(true);
  thread.step_traps = thread.traps && single.instructions != 0;
  if (single.instructions != 0 && is_popf(thread.step.insn)) thread.traps = false;  // it says whether they go on
  return single.entry;
}

}  // namespace zs::engine
