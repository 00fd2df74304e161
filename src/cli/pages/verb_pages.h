// Every verb and what it takes, for those who write it down: man pages and shell completions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
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

// What is made of the verbs' options: manual pages, in man(7)'s macros, which bear no date, so that a build makes the
// same bytes every time; and completions for shells, a file each. What depends on the machine or the CPU model (events,
// metrics, models) a completion asks of the zeroskid that is typed.

/// zeroskid(1)
std::string man_page(const std::vector<VerbPage>& pages);

/// zeroskid-VERB(1)
std::string man_page(const VerbPage& page);

/// "zeroskid-mem-record": what the page of a verb is called.
std::string man_name(const OptionTable& table);

/// completion.bash and its like, which are scripts but for such words.
enum class Shell { Bash, Fish, Zsh };
/// The shell's script, with each word replaced where it stands, and @VERSION@ by ours.
std::string filled(Shell shell, const std::vector<std::pair<std::string_view, std::string>>& words);

std::string bash_completion(const std::vector<VerbPage>& pages);
std::string zsh_completion(const std::vector<VerbPage>& pages);
std::string fish_completion(const std::vector<VerbPage>& pages);

}  // namespace zs::cli
