#include "engine/account/core_paths.h"

#include <algorithm>
#include <cstring>

namespace zs::engine {
namespace {

bool ends_indirectly(std::span<const PathInsn> insns) {
  using enum arch::BranchKind;
  const arch::BranchKind branch = insns.back().insn->facts.branch;
  return branch == IndirectJump || branch == IndirectCall || branch == Return;
}

}  // namespace

CorePaths::Path CorePaths::describe(std::uint32_t number, std::uint64_t first, std::span<const PathInsn> insns,
                                    std::uint64_t next, arch::CoreFeed& core) {
  if (paths_.size() <= number) paths_.resize(std::max<std::size_t>(number + 1u, 2 * paths_.size()));
  Path& path = paths_[number];
  described_ += path.kind == Path::Unknown ? 1 : 0;
  path = {.pc = first & Path::kPcBits,
          .kind = insns.empty()            ? Path::Empty
                  : next == 0              ? Path::Indirect
                  : ends_indirectly(insns) ? Path::Followed
                                           : Path::Direct};
  if (insns.empty()) return path;
  instructions_.clear();
  accesses_.clear();
  for (const PathInsn& from : insns) {
    arch::PathInstruction& insn = instructions_.emplace_back();
    insn.pc = moved_(from.insn->pc);
    insn.target = moved_(from.went_to);
    insn.facts = from.insn->facts;
    insn.taken = from.taken;
    insn.length = from.insn->length;
    std::memcpy(insn.bytes, from.insn->bytes.data(), sizeof insn.bytes);
    for (const arch::PathAccess& access : from.slots->accesses) {
      accesses_.push_back(access);
      accesses_.back().instruction = static_cast<std::uint16_t>(instructions_.size() - 1);
    }
  }
  core.describe(number, {.instructions = instructions_, .accesses = accesses_});
  return path;
}

void CorePaths::forget_all() {
  paths_.clear();
  described_ = 0;
}

}  // namespace zs::engine
