#include "profile/aggregate/call_tree.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace zs::profile {
namespace {

/// Which of two children of equal weight comes first: a matter of what they are, not of when they came. The higher
/// address, as in perf.
auto place_of(const CallNode& node) {
  const Frame& frame = *node.frames.front();
  return std::tuple(frame.dso == nullptr, frame.dso != nullptr ? frame.dso->number : 0, ~frame.address, frame.number);
}

void sort_children(CallNode& node) {
  std::sort(node.children.begin(), node.children.end(), [](const auto& a, const auto& b) {
    return a->total() != b->total() ? a->total() > b->total() : place_of(*a) < place_of(*b);
  });
  for (const auto& child : node.children) sort_children(*child);
}

/// Cuts a node after its first `kept` frames: the rest becomes its only child.
void split(CallNode& node, std::size_t kept) {
  auto rest = std::make_unique<CallNode>();
  rest->frames.assign(node.frames.begin() + static_cast<std::ptrdiff_t>(kept), node.frames.end());
  rest->own = node.own;
  rest->below = node.below;
  rest->children = std::move(node.children);
  node.frames.resize(kept);
  node.below = rest->total();
  node.own = 0;
  node.children.clear();
  node.children.push_back(std::move(rest));
}

}  // namespace

void CallTree::add(std::span<const Frame* const> chain, std::uint64_t weight) {
  depth_ = std::max(depth_, chain.size());
  CallNode* node = &root_;
  while (!chain.empty()) {
    node->below += weight;
    const auto found = std::find_if(node->children.begin(), node->children.end(),
                                    [&](const auto& child) { return child->frames.front() == chain.front(); });
    if (found == node->children.end()) {
      auto leaf = std::make_unique<CallNode>();
      leaf->frames.assign(chain.begin(), chain.end());
      leaf->own = weight;
      node->children.push_back(std::move(leaf));
      return;
    }
    node = found->get();
    const auto shared = std::mismatch(node->frames.begin(), node->frames.end(), chain.begin(), chain.end()).first;
    const auto common = static_cast<std::size_t>(shared - node->frames.begin());
    if (common < node->frames.size()) split(*node, common);
    chain = chain.subspan(common);
  }
  node->own += weight;
}

void CallTree::sort() { sort_children(root_); }

}  // namespace zs::profile
