// Every verb and what it takes, for those who write it down: man pages and shell completions.
#pragma once

#include <string>
#include <vector>

#include "cli/command/option_table.h"
#include "cli/command/verb.h"

namespace zs::cli {

struct VerbPage {
  const Verb* verb;
  OptionTable table;
  std::vector<VerbPage> parts;  // verbs of its own
};

/// In the order of --help.
std::vector<VerbPage> verb_pages();

/// The same without nesting: a verb, then its own verbs.
std::vector<VerbPage> all_verb_pages();

/// What a shell can offer where a value or an operand stands.
struct Offer {
  enum class Kind { Nothing, Words, Files, Events, Metrics, Models };
  Kind kind = Kind::Nothing;
  std::vector<std::string> words;  // Kind::Words
  bool list = false;               // several, separated by commas
};

/// placeholder  as OptionRow::value has it
Offer offer_for(const OptionTable& table, const std::string& placeholder);

}  // namespace zs::cli
