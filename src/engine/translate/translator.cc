#include "engine/translate/translator.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "engine/isa_names.h"
#include "isa/flag_writer.h"

namespace zs::engine {
namespace {

/// From here to the guard, brakes leave. A spaced trace has few words to give away, since each stands for many instructions. With a core
/// model it stands for one and a path takes several; measured there: with 8 words perl takes 9 % and python3 6 % longer, because most
/// stretches run into the guard; with 32 zstd takes 8 % longer, whose last misses before a sample are logged. For the budget form,
/// Window::kBrakeBudget.
constexpr std::uint64_t kBrakeBytes = 4 * 8, kModelledBrakeBytes = 4 * 16;
/// Bytes, of blocks that nothing falls into: a line of the host's. Measured: with 16, an interpreter of bytecode takes a third longer, gzip
/// and a shell a twentieth to a tenth.
constexpr std::uint64_t kEntryAlignment = 64;
/// As long as a jump with rel32, and in its place where it would lead to what follows.
constexpr std::uint8_t kNop[5] = {0x0F, 0x1F, 0x44, 0x00, 0x00};
constexpr std::size_t gpr_offset(unsigned reg) { return offsetof(Context, gpr) + 8 * reg; }

/// Registers that may stand in for r11: with the REX/VEX extension bit set like r11's own, and with no special meaning as base.
constexpr Gpr kStandIns[] = {kR8, kR9, kR10, kR14, kR15};
/// Registers that may hold a far address: extension bit clear, and no special meaning as base.
constexpr Gpr kFarBases[] = {kRcx, kRdx, kRbx, kRsi, kRdi, kRax};

/// Rewrites every place where `insn` encodes r11 to `reg`.
void rename_trace_register(std::uint8_t* bytes, const Insn& insn, int reg) {
  const auto low = static_cast<unsigned>(reg) & 7u;
  const auto set = [&](std::uint8_t at, unsigned shift) {
    bytes[at] = static_cast<std::uint8_t>((bytes[at] & ~(7u << shift)) | (low << shift));
  };
  if (insn.trace_register_at & 1) set(insn.modrm_at, 3);
  if (insn.trace_register_at & 2) set(insn.modrm_at, 0);
  if (insn.trace_register_at & 4) set(insn.sib_at, 0);
  if (insn.trace_register_at & 8) set(insn.sib_at, 3);
  if (insn.trace_register_at & 16) {
    bytes[insn.vvvv_at] =
        static_cast<std::uint8_t>((bytes[insn.vvvv_at] & ~0x78u) | ((~static_cast<unsigned>(reg) & 15u) << 3));
  }
  if (insn.trace_register_at & 32) set(insn.opcode_at, 0);
}

constexpr std::uint8_t kFsPrefix = 0x64, kGsPrefix = 0x65;

void exchange_fs_prefix(std::uint8_t* bytes) {
  static constexpr std::uint8_t kLegacyPrefixes[] = {0x26, 0x2E, 0x36, 0x3E, kFsPrefix, kGsPrefix,
                                                     0x66, 0x67, 0xF0, 0xF2, 0xF3};
  for (; std::ranges::find(kLegacyPrefixes, *bytes) != std::end(kLegacyPrefixes); ++bytes) {
    if (*bytes == kFsPrefix) *bytes = kGsPrefix;
  }
}

}  // namespace

Translator::Translator(Window& window, const Stubs& stubs, CodeSource& source, const LaneSet& lanes,
                       std::span<const std::uint32_t> units, const TranslationOptions& options)
    : window_(window),
      stubs_(stubs),
      source_(source),
      lanes_(lanes),
      options_(options),
      at_(window.code_begin() + kOnceBytes),
      cold_at_(window.cold_begin()),
      near_begin_(window.code_end() - (has_near() ? page_down((window.code_end() - window.cold_begin()) / 2) : 0)),
      near_at_(near_begin_),
      store_(lanes, units, options.tallies(), window.code_begin(), near_begin_),
      fact_counts_(lanes),
      builder_(source, lanes, options_, store_, fact_counts_),
      replay_(store_, builder_, lanes, fact_counts_),
      out_(at_, window.cold_begin(), window.context_address()),
      cold_(cold_at_, near_begin_, window.context_address()) {}

// ---- emission -------------------------------------------------------------------------------------------------

void Translator::unmap() {
  if (mapping_.reg < 0) return;
  out_.store(gpr_offset(kTracePointer), static_cast<Gpr>(mapping_.reg));
  out_.load(static_cast<Gpr>(mapping_.reg), offsetof(Context, slot_map));
  mapping_.reg = -1;
}

void Translator::map_trace_register(const Path& path, std::size_t index) {
  const Insn& insn = path.steps[index].insn;
  if (mapping_.reg >= 0 && insn.mentions(static_cast<Gpr>(mapping_.reg))) unmap();
  if (!insn.mentions(kTracePointer) || mapping_.reg >= 0) return;
  // The candidate that the rest of the path mentions last, so that the mapping lives long.
  int best = -1;
  std::size_t best_distance = 0;
  for (const Gpr candidate : kStandIns) {
    if (insn.mentions(candidate)) continue;
    std::size_t distance = index + 1;
    while (distance < path.steps.size() && !path.steps[distance].insn.mentions(candidate)) ++distance;
    if (best < 0 || distance > best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  CHECK(best >= 0);
  mapping_.reg = best;
  out_.store(offsetof(Context, slot_map), static_cast<Gpr>(best));
  out_.load(static_cast<Gpr>(best), gpr_offset(kTracePointer));
}

// The code of `insn` comes next, the glue before it is there.
void Translator::note_meta(const Insn& insn, int far_register) {
  const bool foreseen = insn.flow == Flow::Jump || insn.flow == Flow::ConditionalJump;  // a call's push may fault
  const bool plain = insn.flow == Flow::Plain && !insn.facts.rep_string;
  if (current_.variant == Variant::Near && insn.flow != Flow::Breakpoint) emit_stop_check(plain, foreseen);
  const std::uint64_t offset = out_.here() - current_.entry;
  CHECK(offset <= UINT16_MAX);
  // Written where it stays: to copy what was just put together of smaller pieces makes the processor wait.
  InsnMeta& meta = store_.add_meta(current_);
  meta.code_offset = static_cast<std::uint16_t>(offset);
  meta.map_register = static_cast<std::uint8_t>(mapping_.reg < 0 ? 0 : mapping_.reg) & 0x3F;
  meta.foreseen = foreseen;
  meta.plain = plain;
  meta.far_register = static_cast<std::uint8_t>(far_register);
  meta.pc_delta = static_cast<std::int32_t>(insn.pc - current_.pc);
}

// As it is to run: the program's FS base is in GS.
void Translator::copy(const Insn& insn, std::uint8_t (&bytes)[16]) const {
  std::memcpy(bytes, insn.bytes.data(), sizeof insn.bytes);
  bytes[15] = 0;
  if (insn.mentions(kTracePointer)) rename_trace_register(bytes, insn, mapping_.reg);
  if (insn.fs) exchange_fs_prefix(bytes);
}

void Translator::emit_plain(const Insn& insn) {
  std::uint8_t bytes[16];
  copy(insn, bytes);
  if (!insn.rip_relative) {
    note_meta(insn, 0);
    out_.instruction(bytes, insn.length);
    return;
  }
  const std::uint64_t target = rip_target(insn);
  if (fits32(target - out_.here()) && fits32(target - (out_.here() + kMostPerStep))) {
    note_meta(insn, 0);
    const auto displacement = static_cast<std::uint32_t>(target - (out_.here() + insn.length));
    std::memcpy(bytes + insn.disp_at, &displacement, 4);
    out_.instruction(bytes, insn.length);
    return;
  }
  // Out of reach: the address in a register that the instruction does not mention, as base with displacement 0.
  int base = -1;
  for (const Gpr candidate : kFarBases) {
    if (!insn.mentions(candidate)) {
      base = candidate;
      break;
    }
  }
  CHECK(base >= 0);
  out_.store(offsetof(Context, slot_far), static_cast<Gpr>(base));
  out_.mov_imm(static_cast<Gpr>(base), target);
  bytes[insn.modrm_at] =
      static_cast<std::uint8_t>(0x80u | (bytes[insn.modrm_at] & 0x38u) | static_cast<unsigned>(base));
  std::memset(bytes + insn.disp_at, 0, 4);
  note_meta(insn, base + 1);
  out_.instruction(bytes, insn.length);
  out_.load(static_cast<Gpr>(base), offsetof(Context, slot_far));
}

// elements[class] += rcx before - rcx after, without flags: a - b = a + ~b + 1. String instructions use neither rbx nor rdx.
void Translator::emit_rep_string(const Insn& insn) {
  const RepClass rep_class = insn.facts.loads == 2                             ? kRepLoads2
                             : insn.facts.loads == 1 && insn.facts.stores == 1 ? kRepMoves
                             : insn.facts.loads == 1                           ? kRepLoads1
                                                                               : kRepStores1;
  const std::size_t counter = offsetof(Context, elements) + 8 * rep_class;
  out_.store(offsetof(Context, slot_far), kRbx);
  out_.mov(kRbx, kRcx);
  note_meta(insn, kRbx + 1);
  std::uint8_t bytes[16];
  copy(insn, bytes);
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

std::uint32_t Translator::new_exit(ExitKind kind, std::uint64_t pc, std::uint64_t target, std::uint16_t instructions,
                                   bool taken, std::span<const std::uint32_t> counts) {
  const MarkTime mark = instructions == 0 ? MarkTime::None : current_.mark;
  const std::uint32_t id = store_.add_exit(current_, mark, counts, std::max(slots_used_, risky_));
  Exit& exit = store_.exit(id);  // written where it stays, like a meta
  exit.kind = kind;
  exit.pc = pc;
  exit.target = target;
  exit.instructions = instructions;
  exit.taken = taken;
  exit.block = current_index_;
  exit.near = current_.variant == Variant::Near;
  exit.quiet = is_quiet(kind);
  if (options_.form == TraceForm::Budget) exit.advance = advance_to(instructions);
  exit.risky = risky_;
  return id;
}

void Translator::emit_slots(std::span<const InsnSlots::Store> stores) {
  for (const InsnSlots::Store& store : stores) {
    const int reg = store.reg == kTracePointer ? mapping_.reg : store.reg;
    out_.store_scaled(kTracePointer, static_cast<std::int32_t>(window_.slots_bias() + 8 * store.slot),
                      static_cast<Gpr>(reg));
  }
}

void Translator::emit_flags_slot(unsigned slot) {
  out_.store_flags_scaled(kTracePointer, static_cast<std::int32_t>(window_.slots_bias() + 8 * slot),
                          offsetof(Context, slot_scratch));
}

void Translator::emit_start_of_log() {
  out_.need(kMostPerStep);
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

void Translator::emit_log(const InsnSlots& slots) {
  out_.need(kMostPerStep);
  emit_slots(std::span(slots.after).first(slots.stores_after));
  if (slots.flags != AddressTerm::kNoSlot) emit_flags_slot(slots.flags);
}

void Translator::emit_append(std::uint32_t exit_id) {
  if (current_.variant != Variant::Step) emit_record(exit_id);
}

void Translator::emit_record(std::uint32_t exit_id) {
  const auto bias = static_cast<std::uint32_t>(window_.pointer_bias());
  const auto store = [&](std::uint32_t record) {
    for (const std::uint8_t byte : bias != 0 ? kBiasedAppend : kAppend) out_.u8(byte);
    if (bias != 0) out_.u32(bias);
    out_.u32(record);
  };
  const Exit& exit = store_.exit(exit_id);
  switch (options_.form) {
    case TraceForm::Records:
      store(exit_id | (store_.mark_of(exit_id) != MarkTime::None ? kMarkedRecord : 0));
      out_.add_disp(kTracePointer, 4);
      break;
    case TraceForm::Spaced:
      out_.add_disp(kTracePointer, static_cast<std::int32_t>(4 * store_.counts().words(exit_id)));
      store(SpacedRecord::make(exit_id, store_.counts().words(exit_id)));
      break;
    case TraceForm::Budget:
      if (store_.mark_of(exit_id) != MarkTime::None) emit_mark_note(exit_id);
      if (exit.advance != 0) out_.add_disp(kTracePointer, exit.advance);
      if (!exit.near && !exit.quiet) store(exit_id);
      break;
  }
}

// Before the append, so that the note is there when that runs into the guard.
void Translator::emit_mark_note(std::uint32_t exit_id) {
  out_.store(offsetof(Context, slot_scratch), kRax);
  out_.load(kRax, offsetof(Context, mark_note));
  for (const unsigned byte : {0x44, 0x89, 0x18}) out_.u8(byte);  // mov [rax], r11d
  static_assert(offsetof(MarkNote, pointer) == 0 && offsetof(MarkNote, exit) == 4 && kTracePointer == kR11);
  for (const unsigned byte : {0xC7, 0x40, 0x04}) out_.u8(byte);  // mov dword [rax + 4], imm32
  out_.u32(exit_id);
  out_.add_disp(kRax, sizeof(MarkNote));
  out_.store(offsetof(Context, mark_note), kRax);
  out_.load(kRax, offsetof(Context, slot_scratch));
}

// The dispatcher learns the exit from the trace; what appends no record has to say it. The first jump is the one to link.
void Translator::emit_leave(std::uint32_t exit_id, bool linkable) {
  Exit& exit = store_.exit(exit_id);
  if (current_.variant != Variant::Step && !exit.near && !exit.quiet) {
    out_.jmp(stubs_.unlinked);
    if (linkable) exit.patch_after = static_cast<std::uint32_t>(out_.here());
    return;
  }
  const bool apart = exit.quiet && out_.here() < window_.cold_begin();
  if (linkable && current_.variant != Variant::Step) {
    out_.jmp(apart ? cold_.here() : out_.here() + 5);
    exit.patch_after = static_cast<std::uint32_t>(out_.here());
  }
  if (apart) exit.stub = static_cast<std::uint32_t>(cold_.here());
  emit_telling(apart ? cold_ : out_, exit_id);
}

void Translator::emit_telling(Emitter& out, std::uint32_t exit_id) const {
  out.need(kMostPerStep);
  out.store_imm32(offsetof(Context, exit_id), exit_id);
  out.jmp(stubs_.step_done);
}

// Where an exit that is not linked leads.
std::uint64_t Translator::unlinked(const Exit& exit) const {
  if (!exit.near && !exit.quiet) return stubs_.unlinked;
  const bool told_apart = exit.stub != 0 && exit.branch_after == 0;
  return told_apart ? exit.stub : exit.patch_after;
}

std::uint32_t Translator::emit_direct_exit(std::uint64_t target, bool taken, std::uint64_t branch) {
  unmap();
  const std::uint32_t id = new_exit(ExitKind::Direct, branch, target, current_.instructions, taken, running_);
  emit_append(id);
  emit_leave(id, current_.variant == Variant::Full || current_.variant == Variant::Near ||
                     current_.variant == Variant::Logged);
  return id;
}

// ---- the way to the event horizon without a fault -------------------------------------------------------------

std::uint64_t Translator::brake_bytes() const {
  if (!options_.brakes || has_near()) return 0;
  return options_.addresses ? kModelledBrakeBytes : kBrakeBytes;
}

// One brake to a block, where the program's flags are about to be overwritten, so that it may write them. Not before the first
// instruction, since a block that is entered makes progress; unless there is no other place, in the budget form, where a block is entered
// from afar. Measured there: an interpreter's loop runs 10 % slower with all brakes as early as they can be.
bool Translator::wants_brake(const Path& path, std::size_t index) const {
  if (!options_.brakes || braked_ || current_.variant != Variant::Full || current_.unseen_changes ||
      !overwrites_flags(path.steps[index].insn))
    return false;
  return index != 0 || (has_near() && !path.has_brake());
}

// In the budget form it counts, for the whole path: what then leaves it earlier takes back the rest (advance_to).
void Translator::emit_brake(const Path& path, std::size_t index) {
  out_.need(kMostPerStep);
  constexpr unsigned kAboveOrEqual = 3, kGreaterOrEqual = 13;
  if (has_near()) {
    out_.add_imm8(kTracePointer, 0);
    brake_adds_after_ = out_.here();
    brake_adds_ = kUnknown;
    out_.jcc(kGreaterOrEqual, out_.here());
  } else {
    out_.compare32(kTracePointer, static_cast<std::uint32_t>(window_.trace_end() - brake_bytes()));
    out_.jcc(kAboveOrEqual, out_.here());
  }
  add_side_exit(path.steps[index].insn.pc, index != 0 && path.steps[index - 1].follow_taken).brake = true;
  current_.braked_at = static_cast<std::uint16_t>(index);
  braked_ = true;
}

// Where the brake of the block let pass, the block's exit stays before the guard, so it need not look.
bool Translator::is_quiet(ExitKind kind) const {
  return braked_ && has_near() && (kind == ExitKind::Direct || kind == ExitKind::Indirect);
}

// What an exit adds to the trace pointer. A brake before it has added what the end of the path does, of which it learns first.
std::int16_t Translator::advance_to(std::int32_t all) {
  if (!braked_) return static_cast<std::int16_t>(all);
  if (brake_adds_ == kUnknown) {  // this is the end
    brake_adds_ = all;
    *reinterpret_cast<std::int8_t*>(brake_adds_after_ - 1) = static_cast<std::int8_t>(all);
  }
  return static_cast<std::int16_t>(all - brake_adds_);
}

// In the budget form straight on in Variant::Near, once linked.
void Translator::emit_brake_exit(const SideExit& side) {
  unmap();
  const std::uint32_t id = new_exit(ExitKind::Direct, 0, side.target, side.instructions, side.taken, running_);
  store_.exit(id).brake = true;
  store_.exit(id).near = has_near();
  store_.exit(id).quiet = false;
  emit_append(id);
  emit_leave(id, store_.exit(id).near);
}

// Falls through if all of the block may run. `imm` is patched when the block's length is known.
void Translator::emit_near_check(const Path& path) {
  stop_jump_ = 0;
  near_instructions_ = path.steps.size();
  if (near_instructions_ != 0 && path.steps.back().insn.flow == Flow::Breakpoint)
    --near_instructions_;  // does not retire
  near_flags_saved_ = path.steps.empty() || !overwrites_flags(path.steps[0].insn);
  if (near_flags_saved_) {
    out_.store(offsetof(Context, slot_rax), kRax);
    out_.flags_to_ax();
  }
  out_.compare32(kTracePointer, 0);
  near_limit_after_ = out_.here();
  constexpr unsigned kGreater = 15;
  out_.jcc(kGreater, out_.here());
  near_jump_after_ = out_.here();
  if (near_flags_saved_) {
    out_.ax_to_flags();
    out_.load(kRax, offsetof(Context, slot_rax));
  }
}

// Before the code of an instruction, whose glue is there: is this where the stop is, as zs_choose_stop says? The trace pointer tells it, which
// is that of the block's entry. Nothing of the program changes: rcx and the stolen register change places meanwhile.
void Translator::emit_stop_check(bool plain, bool foreseen) {
  const std::uint64_t index = current_.instructions - 1U;
  const bool behind = index != 0 && store_.meta(current_, index - 1).plain != 0;
  const bool before = index == 0 ? foreseen : !plain || index + 1 == near_instructions_;
  if (!behind && !before) return;
  constexpr unsigned kLongest = 32, kReach = 128;  // bytes: of the check up to its last jrcxz, and how far that jumps
  if (stop_jump_ == 0 || out_.here() + kLongest - stop_jump_ > kReach) {
    out_.u8(0xEB);
    out_.u8(5);  // jmp over what follows
    stop_jump_ = out_.here();
    out_.jmp(stubs_.at_stop);
  }
  const auto end = static_cast<std::int32_t>(near_end() - window_.pointer_bias());
  std::int32_t added = static_cast<std::int32_t>(index) - (behind ? 1 : 0) - end;
  out_.exchange(kRcx, kTracePointer);
  out_.add_disp(kRcx, added);
  out_.jrcxz(stop_jump_);
  if (behind && before) {
    out_.add_disp(kRcx, 1);
    out_.jrcxz(stop_jump_);
    ++added;
  }
  out_.add_disp(kRcx, -added);
  out_.exchange(kRcx, kTracePointer);
}

void Translator::emit_near_exit() {
  const auto limit = static_cast<std::uint32_t>(near_end() - current_.instructions - window_.pointer_bias());
  std::memcpy(reinterpret_cast<void*>(near_limit_after_ - sizeof limit), &limit, sizeof limit);
  out_.need(kMostPerStep);
  Emitter::patch_rel32(near_jump_after_, out_.here());
  out_.store_imm32(offsetof(Context, near_table), 0);
  const std::uint64_t table_after = out_.here();
  out_.jmp(stubs_.choose_stop);
  const auto restore_flags = [&] {
    if (!near_flags_saved_) return;
    out_.ax_to_flags();
    out_.load(kRax, offsetof(Context, slot_rax));
  };
  NearTable table{};
  table.leave = static_cast<std::uint32_t>(out_.here());
  restore_flags();
  out_.jmp(out_.here());
  const std::uint64_t leave_after = out_.here();
  table.over = static_cast<std::uint32_t>(out_.here());
  restore_flags();
  std::fill(running_.begin(), running_.end(), 0);
  const std::uint32_t id = new_exit(ExitKind::Horizon, current_.pc, current_.pc, 0, false, running_);
  emit_leave(id, true);
  Emitter::patch_rel32(leave_after, store_.exit(id).patch_after);
  while (out_.here() % alignof(NearTable) != 0) out_.u8(0xCC);
  const auto table_at = static_cast<std::uint32_t>(out_.here());
  std::memcpy(reinterpret_cast<void*>(table_after - sizeof table_at), &table_at, sizeof table_at);
  emit_near_table(table);
}

void Translator::emit_near_table(NearTable table) {
  table.block = current_index_;
  table.entry = static_cast<std::uint32_t>(current_.entry);
  table.resume = static_cast<std::uint32_t>(near_jump_after_);
  table.end = static_cast<std::uint32_t>(near_end());
  table.instructions = current_.instructions;
  out_.bytes(&table, sizeof table);
  out_.need(sizeof(std::uint32_t) * current_.instructions);
  for (std::size_t i = 0; i < current_.instructions; ++i) {
    const InsnMeta& meta = store_.meta(current_, i);
    out_.u32(meta.code_offset | (meta.plain != 0 ? NearTable::kPlain : 0) |
             (meta.foreseen != 0 ? NearTable::kForeseen : 0));
  }
}

void Translator::emit_special_exit(ExitKind kind, std::uint64_t pc, std::uint64_t target, bool taken) {
  unmap();
  const std::uint32_t id = new_exit(kind, pc, target, current_.instructions, taken, running_);
  emit_append(id);
  emit_leave(id, false);
}

// Of a call. Most are run soon after they are translated, and come back.
void Translator::emit_push_return(std::uint64_t pc) {
  if (fits32(pc)) {
    out_.push_imm32(static_cast<std::uint32_t>(pc));
  } else {
    out_.push_literal(out_.here() + 6);  // patched when the literal has its place
    literals_.emplace_back(out_.here(), pc);
  }
  if (current_.variant != Variant::Full || !window_.direct_covers(pc)) return;
  window_.expect_direct(pc, stubs_.direct_miss);
  out_.prefetch_if_near(window_.direct_entry(pc));
}

void Translator::emit_load_target(const Insn& insn) {
  if (insn.target_register >= 0) {
    const int reg = insn.target_register == kTracePointer ? mapping_.reg : insn.target_register;
    if (reg != kRcx) out_.mov(kRcx, static_cast<Gpr>(reg));
    return;
  }
  if (insn.rip_relative && !fits32(rip_target(insn) - (out_.here() + 16))) {
    out_.mov_imm(kRcx, rip_target(insn));
    for (const unsigned byte : {0x48, 0x8B, 0x09}) out_.u8(byte);  // mov rcx, [rcx]
    return;
  }
  // mov rcx, m64 with the operand as the branch encodes it
  std::uint8_t bytes[16];
  copy(insn, bytes);
  unsigned extension = 0;
  for (std::uint8_t i = 0; i < insn.opcode_at; ++i) {
    if (bytes[i] == kGsPrefix || bytes[i] == 0x67) out_.u8(bytes[i]);
    if ((bytes[i] & 0xF0u) == 0x40) extension = bytes[i] & 3u;
  }
  out_.u8(0x48u | extension);
  out_.u8(0x8B);
  out_.u8((bytes[insn.modrm_at] & 0xC7u) | (kRcx << 3));
  const unsigned rest = insn.modrm_at + 1u;
  if (insn.rip_relative) {
    out_.u32(static_cast<std::uint32_t>(rip_target(insn) - (out_.here() + 4)));
  } else {
    out_.bytes(bytes + rest, insn.length - rest);
  }
}

void Translator::emit_indirect_exit(const Insn& insn) {
  note_meta(insn, kRcxSpilled);
  out_.store(offsetof(Context, slot_rcx), kRcx);
  if (insn.flow == Flow::Return) {
    out_.pop(kRcx);
    if (insn.return_pop != 0) out_.add_rsp(insn.return_pop);
  } else {
    emit_load_target(insn);
    if (insn.flow == Flow::IndirectCall) emit_push_return(insn.next());
  }
  emit_indirect_tail(insn.pc);
}

// The target is in rcx, the program's rcx in its slot.
void Translator::emit_indirect_tail(std::uint64_t pc) {
  unmap();
  const std::uint32_t id = new_exit(ExitKind::Indirect, pc, 0, current_.instructions, true, running_);
  emit_append(id);
  if (current_.variant == Variant::Near || current_.variant == Variant::Logged) {
    emit_hashed_lookup(window_.near_table_address());
  } else if (current_.variant != Variant::Full) {
    out_.jmp(stubs_.indirect_miss);
  } else if (looks_up_directly()) {
    for (const unsigned byte : {0xFF, 0x24, 0xCD}) out_.u8(byte);  // jmp [rcx*8 + bias]
    out_.u32(window_.direct_bias());
  } else {
    emit_hashed_lookup(window_.table_address());
  }
}

void Translator::emit_hashed_lookup(std::uint64_t table) {
  fill_table(table);
  out_.store(offsetof(Context, slot_rax), kRax);
  for (const unsigned byte : {0x0F, 0xB7, 0xC1}) out_.u8(byte);  // movzx eax, cx
  for (const unsigned byte : {0xFF, 0x24, 0xC5}) out_.u8(byte);  // jmp [table + rax*8]
  out_.u32(static_cast<std::uint32_t>(table));
}

// A return to the call that the block itself contains: compared, and the path goes on.
void Translator::emit_expected_return(const PathStep& step) {
  note_meta(step.insn, kRcxSpilled);
  out_.store(offsetof(Context, slot_rcx), kRcx);
  out_.pop(kRcx);
  out_.add_disp(kRcx, static_cast<std::int32_t>(0 - step.follow_return));
  out_.jmp_unless_rcx_is_0(out_.here());
  add_side_exit(step.follow_return, true).unexpected_return = &step.insn;
  out_.load(kRcx, offsetof(Context, slot_rcx));
}

bool Translator::looks_up_directly() const {
  return window_.direct_covers(current_.pc) && !far_callers_.contains(current_.pc);
}

void Translator::emit_step(const Path& path, std::size_t index) {
  const PathStep& step = path.steps[index];
  const Insn& insn = step.insn;
  out_.need(kMostPerStep);
  if (insn.flow == Flow::Breakpoint) {  // a trap: does not count as retired
    note_meta(insn, 0);
    return emit_special_exit(ExitKind::Breakpoint, insn.pc, insn.next());
  }
  ++current_.instructions;
  if (insn.flow == Flow::Syscall || insn.flow == Flow::Emulated) {
    fact_counts_.add(insn.facts, insn.flow == Flow::Syscall, running_);
    note_meta(insn, 0);
    return emit_special_exit(insn.flow == Flow::Syscall ? ExitKind::Syscall : ExitKind::Emulated, insn.pc, insn.next());
  }
  map_trace_register(path, index);
  if (options_.addresses && current_.variant != Variant::Step) {
    emit_slots(std::span(step.slots.before).first(step.slots.stores_before));
    slots_used_ = step.slots.used;
    if (step.risky && (options_.risks != 0 || current_.variant == Variant::Logged)) ++risky_;
  }
  switch (insn.flow) {
    case Flow::Plain:
    case Flow::Stop:
      fact_counts_.add(insn.facts, false, running_);
      if (insn.facts.rep_string && options_.count_elements && current_.variant != Variant::Step)
        emit_rep_string(insn);
      else
        emit_plain(insn);
      if (current_.variant == Variant::Logged) emit_log(step.slots);
      break;
    case Flow::Jump:
      fact_counts_.add(insn.facts, true, running_);
      note_meta(insn, 0);
      break;
    case Flow::Call:
      fact_counts_.add(insn.facts, true, running_);
      note_meta(insn, 0);
      emit_push_return(insn.next());
      break;
    case Flow::TransactionBegin:
      fact_counts_.add(insn.facts, false, running_);
      note_meta(insn, 0);
      out_.mov_imm(kRax, 0);  // abort status: no reason, no retry
      break;
    case Flow::ConditionalJump:
    case Flow::CounterJump: {
      note_meta(insn, 0);
      if (insn.flow == Flow::ConditionalJump) {
        out_.jcc(step.follow_taken ? insn.condition ^ 1u : insn.condition, out_.here());
      } else {
        out_.bytes(insn.bytes.data(), insn.length - 1u);  // the short form, over the jump that skips the long one
        out_.u8(2);
        out_.u8(0xEB);
        out_.u8(5);
        out_.jmp(out_.here());
      }
      SideExit& side = add_side_exit(step.follow_taken ? insn.next() : insn.target, !step.follow_taken);
      side.branch = insn.pc;
      fact_counts_.add(insn.facts, side.taken, counts_of(side));
      fact_counts_.add(insn.facts, step.follow_taken, running_);
      break;
    }
    case Flow::IndirectJump:
    case Flow::IndirectCall:
    case Flow::Return:
      fact_counts_.add(insn.facts, true, running_);
      if (step.follow_return != 0)
        emit_expected_return(step);
      else
        emit_indirect_exit(insn);
      break;
    default: CHECK(false && "no translation for this flow");
  }
}

// The path may be left here, by the jump just emitted.
Translator::SideExit& Translator::add_side_exit(std::uint64_t target, bool taken) {
  SideExit side;
  side.jump_after = out_.here();
  side.target = target;
  side.mapping = mapping_;
  side.counts = side_counts_.size();
  side_counts_.insert(side_counts_.end(), running_.begin(), running_.end());
  side.instructions = current_.instructions;
  side.slots = slots_used_;
  side.risky = risky_;
  side.taken = taken;
  side.braked = braked_;
  return side_exits_.emplace_back(side);
}

std::span<std::uint32_t> Translator::counts_of(const SideExit& side) {
  return std::span(side_counts_).subspan(side.counts, running_.size());
}

// In the way of a path that stays, they would only take room: most are never taken.
void Translator::emit_side_exits() {
  const bool apart = current_.variant == Variant::Full;
  if (apart) std::swap(out_, cold_);
  for (const SideExit& side : side_exits_) {
    out_.need(kMostPerStep);
    const std::uint64_t stub = out_.here();
    Emitter::patch_rel32(side.jump_after, out_.here());
    mapping_ = side.mapping;
    const std::uint16_t instructions = current_.instructions;
    std::ranges::copy(counts_of(side), running_.begin());
    current_.instructions = side.instructions;
    slots_used_ = side.slots;
    risky_ = side.risky;
    braked_ = side.braked || side.brake;
    if (side.brake) {
      emit_brake_exit(side);
    } else if (side.unexpected_return != nullptr) {
      out_.add_disp(kRcx, static_cast<std::int32_t>(side.target));  // what was expected
      emit_indirect_tail(side.unexpected_return->pc);
    } else {
      const std::uint32_t id = emit_direct_exit(side.target, side.taken, side.branch);
      if (apart && side.mapping.reg < 0) {
        store_.exit(id).branch_after = static_cast<std::uint32_t>(side.jump_after);
        store_.exit(id).stub = static_cast<std::uint32_t>(stub);
      }
    }
    current_.instructions = instructions;
  }
  if (apart) {
    cold_at_ = out_.here();
    std::swap(out_, cold_);
  }
  side_exits_.clear();
  side_counts_.clear();
}

void Translator::emit_hashed_entry(std::uint32_t index, std::uint64_t table_address) {
  fill_table(table_address);
  auto* const table = reinterpret_cast<std::uint64_t*>(table_address);
  // rcx = the wanted pc. Ours: rcx - pc == 0. Not ours: restore it and ask the next block of this table entry.
  Block& block = store_.block(index);
  const std::uint64_t pc = block.pc;
  std::uint64_t& end = end_of(block.variant);
  begin_at((end + 15) & ~std::uint64_t{15});
  block.hashed_entry = out_.here();
  const bool low = fits32(pc) && fits32(0 - pc);
  const auto add_to_rcx = [&](std::uint64_t value) {
    if (low) {
      out_.u8(0x48);
      out_.u8(0x8D);
      out_.u8(0x89);
      out_.u32(static_cast<std::uint32_t>(value));  // lea rcx, [rcx + disp32]
    } else {
      out_.mov_imm(kRax, value);
      for (const unsigned byte : {0x48, 0x8D, 0x0C, 0x01}) out_.u8(byte);  // lea rcx, [rcx + rax]
    }
  };
  std::uint64_t& head = table[pc & 0xFFFF];
  const std::uint64_t prefix = out_.here();
  add_to_rcx(0 - pc);
  out_.u8(0xE3);  // jrcxz ours
  out_.u8(0);
  const std::uint64_t jrcxz_after = out_.here();
  add_to_rcx(pc);
  out_.jmp(head);  // at the end of the chain: hashed_miss
  *reinterpret_cast<std::uint8_t*>(jrcxz_after - 1) = static_cast<std::uint8_t>(out_.here() - jrcxz_after);
  out_.load(kRcx, offsetof(Context, slot_rcx));
  out_.load(kRax, offsetof(Context, slot_rax));
  out_.jmp(block.entry);
  head = prefix;
  end = out_.here();
}

// Half a mebibyte each, which most programs need none of: cleared when a first lookup is emitted.
void Translator::fill_table(std::uint64_t address) {
  bool& filled = address == window_.table_address() ? table_filled_ : near_table_filled_;
  if (!std::exchange(filled, true)) window_.clear_table(address, stubs_.hashed_miss);
}

const Block& Translator::get(std::uint64_t pc, Variant variant, std::uint32_t from) {
  if (const Block* block = find(pc, variant)) {
    if (!block->unseen_changes ||
        builder_.replay(*block, std::max<unsigned>(block->instructions, 1)).checksum() == block->checksum)
      return *block;
    kill(index_of(*block));
  }
  if (nearly_full() || flush_soon_ || store_.mostly_dead()) {
    flush();
    from = kNone;
  }
  return translate(pc, variant, from);
}

const Block& Translator::translate(std::uint64_t pc, Variant variant, std::uint32_t from) {
  const Path& path = builder_.collect(pc, variant, variant == Variant::Step ? 1 : options_.max_instructions);
  current_ = Block{};
  current_.pc = pc;
  current_.variant = variant;
  current_.unseen_changes = source_.may_change_unseen(pc);
  if (current_.unseen_changes) current_.checksum = path.checksum();
  current_index_ = store_.begin(current_);
  copy_of_ = adjacent_ = kNone;
  if (from != kNone && (!may_link(from) || links_to(store_.exit(from)) != variant)) from = kNone;
  std::uint64_t& code_end = end_of(variant);
  begin_at(from == kNone ? (code_end + kEntryAlignment - 1) & ~(kEntryAlignment - 1) : code_end);
  cold_ = Emitter(cold_at_, near_begin_, window_.context_address());
  if (variant == Variant::Full && !looks_up_directly()) hashed_lookups_ = true;
  if (from == kNone)
    emit_direct_entry();
  else
    approach_from(from);
  emit_block(path);
  code_end = out_.here();

  store_.add(current_);
  if (options_.wants_retirements && current_.unseen_changes) replay_.keep(current_index_, path);
  std::uint64_t listed = ~std::uint64_t{0};  // no page
  path.for_each_page([&](std::uint64_t page) {
    note_page(page);
    if (page != std::exchange(listed, page)) store_.add_to_page(page, current_index_);
  });
  link_end(path);
  return store_.block(current_index_);
}

const Block& Translator::once(std::uint64_t pc, std::uint64_t instructions) {
  const auto limit = static_cast<unsigned>(std::min<std::uint64_t>(instructions, options_.max_instructions));
  const Path& path = builder_.collect(pc, Variant::Once, limit);
  current_ = Block{};
  current_.pc = pc;
  current_.variant = Variant::Once;
  current_index_ = store_.begin(current_);
  out_ = Emitter(window_.code_begin(), window_.code_begin() + kOnceBytes, window_.context_address());
  emit_block(path);
  // A store into the code that it is made of must fault, as for any other.
  path.for_each_page([this](std::uint64_t page) { note_page(page); });
  return store_.add(current_);
}

void Translator::begin_at(std::uint64_t at) {
  out_ = Emitter(at, at < near_begin_ ? window_.cold_begin() : window_.code_end(), window_.context_address());
  out_.need(kMostPerStep);
}

// Falls into the block.
void Translator::emit_direct_entry() {
  current_.direct_entry = out_.here();
  out_.load(kRcx, offsetof(Context, slot_rcx));
}

// A block is made when somebody wants to go there for the first time. What leads there then may lie right before it: a copy of the
// side exit, or the end of the path, if that was made last. link() makes use of it.
void Translator::approach_from(std::uint32_t exit_id) {
  const Exit& exit = store_.exit(exit_id);
  if (exit.branch_after != 0) {
    copy_of_ = exit_id;
    copy_at_ = out_.here();
    emit_record(exit_id);
  } else if (exit.patch_after == out_.here() && !exit.near) {
    adjacent_ = exit_id;
  }
}

// What makes up the block that current_ has begun to describe.
void Translator::emit_block(const Path& path) {
  current_.mark = path.mark;
  current_.entry = out_.here();
  current_.cold_entry = cold_at_;
  mapping_ = {};
  running_.assign(options_.tallies() ? lanes_.size() : 0, 0);
  slots_used_ = risky_ = 0;
  literals_.clear();

  braked_ = false;
  if (current_.unseen_changes && current_.variant == Variant::Full) emit_code_check(path);
  if (current_.variant == Variant::Near) emit_near_check(path);
  if (current_.variant == Variant::Logged) emit_start_of_log();
  for (std::size_t i = 0; i < path.steps.size(); ++i) {
    if (wants_brake(path, i)) emit_brake(path, i);
    emit_step(path, i);
  }
  if (!path.terminated) {
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
  emit_side_exits();
  emit_stale_exit();
  if (current_.variant == Variant::Near) emit_near_exit();
  out_.need(sizeof(std::uint64_t) * literals_.size());
  for (const auto& [after, value] : literals_) {
    Emitter::patch_rel32(after, out_.here());
    out_.u64(value);
  }
  current_.code_bytes = static_cast<std::uint32_t>(out_.here() - current_.entry);
}

// There is code of that page, which is watched from now on.
void Translator::note_page(std::uint64_t page) {
  if (store_.note_page(page)) source_.translated(page);
}

// ---- links ----------------------------------------------------------------------------------------------------

// Blocks lead to their like, but for brakes, and for what lies behind a stop.
Variant Translator::links_to(const Exit& exit) const {
  if (!exit.near) return store_.block(exit.block).variant;
  return exit.kind == ExitKind::Horizon ? Variant::Full : Variant::Near;
}

// The end of the path just translated leads to where it goes at once, if that is there: no visit, and no store into code that has run
// already. Not where the block's first exit is that of its code check.
void Translator::link_end(const Path& path) {
  if (path.terminated || path.end_kind != ExitKind::Direct || current_.unseen_changes) return;
  CHECK(store_.exit(current_.first_exit).target == path.end_pc, store_.exit(current_.first_exit).target, path.end_pc);
  const Block* const target = find(path.end_pc, current_.variant);
  if (target != nullptr && !target->unseen_changes) link(current_.first_exit, *target);
}

bool Translator::may_link(std::uint32_t exit_id) const {
  const Exit& exit = store_.exit(exit_id);
  return exit.patch_after != 0 && exit.linked_to == kNone && !store_.block(exit.block).dead;
}

bool Translator::comes_out_again(std::uint32_t exit_id) {
  Exit& exit = store_.exit(exit_id);
  return exit.near && exit.kind == ExitKind::Direct && !exit.brake && may_link(exit_id) &&
         std::exchange(exit.came_out, true);
}

void Translator::link(std::uint32_t exit_id, const Block& target) {
  Exit& exit = store_.exit(exit_id);
  if (exit.patch_after == 0 || exit.linked_to != kNone || store_.block(exit.block).dead ||
      target.variant != links_to(exit))
    return;
  lead(exit_id, target);
  add_incoming(exit_id, index_of(target));
}

void Translator::add_incoming(std::uint32_t exit_id, std::uint32_t block) {
  store_.exit(exit_id).linked_to = block;
  store_.exit(exit_id).next_incoming = store_.block(block).incoming;
  store_.block(block).incoming = exit_id;
}

// Makes `exit` jump to `target`. A side exit comes from far away: a copy of it takes its place.
void Translator::lead(std::uint32_t exit_id, const Block& target) {
  Exit& exit = store_.exit(exit_id);
  const bool made_last = index_of(target) + 1 == store_.size();
  if (made_last && exit_id == adjacent_) {
    exit.adjacent = true;
    std::memcpy(reinterpret_cast<void*>(exit.patch_after - sizeof kNop), kNop, sizeof kNop);
    return;
  }
  if (made_last && exit_id == copy_of_) return Emitter::patch_rel32(exit.branch_after, copy_at_);
  if (exit.branch_after == 0 || nearly_full()) return Emitter::patch_rel32(exit.patch_after, target.entry);
  std::uint64_t& end = end_of(target.variant);
  begin_at(end);
  emit_record(exit_id);
  out_.jmp(target.entry);
  Emitter::patch_rel32(exit.branch_after, end);
  end = out_.here();
}

void Translator::lead_nowhere(Exit& exit) {
  if (std::exchange(exit.adjacent, false)) *reinterpret_cast<std::uint8_t*>(exit.patch_after - sizeof kNop) = 0xE9;
  if (exit.branch_after != 0) Emitter::patch_rel32(exit.branch_after, exit.stub);
  Emitter::patch_rel32(exit.patch_after, unlinked(exit));
}

void Translator::add_indirect_entry(std::uint32_t index) {
  Block& block = store_.block(index);
  if (window_.direct_covers(block.pc)) {
    // Most code runs once or twice, and to touch a page of the table costs as much as some visits.
    constexpr unsigned kFewestMeetings = 5;
    if (!window_.direct_is_touched(block.pc) && ++block.met_indirectly < kFewestMeetings) return;
    if (block.direct_entry == 0) {
      if (nearly_full()) return;
      begin_at(at_);
      block.direct_entry = at_;
      out_.load(kRcx, offsetof(Context, slot_rcx));
      out_.jmp(block.entry);
      at_ = out_.here();
    }
    window_.set_direct(block.pc, block.direct_entry, stubs_.direct_miss);
  }
  if (block.hashed_entry != 0 || (window_.has_direct_table() && !hashed_lookups_)) return;
  emit_hashed_entry(index, window_.table_address());
}

void Translator::add_near_entry(std::uint32_t index) {
  if (store_.block(index).hashed_entry == 0) emit_hashed_entry(index, window_.near_table_address());
}

void Translator::note_far_target(std::uint64_t cache_pc) {
  std::uint32_t index = locate(cache_pc).block;
  if (cache_pc >= window_.cold_begin() && cache_pc < near_begin_) index = store_.locate_side_exit(cache_pc);
  if (index == kNone || store_.block(index).dead) return;
  far_callers_.insert(store_.block(index).pc);
  kill(index);
}

void Translator::unlink_incoming(Block& block) {
  for (std::uint32_t id = block.incoming; id != kNone;) {
    Exit& exit = store_.exit(id);
    lead_nowhere(exit);
    exit.linked_to = kNone;
    id = exit.next_incoming;
    exit.next_incoming = kNone;
  }
  block.incoming = kNone;
}

void Translator::kill(std::uint32_t index) {
  Block& block = store_.block(index);
  if (block.dead) return;
  store_.bury(index);
  unlink_incoming(block);
  if (block.variant == Variant::Full && window_.direct_covers(block.pc)) {
    window_.clear_direct(block.pc, stubs_.direct_miss);
  }
  if (block.hashed_entry != 0) {
    // Its check now always fails: jrcxz +0 falls into the "not ours" path.
    const bool low = fits32(block.pc) && fits32(0 - block.pc);
    const std::uint64_t mov_bytes = (0 - block.pc) <= UINT32_MAX ? 5 : 10;
    const std::uint64_t jrcxz = block.hashed_entry + (low ? 7 : mov_bytes + 4);
    CHECK(*reinterpret_cast<std::uint8_t*>(jrcxz) == 0xE3);
    *reinterpret_cast<std::uint8_t*>(jrcxz + 1) = 0;
  }
  // Its own exits leave the lists of what they are linked to.
  for (std::uint32_t id = block.first_exit; id < block.first_exit + block.exits; ++id) {
    Exit& exit = store_.exit(id);
    if (exit.linked_to == kNone) continue;
    for (std::uint32_t* at = &store_.block(exit.linked_to).incoming; *at != kNone;
         at = &store_.exit(*at).next_incoming) {
      if (*at == id) {
        *at = exit.next_incoming;
        break;
      }
    }
    lead_nowhere(exit);
    exit.linked_to = kNone;
    exit.next_incoming = kNone;
  }
}

void Translator::invalidate(std::uint64_t start, std::uint64_t end) {
  constexpr unsigned kPageShift = 12;
  store_.take_pages(start >> kPageShift, (end - 1) >> kPageShift, [this](std::uint32_t block) { kill(block); });
}

std::size_t Translator::bytes() const {
  return store_.bytes() + window_.direct_bytes() + (at_ - window_.code_begin()) + (cold_at_ - window_.cold_begin()) +
         (near_at_ - near_begin_);
}

void Translator::flush() {
  ++flushes_;
  flush_soon_ = false;
  store_.clear();
  at_ = window_.code_begin() + kOnceBytes;
  cold_at_ = window_.cold_begin();
  near_at_ = near_begin_;
  replay_.clear();
  table_filled_ = near_table_filled_ = false;
  window_.forget_direct();
}

}  // namespace zs::engine
