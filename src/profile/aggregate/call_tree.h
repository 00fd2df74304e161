// Call chains folded into a tree: chains that begin alike share nodes, and a run of frames that nothing leaves or
// joins is one node. "A;B;C" in, tree out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "profile/symbols/frames.h"

namespace zs::profile {

struct CallNode {
  std::vector<const Frame*> frames;  // never empty, but in the root
  std::uint64_t own = 0;             // weight of chains that end here
  std::uint64_t below = 0;           // weight of chains that go on
  std::vector<std::unique_ptr<CallNode>> children;

  std::uint64_t total() const { return own + below; }
};

class CallTree {
 public:
  /// The first frame is next to the root.
  void add(std::span<const Frame* const> chain, std::uint64_t weight);
  /// Every node's children: heaviest first; of equal weight by file and, from the highest, address.
  void sort();

  const CallNode& root() const { return root_; }
  std::size_t depth() const { return depth_; }  // of the longest chain

 private:
  CallNode root_;
  std::size_t depth_ = 0;
};

}  // namespace zs::profile
