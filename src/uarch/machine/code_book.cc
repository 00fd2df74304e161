#include "uarch/machine/code_book.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "uarch/branch/path_history.h"

namespace zs::uarch {
namespace {

using arch::AccessKind;
using arch::BranchKind;

/// What cannot be decoded here is as long as the runner says and does nothing.
PlacedInstruction placed(const arch::PathInstruction& told) {
  const auto shape = shape_of({told.bytes, told.length});
  PlacedInstruction placed{told.pc, shape.value_or(InstructionShape{})};
  placed.shape.length = told.length;
  placed.shape.branch = told.facts.branch;
  return placed;
}

constexpr bool reads(AccessKind kind) { return kind != AccessKind::Store && kind != AccessKind::StreamingStore; }

}  // namespace

CodeBook::Key CodeBook::key_of(const arch::PathInstruction& told) {
  Key key{.size = static_cast<std::uint8_t>(sizeof told.pc + 1 + told.length)};
  CHECK(key.size <= key.bytes.size(), told.length);
  std::memcpy(key.bytes.data(), &told.pc, sizeof told.pc);
  key.bytes[sizeof told.pc] = static_cast<char>(told.length);
  std::memcpy(&key.bytes[sizeof told.pc + 1], told.bytes, told.length);
  return key;
}

void CodeBook::describe(std::uint32_t path, const arch::PathDescription& description) {
  CHECK(!description.instructions.empty(), path);
  if (path >= paths_.size()) {
    paths_.resize(path + 1U);
    at_block_start_.resize(path + 1U, nullptr);
    simple_.resize(path + 1U);
  }
  Path& told = paths_[path];
  told = {};
  at_block_start_[path] = nullptr;
  simple_[path].at = Simple::kNone;
  told.instructions.reserve(description.instructions.size());
  for (const arch::PathInstruction& instruction : description.instructions) {
    told.instructions.push_back({placed(instruction), key_of(instruction), instruction.target, instruction.taken});
  }
  told.accesses.assign(description.accesses.begin(), description.accesses.end());
}

const Plan& CodeBook::find_or_make(std::uint32_t path, const KnownBlock* open) {
  Path& known = paths_[path];
  CHECK(!known.instructions.empty(), path);
  std::unique_ptr<Plan>& plan = known.plans[open];
  if (plan == nullptr) plan = make(known, open);
  if (open == nullptr) {
    at_block_start_[path] = plan.get();
    simplify(*plan, simple_[path]);
  }
  return *plan;
}

KnownBlock& CodeBook::block(std::span<const PlacedInstruction> instructions, const std::string& bytes) {
  std::unique_ptr<KnownBlock>& known = blocks_[bytes];
  if (known == nullptr) {
    known = std::make_unique<KnownBlock>();
    known->instructions.assign(instructions.begin(), instructions.end());
    known->bytes = bytes;
    known->id = static_cast<std::uint32_t>(blocks_.size() - 1);
  }
  return *known;
}

const BlockTiming& CodeBook::timing_of(KnownBlock& block, bool taken) {
  std::unique_ptr<BlockTiming>& timing = block.timing[taken ? 1 : 0];
  if (timing == nullptr) {
    timing = std::make_unique<BlockTiming>(timing_, limits_, block.instructions, block.id, taken, detail_);
  }
  return *timing;
}

/// Leaves it as it is where some block is not simple.
void CodeBook::simplify(const Plan& plan, Simple& simple) {
  simple.at = Simple::kNone;
  if (plan.closes_open || plan.after != nullptr) return;
  std::vector<SimpleBlock> blocks;
  const Step* step = plan.steps.data();
  for (const Segment& segment : plan.segments) {
    const Step* const end = plan.steps.data() + segment.steps_end;
    const bool last = &segment == &plan.segments.back();
    const bool whole = !segment.continues && segment.ends && !segment.serialises;
    if (!whole || segment.kind == BranchKind::None || segment.kind == BranchKind::Far) return;
    if (is_indirect(segment.kind) && !last) return;
    const std::uint64_t first_line = segment.first >> kLineBits, last_line = (segment.next - 1) >> kLineBits;
    SimpleBlock& block = blocks.emplace_back();
    block.first_line = first_line;
    block.lines = static_cast<std::uint8_t>(last_line - first_line + 1);
    block.pc = segment.pc;
    block.hash = segment.address;
    block.units = segment.timing->cached().units;
    block.slots = static_cast<std::uint16_t>(segment.timing->slots());
    block.footprint = path_footprint(segment.pc, segment.target);
    block.kind = segment.kind;
    block.length = static_cast<std::uint8_t>(segment.next - segment.pc) & 0xF;
    block.taken = segment.taken;
    block.last = last;
    block.calls_next = segment.target == segment.next;
    if (block.slots != segment.timing->slots()) return;
    for (; step != end; ++step) {
      if (step->kind == StepKind::Fetch) continue;
      const bool plain = step->kind == StepKind::Load || step->kind == StepKind::Store;
      if (!plain || step->bytes == 0 || step->bytes > kLineBytes || block.looks == SimpleBlock::kMostLooks) return;
      if (step->kind == StepKind::Store) ++block.stores;
      block.look[block.looks++] = Look(step->bytes, step->kind == StepKind::Store);
    }
  }
  if (blocks.size() > simple.room) {
    simple.place = static_cast<std::uint32_t>(simple_blocks_.size());
    simple.room = static_cast<std::uint32_t>(blocks.size());
    simple_blocks_.resize(simple_blocks_.size() + blocks.size());
  }
  simple.at = simple.place;
  std::ranges::copy(blocks, simple_blocks_.begin() + simple.place);
}

std::unique_ptr<Plan> CodeBook::make(const Path& path, const KnownBlock* open) {
  auto plan = std::make_unique<Plan>();
  std::vector<PlacedInstruction> instructions;  // of the block under way
  instructions.reserve(std::min(path.instructions.size(), kBlockInstructions));
  plan->steps.reserve(path.accesses.size() + path.instructions.size() / 8 + 2);
  std::string bytes;
  std::size_t loads = 0, branches = 0;
  Segment segment;
  if (open != nullptr && open->next_pc() != path.instructions.front().placed.pc) {
    plan->closes_open = true;
  } else if (open != nullptr) {
    instructions = open->instructions;
    bytes = open->bytes;
    segment.continues = true;
    for (const PlacedInstruction& before : instructions) {
      loads += before.shape.loads;
      branches += before.shape.branch != BranchKind::None ? 1 : 0;
    }
  }

  std::size_t access = 0;
  std::uint64_t line = 0;
  const auto fetch = [&](std::uint64_t linear, bool first) {
    if (!first && linear >> kLineBits == line) return;
    line = linear >> kLineBits;
    plan->steps.push_back(
        {.kind = StepKind::Fetch, .instruction = static_cast<std::uint8_t>(instructions.size()), .at = linear});
  };
  for (std::size_t i = 0; i < path.instructions.size(); ++i) {
    const Instruction& now = path.instructions[i];
    const InstructionShape& shape = now.placed.shape;
    fetch(now.placed.pc, i == 0);
    fetch(now.placed.pc + shape.length - 1, false);
    const auto number = static_cast<std::uint8_t>(instructions.size());
    std::size_t read = 0;
    for (; access < path.accesses.size() && path.accesses[access].instruction == i; ++access) {
      const arch::PathAccess& told = path.accesses[access];
      if (told.kind == AccessKind::Store && access != 0 && path.accesses[access - 1].kind == AccessKind::LockedLoad &&
          path.accesses[access - 1].instruction == i) {
        plan->steps.back().with_next = true;  // one access with it
        continue;
      }
      const bool paired = told.form == arch::AccessForm::Repeated && access + 1 < path.accesses.size() &&
                          path.accesses[access + 1].instruction == i;
      // An instruction may load more often than its shape says (XSAVE and its kin are one load there): the last stands for the rest.
      const bool has_lane = shape.loads != 0 && reads(told.kind);
      const std::size_t lane = has_lane ? loads + std::min<std::size_t>(read++, shape.loads - 1U) : kNoLoad;
      const bool one = told.form == arch::AccessForm::One;
      plan->steps.push_back({.kind = one && told.kind == AccessKind::Load && has_lane ? StepKind::Load
                                     : one && told.kind == AccessKind::Store          ? StepKind::Store
                                                                                      : StepKind::Other,
                             .access = told.kind,
                             .form = told.form,
                             .instruction = number,
                             .load = static_cast<std::uint8_t>(lane),
                             .with_next = paired,
                             .bytes = told.bytes,
                             .at = now.placed.pc});
    }
    loads += shape.loads;
    branches += shape.branch != BranchKind::None ? 1 : 0;
    instructions.push_back(now.placed);
    bytes.append(now.key.bytes.data(), now.key.size);

    const bool last = i + 1 == path.instructions.size();
    const bool ends = shape.branch != BranchKind::None || shape.serialising || shape.repeats ||
                      instructions.size() == kBlockInstructions;
    if (!ends && !last) continue;
    segment.first = segment.continues ? open->instructions.front().pc : instructions.front().pc;
    KnownBlock& known = block(instructions, bytes);
    segment.timing = &timing_of(known, ends && now.taken);
    segment.steps_end = static_cast<std::uint32_t>(plan->steps.size());
    segment.ends = ends;
    segment.instructions = static_cast<std::uint8_t>(instructions.size());
    if (ends) {
      plan->uops += segment.timing->uops();
      plan->fused += segment.timing->fused();
      segment.serialises = shape.serialising;
      segment.kind = shape.branch;
      segment.branch = static_cast<std::uint8_t>(branches - 1);
      segment.taken = now.taken;
      segment.pc = now.placed.pc;
      segment.address = address_hash(now.placed.pc);
      segment.next = now.placed.pc + shape.length;
      segment.target_is_next = is_indirect(shape.branch) && last;
      segment.target = is_indirect(shape.branch) && !last ? path.instructions[i + 1].placed.pc : now.target;
      instructions.clear();
      bytes.clear();
      loads = branches = 0;
    } else {
      timing_of(known, false);
      plan->after = &known;
    }
    plan->segments.push_back(segment);
    segment = {};
  }
  CHECK(access == path.accesses.size(), access);
  return plan;
}

}  // namespace zs::uarch
