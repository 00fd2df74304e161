// The calls of a branch trace as a tree: who called whom how often, and what was executed there. A call is left by a
// return to behind it. What else there is:
//   * A jump to another function's beginning takes the place of the one that jumps: both have the same caller. Stubs of
//     the procedure linkage table have no node; what they lead to was called where they were.
//   * A return or jump to behind an outer call, or into the middle of a function that is being called, leaves all that
//     was called from there: longjmp, exceptions.
//   * Where the code does not lead to the next branch, a signal's handler began, or its end led back.
//   * Of code without a file (a just-in-time compiler's) a branch to behind a known call is its return, one to a
//     function's beginning a call.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "profile/perf_data/address_space.h"
#include "profile/perf_data/records.h"
#include "profile/symbols/symbolizer.h"
#include "report/trace/steps.h"

namespace zs::report {

/// A function, called along one path.
struct CallNode {
  const TracedFunction* function = nullptr;  // nullptr: all of a program's threads of one name, `program`
  std::string program;
  CallNode* parent = nullptr;
  std::uint32_t depth = 0, number = 0;
  std::uint64_t calls = 0, jumps = 0, others = 0;  // how it was entered; others: by a signal, as a thread's first
  std::uint64_t branches = 0, instructions = 0;    // its own
  std::vector<CallNode*> children;                 // in order of appearance

  std::uint64_t entered() const { return calls + jumps + others; }
};

/// Of the whole trace. calls + inherited = returned + left + open.
struct CallSums {
  std::uint64_t branches = 0, instructions = 0;
  std::uint64_t calls = 0;
  std::uint64_t inherited = 0;  // that a parent had made when a child process began
  std::uint64_t returned = 0;   // left by a return to behind it
  std::uint64_t left = 0;       // by longjmp, an exception, exec, or the return of an outer one
  std::uint64_t open = 0;       // never left
  std::uint64_t elsewhere = 0;  // returns to behind no call
  std::uint64_t jumps = 0;      // to other functions' beginnings
  std::uint64_t signals = 0;
  std::uint64_t unseen = 0;  // branches of code without a file
};

class TracedCalls {
 public:
  /// deepest  levels of the tree; what is called deeper stands on the last one
  TracedCalls(profile::Symbolizer& symbolizer, std::uint32_t deepest)
      : steps_(symbolizer, spaces_), deepest_(deepest) {}

  /// Of a recording read with Traces::Pieces, in the order of time.
  void take(const profile::Record& record);

  CallSums sums() const;
  /// Programs first, each node behind its parent.
  const std::deque<CallNode>& nodes() const { return nodes_; }

 private:
  enum class Entry : std::uint8_t { Call, Jump, Other };
  /// A call that has not been left, or a signal.
  struct Frame {
    CallNode* caller = nullptr;
    const TracedFunction* in = nullptr;     // the caller, or what the signal interrupted
    std::uint64_t first = 0, last = 0;      // where it returns to: one address, or 15 behind an unseen instruction
    bool signal = false, returned = false;  // returned: the handler has, to what ends it
    bool leads_to(std::uint64_t address) const { return !signal && first <= address && address <= last; }
  };
  struct Thread {
    std::int32_t pid = 0;
    CallNode* node = nullptr;
    const TracedFunction* function = nullptr;  // where it is; a stub has no node
    Entry through = Entry::Call;               // how it came into the stub
    std::vector<Frame> frames;
    std::uint64_t begin = 0;  // where the last branch went; 0: nowhere yet
    bool after_call_to_system = false;
  };

  static std::uint64_t calls_in(const std::vector<Frame>& frames);
  void push(Thread& thread, const Frame& frame);
  void take_branch(Thread& thread, std::int32_t tid, std::uint64_t from, std::uint64_t to);
  void begin(Thread& thread, std::int32_t tid, const Step& step);
  void interrupt(Thread& thread, const Step& step);
  void call(Thread& thread, const Step& step);
  void give_back(Thread& thread, const Step& step);
  void jump(Thread& thread, const Step& step);
  void branch_unseen(Thread& thread, const Step& step);
  void enter(Thread& thread, const TracedPlace& place, Entry entry);
  void take_place(Thread& thread, const TracedPlace& place);
  bool leave_to_call(Thread& thread, const TracedPlace& place);
  bool leave_to_function(Thread& thread, const TracedPlace& place);
  void leave(Thread& thread, std::size_t frames);
  CallNode* child(CallNode* node, const TracedFunction* function);
  CallNode* program(const std::string& name);

  profile::AddressSpaces spaces_;
  TracedSteps steps_;
  std::uint32_t deepest_;
  CallSums sums_;
  std::deque<CallNode> nodes_;
  std::map<std::string, CallNode*> programs_;
  std::map<std::pair<const CallNode*, const TracedFunction*>, CallNode*> children_;
  std::unordered_map<std::int32_t, Thread> threads_;  // by tid
};

struct CallsStyle {
  std::string filter;          // which branches the trace has; "": all
  double percent_limit = 0.5;  // of the trace's instructions; lighter nodes are left out, and said how many
  bool color = false;
  std::size_t width = 0;  // of the page; 0: any
};

/// A tree, the heaviest first, and what became of the calls.
std::string calls_text(const TracedCalls& calls, const CallsStyle& style);

}  // namespace zs::report
