// What `zeroskid diff` prints: for each event the whole, then functions, each with its lines, the first row being the
// largest difference. docs/formats/diff.md.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/gate/counts_file.h"
#include "report/diff/changes.h"

namespace zs::cli {

struct DiffStyle {
  bool ratio = false;        // B by A in place of the difference
  bool by_a = false;         // by what A has, not by the difference
  bool lines = true;         // of functions
  double least_percent = 0;  // of the whole difference; what has less is left out, but for
  bool keeps_first = false;  // the first function, which is what was changed
  std::size_t width = 0;     // 0: any
};

using DiffPrinter = std::string (*)(const CountsFile& a, const CountsFile& b,
                                    const std::vector<report::EventChange>& changes, const DiffStyle& style);
/// Of text, json and md; null of others.
DiffPrinter diff_printer(std::string_view format);

}  // namespace zs::cli
