// Instructions that the observer has marked, and how translated code keeps them apart: a mark begins a block of its
// own, so that every exit of that block in the trace says the thread was there (SuperblockBuilder, account/marks.h).
#pragma once

#include <cstdint>
#include <unordered_map>

#include "engine/observer.h"

namespace zs::engine {

struct Mark {
  MarkTime time = MarkTime::None;
  bool stepped = false;  // runs as Variant::Step
  explicit operator bool() const { return time != MarkTime::None; }
};

class CodeMarks {
 public:
  /// Several may want to hear of one instruction; if one of them needs registers, it is stepped.
  void add(const CodeMark& mark) {
    Mark& known = marks_[mark.pc];
    known = {.time = mark.time, .stepped = mark.with_registers || known.stepped};
  }
  Mark at(std::uint64_t pc) const {
    if (marks_.empty()) return {};
    const auto found = marks_.find(pc);
    return found == marks_.end() ? Mark{} : found->second;
  }
  /// visit(pc) for each, in no order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [pc, mark] : marks_) visit(pc);
  }

 private:
  std::unordered_map<std::uint64_t, Mark> marks_;
};

}  // namespace zs::engine
