#include "cli/run/follow_filter.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "base/items.h"

namespace zs::cli {
namespace {

/// Process and thread that a message is about.
std::pair<std::int32_t, std::int32_t> who(const session::Message& message) {
  return std::visit(
      [](const auto& m) -> std::pair<std::int32_t, std::int32_t> {
        if constexpr (std::is_same_v<std::decay_t<decltype(m)>, session::Sample>) {
          return {m.pid, m.tid};
        } else {
          return {m.origin.pid, m.origin.tid};
        }
      },
      message);
}

}  // namespace

Result<void> parse_follow(const std::string& text, FollowOptions& options) {
  if (text.empty()) return {};
  options.fork = options.exec = options.thread = false;
  if (text == "none") return {};
  for (const std::string_view word : items_of(text)) {
    if (word == "fork") {
      options.fork = true;
    } else if (word == "exec") {
      options.exec = true;
    } else if (word == "thread") {
      options.thread = true;
    } else {
      return Error{fmt::format("--follow {}: '{}' is nothing to follow", text, word), "fork, exec, thread, or none"};
    }
  }
  return {};
}

void FollowFilter::receive(session::Message&& message) {
  if (auto* hello = std::get_if<session::Hello>(&message)) return begin(*hello);
  if (auto* comm = std::get_if<session::Comm>(&message)) return name(std::move(*comm));
  if (auto* fork_of = std::get_if<session::Fork>(&message)) return fork(*fork_of);
  const auto [pid, tid] = who(message);
  if (is_counted(pid, tid)) pass(std::move(message));
}

bool FollowFilter::is_counted(std::int32_t pid, std::int32_t tid) {
  const Process& process = processes_[pid];
  return process.followed && process.named && (options_.thread || pid == tid);
}

void FollowFilter::pass(session::Message&& message) {
  any_ = any_ || std::holds_alternative<session::Counts>(message);
  sink_.receive(std::move(message));
}

// The image's name comes next, unless this is a forked child, which has its parent's.
void FollowFilter::begin(const session::Hello& hello) {
  const bool known = processes_.contains(hello.origin.pid);
  Process& process = processes_[hello.origin.pid];
  if (hello.exec && !options_.exec) process.followed = false;
  const bool new_image = hello.exec || !known;
  if (new_image && !options_.comm.empty()) {
    process.held = true;
    process.hello = hello;
    return;
  }
  if (is_counted(hello.origin.pid, hello.origin.tid)) pass(hello);
}

void FollowFilter::name(session::Comm&& comm) {
  Process& process = processes_[comm.origin.pid];
  if (comm.exec && !options_.comm.empty()) {
    process.named = comm.comm == options_.comm;
    if (std::exchange(process.held, false) && is_counted(comm.origin.pid, comm.origin.tid)) {
      pass(process.hello);
    }
  }
  if (is_counted(comm.origin.pid, comm.origin.tid)) pass(std::move(comm));
}

void FollowFilter::fork(const session::Fork& fork) {
  const std::int32_t pid = fork.origin.pid;
  if (pid != fork.parent_pid) {
    Process child = processes_[fork.parent_pid];
    child.followed = child.followed && options_.fork;
    processes_[pid] = child;
  }
  if (is_counted(pid, fork.origin.tid)) pass(fork);
}

}  // namespace zs::cli
