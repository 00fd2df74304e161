// Tests only: stands in for the engine. Retires made-up instructions into an observer's PMUs and delivers their PMIs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/observer.h"

namespace zs::session {

/// One instruction of the made-up program.
struct Step {
  std::uint64_t ip = 0;
  std::uint64_t length = 4;
  std::uint8_t loads = 0, stores = 0;
  std::uint64_t address = 0;
  std::optional<std::uint64_t> jumps_to;  // a taken branch
  arch::BranchKind kind = arch::BranchKind::RelativeJump;
  arch::AccessOutcome load, store;             // as a core model tells them
  const arch::CoreSignals* signals = nullptr;  // likewise
};

class FakeThread {
 public:
  FakeThread(engine::Observer& observer, engine::ThreadIdentity who)
      : observer_(observer), who_(who), cpu_(observer.thread_started(who)) {}

  arch::RegisterFile& registers() { return registers_; }

  void run(const Step& step) {
    arch::Retired retired;
    retired.ip = step.ip;
    retired.next_ip = step.jumps_to.value_or(step.ip + step.length);
    retired.loads = step.loads;
    retired.stores = step.stores;
    retired.load_count = step.loads;
    retired.store_count = step.stores;
    retired.data_address = step.address;
    if (step.stores != 0) retired.store_address = step.address;
    retired.load = step.load;
    retired.store = step.store;
    retired.signals = step.signals;
    if (step.jumps_to) {
      retired.branch = step.kind;
      retired.taken = true;
    }
    registers_.ip = retired.next_ip;
    registers_.ax = ++retired_;  // so that a sample says which instruction its registers are of
    for (pmu::Pmu* pmu : cpu_.pmus) pmu->retire(retired, registers_);
    deliver();
  }

  /// So many core cycles pass at once, as a core model tells of a miss.
  void wait(std::uint64_t cycles) {
    for (pmu::Pmu* pmu : cpu_.pmus) pmu->advance({.core = cycles, .reference = cycles});
    deliver();
  }

  /// `count` instructions at first_ip, first_ip + 4, ...
  void run_straight(std::uint64_t first_ip, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) run({.ip = first_ip + 4 * i});
  }

  /// `count` instructions with a load each, most of them in bulk, as the engine does it.
  void count(std::uint64_t count, std::uint8_t loads) {
    while (count > 0) {
      std::uint64_t events = count;
      for (pmu::Pmu* pmu : cpu_.pmus) {
        for (std::size_t accumulator = 0; accumulator < pmu->accumulators().size(); ++accumulator)
          events = std::min(events, pmu->headroom(accumulator));
      }
      for (pmu::Pmu* pmu : cpu_.pmus) {
        for (std::size_t accumulator = 0; accumulator < pmu->accumulators().size(); ++accumulator)
          pmu->count(accumulator, events);
      }
      count -= events;
      if (count > 0) {
        run({.ip = 0x1000, .loads = loads, .address = 0x2000});
        --count;
      }
    }
  }

  void exit() { observer_.thread_exited(who_); }

 private:
  void deliver() {
    const bool phase_over = cpu_.phase_over != nullptr && *cpu_.phase_over;
    if (*cpu_.pmi_requested || phase_over) observer_.pmi(who_, registers_);
  }

  engine::Observer& observer_;
  engine::ThreadIdentity who_;
  engine::VirtualCpu cpu_;
  arch::RegisterFile registers_;
  std::uint64_t retired_ = 0;
};

}  // namespace zs::session
