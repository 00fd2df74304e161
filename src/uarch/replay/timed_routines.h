// What the code of timed paths calls beside ReplayRoutines (replay_code_writer.h): loads and stores with the store
// buffer, the branch unit, and what of CoreClock is the same for all blocks. Registers are lost and kept as there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "uarch/replay/assembler_names.h"
#include "uarch/replay/replay_routines.h"

namespace zs::uarch {

namespace replay_registers {
constexpr Gpr kClock = kRbp, kStores = kR14, kArgument = kR15;

inline Memory in_clock(std::size_t offset) { return {kClock, static_cast<std::int64_t>(offset)}; }
}  // namespace replay_registers

#define ZS_CLOCK(member) replay_registers::in_clock(offsetof(CoreClock::Inline, member))

class TimedRoutines {
 public:
  TimedRoutines() = default;
  /// Writes them.
  /// common  of the same code; own_tlb: stores have one
  TimedRoutines(Assembler& code, const ReplayRoutines& common, bool own_tlb, std::uint32_t reorder_buffer);

  const std::uint8_t* begin = nullptr;  // a block
  /// A load of at most 8, 16, 32 or 64 bytes, from kRax to kRdx. Not equal: it does not hit, or meets a store.
  std::array<const std::uint8_t*, 4> load{};
  /// A store, likewise; kArgument: as ReplayState::pass_store has it. Not equal: it does not hit; or it did, and waited
  /// for an entry.
  const std::uint8_t* store = nullptr;
  /// A conditional branch. kRsi: its hash; kRdx: as ReplayState::predicts has it. Not equal: mispredicted.
  const std::uint8_t* conditional = nullptr;
  /// kRdx: when the block is over, kRax: when all of it is. Notes it if it is in flight then.
  const std::uint8_t* in_flight = nullptr;

  static const std::uint8_t* write_follow(Assembler& code);

 private:
  static const std::uint8_t* write_begin(Assembler& code, std::uint32_t reorder_buffer);
  static const std::uint8_t* write_load(Assembler& code, unsigned bytes, const std::uint8_t* descriptor,
                                        const std::uint8_t* asked);
  static const std::uint8_t* write_store(Assembler& code, const ReplayRoutines& common);
  static const std::uint8_t* write_conditional(Assembler& code);
  static const std::uint8_t* write_in_flight(Assembler& code);
};

}  // namespace zs::uarch
