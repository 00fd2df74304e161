// perf 6.1's options, verb by verb, and what becomes of each here: people type them by habit, and tools that start perf
// have them in fixed command lines. CommandLine takes every option of perf_options.txt, `zeroskid VERB --help --perf`
// lists it, and docs/perf-options.md is made of that.
#pragma once

#include <string_view>
#include <vector>

namespace zs::cli {

enum class Standing {
  Same,       // an option of ours does what perf's does
  NoMatter,   // taken, and without effect: it cannot matter here
  Otherwise,  // taken, and what is otherwise is said once on stderr; an option of ours says it in its own help
  Refused,    // with a reason, or with what there is instead
};

struct PerfOption {
  std::string_view names;  // "-c --count"
  std::string_view value;  // what stands for its value; "" for a flag, "[=N]" where it may be left out
  Standing standing;
  std::string_view text;  // why, or what there is instead; "" for Standing::Same where nothing is to be said
};

/// Each option of perf's verb of that name; where a verb of perf's passes options on to another, those of its names too
/// that it has not itself. Empty if perf has no such verb.
std::vector<PerfOption> perf_options(std::string_view verb);

/// A verb of perf's that is none here, and what there is instead.
struct PerfVerb {
  std::string_view name, instead;
};
std::vector<PerfVerb> perf_verbs();

}  // namespace zs::cli
