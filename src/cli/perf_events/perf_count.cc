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

constexpr int kLongestPollMs = 100;

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

host::EventValue since(const host::EventValue& now, const host::EventValue& before) {
  return {.value = now.value - before.value,
          .enabled_ns = now.enabled_ns - before.enabled_ns,
          .running_ns = now.running_ns - before.running_ns};
}

/// Reads the counters, at the end and, where that is wanted, again and again before it.
class Reader {
 public:
  Reader(const PerfCounting& counting, const std::vector<host::EventToOpen>& counters, host::OpenEvents& events,
         const std::map<pid_t, CountedThread>& threads)
      : counting_(counting), counters_(counters), events_(events) {
    before_.values.resize(counters.size());
    for (const auto& [tid, thread] : threads) {
      before_.threads.push_back(thread);
      before_.threads.back().values.resize(counters.size());
    }
  }

  void start() {
    next_ = Clock::now() + counting_.delay;
    if (counting_.delay.count() == 0) begin();
  }
  /// 0 if counting has not begun.
  double elapsed_seconds() const {
    return counting_began_ ? std::chrono::duration<double>(Clock::now() - started_).count() : 0;
  }

  /// Waits for the source, for a breath or to the next reading.
  void wait(pollfd source) {
    int milliseconds = kLongestPollMs;
    if (!counting_began_ || counting_.every.count() != 0) {
      const auto rest = std::chrono::ceil<std::chrono::milliseconds>(next_ - Clock::now());
      milliseconds = static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(rest.count(), 0, kLongestPollMs));
    }
    poll(&source, 1, milliseconds);
    if ((counting_began_ && counting_.every.count() == 0) || Clock::now() < next_) return;
    if (!counting_began_) return begin();
    tell(elapsed_seconds());
    while (next_ <= Clock::now()) next_ += counting_.every;
  }

  /// The last reading. An Error: this one or one before it gave nothing.
  Result<PerfCounts> finish(double elapsed_seconds) {
    if (counting_.every.count() == 0) return now(elapsed_seconds);
    if (counting_began_) tell(elapsed_seconds);
    if (failure_) return *failure_;
    return before_;
  }

 private:
  void begin() {
    counting_began_ = true;
    if (counting_.delay.count() != 0 || counting_.targets.is_watching()) events_.enable();
    started_ = Clock::now();
    next_ = started_ + counting_.every;
  }

  Result<PerfCounts> now(double elapsed_seconds) const {
    PerfCounts counts = before_;
    counts.elapsed_seconds = elapsed_seconds;
    for (std::size_t i = 0; i < counters_.size(); ++i) {
      const auto failed = [&](const Error& error) {
        return Error{counters_[i].name + ": " + error.message, error.hint};
      };
      const auto value = events_.read(i);
      if (!value) return failed(value.error());
      counts.values[i] = *value;
      for (CountedThread& thread : counts.threads) {
        const auto its = events_.read(i, thread.tid);
        if (!its) return failed(its.error());
        thread.values[i] = *its;
      }
    }
    return counts;
  }

  /// A failure is kept for the end: the program goes on meanwhile.
  void tell(double elapsed_seconds) {
    if (failure_) return;
    auto counts = now(elapsed_seconds);
    if (!counts) {
      failure_ = counts.error();
      return;
    }
    PerfCounts difference = *counts;
    const auto subtract = [](std::vector<host::EventValue>& values, const std::vector<host::EventValue>& before) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = since(values[i], before[i]);
    };
    subtract(difference.values, before_.values);
    for (std::size_t i = 0; i < difference.threads.size(); ++i)
      subtract(difference.threads[i].values, before_.threads[i].values);
    counting_.each_time(difference);
    before_ = *std::move(counts);
  }

  const PerfCounting& counting_;
  const std::vector<host::EventToOpen>& counters_;
  host::OpenEvents& events_;
  bool counting_began_ = false;
  Clock::time_point started_, next_;
  PerfCounts before_;  // as of the last reading
  std::optional<Error> failure_;
};

void wait_for_program(pid_t program, OwnSignals& signals, Reader& reader, PerfCounts& counts) {
  const pollfd source{.fd = signals.descriptor(), .events = POLLIN, .revents = 0};
  while (wait4(program, &counts.wait_status, WNOHANG, &counts.usage) != program) {
    reader.wait(source);
    signals.pass_on(program);
  }
}

void wait_for_watched(const std::vector<host::Place>& places, OwnSignals& signals, Reader& reader) {
  const pollfd source{.fd = signals.descriptor(), .events = POLLIN, .revents = 0};
  const auto goes_on = [](const host::Place& place) { return place.tid < 0 || host::is_running(place.tid); };
  while (!signals.take_request_to_end() && std::ranges::any_of(places, goes_on)) reader.wait(source);
}

}  // namespace

std::vector<host::EventToOpen> counters_to_open(const PerfCounting& counting) {
  std::vector<host::EventToOpen> counters;
  for (const host::KernelEvent& event : counting.events) {
    host::EventToOpen& one =
        counters.emplace_back(host::EventToOpen{.name = event.name, .attr = event.attr, .leader = event.leader});
    one.attr.precise_ip = 0;
    one.attr.disabled = 1;
    one.attr.enable_on_exec = !counting.targets.is_watching() && counting.delay.count() == 0;
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

  Reader reader(counting, counters, *events, counting.by_thread ? names_of(*places) : std::map<pid_t, CountedThread>());
  PerfCounts end;
  reader.start();
  if (program) {
    if (auto went = program->let_go(); !went) return went.error();
    wait_for_program(program->pid(), signals, reader, end);
  } else {
    wait_for_watched(*places, signals, reader);
  }
  const double elapsed_seconds = reader.elapsed_seconds();
  events->disable();
  auto counts = reader.finish(elapsed_seconds);
  if (!counts) return counts.error();
  counts->wait_status = end.wait_status;
  counts->usage = end.usage;
  return counts;
}

}  // namespace zs::cli
