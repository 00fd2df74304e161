// Adds up what the threads of a program counted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/collector.h"

namespace zs::cli {

struct ThreadTotals {
  std::int32_t pid = 0, tid = 0;
  std::string comm;                   // its last name
  std::vector<std::uint64_t> values;  // by event
};

class StatTotals final : public RecordingSink {
 public:
  explicit StatTotals(std::size_t events) : events_(events) {}

  void receive(session::Message&& message) override;

  /// Totals of the whole program, by event. Those of a thread that was killed are what it last reported.
  std::vector<std::uint64_t> totals() const;
  /// In the order in which they appeared. A program that execs goes on being the same thread.
  std::vector<ThreadTotals> threads() const;
  /// The same by process: the sums of their threads, named as the first of them.
  std::vector<ThreadTotals> processes() const;
  /// Some thread never said its last word: it was killed, or it still runs.
  bool incomplete() const;

 private:
  struct Thread {
    ThreadTotals ended;                  // of images that said their last word
    std::vector<std::uint64_t> running;  // of one that has not; empty if it said nothing yet
    bool open = false;                   // there is such a one
  };

  Thread& thread(const session::Origin& origin);

  std::size_t events_;
  std::vector<Thread> threads_;
  std::map<std::int64_t, std::size_t> index_;  // by pid and tid
};

}  // namespace zs::cli
