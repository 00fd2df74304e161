// What people come with, and the command that answers it: where zeroskid --help, its man page and the README begin.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/costs/costs.h"

namespace zs::cli {

struct Question {
  std::string_view asked;
  std::string_view command;
  std::string_view cost;  // a row of Costs; "" where no program runs
};

std::span<const Question> questions();

/// What the command of a question costs: of `costs`, else as docs/benchmarks.md has it; "-" where no program runs.
std::string cost_text(const Question& question, const std::optional<Costs>& costs);

/// One line about where the costs are from.
std::string cost_origin(const std::optional<Costs>& costs);

/// The questions as lines of --help.
std::string question_lines(const std::optional<Costs>& costs);

}  // namespace zs::cli
