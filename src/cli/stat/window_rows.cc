#include "cli/stat/window_rows.h"

namespace zs::cli {

WindowRows::Thread& WindowRows::thread(std::int32_t pid, std::int32_t tid) { return threads_[{pid, tid}]; }

void WindowRows::look_at(const session::Message& message) {
  if (const auto* window = std::get_if<session::Window>(&message)) {
    add(*window);
  } else if (const auto* span = std::get_if<session::RegionSpan>(&message)) {
    const std::uint64_t base = thread(span->origin.pid, span->origin.tid).base;
    span_({.name = span->name,
           .pid = span->origin.pid,
           .tid = span->origin.tid,
           .begin = base + span->begin,
           .end = base + span->end});
  } else if (const auto* comm = std::get_if<session::Comm>(&message)) {
    thread(comm->origin.pid, comm->origin.tid).comm = comm->comm;
  } else if (const auto* fork = std::get_if<session::Fork>(&message)) {
    Thread fresh;  // its number may have been another thread's
    fresh.comm = thread(fork->parent_pid, fork->parent_tid).comm;
    thread(fork->origin.pid, fork->origin.tid) = std::move(fresh);
  } else if (const auto* hello = std::get_if<session::Hello>(&message); hello != nullptr && hello->exec) {
    Thread& same = thread(hello->origin.pid, hello->origin.tid);
    same.base = same.end;  // a new image counts from 0 again, the thread goes on
  }
}

void WindowRows::add(const session::Window& window) {
  Thread& from = thread(window.origin.pid, window.origin.tid);
  profile::Window& row = shown_;
  row.number = ++from.number;
  row.pid = window.origin.pid;
  row.tid = window.origin.tid;
  row.comm = from.comm;
  row.start = from.base + window.begin;
  row.end = from.end = from.base + window.end;
  if (shape_.times) row.time = profile::TimeSpan{.start_ns = row.start, .end_ns = row.end};
  if (window.ended_by != shown_ended_by_ || row.reason.empty()) row.reason = reason(window.ended_by);
  shown_ended_by_ = window.ended_by;
  row.values.clear();
  for (const std::size_t event : shape_.counted_as) {
    row.values.push_back(event == kNotCounted ? 0 : window.values[event]);
  }
  if (shape_.estimated == 0) return row_(row, nullptr);
  session::UnitSums units(shape_.estimated);
  units.set_instructions(row.instructions());
  static_cast<void>(units.unpack(window.units, shape_.estimated));  // else there are too few of them
  row_(row, &units);
}

std::string WindowRows::reason(std::uint64_t ended_by) const {
  std::string text;
  for (std::size_t i = 0; i < shape_.closers.size(); ++i) {
    if ((ended_by >> i & 1) != 0) text += (text.empty() ? "" : "+") + shape_.closers[i];
  }
  return text.empty() ? kLeftOver : text;
}

}  // namespace zs::cli
