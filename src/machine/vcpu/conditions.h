// Sixteen instantiations of a handler, one for each condition code, chosen by the opcode's low four bits.
#pragma once

#include <array>
#include <utility>

#include "machine/vcpu/insn.h"

namespace zs::machine::vcpu {

template <template <unsigned> typename Family>
Handler by_condition(unsigned opcode) {
  static constexpr auto kAll = []<std::size_t... Code>(std::index_sequence<Code...>) {
    return std::array<Handler, 16>{Family<Code>::run...};
  }
  (std::make_index_sequence<16>{});
  return kAll[opcode & 15];
}

}  // namespace zs::machine::vcpu
