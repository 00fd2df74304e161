// Under --virtual-time: of the processes of a recording one runs at a time, in an order that follows from what they do.
// Without it the host decides how much a read from a pipe finds, which child ends first, and where in a program a
// child's signal comes.
//   * Each process has a seat. One has the turn; the others wait for it in a queue. Whoever cannot go on (nothing to
//     read, no room to write, no child has ended) goes to the end of the queue and looks again when it has the turn,
//     and so does who has had it for long.
//   * What waits for something else (time, a terminal, the network) is done outside: the process gives its turn away,
//     and comes back when the host lets it. There, and only there, the host decides. Where nobody can go on, the order
//     in which all look again has a beginning, and whoever comes back gets its place there, so that the moment does not
//     matter.
//   * The next one waits until a process that has ended is really gone: its files are closed and its parent has been
//     signalled.
//   * The turn is an order, not a lock on anything: if its holder is stopped, was killed, or does not come back from
//     the kernel, it is taken from it, and only the order is lost.
// The table is memory that all of them share, also across execve. No libc: a vfork child uses this beside its parent.
#pragma once

#include <atomic>
#include <cstdint>

namespace zs::engine {

/// In shared memory, all zero at first.
struct TurnsTable {
  static constexpr int kSeats = 4096;
  enum class Place : std::uint32_t { Free, Queued, Running, Outside, Back };
  struct Seat {
    std::atomic<std::int32_t> pid;  // 0: of a process that has not begun yet
    std::atomic<Place> place;
    std::atomic<std::uint32_t> may_run;  // a futex
    std::int32_t next;                   // in the queue; 0 none
  };
  std::atomic<std::uint32_t> lock;
  std::atomic<std::int32_t> holder;   // a seat; 0 none
  std::int32_t first, last;           // of the queue
  std::atomic<std::uint32_t> queued;  // how many
  std::atomic<std::uint32_t> taken;   // seats
  std::atomic<std::uint32_t> handed;  // how often the turn went on
  std::atomic<std::uint32_t> idle;    // how often in a row because its holder could not go on
  std::int32_t first_idle;            // of those, the seat of the first
  std::atomic<std::uint32_t> back;    // how many have come back and have no place in the queue yet
  std::atomic<std::int32_t> ended;    // the process that had the turn last, and gave it up with its life; 0 none
  Seat seats[kSeats];                 // the first is nobody's
};

/// A seat is a number; 0 is that of a process which takes no part, and no call does anything for it.
class ProcessTurns {
 public:
  void attach(TurnsTable* table) { table_ = table; }

  /// The calling process's: the first one of the table takes the turn; a new image of a process has the seat it had.
  int sit(std::int32_t pid);
  /// For who has the turn: a seat for a process about to be forked, at the end of the queue.
  int reserve();
  void cancel(int seat);
  /// The new process, or the image that a child without its own memory goes on with, waits for its turn.
  void begin(int seat, std::int32_t pid);

  /// Somebody else takes part, perhaps outside at the moment; and wants the turn.
  bool shared() const { return table_ != nullptr && table_->taken.load(std::memory_order_relaxed) > 1; }
  bool wanted() const {
    return table_ != nullptr &&
           (table_->queued.load(std::memory_order_relaxed) != 0 || table_->back.load(std::memory_order_relaxed) != 0);
  }
  /// Goes to the end of the queue and comes back with the turn.
  /// idle  it cannot go on. When nobody can, this takes a millisecond.
  void pass(int seat, bool idle);
  /// What was waited for has come.
  void going_on(int seat);
  /// Gives the turn away, and takes no part until it comes back; or, at once, to `next`, whose seat is reserved.
  void leave(int seat);
  void leave_to(int seat, int next);
  void come_back(int seat);
  /// Ends with the process `pid`; 0: takes no part any more.
  void end(int seat, std::int32_t pid);

 private:
  /// What somebody who waits has seen of the holder.
  struct Watch {
    std::uint32_t handed;
    unsigned looks = 0, asleep = 0;  // since the turn went on, and in a row
  };

  void lock();
  void unlock();
  void append(int seat);
  void remove(int seat);
  void admit();
  bool looks_again(int seat);
  void hand_over();
  void give(int seat);
  void free(int seat);
  void await(int seat);
  void look_after_holder(Watch& watch);
  void await_end();

  TurnsTable* table_ = nullptr;
};

}  // namespace zs::engine
