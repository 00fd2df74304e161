#include "uarch/replay/replay_code.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/check.h"
#include "uarch/replay/replay_code_writer.h"

namespace zs::uarch {
namespace {

using namespace replay_registers;
using enum Assembler::Operation;
using enum Assembler::Width;

constexpr Gpr kSaved[] = {kRbx, kRbp, kR12, kR13, kR14, kR15};

/// Bytes of code for a block, for each of its lines and accesses, for a path besides, and of write_entry(), at most.
constexpr std::size_t kBlockBytes = 512, kFetchBytes = 64, kLookBytes = 256, kPathBytes = 256, kEntryBytes = 4096;
/// Paths that are made before this part of the room is full have copies of routines. chosen: so much stays in the
/// host's second-level cache.
constexpr std::size_t kInlinedPart = 256;

}  // namespace

ReplayCode::ReplayCode(MemorySystem::Filter& filter, BranchUnit& branches, CoreClock& clock,
                       const TimingParameters& core, std::size_t bytes)
    : filter_(filter), branches_(branches), clock_(clock), timing_(core), bytes_(bytes) {
  if (!ReplayCodeWriter::is_supported()) return;
  state_.clock = &clock.inline_part();
  state_.stores = &filter.stores.inline_part();
  state_.branches = &branches;
  state_.predicts = [](BranchUnit& own, std::uint32_t hash, std::uint32_t what) {
    return own.predict_direction(hash, static_cast<std::uint16_t>(what), what >> 16 != 0);
  };
  state_.follow = [](BranchUnit& own, std::uint32_t footprint) {
    own.pass_taken(static_cast<std::uint16_t>(footprint));
  };
  prepare();
}

void ReplayCode::prepare() {
  if (bytes_ < kEntryBytes || filter_.way_hints == WayHints::none()) return;
  void* const memory =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  memory_ = static_cast<std::uint8_t*>(memory);
  state_.counts = &filter_;
  state_.hits = [](MemorySystem::InlineCounts& own, std::uint64_t linear, std::uint32_t size, unsigned store) {
    return static_cast<MemorySystem::Filter&>(own).hits_tags(linear, size, store);
  };
  state_.fetches = [](MemorySystem::InlineCounts& own, std::uint64_t line) {
    return static_cast<MemorySystem::Filter&>(own).touch_code(line);
  };
  state_.touches = [](BranchTargetBuffer& targets, std::uint64_t pc) { return targets.touch(pc); };
  state_.targets = &branches_.targets();
  state_.way_hints = filter_.way_hints;
  state_.hot_code = filter_.hot_code;
  state_.code_stamps = filter_.code_tlb.inline_part().stamps;
  for (std::size_t i = 0; i < state_.tlbs.size(); ++i) state_.tlbs[i] = filter_.tlbs[i].inline_part();
  state_.branch_tags = branches_.targets().newest_of(0);
  state_.returns = &branches_.returns().inline_part();
  write_entry();
  begin_again();
}

ReplayCode::~ReplayCode() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

void ReplayCode::write_registers(Assembler& code) {
  ReplayRoutines::write_places(code);
  code.load(kClock, ZS_STATE(clock));
  code.load(kStores, ZS_STATE(stores));
}

/// But for kValues, which nobody who is asked changes.
void ReplayCode::write_state(Assembler& code) {
  code.store(ZS_STATE(run), kRun);
  ReplayRoutines::write_stamp(code);
}

void ReplayCode::write_entry() {
  Assembler code(memory_);
  enter_ = reinterpret_cast<void (*)(ReplayState*)>(code.here());
  for (const Gpr saved : kSaved) code.push(saved);
  code.operate(kSub, kRsp, 8);  // so that calls find the stack aligned
  code.copy(kState, kRdi);
  write_registers(code);
  code.load(kRun, ZS_STATE(run));
  ReplayCodeWriter::write_dispatch(code);

  exit_ = code.here();
  write_state(code);
  code.operate(kAdd, kRsp, 8);
  for (std::size_t i = std::size(kSaved); i-- > 0;) code.pop(kSaved[i]);
  code.ret();

  // kRax: a Callout. Behind it the flags say whether the block is over: not equal.
  ask_ = code.here();
  code.copy(kRsi, kRax, kDword);
  code.operate(kSub, kRsp, 8);
  write_state(code);
  code.copy(kRdi, kState);
  code.call(ZS_STATE(ask));
  write_registers(code);
  code.operate(kAdd, kRsp, 8);
  code.test(kRax, kRax);
  code.ret();
  routines_ = ReplayRoutines(code, filter_);
  timed_routines_ = TimedRoutines(code, routines_, filter_.store_tlb != 0, timing_.reorder_buffer);
  begin_ = code.here();
  CHECK(begin_ <= memory_ + kEntryBytes, begin_ - memory_);
}

void ReplayCode::begin_again() {
  at_ = begin_;
  std::ranges::fill(code_, exit_);
  std::ranges::fill(heat_, 0);
  made_ = {};
}

[[gnu::noinline]] void ReplayCode::warm(std::uint32_t path, const SimplePath& known) {
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

const std::uint8_t* ReplayCode::code_for(const SimplePath& path) {
  if (const std::uint8_t** const known = made_.find(path.identity)) return *known;
  using arch::AddressTerm;
  const auto is_sum = [](const AddressTerm& term) {
    return (term.flags & ~(AddressTerm::kFs | AddressTerm::kGs)) == 0;
  };
  if (!std::ranges::all_of(path.addresses->terms(), is_sum)) return exit_;
  const std::uint8_t* const made = make(path);
  if (made != exit_) made_[path.identity] = made;
  return made;
}

const std::uint8_t* ReplayCode::make(const SimplePath& path) {
  std::size_t count = 1;
  while (!path.blocks[count - 1].last) ++count;
  const std::span<const SimpleBlock> blocks(path.blocks, count);
  std::size_t bytes = kPathBytes;
  for (const SimpleBlock& block : blocks)
    bytes += kBlockBytes + kFetchBytes * block.lines + kLookBytes * block.descriptors;
  for (const Segment& segment : path.plan->segments) {
    if (!ReplayCodeWriter::can_write(*segment.timing)) return exit_;
    bytes += ReplayCodeWriter::bytes_of(*segment.timing);
    clock_.know_id(segment.timing->id());
  }
  constexpr std::size_t kMostBlocks = 255;
  if (blocks.size() > kMostBlocks) return exit_;
  if (at_ + bytes > memory_ + bytes_) {
    ++resets_;
    begin_again();
    return exit_;
  }
  const std::uint8_t* const start = at_;
  const bool inlined = start < begin_ + bytes_ / kInlinedPart;
  const std::span<const arch::AddressTerm> terms = path.addresses->terms();
  at_ = ReplayCodeWriter(places(), at_, blocks, *path.plan, terms, inlined).write();
  CHECK(at_ <= start + bytes, blocks.size(), at_ - start, bytes);
  return start;
}

}  // namespace zs::uarch
