#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "base/units.h"
#include "report/text/fit.h"
#include "report/text/percent.h"
#include "report/trace/calls.h"

namespace zs::report {
namespace {

struct Weight {
  std::uint64_t instructions = 0, branches = 0;
};

class Text {
 public:
  Text(const TracedCalls& calls, const CallsStyle& style)
      : calls_(calls), style_(style), sums_(calls.sums()), total_(calls.nodes().size()) {
    for (const CallNode& node : calls.nodes()) total_[node.number] = {node.instructions, node.branches};
    for (auto node = calls.nodes().rbegin(); node != calls.nodes().rend(); ++node) {  // children behind their parents
      if (node->parent == nullptr) continue;
      Weight& sum = total_[node->parent->number];
      sum.instructions += total_[node->number].instructions;
      sum.branches += total_[node->number].branches;
    }
  }

  std::string whole() {
    std::vector<const CallNode*> programs;
    for (const CallNode& node : calls_.nodes()) {
      if (node.parent == nullptr) programs.push_back(&node);
    }
    head();
    draw(programs, 0);
    foot();
    return std::move(out_);
  }

 private:
  void head() {
    if (!style_.filter.empty()) out_ += fmt::format("# only: {}\n", style_.filter);
    out_ += fmt::format("# {} branches, {} instructions\n#\n", with_thousands(sums_.branches),
                        with_thousands(sums_.instructions));
    out_ += "# Percent    Instructions     Of its own       Calls  Function\n";
    out_ += "# .......  ..............  .............  ..........  ........\n";
  }

  void draw(std::vector<const CallNode*> level, std::size_t depth) {
    std::ranges::sort(level, [&](const CallNode* a, const CallNode* b) {
      const Weight &one = total_[a->number], &other = total_[b->number];
      return std::tuple(other.instructions, other.branches, a->number) <
             std::tuple(one.instructions, one.branches, b->number);
    });
    for (const CallNode* node : level) {
      const double percent = percent_of(*node);
      if (percent < style_.percent_limit) {
        ++left_out_;
        continue;
      }
      line(*node, percent, depth);
      draw({node->children.begin(), node->children.end()}, depth + 1);
    }
  }

  double percent_of(const CallNode& node) const {
    const bool counted = sums_.instructions != 0;
    const std::uint64_t part = counted ? total_[node.number].instructions : total_[node.number].branches;
    const std::uint64_t all = counted ? sums_.instructions : sums_.branches;
    return report::percent_of(part, all);
  }

  void line(const CallNode& node, double percent, std::size_t depth) {
    const std::string name = node.function == nullptr ? node.program : name_of(*node.function);
    // Where a page has a width, deep levels stand below each other, each with its number.
    constexpr std::size_t kLeast = 16, kBefore = 54;
    const std::size_t most = style_.width > kBefore + kLeast ? (style_.width - kBefore - kLeast) / 2 : 0;
    const bool bounded = style_.width != 0 && depth > most;
    const std::string level = bounded ? fmt::format("[{}] ", depth) : "";
    const std::size_t blanks = 2 * (bounded ? most : depth), taken = kBefore + blanks + level.size();
    const std::size_t room = style_.width > taken ? style_.width - taken : 1;
    out_ += fmt::format("  {}  {:>14}  {:>13}  {:>10}  {:{}}{}{}\n",
                        percent_colored(fmt::format("{:6.2f}%", percent), percent, style_.color),
                        with_thousands(total_[node.number].instructions), with_thousands(node.instructions),
                        node.function == nullptr ? "" : with_thousands(node.entered()), "", blanks, level,
                        style_.width == 0 ? name : shortened(name, room));
  }

  /// Code without a symbol has its file's name.
  static std::string name_of(const TracedFunction& function) {
    if (function.symbol != nullptr) return function.name;
    return fmt::format("{} in {}", function.name, function.dso != nullptr ? function.dso->short_name : "no file");
  }

  void foot() {
    out_ += "#\n";
    fact("{} calls: {} returned, {} left otherwise (longjmp, exceptions, exec), {} not left", sums_.calls,
         sums_.returned, sums_.left, sums_.open);
    if (sums_.inherited != 0) fact("{} more were open where child processes began", sums_.inherited);
    if (sums_.elsewhere != 0) fact("{} returns led to behind no call", sums_.elsewhere);
    if (sums_.jumps != 0)
      fact("{} jumps to the beginnings of other functions, which count as their calls", sums_.jumps);
    if (sums_.signals != 0)
      fact("{} signal handlers; instructions up to the signal and behind it are not counted", sums_.signals);
    if (sums_.unseen != 0) fact("{} branches of code without a file, whose instructions are not counted", sums_.unseen);
    if (left_out_ != 0) {
      out_ += folded(fmt::format("# {} lines below {}% are left out, and what they call: --percent-limit 0 shows all\n",
                                 with_thousands(left_out_), style_.percent_limit),
                     style_.width);
    }
  }

  template <typename... Numbers>
  void fact(fmt::format_string<std::conditional_t<true, std::string, Numbers>...> text, Numbers... numbers) {
    out_ += folded("# " + fmt::format(text, with_thousands(numbers)...) + "\n", style_.width);
  }

  const TracedCalls& calls_;
  const CallsStyle& style_;
  CallSums sums_;
  std::vector<Weight> total_;  // by number of the node, with all below it
  std::uint64_t left_out_ = 0;
  std::string out_;
};

}  // namespace

std::string calls_text(const TracedCalls& calls, const CallsStyle& style) { return Text(calls, style).whole(); }

}  // namespace zs::report
