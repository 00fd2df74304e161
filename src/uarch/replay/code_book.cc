#include "uarch/replay/code_book.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "uarch/branch/path_history.h"

namespace zs::uarch {
namespace {

using arch::AccessKind;
using arch::BranchKind;

constexpr bool reads(AccessKind kind) { return kind != AccessKind::Store && kind != AccessKind::StreamingStore; }

std::uint64_t hash_of_terms(std::span<const arch::AddressTerm> terms) {
  std::uint64_t hash = terms.size();
  const auto mix = [&hash](std::uint64_t word) { hash = (std::rotl(hash, 25) ^ word) * 0x9E37'79B9'7F4A'7C15; };
  for (const arch::AddressTerm& term : terms) {
    mix(static_cast<std::uint64_t>(term.displacement));
    mix(std::uint64_t{term.base} | std::uint64_t{term.index} << 8 | std::uint64_t{term.scale} << 16 |
        std::uint64_t{term.flags} << 24 | std::uint64_t{term.part} << 32 | std::uint64_t{term.bytes} << 40);
  }
  return hash ^ hash << 32;
}

std::size_t bytes_of(const KnownBlock& block) { return sizeof block + block.words.size() * sizeof(std::uint32_t); }

/// The instructions of a list of words, one after the other.
class Reader {
 public:
  explicit Reader(std::span<const std::uint32_t> words) : at_(words.data()), end_(words.data() + words.size()) {}

  bool done() const { return at_ == end_; }
  const std::uint32_t* next() const { return at_; }
  /// The next one is read; leave() goes behind it.
  void read() {
    const std::uint32_t word = *at_++;
    number = word & CodeWord::kNumber;
    taken = (word & CodeWord::kTaken) != 0;
    if ((word & CodeWord::kJump) != 0) pc = CodeWord::take_address(at_);
    target = (word & CodeWord::kTarget) != 0 ? CodeWord::take_address(at_) : 0;
  }
  void leave(std::uint8_t length) { pc = (taken && target != 0) ? target : pc + length; }

  std::uint32_t number = 0;
  std::uint64_t pc = 0, target = 0;
  bool taken = false;

 private:
  const std::uint32_t *at_, *end_;
};

}  // namespace

/// The number of the path with this description, if upper halves are not in use before it.
std::uint32_t CodeBook::path_of(const arch::PathDescription& description, UpperUse& upper) {
  words_.clear();
  std::uint64_t expected = 0;
  std::size_t access = 0;
  const auto& accesses = description.accesses;
  for (std::size_t i = 0; i < description.instructions.size(); ++i) {
    const arch::PathInstruction& told = description.instructions[i];
    const std::size_t first = access;
    while (access < accesses.size() && accesses[access].instruction == i) ++access;
    const bool jump = i == 0 || told.pc != expected;
    std::uint32_t code = text_.code_of(told);
    if (timing_.merges_upper_halves) {
      const InstructionShape& shape = text_.shape(code);
      const UpperHalves becomes = shape.upper;
      if (becomes == UpperHalves::Kept && upper.filled)
        code = text_.merging_code(code);
      else if (becomes == UpperHalves::Kept && !upper.cleared)
        upper.merges = true;
      if (becomes >= UpperHalves::Filled) {
        upper.filled = becomes == UpperHalves::Filled;
        upper.cleared = !upper.filled;
      }
    }
    words_.push_back(text_.instruction_of(code, accesses.subspan(first, access - first)) |
                     (told.taken ? CodeWord::kTaken : 0) | (told.target != 0 ? CodeWord::kTarget : 0) |
                     (jump ? CodeWord::kJump : 0));
    if (jump) CodeWord::put_address(words_, told.pc);
    if (told.target != 0) CodeWord::put_address(words_, told.target);
    expected = told.taken && told.target != 0 ? told.target : told.pc + told.length;
  }
  CHECK(access == accesses.size(), access);
  return path_of_words();
}

std::uint32_t CodeBook::path_of_words() {
  const std::uint64_t hash = hash_of(words_);
  const std::uint32_t known =
      paths_by_.find(hash, [&](std::uint32_t number) { return std::ranges::equal(paths_[number].words, words_); });
  if (known != HashIndex::kNone) return known;
  paths_.push_back({.words = arena_.keep(std::span<const std::uint32_t>(words_))});
  const auto number = static_cast<std::uint32_t>(paths_.size() - 1);
  paths_by_.add(hash, number);
  return number;
}

/// The number of the list of its addresses.
std::uint32_t CodeBook::addresses_of(const arch::PathDescription& description) {
  terms_.clear();
  for (const arch::PathAccess& access : description.accesses) terms_.push_back(access.address);
  const std::uint64_t hash = hash_of_terms(terms_);
  const std::uint32_t known = addresses_by_.find(
      hash, [&](std::uint32_t number) { return std::ranges::equal(addresses_[number].terms(), terms_); });
  if (known != HashIndex::kNone) return known;
  const std::size_t count = terms_.size();
  terms_.resize(count + PathAddresses::kTogether, {.base = 0});
  const auto kept = arena_.keep(std::span<const arch::AddressTerm>(terms_));
  addresses_.push_back(path_addresses(kept.first(count)));
  const auto number = static_cast<std::uint32_t>(addresses_.size() - 1);
  addresses_by_.add(hash, number);
  return number;
}

void CodeBook::describe(std::uint32_t path, const arch::PathDescription& description) {
  CHECK(!description.instructions.empty(), path);
  if (path >= numbered_.size()) numbered_.resize(path + 1U);
  UpperUse upper;
  const std::uint32_t number = path_of(description, upper);
  numbered_[path] = {.path = number, .addresses = addresses_of(description), .upper = upper};
  upper_.any_leaves |= upper.filled;
  for (std::uint64_t known = ~std::uint64_t{0}; const arch::PathInstruction& insn : description.instructions) {
    const std::uint64_t line = insn.pc / kLineBytes;
    if (std::exchange(known, line) == line) continue;
    if (std::uint32_t& since = described_.lines[line]; since == 0) since = described_.stretch;
  }
}

/// What is kept are blocks, in which nothing changes but the numbers of their instructions.
void CodeBook::begin_again() {
  const CodeText old = std::exchange(text_, CodeText{});
  numbered_.clear();
  paths_.resize(1);
  paths_by_ = {};
  addresses_.clear();
  addresses_by_ = {};
  within_blocks_ = {};
  upper_.merging = {};
  blocks_by_ = {};
  block_bytes_ = 0;
  arena_ = {};
  for (const std::unique_ptr<KnownBlock>& block : blocks_) {
    if (block == nullptr) continue;
    words_.clear();
    for (Reader reader(block->words); !reader.done();) {
      const std::uint64_t expected = reader.pc;
      reader.read();
      const std::uint32_t code = old.copy_code(reader.number, text_);
      const bool jump = words_.empty() || reader.pc != expected;
      words_.push_back(code | (jump ? CodeWord::kJump : 0));
      if (jump) CodeWord::put_address(words_, reader.pc);
      reader.leave(text_.shape(code).length);
    }
    block->words = words_;
    blocks_by_.add(hash_of(words_), block->id);
    block_bytes_ += bytes_of(*block);
    for (const auto& timing : block->timing) block_bytes_ += timing != nullptr ? timing->bytes() : 0;
  }
}

const Plan& CodeBook::find_or_make(std::uint32_t path, const KnownBlock* open) {
  CHECK(knows(path), path);
  const std::uint32_t number = numbered_[path].path;
  if (open != nullptr) return plan_within(number, *open);
  Path& known = paths_[number];
  known.at_block_start = make(known, nullptr);
  known.simple = simplified(*known.at_block_start);
  return *known.at_block_start;
}

const Plan& CodeBook::plan_within(std::uint32_t number, const KnownBlock& open) {
  const Plan*& plan = within_blocks_[std::uint64_t{number} << 32 | open.id];
  if (plan == nullptr) plan = make(paths_[number], &open);
  return *plan;
}

const Plan& CodeBook::merging_plan(std::uint32_t path, const KnownBlock* open) {
  CHECK(knows(path), path);
  const std::uint32_t usual = numbered_[path].path;
  std::uint32_t number = upper_.merging[usual];
  if (number == kUnknown) {
    words_.clear();
    bool in_use = true;
    for (Reader reader(paths_[usual].words); !reader.done();) {
      const std::uint32_t* const word = reader.next();
      reader.read();
      const InstructionShape& shape = text_.shape(text_.code(reader.number));
      if (shape.upper >= UpperHalves::Filled) in_use = shape.upper == UpperHalves::Filled;
      const std::uint32_t instruction = in_use ? text_.merging_instruction(reader.number) : reader.number;
      words_.push_back((*word & ~CodeWord::kNumber) | instruction);
      words_.insert(words_.end(), word + 1, reader.next());
    }
    upper_.merging[usual] = number = path_of_words();
  }
  if (open != nullptr) return plan_within(number, *open);
  Path& known = paths_[number];
  if (known.at_block_start == nullptr) known.at_block_start = make(known, nullptr);
  return *known.at_block_start;
}

KnownBlock& CodeBook::block(std::span<const std::uint32_t> words) {
  const std::uint64_t hash = hash_of(words);
  const std::uint32_t known =
      blocks_by_.find(hash, [&](std::uint32_t id) { return std::ranges::equal(blocks_[id]->words, words); });
  if (known != HashIndex::kNone) return *blocks_[known];
  if (free_ids_.empty()) {
    free_ids_.push_back(static_cast<std::uint32_t>(blocks_.size()));
    blocks_.emplace_back();
  }
  const std::uint32_t id = free_ids_.back();
  free_ids_.pop_back();
  blocks_[id] = std::make_unique<KnownBlock>();
  KnownBlock& made = *blocks_[id];
  made.words.assign(words.begin(), words.end());
  made.id = id;
  block_bytes_ += bytes_of(made);
  Reader reader(words);
  reader.read();
  made.pc = reader.pc;
  for (;; reader.read()) {
    ++made.instructions;
    reader.leave(text_.shape(reader.number).length);
    if (reader.done()) break;
  }
  made.next_pc = reader.pc;
  blocks_by_.add(hash, made.id);
  return made;
}

const Issue& CodeBook::issued(std::uint32_t id, std::size_t instruction) {
  KnownBlock& block = *blocks_[id];
  if (block.issued.empty()) {
    block.issued = issue_sums(block_costs(timing_, limits_, place(block)));
    block_bytes_ += block.issued.size() * sizeof(Issue);
  }
  return block.issued[instruction];
}

std::span<const PlacedInstruction> CodeBook::place(const KnownBlock& block) {
  placed_.clear();
  for (Reader reader(block.words); !reader.done(); reader.leave(placed_.back().shape.length)) {
    reader.read();
    placed_.push_back({reader.pc, text_.shape(reader.number)});
  }
  return placed_;
}

const BlockTiming& CodeBook::timing_of(KnownBlock& block, bool taken) {
  std::unique_ptr<BlockTiming>& timing = block.timing[taken ? 1 : 0];
  if (timing == nullptr) {
    timing = std::make_unique<BlockTiming>(timing_, limits_, place(block), block.id, taken);
    block_bytes_ += timing->bytes();
  }
  return *timing;
}

/// Of the plan that was made last; null where some block is not simple.
const SimpleBlock* CodeBook::simplified(const Plan& plan) {
  if (plan.closes_open || plan.after != nullptr) return nullptr;
  simple_.clear();
  const Step* step = plan.steps.data();
  for (const Segment& segment : plan.segments) {
    const Step* const end = plan.steps.data() + segment.steps_end;
    const bool last = &segment == &plan.segments.back();
    const bool whole = !segment.continues && segment.ends && !segment.serialises;
    if (!whole || segment.kind == BranchKind::Far) return nullptr;
    if (is_indirect(segment.kind) && !last) return nullptr;
    const std::uint64_t first_line = plan_.firsts[simple_.size()] >> kLineBits,
                        last_line = (segment.next() - 1) >> kLineBits;
    if (last_line - first_line >= SimpleBlock::kMostLines) return nullptr;
    SimpleBlock& block = simple_.emplace_back();
    block.first_line = first_line;
    block.lines = static_cast<std::uint8_t>(last_line - first_line + 1);
    block.pc = segment.pc;
    block.hash = segment.address;
    block.footprint = path_footprint(segment.pc, segment.target);
    block.kind = segment.kind;
    block.length = segment.length & 0xF;
    block.taken = segment.taken;
    block.last = last;
    block.calls_next = segment.target == segment.next();
    for (; step != end; ++step) {
      if (step->kind == StepKind::Fetch) continue;
      if (block.descriptors == SimpleBlock::kMostLooks) return nullptr;
      const bool plain = step->kind == StepKind::Load || (step->kind == StepKind::Store && step->store != kNoLane);
      if (!plain || step->bytes == 0 || step->bytes > kLineBytes) return nullptr;
      if (step->kind == StepKind::Store) ++block.stores;
      block.descriptor[block.descriptors++] = AccessDescriptor(step->bytes, step->kind == StepKind::Store);
    }
  }
  return arena_.keep(std::span<const SimpleBlock>(simple_)).data();
}

const Plan* CodeBook::make(const Path& path, const KnownBlock* open) {
  Plan plan;
  plan_.segments.clear();
  plan_.firsts.clear();
  plan_.steps.clear();
  words_.clear();             // of the block under way
  std::uint64_t first = 0;    // where it begins
  unsigned instructions = 0;  // of it
  std::size_t loads = 0, branches = 0, stores = 0;
  Segment segment;
  Reader now(path.words);
  now.read();
  if (open != nullptr && open->next_pc != now.pc) {
    plan.closes_open = true;
  } else if (open != nullptr) {
    words_ = open->words;
    first = open->pc;
    instructions = open->instructions;
    segment.continues = true;
    for (Reader before(open->words); !before.done();) {
      before.read();
      const InstructionShape& shape = text_.shape(before.number);
      before.leave(shape.length);
      loads += shape.loads;
      branches += shape.branch != BranchKind::None ? 1 : 0;
      stores += shape.stores != 0 ? 1 : 0;
    }
  }

  /// Loads or stores that retire of an instruction whose shape has so many.
  const auto retired_of = [&](std::size_t operands) { return retires_once_ ? 1 : std::max<std::size_t>(operands, 1); };
  std::uint64_t line = 0, expected = open != nullptr ? open->next_pc : 0;
  const auto fetch = [&](std::uint64_t linear, bool always) {
    if (!always && linear >> kLineBits == line) return;
    line = linear >> kLineBits;
    plan_.steps.push_back(
        {.kind = StepKind::Fetch, .instruction = static_cast<std::uint8_t>(instructions), .at = linear});
  };
  for (bool begins = true, last = false; !last; begins = false) {
    if (!begins) now.read();
    last = now.done();
    if (!plan_.segments.empty() && instructions == 0 && is_indirect(plan_.segments.back().kind))
      plan_.segments.back().target = now.pc;
    const std::uint32_t code = text_.code(now.number);
    const InstructionShape& shape = text_.shape(code);
    fetch(now.pc, begins);
    fetch(now.pc + shape.length - 1, false);
    const auto number = static_cast<std::uint8_t>(instructions);
    std::size_t read = 0, loads_before = 0, written = 0;
    const std::span<const CodeText::Access> accesses = text_.accesses(now.number);
    for (std::size_t access = 0; access < accesses.size(); ++access) {
      const CodeText::Access& told = accesses[access];
      if (told.kind == AccessKind::Store && access != 0 && accesses[access - 1].kind == AccessKind::LockedLoad) {
        plan_.steps.back().with_next = true;  // one access with it
        continue;
      }
      const bool paired = told.form == arch::AccessForm::Repeated && access + 1 < accesses.size();
      // An instruction may load more often than its shape says (XSAVE and its kin are one load there): the last stands
      // for the rest.
      const bool has_lane = shape.loads != 0 && reads(told.kind);
      const std::size_t lane = has_lane ? loads + std::min<std::size_t>(read++, shape.loads - 1U) : kNoLane;
      const bool one = told.form == arch::AccessForm::One;
      const bool with_last = one && (told.kind == AccessKind::Load
                                         ? loads_before++ >= retired_of(shape.loads)
                                         : told.kind == AccessKind::Store && written++ >= retired_of(shape.stores));
      plan_.steps.push_back(
          {.kind = with_last                                          ? StepKind::Other
                   : one && told.kind == AccessKind::Load && has_lane ? StepKind::Load
                   : one && told.kind == AccessKind::Store            ? StepKind::Store
                                                                      : StepKind::Other,
           .access = told.kind,
           .form = told.form,
           .instruction = number,
           .load = static_cast<std::uint8_t>(lane),
           .store = static_cast<std::uint8_t>(shape.stores != 0 && !reads(told.kind) ? stores : kNoLane),
           .with_next = paired,
           .with_last = with_last,
           .bytes = told.bytes,
           .place = shape.place,
           .at = now.pc});
    }
    loads += shape.loads;
    branches += shape.branch != BranchKind::None ? 1 : 0;
    stores += shape.stores != 0 ? 1 : 0;
    if (instructions++ == 0) first = now.pc;
    const bool jump = words_.empty() || now.pc != expected;
    words_.push_back(code | (jump ? CodeWord::kJump : 0));
    if (jump) CodeWord::put_address(words_, now.pc);
    expected = now.pc + shape.length;

    const bool ends =
        shape.branch != BranchKind::None || shape.serialising || shape.repeats || instructions == kBlockInstructions;
    if (ends || last) {
      KnownBlock& known = block(words_);
      segment.timing = &timing_of(known, ends && now.taken);
      segment.steps_end = static_cast<std::uint32_t>(plan_.steps.size());
      segment.ends = ends;
      segment.instructions = known.instructions;
      if (ends) {
        plan.uops += segment.timing->uops();
        plan.fused += segment.timing->fused();
        segment.serialises = shape.serialising;
        segment.kind = shape.branch;
        segment.branch = static_cast<std::uint8_t>(branches - 1);
        segment.taken = now.taken;
        segment.pc = now.pc;
        segment.address = address_hash(now.pc);
        segment.length = shape.length;
        segment.target_is_next = is_indirect(shape.branch) && last;
        segment.target = now.target;
        words_.clear();
        instructions = 0;
        loads = branches = stores = 0;
      } else {
        const BlockTiming& timing = timing_of(known, false);
        plan.after = &known;
        plan.under_way = {timing.slots(), timing.microcode_slots(), timing.uops(), timing.fused()};
      }
      plan_.segments.push_back(segment);
      plan_.firsts.push_back(first);
      segment = {};
    }
    now.leave(shape.length);
  }
  plan.segments = arena_.keep(std::span<const Segment>(plan_.segments));
  plan.steps = arena_.keep(std::span<const Step>(plan_.steps));
  return arena_.keep(std::span<const Plan>(&plan, 1)).data();
}

}  // namespace zs::uarch
