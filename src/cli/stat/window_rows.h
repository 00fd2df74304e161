// Makes rows of the table of windows from what the threads of a program send.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/run/collector.h"
#include "profile/windows/window_table.h"
#include "session/units/unit_sums.h"

namespace zs::cli {

class WindowRows {
 public:
  struct Shape {
    std::vector<std::string> closers;     // as WindowPlan has them
    std::vector<std::size_t> counted_as;  // by column: index of the recording's event, or kNotCounted
    bool times = false;                   // rows say when, by the nominal clock
    std::size_t estimated = 0;            // events that are estimates
  };
  static constexpr std::size_t kNotCounted = SIZE_MAX;
  static constexpr const char* kLeftOver = "end";

  /// units  of the window; null where nothing is an estimate
  using Row = std::function<void(const profile::Window&, const session::UnitSums* units)>;
  /// row, span  called with each as it comes
  WindowRows(Shape shape, Row row, std::function<void(const profile::RegionSpan&)> span)
      : shape_(std::move(shape)), row_(std::move(row)), span_(std::move(span)) {}

  void look_at(const session::Message& message);

 private:
  struct Thread {
    std::string comm;
    std::uint64_t number = 0;
    std::uint64_t base = 0;  // instructions of images before this one
    std::uint64_t end = 0;   // of the last window
  };

  Thread& thread(std::int32_t pid, std::int32_t tid);
  void add(const session::Window& window);
  std::string reason(std::uint64_t ended_by) const;

  Shape shape_;
  Row row_;
  std::function<void(const profile::RegionSpan&)> span_;
  std::map<std::pair<std::int32_t, std::int32_t>, Thread> threads_;
  profile::Window shown_;  // the last row; kept for its memory, there may be a million a second
  std::uint64_t shown_ended_by_ = 0;
};

}  // namespace zs::cli
