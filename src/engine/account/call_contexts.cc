#include "engine/account/call_contexts.h"

#include <utility>

namespace zs::engine {

std::uint32_t CallContexts::called(std::uint32_t context, std::uint64_t address) {
  if (nodes_[context].returns_to == address) return context;
  callers_.clear();
  std::uint32_t outer = context;
  while (nodes_[outer].depth != 0 && nodes_[outer].returns_to != address) {
    callers_.push_back(nodes_[outer].returns_to);
    outer = nodes_[outer].parent;
  }
  std::uint32_t found = context;
  if (nodes_[outer].depth != 0) {  // it is there already
    found = nodes_[outer].parent;
    for (auto at = callers_.rbegin(); at != callers_.rend(); ++at) found = below(found, *at);
  }
  if (nodes_[found].depth == kMostCallers) found = nodes_[found].parent;
  return below(found, address);
}

std::uint32_t CallContexts::below(std::uint32_t context, std::uint64_t address) {
  const auto at = found_.find({address, context});
  if (at != found_.end()) return at->second;
  if (nodes_.size() - 1 >= most_) {
    some_not_kept_ = true;
    return context;
  }
  const auto made = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({.returns_to = address, .parent = context, .depth = nodes_[context].depth + 1});
  found_.emplace(std::pair(address, context), made);
  return made;
}

std::span<const std::uint64_t> CallContexts::callers_of(std::uint32_t context) {
  callers_.clear();
  for (; nodes_[context].depth != 0; context = nodes_[context].parent) callers_.push_back(nodes_[context].returns_to);
  return callers_;
}

// ---- of a thread ----------------------------------------------------------------------------------------------

/// The functions whose return addresses lie below `sp` are left.
void CallStack::unwind(std::uint64_t sp) {
  for (; !frames_.empty() && frames_.back().sp < sp; frames_.pop_back()) context_ = frames_.back().context;
}

void CallStack::begin_another(std::uint64_t from, std::uint64_t top, std::uint32_t context) {
  parked_[top_] = {std::exchange(frames_, {}), from, context_};
  top_ = top;
  context_ = context;
  grown_from_ = 0;
}

// A stack lies between its top and where its pointer was when the thread left it.
void CallStack::moves(std::uint64_t from, std::uint64_t to, bool may_grow) {
  if (to >= from && to <= top_) return unwind(to);
  if (const auto at = parked_.lower_bound(to); at != parked_.end() && to + kRedZone >= at->second.sp) {
    auto other = parked_.extract(at);
    begin_another(from, other.key(), other.mapped().context);
    frames_ = std::move(other.mapped().frames);
    return unwind(to);
  }
  if (to < from && from - to < kLargestStep && may_grow) {
    grown_from_ = from;
    grown_to_ = to;
    return;
  }
  begin_another(from, to, CallContexts::kNoCallers);
}

void CallStack::returns_elsewhere(std::uint64_t sp) {
  jumps();
  moves(sp - sizeof sp, sp, true);
}

void CallStack::handler_begins(std::uint64_t from, std::uint64_t to, std::uint64_t restorer, std::uint32_t interrupted,
                               std::uint32_t handler) {
  if (to < from && from - to < kLargestStep) {
    frames_.push_back({0, from - kRedZone, context_});
  } else {
    begin_another(from, to + 8, interrupted);
  }
  context_ = interrupted;
  frames_.push_back({restorer, to, context_});
  context_ = handler;
}

}  // namespace zs::engine
