#include "cli/perf_events/perf_count.h"

#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "cli/perf_events/held_program.h"
#include "host/running_processes.h"

namespace zs::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBreathMs = 100;

/// Threads may end before they are read, and their names with them.
std::map<pid_t, CountedThread> names_of(const std::vector<host::Place>& places) {
  std::map<pid_t, CountedThread> threads;
  for (const host::Place& place : places) {
    if (place.tid <= 0 || threads.contains(place.tid)) continue;
    CountedThread& thread = threads[place.tid];
    thread.tid = place.tid;
    thread.pid = host::process_of(place.tid).value_or(place.tid);
    thread.name = host::name_of_thread(place.tid);
  }
  return threads;
}

void wait_for_program(pid_t program, OwnSignals& signals, PerfCounts& counts) {
  pollfd source{.fd = signals.descriptor(), .events = POLLIN, .revents = 0};
  while (wait4(program, &counts.wait_status, WNOHANG, &counts.usage) != program) {
    poll(&source, 1, kBreathMs);
    signals.pass_on(program);
  }
}

void wait_for_watched(const std::vector<host::Place>& places, OwnSignals& signals) {
  pollfd source{.fd = signals.descriptor(), .events = POLLIN, .revents = 0};
  const auto goes_on = [](const host::Place& place) { return place.tid < 0 || host::is_running(place.tid); };
  while (!signals.take_request_to_end() && std::ranges::any_of(places, goes_on)) poll(&source, 1, kBreathMs);
}

}  // namespace

std::vector<host::EventToOpen> counters_to_open(const PerfCounting& counting) {
  std::vector<host::EventToOpen> counters;
  for (const host::KernelEvent& event : counting.events) {
    host::EventToOpen& one =
        counters.emplace_back(host::EventToOpen{.name = event.name, .attr = event.attr, .leader = event.leader});
    one.attr.precise_ip = 0;
    one.attr.disabled = 1;
    one.attr.enable_on_exec = !counting.targets.is_watching();
    one.attr.inherit = counting.inherit && !counting.targets.is_system();
    one.attr.exclude_guest = event.attr.exclude_host == 0;
    one.attr.read_format = host::kReadFormat;
  }
  return counters;
}

Result<PerfCounts> count_perf_events(const PerfCounting& counting, OwnSignals& signals) {
  std::optional<HeldProgram> program;
  if (!counting.argv.empty()) {
    auto held = HeldProgram::start(counting.path, counting.argv, signals);
    if (!held) return held.error();
    program.emplace(*std::move(held));
  }
  host::allow_many_descriptors();  // ours alone: the program has its limit already
  host::Targets targets = counting.targets;
  targets.wherever = true;
  const auto places = host::places_of(targets, program ? program->pid() : -1);
  if (!places) return places.error();
  std::vector<host::EventToOpen> counters = counters_to_open(counting);
  auto events = host::OpenEvents::open(counters, *places, 0, counting.permissions, counting.opener);
  if (!events) return events.error();

  PerfCounts counts;
  std::map<pid_t, CountedThread> threads;
  if (counting.by_thread) threads = names_of(*places);
  if (targets.is_watching()) events->enable();
  const Clock::time_point start = Clock::now();
  if (program) {
    if (auto went = program->let_go(); !went) return went.error();
    wait_for_program(program->pid(), signals, counts);
  } else {
    wait_for_watched(*places, signals);
  }
  counts.elapsed_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  events->disable();
  for (std::size_t i = 0; i < counters.size(); ++i) {
    const auto value = events->read(i);
    if (!value) return Error{counters[i].name + ": " + value.error().message, value.error().hint};
    counts.values.push_back(*value);
    for (auto& [tid, thread] : threads) {
      const auto its = events->read(i, tid);
      if (!its) return Error{counters[i].name + ": " + its.error().message, its.error().hint};
      thread.values.push_back(*its);
    }
  }
  for (auto& [tid, thread] : threads) counts.threads.push_back(std::move(thread));
  return counts;
}

}  // namespace zs::cli
