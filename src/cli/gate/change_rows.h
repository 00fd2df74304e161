// Functions and lines that changed, as `diff` and `check` print them.
#pragma once

#include <string>
#include <vector>

#include "report/diff/changes.h"
#include "report/text/json.h"

namespace zs::cli {

/// "parse_line", "parse_row (was parse_line)", printable
std::string name_text(const report::Change& change);

/// Of a function or line: its keys in JSON, those of its lines below "lines". whole: the difference of all
report::Json change_json(const report::Change& change, double whole);

/// " What made it so: ..." and a line for each function with a part of the difference, the largest first.
std::string changed_functions_text(const std::vector<report::Change>& functions, double whole);

}  // namespace zs::cli
