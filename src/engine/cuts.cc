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
  // A trace does not reach further, whatever is in it.
  constexpr std::uint64_t kFar = std::uint64_t{1} << 40;
  near_lanes_.clear();
  for (lane = 0; lane < room_.size(); ++lane) {
    if (room_[lane] < kFar) near_lanes_.push_back(lane);
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
  constexpr std::size_t kToBeginWith = 256;
  if (summed_records_ == 0) return kToBeginWith;
  double least = 1 << 20;
  for (const std::size_t lane : near_lanes_)
    least = std::min(least,
                     static_cast<double>(static_cast<std::int64_t>(room_[lane] - totals_[lane])) * records_per_[lane]);
  constexpr double kShort = 0.9;
  return std::max<std::size_t>(CountTable::kFew, static_cast<std::size_t>(static_cast<std::int64_t>(least * kShort)));
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
  for (const std::size_t lane : near_lanes_) {
    if (summed_[lane] != 0)
      records_per_[lane] = static_cast<double>(summed_records_) / static_cast<double>(summed_[lane]);
  }
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
    for (std::size_t lane = 0; lane < lanes_->size(); ++lane)
      path_sum_[lane] = static_cast<std::uint16_t>(counts.at(ids[0], lane));
    add_path(exit.block, exit.instructions, &exit, path_sum_);
    ids = ids.subspan(1);
  }
}

/// The first `instructions` of a block, which bring `sums`, and of which the last leaves through `exit` if there is one.
void Runtime::add_path(std::uint32_t block, unsigned instructions, const Exit* exit,
                       std::span<const std::uint16_t> sums) {
  const auto& path = translator_->retirements(block, instructions);
  CHECK(instructions != 0 && path.insns.size() >= instructions, path.insns.size(), instructions);
  const std::size_t lanes = lanes_->size();
  // From one cut to the next: what instructions `from` to `to` bring.
  unsigned from = 0;
  const auto sums_before = [&](unsigned at) {
    return at == instructions ? sums.data() : path.sums.data() + at * lanes;
  };
  const auto fits = [&](unsigned to) {
    return std::ranges::all_of(near_lanes_, [&](std::size_t lane) {
      return totals_[lane] + sums_before(to)[lane] - sums_before(from)[lane] <= room_[lane];
    });
  };
  const auto add_up_to = [&](unsigned to) {
    for (std::size_t lane = 0; lane < lanes; ++lane) totals_[lane] += sums_before(to)[lane] - sums_before(from)[lane];
  };
  while (!fits(instructions)) {
    unsigned to = from, beyond = instructions;
    const auto probe = [&](unsigned at) {
      if (to < at && at < beyond) (fits(at) ? to : beyond) = at;
    };
    // Right where the lane counts instructions.
    const std::uint64_t left = room_[near_lanes_[0]] - totals_[near_lanes_[0]];
    const unsigned guess = from + static_cast<unsigned>(std::min<std::uint64_t>(left, instructions - from));
    probe(guess);
    probe(guess + 1);
    while (beyond - to > 1) probe(to + (beyond - to) / 2);
    add_up_to(to);
    from = to + 1;
    cut(path.insns[to],
        from == instructions ? Translator::taken_at_end(path, instructions, exit) : path.insns[to].taken);
  }
  add_up_to(instructions);
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
  const arch::RegisterFile now = registers();
  tell_pmus(retired, now);
  take_pmi(now);
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
