// For tests: a core on which each instruction costs what the test says of its address.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "arch/core_feed.h"

namespace zs::engine {

class FakeCore : public arch::CoreFeed {
 public:
  struct Told {
    std::vector<std::uint64_t> pcs;
    std::uint64_t next = 0;
    bool operator==(const Told&) const = default;
  };

  void describe(std::uint32_t path, const arch::PathDescription& description) override {
    ++described;
    std::vector<arch::PathInstruction>& insns = paths_[path];
    insns.assign(description.instructions.begin(), description.instructions.end());
  }
  void forget_paths() override { paths_.clear(); }
  void run(std::span<const arch::PathRun> runs, const arch::SlotValues& values) override {
    listed.assign(values.listed.begin(), values.listed.end());
    for (const arch::PathRun& run : runs) {
      Told& one = told.emplace_back();
      one.next = run.next;
      for (const arch::PathInstruction& insn : paths_.at(run.path)) {
        one.pcs.push_back(insn.pc);
        waiting_.push_back(insn.pc);
      }
      waiting_.push_back(kEndOfRun);
    }
    if (!waits) play();
  }
  bool run_watched(std::span<const arch::PathRun> runs, const arch::SlotValues& /*values*/,
                   const arch::SignalSet& watched, arch::RunWatcher& watcher) override {
    if (!can_be_watched) return false;
    for (std::size_t number = 0; number < runs.size(); ++number) {
      const std::vector<arch::PathInstruction>& insns = paths_.at(runs[number].path);
      for (std::size_t at = 0; at < insns.size(); ++at) {
        const arch::CoreSignals before = signals_;
        retire(insns[at].pc);
        bool changed = false;
        for (std::size_t i = 0; i < arch::kCoreSignals; ++i)
          changed |= watched[i] && signals_.counts[i] != before.counts[i];
        if (changed) watcher.finished(number, at);
      }
    }
    return true;
  }
  void settle() override {
    ++settled;
    play();
  }
  void keep_signals(std::deque<arch::CoreSignals>& kept) override {
    kept_ = &kept;
    waiting_.push_back(kKeep);
    if (!waits) play();
  }
  void keep_outcomes(const arch::SignalSet& watched, std::deque<arch::WatchedOutcome>& kept) override {
    watched_ = watched;
    outcomes_ = &kept;
  }
  std::uint64_t played_until() const override { return now; }
  bool lags() const override { return left_to_play != 0; }
  void play_on() override { --left_to_play; }
  void wait_until(std::uint64_t cycle) override { waits_until = cycle; }
  const arch::CoreSignals& signals() const override { return signals_; }
  arch::AccessOutcome last_load() const override { return load_; }
  arch::AccessOutcome last_store() const override { return {}; }
  bool last_mispredicted() const override { return false; }
  void set_latency_threshold(std::uint32_t cycles) override { latency_threshold = cycles; }
  std::uint32_t most_per_instruction(arch::CoreSignal /*signal*/) const override { return 1; }
  void unmapped(std::uint64_t first, std::uint64_t last) override { unmapped_from = first, unmapped_to = last; }

  /// Signals of it each time.
  arch::CoreSignals& cost(std::uint64_t pc) { return costs_[pc]; }
  /// Adds to what has been counted.
  std::uint64_t& signal(arch::CoreSignal which) { return signals_[which]; }

  bool waits = false;  // until settle()
  bool can_be_watched = true;
  unsigned described = 0, settled = 0;
  std::vector<Told> told;  // by run()
  std::vector<std::uint64_t> listed;
  std::uint64_t now = 0, waits_until = 0, left_to_play = 0, unmapped_from = 0, unmapped_to = 0;
  std::uint32_t latency_threshold = 0;

 private:
  static constexpr std::uint64_t kKeep = 1, kEndOfRun = 2;  // in waiting_

  void play() {
    for (const std::uint64_t pc : std::exchange(waiting_, {})) {
      if (pc == kKeep) {
        kept_->push_back(signals_);
      } else if (pc == kEndOfRun) {
        ++runs_played_;
        instruction_ = 0;
      } else {
        play_one(pc);
      }
    }
  }
  void play_one(std::uint64_t pc) {
    const arch::CoreSignals before = signals_;
    retire(pc);
    const std::size_t at = instruction_++;
    bool changed = false;
    for (std::size_t i = 0; i < arch::kCoreSignals; ++i)
      changed |= watched_[i] && signals_.counts[i] != before.counts[i];
    if (!changed || outcomes_ == nullptr) return;
    outcomes_->push_back({.run = runs_played_,
                          .instruction = at,
                          .signals = signals_,
                          .load = load_,
                          .store = {},
                          .fetch = {},
                          .load_address = pc + 0x1'0000});
  }
  void retire(std::uint64_t pc) {
    load_ = {.present = true, .latency = static_cast<std::uint32_t>(pc & 0xFFFF), .source = {}};
    const auto cost = costs_.find(pc);
    if (cost == costs_.end()) return;
    for (std::size_t i = 0; i < arch::kCoreSignals; ++i) signals_.counts[i] += cost->second.counts[i];
  }

  std::map<std::uint32_t, std::vector<arch::PathInstruction>> paths_;
  std::map<std::uint64_t, arch::CoreSignals> costs_;
  arch::CoreSignals signals_;
  std::vector<std::uint64_t> waiting_;  // addresses of instructions
  std::deque<arch::CoreSignals>* kept_ = nullptr;
  arch::SignalSet watched_;
  std::deque<arch::WatchedOutcome>* outcomes_ = nullptr;
  std::uint64_t runs_played_ = 0;
  std::size_t instruction_ = 0;  // of the run
  arch::AccessOutcome load_;
};

}  // namespace zs::engine
