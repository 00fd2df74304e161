// A verb that is nothing but verbs of its own: `mem record` and `mem report`.
#pragma once

#include <span>

#include "cli/command/verb.h"

namespace zs::cli {

struct VerbFamily {
  const char* name;   // "mem"
  const char* about;  // a sentence
  const char* page;   // of help, behind it
  std::span<const Verb* const> parts;
};

/// words[1] names one of the parts, which hears of the words from there on. returns its exit status
int run_part(const VerbFamily& family, const Arguments& arguments);

}  // namespace zs::cli
