// A modelled core beside which a second one plays the same program the plain way, and both must have counted the same.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "arch/core_feed.h"
#include "base/check.h"
#include "uarch/reference/plain_machine.h"
#include "uarch/replay/address_words.h"
#include "uarch/replay/modelled_machine.h"

namespace zs {

/// Where the program goes on behind a path with this last instruction, if no signal comes.
/// next  as the path's run has it
inline std::uint64_t next_of(const arch::PathInstruction& last, std::uint64_t next) {
  if (uarch::is_indirect(last.facts.branch)) return next;
  return last.taken && last.target != 0 ? last.target : last.pc + last.length;
}

/// The modelled core is held to structures that are searched from end to end, instruction by instruction
/// (PlainMachine). That plays no string instructions, gathers and state areas: at such an instruction both begin anew
/// behind it.
class ReferenceFeed final : public arch::CoreFeed {
 public:
  explicit ReferenceFeed(const uarch::CoreModel& model) : model_(model) { begin(); }

  void describe(std::uint32_t number, const arch::PathDescription& description) override {
    if (paths_.size() <= number) paths_.resize(number + 1);
    Path& path = paths_[number];
    path = {};
    path.instructions.assign(description.instructions.begin(), description.instructions.end());
    path.accesses.assign(description.accesses.begin(), description.accesses.end());
    for (const arch::PathInstruction& instruction : description.instructions) {
      uarch::Executed& one = path.executed.emplace_back();
      one.instruction = instruction;
      one.shape = uarch::shape_of({instruction.bytes, instruction.length}).value_or(uarch::InstructionShape{});
      one.shape.length = instruction.length;
      one.shape.branch = instruction.facts.branch;
      path.plain &= !one.shape.repeats;
    }
    for (arch::PathAccess access : description.accesses) {
      path.plain &= access.form == arch::AccessForm::One;
      uarch::Executed& one = path.executed[access.instruction];
      access.instruction = 0;
      one.accesses.push_back(access);
    }
  }

  void run(std::span<const arch::PathRun> runs, const arch::SlotValues& values) override {
    while (!runs.empty()) {
      std::size_t count = 0;
      while (count < runs.size() && paths_[runs[count].path].plain) ++count;
      play(runs.first(count), values);
      runs = runs.subspan(count);
      if (runs.empty()) return;
      runs = runs.subspan(1);
      begin();
    }
  }

  const arch::CoreSignals& signals() const override { return core_->signals(); }
  arch::AccessOutcome last_load() const override { return core_->last_load(); }
  arch::AccessOutcome last_store() const override { return core_->last_store(); }
  bool last_mispredicted() const override { return core_->last_mispredicted(); }
  void set_latency_threshold(std::uint32_t) override {}
  std::uint32_t most_per_instruction(arch::CoreSignal signal) const override {
    return core_->most_per_instruction(signal);
  }
  void unmapped(std::uint64_t first, std::uint64_t last) override {
    core_->unmapped(first, last);
    plain_->unmap(first, last);
  }

  /// Accesses that were compared, and how often both have begun anew.
  std::uint64_t accesses() const { return accesses_; }
  std::uint64_t restarts() const { return begun_ - 1; }

 private:
  struct Path {
    std::vector<arch::PathInstruction> instructions;
    std::vector<arch::PathAccess> accesses;
    std::vector<uarch::Executed> executed;
    bool plain = true;               // PlainMachine can play it
    std::uint64_t described_to = 0;  // whom: of those that have begun, the how manieth
  };

  void begin() {
    ++begun_;
    core_.reset();
    machine_ = std::make_unique<uarch::ModelledMachine>(model_, uarch::MachineOptions{});
    core_ = machine_->attach_thread();
    plain_.emplace(model_, uarch::MachineOptions{});
  }

  void play(std::span<const arch::PathRun> runs, const arch::SlotValues& values) {
    if (runs.empty()) return;
    for (const arch::PathRun& run : runs) {
      Path& path = paths_[run.path];
      if (std::exchange(path.described_to, begun_) == begun_) continue;
      core_->describe(run.path, {path.instructions, path.accesses});
    }
    core_->run(runs, values);
    for (const arch::PathRun& run : runs) {
      Path& path = paths_[run.path];
      accesses_ += path.accesses.size();
      play_plainly(path.executed, values.slots + run.slots, values, run.next);
    }
    compare();
  }

  void play_plainly(std::vector<uarch::Executed>& path, const std::uint64_t* slots, const arch::SlotValues& values,
                    std::uint64_t next) {
    for (std::size_t i = 0; i < path.size(); ++i) {
      uarch::Executed& one = path[i];
      one.words.clear();
      for (const arch::PathAccess& access : one.accesses)
        one.words.push_back(uarch::address_of(access.address, slots, values));
      one.next = i + 1 < path.size() ? path[i + 1].instruction.pc : next_of(one.instruction, next);
      plain_->run(one);
    }
  }

  void compare() const {
    const arch::CoreSignals& expected = plain_->signals();
    for (std::size_t i = 0; i < arch::kCoreSignals; ++i) {
      const std::uint64_t counted = core_->signals().counts[i];
      if (counted == expected.counts[i]) continue;
      std::fprintf(stderr, "core_feed_run: %.*s: after %llu accesses signal %zu is %llu, and %llu in the reference\n",
                   static_cast<int>(model_.name.size()), model_.name.data(), static_cast<unsigned long long>(accesses_),
                   i, static_cast<unsigned long long>(counted), static_cast<unsigned long long>(expected.counts[i]));
      std::_Exit(125);
    }
  }

  const uarch::CoreModel& model_;
  std::unique_ptr<uarch::ModelledMachine> machine_;
  std::unique_ptr<arch::CoreFeed> core_;
  std::optional<uarch::PlainMachine> plain_;
  std::vector<Path> paths_;
  std::uint64_t accesses_ = 0, begun_ = 0;
};

}  // namespace zs
