#include "uarch/replay/replay_code_writer.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "uarch/branch/path_history.h"

namespace zs::uarch {

using arch::BranchKind;
using namespace replay_registers;
using enum Assembler::Condition;
using enum Assembler::Operation;

namespace {

using enum Assembler::Width;

void store_value(Assembler& code, Memory to, std::uint64_t value) {
  if (value <= INT32_MAX) {
    code.store_constant(to, static_cast<std::int32_t>(value));
  } else {
    code.constant(kRax, value);
    code.store(to, kRax);
  }
}

bool has_slot(const arch::AddressTerm& term) {
  return term.base != arch::AddressTerm::kNoSlot || term.index != arch::AddressTerm::kNoSlot;
}

Memory slot(std::uint8_t number) { return {kValues, static_cast<std::int64_t>(sizeof(std::uint64_t)) * number}; }

}  // namespace

void ReplayCodeWriter::write_dispatch(Assembler& code) {
  code.load(kRax, {kRun, offsetof(arch::PathRun, path)}, kDword);
  code.load(kRcx, ZS_STATE(code));
  code.jump(Memory{kRcx, 0, kRax, 8});
}

std::uint8_t* ReplayCodeWriter::write() {
  std::uint64_t loads = 0, stores = 0, fetches = 0;
  const SimpleBlock* before = nullptr;
  write_begin();
  if (std::ranges::any_of(terms_, has_slot)) {
    code_.load(kRax, {kRun, offsetof(arch::PathRun, slots)}, kDword);
    code_.load(kValues, ZS_STATE(values));
    code_.address(kValues, {kValues, 0, kRax, sizeof(std::uint64_t)});
  }
  for (const SimpleBlock& block : blocks_) {
    starts_.push_back(code_.here());
    write_block(block, before);
    loads += block.loads();
    stores += block.stores;
    fetches += fetches_of(block, before);
    before = &block;
    ++which_;
    looks_ += block.descriptors;
  }
  starts_.push_back(code_.here());
  add(ZS_COUNTS(loads), loads);
  add(ZS_COUNTS(written), stores);
  add(ZS_COUNTS(fetches), fetches);
  store_value(code_, ZS_COUNTS(fetched), before->first_line + before->lines - 1);
  write_end();
  code_.operate(kAdd, kRun, sizeof(arch::PathRun));
  code_.operate(kCmp, kRun, ZS_STATE(runs_end));
  code_.jump_if(kEqual, places_.exit);
  write_dispatch(code_);
  for (const Aside& aside : asides_) {
    Assembler::aim(aside.from, code_.here());
    if (aside.again != nullptr) {
      code_.constant(kRsi, aside.argument);
      code_.call(aside.again);
      code_.jump_if(kEqual, aside.back);
    }
    code_.constant(kRax, aside.what.word());
    code_.call(places_.ask);
    code_.jump_if(kNotEqual, starts_[aside.what.block + 1U]);
    code_.jump(aside.back);
  }
  write_aside();
  return code_.here();
}

std::size_t ReplayCodeWriter::ask_from(std::uint8_t* behind_jump, Callout::Kind kind, std::size_t done) {
  asides_.push_back({.from = behind_jump,
                     .what = {kind, static_cast<std::uint8_t>(which_), static_cast<std::uint8_t>(done)},
                     .back = code_.here()});
  return asides_.size() - 1;
}

bool ReplayCodeWriter::write_line(const SimpleBlock& block, const SimpleBlock* before, std::size_t number) {
  if (number == 0 && same_line(block, before)) return false;
  const bool first = number == 0 && before == nullptr;
  const std::uint64_t line = block.first_line + number;
  if (first && inlined_ && line <= INT32_MAX) {
    code_.operate(kCmp, ZS_COUNTS(fetched), static_cast<std::int32_t>(line));
    over_line_ = code_.jump_later(kEqual);
  }
  code_.constant(kRsi, line);
  code_.call(places_.routines.fetch[first ? 1 : 0]);
  return true;
}

void ReplayCodeWriter::line_is_over() {
  if (over_line_ != nullptr) Assembler::aim(over_line_, code_.here());
  over_line_ = nullptr;
}

/// to: the address, but for a constant, which it returns. Uses kRcx.
std::int32_t ReplayCodeWriter::write_sum(Gpr to, const arch::AddressTerm& term) {
  using arch::AddressTerm;
  bool begun = term.base != AddressTerm::kNoSlot;
  if (begun) code_.load(to, slot(term.base));
  if (term.index != AddressTerm::kNoSlot) {
    code_.load(begun ? kRcx : to, slot(term.index));
    if (begun) {
      code_.address(to, {to, 0, kRcx, term.scale});
    } else if (term.scale != 1) {
      code_.shift_left(to, static_cast<std::uint8_t>(std::countr_zero(term.scale)));
    }
    begun = true;
  }
  const auto add = [&](Memory more) {
    if (begun) {
      code_.operate(kAdd, to, more);
    } else {
      code_.load(to, more);
    }
    begun = true;
  };
  if ((term.flags & AddressTerm::kFs) != 0) add(ZS_STATE(fs));
  if ((term.flags & AddressTerm::kGs) != 0) add(ZS_STATE(gs));
  if (!begun) {
    code_.constant(to, static_cast<std::uint64_t>(term.displacement));
    return 0;
  }
  constexpr std::int64_t kFar = std::int64_t{1} << 30;  // whatever is added to it on the way
  if (term.displacement > -kFar && term.displacement < kFar) return static_cast<std::int32_t>(term.displacement);
  code_.constant(kRcx, static_cast<std::uint64_t>(term.displacement));
  code_.operate(kAdd, to, kRcx);
  return 0;
}

void ReplayCodeWriter::write_address(AccessDescriptor descriptor, std::size_t number) {
  const std::int32_t rest = write_sum(kRax, terms_[looks_ + number]);
  code_.address(kRdx, {kRax, rest + descriptor.last()});
  if (rest != 0) code_.address(kRax, {kRax, rest});
}

void ReplayCodeWriter::write_branch(const SimpleBlock& block) {
  const std::size_t first = asides();
  write_transfer(block);
  for (std::size_t asked = first; asked < asides(); ++asked) {
    if (asides_[asked].what.kind != Callout::Resteer) back_here(asked);
  }
}

void ReplayCodeWriter::write_transfer(const SimpleBlock& block) {
  switch (block.kind) {
    case BranchKind::None: return;
    case BranchKind::Conditional:
      write_conditional(block);
      ask_if(kNotEqual, Callout::Wrong);
      if (!block.taken) return;
      break;
    case BranchKind::Return:
      code_.constant(kRdx, path_footprint(block.pc, 0));
      code_.call(places_.routines.returned);
      ask_if(kNotEqual, Callout::Branch);
      break;
    case BranchKind::RelativeCall:
      if (!block.calls_next) {
        code_.constant(kRdx, block.pc + block.length);
        code_.call(places_.routines.call);
      }
      write_follow(block);
      break;
    case BranchKind::RelativeJump: write_follow(block); break;
    default: ask_from(code_.jump_later(), Callout::Branch, 0); return;
  }
  write_target(block);
}

/// The path register's part of a taken branch.
void ReplayCodeWriter::write_follow(const SimpleBlock& block) {
  code_.constant(kRdx, block.footprint);
  code_.call(places_.routines.taken);
}

/// The BTB's part of it.
void ReplayCodeWriter::write_target(const SimpleBlock& block) {
  const auto at = reinterpret_cast<const std::uint8_t*>(places_.branches.targets().newest_of(block.pc)) -
                  reinterpret_cast<const std::uint8_t*>(places_.state.branch_tags);
  code_.operate(kCmp, Memory{kTags, at}, static_cast<std::int32_t>(places_.branches.targets().tag_of(block.pc)),
                kDword);
  const std::size_t unknown = ask_if(kNotEqual, Callout::Resteer);
  asides_[unknown].again = places_.routines.touch;
  asides_[unknown].argument = block.pc;
  back_here(unknown);
}

}  // namespace zs::uarch
