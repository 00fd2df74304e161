#include "cli/stat/stat_totals.h"

#include <algorithm>
#include <utility>

namespace zs::cli {
namespace {

void add(std::vector<std::uint64_t>& sum, const std::vector<std::uint64_t>& more) {
  for (std::size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
}

/// Of a thread that told nothing there is nothing to add.
void add(session::UnitSums& sum, const session::UnitSums& more) {
  if (more.events() >= sum.events()) sum.add(more);
}

}  // namespace

void StatTotals::Thread::end_image() {
  add(ended.values, running);
  add(ended.units, running_units);
  running.clear();
  running_units = {};
}

StatTotals::Thread& StatTotals::thread(const session::Origin& origin) {
  const std::int64_t key = std::int64_t{origin.pid} << 32 | static_cast<std::uint32_t>(origin.tid);
  const auto [at, fresh] = index_.try_emplace(key, threads_.size());
  if (fresh) {
    Thread made;
    made.ended.pid = origin.pid;
    made.ended.tid = origin.tid;
    made.ended.values.resize(events_);
    threads_.push_back(std::move(made));
  }
  return threads_[at->second];
}

void StatTotals::receive(session::Message&& message) {
  if (const auto* counts = std::get_if<session::Counts>(&message)) {
    Thread& t = thread(counts->origin);
    t.running = counts->values;
    if (counts->final) t.end_image();
    t.open = !counts->final;
  } else if (const auto* units = std::get_if<session::Units>(&message)) {
    take(*units);
  } else if (auto* comm = std::get_if<session::Comm>(&message)) {
    thread(comm->origin).ended.comm = std::move(comm->comm);
  } else if (const auto* fork = std::get_if<session::Fork>(&message)) {
    const std::string name = thread({.pid = fork->parent_pid, .tid = fork->parent_tid, .time_ns = 0}).ended.comm;
    Thread& child = thread(fork->origin);
    child.ended.comm = name;
    child.open = child.open || fork->origin.pid == fork->parent_pid;  // a process opens with its Hello
  } else if (const auto* hello = std::get_if<session::Hello>(&message)) {
    Thread& t = thread(hello->origin);
    t.end_image();  // the one before, if it was killed without a word, or its number was given away again
    t.open = true;
  }
}

/// They come in front of the thread's counts, and a last word with the last counts.
void StatTotals::take(const session::Units& units) {
  session::UnitSums sums;
  if (sums.unpack(units.sums, estimated_)) thread(units.origin).running_units = std::move(sums);
}

std::vector<ThreadTotals> StatTotals::threads() const {
  std::vector<ThreadTotals> out;
  for (const Thread& t : threads_) {
    out.push_back(t.ended);
    add(out.back().values, t.running);
    add(out.back().units, t.running_units);
  }
  return out;
}

std::vector<ThreadTotals> StatTotals::processes() const {
  std::vector<ThreadTotals> out;
  for (ThreadTotals& t : threads()) {
    const auto at = std::ranges::find(out, t.pid, &ThreadTotals::pid);
    if (at == out.end()) {
      t.tid = t.pid;
      out.push_back(std::move(t));
    } else {
      add(at->values, t.values);
      add(at->units, t.units);
    }
  }
  return out;
}

std::vector<std::uint64_t> StatTotals::totals() const {
  std::vector<std::uint64_t> sum(events_);
  for (const ThreadTotals& t : threads()) add(sum, t.values);
  return sum;
}

session::UnitSums StatTotals::units() const {
  session::UnitSums sum(estimated_);
  for (const ThreadTotals& t : threads()) add(sum, t.units);
  return sum;
}

bool StatTotals::incomplete() const {
  return std::any_of(threads_.begin(), threads_.end(), [](const Thread& t) { return t.open; });
}

}  // namespace zs::cli
