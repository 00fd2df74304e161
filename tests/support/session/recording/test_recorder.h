// A Recorder for tests: events to record, and what is around it (messages decoded as the collector does, a clock that
// ticks at each look, a few words of stack).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "arch/cpu_model.h"
#include "arch/msrs.h"
#include "session/driver/core_choice.h"
#include "session/recording/recorder.h"

namespace zs::session {

inline constexpr std::uint64_t kText = 0x401000;
inline constexpr engine::ThreadIdentity kMain{.pid = 100, .tid = 100, .parent_pid = 1, .parent_tid = 1};

inline std::uint64_t select(unsigned event, unsigned umask) {
  return arch::PerfEvtSel{}
      .with(arch::PerfEvtSel::event, event)
      .with(arch::PerfEvtSel::umask, umask)
      .with(arch::PerfEvtSel::user, 1)
      .raw();
}

inline EventSpec instructions(std::uint64_t period, std::uint8_t precise) {
  return {.name = "instructions",
          .select = select(0xC0, 0x00),
          .counters = arch::any_of(8) | arch::fixed(0),
          .precise_counters = arch::any_of(4),
          .precise = precise,
          .period = period};
}

inline EventSpec prec_dist(std::uint64_t period) {
  return {.name = "inst_retired.prec_dist:ppp",
          .select = select(0xC0, 0x01),
          .counters = arch::only(1),
          .precise_counters = arch::only(1),
          .precise = 3,
          .precise_distribution = true,
          .period = period};
}

inline EventSpec loads(std::uint64_t period, std::uint8_t precise) {
  return {.name = "mem_inst_retired.all_loads",
          .select = select(0xD0, 0x81),
          .counters = arch::any_of(8),
          .precise_counters = arch::any_of(4),
          .precise = precise,
          .has_address = true,
          .period = period};
}

inline EventSpec slow_loads() {
  EventSpec event = loads(1, 2);
  event.name = "mem-loads";
  event.select = select(0xCD, 0x01);
  event.precise_counters = event.counters = arch::any_of(4);
  event.latency_threshold = 30;
  event.detail = Detail::Full;
  return event;
}

inline RecordingConfig recording(std::vector<EventSpec> events, std::string model = "skylake-server@1") {
  RecordingConfig config;
  config.cpu_model = std::move(model);
  config.events = std::move(events);
  for (std::uint32_t i = 0; i < config.events.size(); ++i) config.events[i].leader = i;
  return config;
}

class TickingClock final : public RecordingClock {
 public:
  std::uint64_t tsc() override { return ++now; }
  std::uint64_t ns_at(std::uint64_t ticks) const override { return ticks * 10; }
  std::uint64_t now = 0;
};

/// Some words of stack; nothing else can be read.
class FakeStack final : public ProgramMemory {
 public:
  std::size_t read(std::uint64_t address, std::span<std::byte> into) override {
    if (address < base || address >= base + words.size() * 8) return 0;
    const std::size_t count = std::min<std::size_t>(into.size(), base + words.size() * 8 - address);
    std::memcpy(into.data(), reinterpret_cast<const std::byte*>(words.data()) + (address - base), count);
    return count;
  }
  std::uint64_t base = 0x7FFF'0000;
  std::vector<std::uint64_t> words;
};

/// A Recorder whose messages are decoded as the collector does it.
class Recorded final : public Channel {
 public:
  explicit Recorded(const RecordingConfig& asked, bool exec = false)
      : config_(with_progress_event(asked)),
        machine_(*make_machine(config_, model())),
        recorder(config_, model(), banks(), machine_.get(), *this, clock, stack, exec ? 1 : 0) {}

  void send(std::span<const std::byte> datagram) override {
    const auto result = decode_datagram(datagram, [&](Message&& m) { messages.push_back(std::move(m)); });
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    ++datagrams;
  }

  template <typename T>
  std::vector<T> all() const {
    std::vector<T> out;
    for (const Message& m : messages) {
      if (const T* wanted = std::get_if<T>(&m)) out.push_back(*wanted);
    }
    return out;
  }
  std::vector<std::uint64_t> ips() const {
    std::vector<std::uint64_t> out;
    for (const Sample& s : all<Sample>()) out.push_back(s.ip);
    return out;
  }

 private:
  const arch::CpuModel& model() const { return *arch::find_cpu_model(config_.cpu_model); }
  std::vector<BankPlan> banks() const {
    auto plan = plan_banks(config_.events, model());
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
    return *plan;
  }
  const RecordingConfig config_;
  const std::unique_ptr<uarch::ModelledMachine> machine_;

 public:
  std::vector<Message> messages;
  int datagrams = 0;
  TickingClock clock;
  FakeStack stack;
  Recorder recorder;
};

}  // namespace zs::session
