// One function, instruction by instruction, with the share of its samples that each got, under the source lines the
// instructions come from, where there is line information and the source can be read.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/result.h"
#include "profile/aggregate/heat.h"
#include "profile/symbols/symbolizer.h"
#include "report/text/disassembly.h"

namespace zs::report {

struct AnnotateStyle {
  Syntax syntax = Syntax::Att;
  bool source = true;  // source lines between the instructions
  bool lines = false;  // FILE:LINE behind the first instruction of each line, and a list of the hottest lines before
  bool color = false;
  std::optional<std::size_t> context;  // only instructions with samples, and so many around each; nothing: all
  bool times = false;                  // of an exact profile: how often each instruction ran, and branches were taken
  std::size_t width = 0;               // of the page, at least 40; 0: any
};

/// returns an error if the code is not in a file (memory of a just-in-time compiler)
Result<std::string> annotate_text(const profile::FunctionHeat& heat, profile::Symbolizer& symbolizer,
                                  const AnnotateStyle& style);

}  // namespace zs::report
