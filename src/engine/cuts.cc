// Overflows inside a trace: counters whose interrupt needs no registers (VirtualCpu::late_interrupts) do not keep the trace short.
// When it is read, it is cut at each instruction that overflows one: what retired before is counted in bulk, that instruction is
// retired alone, the interrupt is taken, and counting goes on behind it. So an end of a window costs no visit of the dispatcher.

#include <algorithm>

#include "base/check.h"
#include "engine/runtime.h"

namespace zs::engine {
namespace {

/// Records that are summed before it is looked whether a counter overflows among them.
constexpr std::size_t kStretch = 256;

}  // namespace

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
  for (std::size_t at = 0; at < ids.size(); at += kStretch)
    add_records(ids.subspan(at, std::min(kStretch, ids.size() - at)));
  count(totals_);
}

// Halves where the overflow is, down to the record.
void Runtime::add_records(std::span<const std::uint32_t> ids) {
  std::fill(more_.begin(), more_.end(), 0);
  translator_->counts().sum(ids, more_);
  if (adds_up(more_)) return;
  if (ids.size() == 1) {
    const Exit& exit = translator_->exit(ids[0]);
    add_path(exit.block, exit.instructions, &exit);
    for (std::size_t lane = 0; lane < lanes_->size(); ++lane)
      CHECK(path_sum_[lane] == translator_->counts().at(ids[0], lane), lane, path_sum_[lane]);
    return;
  }
  add_records(ids.first(ids.size() / 2));
  add_records(ids.subspan(ids.size() / 2));
}

/// The first `instructions` of a block, of which the last leaves through `exit` if there is one.
void Runtime::add_path(std::uint32_t block, unsigned instructions, const Exit* exit) {
  const auto& path = translator_->retirements(block, instructions);
  CHECK(path.size() >= instructions, path.size(), instructions);
  std::fill(path_sum_.begin(), path_sum_.end(), 0);
  for (unsigned i = 0; i < instructions; ++i) {
    const bool leaves = exit != nullptr && exit->kind == ExitKind::Direct && exit->pc != 0 && i + 1 == instructions;
    const bool taken = leaves && path[i].facts.branch == arch::BranchKind::Conditional ? exit->taken : path[i].taken;
    const auto counts = translator_->counts_of(path[i].facts, taken);
    std::copy(counts.begin(), counts.end(), more_.begin());
    for (std::size_t lane = 0; lane < counts.size(); ++lane) path_sum_[lane] += counts[lane];
    if (!adds_up(more_)) cut(path[i], taken);
  }
}

void Runtime::cut(const Translator::Retirement& insn, bool taken) {
  count(totals_);
  std::fill(totals_.begin(), totals_.end(), 0);
  arch::Retired retired;
  static_cast<arch::InsnFacts&>(retired) = insn.facts;
  retired.ip = insn.pc;
  retired.taken = taken;
  if (!insn.facts.rep_string) {  // of which only those run among others whose elements nobody counts
    retired.load_count = insn.facts.loads;
    retired.store_count = insn.facts.stores;
  }
  tell_pmus(retired);
  take_pmi();
  look_at_room();
}

}  // namespace zs::engine
