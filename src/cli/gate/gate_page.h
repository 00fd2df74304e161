// What `zeroskid check` prints: a page for people, JSON, JUnit's XML for CI servers, a Markdown table for a pull
// request. Names are the program's and the caller's: each layout escapes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/gate/baseline.h"
#include "cli/gate/judgement.h"

namespace zs::cli {

struct GatePage {
  const GateRun& now;  // without rows where nothing ran
  const std::vector<Budget>& budgets;
  const Judgement& judgement;
  std::string baseline;     // path
  bool is_updated = false;  // the run is the baseline from now on
};

using GatePrinter = std::string (*)(const GatePage& page);
/// Of text, json, junit and markdown; null of others.
GatePrinter gate_printer(std::string_view format);

}  // namespace zs::cli
