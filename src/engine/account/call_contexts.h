// Who called what runs. A calling context is the return addresses that lie on a thread's stack, each once, where it
// lies last: so recursion has few of them, the caller of what runs is right, and so is the set of all that wait. Those
// of a process form a tree, of which a bounded number is kept. A CallStack follows one thread from context to context:
// by its calls and returns, and by where its stack pointer is when neither explains it (longjmp, exceptions, handlers
// of signals, another stack).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace zs::engine {

class CallContexts {
 public:
  static constexpr std::uint32_t kNoCallers = 0;
  /// With the instruction itself as many as a call chain holds. What is called deeper has the outer ones and the last.
  static constexpr std::uint32_t kMostCallers = 126;

  explicit CallContexts(std::uint32_t most) : most_(most) {}

  /// The context of what is called from `context` and returns to `address`. If it would be one too many: `context`.
  std::uint32_t called(std::uint32_t context, std::uint64_t address);
  /// Where it returns to, unless it is of more than that; 0: it was not called, or nobody knows.
  std::uint64_t returns_to(std::uint32_t context) const { return nodes_[context].returns_to; }
  /// Return addresses, innermost first. They hold until the next call.
  std::span<const std::uint64_t> callers_of(std::uint32_t context);
  /// Whether there were more than are kept.
  bool some_not_kept() const { return some_not_kept_; }

 private:
  std::uint32_t below(std::uint32_t context, std::uint64_t address);

  struct Node {
    std::uint64_t returns_to = 0;
    std::uint32_t parent = kNoCallers, depth = 0;
  };
  std::uint32_t most_;
  bool some_not_kept_ = false;
  std::vector<Node> nodes_ = std::vector<Node>(1);
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> found_;  // by return address and parent
  std::vector<std::uint64_t> callers_;                                      // scratch
};

class CallStack {
 public:
  /// top: no address above belongs to the stack that the thread begins on
  explicit CallStack(std::uint64_t top) : top_(top) {}

  std::uint32_t context() const { return context_; }
  /// What is called runs in `context`; its return address lies at `sp`.
  void call(std::uint64_t returns_to, std::uint64_t sp, std::uint32_t context) {
    if (!frames_.empty() && frames_.back().sp <= sp) [[unlikely]]
      unwind(sp + 1);
    frames_.push_back({returns_to, sp, context_});
    context_ = context;
    grown_from_ = 0;
  }
  /// returns whether `target` is where the function that was called last returns to; it has then
  bool returns(std::uint64_t target) {
    if (frames_.empty() || frames_.back().returns_to != target) return false;
    context_ = frames_.back().context;
    frames_.pop_back();
    return true;
  }
  /// The stack pointer went from `from` to `to` by no call or return that is known.
  /// may_grow  room for a variable may have been made
  void moves(std::uint64_t from, std::uint64_t to, bool may_grow);
  /// A return, behind which the stack pointer is `sp`, has not led to where the last call was.
  void returns_elsewhere(std::uint64_t sp);
  /// By an indirect jump. What seemed to grow was another stack, then.
  void jumps() {
    if (grown_from_ != 0) [[unlikely]]
      begin_another(grown_from_, grown_to_, CallContexts::kNoCallers);
  }
  /// A signal's handler begins, which returns to `restorer`; it interrupted `context`.
  /// It runs in `handler`, and its return address lies at `to`.
  void handler_begins(std::uint64_t from, std::uint64_t to, std::uint64_t restorer, std::uint32_t interrupted,
                      std::uint32_t handler);

 private:
  struct Frame {
    std::uint64_t returns_to, sp;
    std::uint32_t context;  // of the caller
  };
  /// One that the thread is not on now.
  struct Parked {
    std::vector<Frame> frames;
    std::uint64_t sp;
    std::uint32_t context;
  };
  static constexpr std::uint64_t kRedZone = 128;
  /// Farther down there is another stack. chosen
  static constexpr std::uint64_t kLargestStep = 64 << 10;

  void unwind(std::uint64_t sp);
  void begin_another(std::uint64_t from, std::uint64_t top, std::uint32_t context);

  std::uint64_t top_;
  std::uint32_t context_ = CallContexts::kNoCallers;
  std::vector<Frame> frames_;
  std::map<std::uint64_t, Parked> parked_;       // by their tops
  std::uint64_t grown_from_ = 0, grown_to_ = 0;  // since the last call
};

}  // namespace zs::engine
