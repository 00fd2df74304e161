#include "uarch/machine/path_code.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "uarch/branch/path_history.h"

namespace zs::uarch {
namespace {

using arch::BranchKind;
using namespace path_registers;
using enum CodeWriter::Condition;
using enum CodeWriter::Operation;
constexpr auto kDword = CodeWriter::kDword;

constexpr Register kSaved[] = {kBx, kBp, kR12, kR13, kR14, kR15};

/// Bytes of code for a block, for each of its lines and accesses, for a path besides, and of write_entry(), at most.
constexpr std::size_t kBlockBytes = 512, kFetchBytes = 64, kLookBytes = 256, kPathBytes = 256, kEntryBytes = 4096;
/// Paths that are made before this part of the room is full have copies of routines. chosen: so much stays in the host's second-level cache.
constexpr std::size_t kSpaciousPart = 256;

void store_value(CodeWriter& code, Memory to, std::uint64_t value) {
  if (value <= INT32_MAX) {
    code.store_constant(to, static_cast<std::int32_t>(value));
  } else {
    code.constant(kAx, value);
    code.store(to, kAx);
  }
}

void write_registers(CodeWriter& code) {
  PathRoutines::write_places(code);
  code.load(kNow, ZS_STATE(now));
  code.load(kSlots, ZS_STATE(slots));
  code.load(kOutcomes, ZS_STATE(outcomes));
}

/// But for kValues, which nobody who is asked changes.
void write_state(CodeWriter& code) {
  code.store(ZS_STATE(run), kRun);
  code.store(ZS_STATE(now), kNow);
  code.store(ZS_STATE(slots), kSlots);
  code.store(ZS_STATE(outcomes), kOutcomes);
}

/// Goes to the code of the path that is next.
void write_dispatch(CodeWriter& code) {
  code.load(kAx, {kRun, offsetof(arch::PathRun, path)}, kDword);
  code.load(kCx, ZS_STATE(code));
  code.jump(Memory{kCx, 0, kAx, 8});
}

}  // namespace

/// Writes the code of one path.
class PathCode::Maker {
 public:
  /// terms  of the blocks' looks
  Maker(const PathCode& owner, std::uint8_t* at, std::span<const SimpleBlock> blocks,
        std::span<const arch::AddressTerm> terms, BranchUnit& branches)
      : owner_(owner),
        spacious_(at < owner.begin_ + owner.bytes_ / kSpaciousPart),
        code_(at),
        blocks_(blocks),
        terms_(terms),
        branches_(branches),
        tournament_(branches.tournament()->inline_part()) {}

  /// Returns where the code ends.
  std::uint8_t* write() {
    std::uint64_t loads = 0, stores = 0, fetches = 0;
    const SimpleBlock* before = nullptr;
    if (std::ranges::any_of(terms_, has_slot)) {
      code_.load(kAx, {kRun, offsetof(arch::PathRun, slots)}, kDword);
      code_.load(kValues, ZS_STATE(values));
      code_.address(kValues, {kValues, 0, kAx, sizeof(std::uint64_t)});
    }
    for (const SimpleBlock& block : blocks_) {
      starts_.push_back(code_.here());
      write_block(block, before);
      loads += block.looks - block.stores;
      stores += block.stores;
      fetches += fetches_of(block, before);
      before = &block;
      ++which_;
      looks_ += block.looks;
    }
    starts_.push_back(code_.here());
    add(ZS_COUNTS(loads), loads);
    add(ZS_COUNTS(written), stores);
    add(ZS_COUNTS(fetches), fetches);
    store_value(code_, ZS_COUNTS(fetched), before->first_line + before->lines - 1);
    code_.operate(kAdd, kRun, sizeof(arch::PathRun));
    code_.operate(kCmp, kRun, ZS_STATE(runs_end));
    code_.jump_if(kEqual, owner_.exit_);
    write_dispatch(code_);
    for (const Aside& aside : asides_) {
      for (std::uint8_t* const from : aside.from) CodeWriter::aim(from, code_.here());
      if (aside.again != nullptr) {
        if (aside.argument != 0) code_.constant(kSi, aside.argument);
        code_.call(aside.again);
        code_.jump_if(kEqual, aside.back);
      }
      code_.constant(kAx, aside.what.word());
      code_.call(owner_.ask_);
      code_.jump_if(kNotEqual, starts_[aside.what.block + 1U]);
      code_.jump(aside.back);
    }
    return code_.here();
  }

 private:
  /// Written behind everything else, because it is seldom run.
  struct Aside {
    std::vector<std::uint8_t*> from;  // behind the jumps to it
    Question what;
    const std::uint8_t* back;             // behind the answer, if the block is not over
    const std::uint8_t* again = nullptr;  // a routine that may do without asking
    std::uint64_t argument = 0;           // of it, for kSi; 0: it stands there already
  };

  void add(Memory to, std::uint64_t value) {
    if (value != 0) code_.operate(kAdd, to, static_cast<std::int32_t>(value));
  }
  /// Asks `kind` where `condition` holds. Returns what back_here() wants.
  std::size_t ask_if(CodeWriter::Condition condition, Question::Kind kind, std::size_t done = 0) {
    return ask_from({code_.jump_later(condition)}, kind, done);
  }
  std::size_t ask_from(std::vector<std::uint8_t*> behind_jumps, Question::Kind kind, std::size_t done) {
    asides_.push_back({.from = std::move(behind_jumps),
                       .what = {kind, static_cast<std::uint8_t>(which_), static_cast<std::uint8_t>(done)},
                       .back = code_.here()});
    return asides_.size() - 1;
  }
  void back_here(std::size_t aside) { asides_[aside].back = code_.here(); }

  void write_block(const SimpleBlock& block, const SimpleBlock* before) {
    code_.operate(kCmp, kSlots, ZS_STATE(room_until));
    ask_if(kNotBelow, Question::Room);
    const bool in_turn = owner_.filter_.in_turn(block.lines);
    const std::size_t first_of_lines = asides_.size();
    std::size_t look = 0;
    for (std::size_t line = 0; line < block.lines; ++line) {
      for (; !in_turn && look < block.looks_before_line(line); ++look) write_look(block.look[look], look);
      write_line(block, before, line, in_turn);
    }
    if (in_turn) {  // one answer is about all lines
      for (std::size_t i = first_of_lines; i < asides_.size(); ++i) back_here(i);
    }
    for (; look < block.looks; ++look) write_look(block.look[look], look);
    const std::size_t first_of_branch = asides_.size();
    write_branch(block);
    for (std::size_t i = first_of_branch; i < asides_.size(); ++i) {
      if (asides_[i].what.kind != Question::Resteer) back_here(i);
    }
    code_.operate(kAdd, kNow, static_cast<std::int32_t>(block.units));
    code_.operate(kAdd, kSlots, static_cast<std::int32_t>(block.slots));
  }

  /// A line that is fetched already is not fetched again: that of the block before is known here, that of the path before is not.
  /// number  of it in the block; newest: only if it is that
  void write_line(const SimpleBlock& block, const SimpleBlock* before, std::size_t number, bool newest) {
    if (number == 0 && before != nullptr && fetches_of(block, before) != block.lines) return;
    const bool first = number == 0 && before == nullptr;
    const std::uint64_t line = block.first_line + number;
    std::uint8_t* fetched = nullptr;
    if (first && spacious_ && line <= INT32_MAX) {
      code_.operate(kCmp, ZS_COUNTS(fetched), static_cast<std::int32_t>(line));
      fetched = code_.jump_later(kEqual);
    }
    code_.constant(kSi, line);
    code_.call(owner_.routines_.fetch[first ? 1 : 0][newest ? 0 : 1]);
    back_here(ask_if(kNotEqual, Question::Lines, number));
    if (fetched != nullptr) CodeWriter::aim(fetched, code_.here());
  }

  static bool has_slot(const arch::AddressTerm& term) {
    return term.base != arch::AddressTerm::kNoSlot || term.index != arch::AddressTerm::kNoSlot;
  }
  static Memory slot(std::uint8_t number) {
    return {kValues, static_cast<std::int64_t>(sizeof(std::uint64_t)) * number};
  }
  /// to: the address, but for a constant, which it returns. Uses kCx.
  std::int32_t write_sum(Register to, const arch::AddressTerm& term) {
    using arch::AddressTerm;
    bool begun = term.base != AddressTerm::kNoSlot;
    if (begun) code_.load(to, slot(term.base));
    if (term.index != AddressTerm::kNoSlot) {
      code_.load(begun ? kCx : to, slot(term.index));
      if (begun) {
        code_.address(to, {to, 0, kCx, term.scale});
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
    code_.constant(kCx, static_cast<std::uint64_t>(term.displacement));
    code_.operate(kAdd, to, kCx);
    return 0;
  }

  void write_look(Look look, std::size_t number) {
    const PathRoutines& routines = owner_.routines_;
    const std::int32_t rest = write_sum(kAx, terms_[looks_ + number]);
    code_.address(kDx, {kAx, rest + look.last()});
    if (rest != 0) code_.address(kAx, {kAx, rest});
    if (!spacious_) {
      code_.call(routines.look[look.store()]);
      back_here(ask_if(kNotEqual, Question::Access, number));
      return;
    }
    const auto others = PathRoutines::write_look(code_, owner_.state_, owner_.filter_.store_tlb != 0, look.store());
    asides_[ask_from({others.begin(), others.end()}, Question::Access, number)].again =
        routines.look_again[look.store()];
  }

  /// As BranchUnit does it. Everything that is asked here goes on behind the branch.
  void write_branch(const SimpleBlock& block) {
    switch (block.kind) {
      case BranchKind::Conditional:
        code_.constant(kSi, block.hash & tournament_.mask);
        if (spacious_) {
          PathRoutines::write_conditional(code_, tournament_, block.taken);
        } else {
          code_.call(owner_.routines_.conditional[block.taken ? 1 : 0]);
        }
        ask_if(kNotEqual, Question::Wrong);
        if (!block.taken) return;
        break;
      case BranchKind::RelativeCall:
        if (block.calls_next) break;
        code_.constant(kDx, block.pc + block.length);
        code_.call(owner_.routines_.call);
        break;
      case BranchKind::RelativeJump: break;
      case BranchKind::Return:
        code_.constant(kDx, path_footprint(block.pc, 0));
        code_.call(owner_.routines_.returned);
        ask_if(kNotEqual, Question::Branch);
        write_taken(block);
        return;
      default: ask_from({code_.jump_later()}, Question::Branch, 0); return;
    }
    code_.constant(kDx, block.footprint);
    code_.call(owner_.routines_.taken);
    write_taken(block);
  }

  void write_taken(const SimpleBlock& block) {
    const auto at = reinterpret_cast<const std::uint8_t*>(branches_.targets().newest_of(block.pc)) -
                    reinterpret_cast<const std::uint8_t*>(owner_.state_.branch_tags);
    code_.operate(kCmp, Memory{kTags, at}, static_cast<std::int32_t>(branches_.targets().tag_of(block.pc)), kDword);
    const std::size_t unknown = ask_if(kNotEqual, Question::Resteer);
    asides_[unknown].again = owner_.routines_.touch;
    asides_[unknown].argument = block.pc;
    back_here(unknown);
  }

  const PathCode& owner_;
  bool spacious_;  // it has copies of routines
  CodeWriter code_;
  std::span<const SimpleBlock> blocks_;
  std::span<const arch::AddressTerm> terms_;
  BranchUnit& branches_;
  TournamentPredictor::Inline tournament_;
  std::size_t which_ = 0;
  std::size_t looks_ = 0;                    // of the blocks before
  std::vector<const std::uint8_t*> starts_;  // of blocks; and of what comes behind the last
  std::vector<Aside> asides_;
};

PathCode::PathCode(MemorySystem::Filter& filter, BranchUnit& branches, std::size_t bytes)
    : filter_(filter), branches_(branches), bytes_(bytes) {
  state_.own_outcomes = &no_outcomes_;
  TournamentPredictor* const tournament = branches.tournament();
  if (bytes < kEntryBytes) return;
  if (filter.hot_lines == HotLines::none() || tournament == nullptr) return;  // nearly everything would be asked
  void* const memory =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  memory_ = static_cast<std::uint8_t*>(memory);
  state_.counts = &filter;
  state_.hits = [](MemorySystem::InlineCounts& own, std::uint64_t linear, std::uint32_t size, unsigned store) {
    return static_cast<MemorySystem::Filter&>(own).hits_tags(linear, size, store);
  };
  state_.fetches = [](MemorySystem::InlineCounts& own, std::uint64_t line) {
    return static_cast<MemorySystem::Filter&>(own).touch_code(line);
  };
  state_.touches = [](BranchTargetBuffer& targets, std::uint64_t pc) { return targets.touch(pc); };
  state_.targets = &branches.targets();
  state_.hot_lines = filter.hot_lines;
  for (std::size_t i = 0; i < state_.tlbs.size(); ++i) state_.tlbs[i] = filter.tlbs[i].inline_part();
  const TournamentPredictor::Inline predictor = tournament->inline_part();
  state_.own_outcomes = predictor.outcomes;
  state_.by_address = predictor.by_address;
  state_.by_outcomes = predictor.by_outcomes;
  state_.learned = predictor.learned;
  state_.branch_tags = branches.targets().newest_of(0);
  state_.waiting = &branches.waiting().inline_part();
  state_.returns = &branches.returns().inline_part();
  write_entry(predictor);
  begin_again();
}

PathCode::~PathCode() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

void PathCode::write_entry(const TournamentPredictor::Inline& tournament) {
  CodeWriter code(memory_);
  enter_ = reinterpret_cast<void (*)(PlayState*)>(code.here());
  for (const Register saved : kSaved) code.push(saved);
  code.operate(kSub, kSp, 8);  // so that calls find the stack aligned
  code.copy(kState, kDi);
  write_registers(code);
  code.load(kRun, ZS_STATE(run));
  write_dispatch(code);

  exit_ = code.here();
  write_state(code);
  code.operate(kAdd, kSp, 8);
  for (std::size_t i = std::size(kSaved); i-- > 0;) code.pop(kSaved[i]);
  code.ret();

  // kAx: a Question. Behind it the flags say whether the block is over: not equal.
  ask_ = code.here();
  code.operate(kSub, kSp, 8);
  write_state(code);
  code.copy(kDi, kState);
  code.copy(kSi, kAx, kDword);
  code.call(ZS_STATE(ask));
  write_registers(code);
  code.operate(kAdd, kSp, 8);
  code.test(kAx, kAx);
  code.ret();
  routines_ = PathRoutines(code, state_, filter_, tournament);
  begin_ = code.here();
  CHECK(begin_ <= memory_ + kEntryBytes, begin_ - memory_);
}

void PathCode::begin_again() {
  at_ = begin_;
  std::ranges::fill(code_, exit_);
  std::ranges::fill(heat_, 0);
  made_ = {};
}

[[gnu::noinline]] void PathCode::warm(std::uint32_t path, const SimplePath& known) {
  if (path >= heat_.size() || memory_ == nullptr) return;
  const std::uint8_t heat = ++heat_[path];
  if (heat == kMadeAt) {
    code_[path] = code_for(known);
  } else if (heat == 1) {
    const std::uint8_t** const made = made_.find(known.identity);
    if (made == nullptr) return;
    code_[path] = *made;
    heat_[path] = kMadeAt;
  }
}

const std::uint8_t* PathCode::code_for(const SimplePath& path) {
  if (const std::uint8_t** const known = made_.find(path.identity)) return *known;
  using arch::AddressTerm;
  const auto is_sum = [](const AddressTerm& term) {
    return (term.flags & ~(AddressTerm::kFs | AddressTerm::kGs)) == 0;
  };
  if (!std::ranges::all_of(path.addresses->terms(), is_sum)) return exit_;
  std::size_t count = 1;
  while (!path.blocks[count - 1].last) ++count;
  const std::uint8_t* const made = make({path.blocks, count}, path.addresses->terms());
  if (made != exit_) made_[path.identity] = made;
  return made;
}

const std::uint8_t* PathCode::make(std::span<const SimpleBlock> blocks, std::span<const arch::AddressTerm> terms) {
  std::size_t bytes = kPathBytes;
  for (const SimpleBlock& block : blocks) bytes += kBlockBytes + kFetchBytes * block.lines + kLookBytes * block.looks;
  constexpr std::size_t kMostBlocks = 255;
  if (blocks.size() > kMostBlocks) return exit_;
  if (at_ + bytes > memory_ + bytes_) {
    begin_again();
    return exit_;
  }
  const std::uint8_t* const start = at_;
  at_ = Maker(*this, at_, blocks, terms, branches_).write();
  CHECK(at_ <= start + bytes, blocks.size(), at_ - start, bytes);
  return start;
}

}  // namespace zs::uarch
