#include "cli/events/branch_filter.h"

#include <algorithm>
#include <string_view>

#include "arch/msrs.h"
#include "base/items.h"
#include "cli/command/words.h"
#include "profile/perf_data/perf_data.h"

namespace zs::cli {
namespace {

using Lbr = arch::LbrSelect;
namespace bits = profile::perf::branch_filter;

constexpr std::uint64_t kEveryKind = Lbr::conditional.mask | Lbr::relative_call.mask | Lbr::indirect_call.mask |
                                     Lbr::near_return.mask | Lbr::indirect_jump.mask | Lbr::relative_jump.mask;

/// keeps  the LBR_SELECT bits to clear
struct Kind {
  std::string_view name;
  std::uint64_t perf, keeps;
};

// clang-format off
constexpr Kind kKinds[] = {
    {"any",      bits::any,           kEveryKind},
    {"any_call", bits::any_call,      Lbr::relative_call.mask | Lbr::indirect_call.mask},
    {"any_ret",  bits::any_return,    Lbr::near_return.mask},
    {"call",     bits::call,          Lbr::relative_call.mask},
    {"cond",     bits::conditional,   Lbr::conditional.mask},
    {"ind_call", bits::indirect_call, Lbr::indirect_call.mask},
    {"ind_jmp",  bits::indirect_jump, Lbr::indirect_jump.mask},
};
constexpr std::string_view kKernelSide[] = {"k", "hv"};
// clang-format on

}  // namespace

std::vector<std::string> branch_filter_names() {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) names.emplace_back(kind.name);
  names.emplace_back("u");
  return names;
}

Result<BranchFilter> parse_branch_filter(const std::string& text) {
  BranchFilter filter;
  std::uint64_t kept = 0;
  for (const std::string_view name : items_of(text)) {
    if (name == "u") continue;
    if (std::find(std::begin(kKernelSide), std::end(kKernelSide), name) != std::end(kKernelSide)) {
      return Error{"-j " + std::string(name) + ": only branches of the program are seen, never the kernel's",
                   "use -j u"};
    }
    const auto kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return k.name == name; });
    if (kind == std::end(kKinds)) {
      return Error{"-j " + std::string(name) + ": no such branch filter",
                   "filters: " + joined(branch_filter_names(), ", ")};
    }
    filter.perf |= kind->perf;
    kept |= kind->keeps;
  }
  if (filter.perf == 0) {
    filter.perf = bits::any;
    kept = kEveryKind;
  }
  filter.perf |= bits::user;
  filter.lbr_select = Lbr::to_kernel.mask | Lbr::far_branch.mask | (kEveryKind & ~kept);
  return filter;
}

std::uint64_t call_stack_select() {
  constexpr std::uint64_t kCallsAndReturns = Lbr::relative_call.mask | Lbr::indirect_call.mask | Lbr::near_return.mask;
  return Lbr::to_kernel.mask | Lbr::far_branch.mask | (kEveryKind & ~kCallsAndReturns) | Lbr::call_stack.mask;
}

}  // namespace zs::cli
