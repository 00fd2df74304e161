// Where translated code comes back to: finds out why, brings the thread into the program's terms, and chooses what runs
// next: whole blocks up to the event horizon, short ones close to it, single instructions at it.

#include <linux/futex.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "engine/raw_syscall.h"
#include "engine/runtime.h"
#include "engine/segment_bases.h"

namespace zs::engine {

Runtime* Runtime::instance = nullptr;

std::uint64_t dispatch_entry(Context*) { return Runtime::instance->dispatch(); }

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
/// Where it plays at once what it is told (Runtime::at_once_) and cores fight over lines, turns are the order of their accesses: some 100
/// instructions. source: docs/models/machine.md, HITM by turn.
constexpr std::uint64_t kQuantumContended = 64 * 4;
/// Events that may pass without a visit here: a millisecond or so.
constexpr std::uint64_t kMostPassed = std::uint64_t{1} << 23;

}  // namespace

arch::RegisterFile Runtime::register_file(const std::uint64_t (&g)[16], std::uint64_t flags, std::uint64_t ip) {
  arch::RegisterFile file;
  file.flags = flags;
  file.ip = ip;
  file.ax = g[kRax];
  file.bx = g[kRbx];
  file.cx = g[kRcx];
  file.dx = g[kRdx];
  file.si = g[kRsi];
  file.di = g[kRdi];
  file.bp = g[kRbp];
  file.sp = g[kRsp];
  file.r8 = g[kR8];
  file.r9 = g[kR9];
  file.r10 = g[kR10];
  file.r11 = g[kR11];
  file.r12 = g[kR12];
  file.r13 = g[kR13];
  file.r14 = g[kR14];
  file.r15 = g[kR15];
  return file;
}

std::uint64_t Runtime::dispatch() {
  std::uint32_t link_from = kNone;
  entering_.store(false);
  if (context_.past_stop != 0) context_.trace_pointer -= kPastStops;
  context_.tripped = 0;
  stopped_ = {};
  retell_stops();
  if (tripped_.exchange(false))
    window_.untrip();
  else
    quantum_over_ = context_.reason == ExitReason::Guard;
  if (thread_->step.active && thread_->step.insn.gs) set_real_gs_base(context_.fs_base);
  const std::uint64_t lifted = std::exchange(private_page_, 0);
  leave_block(link_from);
  take_time_pmi();
  // What is known is told now and then, so that a program that is killed has not counted for nothing.
  if (quantum_over_) observer().flush(shown(thread_->id));
  // What ran with its page's write protection lifted may be stale already.
  if (lifted != 0) translator_->invalidate(lifted, lifted + kPageSize);
  return resume(link_from);
}

std::uint32_t Runtime::exit_at(std::uint64_t record_address) const {
  std::uint32_t record;
  std::memcpy(&record, reinterpret_cast<const void*>(record_address), sizeof record);
  return form_ == TraceForm::Spaced ? SpacedRecord::exit(record) : record & ~kMarkedRecord;
}

std::uint32_t Runtime::last_appended() const {
  return exit_at(context_.trace_pointer - (form_ == TraceForm::Records ? sizeof(std::uint32_t) : 0));
}

void Runtime::leave_block(std::uint32_t& link_from) {
  Thread& thread = *thread_;
  wants_indirect_entry_ = false;
  if (const std::uint64_t far = std::exchange(far_lookup_, 0); far != 0) translator_->note_far_target(far);
  const auto take_indirect_target = [&] {
    thread.pc = gpr(kRcx);
    gpr(kRcx) = context_.slot_rcx;
    indirect_target_ = thread.pc;
  };
  switch (context_.reason) {
    case ExitReason::Unlinked:
    case ExitReason::StepDone: {
      const std::uint32_t id = context_.reason == ExitReason::StepDone ? context_.exit_id : last_appended();
      const Exit exit = translator_->exit(id);
      if (exit.kind == ExitKind::Stale) indirect_target_ = exit.target;  // in case an indirect branch led there
      if (exit.kind == ExitKind::Horizon) link_from = id;
      if (exit.brake) __builtin_prefetch(reinterpret_cast<const void*>(exit.target));  // run_interpreted() reads it
      drain({});
      if (exit.kind == ExitKind::Direct) {
        thread.pc = exit.target;
        if (exit.brake) quantum_over_ = true;
        if (thread.step.active)
          retire_step(exit.taken);
        else
          link_from = id;
      } else {
        handle_exit(exit);
      }
      break;
    }
    case ExitReason::IndirectMiss:
      take_indirect_target();
      drain({});
      retire_step(true);
      wants_indirect_entry_ = true;
      break;
    case ExitReason::Stopped: leave_stop(); break;
    case ExitReason::Guard: {
      if (form_ == TraceForm::Budget && trace_start_ == window_.trace_end() - window_.trace_room() &&
          threads_.size() == 1)
        window_.grow_budget_view();
      const std::uint32_t id = exit_at(record_of_append(context_.guard_pc));
      const Exit exit = translator_->exit(id);
      if (exit.kind == ExitKind::Indirect) {
        thread.pc = gpr(kRcx);
        gpr(kRcx) = context_.slot_rcx;
        indirect_target_ = thread.pc;
      }
      if (form_ == TraceForm::Budget)
        drain({});
      else
        drain(id);
      if (exit.kind == ExitKind::Direct)
        thread.pc = exit.target;
      else if (exit.kind != ExitKind::Indirect)
        handle_exit(exit);
      break;
    }
    case ExitReason::Fault: {
      const BlockStore::Place place = translator_->locate(thread.fault.cache_pc);
      CHECK(place.block != kNone);
      thread.pc = place.pc;
      const Block block = translator_->block(place.block);
      const bool budget = form_ == TraceForm::Budget && block.variant != Variant::Step;
      indirect_target_ = block.pc;  // in case an indirect branch led there
      // Behind a stop the pointer stands before what is told already, so all is told at once, unless a mark lies in between.
      const bool at_once = budget && block.mark == MarkTime::None;
      if (at_once) context_.trace_pointer += place.instruction - block.advanced(place.instruction);
      drain({});
      if (block.mark == MarkTime::Before && block.variant != Variant::Step && place.instruction != 0)
        reached(block.pc, nullptr);
      const bool counted = block.variant != Variant::Step && place.instruction != 0 &&
                           (!thread.cpu.pmus.empty() || thread.cpu.core != nullptr);
      if (budget) {
        if (!at_once) context_.trace_pointer += place.instruction;
        drain({});
      } else if (counted && cuts_) {
        look_at_room();
        std::fill(totals_.begin(), totals_.end(), 0);
        add_path(translator_->replay().sums_into(place.block, place.instruction));
        count(totals_);
      } else if (counted && block.variant == Variant::Logged) {
        count_logged_into(place.block, place.instruction, place.pc);
      } else if (counted) {
        std::fill(totals_.begin(), totals_.end(), 0);
        if (thread.cpu.core != nullptr) {
          run_core_into(block, place.instruction, place.pc);
          settle_if_asked();
          add_signals(totals_);
          advance_time();
        }
        std::vector<std::uint32_t> prefix(lanes_->size(), 0);
        translator_->replay().count_prefix(block, place.instruction, prefix);
        for (std::size_t lane = 0; lane < prefix.size(); ++lane) totals_[lane] += prefix[lane];
        count(totals_);
      }
      thread.step.active = false;
      Fault& fault = thread.fault;
      fault.present = false;
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

void Runtime::handle_exit(const Exit& exit) {
  Thread& thread = *thread_;
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
      raise_fault(SIGTRAP, SI_KERNEL, 0, 3);
      break;
    case ExitKind::Refused: refuse(exit.pc);
    case ExitKind::Undecodable:
      thread.step.active = false;
      thread.pc = exit.pc;
      raise_fault(SIGILL, ILL_ILLOPN, exit.pc, 6);
      break;
    case ExitKind::Unfetchable: {
      thread.step.active = false;
      thread.pc = exit.pc;
      // The byte that could not be fetched may be on the page after the instruction's first.
      std::uint64_t address = exit.pc;
      while (address < exit.pc + 15 && map_.is_executable(address)) ++address;
      constexpr std::uint64_t kPresent = 1, kUser = 4, kFetch = 16;  // page-fault error code
      const bool mapped = map_.is_mapped(address);
      const bool accessible = map_.prot_at(address) != 0;
      raise_fault(SIGSEGV, mapped ? SEGV_ACCERR : SEGV_MAPERR, address, 14,
                  kUser | kFetch | (accessible ? kPresent : 0));
      break;
    }
    case ExitKind::Direct:
    case ExitKind::Indirect: CHECK(false && "handled by leave_block");
  }
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
                program_.exe_path.c_str(), static_cast<unsigned long long>(pc), bytes);
  observer().notice(text);
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
  context_.fs_base = base;
  if (!config_.native_load) CHECK(set_real_gs_base(base) == 0, base);
}

// RDFSBASE, RDGSBASE, WRFSBASE, WRGSBASE, MOV FS, MOV GS. returns false if it has raised a fault
bool Runtime::emulate_segment_base(const EmulatedForm& form, std::uint64_t pc) {
  std::uint64_t& reg = gpr(form.reg);
  if (form.opcode == 0x8E) {
    constexpr unsigned kFsRegister = 4;
    if ((reg & 0xFFFCu) != 0) refuse(pc);
    if (form.extension == kFsRegister)
      set_fs_base(base_behind_null_selector(context_.fs_base));
    else
      context_.gs_base = base_behind_null_selector(context_.gs_base);
    return true;
  }
  const bool writes = (form.extension & 2u) != 0, gs = (form.extension & 1u) != 0;
  const std::uint64_t value = form.wide ? reg : reg & UINT32_MAX;
  if (!writes) {
    reg = gs ? context_.gs_base : context_.fs_base;
    if (!form.wide) reg &= UINT32_MAX;
    return true;
  }
  constexpr unsigned kUnused = 64 - 48;
  if (static_cast<std::uint64_t>(static_cast<std::int64_t>(value << kUnused) >> kUnused) != value) {  // not canonical
    thread_->step.active = false;
    thread_->pc = pc;
    constexpr std::uint64_t kGeneralProtection = 13;
    raise_fault(SIGSEGV, SI_KERNEL, 0, kGeneralProtection);
    return false;
  }
  if (gs)
    context_.gs_base = value;
  else
    set_fs_base(value);
  return true;
}

void Runtime::emulate(const Exit& exit) {
  const std::optional<Insn> insn = decode(exit.pc, fetch(exit.pc), config_.virtual_time);
  CHECK(insn && insn->flow == Flow::Emulated, exit.pc);
  const EmulatedForm form(*insn);
  const auto set_edx_eax = [&](std::uint64_t value) {
    gpr(kRax) = value & UINT32_MAX;
    gpr(kRdx) = value >> 32;
  };
  if (form.opcode == 0xAE || form.opcode == 0x8E) {
    if (!emulate_segment_base(form, exit.pc)) return;
  } else if (form.opcode == 0x31) {
    set_edx_eax(clock_.tsc());
  } else if (form.opcode == 0x01) {  // RDTSCP
    set_edx_eax(clock_.tsc());
    gpr(kRcx) = 0;
  } else if (form.opcode == 0xA2) {  // CPUID: the host's, without what names the core it ran on
    const auto leaf = static_cast<std::uint32_t>(gpr(kRax));
    std::uint32_t a = leaf, b = 0, c = static_cast<std::uint32_t>(gpr(kRcx)), d = 0;
    asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    if (leaf == 1) b &= 0x00FFFFFF;
    if (leaf == 0xB || leaf == 0x1F) d = 0;
    gpr(kRax) = a;
    gpr(kRbx) = b;
    gpr(kRcx) = c;
    gpr(kRdx) = d;
  } else {  // 0F C7 /6 RDRAND, /7 RDSEED, F3 0F C7 /7 RDPID
    const bool rdpid = form.repeat && form.extension == 7;
    std::uint64_t value = rdpid ? 0 : clock_.random();
    if (!form.wide) value &= UINT32_MAX;
    gpr(form.reg) = value;
    if (!rdpid) context_.flags = (context_.flags & ~std::uint64_t{0x8D5}) | 1;  // CF = 1, other status flags 0
  }
  thread_->pc = exit.target;
  retire_step(false);
}

std::uint64_t Runtime::resume(std::uint32_t link_from) {
  while (true) {
    const std::uint64_t at = choose(link_from);
    entering_.store(true);
    if (thread_->pending.load() == 0) {
      if (thread_->step.active && thread_->step.insn.gs) set_real_gs_base(context_.gs_base);
      return at;
    }
    entering_.store(false);
    thread_->step.active = false;
    forget_stops();
  }
}

// Far enough from the event horizon that a guard fault is a small part of what runs until then.
bool Runtime::is_far(const Allowance& allowed) const {
  if (form_ == TraceForm::Budget) return allowed.budget >= kFewestBudget;
  return allowed.records >= (may_log() ? kFewestBeforeLog : kFewestRecords);
}

/// How long the thread may run while others wait.
std::uint64_t Runtime::turn_bytes() const {
  if (form_ == TraceForm::Budget) return kQuantumBudget;
  if (thread_->cpu.core == nullptr) return kQuantumRecords;
  return at_once_ && lock_.contended() && thread_->cpu.core->contends() ? kQuantumContended : kQuantumModelled;
}

std::uint64_t Runtime::choose(std::uint32_t link_from) {
  Thread& thread = *thread_;
  while (true) {
    const std::uint64_t quantum = turn_bytes();
    // Near an overflow blocks end of themselves, and not at the end of a turn.
    if ((std::exchange(quantum_over_, false) || at_once_) && ran_ >= quantum) {
      ran_ = 0;
      const std::uint64_t flushes = translator_->flushes();
      if (lock_.contended()) yield();
      if (turns_.wanted()) compute_in_turn(thread);
      if (flushes != translator_->flushes()) link_from = kNone;  // in another thread's turn
    }
    if (deliver_waiting()) link_from = kNone;
    logged_ = false;
    if (config_.precise_only || private_page_ != 0 || thread.process->traced) break;

    Allowance allowed = allowance();
    if (is_far(allowed)) {
      if (const std::uint64_t at = leave_near(allowed); at != 0) return at;
      link_behind_stop(link_from);
      const std::uint64_t flushes = translator_->flushes();
      const Block* block = &translator_->get(thread.pc, Variant::Full, link_from);
      if (stop_counting_elements()) {
        link_from = kNone;
        continue;
      }
      if (link_from != kNone && flushes == translator_->flushes()) translator_->link(link_from, *block);
      if (wants_indirect_entry_) {
        const std::uint32_t index = translator_->index_of(*block);
        translator_->add_indirect_entry(index);
        block = &translator_->block(index);
      }
      if (block->instructions == 0) break;  // its first instruction needs to run alone, or cannot run
      allowed = allowance();                // the block may have raised the most that one record can mean
      if (is_far(allowed)) {
        context_.trace_pointer = trace_start_ = stretch(allowed);
        log_bytes_ = kFewestLogged;
        return block->entry;
      }
    }
    if (may_log()) {
      if (const std::uint64_t at = enter_logged(link_from); at != 0) return at;
      break;
    }
    if (is_worth_interpreting(thread.pc, allowed.instructions) && run_interpreted(allowed.instructions)) {
      link_from = kNone;
      continue;
    }
    if (const std::uint64_t at = approach(allowed.instructions, link_from); at != 0) return at;
    context_.trace_pointer = trace_start_ = window_.trace_begin();
    if (models_) {
      const Block& some = translator_->get(thread.pc, up_to(allowed.instructions));
      if (some.instructions != 0) return some.entry;
      break;
    }
    if (allowed.instructions >= 2) {
      const Block& once = translator_->once(thread.pc, allowed.instructions);
      if (once.instructions != 0) return once.entry;
    }
    break;
  }
  context_.trace_pointer = trace_start_ = window_.trace_begin();
  const Block& single = translator_->get(thread.pc, Variant::Step);
  thread_->step.first_exit = single.first_exit;
  if (single.instructions != 0) begin_step(true);
  return single.entry;
}

// Where the trace pointer begins, so that the guard ends what is allowed, or the turn. Stops may be passed from here on if it is the overflow
// that ends it.
std::uint64_t Runtime::stretch(const Allowance& allowed) {
  const std::uint64_t quantum = turn_bytes();
  std::uint64_t bytes = window_.trace_room();
  // Another thread may come to wait for its turn meanwhile, and nobody hears of it before the guard.
  if (threads_.size() != 1) bytes = std::min<std::uint64_t>(bytes, Window::kTraceBytes);
  if (lock_.contended()) bytes = std::min(bytes, ran_ + kFewestBudget < quantum ? quantum - ran_ : kFewestBudget);
  if (form_ != TraceForm::Budget) {
    bytes =
        std::min(bytes + translator_->brake_bytes(), window_.trace_room());  // a turn ends at a brake, and not twice
    return window_.trace_end() - std::min(bytes / 4, allowed.records) * 4;
  }
  if (allowed.budget <= bytes) allow_passes();
  return window_.trace_end() - std::min(bytes, allowed.budget);
}

// ---- the last stretch before an overflow, in the budget form ----------------------------------------------------

// Blocks that look for themselves how far they may run, and in the last of them a stop before the instruction that overflows.
// returns where to enter the cache, or 0 where there is no such way
std::uint64_t Runtime::approach(std::uint64_t distance, std::uint32_t link_from) {
  if (!translator_->has_near() || distance == 0 || may_change_unseen(thread_->pc)) return 0;
  const std::uint64_t flushes = translator_->flushes();
  const Block& block = translator_->get(thread_->pc, Variant::Near);
  if (block.instructions == 0) return 0;
  if (link_from != kNone && flushes == translator_->flushes()) translator_->link(link_from, block);
  if (wants_indirect_entry_) translator_->add_near_entry(translator_->index_of(block));
  const std::uint64_t most = window_.trace_room();
  if (distance <= most) allow_passes();
  context_.trace_pointer = trace_start_ = translator_->near_end() - std::min(distance, most);
  return block.entry;
}

// Stops are passed only from where the trace pointer tells the distance to an overflow that writes a record and does nothing else,
// and only as long as the next period is one stretch.
void Runtime::allow_passes() {
  if (!translator_->has_near() || lock_.contended()) return;
  for (pmu::Pmu* pmu : thread_->cpu.pmus) {
    if (pmu->lanes().empty()) continue;
    const pmu::Pmu::Repeating repeating = pmu->repeating(0);
    if (repeating.times == 0) return;
    const std::uint64_t events = repeating.events - 1;  // up to the overflow, without it
    const std::uint64_t most = window_.trace_room();
    if (events < kFewestBudget + config_.max_block_instructions || events > most) return;
    context_.period_start = translator_->near_end() - events;
    context_.passes_left =
        static_cast<std::uint32_t>(std::min({repeating.times, std::uint64_t{kMostPasses}, kMostPassed / events}));
  }
}

// Tells of the stops that translated code has passed by itself. Then the trace begins where the last period did, or behind the rest of
// the block with the last stop.
void Runtime::retell_stops() {
  const std::span<const PassedStop> stops = window_.passed_stops();
  for (std::size_t i = 0; i < stops.size(); ++i) {
    translator_->prefetch_stops(stops, i);
    const PassedStop& stop = stops[i];
    observer().told_late(stop.host_ticks);
    count_up_to_overflow();
    const Block& block = translator_->block(stop.block);
    const InsnMeta& meta = translator_->meta(block, stop.index);
    std::uint64_t gprs[16];
    std::ranges::copy(stop.gpr, gprs);
    give_back(meta, gprs, stop.slot_map, stop.slot_far);
    if (stop.kind == StopKind::Behind)
      retire_behind(block.pc_of(translator_->meta(block, stop.index - 1u)), block.pc_of(meta), gprs, stop.flags);
    else
      retire_branch(block.pc_of(meta), gprs, stop.flags);
  }
  if (std::exchange(context_.passed, 0) != 0) {
    observer().told_late(0);
    trace_start_ = translator_->near_end();
  }
  if (const std::uint64_t restarted = std::exchange(context_.restarted, 0); restarted != 0) trace_start_ = restarted;
  // Here and not where the next stretch is chosen: another thread may come in between.
  forget_stops();
}

void Runtime::forget_stops() {
  context_.past_stop = 0;
  context_.passes_left = 0;
  context_.restart = 0;
}

// After a sample in the middle of a block: on through the rest of that block, and back here at its end, where most likely a whole
// block begins. Otherwise each sample would leave a translation behind that begins where it was taken.
// returns where to enter the cache, or 0
std::uint64_t Runtime::leave_near(const Allowance& allowed) {
  const auto stopped = std::exchange(stopped_, {});
  if (stopped.block == kNone || stopped.pc != thread_->pc) return 0;
  const Block& block = translator_->block(stopped.block);
  const InsnMeta& meta = translator_->meta(block, stopped.index);
  const bool addressed = meta.far_register != 0 && meta.far_register != kRcxSpilled;
  if (block.dead || addressed || translator_->find(thread_->pc, Variant::Full) != nullptr) return 0;
  if (meta.map_register != 0)
    context_.slot_map = std::exchange(gpr(static_cast<Gpr>(meta.map_register)), gpr(kTracePointer));
  trace_start_ = translator_->near_end();  // nothing fits behind the block
  context_.trace_pointer = trace_start_ - stopped.index + kPastStops;
  context_.past_stop = 1;
  context_.restart = stretch(allowed);
  return block.entry + meta.code_offset;
}

// The block with the last stop has ended, and its exit leads to nothing yet. Next time it finds a block of Variant::Near that may not run,
// and with it the way to Variant::Full.
void Runtime::link_behind_stop(std::uint32_t& link_from) {
  if (link_from == kNone || !translator_->comes_out_again(link_from) || may_change_unseen(thread_->pc)) return;
  const std::uint64_t flushes = translator_->flushes();
  const Block& block = translator_->get(thread_->pc, Variant::Near);
  if (flushes != translator_->flushes())
    link_from = kNone;
  else if (block.instructions != 0)
    translator_->link(link_from, block);
}

// The glue in front of an instruction has run: its registers go back. What an indirect branch spills, it spills later.
void Runtime::give_back(const InsnMeta& meta, std::uint64_t (&gprs)[16], std::uint64_t slot_map,
                        std::uint64_t slot_far) {
  if (meta.far_register != 0 && meta.far_register != kRcxSpilled) gprs[meta.far_register - 1] = slot_far;
  if (meta.map_register != 0) gprs[kTracePointer] = std::exchange(gprs[meta.map_register], slot_map);
}

void Runtime::leave_stop() {
  const Block& block = translator_->block(context_.stop_block);
  const InsnMeta& meta = translator_->meta(block, context_.stop_index);
  give_back(meta, context_.gpr, context_.slot_map, context_.slot_far);
  thread_->pc = block.pc_of(meta);
  stopped_ = {context_.stop_block, context_.stop_index, thread_->pc};
  const bool behind = context_.stop_kind == StopKind::Behind;
  context_.trace_pointer += context_.stop_index - (behind ? 1U : 0U);
  quantum_over_ = true;
  drain({});
  if (behind)
    retire_behind(block.pc_of(translator_->meta(block, context_.stop_index - 1u)), thread_->pc, context_.gpr,
                  context_.flags);
}

// ---- the program's memory -------------------------------------------------------------------------------------

std::span<const std::uint8_t> Runtime::fetch(std::uint64_t pc) {
  constexpr std::uint64_t kLongest = 15;
  if (!fetch_range_.contains(pc)) {
    const GuestMapping* mapping = map_.find(pc);
    if (mapping == nullptr || (mapping->prot & 4u) == 0) return {};
    fetch_range_ = mapping->range();
    // A file that nobody can write any more is as good as private; that is not looked into.
    fetch_shared_ = mapping->shared();
  }
  std::uint64_t end = fetch_range_.end;
  if (end - pc < kLongest && map_.is_executable(end)) end = pc + kLongest;
  return {reinterpret_cast<const std::uint8_t*>(pc), std::min(end - pc, kLongest)};
}

bool Runtime::may_change_unseen(std::uint64_t pc) {
  if (!fetch_range_.contains(pc)) static_cast<void>(fetch(pc));
  return fetch_range_.contains(pc) && fetch_shared_;
}

void Runtime::translated(std::uint64_t page) {
  const std::uint64_t address = page * kPageSize;
  if (address == private_page_) return;
  if ((map_.prot_at(address) & 2u) != 0 && !map_.page_is_write_protected_for_code(address))
    map_.protect_code_page(address);
}

void Runtime::code_changed(std::uint64_t start, std::uint64_t end) {
  fetch_range_ = {};
  markers_.clear();
  if (translator_) translator_->invalidate(start, end);
}

// A store into a page that has translations: they are dropped, and the store runs alone with the page writable.
bool Runtime::handle_code_write(std::uint64_t address) {
  bool ours = false;
  const std::uint64_t first = page_down(address);
  // A store may straddle two pages; the faulting address is in one of them.
  for (const std::uint64_t page : {first, first + kPageSize}) {
    if (!map_.page_is_write_protected_for_code(page)) continue;
    if (page != first && address + 64 <= page) continue;
    markers_.clear();
    translator_->invalidate(page, page + kPageSize);
    map_.unprotect_code_page(page);
    if (page == first) {
      ours = true;
      private_page_ = page;
    }
  }
  return ours;
}

}  // namespace zs::engine
