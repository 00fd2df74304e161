// A run of which only samples are modelled has two translations of the program, and goes from one to the other where a
// phase ends (engine::Phase): one that counts and nothing else, for most of the way, and one with the trace that the
// core model needs, for the units and what warms up the model in front of each. Who observes the run says which phase
// it is; here that is followed.
#pragma once

#include "engine/account/tally.h"
#include "engine/run.h"

namespace zs::engine {

class Phases {
 public:
  Phases(Run& run, Tally& tally, CodeHistory& history) : run_(run), tally_(tally), history_(history) {}

  /// The first thread is known: what it begins with is translated for that.
  /// stubs: makes those of a translation, for the code cache as it is then
  void begin(Stubs (*stubs)(const CodeCache&));
  /// Between two stretches of translated code. returns whether another translation runs from here on
  bool follow();
  /// Gives a thread its core, or takes it away, as the phase wants it.
  void place(Thread& thread) const;

 private:
  void translate_anew();
  void resume_cores();
  void watch_more();
  void watch_less();

  Run& run_;
  Tally& tally_;
  CodeHistory& history_;
  Stubs (*stubs_)(const CodeCache&) = nullptr;
  std::uint64_t stretches_ = 0;  // behind units, in which everything is watched
};

}  // namespace zs::engine
