#include "cli/run/collector.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include "arch/records/bts.h"
#include "cli/command/exit_status.h"
#include "cli/command/say.h"
#include "session/units/unit_sums.h"

namespace zs::cli {
namespace {

using Clock = std::chrono::steady_clock;
using session::Message;

constexpr int kBreathMs = 250;
constexpr auto kAtOnce = std::chrono::milliseconds(100);  // receiving before looking round again
constexpr auto kAtTheEnd = std::chrono::seconds(2);       // processes that outlive the program may send for ever

double seconds_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

/// Nobody is left to send, whatever is still there.
bool has_hung_up(int socket) {
  pollfd state{.fd = socket, .events = 0, .revents = 0};
  return poll(&state, 1, 0) == 1 && (state.revents & POLLHUP) != 0;
}

}  // namespace

int exit_status_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? kKilledBySignal + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

void SumOfThreads::told(const session::Origin& by, std::uint64_t so_far, bool final) {
  std::uint64_t& before = running_[by.thread_key()];
  sum_ += so_far >= before ? so_far - before : so_far;  // less: a new thread has the number of a killed one
  before = final ? 0 : so_far;
}

Collector::Collector(RecordingSink& sink, const session::RecordingConfig& config, int instruction_event, bool quiet,
                     std::function<void(const Progress&)> watch, Now now)
    : sink_(sink),
      events_(config.events.size()),
      estimated_(config.estimated_events().size()),
      traces_(config.traces_branches()),
      virtual_ids_(config.virtual_time),
      instruction_event_(instruction_event),
      quiet_(quiet),
      watch_(std::move(watch)),
      now_(std::move(now)),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(session::kMaxDatagram)) {}

ProgramEnd Collector::run(const Launched& launched, OwnSignals& signals) {
  const Clock::time_point start = now_();
  Clock::time_point last_breath = start;
  ProgramEnd end;
  pollfd sources[] = {{.fd = launched.socket, .events = POLLIN, .revents = 0},
                      {.fd = signals.descriptor(), .events = POLLIN, .revents = 0},
                      {.fd = listened_to_(), .events = POLLIN, .revents = 0}};
  for (;;) {
    poll(sources, std::size(sources), kBreathMs);
    if ((sources[2].revents & (POLLIN | POLLHUP)) != 0) ready_();
    sources[2].fd = listened_to_();
    signals.pass_on(launched.pid);
    receive_all(launched.socket, kAtOnce);
    if (sources[0].revents & POLLHUP) sources[0].fd = -1;  // nobody is left to send
    if (wait4(launched.pid, &end.wait_status, WNOHANG, &end.usage) == launched.pid) break;
    if (now_() - last_breath < std::chrono::milliseconds(kBreathMs)) continue;
    last_breath = now_();
    progress_.seconds = seconds_between(start, last_breath);
    progress_.bytes = sink_.bytes();
    watch_(progress_);
    sink_.breathe();
  }
  end.elapsed_seconds = seconds_between(start, now_());
  receive_rest(launched.socket);
  end.still_running = count_still_running();
  close(launched.socket);
  end.ran = ran_;
  return end;
}

// What was sent before the end is there by now, and may be much. Where processes outlive the program nobody can tell
// when that has come, and they may send for ever.
void Collector::receive_rest(int socket) {
  if (receive_all(socket, kAtTheEnd)) return;
  while (has_hung_up(socket)) {
    if (receive_all(socket, kAtOnce)) return;
  }
  say("a process outlives the program, and " + std::to_string(kAtTheEnd.count()) +
      " seconds behind its end not all was written that had been sent: the rest is not recorded");
}

// Returns whether everything that was there has been received.
bool Collector::receive_all(int socket, std::chrono::milliseconds longest) {
  const Clock::time_point until = now_() + longest;
  do {
    const ssize_t length = recv(socket, buffer_.get(), session::kMaxDatagram, MSG_DONTWAIT);
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) return true;
    const auto datagram = std::span(buffer_.get(), static_cast<std::size_t>(length));
    const auto decoded = session::decode_datagram(datagram, [this](Message&& m) { receive(std::move(m)); });
    if (!decoded && !std::exchange(complained_, true)) say(decoded.error());
  } while (now_() < until);
  return false;
}

bool Collector::makes_sense(const Message& message) const {
  if (const auto* sample = std::get_if<session::Sample>(&message)) return sample->event < events_;
  if (const auto* lost = std::get_if<session::Lost>(&message)) return lost->event < events_;
  if (const auto* counts = std::get_if<session::Counts>(&message)) return counts->values.size() == events_;
  if (const auto* units = std::get_if<session::Units>(&message))
    return session::UnitSums().unpack(units->sums, estimated_);
  if (const auto* window = std::get_if<session::Window>(&message)) return window->values.size() == events_;
  if (const auto* region = std::get_if<session::Region>(&message)) {
    return region->sum.size() == events_ && region->least.size() == events_ && region->most.size() == events_;
  }
  if (const auto* branches = std::get_if<session::Branches>(&message))
    return traces_ && branches->records.size() % sizeof(arch::BtsRecord) == 0;
  return true;
}

void Collector::receive(Message&& message) {
  if (!makes_sense(message)) {
    if (!std::exchange(complained_, true)) {
      say(Error{"message from the profiled program: an event that nobody asked for",
                "the program may have overwritten the profiler's memory"});
    }
    return;
  }
  const auto* notice = std::get_if<session::Notice>(&message);
  if (notice != nullptr && (!quiet_ || notice->refusal)) say(notice->text);
  if (const auto* hello = std::get_if<session::Hello>(&message)) {
    if (!std::exchange(ran_, true)) begun_();
    processes_.insert(hello->origin.pid);
  }
  if (const auto* exit = std::get_if<session::Exit>(&message)) {
    if (exit->origin.pid == exit->origin.tid) processes_.erase(exit->origin.pid);
  }
  follow(message);
  sink_.receive(std::move(message));
}

// For the progress line.
void Collector::follow(const Message& message) {
  if (std::holds_alternative<session::Sample>(message)) ++progress_.samples;
  if (const auto* counts = std::get_if<session::Counts>(&message); counts != nullptr && instruction_event_ >= 0) {
    instructions_.told(counts->origin, counts->values[static_cast<std::size_t>(instruction_event_)], counts->final);
    progress_.instructions = instructions_.sum();
  }
  if (const auto* units = std::get_if<session::Units>(&message)) {
    session::UnitSums sums;
    sums.unpack(units->sums, estimated_);
    in_detail_.told(units->origin, sums.in_detail(), units->final);
    progress_.in_detail = in_detail_.sum();
    if (instruction_event_ >= 0) return;
    instructions_.told(units->origin, sums.instructions(), units->final);
    progress_.instructions = instructions_.sum();
  }
}

int Collector::count_still_running() const {
  if (virtual_ids_) return 0;  // nobody to ask
  int count = 0;
  for (const std::int32_t pid : processes_) {
    if (pid > 0 && kill(pid, 0) == 0) ++count;
  }
  return count;
}

}  // namespace zs::cli
