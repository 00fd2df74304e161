// Under --virtual-time: the process ids that the program sees of its children. The kernel's depend on what else the
// host starts; these follow from who forked whom, so that they are the same however processes run beside one another.
//   * The table is memory that all processes of a recording share, also across execve; entries are only added.
//   * The numbers lie above every number that a kernel gives, so neither can be taken for the other.
//   * A process that finds no room in the table keeps the kernel's number.
#pragma once

#include <atomic>
#include <cstdint>

namespace zs::engine {

class ProcessIds {
 public:
  /// The kernel's numbers end before this. source: Linux, linux/threads.h, PID_MAX_LIMIT
  static constexpr std::int32_t kKernelsEnd = 4'194'304;
  /// Numbers shown begin here.
  static constexpr std::int32_t kFirstShown = 10'000'000;

  struct Entry {
    std::atomic<std::int32_t> shown, real;  // 0: none
  };
  /// In shared memory, all zero at first.
  struct Table {
    static constexpr std::uint32_t kMost = 1 << 20;
    std::atomic<std::uint32_t> used;
    Entry entries[kMost];
  };
  /// Without a table all numbers are the kernel's.
  void attach(Table* table) { table_ = table; }

  /// The number of the process that `parent`, as shown, is about to fork, its `child`-th, or later ones of those are
  /// taken. It is taken once it is bound. 0: the table has no room, and bind() does nothing.
  std::int32_t next_child(std::int32_t parent, std::uint32_t& child) const;
  /// Both sides of a fork may say it.
  void bind(std::int32_t shown, std::int32_t real);
  /// The kernel has given `real` to something that is no process of the table: who had it before is gone.
  void forget(std::int32_t real);

  /// The other number of a process of the table; that of others, and what is no number of a process, is itself.
  std::int32_t shown(std::int32_t real) const;
  std::int32_t real(std::int32_t shown) const;

 private:
  Entry* find(std::atomic<std::int32_t> Entry::*number, std::int32_t value) const;

  Table* table_ = nullptr;
};

}  // namespace zs::engine
