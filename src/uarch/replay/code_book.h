// What is known of a program's code before it runs: its timing blocks, and for each path what running it consists of.
// Made when a path first runs where it does; then a run only follows the plan.
//
// A timing block begins behind the end of another and goes on up to and including the next branch, serialising
// instruction or string instruction, and no further than kBlockInstructions. So blocks are the program's, not the
// runner's. A path that ends inside a block leaves it open, and the next path goes on with it: which plan a path has
// depends on the block that is open before it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "arch/core_feed.h"
#include "base/check.h"
#include "uarch/core_model.h"
#include "uarch/flat_map.h"
#include "uarch/memory/memory_system.h"
#include "uarch/replay/address_words.h"
#include "uarch/replay/code_text.h"
#include "uarch/timing/block_timing.h"

namespace zs::uarch {

inline constexpr std::size_t kBlockInstructions = 32;

constexpr bool is_indirect(arch::BranchKind kind) {
  using enum arch::BranchKind;
  return kind == IndirectJump || kind == IndirectCall || kind == Return;
}

/// A timing block, or the beginning of one.
struct KnownBlock {
  std::vector<std::uint32_t> words;  // its codes (CodeText), as CodeWord has them
  std::uint64_t pc = 0, next_pc = 0;
  std::uint32_t id = 0;
  std::uint8_t instructions = 0;
  std::unique_ptr<BlockTiming> timing[2];  // by whether the branch at its end is taken; made when wanted
  std::vector<Issue> issued;               // CodeBook::issued(), likewise
};

/// What a run does to the caches, one after the other.
enum class StepKind : std::uint8_t {
  Fetch,
  Load,   // one address, as nearly all have,
  Store,  // likewise
  Other,
};

struct Step {
  StepKind kind = StepKind::Other;
  arch::AccessKind access = arch::AccessKind::Load;
  arch::AccessForm form = arch::AccessForm::One;
  std::uint8_t instruction = 0;  // within its block
  std::uint8_t load = 0;         // its number among the block's loads, or kNoLane
  std::uint8_t store = 0;        // its instruction's number among those of the block that store, or kNoLane
  bool with_next = false;  // Repeated: the next step is of the same instruction; LockedLoad: its store's word follows
  bool with_last = false;  // retires with the access before, as one load or store
  std::uint16_t bytes = 0;
  std::uint16_t place = 0;  // InstructionShape::place
  std::uint64_t at = 0;     // Fetch: a linear address in the line; otherwise the instruction's
};
inline constexpr std::uint8_t kNoLane = 0xFF;

/// A part of a path that lies in one block.
struct Segment {
  template <typename Clock>
  void enter(Clock& clock) const {
    if (continues) return clock.continue_with(*timing);
    clock.begin(*timing);
  }

  const BlockTiming* timing = nullptr;  // of the block as far as it is known at the segment's end
  std::uint64_t pc = 0, target = 0;     // of the branch that it ends with
  std::uint32_t address = 0;            // address_hash(pc)
  std::uint32_t steps_end = 0;          // in Plan::steps; they begin where those of the segment before end
  arch::BranchKind kind = arch::BranchKind::None;
  std::uint8_t length = 0;        // of the branch
  std::uint8_t branch = 0;        // which of the block's branches it is
  std::uint8_t instructions = 0;  // of the block up to the segment's end
  bool continues : 1 = false;     // the block was open before
  bool ends : 1 = false;          // the block ends here:
  bool serialises : 1 = false;
  bool target_is_next : 1 = false;  // its branch is indirect and the path's last: where it went, the run says
  bool taken : 1 = false;

  std::uint64_t next() const { return pc + length; }
};
static_assert(sizeof(Segment) == 40);

/// One way to run a path.
struct Plan {
  bool closes_open = false;           // the open block is not gone on with: it ends as it is
  const KnownBlock* after = nullptr;  // the block that is open behind it
  Issue under_way;                    // by that
  std::uint32_t uops = 0, fused = 0;  // of the blocks that end in it
  std::span<const Segment> segments;
  std::span<const Step> steps;

  std::span<const Step> steps_of(std::size_t segment) const {
    const std::size_t first = segment == 0 ? 0 : segments[segment - 1].steps_end;
    return steps.subspan(first, segments[segment].steps_end - first);
  }
};

/// A whole block that does nothing but plain loads and stores, and ends with a branch or because it is as long as
/// blocks get: what a run of it needs in which all of them hit. One line of the host's memory, because code that runs
/// now and then is what its caches have forgotten.
struct alignas(64) SimpleBlock {
  static constexpr std::size_t kMostLooks = 17, kMostLines = 6;

  mutable std::uint64_t lines_known = ~std::uint64_t{0};  // MemorySystem::Filter::are_plain()
  std::uint64_t first_line = 0;                           // linear address / 64
  std::uint64_t pc = 0;                                   // of the branch
  std::uint32_t hash = 0;                                 // address_hash(pc)
  std::uint16_t footprint = 0;                            // path_footprint() of a taken direct branch
  arch::BranchKind kind = arch::BranchKind::None;
  std::uint8_t length : 4 = 0;  // of the branch
  bool taken : 1 = false;
  bool last : 1 = false;        // of its path
  bool calls_next : 1 = false;  // a direct call of the instruction behind it
  std::uint8_t lines = 0, descriptors = 0, stores = 0;
  std::array<AccessDescriptor, kMostLooks> descriptor{};

  std::uint64_t loads() const { return std::uint64_t{descriptors} - stores; }
};
static_assert(sizeof(SimpleBlock) == 64);

/// A path of nothing but simple blocks.
struct SimplePath {
  const SimpleBlock* blocks = nullptr;         // the last says that it is
  const PathAddresses* addresses = nullptr;    // the blocks' looks, one behind the other, each of one word
  const Plan* plan = nullptr;                  // of the blocks
  std::uint64_t identity = ~std::uint64_t{0};  // paths that have the same have the same blocks and addresses
};

/// Different numbers may name paths that are the same (side exits of two forms of a block, paths of code that was
/// translated anew): what is known of such a path is known once.
class CodeBook {
 public:
  /// kept  MachineOptions::kept_bytes
  CodeBook(const CoreModel& model, std::size_t kept)
      : timing_(model.timing),
        limits_(memory_limits(model.memory)),
        retires_once_(model.memory.retired.instructions),
        kept_(kept) {}

  void describe(std::uint32_t path, const arch::PathDescription& description);
  /// No number means anything any more. What is known of the paths stays, for others that are the same,
  void forget_numbers() { numbered_.clear(); }
  /// as long as it is not too much.
  bool is_full() const { return bytes() > kept_; }
  /// Forgets all paths, and blocks but those of which `keeps` says that somebody may still ask for them.
  template <typename Keeps>
  void forget(const Keeps& keeps) {
    for (std::unique_ptr<KnownBlock>& block : blocks_) {
      if (block != nullptr && !keeps(*block)) {
        free_ids_.push_back(block->id);
        block = nullptr;
      }
    }
    begin_again();
    ++forgotten_;
  }
  /// How often; ids of blocks mean other ones then.
  std::uint64_t forgotten() const { return forgotten_; }
  /// What all that is known takes, roughly.
  std::size_t bytes() const {
    return text_.bytes() + arena_.bytes() + block_bytes_ + paths_.size() * sizeof(Path) +
           addresses_.size() * sizeof(PathAddresses);
  }
  std::size_t paths() const { return numbered_.size(); }  // all numbers are below
  bool knows(std::uint32_t path) const { return path < numbered_.size() && numbered_[path].path != kUnknown; }

  // As arch::CoreFeed has them.
  void skipped() { ++described_.stretch; }
  arch::CodeAge age_of_code(std::uint64_t pc) const {
    const std::uint32_t* const since = described_.lines.find(pc / kLineBytes);
    if (since == nullptr) return arch::CodeAge::Unknown;
    return *since == described_.stretch ? arch::CodeAge::New : arch::CodeAge::Old;
  }

  /// What a run of the path has to do with upper halves of vector registers (InstructionShape).
  struct UpperUse {
    bool merges : 1 = false;   // where they are in use before it, it takes another plan
    bool filled : 1 = false;   // they are in use behind it,
    bool cleared : 1 = false;  // or not, whatever they were
  };
  UpperUse upper_use(std::uint32_t path) const { return numbered_[path].upper; }
  /// Whether some path leaves them in use; else nobody has to ask.
  bool any_leaves_upper() const { return upper_.any_leaves; }

  /// open    the block that is open before the run; null: none
  /// merges  of UpperUse, and they are in use
  const Plan& plan(std::uint32_t path, const KnownBlock* open, bool merges = false) {
    CHECK(path < numbered_.size(), path);
    if (merges) return merging_plan(path, open);
    if (open == nullptr) {
      const Plan* const known = paths_[numbered_[path].path].at_block_start;
      if (known != nullptr) return *known;
    }
    return find_or_make(path, open);
  }
  /// The blocks of a path that was run from the start of a block before and consists of such alone; null: otherwise.
  /// The last says that it is.
  const SimpleBlock* simple(std::uint32_t path) const { return paths_[numbered_[path].path].simple; }
  /// The same of a path that has such, and its plan.
  struct SimpleRun {
    const SimpleBlock* blocks;
    const Plan& plan;
  };
  SimpleRun simple_run(std::uint32_t path) const {
    const Path& known = paths_[numbered_[path].path];
    return {known.simple, *known.at_block_start};
  }
  SimplePath simple_path(std::uint32_t path) const {
    const Number& number = numbered_[path];
    return {.blocks = paths_[number.path].simple,
            .addresses = &addresses_[number.addresses],
            .plan = paths_[number.path].at_block_start,
            .identity = std::uint64_t{number.path} << 32 | number.addresses};
  }
  const PathAddresses& addresses(std::uint32_t path) const { return addresses_[numbered_[path].addresses]; }
  /// Of a block that ends where it is, without a branch.
  const BlockTiming& closed(const KnownBlock& open) const { return *open.timing[0]; }
  /// The instructions of the block of that id; until the next is asked for or made.
  std::span<const PlacedInstruction> placed(std::uint32_t id) { return place(*blocks_[id]); }
  /// By its instructions up to that number.
  const Issue& issued(std::uint32_t id, std::size_t instruction);

 private:
  struct Path {
    std::span<const std::uint32_t> words;  // its instructions (CodeText), as CodeWord has them
    const Plan* at_block_start = nullptr;  // what nearly every run needs
    const SimpleBlock* simple = nullptr;
  };

  static constexpr std::uint32_t kUnknown = 0;
  struct Number {
    std::uint32_t path = kUnknown;  // in paths_
    std::uint32_t addresses = 0;    // in addresses_
    UpperUse upper;
  };

  void begin_again();
  std::uint32_t path_of(const arch::PathDescription& description, UpperUse& upper);
  std::uint32_t path_of_words();
  std::uint32_t addresses_of(const arch::PathDescription& description);
  const Plan& find_or_make(std::uint32_t path, const KnownBlock* open);
  const Plan& merging_plan(std::uint32_t path, const KnownBlock* open);
  const Plan& plan_within(std::uint32_t number, const KnownBlock& open);
  const Plan* make(const Path& path, const KnownBlock* open);
  KnownBlock& block(std::span<const std::uint32_t> words);
  std::span<const PlacedInstruction> place(const KnownBlock& block);
  const BlockTiming& timing_of(KnownBlock& block, bool taken);
  const SimpleBlock* simplified(const Plan& plan);

  TimingParameters timing_;
  MemoryLimits limits_;
  bool retires_once_;  // an instruction is one load or store, however many it does
  std::size_t kept_;
  CodeText text_;
  Arena arena_;
  std::vector<Number> numbered_;                    // by the runner's number
  std::vector<Path> paths_ = std::vector<Path>(1);  // the first is none
  HashIndex paths_by_;
  std::vector<PathAddresses> addresses_;
  HashIndex addresses_by_;
  FlatMap<const Plan*> within_blocks_;               // by path and the id of the open block
  std::vector<std::unique_ptr<KnownBlock>> blocks_;  // by id
  HashIndex blocks_by_;
  std::vector<std::uint32_t> free_ids_;  // that no block has any more
  struct {
    std::uint32_t stretch = 1;     // between calls of skipped()
    FlatMap<std::uint32_t> lines;  // of code, address / kLineBytes: in which stretch they first were; they stay
  } described_;
  std::size_t block_bytes_ = 0;
  std::uint64_t forgotten_ = 0;
  struct {
    FlatMap<std::uint32_t> merging;  // paths, by the number of the path as it is otherwise
    bool any_leaves = false;
  } upper_;
  // scratch
  std::vector<std::uint32_t> words_;
  std::vector<arch::AddressTerm> terms_;
  std::vector<PlacedInstruction> placed_;
  struct {
    std::vector<Segment> segments;
    std::vector<std::uint64_t> firsts;  // where the block of each segment begins
    std::vector<Step> steps;
  } plan_;
  std::vector<SimpleBlock> simple_;
};

}  // namespace zs::uarch
