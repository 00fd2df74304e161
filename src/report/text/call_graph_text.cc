#include "report/text/call_graph_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "report/text/fit.h"
#include "report/text/percent.h"

namespace zs::report {
namespace {

using profile::CallNode;

class Drawing {
 public:
  Drawing(std::uint64_t whole, const CallGraphStyle& style) : whole_(whole), style_(style) {}

  std::string draw(const CallNode& root, std::uint64_t entry) {
    std::vector<const CallNode*> roots = heavy(root, entry);
    const CallNode* level = &root;
    // One root that has all the weight needs no percentage: its frames stand on a straight line.
    if (roots.size() == 1 && roots[0]->total() == entry) {
      std::size_t printed = 0;
      for (const profile::Frame* frame : std::span(roots[0]->frames).subspan(style_.skip_first ? 1 : 0)) {
        if (printed == 0) {
          line(0, 0, "|");
          line(0, 0, "---" + frame->name);
          margin_ += 3;
        } else {
          line(0, 0, frame->name);
        }
        if (++printed == style_.max_entries) break;
      }
      level = roots[0];
    }
    children(*level, style_.relative ? entry : whole_, 1, 1, style_.relative && level != &root ? level->below : entry);
    if (!out_.empty()) out_ += '\n';
    return std::move(out_);
  }

 private:
  /// The children that are not too light, heaviest first.
  std::vector<const CallNode*> heavy(const CallNode& node, std::uint64_t relative_to) const {
    const double least = static_cast<double>(style_.relative ? relative_to : whole_) * style_.min_percent / 100;
    std::vector<const CallNode*> kept;
    for (const auto& child : node.children) {
      if (static_cast<double>(child->total()) >= least) kept.push_back(child.get());
    }
    return kept;
  }

  /// The bars that still go down from the levels of `mask`, then `text`.
  void line(std::size_t depth, std::uint64_t mask, const std::string& text) {
    out_.append(12 + margin_, ' ');
    for (std::size_t i = 0; i < depth; ++i) {
      out_ += (mask & bit(i)) != 0 ? '|' : ' ';
      out_.append(10, ' ');
    }
    out_ += fitting(text, 12 + margin_ + 11 * depth);
    out_ += '\n';
  }

  /// A name behind `indent` columns. Deep in a graph it keeps a little, and then the page is wider.
  std::string fitting(const std::string& name, std::size_t indent) const {
    constexpr std::size_t kLeast = 12;
    if (style_.width == 0) return name;
    return shortened(name, style_.width > indent + kLeast ? style_.width - indent : kLeast);
  }

  /// One step of a branch: the first with its percentage, the others below it.
  void step(std::size_t depth, std::uint64_t mask, bool first, std::uint64_t weight, std::uint64_t whole,
            const std::string& name) {
    out_.append(12 + margin_, ' ');
    for (std::size_t level = 0; level < depth; ++level) {
      out_ += (mask & bit(level)) != 0 ? '|' : ' ';
      if (level + 1 == depth && first) {
        const double percent = percent_of(weight, whole);
        out_ += "--" + percent_colored(fmt::format("{:.2f}%", percent), percent, style_.color) + "--";
      } else {
        out_.append(10, ' ');
      }
    }
    out_ += fitting(name, 12 + margin_ + 11 * depth) + "\n";
  }

  /// `mask` has a bit for every level whose bar goes on; `whole` is what percentages are of.
  void children(const CallNode& node, std::uint64_t whole, std::size_t depth, std::uint64_t mask,
                std::uint64_t relative_to) {
    const std::vector<const CallNode*> kept = heavy(node, relative_to);
    std::uint64_t remaining = whole;
    std::size_t entries = 0;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const CallNode& child = *kept[i];
      remaining -= std::min(remaining, child.total());
      // The bar of this level ends at its last child, unless what was left out follows.
      std::uint64_t below_mask = mask;
      if (i + 1 == kept.size() && (!style_.relative || remaining == 0)) below_mask &= ~bit(depth - 1);
      line(depth, mask, "");
      for (std::size_t frame = 0; frame < child.frames.size(); ++frame) {
        step(depth, below_mask, frame == 0, child.total(), whole, child.frames[frame]->name);
      }
      children(child, style_.relative ? child.below : whole, depth + 1, below_mask | bit(depth), child.below);
      if (++entries == style_.max_entries) break;
    }
    if (style_.relative && remaining != 0 && remaining != whole) {
      step(depth, mask & ~bit(depth - 1), true, remaining, whole, "[...]");
    }
  }

  /// Levels beyond 64 have no bar.
  static std::uint64_t bit(std::size_t level) { return level < 64 ? std::uint64_t{1} << level : 0; }

  std::uint64_t whole_;
  const CallGraphStyle& style_;
  std::size_t margin_ = 0;
  std::string out_;
};

/// Chains end at `node` and below it.
void add_folded(const CallNode& node, std::string before, std::uint64_t whole, double least, std::string& out) {
  for (const profile::Frame* frame : node.frames) before += (before.empty() ? "" : ";") + frame->name;
  const double percent = percent_of(node.own, whole);
  if (node.own != 0 && percent >= least) out += fmt::format("{:.2f}% {}\n", percent, before);
  for (const auto& child : node.children) add_folded(*child, before, whole, least, out);
}

}  // namespace

std::string draw_call_graph(const profile::CallTree& tree, std::uint64_t whole, std::uint64_t entry,
                            const CallGraphStyle& style) {
  if (style.folded) {
    std::string out;
    add_folded(tree.root(), "", whole, style.min_percent, out);
    return out;
  }
  return Drawing(whole, style).draw(tree.root(), entry);
}

}  // namespace zs::report
