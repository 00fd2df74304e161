// -j any_call,u: which branches the LBR stack is to keep, for the register and for the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace zs::cli {

struct BranchFilter {
  std::uint64_t perf = 0;        // profile::perf::branch_filter bits
  std::uint64_t lbr_select = 0;  // LBR_SELECT; only ring 3, and so without far branches, whose other end is the kernel
};

/// text  names as perf's -j takes them, separated by commas; no kind among them means any
Result<BranchFilter> parse_branch_filter(const std::string& text);

/// What parse_branch_filter() knows.
std::vector<std::string> branch_filter_names();

/// LBR_SELECT for call-stack mode.
std::uint64_t call_stack_select();

}  // namespace zs::cli
