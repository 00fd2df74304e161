// A verb's command line as data: what --help prints, the man pages say and the shells complete. A verb declares its
// options once, to CommandLine, and this is read off there.
#pragma once

#include <string>
#include <vector>

#include "cli/command/exit_status.h"

namespace zs::cli {

struct OptionRow {
  std::vector<std::string> names;  // "-e", "--event"
  std::string value;               // what stands for its value: FILE, auto|always|never, KEY[,KEY...]; "" for a flag
  bool value_may_be_left_out = false;  // it is then given with '=' alone
  bool repeats = false;
  std::string help, group;
};

/// What a word of OptionRow::value stands for.
struct KnownWords {
  std::string placeholder;         // KEY
  std::string title;               // "Keys": begins a line of --help; "" for none
  std::vector<std::string> words;  // what it may be
};

struct OptionTable {
  std::string verb;     // "mem record"
  std::string about;    // sentences, in lines
  std::string usage;    // what follows the verb
  std::string operand;  // PROGRAM, FILE, EVENTS; "" for none that a shell could know
  std::vector<OptionRow> options;
  std::vector<KnownWords> known;
  std::vector<std::string> notes;  // paragraphs below the options
  std::vector<ExitRow> statuses;
};

/// What a verb is called with.
struct Arguments {
  std::vector<std::string> words;  // the verb, then what follows it
  OptionTable* table = nullptr;    // not null: run nothing, only put here which options there are
};

}  // namespace zs::cli
