// For tests of what stands above the translator: a run of one thread whose program is pages of code that the test
// writes, whose counters it programs, and whose trace it writes as translated code would.
#pragma once

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/account/accountant.h"
#include "engine/raw_syscall.h"
#include "engine/run.h"
#include "engine/translate/reserved_addresses.h"
#include "engine/translate/test_pages.h"
#include "pmu/fakes.h"

namespace zs::engine {

/// What a recording is told.
class Heard final : public Observer {
 public:
  struct Visit {
    std::uint64_t pc;
    std::vector<std::uint32_t> uncounted;
    bool operator==(const Visit&) const = default;
  };

  VirtualCpu thread_started(const ThreadIdentity& /*who*/) override {
    ++started;
    return {};
  }
  void thread_exited(const ThreadIdentity& /*who*/) override { ++exited; }
  void pmi(const ThreadIdentity& /*who*/, const arch::RegisterFile& registers) override { at_pmi(registers); }
  bool pmi_ahead(const ThreadIdentity& /*who*/, const arch::RegisterFile& registers) override {
    at_pmi(registers);
    return true;
  }
  void signals_counted(const ThreadIdentity& /*who*/) override { at_counted(); }
  void reported_late(std::uint64_t host_ticks) override { late.push_back(host_ticks); }
  void forked(const ThreadIdentity& /*child*/, bool /*thread*/) override {}
  void in_forked_child() override {}
  void renamed(const ThreadIdentity& /*who*/, const std::string& /*comm*/, bool /*exec*/) override {}
  void mapped(const ThreadIdentity& /*who*/, const Mapping& mapping) override { mappings.push_back(mapping); }
  void flush(const ThreadIdentity& /*who*/) override { ++flushes; }
  void notice(const std::string& text) override { notices.push_back(text); }
  void refused(const std::string& /*text*/) override {}
  std::vector<std::string> words_for_next_image() override { return for_next_image; }
  std::vector<CodeProbe> new_probes() override { return std::exchange(thought_of, {}); }
  ProbeTime marker(std::uint64_t /*pc*/, std::uint64_t operand) override {
    markers.push_back(operand);
    return answer;
  }
  void reached(const ThreadIdentity& /*who*/, std::span<const ProbeVisit> now,
               const arch::RegisterFile* registers) override {
    told.push_back(now.size());
    for (const ProbeVisit& visit : now) visits.push_back({visit.pc, {visit.uncounted.begin(), visit.uncounted.end()}});
    if (registers != nullptr) registers_at_probes.push_back(*registers);
    at_probe();
  }

  void ran(const ThreadIdentity& /*who*/, std::span<const arch::PathCount> counts) override {
    ran_counts.insert(ran_counts.end(), counts.begin(), counts.end());
  }

  std::vector<arch::PathCount> ran_counts;
  std::function<void(const arch::RegisterFile&)> at_pmi = [](const arch::RegisterFile&) {};
  std::function<void()> at_probe = [] {}, at_counted = [] {};
  std::vector<CodeProbe> thought_of;   // for the next new_probes()
  ProbeTime answer = ProbeTime::None;  // of marker()
  std::vector<std::uint64_t> markers, late;
  std::vector<std::size_t> told;  // of each call of reached(), how many
  std::vector<Visit> visits;
  std::vector<arch::RegisterFile> registers_at_probes;
  std::vector<std::string> notices, for_next_image;
  std::vector<Mapping> mappings;
  int flushes = 0, started = 0, exited = 0;  // threads
};

class RunTest : public testing::Test {
 protected:
  using Bytes = Pages::Bytes;
  static constexpr std::uint64_t kInstructions = pmu::kCountInstructions, kBranches = pmu::kCountBranches,
                                 kLoads = pmu::kCountLoads;
  static constexpr std::uint64_t kFar = 0;  // from an overflow

  RunTest() {
    cpu_.pmus = pmus_;
    cpu_.pmi_requested = &pmi_requested_;
    heard_.at_pmi = [this](const arch::RegisterFile& registers) { pmis_.push_back(registers.ip); };
  }

  static Config config() {
    Config config;
    config.code_cache_bytes = ReservedAddresses::kCodeBytes;
    config.first_private_fd = ReservedAddresses::kFirstPrivateFd;
    return config;
  }

  /// Before start(): that counter is at `value`.
  void count(unsigned counter, std::uint64_t select, std::uint64_t value) {
    pmu_.wr(pmu::kSelect0 + counter, select);
    pmu_.wr(pmu::kFullPmc0 + counter, value);
    enabled_ |= 1U << counter;
    pmu_.wr(pmu::kGlobal, enabled_);
  }
  std::uint64_t counter(unsigned number) const { return pmu_.rd(pmu::kPmc0 + number); }

  /// The first thread begins.
  /// The thread has the ids of the one that runs the test.
  Thread& be_this_thread() {
    Thread& thread = *run_.thread;
    thread.process->pid = thread.id.pid = getpid();
    thread.id.tid = static_cast<std::int32_t>(raw_syscall(SYS_gettid));
    return thread;
  }

  void start() {
    Thread& thread = *run_.threads.emplace_back(std::make_unique<Thread>());
    thread.id = {.pid = 100, .tid = 100};
    thread.process = std::make_shared<Process>();
    thread.process->pid = 100;
    thread.cpu = cpu_;
    thread.core = cpu_.core;
    thread.accumulators_reported.assign(pmu_.pmu.accumulators().size(), 0);
    thread.pc = Pages::pc(0);
    run_.thread = &thread;
    run_.lock.acquire(thread);
    run_.code = &code_;
    code_.probes = [this](const Insn& insn) { return accountant_.probes.at(insn); };
    run_.context.waits = run_.lock.first_waiting();
    run_.context.probe_note = run_.trace().notes_begin();
    run_.trace().open_beside(run_.trace().notes_begin());
    accountant_.phases.begin([](const CodeCache& of) { return generate_stubs(of, &come_back); });
    accountant_.core.begin(thread);
    run_.context.trace_pointer = run_.trace_start = run_.trace().begin();
  }

  /// What lies where the stack pointer is.
  template <typename T>
  T top_of_stack() const {
    T top;
    std::memcpy(&top, reinterpret_cast<const void*>(run_.gpr(kRsp)), sizeof top);
    return top;
  }

  const BlockStore& blocks() const { return run_.translator->blocks(); }
  /// The translation of the code of that page. returns its index
  std::uint32_t made(std::uint64_t page, Variant variant = Variant::Full) {
    return blocks().index_of(run_.translator->get(Pages::pc(page), variant));
  }
  /// The exit at the end of its path; then its first side exit.
  std::uint32_t end_of(std::uint32_t block) const { return blocks().block(block).first_exit; }
  std::uint32_t side_exit_of(std::uint32_t block) const { return end_of(block) + 1; }
  /// Appends what code appends that leaves by that exit, and notes its probe where there is no record.
  void leave(std::uint32_t exit) {
    std::uint64_t& pointer = run_.context.trace_pointer;
    const bool probed = blocks().probe_of(exit) != ProbeTime::None;
    switch (run_.counting.form) {
      case TraceForm::Records:
        put(pointer, exit | (probed ? kProbedRecord : 0));
        pointer += 4;
        break;
      case TraceForm::Spaced: {
        const std::uint32_t words = blocks().counts().words(exit);
        pointer += 4 * std::uint64_t{words};
        put(pointer, SpacedRecord::make(exit, words));
        break;
      }
      case TraceForm::Budget:
        if (probed) {
          const ProbeNote note{.pointer = static_cast<std::uint32_t>(pointer - run_.trace().pointer_bias()),
                               .exit = exit | ProbeNote::kIsProbe};
          std::memcpy(reinterpret_cast<void*>(run_.context.probe_note), &note, sizeof note);
          run_.context.probe_note += sizeof note;
        }
        pointer += static_cast<std::uint64_t>(std::int64_t{blocks().exit(exit).advance});
        break;
    }
  }
  void drain() { accountant_.drain({}); }
  static void put(std::uint64_t at, std::uint32_t word) {
    std::memcpy(reinterpret_cast<void*>(at), &word, sizeof word);
  }

  const ReservedAddresses reserved_;
  Heard heard_;
  engine::Run run_{config(), heard_, ProgramPlan{}};
  Pages code_;
  Accountant accountant_{run_};
  pmu::TestPmu pmu_{pmu::TestPmu::kCountsAccesses};
  VirtualCpu cpu_;
  bool pmi_requested_ = true;        // looked at behind each instruction that is retired
  std::vector<std::uint64_t> pmis_;  // by the address where the thread was

 private:
  static std::uint64_t come_back(Context* /*context*/) { return 0; }

  std::array<pmu::Pmu*, 1> pmus_{&pmu_.pmu};
  std::uint64_t enabled_ = 0;
};

}  // namespace zs::engine
