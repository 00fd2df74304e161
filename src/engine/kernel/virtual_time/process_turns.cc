#include "engine/kernel/virtual_time/process_turns.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include <charconv>
#include <cstring>
#include <iterator>
#include <utility>

#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

using Place = TurnsTable::Place;
constexpr long kPidfdOpen = 434;  // not in every libc's headers

/// As ps shows it: R runs, S sleeps, D waits for a device, T or t stopped, Z ended; X: there is none.
char state_of(std::int32_t pid) {
  char path[32] = "/proc/";
  std::memcpy(std::to_chars(path + 6, std::end(path), pid).ptr, "/stat", 6);
  const long fd = raw_syscall(SYS_open, path, O_RDONLY | O_CLOEXEC);
  if (is_error(fd)) return 'X';
  char text[256] = "";
  const long length = raw_syscall(SYS_read, fd, text, sizeof text - 1);
  raw_syscall(SYS_close, fd);
  // The name is in parentheses, and may hold some.
  const char* const name_end = length > 0 ? std::strrchr(text, ')') : nullptr;
  return name_end == nullptr || name_end[1] != ' ' ? 'X' : name_end[2];
}

void sleep_ms(long milliseconds) { raw_syscall(SYS_poll, nullptr, 0, milliseconds); }

}  // namespace

// Held for some stores only. Who was killed there is not waited for.
void ProcessTurns::lock() {
  constexpr unsigned kPatience = 1000;
  for (unsigned tries = 0; table_->lock.exchange(1, std::memory_order_acquire) != 0 && tries < kPatience; ++tries) {
    if (tries < kPatience / 2)
      raw_syscall(SYS_sched_yield);
    else
      sleep_ms(1);
  }
}
void ProcessTurns::unlock() { table_->lock.store(0, std::memory_order_release); }

void ProcessTurns::append(int seat) {
  TurnsTable& t = *table_;
  t.seats[seat].place.store(Place::Queued);
  t.seats[seat].next = 0;
  (t.first == 0 ? t.first : t.seats[t.last].next) = seat;
  t.last = seat;
  t.queued.fetch_add(1);
}

void ProcessTurns::remove(int seat) {
  TurnsTable& t = *table_;
  for (int at = t.first, before = 0; at != 0; before = std::exchange(at, t.seats[at].next)) {
    if (at != seat) continue;
    (before == 0 ? t.first : t.seats[before].next) = t.seats[at].next;
    if (t.last == at) t.last = before;
    t.queued.fetch_sub(1);
    return;
  }
}

void ProcessTurns::give(int seat) {
  TurnsTable& t = *table_;
  t.handed.fetch_add(1);
  t.holder.store(seat);
  if (seat == 0) return;
  t.seats[seat].place.store(Place::Running);
  t.seats[seat].may_run.store(1);
  raw_syscall(SYS_futex, &t.seats[seat].may_run, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

// Who has come back gets a place in the queue.
void ProcessTurns::admit() {
  for (int seat = 1; table_->back.load() != 0 && seat < TurnsTable::kSeats; ++seat) {
    if (table_->seats[seat].place.load() != Place::Back) continue;
    table_->back.fetch_sub(1);
    append(seat);
  }
}

void ProcessTurns::hand_over() {
  if (table_->idle.load() == 0 || table_->first == 0) admit();
  const int next = table_->first;
  if (next != 0) remove(next);
  give(next);
}

void ProcessTurns::free(int seat) {
  TurnsTable::Seat& s = table_->seats[seat];
  if (s.place.load() == Place::Queued) remove(seat);
  if (s.place.load() == Place::Back) table_->back.fetch_sub(1);
  s.pid.store(0);
  if (s.place.exchange(Place::Free) != Place::Free) table_->taken.fetch_sub(1);
}

int ProcessTurns::sit(std::int32_t pid) {
  if (table_ == nullptr) return 0;
  TurnsTable& t = *table_;
  for (int seat = 1; seat < TurnsTable::kSeats; ++seat) {
    if (t.seats[seat].pid.load() != pid || t.seats[seat].place.load() == Place::Free) continue;
    if (t.holder.load() != seat) come_back(seat);
    return seat;
  }
  if (t.handed.load() != 0) return 0;
  t.seats[1].pid.store(pid);
  t.taken.store(1);
  give(1);
  t.seats[1].may_run.store(0);
  return 1;
}

int ProcessTurns::reserve() {
  if (table_ == nullptr) return 0;
  lock();
  int found = 0;
  for (int seat = 1; seat < TurnsTable::kSeats && found == 0; ++seat) {
    if (table_->seats[seat].place.load() == Place::Free) found = seat;
  }
  if (found != 0) {
    table_->seats[found].pid.store(0);
    table_->seats[found].may_run.store(0);
    table_->taken.fetch_add(1);
    append(found);
  }
  unlock();
  return found;
}

void ProcessTurns::cancel(int seat) {
  if (seat == 0) return;
  lock();
  free(seat);
  unlock();
}

void ProcessTurns::begin(int seat, std::int32_t pid) {
  if (seat == 0) return;
  lock();
  for (int other = 1; other < TurnsTable::kSeats; ++other) {  // of a process that was killed, whose number comes again
    if (table_->seats[other].pid.load() == pid) free(other);
  }
  table_->seats[seat].pid.store(pid);
  unlock();
  await(seat);
}

// All have looked in vain since `seat` did so first, and nobody has come back.
bool ProcessTurns::looks_again(int seat) {
  TurnsTable& t = *table_;
  const std::uint32_t before = t.idle.fetch_add(1);
  const bool first_is_gone = before > 2 * t.queued.load() + 2;
  if (before == 0 || first_is_gone) t.first_idle = seat;
  if (before == 0 || t.first_idle != seat) return false;
  t.idle.store(1);
  const bool nobody = t.back.load() == 0;
  admit();
  return nobody;
}

void ProcessTurns::pass(int seat, bool idle) {
  if (seat == 0) return;
  TurnsTable& t = *table_;
  lock();
  bool sleeps = false;
  if (idle)
    sleeps = looks_again(seat);
  else
    t.idle.store(0);
  unlock();
  if (sleeps) sleep_ms(1);
  lock();
  const bool has_it = t.holder.load() == seat;
  if (!idle) admit();
  if (has_it && t.first == 0) return unlock();
  if (t.seats[seat].place.load() != Place::Queued) append(seat);
  if (has_it || t.holder.load() == 0) hand_over();
  unlock();
  await(seat);
}

void ProcessTurns::going_on(int seat) {
  if (seat != 0) table_->idle.store(0);
}

void ProcessTurns::leave(int seat) { leave_to(seat, 0); }

void ProcessTurns::leave_to(int seat, int next) {
  if (seat == 0) return;
  lock();
  if (table_->seats[seat].place.load() == Place::Queued) remove(seat);
  table_->seats[seat].place.store(Place::Outside);
  table_->idle.store(0);
  if (table_->holder.load() == seat) {
    if (next != 0) {
      remove(next);
      give(next);
    } else {
      hand_over();
    }
  }
  unlock();
}

void ProcessTurns::come_back(int seat) {
  if (seat == 0) return;
  lock();
  table_->seats[seat].place.store(Place::Back);
  table_->back.fetch_add(1);
  if (table_->holder.load() == 0) hand_over();
  unlock();
  await(seat);
}

void ProcessTurns::end(int seat, std::int32_t pid) {
  if (seat == 0) return;
  lock();
  free(seat);
  table_->idle.store(0);
  if (table_->holder.load() == seat) {
    table_->ended.store(pid);
    hand_over();
  }
  unlock();
}

void ProcessTurns::await(int seat) {
  static constexpr timespec kPatience{.tv_sec = 0, .tv_nsec = 20'000'000};
  std::atomic<std::uint32_t>& may_run = table_->seats[seat].may_run;
  Watch watch{.handed = table_->handed.load()};
  while (may_run.load() == 0) {
    const long result = raw_syscall(SYS_futex, &may_run, FUTEX_WAIT, 0, &kPatience, nullptr, 0);
    if (result == -ETIMEDOUT) look_after_holder(watch);
  }
  may_run.store(0);
  await_end();
}

// The holder has had the turn for a while. Is it still there?
void ProcessTurns::look_after_holder(Watch& watch) {
  constexpr unsigned kTooLongAsleep = 100, kTooLong = 3000;  // two seconds, a minute
  TurnsTable& t = *table_;
  const std::uint32_t now = t.handed.load();
  if (now != watch.handed) {
    watch = {.handed = now};
    return;
  }
  const int holder = t.holder.load();
  const std::int32_t pid = t.seats[holder].pid.load();
  // Nobody may have it, if somebody was killed at the wrong moment; a process that was forked may never have begun.
  const char state = holder == 0 ? 'X' : pid == 0 ? 'S' : state_of(pid);
  const bool gone = state == 'Z' || state == 'X', stopped = state == 'T' || state == 't';
  ++watch.looks;
  watch.asleep = state == 'R' ? 0 : watch.asleep + 1;
  if (gone || stopped || watch.asleep >= kTooLongAsleep || watch.looks >= kTooLong) {
    lock();
    if (t.handed.load() == now) {
      if (holder != 0 && gone)
        free(holder);
      else if (holder != 0)
        t.seats[holder].place.store(Place::Outside);
      hand_over();
    }
    unlock();
  }
}

// What the process did at its end is done: its files are closed, and its parent has the signal.
void ProcessTurns::await_end() {
  const std::int32_t pid = table_->ended.exchange(0);
  if (pid == 0) return;
  constexpr int kPatienceMs = 200;
  const long fd = raw_syscall(kPidfdOpen, pid, 0);
  if (is_error(fd)) return;
  pollfd gone{.fd = static_cast<int>(fd), .events = POLLIN, .revents = 0};
  while (raw_syscall(SYS_poll, &gone, 1, kPatienceMs) == -EINTR) {}
  raw_syscall(SYS_close, fd);
  // The signal comes right behind that; this waits for the lock under which both happen.
  raw_syscall(SYS_waitid, P_PID, pid, nullptr, WEXITED | WNOHANG | WNOWAIT, nullptr);
}

}  // namespace zs::engine
