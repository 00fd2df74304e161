// Overflows inside a trace: counters whose interrupt needs no registers (VirtualCpu::late_interrupts) do not keep the trace short.
// When it is read, it is cut at each instruction that overflows one: what retired before is counted in bulk, that instruction is
// retired alone, the interrupt is taken, and counting goes on behind it. So an end of a window costs no visit of the dispatcher.

#include <algorithm>

#include "base/check.h"
#include "engine/runtime.h"

namespace zs::engine {

void Runtime::look_at_room() {
  std::size_t lane = 0;
  for (const pmu::Pmu* pmu : thread_->cpu.pmus) {
    for (std::size_t own = 0; own < pmu->lanes().size(); ++own, ++lane) room_[lane] = pmu->headroom(own);
  }
}

/// totals_ and `more` together overflow nothing. Then totals_ holds both.
bool Runtime::adds_up(std::span<const std::uint64_t> more) {
  for (std::size_t lane = 0; lane < totals_.size(); ++lane) {
    if (totals_[lane] + more[lane] > room_[lane]) return false;
  }
  for (std::size_t lane = 0; lane < totals_.size(); ++lane) totals_[lane] += more[lane];
  return true;
}

void Runtime::count_and_cut(std::span<const std::uint32_t> ids) {
  look_at_room();
  std::fill(totals_.begin(), totals_.end(), 0);
  while (!ids.empty()) {
    const std::size_t now = std::min(ids.size(), records_to_overflow());
    add_records(ids.first(now));
    ids = ids.subspan(now);
  }
  count(totals_);
}

/// A guess, a little short: what the records before these had in them on average, the next will have too. What is left is guessed
/// again, so that a few sums lead to the overflow.
std::size_t Runtime::records_to_overflow() const {
  constexpr std::uint64_t kFar = std::uint64_t{1} << 40;
  constexpr std::size_t kToBeginWith = 256;
  if (summed_records_ == 0) return kToBeginWith;
  double least = 1 << 20;
  for (std::size_t lane = 0; lane < room_.size(); ++lane) {
    const std::uint64_t left = room_[lane] - totals_[lane];
    if (left >= kFar || summed_[lane] == 0) continue;
    least = std::min(least, static_cast<double>(left) / static_cast<double>(summed_[lane]));
  }
  constexpr double kShort = 0.9;
  return std::max(CountTable::kFew, static_cast<std::size_t>(least * static_cast<double>(summed_records_) * kShort));
}

void Runtime::add_records(std::span<const std::uint32_t> ids) {
  if (ids.size() <= CountTable::kFew) return add_few_records(ids);
  std::fill(more_.begin(), more_.end(), 0);
  translator_->counts().sum(ids, more_);
  // The average forgets slowly: a phase is longer than this.
  constexpr std::uint64_t kRemembered = 1 << 16;
  if (summed_records_ > kRemembered) {
    summed_records_ /= 2;
    for (std::uint64_t& sum : summed_) sum /= 2;
  }
  summed_records_ += ids.size();
  for (std::size_t lane = 0; lane < more_.size(); ++lane) summed_[lane] += more_[lane];
  if (adds_up(more_)) return;
  // Somewhere in these.
  add_records(ids.first(ids.size() / 2));
  add_records(ids.subspan(ids.size() / 2));
}

void Runtime::add_few_records(std::span<const std::uint32_t> ids) {
  const CountTable& counts = translator_->counts();
  for (;;) {
    ids = ids.subspan(counts.add_within(ids, room_, totals_));
    if (ids.empty()) return;
    const Exit& exit = translator_->exit(ids[0]);
    add_path(exit.block, exit.instructions, &exit);
    for (std::size_t lane = 0; lane < lanes_->size(); ++lane)
      CHECK(path_sum_[lane] == counts.at(ids[0], lane), lane, path_sum_[lane]);
    ids = ids.subspan(1);
  }
}

/// The first `instructions` of a block, of which the last leaves through `exit` if there is one.
void Runtime::add_path(std::uint32_t block, unsigned instructions, const Exit* exit) {
  const auto& path = translator_->retirements(block, instructions);
  CHECK(path.size() >= instructions, path.size(), instructions);
  std::fill(path_sum_.begin(), path_sum_.end(), 0);
  const std::size_t lanes = lanes_->size();
  for (unsigned i = 0; i < instructions; ++i) {
    const bool leaves = exit != nullptr && exit->leaves_by_branch() && i + 1 == instructions;
    const bool taken = leaves && path[i].facts.branch == arch::BranchKind::Conditional ? exit->taken : path[i].taken;
    const std::uint32_t* const counts = translator_->counts_of(path[i].facts, taken).data();
    bool fits = true;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      path_sum_[lane] += counts[lane];
      totals_[lane] += counts[lane];
      fits &= totals_[lane] <= room_[lane];
    }
    if (fits) continue;
    for (std::size_t lane = 0; lane < lanes; ++lane) totals_[lane] -= counts[lane];
    cut(path[i], taken);
  }
}

void Runtime::cut(const Translator::Retirement& insn, bool taken) {
  arch::Retired retired;
  static_cast<arch::InsnFacts&>(retired) = insn.facts;
  retired.ip = insn.pc;
  retired.taken = taken;
  if (!insn.facts.rep_string) {  // of which only those run among others whose elements nobody counts
    retired.load_count = insn.facts.loads;
    retired.store_count = insn.facts.stores;
  }
  cut(retired);
}

/// Counts totals_, and then the instruction that overflows.
void Runtime::cut(const arch::Retired& retired) {
  count(totals_);
  std::fill(totals_.begin(), totals_.end(), 0);
  tell_pmus(retired);
  take_pmi();
  look_at_room();
}

// Of a budget trace: which instruction it is does not matter where nothing but instructions is counted.
void Runtime::count_and_cut_instructions(std::uint64_t instructions) {
  look_at_room();
  while (instructions > room_[0]) {
    instructions -= room_[0] + 1;
    totals_[0] = room_[0];
    cut(arch::Retired{});
  }
  totals_[0] = instructions;
  count(totals_);
}

}  // namespace zs::engine
