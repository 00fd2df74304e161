// What instructions that run alone are: most of them do so again and again, and decoding takes as long as a hundred others do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/decode.h"

namespace zs::engine {

class SteppedInsns {
 public:
  /// As decode_into() says. What is known of the place is held against the bytes that are there now.
  bool decode(Insn& insn, std::uint64_t pc, std::span<const std::uint8_t> code, bool virtual_time) {
    known_.resize(std::size_t{1} << kBits);
    Insn& known = known_[(pc ^ pc >> kBits) % known_.size()];
    const bool same = known.pc == pc && known.length != 0 && known.length <= code.size() &&
                      std::equal(known.bytes.begin(), known.bytes.begin() + known.length, code.begin());
    if (!same && !decode_into(known, pc, code, virtual_time)) return false;
    insn = known;
    return true;
  }

 private:
  static constexpr unsigned kBits = 8;  // chosen
  std::vector<Insn> known_;             // by pc; empty until the first
};

}  // namespace zs::engine
