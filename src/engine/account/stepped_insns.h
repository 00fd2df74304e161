// What instructions that run alone are: most of them do so again and again, and decoding takes as long as a hundred
// others do.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "engine/isa_names.h"
#include "isa/decode.h"

namespace zs::engine {

class SteppedInsns {
 public:
  /// The instruction at `pc`; null if decode_into() says that there is none. What is known of the place is held against
  /// the bytes that are there now. Holds until the next call.
  const Insn* find(std::uint64_t pc, std::span<const std::uint8_t> code, isa::Processor processor) {
    if (known_.empty()) known_.resize(std::size_t{1} << kBits);
    Insn& known = known_[(pc ^ pc >> kBits) % (std::size_t{1} << kBits)];
    const bool same = known.pc == pc && known.length != 0 && known.length <= code.size() &&
                      std::memcmp(known.bytes.data(), code.data(), known.length) == 0;
    return same || decode_into(known, pc, code, processor) ? &known : nullptr;
  }

 private:
  static constexpr unsigned kBits = 8;  // chosen
  std::vector<Insn> known_;             // by pc; empty until the first
};

}  // namespace zs::engine
