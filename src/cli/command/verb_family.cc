#include "cli/command/verb_family.h"

#include <unistd.h>

#include <string>

#include "cli/command/exit_status.h"
#include "cli/command/option_table.h"
#include "cli/command/say.h"

namespace zs::cli {

int run_part(const VerbFamily& family, const Arguments& arguments) {
  const std::string name = family.name;
  if (arguments.table != nullptr) {
    *arguments.table = {.verb = name, .about = family.about};
    return 0;
  }
  const std::string what = arguments.words.size() > 1 ? arguments.words[1] : "";
  for (const Verb* const part : family.parts) {
    if (what == part->name) return part->run({{arguments.words.begin() + 1, arguments.words.end()}});
  }
  if (what == "-h" || what == "--help") {
    write_all(STDOUT_FILENO, std::string(family.about) + "\n" + family.page);
    return 0;
  }
  say(Error{what.empty() ? name + ": record or report?" : name + ": there is no '" + name + " " + what + "'",
            "zeroskid " + name + " record -- PROGRAM, then zeroskid " + name + " report"});
  return kUsage;
}

}  // namespace zs::cli
