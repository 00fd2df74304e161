#include "engine/core_paths.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace zs::engine {
namespace {

/// Bit 63 of the number of elements: downwards.
constexpr std::uint64_t kDownwards = std::uint64_t{1} << 63;

std::uint64_t address(const AddressTerm& term, const std::uint64_t* values, CorePaths::Bases bases) {
  std::uint64_t sum = static_cast<std::uint64_t>(term.displacement) + values[term.base];
  if ((term.flags & AddressTerm::kRepeated) == 0) sum += values[term.index] * term.scale;
  if ((term.flags & AddressTerm::kLowByte) != 0) sum += values[term.part] & 0xFF;
  if ((term.flags & AddressTerm::kBitString) != 0) {
    const unsigned bits = 8u * term.bytes;
    const std::int64_t offset = static_cast<std::int64_t>(values[term.part] << (64 - bits)) >> (64 - bits);
    sum += static_cast<std::uint64_t>(offset >> std::countr_zero(bits)) * term.bytes;
  }
  if ((term.flags & AddressTerm::kAddress32) != 0) sum &= UINT32_MAX;
  if ((term.flags & AddressTerm::kFs) != 0) sum += bases.fs;
  if ((term.flags & AddressTerm::kGs) != 0) sum += bases.gs;
  return sum;
}

/// Elements of a REP string instruction, from how far its register moved.
std::uint64_t elements(const AddressTerm& term, const std::uint64_t* values) {
  std::uint64_t moved = values[term.index] - values[term.base] - static_cast<std::uint64_t>(term.displacement);
  if ((term.flags & AddressTerm::kAddress32) != 0)
    moved = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(moved)});
  const auto distance = static_cast<std::int64_t>(moved);
  return distance < 0 ? (0 - moved) / term.bytes | kDownwards : moved / term.bytes;
}

}  // namespace

const CorePaths::Path& CorePaths::describe(std::uint32_t number, std::uint64_t first,
                                           std::span<const Translator::PathInsn> insns, std::uint64_t next,
                                           arch::CoreFeed& core) {
  if (at_.size() <= number) at_.resize(std::max<std::size_t>(number + 1u, 2 * at_.size()), kNone);
  const bool passing = number < Translator::kFirstKept;
  if (passing) {
    at_[number] = 1 + number;
  } else if (at_[number] == kNone) {
    at_[number] = static_cast<std::uint32_t>(paths_.size());
    paths_.emplace_back();
  }
  Path& path = paths_[at_[number]];
  path = {};
  path.first = first;
  path.next = next;
  path.instructions = static_cast<std::uint16_t>(insns.size());
  if (insns.empty()) return path;
  path.plain = path.single = true;
  if (passing) path.passing = static_cast<std::uint8_t>(1 + number);
  std::vector<AddressTerm>& terms = passing ? passing_[path.passing] : terms_;
  if (passing) terms.clear();
  path.terms_at = static_cast<std::uint32_t>(terms.size());
  instructions_.clear();
  accesses_.clear();
  for (const Translator::PathInsn& from : insns) {
    arch::PathInstruction& insn = instructions_.emplace_back();
    insn.pc = from.insn->pc;
    insn.target = from.went_to;
    insn.facts = from.insn->facts;
    insn.taken = from.taken;
    insn.length = from.insn->length;
    std::memcpy(insn.bytes, from.insn->bytes.data(), sizeof insn.bytes);
    for (const InsnSlots::Term& access : from.slots->terms) {
      terms.push_back(access.term);
      path.plain &= access.term.flags == 0;
      path.single &= access.term.base != AddressTerm::kNoSlot && access.term.index == AddressTerm::kNoSlot;
      accesses_.push_back({.kind = access.kind,
                           .form = access.form,
                           .bytes = access.term.bytes,
                           .instruction = static_cast<std::uint16_t>(instructions_.size() - 1)});
    }
    path.slots = std::max(path.slots, from.slots->used);
  }
  path.terms = static_cast<std::uint16_t>(accesses_.size());
  // Behind the last of a group of four: read, and of no effect.
  const AddressTerm none{.base = 0};
  while ((terms.size() - path.terms_at) % 4 != 0) terms.push_back(none);
  core.describe(number, {.instructions = instructions_, .accesses = accesses_});
  return path;
}

void CorePaths::forget_all() {
  at_.clear();
  paths_.resize(1 + Translator::kFirstKept);
  terms_.clear();
}

std::uint64_t* CorePaths::expand_any(const Path& path, const AddressTerm* terms, const std::uint64_t* slots,
                                     Bases bases, std::span<const std::uint64_t> listed, std::uint64_t* out) const {
  std::uint64_t values[AddressTerm::kNoSlot + 1];
  std::memcpy(values, slots, sizeof(std::uint64_t) * path.slots);
  values[AddressTerm::kNoSlot] = 0;
  for (std::size_t i = 0; i < path.terms; ++i) {
    const AddressTerm& term = terms[i];
    if ((term.flags & AddressTerm::kListed) != 0) {
      out = std::copy_n(listed.begin(), listed[0] + 1, out);
      listed = listed.subspan(listed[0] + 1);
      continue;
    }
    *out++ = address(term, values, bases);
    if ((term.flags & AddressTerm::kRepeated) != 0) *out++ = elements(term, values);
  }
  return out;
}

}  // namespace zs::engine
