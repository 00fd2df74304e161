// What a branch trace says step by step. A step is a stretch of code without a taken branch, from where the last branch
// went to the next one, and that branch. Steps repeat: each exists once, decoded once, with the number of its times.
//
// The instructions are those of the files that were mapped; of code that is in no file (a just-in-time compiler's) the
// trace has places alone, and a step of it is Known::Nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "isa/decode.h"
#include "profile/perf_data/address_space.h"
#include "profile/symbols/frames.h"
#include "profile/symbols/symbolizer.h"

namespace zs::report {

/// A function, as calls go: what a compiler split off (NAME.cold) is a part of it, and all code of a file that no
/// symbol covers is one.
struct TracedFunction {
  std::string name;
  const profile::Dso* dso = nullptr;
  const profile::Symbol* symbol = nullptr;  // nullptr: none, or only a split-off part has been seen
  bool is_plt = false;                      // a stub of the procedure linkage table
  std::uint32_t number = 0;
};

/// One end of a branch.
struct TracedPlace {
  std::uint64_t address = 0;  // linear
  profile::Location location;
  const TracedFunction* function = nullptr;
  bool begins_function = false;
};

enum class Known : std::uint8_t {
  Whole,        // the code leads from the step's beginning to its branch
  Interrupted,  // it does not: a signal, or the way back from one, came between
  Nothing,      // no file has the code
};

struct Step {
  TracedPlace begin, from, to;  // begin: where the branch before went; its address is 0 at the beginning of a thread
  isa::Flow flow = isa::Flow::Plain;  // of the instruction at `from`, Plain where nothing is known of it
  std::uint8_t length = 0;            // of it; 0: not known
  Known known = Known::Nothing;
  std::uint32_t instructions = 0;  // of the stretch, that of the branch included; Known::Whole
  std::uint64_t times = 0;
};

class TracedSteps {
 public:
  /// All must outlive this.
  TracedSteps(profile::Symbolizer& symbolizer, const profile::AddressSpaces& spaces)
      : symbolizer_(symbolizer), spaces_(spaces), recent_(kRecent) {}

  /// Counts the step. begin: 0 at the beginning of a thread
  Step& take(std::int32_t pid, std::uint64_t begin, std::uint64_t from, std::uint64_t to);

  /// Every step that was taken, in order of appearance.
  const std::deque<Step>& all() const { return steps_; }

 private:
  static constexpr std::size_t kRecent = std::size_t{1} << 16;

  /// A step is told from others by its addresses and by what was mapped then.
  struct Key {
    std::uint64_t generation = 0, begin = 0, from = 0, to = 0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t hash = key.generation * 0x9E3779B97F4A7C15 ^ key.begin;
      for (const std::uint64_t word : {key.from, key.to}) hash = (hash ^ hash >> 29) * 0xBF58476D1CE4E5B9 + word;
      return hash ^ hash >> 32;
    }
  };
  struct Recent {
    Key key;
    Step* step = nullptr;
  };

  Step& make(const Key& key, std::int32_t pid);
  TracedPlace place(std::int32_t pid, std::uint64_t address);
  const TracedFunction* function_of(const profile::Location& location);
  void decode(Step& step) const;

  profile::Symbolizer& symbolizer_;
  const profile::AddressSpaces& spaces_;
  std::unordered_map<Key, Step*, Hash> known_;
  std::deque<Step> steps_;
  std::vector<Recent> recent_;  // by hash: most steps were taken a moment ago
  std::deque<TracedFunction> functions_;
  std::unordered_map<const void*, const TracedFunction*> function_of_symbol_;  // of a symbol, or of a file
  std::unordered_map<std::string, TracedFunction*> function_of_name_;  // "FILE NAME" as linked, for what is split off
};

}  // namespace zs::report
