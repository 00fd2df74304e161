// Where translated code comes back to: finds out why, brings the thread into the program's terms, and chooses what runs
// next: whole blocks up to the event horizon, short ones close to it, single instructions at it.

#include <linux/futex.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "engine/memory/copy_code.h"
#include "engine/memory/guest_access.h"
#include "engine/raw_syscall.h"
#include "engine/runtime.h"
#include "engine/segment_bases.h"

namespace zs::engine {

Runtime* Runtime::instance = nullptr;

// Each translation has its own way in, and the caller is that of the one that was left.
std::uint64_t dispatch_entry(Context*) {
  Runtime& runtime = *Runtime::instance;
  const std::uint64_t left = runtime.run_.stubs.enter;
  const std::uint64_t at = runtime.dispatch();
  const std::uint64_t enter = runtime.run_.stubs.enter;
  if (enter != left) reinterpret_cast<void (*)(std::uint64_t)>(enter)(at);
  return at;
}

namespace {

/// Fewer records than this are not worth a guard fault; shorter blocks get there cheaper.
constexpr std::uint64_t kFewestRecords = 8;
/// Fewer words are run as Variant::Logged, which goes on beyond an overflow but stores ten times as much. chosen: at a few misses for a
/// hundred accesses each stretch brings the overflow only a little closer, so the last ones are many.
constexpr std::uint64_t kFewestBeforeLog = 64;
constexpr std::uint64_t kFewestBudget = 128;
// A brake lets pass what was entered so far away, and is not so far away where it does not.
static_assert(kFewestBudget > TranslationOptions::kMostBraked + Window::kBrakeBudget);
/// With other threads waiting, a thread runs at most so long between two turns. In bytes of trace.
constexpr std::uint64_t kQuantumRecords = 32768 * 4;
constexpr std::uint64_t kQuantumBudget = 262144;
/// With a core model: what one thread did beyond the others' turns is played without them when it ends or waits.
constexpr std::uint64_t kQuantumModelled = 1024 * 4;
/// Where it plays at once what it is told (CountingMode::at_once) and cores fight over lines, turns are the order of their accesses: some 100
/// instructions. source: docs/models/machine.md, HITM by turn.
constexpr std::uint64_t kQuantumContended = 64 * 4;
/// Events that may pass without a visit here: a millisecond or so.
constexpr std::uint64_t kMostPassed = std::uint64_t{1} << 23;

constexpr std::uint64_t kLongestInstruction = 15;

bool can_be_read(std::uint64_t address) {
  std::uint8_t byte;
  return zs_copy_code(&byte, address, 1) == 1;
}

}  // namespace

std::uint64_t Runtime::dispatch() {
  std::uint32_t link_from = kNone;
  entering_.store(false);
  if (run_.context.past_stop != 0) run_.context.trace_pointer -= kPastStops;
  run_.context.tripped = 0;
  if ((run_.context.flags & kTrapFlag) != 0) {
    run_.context.flags &= ~kTrapFlag;
    run_.thread->traps = true;
  }
  stopped_ = {};
  retell_stops();
  if (tripped_.exchange(false))
    run_.window.untrip();
  else
    quantum_over_ = run_.context.reason == ExitReason::Guard;
  if (run_.thread->step.active && run_.thread->step.insn.gs) set_real_gs_base(run_.context.fs_base);
  const std::uint64_t lifted = std::exchange(private_page_, 0);
  leave_block(link_from);
  // Not behind what has not retired: a step that was stale, or had a signal instead.
  if (std::exchange(run_.thread->step_traps, false) && !run_.thread->step.active) trap_behind_step();
  accountant_.core.take_time_pmi();
  // What is known is told now and then, so that a program that is killed has not counted for nothing.
  if (quantum_over_) run_.observer().flush(run_.shown());
  // What ran with its page's write protection lifted may be stale already.
  if (lifted != 0) run_.invalidate(lifted, lifted + kPageSize);
  return resume(link_from);
}

std::uint32_t Runtime::exit_at(std::uint64_t record_address) const {
  std::uint32_t record;
  std::memcpy(&record, reinterpret_cast<const void*>(record_address), sizeof record);
  return run_.counting.form == TraceForm::Spaced ? SpacedRecord::exit(record) : record & ~kMarkedRecord;
}

std::uint32_t Runtime::last_appended() const {
  return exit_at(run_.context.trace_pointer - (run_.counting.form == TraceForm::Records ? sizeof(std::uint32_t) : 0));
}

void Runtime::leave_block(std::uint32_t& link_from) {
  Thread& thread = *run_.thread;
  run_.wants_indirect_entry = false;
  if (const std::uint64_t far = std::exchange(far_lookup_, 0); far != 0) run_.translator->note_far_target(far);
  const auto take_indirect_target = [&] {
    thread.pc = run_.gpr(kRcx);
    run_.gpr(kRcx) = run_.context.slot_rcx;
    run_.indirect_target = thread.pc;
  };
  switch (run_.context.reason) {
    case ExitReason::Unlinked:
    case ExitReason::StepDone: {
      const std::uint32_t id = run_.context.reason == ExitReason::StepDone ? run_.context.exit_id : last_appended();
      const Exit exit = run_.translator->exit(id);
      if (exit.kind == ExitKind::Stale) run_.indirect_target = exit.target;  // in case an indirect branch led there
      if (exit.kind == ExitKind::Horizon) link_from = id;
      accountant_.drain({});
      if (exit.kind == ExitKind::Direct) {
        thread.pc = exit.target;
        if (exit.brake) quantum_over_ = true;
        if (thread.step.active)
          accountant_.steps.retire(exit.taken);
        else
          link_from = id;
      } else {
        handle_exit(exit);
      }
      break;
    }
    case ExitReason::IndirectMiss:
      take_indirect_target();
      accountant_.drain({});
      accountant_.steps.retire(true);
      run_.wants_indirect_entry = true;
      break;
    case ExitReason::Stopped: leave_stop(); break;
    case ExitReason::Guard: {
      if (run_.counting.form == TraceForm::Budget &&
          run_.trace_start == run_.window.trace_end() - run_.window.trace_room() && run_.threads.size() == 1)
        run_.window.grow_budget_view();
      const std::uint32_t id = exit_at(record_of_append(run_.context.guard_pc));
      const Exit exit = run_.translator->exit(id);
      if (exit.kind == ExitKind::Indirect) {
        thread.pc = run_.gpr(kRcx);
        run_.gpr(kRcx) = run_.context.slot_rcx;
        run_.indirect_target = thread.pc;
      }
      if (run_.counting.form == TraceForm::Budget)
        accountant_.drain({});
      else
        accountant_.drain(id);
      if (exit.kind == ExitKind::Direct)
        thread.pc = exit.target;
      else if (exit.kind != ExitKind::Indirect)
        handle_exit(exit);
      break;
    }
    case ExitReason::Fault: {
      const BlockStore::Place place = run_.translator->locate(thread.fault.cache_pc);
      CHECK(place.block != kNone);
      thread.pc = place.pc;
      const Block block = run_.translator->block(place.block);
      const bool budget = run_.counting.form == TraceForm::Budget && block.variant != Variant::Step;
      run_.indirect_target = block.pc;  // in case an indirect branch led there
      // Behind a stop the pointer stands before what is told already, so all is told at once, unless a mark lies in between.
      const bool at_once = budget && block.mark == MarkTime::None;
      if (at_once) run_.context.trace_pointer += place.instruction - block.advanced(place.instruction);
      accountant_.drain({});
      if (block.mark == MarkTime::Before && block.variant != Variant::Step && place.instruction != 0)
        accountant_.marks.reached(block.pc, nullptr);
      const bool counted = block.variant != Variant::Step && place.instruction != 0 &&
                           (!thread.cpu.pmus.empty() || thread.cpu.core != nullptr);
      if (budget) {
        if (!at_once) run_.context.trace_pointer += place.instruction;
        accountant_.drain({});
      } else if (counted) {
        accountant_.count_into(place.block, place.instruction, place.pc);
      }
      thread.step.active = thread.step_traps = false;
      Fault& fault = thread.fault;
      fault.present = false;
      if (fault.info.si_signo == kWaitsForMemory) {
        wait_for_operands();
        break;
      }
      if (fault.info.si_signo == SIGSEGV && handle_code_write(reinterpret_cast<std::uint64_t>(fault.info.si_addr)))
        break;
      if (fault.info.si_signo != SIGSEGV && fault.info.si_signo != SIGBUS) {
        fault.info.si_addr = reinterpret_cast<void*>(thread.pc);  // the cache address is not the program's business
      }
      deliver(fault.info.si_signo, fault.info, &fault);
      break;
    }
  }
}

// Behind the instruction the program is where its trap flag brings it.
void Runtime::trap_behind_step() {
  Thread& thread = *run_.thread;
  if (is_pushf(thread.step.insn)) {
    const auto pushed = read_guest_value<std::uint64_t>(run_.gpr(kRsp));
    const std::uint64_t with_flag = pushed.value_or(0) | kTrapFlag;
    if (pushed) run_.write(run_.gpr(kRsp), &with_flag, 2);  // the bytes that PUSHF has pushed in any case
  }
  raise_fault(SIGTRAP, TRAP_TRACE, thread.pc, 1);
}

void Runtime::handle_exit(const Exit& exit) {
  Thread& thread = *run_.thread;
  switch (exit.kind) {
    case ExitKind::Syscall: handle_syscall(exit); break;
    case ExitKind::Emulated: emulate(exit); break;
    case ExitKind::Stale:
    case ExitKind::NeedsStep: thread.pc = exit.target; break;
    case ExitKind::Horizon:
      thread.pc = exit.target;
      quantum_over_ = true;
      break;
    case ExitKind::Breakpoint:
      thread.step.active = false;
      thread.pc = exit.target;
      raise_software_trap(exit);
      break;
    case ExitKind::Refused: refuse(exit.pc);
    case ExitKind::Undecodable:
      thread.step.active = false;
      thread.pc = exit.pc;
      if (isa::is_too_long(fetch(exit.pc)))
        raise_fault(SIGSEGV, SI_KERNEL, 0, 13);
      else
        raise_fault(SIGILL, ILL_ILLOPN, exit.pc, 6);
      break;
    case ExitKind::Unfetchable: {
      thread.step.active = false;
      thread.pc = exit.pc;
      if (call_vsyscall(exit.pc)) break;
      // Whoever hears of the fault may put code there.
      run_.invalidate(exit.pc, exit.pc + kLongestInstruction);
      if (is_awaited(exit.pc)) {
        touch_without_lock({exit.pc, exit.pc + kLongestInstruction}, false);
        break;
      }
      // The byte that could not be fetched may be on the page after the instruction's first.
      std::uint64_t address = exit.pc;
      while (address < exit.pc + kLongestInstruction && run_.map.is_executable(address) && can_be_read(address))
        ++address;
      if (run_.map.is_executable(address)) {  // behind the end of its file
        raise_fault(SIGBUS, BUS_ADRERR, address, 14, 4);
        break;
      }
      constexpr std::uint64_t kPresent = 1, kUser = 4, kFetch = 16;  // page-fault error code
      const bool mapped = run_.map.is_mapped(address);
      const bool accessible = run_.map.prot_at(address) != 0;
      raise_fault(SIGSEGV, mapped ? SEGV_ACCERR : SEGV_MAPERR, address, 14,
                  kUser | kFetch | (accessible ? kPresent : 0));
      break;
    }
    case ExitKind::Direct:
    case ExitKind::Indirect: CHECK(false && "handled by leave_block");
  }
}

// What INT3 and its kin are to the program, which stands behind them.
// source: Linux, arch/x86/kernel/traps.c: exc_int3(), exc_overflow(), exc_debug_user()
void Runtime::raise_software_trap(const Exit& exit) {
  constexpr std::uint8_t kIcebp = 0xF1, kIntN = 0xCD, kOverflow = 4;
  const std::span<const std::uint8_t> bytes = fetch(exit.pc);
  const std::uint64_t length = exit.target - exit.pc;
  if (bytes.size() < length) return raise_fault(SIGTRAP, SI_KERNEL, 0, 3);
  const std::uint8_t opcode = length >= 2 && bytes[length - 2] == kIntN ? kIntN : bytes[length - 1];
  if (opcode == kIcebp) return raise_fault(SIGTRAP, TRAP_BRKPT, exit.target, 1);
  if (opcode == kIntN && bytes[length - 1] == kOverflow) return raise_fault(SIGSEGV, SI_KERNEL, 0, 4);
  raise_fault(SIGTRAP, SI_KERNEL, 0, 3);
}

void Runtime::refuse(std::uint64_t pc) {
  char bytes[64] = "";
  int length = 0;
  for (const std::uint8_t byte : fetch(pc).first(std::min<std::size_t>(fetch(pc).size(), 8))) {
    length += std::snprintf(bytes + length, sizeof bytes - static_cast<std::size_t>(length), "%02x ", byte);
  }
  char text[512];
  std::snprintf(text, sizeof text,
                "%s: at 0x%llx: the instruction %sis a far transfer, a 32-bit system call, a 16-bit branch or loads FS "
                "or GS with a segment, which this engine does not run",
                run_.program.exe_path.c_str(), static_cast<unsigned long long>(pc), bytes);
  run_.observer().notice(text);
  std::fprintf(stderr, "zeroskid: %s\n", text);
  exit_process(kToolFailed);
}

Runtime::EmulatedForm::EmulatedForm(const Insn& insn) : opcode(insn.bytes[insn.opcode_at]) {
  const std::uint8_t modrm = insn.modrm_at != 0 ? insn.bytes[insn.modrm_at] : 0;
  extension = modrm >> 3 & 7u;
  unsigned number = modrm & 7u;
  for (unsigned at = 0; at < insn.opcode_at; ++at) {
    const std::uint8_t prefix = insn.bytes[at];
    repeat |= prefix == 0xF3;
    wide |= (prefix & 0xF8u) == 0x48;
    if ((prefix & 0xF1u) == 0x41) number |= 8u;
  }
  reg = static_cast<Gpr>(number);
}

void Runtime::set_fs_base(std::uint64_t base) {
  run_.context.fs_base = base;
  if (!run_.config.native_load) CHECK(set_real_gs_base(base) == 0, base);
}

// RDFSBASE, RDGSBASE, WRFSBASE, WRGSBASE, MOV FS, MOV GS. returns false if it has raised a fault
bool Runtime::emulate_segment_base(const EmulatedForm& form, std::uint64_t pc) {
  std::uint64_t& reg = run_.gpr(form.reg);
  if (form.opcode == 0x8E) {
    constexpr unsigned kFsRegister = 4;
    if ((reg & 0xFFFCu) != 0) refuse(pc);
    if (form.extension == kFsRegister)
      set_fs_base(base_behind_null_selector(run_.context.fs_base));
    else
      run_.context.gs_base = base_behind_null_selector(run_.context.gs_base);
    return true;
  }
  const bool writes = (form.extension & 2u) != 0, gs = (form.extension & 1u) != 0;
  const std::uint64_t value = form.wide ? reg : reg & UINT32_MAX;
  if (!writes) {
    reg = gs ? run_.context.gs_base : run_.context.fs_base;
    if (!form.wide) reg &= UINT32_MAX;
    return true;
  }
  constexpr unsigned kUnused = 64 - 48;
  if (static_cast<std::uint64_t>(static_cast<std::int64_t>(value << kUnused) >> kUnused) != value) {  // not canonical
    run_.thread->step.active = false;
    run_.thread->pc = pc;
    constexpr std::uint64_t kGeneralProtection = 13;
    raise_fault(SIGSEGV, SI_KERNEL, 0, kGeneralProtection);
    return false;
  }
  if (gs)
    run_.context.gs_base = value;
  else
    set_fs_base(value);
  return true;
}

void Runtime::emulate(const Exit& exit) {
  const std::optional<Insn> insn = decode(exit.pc, fetch(exit.pc), run_.config.virtual_time);
  CHECK(insn && insn->flow == Flow::Emulated, exit.pc);
  const EmulatedForm form(*insn);
  const auto set_edx_eax = [&](std::uint64_t value) {
    run_.gpr(kRax) = value & UINT32_MAX;
    run_.gpr(kRdx) = value >> 32;
  };
  if (form.opcode == 0xAE || form.opcode == 0x8E) {
    if (!emulate_segment_base(form, exit.pc)) return;
  } else if (form.opcode == 0x31) {
    set_edx_eax(clock_.tsc());
  } else if (form.opcode == 0x01) {  // RDTSCP
    set_edx_eax(clock_.tsc());
    run_.gpr(kRcx) = 0;
  } else if (form.opcode == 0xA2) {  // CPUID: the host's, without what names the core it ran on
    const auto leaf = static_cast<std::uint32_t>(run_.gpr(kRax));
    std::uint32_t a = leaf, b = 0, c = static_cast<std::uint32_t>(run_.gpr(kRcx)), d = 0;
    asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    if (leaf == 1) b &= 0x00FFFFFF;
    if (leaf == 0xB || leaf == 0x1F) d = 0;
    run_.gpr(kRax) = a;
    run_.gpr(kRbx) = b;
    run_.gpr(kRcx) = c;
    run_.gpr(kRdx) = d;
  } else {  // 0F C7 /6 RDRAND, /7 RDSEED, F3 0F C7 /7 RDPID
    const bool rdpid = form.repeat && form.extension == 7;
    std::uint64_t value = rdpid ? 0 : clock_.random();
    if (!form.wide) value &= UINT32_MAX;
    run_.gpr(form.reg) = value;
    if (!rdpid) run_.context.flags = (run_.context.flags & ~std::uint64_t{0x8D5}) | 1;  // CF = 1, other status flags 0
  }
  run_.thread->pc = exit.target;
  accountant_.steps.retire(false);
}

std::uint64_t Runtime::resume(std::uint32_t link_from) {
  while (true) {
    const std::uint64_t at = choose(link_from);
    entering_.store(true);
    if (run_.thread->pending.load() == 0) {
      if (run_.thread->step.active && run_.thread->step.insn.gs) set_real_gs_base(run_.context.gs_base);
      return at;
    }
    entering_.store(false);
    run_.thread->step.active = false;
    forget_stops();
  }
}

// Far enough from the event horizon that a guard fault is a small part of what runs until then.
bool Runtime::is_far(const Allowance& allowed) const {
  if (run_.counting.form == TraceForm::Budget) return allowed.budget >= kFewestBudget;
  return allowed.records >= (accountant_.logged.possible() ? kFewestBeforeLog : kFewestRecords);
}

/// How long the thread may run while others wait.
std::uint64_t Runtime::turn_bytes() const {
  if (run_.counting.form == TraceForm::Budget) return kQuantumBudget;
  if (run_.thread->cpu.core == nullptr) return kQuantumRecords;
  return run_.counting.at_once && run_.lock.contended() && run_.thread->cpu.core->contends() ? kQuantumContended
                                                                                             : kQuantumModelled;
}

std::uint64_t Runtime::choose(std::uint32_t link_from) {
  Thread& thread = *run_.thread;
  while (true) {
    const std::uint64_t quantum = turn_bytes();
    // Near an overflow blocks end of themselves, and not at the end of a turn.
    if ((std::exchange(quantum_over_, false) || run_.counting.at_once) && run_.ran >= quantum) {
      run_.ran = 0;
      end_turn();
      const std::uint64_t generation = run_.code_generation();
      if (run_.lock.contended()) yield();
      if (turns_.wanted()) compute_in_turn(thread);
      if (generation != run_.code_generation()) link_from = kNone;  // in another thread's turn
    }
    if (deliver_waiting()) link_from = kNone;
    if (accountant_.phases.follow()) {
      link_from = kNone;
      stopped_ = {};
    }
    accountant_.logged.leave();
    if (std::exchange(translates_anew_, false)) {
      run_.flush();
      link_from = kNone;
    }
    if (run_.config.precise_only || private_page_ != 0 || thread.process->traced || thread.traps) break;

    Allowance allowed = accountant_.tally.allowance();
    if (is_far(allowed)) {
      if (const std::uint64_t at = leave_near(allowed); at != 0) return at;
      link_behind_stop(link_from);
      const std::uint64_t generation = run_.code_generation();
      const Block* block = &run_.translator->get(thread.pc, Variant::Full, link_from);
      if (accountant_.marks.stop_counting_elements()) {
        link_from = kNone;
        continue;
      }
      if (link_from != kNone && generation == run_.code_generation()) run_.translator->link(link_from, *block);
      if (run_.wants_indirect_entry) {
        const std::uint32_t index = run_.translator->index_of(*block);
        run_.translator->add_indirect_entry(index);
        block = &run_.translator->block(index);
      }
      if (block->instructions == 0) break;      // its first instruction needs to run alone, or cannot run
      allowed = accountant_.tally.allowance();  // the block may have raised the most that one record can mean
      if (is_far(allowed)) {
        run_.context.trace_pointer = run_.trace_start = stretch(allowed);
        accountant_.logged.begin_short();
        return block->entry;
      }
    }
    if (accountant_.logged.possible()) {
      if (const std::uint64_t at = accountant_.logged.enter(link_from); at != 0) return at;
      break;
    }
    if (const std::uint64_t at = approach(allowed.instructions, link_from); at != 0) return at;
    run_.context.trace_pointer = run_.trace_start = run_.window.trace_begin();
    if (run_.counting.models) {
      const Block& some = run_.translator->get(thread.pc, up_to(allowed.instructions));
      if (some.instructions != 0) return some.entry;
      break;
    }
    if (allowed.instructions >= 2) {
      const Block& once = run_.translator->once(thread.pc, allowed.instructions);
      if (once.instructions != 0) return once.entry;
    }
    break;
  }
  run_.context.trace_pointer = run_.trace_start = run_.window.trace_begin();
  const Block& single = run_.translator->get(thread.pc, Variant::Step);
  run_.thread->step.first_exit = single.first_exit;
  if (single.instructions != 0) accountant_.steps.begin(true);
  thread.step_traps = thread.traps && single.instructions != 0;
  if (single.instructions != 0 && is_popf(thread.step.insn)) thread.traps = false;  // it says whether they go on
  return single.entry;
}

// Where the trace pointer begins, so that the guard ends what is allowed, or the turn. Stops may be passed from here on if it is the overflow
// that ends it.
std::uint64_t Runtime::stretch(const Allowance& allowed) {
  const std::uint64_t quantum = turn_bytes();
  std::uint64_t bytes = run_.window.trace_room();
  // Another thread may come to wait for its turn meanwhile, and nobody hears of it before the guard.
  if (run_.threads.size() != 1) bytes = std::min<std::uint64_t>(bytes, Window::kTraceBytes);
  if (run_.lock.contended())
    bytes = std::min(bytes, run_.ran + kFewestBudget < quantum ? quantum - run_.ran : kFewestBudget);
  if (run_.counting.form != TraceForm::Budget) {
    bytes = std::min(bytes + run_.translator->brake_bytes(),
                     run_.window.trace_room());  // a turn ends at a brake, and not twice
    return run_.window.trace_end() - std::min(bytes / 4, allowed.records) * 4;
  }
  if (allowed.budget <= bytes) allow_passes();
  return run_.window.trace_end() - std::min(bytes, allowed.budget);
}

// ---- the last stretch before an overflow, in the budget form ----------------------------------------------------

// Blocks that look for themselves how far they may run, and in the last of them a stop before the instruction that overflows.
// returns where to enter the cache, or 0 where there is no such way
std::uint64_t Runtime::approach(std::uint64_t distance, std::uint32_t link_from) {
  if (!run_.translator->has_near() || distance == 0 || may_change_unseen(run_.thread->pc)) return 0;
  const std::uint64_t generation = run_.code_generation();
  const Block& block = run_.translator->get(run_.thread->pc, Variant::Near);
  if (block.instructions == 0) return 0;
  if (link_from != kNone && generation == run_.code_generation()) run_.translator->link(link_from, block);
  if (run_.wants_indirect_entry) run_.translator->add_near_entry(run_.translator->index_of(block));
  const std::uint64_t most = run_.window.trace_room();
  if (distance <= most) allow_passes();
  run_.context.trace_pointer = run_.trace_start = run_.translator->near_end() - std::min(distance, most);
  return block.entry;
}

// Stops are passed only from where the trace pointer tells the distance to an overflow that writes a record and does nothing else,
// and only as long as the next period is one stretch.
void Runtime::allow_passes() {
  if (!run_.translator->has_near() || run_.phased || run_.lock.contended()) return;
  for (pmu::Pmu* pmu : run_.thread->cpu.pmus) {
    if (pmu->lanes().empty()) continue;
    const pmu::Pmu::Repeating repeating = pmu->repeating(0);
    if (repeating.times == 0) return;
    const std::uint64_t events = repeating.events - 1;  // up to the overflow, without it
    const std::uint64_t most = run_.window.trace_room();
    if (events < kFewestBudget + run_.config.max_block_instructions || events > most) return;
    run_.context.period_start = run_.translator->near_end() - events;
    run_.context.passes_left =
        static_cast<std::uint32_t>(std::min({repeating.times, std::uint64_t{kMostPasses}, kMostPassed / events}));
  }
}

// Tells of the stops that translated code has passed by itself. Then the trace begins where the last period did, or behind the rest of
// the block with the last stop.
void Runtime::retell_stops() {
  const std::span<const PassedStop> stops = run_.window.passed_stops();
  for (std::size_t i = 0; i < stops.size(); ++i) {
    run_.translator->prefetch_stops(stops, i);
    const PassedStop& stop = stops[i];
    run_.observer().told_late(stop.host_ticks);
    accountant_.tally.count_up_to_overflow();
    const Block& block = run_.translator->block(stop.block);
    const InsnMeta& meta = run_.translator->meta(block, stop.index);
    std::uint64_t gprs[16];
    std::ranges::copy(stop.gpr, gprs);
    give_back(meta, gprs, stop.slot_map, stop.slot_far);
    if (stop.kind == StopKind::Behind)
      accountant_.steps.retire_behind(block.pc_of(run_.translator->meta(block, stop.index - 1u)), block.pc_of(meta),
                                      gprs, stop.flags);
    else
      accountant_.steps.retire_branch(block.pc_of(meta), gprs, stop.flags);
  }
  if (std::exchange(run_.context.passed, 0) != 0) {
    run_.observer().told_late(0);
    run_.trace_start = run_.translator->near_end();
  }
  if (const std::uint64_t restarted = std::exchange(run_.context.restarted, 0); restarted != 0)
    run_.trace_start = restarted;
  // Here and not where the next stretch is chosen: another thread may come in between.
  forget_stops();
}

void Runtime::forget_stops() {
  run_.context.past_stop = 0;
  run_.context.passes_left = 0;
  run_.context.restart = 0;
}

// After a sample in the middle of a block: on through the rest of that block, and back here at its end, where most likely a whole
// block begins. Otherwise each sample would leave a translation behind that begins where it was taken.
// returns where to enter the cache, or 0
std::uint64_t Runtime::leave_near(const Allowance& allowed) {
  const auto stopped = std::exchange(stopped_, {});
  if (stopped.block == kNone || stopped.pc != run_.thread->pc) return 0;
  const Block& block = run_.translator->block(stopped.block);
  const InsnMeta& meta = run_.translator->meta(block, stopped.index);
  const bool addressed = meta.far_register != 0 && meta.far_register != kRcxSpilled;
  if (block.dead || addressed || run_.translator->find(run_.thread->pc, Variant::Full) != nullptr) return 0;
  if (meta.map_register != 0)
    run_.context.slot_map = std::exchange(run_.gpr(static_cast<Gpr>(meta.map_register)), run_.gpr(kTracePointer));
  run_.trace_start = run_.translator->near_end();  // nothing fits behind the block
  run_.context.trace_pointer = run_.trace_start - stopped.index + kPastStops;
  run_.context.past_stop = 1;
  run_.context.restart = stretch(allowed);
  return block.entry + meta.code_offset;
}

// The block with the last stop has ended, and its exit leads to nothing yet. Next time it finds a block of Variant::Near that may not run,
// and with it the way to Variant::Full.
void Runtime::link_behind_stop(std::uint32_t& link_from) {
  if (link_from == kNone || !run_.translator->comes_out_again(link_from) || may_change_unseen(run_.thread->pc)) return;
  const std::uint64_t generation = run_.code_generation();
  const Block& block = run_.translator->get(run_.thread->pc, Variant::Near);
  if (generation != run_.code_generation())
    link_from = kNone;
  else if (block.instructions != 0)
    run_.translator->link(link_from, block);
}

// The glue in front of an instruction has run: its registers go back. What an indirect branch spills, it spills later.
void Runtime::give_back(const InsnMeta& meta, std::uint64_t (&gprs)[16], std::uint64_t slot_map,
                        std::uint64_t slot_far) {
  if (meta.far_register != 0 && meta.far_register != kRcxSpilled) gprs[meta.far_register - 1] = slot_far;
  if (meta.map_register != 0) gprs[kTracePointer] = std::exchange(gprs[meta.map_register], slot_map);
}

void Runtime::leave_stop() {
  const Block& block = run_.translator->block(run_.context.stop_block);
  const InsnMeta& meta = run_.translator->meta(block, run_.context.stop_index);
  give_back(meta, run_.context.gpr, run_.context.slot_map, run_.context.slot_far);
  run_.thread->pc = block.pc_of(meta);
  stopped_ = {run_.context.stop_block, run_.context.stop_index, run_.thread->pc};
  const bool behind = run_.context.stop_kind == StopKind::Behind;
  run_.context.trace_pointer += run_.context.stop_index - (behind ? 1U : 0U);
  quantum_over_ = true;
  accountant_.drain({});
  if (behind)
    accountant_.steps.retire_behind(block.pc_of(run_.translator->meta(block, run_.context.stop_index - 1u)),
                                    run_.thread->pc, run_.context.gpr, run_.context.flags);
}

// ---- the program's memory -------------------------------------------------------------------------------------

std::span<const std::uint8_t> Runtime::fetch(std::uint64_t pc) {
  if (!fetch_range_.contains(pc)) {
    const GuestMapping* mapping = run_.map.find(pc);
    if (mapping == nullptr || (mapping->prot & 4u) == 0) return {};
    fetch_range_ = mapping->range();
    // A file that nobody can write any more is as good as private; that is not looked into.
    fetch_shared_ = mapping->shared();
  }
  std::uint64_t end = fetch_range_.end;
  if (end - pc < kLongestInstruction && run_.map.is_executable(end)) end = pc + kLongestInstruction;
  const std::size_t size = std::min(end - pc, kLongestInstruction);
  const bool in_one_page = (pc & (kPageSize - 1)) <= kPageSize - fetched_.size();
  if (in_one_page && zs_copy_code16(fetched_.data(), pc)) return {fetched_.data(), size};
  return {fetched_.data(), zs_copy_code(fetched_.data(), pc, size)};
}

bool Runtime::may_change_unseen(std::uint64_t pc) {
  if (!fetch_range_.contains(pc)) static_cast<void>(fetch(pc));
  return fetch_range_.contains(pc) && fetch_shared_;
}

void Runtime::translated(std::uint64_t page) {
  const std::uint64_t address = page * kPageSize;
  if (address == private_page_) return;
  constexpr std::uint32_t kWritableCode = PROT_WRITE | PROT_EXEC;
  if ((run_.map.prot_at(address) & kWritableCode) == kWritableCode &&
      !run_.map.page_is_write_protected_for_code(address))
    run_.map.protect_code_page(address);
}

void Runtime::code_changed(std::uint64_t start, std::uint64_t end) {
  fetch_range_ = {};
  accountant_.marks.code_changed();
  run_.invalidate(start, end);
}

void Runtime::give_way() {
  run_.window.unmap_direct_table();
  translates_anew_ = true;
}

// A store into a page that has translations: they are dropped, and the store runs alone with the page writable.
bool Runtime::handle_code_write(std::uint64_t address) {
  bool ours = false;
  const std::uint64_t first = page_down(address);
  // A store may straddle two pages; the faulting address is in one of them.
  for (const std::uint64_t page : {first, first + kPageSize}) {
    if (!run_.map.page_is_write_protected_for_code(page)) continue;
    if (page != first && address + 64 <= page) continue;
    accountant_.marks.code_changed();
    run_.invalidate(page, page + kPageSize);
    run_.map.unprotect_code_page(page);
    if (page == first) {
      ours = true;
      private_page_ = page;
    }
  }
  return ours;
}

}  // namespace zs::engine
