// What a verb is called with.
#pragma once

#include <string>
#include <vector>

namespace zs::cli {

struct OptionTable;

struct Arguments {
  std::vector<std::string> words;  // the verb, then what follows it
  OptionTable* table = nullptr;    // not null: run nothing, only put here which options there are
};

}  // namespace zs::cli
