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
using enum CodeWriter::Condition;
using enum CodeWriter::Operation;
constexpr auto kDword = CodeWriter::kDword;

// What the code keeps where. kAx, kCx, kDx, kSi and kDi hold nothing for long.
constexpr Register kState = kBx, kNow = kBp, kValues = kR12, kRun = kR13, kSlots = kR14, kOutcomes = kR15;
// These are lost when somebody is asked, and loaded again.
constexpr Register kTags = kR8, kHot = kR9, kCounts = kR10, kWaiting = kR11;

constexpr Register kSaved[] = {kBx, kBp, kR12, kR13, kR14, kR15};

Memory in_state(std::size_t offset) { return {kState, static_cast<std::int64_t>(offset)}; }
#define ZS_STATE(member) in_state(offsetof(PlayState, member))
Memory in_counts(std::size_t offset) { return {kCounts, static_cast<std::int64_t>(offset)}; }
#define ZS_COUNTS(member) in_counts(offsetof(MemorySystem::InlineCounts, member))

/// Bytes of code for a block, for each of its lines and accesses, for a path besides, and of write_entry(), at most.
constexpr std::size_t kBlockBytes = 640, kFetchBytes = 192, kLookBytes = 384, kPathBytes = 256, kEntryBytes = 1024;

void store_value(CodeWriter& code, Memory to, std::uint64_t value) {
  if (value <= INT32_MAX) {
    code.store_constant(to, static_cast<std::int32_t>(value));
  } else {
    code.constant(kAx, value);
    code.store(to, kAx);
  }
}

void write_places(CodeWriter& code) {
  code.load(kTags, ZS_STATE(branch_tags));
  code.load(kHot, ZS_STATE(hot_lines));
  code.load(kCounts, ZS_STATE(counts));
  code.load(kWaiting, ZS_STATE(waiting));
}

void write_registers(CodeWriter& code) {
  write_places(code);
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
      code_.aim(aside.from, code_.here());
      write_try(aside);
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
    std::uint8_t* from;  // behind the jump to it
    Question what;
    const std::uint8_t* back;             // behind the answer, if the block is not over
    std::size_t term = 0;                 // Question::Access: in terms_
    const std::uint8_t* tried = nullptr;  // where the code goes on if it need not ask
    std::uint64_t line = 0;               // Question::Lines: which may be fetched without asking; 0: none
  };

  void add(Memory to, std::uint64_t value) {
    if (value != 0) code_.operate(kAdd, to, static_cast<std::int32_t>(value));
  }
  /// Asks `kind` where `condition` holds. Returns what back_here() wants.
  std::size_t ask_if(CodeWriter::Condition condition, Question::Kind kind, std::size_t done = 0) {
    return ask_from(code_.jump_later(condition), kind, done);
  }
  std::size_t ask_from(std::uint8_t* behind_jump, Question::Kind kind, std::size_t done) {
    asides_.push_back({.from = behind_jump,
                       .what = {kind, static_cast<std::uint8_t>(which_), static_cast<std::uint8_t>(done)},
                       .back = code_.here(),
                       .term = looks_ + done});
    return asides_.size() - 1;
  }
  void back_here(std::size_t aside) { asides_[aside].back = code_.here(); }
  /// What may do without asking.
  void write_try(const Aside& aside) {
    if (aside.what.kind == Question::Access) {
      const Look look = blocks_[aside.what.block].look[aside.what.done];
      const std::int32_t rest = write_sum(kSi, terms_[aside.term]);
      if (rest != 0) code_.address(kSi, {kSi, rest});
      code_.constant(kDx, look.bytes());
      code_.constant(kCx, look.store());
      code_.call(owner_.hits_);
      code_.jump_if(kNotEqual, aside.back);
    } else if (aside.line != 0) {
      code_.constant(kSi, aside.line);
      code_.call(owner_.fetches_);
      code_.jump_if(kNotEqual, aside.tried);
    }
  }

  void write_block(const SimpleBlock& block, const SimpleBlock* before) {
    code_.operate(kCmp, kSlots, ZS_STATE(room_until));
    ask_if(kNotBelow, Question::Room);
    write_lines(block, before);
    for (std::size_t i = 0; i < block.looks; ++i) write_look(block.look[i], i);
    const std::size_t first_of_branch = asides_.size();
    write_branch(block);
    for (std::size_t i = first_of_branch; i < asides_.size(); ++i) {
      if (asides_[i].what.kind != Question::UnknownTaken) back_here(i);
    }
    code_.operate(kAdd, kNow, static_cast<std::int32_t>(block.units));
    code_.operate(kAdd, kSlots, static_cast<std::int32_t>(block.slots));
  }

  /// As MemorySystem::Filter does it with are_plain() and pass(). A line that is fetched already is not fetched again: that of the
  /// block before is known here, that of the path before is not.
  void write_lines(const SimpleBlock& block, const SimpleBlock* before) {
    const std::size_t first_of_lines = asides_.size();
    const std::uint64_t begin = block.first_line, end = begin + block.lines;
    std::uint8_t* fetched = nullptr;
    if (before == nullptr) {
      compare(ZS_COUNTS(fetched), begin);
      fetched = code_.jump_later(kEqual);
    }
    for (std::uint64_t line = begin; line != end; ++line) {
      if (line == begin && before != nullptr && fetches_of(block, before) != block.lines) continue;
      write_line(block, line);
      if (line != begin || fetched == nullptr) continue;
      code_.operate(kAdd, ZS_COUNTS(fetches), 1);
      code_.aim(fetched, code_.here());
    }
    for (std::size_t i = first_of_lines; i < asides_.size(); ++i) back_here(i);
  }
  /// Fetches it, or asks, if it is not the newest.
  void write_line(const SimpleBlock& block, std::uint64_t line) {
    using Counts = MemorySystem::InlineCounts;
    const std::uint64_t page = line / kLinesPerPage;
    const std::size_t first_of_line = asides_.size();
    compare(in_counts(offsetof(Counts, code) + 8 * (line % kLinesPerPage)), line);
    ask_if(kNotEqual, Question::Lines, line - block.first_line);
    compare(in_counts(offsetof(Counts, code_pages) + 8 * (page & owner_.filter_.code_page_mask)), page);
    ask_if(kNotEqual, Question::Lines, line - block.first_line);
    // An access may throw out a line that is fetched behind it: then, if one is not the newest, the block is to be played step by step.
    if (owner_.filter_.code_may_leave && block.lines != 1) return;
    for (std::size_t i = first_of_line; i < asides_.size(); ++i) {
      asides_[i].line = line;
      asides_[i].tried = code_.here();
    }
  }
  void compare(Memory with, std::uint64_t value) {
    if (value <= INT32_MAX) {
      code_.operate(kCmp, with, static_cast<std::int32_t>(value));
    } else {
      code_.constant(kAx, value);
      code_.operate(kCmp, with, kAx);
    }
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

  /// As MemorySystem::Filter::hits() does it for hot lines.
  void write_look(Look look, std::size_t number) {
    const std::size_t table = look.store() & owner_.filter_.store_tlb;
    const auto tlb = [table](std::size_t member) {
      return in_state(offsetof(PlayState, tlbs) + table * sizeof(QuickPages::Inline) + member);
    };
    const std::int32_t rest = write_sum(kAx, terms_[looks_ + number]);
    code_.address(kDx, {kAx, rest + look.last()});
    code_.shift_right(kDx, kLineBits);
    if (rest != 0) code_.operate(kAdd, kAx, rest, kDword);
    static_assert(sizeof(HotLine) == 32 && kLineBits == 6);
    code_.shift_right(kAx, 1, kDword);
    code_.operate(kAnd, kAx, static_cast<std::int32_t>((HotLines::kEntries - 1) * sizeof(HotLine)), kDword);
    code_.operate(kCmp, kDx, Memory{kHot, static_cast<std::int64_t>(offsetof(HotLine, line) + 8 * look.store()), kAx});
    const std::size_t no_line = ask_if(kNotEqual, Question::Access, number);
    static_assert(sizeof(LruTable::Hint) == 16);
    code_.shift_right(kDx, kPageBits - kLineBits);
    code_.copy(kCx, kDx, kDword);
    code_.operate(kAnd, kCx, static_cast<std::int32_t>(owner_.state_.tlbs[table].mask), kDword);
    code_.shift_left(kCx, 4, kDword);
    code_.load(kDi, tlb(offsetof(QuickPages::Inline, hints)));
    code_.operate(kCmp, kDx, Memory{kDi, offsetof(LruTable::Hint, key), kCx});
    const std::size_t no_page = ask_if(kNotEqual, Question::Access, number);
    code_.load(kCx, {kDi, offsetof(LruTable::Hint, slot), kCx}, kDword);
    code_.load(kDi, tlb(offsetof(QuickPages::Inline, newest)));
    code_.load(kDx, {kDi});
    code_.increment(kDx);
    code_.store({kDi}, kDx);
    code_.load(kDi, tlb(offsetof(QuickPages::Inline, stamps)));
    code_.store({kDi, 0, kCx, 8}, kDx);
    code_.load(kCx, {kHot, offsetof(HotLine, state), kAx});
    code_.load(kDx, {kCx}, kDword);
    code_.operate(kAnd, kDx, Memory{kHot, offsetof(HotLine, keep), kAx}, kDword);
    code_.operate(kOr, kDx, Memory{kHot, offsetof(HotLine, set), kAx}, kDword);
    code_.store({kCx}, kDx, kDword);
    back_here(no_line);
    back_here(no_page);
  }

  /// As BranchUnit does it. Everything that is asked here goes on behind the branch.
  void write_branch(const SimpleBlock& block) {
    switch (block.kind) {
      case BranchKind::Conditional:
        write_conditional(block);
        if (!block.taken) return;
        break;
      case BranchKind::RelativeCall:
        if (!block.calls_next) write_call(block.pc + block.length);
        break;
      case BranchKind::RelativeJump: break;
      case BranchKind::Return: write_return(block); return;
      default: ask_from(code_.jump_later(), Question::Branch, 0); return;
    }
    write_footprint_place();
    code_.store_constant_word({kWaiting, offsetof(WaitingFootprints::Inline, ring), kCx, 2}, block.footprint);
    write_taken(block);
  }

  /// As TournamentPredictor does it.
  void write_conditional(const SimpleBlock& block) {
    const auto own = static_cast<std::int64_t>(block.hash & tournament_.mask);
    using T = TournamentPredictor;
    code_.copy(kAx, kOutcomes, kDword);
    code_.shift_right(kAx, tournament_.index_bits, kDword);
    code_.operate(kXor, kAx, kOutcomes, kDword);
    code_.operate(kXor, kAx, static_cast<std::int32_t>(own), kDword);
    code_.operate(kAnd, kAx, static_cast<std::int32_t>(tournament_.mask), kDword);
    code_.load(kSi, ZS_STATE(by_address));
    code_.load(kDi, ZS_STATE(by_outcomes));
    code_.load_byte(kCx, {kSi, own});
    code_.load_byte(kDx, {kDi, 0, kAx});
    code_.operate(kOr, kCx, kDx, kDword);
    const std::size_t learned = offsetof(PlayState, learned) + (block.taken ? T::kTaken : 0);
    code_.load_byte(kCx, {kState, static_cast<std::int64_t>(learned), kCx});
    code_.copy(kDx, kCx, kDword);
    code_.operate(kAnd, kDx, T::kOfAddress, kDword);
    code_.store_byte({kSi, own}, kDx);
    code_.copy(kDx, kCx, kDword);
    code_.operate(kAnd, kDx, T::kOfOutcomes, kDword);
    code_.store_byte({kDi, 0, kAx}, kDx);
    code_.address(kOutcomes, {kOutcomes, block.taken ? 1 : 0, kOutcomes});
    code_.operate(kAnd, kOutcomes, static_cast<std::int32_t>(tournament_.history_mask), kDword);
    code_.test_byte(kCx, T::kWrong);
    ask_if(kNotEqual, Question::Wrong);
  }

  void write_call(std::uint64_t behind) {
    using Inline = ReturnStack::Inline;
    code_.load(kSi, ZS_STATE(returns));
    code_.load(kCx, {kSi, offsetof(Inline, top)}, kDword);
    code_.increment(kCx, kDword);
    code_.operate(kXor, kDx, kDx, kDword);
    code_.operate(kCmp, kCx, Memory{kSi, offsetof(Inline, entries)}, kDword);
    code_.move_if(kEqual, kCx, kDx);
    code_.store({kSi, offsetof(Inline, top)}, kCx, kDword);
    store_value(code_, {kSi, offsetof(Inline, addresses), kCx, 8}, behind);
  }

  void write_return(const SimpleBlock& block) {
    using Inline = ReturnStack::Inline;
    code_.load(kSi, ZS_STATE(returns));
    code_.load(kCx, {kSi, offsetof(Inline, top)}, kDword);
    code_.load(kDi, {kRun, offsetof(arch::PathRun, next)});
    code_.operate(kCmp, kDi, Memory{kSi, offsetof(Inline, addresses), kCx, 8});
    ask_if(kNotEqual, Question::Branch);
    code_.test(kCx, kCx, kDword);
    code_.address(kDx, {kCx, -1});
    code_.load(kCx, {kSi, offsetof(Inline, entries)}, kDword);
    code_.address(kCx, {kCx, -1});
    code_.move_if(kNotEqual, kCx, kDx);
    code_.store({kSi, offsetof(Inline, top)}, kCx, kDword);
    // path_footprint()
    code_.copy(kDx, kDi);
    code_.shift_left(kDx, 3);
    code_.shift_right(kDi, 13);
    code_.operate(kXor, kDx, kDi);
    code_.operate(kXor, kDx, static_cast<std::int32_t>(path_footprint(block.pc, 0)), kDword);
    write_footprint_place();
    code_.store_word({kWaiting, offsetof(WaitingFootprints::Inline, ring), kCx, 2}, kDx);
    write_taken(block);
  }

  /// kCx: where in the ring the next footprint goes, which is counted. Leaves kDx alone.
  void write_footprint_place() {
    static_assert(std::tuple_size_v<decltype(WaitingFootprints::Inline::ring)> == 256);
    code_.load(kAx, {kWaiting, offsetof(WaitingFootprints::Inline, count)});
    code_.low_byte(kCx, kAx);
    code_.increment(kAx);
    code_.store({kWaiting, offsetof(WaitingFootprints::Inline, count)}, kAx);
  }

  void write_taken(const SimpleBlock& block) {
    const auto at = reinterpret_cast<const std::uint8_t*>(branches_.targets().newest_of(block.pc)) -
                    reinterpret_cast<const std::uint8_t*>(owner_.state_.branch_tags);
    code_.operate(kCmp, Memory{kTags, at}, static_cast<std::int32_t>(branches_.targets().tag_of(block.pc)), kDword);
    const std::size_t unknown = ask_if(kNotEqual, Question::UnknownTaken);
    back_here(unknown);
  }

  const PathCode& owner_;
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
  write_entry();
  begin_again();
}

PathCode::~PathCode() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

void PathCode::write_entry() {
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

  // The arguments are in their places but for the first. Behind it the flags say whether it did so: not equal.
  const auto write_try = [&code](Memory function) {
    const std::uint8_t* const begin = code.here();
    code.operate(kSub, kSp, 8);
    code.copy(kDi, kCounts);
    code.call(function);
    write_places(code);
    code.operate(kAdd, kSp, 8);
    code.test_byte(kAx, 1);
    code.ret();
    return begin;
  };
  hits_ = write_try(ZS_STATE(hits));
  fetches_ = write_try(ZS_STATE(fetches));

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
  begin_ = code.here();
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
  if (!std::ranges::all_of(path.addresses->terms, is_sum)) return exit_;
  std::size_t count = 1;
  while (!path.blocks[count - 1].last) ++count;
  const std::uint8_t* const made = make({path.blocks, count}, path.addresses->terms);
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
