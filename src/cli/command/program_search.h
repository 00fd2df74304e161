// Finds the file that a program's name stands for, as execvp does, and says why where there is none. What is inside the
// file (not ELF, 32-bit, truncated) is the engine's to judge.
#pragma once

#include <string>

#include "base/result.h"

namespace zs::cli {

struct SearchFailure {
  Error error;
  int exit_status = 0;  // kNotFound or kNotExecutable
};

/// name         with a slash it is a path, without it is looked for in `search_path`
/// search_path  as in $PATH: an empty element is the current folder; null: the system's default
/// returns true and the path in `found`, or false and the reason in `failure`
bool find_program(const std::string& name, const char* search_path, std::string& found, SearchFailure& failure);

/// The same by $PATH, for a verb. returns 0, or its exit status; the reason has been said then
int find_in_path(const std::string& name, std::string& found);

}  // namespace zs::cli
