// Threads that wait at a futex of the program, in the order in which they came. The engine keeps them itself where only
// threads of the program can wake them, so that who is woken by whom follows from the program and not from how fast the
// kernel is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace zs::engine {

struct Thread;

class FutexWaiters {
 public:
  /// The word at a linear address. The kernel keeps waiters of private futexes apart from those that other processes
  /// may share, which is also what it does at the end of a thread.
  struct Key {
    std::uint64_t address = 0;
    bool shared = false;
    bool operator==(const Key&) const = default;
  };

  static constexpr std::uint64_t kForEver = UINT64_MAX;
  /// until  by whatever expire() counts
  /// index  which of the words it is that the thread waits for at once
  void add(Thread& thread, Key key, std::uint32_t bits, std::uint64_t until = kForEver, unsigned index = 0) {
    waiting_.push_back({&thread, key, bits, until, index});
  }

  /// Returns false if it does not wait any more: it was woken.
  bool remove(const Thread& thread) {
    return std::erase_if(waiting_, [&](const Waiter& waiter) { return waiter.thread == &thread; }) != 0;
  }

  /// It waits no more. returns the indices of the words at which nobody has woken it
  std::vector<unsigned> take(const Thread& thread) {
    std::vector<unsigned> left;
    std::erase_if(waiting_, [&](const Waiter& waiter) {
      if (waiter.thread != &thread) return false;
      left.push_back(waiter.index);
      return true;
    });
    return left;
  }

  /// Those whose time is over at `now`: expired(thread) for each, which does not wait any more.
  template <typename Expired>
  void expire(std::uint64_t now, const Expired& expired) {
    std::erase_if(waiting_, [&](const Waiter& waiter) {
      if (waiter.until > now) return false;
      expired_.push_back(waiter.thread);
      expired(*waiter.thread);
      return true;
    });
  }
  /// Whether that ended the thread's last wait.
  bool take_expired(const Thread& thread) { return std::erase(expired_, &thread) != 0; }

  /// Those who wait at `key` for one of `bits`, oldest first, and `most` of them: woken(thread) for each.
  /// returns how many
  template <typename Woken>
  std::uint32_t wake(Key key, std::uint32_t most, std::uint32_t bits, const Woken& woken) {
    std::uint32_t count = 0;
    std::erase_if(waiting_, [&](const Waiter& waiter) {
      if (count >= most || waiter.key != key || (waiter.bits & bits) == 0) return false;
      ++count;
      woken(*waiter.thread);
      return true;
    });
    return count;
  }

  /// Lets the oldest at `from` wait at `to`, behind those who do already.
  std::uint32_t move(Key from, Key to, std::uint32_t most) {
    if (from == to) {
      const auto here = std::count_if(waiting_.begin(), waiting_.end(), [&](const Waiter& w) { return w.key == from; });
      return std::min(most, static_cast<std::uint32_t>(here));
    }
    std::vector<Waiter> moved;
    std::erase_if(waiting_, [&](const Waiter& waiter) {
      if (moved.size() >= most || waiter.key != from) return false;
      moved.push_back({waiter.thread, to, waiter.bits, waiter.until, waiter.index});
      return true;
    });
    waiting_.insert(waiting_.end(), moved.begin(), moved.end());
    return static_cast<std::uint32_t>(moved.size());
  }

  void clear() {
    waiting_.clear();
    expired_.clear();
  }

 private:
  struct Waiter {
    Thread* thread;
    Key key;
    std::uint32_t bits;
    std::uint64_t until;
    unsigned index;
  };
  std::vector<Waiter> waiting_;
  std::vector<const Thread*> expired_;
};

}  // namespace zs::engine
