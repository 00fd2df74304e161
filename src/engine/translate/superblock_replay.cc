#include "engine/translate/superblock_replay.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/check.h"

namespace zs::engine {

void SuperblockReplay::clear() {
  branches_.clear();
  retirements_.clear();
  kept_sums_.clear();
  kept_sums_at_.clear();
}

void SuperblockReplay::count_prefix(const Block& block, unsigned instructions, std::span<std::uint32_t> counts) {
  if (instructions == 0) return;
  const Path& path = builder_.replay(block, instructions);
  for (std::size_t i = 0; i < path.steps.size() && i < instructions; ++i)
    fact_counts_.add(path.steps[i].insn.facts, path.steps[i].taken(), counts);
}

// ---- instructions ---------------------------------------------------------------------------------------------

std::span<const PathInsn> SuperblockReplay::path_to(std::uint32_t exit_id) {
  const Exit& exit = store_.exit(exit_id);
  if (exit.instructions == 0) return {};
  return describe(builder_.replay(store_.block(exit.block), exit.instructions), &exit);
}

std::span<const PathInsn> SuperblockReplay::path_into(const Block& block, unsigned instructions) {
  return describe(builder_.replay(block, instructions), nullptr);
}

std::span<const PathInsn> SuperblockReplay::describe(const Path& path, const Exit* exit) {
  path_insns_.clear();
  for (std::size_t i = 0; i < path.steps.size(); ++i) {
    const PathStep& step = path.steps[i];
    const bool last = exit != nullptr && i + 1 == exit->instructions;
    // A side exit leaves by the branch itself; any other goes the way that the path follows.
    const bool leaves = last && exit->leaves_by_branch() && step.insn.facts.branch == arch::BranchKind::Conditional;
    PathInsn& insn = path_insns_.emplace_back();
    insn.insn = &step.insn;
    insn.slots = &step.slots;
    insn.taken = leaves ? exit->taken : step.taken();
    const bool unknown = last && exit->kind == ExitKind::Indirect;
    if (insn.taken && !unknown) insn.went_to = step.follow_return != 0 ? step.follow_return : step.insn.target;
  }
  return path_insns_;
}

// ---- counts ---------------------------------------------------------------------------------------------------

Retirements SuperblockReplay::retirements_of(const Path& path) {
  Retirements of_path;
  of_path.insns.reserve(path.steps.size());
  of_path.sums.reserve((path.steps.size() + 1) * accumulators_.size());
  of_path.sums.assign(accumulators_.size(), 0);
  for (const PathStep& step : path.steps) {
    const bool taken = step.taken();
    of_path.insns.push_back({step.insn.facts, taken});
    for (const std::uint32_t count : fact_counts_.of(step.insn.facts, taken))
      of_path.sums.push_back(
          static_cast<std::uint16_t>(count + of_path.sums[of_path.sums.size() - accumulators_.size()]));
  }
  return of_path;
}

Retirements& SuperblockReplay::kept(std::uint32_t block) {
  if (block >= retirements_.size()) retirements_.resize(std::size_t{block} + 1);
  return retirements_[block];
}

void SuperblockReplay::keep(std::uint32_t block, const Path& path) {
  Retirements& of_block = kept(block);
  of_block = retirements_of(path);
  check_exits(store_.block(block), of_block);
}

const Retirements& SuperblockReplay::retirements(std::uint32_t block, unsigned instructions) {
  Retirements& of_block = kept(block);
  if (of_block.insns.size() < instructions) {
    const Block& described = store_.block(block);
    of_block = retirements_of(builder_.replay(described, std::max<unsigned>(instructions, described.instructions)));
    check_exits(described, of_block);
  }
  return of_block;
}

bool SuperblockReplay::taken_at_end(const Retirements& path, unsigned instructions, const Exit* exit) {
  const Retirement& last = path.insns[instructions - 1];
  const bool leaves = exit != nullptr && exit->leaves_by_branch();
  return leaves && last.facts.branch == arch::BranchKind::Conditional ? exit->taken : last.taken;
}

void SuperblockReplay::check_exits(const Block& block, const Retirements& path) {
  const std::size_t accumulators = accumulators_.size();
  for (std::uint32_t id = block.first_exit; id < block.first_exit + block.exits; ++id) {
    const unsigned instructions = store_.exit(id).instructions;
    if (instructions == 0) continue;
    const Retirement& last = path.insns[instructions - 1];
    const auto of_last = fact_counts_.of(last.facts, taken_at_end(path, instructions, &store_.exit(id)));
    for (std::size_t accumulator = 0; accumulator < accumulators; ++accumulator) {
      const std::uint32_t sum = path.sums[(instructions - 1) * accumulators + accumulator] + of_last[accumulator];
      CHECK(sum == store_.counts().at(id, accumulator), id, accumulator, sum);
    }
  }
}

std::span<const std::uint16_t> SuperblockReplay::sums_to(std::uint32_t exit_id) {
  if (exit_id >= kept_sums_at_.size()) kept_sums_at_.resize(store_.exits());
  std::uint32_t& at = kept_sums_at_[exit_id];
  if (at == 0) {
    at = static_cast<std::uint32_t>(kept_sums_.size() + 1);
    kept_sums_.push_back(static_cast<std::uint16_t>((store_.exit(exit_id).instructions + 1u) * accumulators_.size()));
    keep_sums_to(exit_id);
  }
  return {kept_sums_.data() + at, kept_sums_[at - 1]};
}

/// Not the block's own behind the last instruction: a branch may leave there that the block follows.
void SuperblockReplay::keep_sums_to(std::uint32_t exit_id) {
  const Exit& exit = store_.exit(exit_id);
  const auto& of_block = retirements(exit.block, exit.instructions).sums;
  kept_sums_.insert(kept_sums_.end(), of_block.begin(),
                    of_block.begin() + std::ptrdiff_t(exit.instructions * accumulators_.size()));
  for (std::size_t accumulator = 0; accumulator < accumulators_.size(); ++accumulator)
    kept_sums_.push_back(static_cast<std::uint16_t>(store_.counts().at(exit_id, accumulator)));
}

std::span<const std::uint16_t> SuperblockReplay::sums_into(std::uint32_t block, unsigned instructions) {
  const auto& of_block = retirements(block, instructions).sums;
  sums_.assign(of_block.begin(), of_block.begin() + std::ptrdiff_t((instructions + 1) * accumulators_.size()));
  return sums_;
}

// ---- branches -------------------------------------------------------------------------------------------------

const std::vector<PathBranch>& SuperblockReplay::branches_to(std::uint32_t exit_id) {
  if (const auto found = branches_.find(exit_id); found != branches_.end()) return found->second;
  return branches_.emplace(exit_id, find_branches_to(store_.exit(exit_id))).first->second;
}

std::vector<PathBranch> SuperblockReplay::find_branches_to(const Exit& exit) {
  std::vector<PathBranch> branches;
  if (exit.instructions == 0) return branches;
  const Path& path = builder_.replay(store_.block(exit.block), exit.instructions);
  for (std::size_t i = 0; i < path.steps.size(); ++i)
    add_branch(path.steps[i], i + 1 == exit.instructions ? &exit : nullptr, branches);
  return branches;
}

std::vector<PathBranch> SuperblockReplay::branches_into(const Block& block, unsigned instructions) {
  std::vector<PathBranch> branches;
  if (instructions == 0) return branches;
  for (const PathStep& step : builder_.replay(block, instructions).steps) add_branch(step, nullptr, branches);
  return branches;
}

/// exit  where the path was left behind this instruction; null: it went on as the block follows it
void SuperblockReplay::add_branch(const PathStep& step, const Exit* exit, std::vector<PathBranch>& branches) {
  const auto add = [&](std::uint64_t to) { branches.push_back({step.insn.pc, to, step.insn.facts.branch}); };
  switch (step.insn.flow) {
    case Flow::Jump:
    case Flow::Call: add(step.insn.target); break;
    case Flow::ConditionalJump:
    case Flow::CounterJump:
      if (exit != nullptr ? exit->taken : step.follow_taken) add(step.insn.target);
      break;
    case Flow::Return: add(exit != nullptr && exit->kind == ExitKind::Indirect ? 0 : step.follow_return); break;
    case Flow::IndirectJump:
    case Flow::IndirectCall: add(0); break;  // to: where the next record starts
    default: break;
  }
}

}  // namespace zs::engine
