// Where a program's functions lie as its core model sees them, in a run with a placement (RunSettings::placement): as
// another link might have put them. The program itself sees them where they are.
#pragma once

#include <cstdint>
#include <map>

#include "engine/memory/mappings.h"

namespace zs::engine {

class MovedCode {
 public:
  /// seed  0: all is where it is
  MovedCode(const Mappings& mappings, std::uint64_t seed) : mappings_(mappings), seed_(seed), moves_(seed != 0) {}

  /// Of an address of code; itself where its file tells of no functions (.eh_frame_hdr). 0 is none.
  std::uint64_t operator()(std::uint64_t pc) { return moves_ && pc != 0 ? moved(pc) : pc; }
  /// Of one that was moved.
  std::uint64_t original(std::uint64_t moved) const;

 private:
  std::uint64_t moved(std::uint64_t pc);
  void add_functions(const GuestMapping& code);

  const Mappings& mappings_;
  std::uint64_t seed_;
  bool moves_;
  std::map<std::uint64_t, std::uint64_t> shifts_;  // by the first address that is so far from its place
  std::map<std::uint64_t, std::uint64_t> known_;   // code that was looked at: start and end
};

}  // namespace zs::engine
