#include "engine/translate/block_emitter.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "engine/isa_names.h"
#include "engine/translate/line_watch.h"

namespace zs::engine {
namespace {

/// Registers that may hold a far address: extension bit clear, and no special meaning as base.
constexpr Gpr kFarBases[] = {kRcx, kRdx, kRbx, kRsi, kRdi, kRax};

/// The base that takes the place of RIP is one of the first eight registers; with RIP the bit says nothing, and may be
/// set.
void clear_base_extension(const Insn& insn, std::uint8_t (&bytes)[16]) {
  constexpr std::uint8_t kVex3 = 0xC4, kEvex = 0x62;
  constexpr unsigned kInverted = 0x20;  // VEX.B, EVEX.B, between that byte and the one with vvvv
  if (insn.vvvv_at != 0) {
    const bool has_extension =
        insn.vvvv_at >= 2 && (bytes[insn.vvvv_at - 2] == kVex3 || bytes[insn.vvvv_at - 2] == kEvex);
    if (has_extension) bytes[insn.vvvv_at - 1] |= kInverted;
    return;
  }
  for (unsigned at = 0; at < insn.opcode_at; ++at) {
    if ((bytes[at] & 0xF0u) == 0x40) bytes[at] &= 0xFEu;  // REX
  }
}

}  // namespace

BlockEmitter::BlockEmitter(CodeCache& cache, const Stubs& stubs, BlockStore& store, CodeSpace& space,
                           HashedTables& tables, FactCounts& fact_counts, const RecordEmitter& records,
                           const TranslationOptions& options)
    : cache_(cache),
      stubs_(stubs),
      store_(store),
      space_(space),
      tables_(tables),
      fact_counts_(fact_counts),
      records_(records),
      options_(options),
      out_(space.open_cold()),
      cold_(space.open_cold()),
      horizon_check_(cache.trace(), options),
      near_code_(cache.trace(), stubs, options) {}

void BlockEmitter::emit(const Path& path, Block& block, std::uint32_t index, bool looks_up_directly, Emitter& out) {
  out_ = out;
  cold_ = space_.open_cold();
  block_ = &block;
  index_ = index;
  looks_up_directly_ = looks_up_directly;
  block.probe = path.probe;
  block.entry = out_.here();
  block.cold_entry = cold_.here();
  state_ = {};
  running_.assign(options_.tallies() ? fact_counts_.accumulators() : 0, 0);
  literals_.clear();

  if (block.unseen_changes && block.variant == Variant::Full && !path.steps.empty())
    code_check_.emit(out_, path, new_exit(ExitKind::Stale, block.pc, block.pc, false));
  if (block.variant == Variant::Near) near_code_.emit_entry_check(out_, path);
  if (block.variant == Variant::Logged) emit_start_of_log();
  for (std::size_t i = 0; i < path.steps.size(); ++i) {
    if (options_.brakes && !state_.braked && horizon_check_.is_wanted(path, i, block)) emit_horizon_check(path, i);
    emit_step(path, i);
  }
  block.instructions = state_.instructions;
  if (!path.terminated) emit_end(path);
  emit_side_exits();
  code_check_.emit_exit(out_, stubs_.step_done);
  if (block.variant == Variant::Near) emit_near_exit();
  emit_literals();
  block.code_bytes = static_cast<std::uint32_t>(out_.here() - block.entry);
  out = out_;
}

void BlockEmitter::emit_literals() {
  out_.need(sizeof(std::uint64_t) * literals_.size());
  for (const auto& [after, value] : literals_) {
    Emitter::patch_rel32(after, out_.here());
    out_.u64(value);
  }
}

// ---- instructions ---------------------------------------------------------------------------------------------

void BlockEmitter::emit_step(const Path& path, std::size_t index) {
  const PathStep& step = path.steps[index];
  const Insn& insn = step.insn;
  out_.need(CodeSpace::kMostPerStep);
  if (insn.flow == Flow::Breakpoint) {  // a trap: does not count as retired
    note_meta(insn);
    return emit_special_exit(ExitKind::Breakpoint, insn.pc, insn.next());
  }
  ++state_.instructions;
  if (insn.flow == Flow::Syscall || insn.flow == Flow::Emulated || insn.flow == Flow::FarReturn) {
    count(insn, insn.flow != Flow::Emulated);
    note_meta(insn);
    const bool calls = insn.flow == Flow::Syscall;
    const ExitKind kind = is_int80(insn) ? ExitKind::Interrupt : calls ? ExitKind::Syscall : ExitKind::Emulated;
    return emit_special_exit(kind, insn.pc, insn.next());
  }
  state_.stand_in.map(out_, path, index);
  if (options_.addresses && block_->variant != Variant::Step) {
    emit_slots(std::span(step.slots.before).first(step.slots.stores_before));
    state_.slots = step.slots.used;
    if (step.risky && (options_.risks != 0 || block_->variant == Variant::Logged)) ++state_.risky;
  }
  switch (insn.flow) {
    case Flow::Plain:
    case Flow::Stop: emit_straight(step); break;
    case Flow::Jump:
      count(insn, true);
      note_meta(insn);
      break;
    case Flow::Call:
      count(insn, true);
      note_meta(insn);
      emit_push_return(insn.next());
      state_.called_by = state_.instructions;
      break;
    case Flow::TransactionBegin:
      count(insn, false);
      note_meta(insn);
      out_.mov_imm(kRax, 0);  // abort status: no reason, no retry
      break;
    case Flow::ConditionalJump:
    case Flow::CounterJump: emit_conditional(step); break;
    case Flow::IndirectJump:
    case Flow::IndirectCall:
    case Flow::Return:
      count(insn, true);
      if (step.follow_return != 0)
        emit_expected_return(step);
      else
        emit_indirect_exit(insn);
      break;
    default: CHECK(false && "no translation for this flow");
  }
}

void BlockEmitter::emit_straight(const PathStep& step) {
  count(step.insn, false);
  if (step.insn.facts.rep_string && options_.count_elements && block_->variant != Variant::Step)
    emit_rep_string(step.insn);
  else
    emit_plain(step.insn);
  if (block_->variant == Variant::Logged) emit_log(step.slots);
}

// The code of `insn` comes next, the glue before it is there.
InsnMeta& BlockEmitter::note_meta(const Insn& insn, unsigned far_register) {
  const bool foreseen = insn.flow == Flow::Jump || insn.flow == Flow::ConditionalJump;  // a call's push may fault
  const bool plain = insn.flow == Flow::Plain && !insn.facts.rep_string;
  if (block_->variant == Variant::Near && insn.flow != Flow::Breakpoint) {
    const std::size_t index = state_.instructions - 1U;
    const bool plain_before = index != 0 && store_.meta(*block_, index - 1).plain != 0;
    near_code_.emit_stop_check(out_, index, plain_before, plain, foreseen);
  }
  const std::uint64_t offset = out_.here() - block_->entry;
  CHECK(offset <= UINT16_MAX);
  // Written where it stays: to copy what was just put together of smaller pieces makes the processor wait.
  InsnMeta& meta = store_.add_meta();
  meta.code_offset = static_cast<std::uint16_t>(offset);
  meta.map_register = static_cast<std::uint8_t>(state_.stand_in.is_there() ? state_.stand_in.reg() : 0) & 0xF;
  meta.foreseen = foreseen;
  meta.plain = plain;
  meta.rcx_spilled = false;  // of a block that is made again and again the last one's is there
  meta.far_or_access = static_cast<std::uint8_t>(far_register);
  meta.pc_delta = static_cast<std::int32_t>(insn.pc - block_->pc);
  return meta;
}

// An indirect transfer: rcx goes into its slot, for the target to be put there.
InsnMeta& BlockEmitter::begin_indirect(const Insn& insn) {
  InsnMeta& meta = note_meta(insn);
  meta.rcx_spilled = true;
  meta.far_or_access = 0;
  out_.store(offsetof(Context, slot_rcx), kRcx);
  return meta;
}

// What comes next accesses the program's memory, for the indirect transfer of `meta`.
void BlockEmitter::note_access(InsnMeta& meta) const {
  const std::uint64_t distance = out_.here() - block_->entry - meta.code_offset;
  CHECK(distance <= UINT8_MAX, distance);
  meta.far_or_access = static_cast<std::uint8_t>(distance);
}

void BlockEmitter::emit_plain(const Insn& insn) {
  const bool probed =
      block_->probe != ProbeTime::None && insn.pc == block_->pc;  // one note is enough for the list's room
  if (options_.watched != nullptr && block_->variant == Variant::Full && !probed && options_.watched->contains(insn.pc))
    LineWatch::emit(insn, state_.stand_in, out_, cold_);
  std::uint8_t bytes[16];
  state_.stand_in.copy(insn, bytes);
  if (insn.rip_relative) {
    const std::uint64_t target = rip_target(insn);
    if (!fits32(target - out_.here()) || !fits32(target - (out_.here() + CodeSpace::kMostPerStep)))
      return emit_far(insn, bytes);
    note_meta(insn);
    const auto displacement = static_cast<std::uint32_t>(target - (out_.here() + insn.length));
    std::memcpy(bytes + insn.disp_at, &displacement, 4);
  } else {
    note_meta(insn);
  }
  out_.instruction(bytes, insn.length);
}

// Its operand is out of reach: the address in a register that the instruction does not mention, as base with
// displacement 0.
void BlockEmitter::emit_far(const Insn& insn, std::uint8_t (&bytes)[16]) {
  const auto* const found = std::ranges::find_if(kFarBases, [&](Gpr candidate) { return !insn.mentions(candidate); });
  CHECK(found != std::end(kFarBases));
  const Gpr base = *found;
  out_.store(offsetof(Context, slot_far), base);
  out_.mov_imm(base, rip_target(insn));
  clear_base_extension(insn, bytes);
  bytes[insn.modrm_at] =
      static_cast<std::uint8_t>(0x80u | (bytes[insn.modrm_at] & 0x38u) | static_cast<unsigned>(base));
  std::memset(bytes + insn.disp_at, 0, 4);
  note_meta(insn, base + 1);
  out_.instruction(bytes, insn.length);
  out_.load(base, offsetof(Context, slot_far));
}

// elements[class] += rcx before - rcx after, without flags: a - b = a + ~b + 1. String instructions use neither rbx nor
// rdx.
void BlockEmitter::emit_rep_string(const Insn& insn) {
  const RepClass rep_class = insn.facts.loads == 2                             ? kRepLoads2
                             : insn.facts.loads == 1 && insn.facts.stores == 1 ? kRepMoves
                             : insn.facts.loads == 1                           ? kRepLoads1
                                                                               : kRepStores1;
  const std::size_t counter = offsetof(Context, elements) + 8 * rep_class;
  out_.store(offsetof(Context, slot_far), kRbx);
  out_.mov(kRbx, kRcx);
  note_meta(insn, kRbx + 1);
  std::uint8_t bytes[16];
  state_.stand_in.copy(insn, bytes);
  out_.instruction(bytes, insn.length);
  out_.store(offsetof(Context, slot_scratch), kRdx);
  out_.mov(kRdx, kRcx);
  out_.complement(kRdx);
  out_.add_registers(kRdx, kRbx, 1);
  out_.load(kRbx, counter);
  out_.add_registers(kRbx, kRdx, 0);
  out_.store(counter, kRbx);
  out_.load(kRbx, offsetof(Context, slot_far));
  out_.load(kRdx, offsetof(Context, slot_scratch));
}

void BlockEmitter::emit_conditional(const PathStep& step) {
  const Insn& insn = step.insn;
  note_meta(insn);
  if (insn.flow == Flow::ConditionalJump) {
    out_.jcc(step.follow_taken ? insn.condition ^ 1u : insn.condition, out_.here());
  } else {
    out_.bytes(insn.bytes.data(), insn.length - 1u);  // the short form, over the jump that skips the long one
    out_.code({2, 0xEB, 5});
    out_.jmp(out_.here());
  }
  SideExit& side = add_side_exit(step.follow_taken ? insn.next() : insn.target, !step.follow_taken);
  side.branch = insn.pc;
  fact_counts_.add(insn.facts, side.taken, counts_of(side));
  count(insn, step.follow_taken);
}

// A return to the call that the block itself contains: compared, and the path goes on.
void BlockEmitter::emit_expected_return(const PathStep& step) {
  note_access(begin_indirect(step.insn));
  out_.pop(kRcx);
  out_.add_disp(kRcx, static_cast<std::int32_t>(0 - step.follow_return));
  out_.jmp_unless_rcx_is_0(out_.here());
  add_side_exit(step.follow_return, true).unexpected_return = &step.insn;
  out_.load(kRcx, offsetof(Context, slot_rcx));
  state_.called_by = 0;
}

// Of a call. Most are run soon after they are translated, and come back.
void BlockEmitter::emit_push_return(std::uint64_t pc) {
  if (fits32(pc)) {
    out_.push_imm32(static_cast<std::uint32_t>(pc));
  } else {
    out_.push_literal(out_.here() + 6);  // patched when the literal has its place
    literals_.emplace_back(out_.here(), pc);
  }
  emit_stack_pointer();
  if (block_->variant != Variant::Full || !cache_.direct_table().covers(pc)) return;
  cache_.direct_table().expect(pc);
  out_.prefetch_if_near(cache_.direct_table().entry_of(pc));
}

// ---- registers for addresses ----------------------------------------------------------------------------------

void BlockEmitter::emit_slots(std::span<const InsnSlots::Store> stores) {
  for (const InsnSlots::Store& store : stores) {
    out_.store_scaled(kTracePointer, static_cast<std::int32_t>(cache_.trace().slots_bias() + 8 * store.slot),
                      state_.stand_in.of(store.reg));
  }
}

void BlockEmitter::emit_stack_pointer() {
  if (options_.stack_pointers && block_->variant != Variant::Step)
    out_.store_scaled(kTracePointer, static_cast<std::int32_t>(cache_.trace().slots_bias()), kRsp);
}

void BlockEmitter::emit_flags_slot(unsigned slot) {
  out_.store_flags_scaled(kTracePointer, static_cast<std::int32_t>(cache_.trace().slots_bias() + 8 * slot),
                          offsetof(Context, slot_scratch));
}

void BlockEmitter::emit_start_of_log() {
  out_.need(CodeSpace::kMostPerStep);
  std::array<InsnSlots::Store, 15> stores{};
  for (std::uint8_t reg = 0, i = 0; reg < 16; ++reg) {
    if (reg != kTracePointer) stores[i++] = {reg, reg};
  }
  emit_slots(stores);
  out_.store(offsetof(Context, slot_rax), kRax);
  out_.load(kRax, gpr_offset(kTracePointer));
  const InsnSlots::Store of_stolen{kRax, kTracePointer};
  emit_slots({&of_stolen, 1});
  out_.load(kRax, offsetof(Context, slot_rax));
  emit_flags_slot(AddressSlots::kLoggedFlags);
}

void BlockEmitter::emit_log(const InsnSlots& slots) {
  out_.need(CodeSpace::kMostPerStep);
  emit_slots(std::span(slots.after).first(slots.stores_after));
  if (slots.flags != AddressTerm::kNoSlot) emit_flags_slot(slots.flags);
}

// ---- ways out -------------------------------------------------------------------------------------------------

std::uint32_t BlockEmitter::new_exit(ExitKind kind, std::uint64_t pc, std::uint64_t target, bool taken) {
  const unsigned instructions = state_.instructions;
  const ProbeTime probe = instructions == 0 ? ProbeTime::None : block_->probe;
  const std::uint32_t id = store_.add_exit(*block_, probe, running_, std::max(state_.slots, state_.risky));
  Exit& exit = store_.exit(id);  // written where it stays, like a meta
  exit.kind = kind;
  exit.pc = pc;
  exit.target = target;
  exit.instructions = state_.instructions;
  exit.taken = taken;
  exit.block = index_;
  exit.near = block_->variant == Variant::Near;
  exit.called_by = state_.called_by;
  exit.returns = state_.returns;
  exit.quiet = state_.braked && horizon_check_.silences(kind);
  if (options_.form == TraceForm::Budget) {
    exit.advance = state_.braked ? horizon_check_.advance(static_cast<std::int32_t>(instructions))
                                 : static_cast<std::int16_t>(instructions);
  }
  exit.risky = state_.risky;
  return id;
}

void BlockEmitter::emit_record(std::uint32_t exit_id) {
  if (block_->variant != Variant::Step) records_.emit(out_, exit_id);
}

// The dispatcher learns the exit from the trace; what appends no record has to say it. The first jump is the one to
// link.
void BlockEmitter::emit_leave(std::uint32_t exit_id, bool linkable) {
  Exit& exit = store_.exit(exit_id);
  if (block_->variant != Variant::Step && !exit.near && !exit.quiet) {
    out_.jmp(stubs_.unlinked);
    if (linkable) exit.patch_after = static_cast<std::uint32_t>(out_.here());
    return;
  }
  const bool apart = exit.quiet && out_.here() < cache_.cold_begin();
  if (linkable && block_->variant != Variant::Step) {
    out_.jmp(apart ? cold_.here() : out_.here() + 5);
    exit.patch_after = static_cast<std::uint32_t>(out_.here());
  }
  if (apart) exit.stub = static_cast<std::uint32_t>(cold_.here());
  emit_report(apart ? cold_ : out_, exit_id);
}

void BlockEmitter::emit_report(Emitter& out, std::uint32_t exit_id) const {
  out.need(CodeSpace::kMostPerStep);
  out.store_imm32(offsetof(Context, exit_id), exit_id);
  out.jmp(stubs_.step_done);
}

// Of a path that goes on elsewhere.
void BlockEmitter::emit_end(const Path& path) {
  bool taken = false;
  if (!path.steps.empty()) {
    const PathStep& last = path.steps.back();
    taken = last.follow_taken || last.insn.flow == Flow::Jump || last.insn.flow == Flow::Call;
  }
  if (path.end_kind == ExitKind::Direct)
    emit_direct_exit(path.end_pc, taken);
  else
    emit_special_exit(path.end_kind, path.end_pc, path.end_pc, taken);
}

std::uint32_t BlockEmitter::emit_direct_exit(std::uint64_t target, bool taken, std::uint64_t branch) {
  state_.stand_in.unmap(out_);
  const std::uint32_t id = new_exit(ExitKind::Direct, branch, target, taken);
  emit_record(id);
  const Variant variant = block_->variant;
  emit_leave(id, variant == Variant::Full || variant == Variant::Near || variant == Variant::Logged ||
                     variant == Variant::Quiet);
  return id;
}

void BlockEmitter::emit_special_exit(ExitKind kind, std::uint64_t pc, std::uint64_t target, bool taken) {
  state_.stand_in.unmap(out_);
  const std::uint32_t id = new_exit(kind, pc, target, taken);
  emit_record(id);
  emit_leave(id, false);
}

void BlockEmitter::emit_indirect_exit(const Insn& insn) {
  InsnMeta& meta = begin_indirect(insn);
  if (insn.flow == Flow::Return) {
    note_access(meta);
    out_.pop(kRcx);
    if (insn.return_pop != 0) out_.add_rsp(insn.return_pop);
    emit_stack_pointer();
    state_.returns = true;
  } else {
    emit_load_target(insn, meta);
    if (insn.flow == Flow::IndirectCall) {
      note_access(meta);
      emit_push_return(insn.next());
      state_.called_by = state_.instructions;
    }
  }
  emit_indirect_tail(insn.pc);
}

void BlockEmitter::emit_load_target(const Insn& insn, InsnMeta& meta) {
  if (insn.target_register >= 0) {
    const Gpr reg = state_.stand_in.of(insn.target_register);
    if (reg != kRcx) out_.mov(kRcx, reg);
    return;
  }
  if (insn.rip_relative && !fits32(rip_target(insn) - (out_.here() + 16))) {
    out_.mov_imm(kRcx, rip_target(insn));
    note_access(meta);
    out_.code({0x48, 0x8B, 0x09});  // mov rcx, [rcx]
    return;
  }
  // mov rcx, m64 with the operand as the branch encodes it
  note_access(meta);
  std::uint8_t bytes[16];
  state_.stand_in.copy(insn, bytes);
  unsigned extension = 0;
  for (std::uint8_t i = 0; i < insn.opcode_at; ++i) {
    if (bytes[i] == kGsPrefix || bytes[i] == 0x67) out_.u8(bytes[i]);
    if ((bytes[i] & 0xF0u) == 0x40) extension = bytes[i] & 3u;
  }
  out_.code({0x48u | extension, 0x8B, (bytes[insn.modrm_at] & 0xC7u) | (kRcx << 3)});
  const unsigned rest = insn.modrm_at + 1u;
  if (insn.rip_relative) {
    out_.u32(static_cast<std::uint32_t>(rip_target(insn) - (out_.here() + 4)));
  } else {
    out_.bytes(bytes + rest, insn.length - rest);
  }
}

// The target is in rcx, the program's rcx in its slot.
void BlockEmitter::emit_indirect_tail(std::uint64_t pc) {
  state_.stand_in.unmap(out_);
  emit_record(new_exit(ExitKind::Indirect, pc, 0, true));
  const Variant variant = block_->variant;
  if (variant == Variant::Near || variant == Variant::Logged || variant == Variant::Quiet ||
      (variant == Variant::Full && !looks_up_directly_)) {
    emit_hashed_lookup();
  } else if (variant != Variant::Full) {
    out_.jmp(stubs_.indirect_miss);
  } else {
    out_.code({0xFF, 0x24, 0xCD});  // jmp [rcx*8 + bias]
    out_.u32(cache_.direct_table().bias());
  }
}

void BlockEmitter::emit_hashed_lookup() {
  const std::uint64_t table = tables_.of(block_->variant);
  out_.store(offsetof(Context, slot_rax), kRax);
  out_.code({0x0F, 0xB7, 0xC1});  // movzx eax, cx
  out_.code({0xFF, 0x24, 0xC5});  // jmp [table + rax*8]
  out_.u32(static_cast<std::uint32_t>(table));
}

void BlockEmitter::emit_horizon_check(const Path& path, std::size_t index) {
  out_.need(CodeSpace::kMostPerStep);
  horizon_check_.emit(out_);
  add_side_exit(path.steps[index].insn.pc, index != 0 && path.steps[index - 1].follow_taken).brake = true;
  block_->braked_at = static_cast<std::uint16_t>(index);
  state_.braked = true;
}

// In the budget form straight on in Variant::Near, once linked.
void BlockEmitter::emit_brake_exit(const SideExit& side) {
  state_.stand_in.unmap(out_);
  const std::uint32_t id = new_exit(ExitKind::Direct, 0, side.target, side.taken);
  Exit& exit = store_.exit(id);
  exit.brake = true;
  exit.near = options_.has_near();
  exit.quiet = false;
  emit_record(id);
  emit_leave(id, exit.near);
}

void BlockEmitter::emit_near_exit() {
  near_code_.emit_choice(out_, block_->instructions);
  state_ = {};
  std::fill(running_.begin(), running_.end(), 0);
  const std::uint32_t id = new_exit(ExitKind::Horizon, block_->pc, block_->pc, false);
  emit_leave(id, true);
  near_code_.emit_table(out_, *block_, index_, store_.metas(*block_), store_.exit(id).patch_after);
}

// ---- side exits -----------------------------------------------------------------------------------------------

// The path may be left here, by the jump just emitted.
BlockEmitter::SideExit& BlockEmitter::add_side_exit(std::uint64_t target, bool taken) {
  SideExit& side = side_exits_.emplace_back();
  side.jump_after = out_.here();
  side.target = target;
  side.state = state_;
  side.counts = side_counts_.size();
  side.taken = taken;
  side_counts_.insert(side_counts_.end(), running_.begin(), running_.end());
  return side;
}

std::span<std::uint32_t> BlockEmitter::counts_of(const SideExit& side) {
  return std::span(side_counts_).subspan(side.counts, running_.size());
}

// In the way of a path that stays, they would only take room: most are never taken.
void BlockEmitter::emit_side_exits() {
  const bool apart = block_->variant == Variant::Full;
  if (apart) std::swap(out_, cold_);
  for (const SideExit& side : side_exits_) emit_side_exit(side, apart);
  if (apart) {
    space_.close_cold(out_);
    std::swap(out_, cold_);
  }
  side_exits_.clear();
  side_counts_.clear();
}

void BlockEmitter::emit_side_exit(const SideExit& side, bool apart) {
  out_.need(CodeSpace::kMostPerStep);
  const std::uint64_t stub = out_.here();
  Emitter::patch_rel32(side.jump_after, stub);
  state_ = side.state;
  std::ranges::copy(counts_of(side), running_.begin());
  if (side.brake) {
    state_.braked = true;
    emit_brake_exit(side);
  } else if (side.unexpected_return != nullptr) {
    out_.add_disp(kRcx, static_cast<std::int32_t>(side.target));  // what was expected
    emit_stack_pointer();
    state_.returns = true;
    emit_indirect_tail(side.unexpected_return->pc);
  } else {
    const std::uint32_t id = emit_direct_exit(side.target, side.taken, side.branch);
    if (!apart || side.state.stand_in.is_there()) return;
    store_.exit(id).branch_after = static_cast<std::uint32_t>(side.jump_after);
    store_.exit(id).stub = static_cast<std::uint32_t>(stub);
  }
}

}  // namespace zs::engine
