// The code of paths at depth `fast`, where a block takes its bound: play_simple() of ThreadPlayer, written out.
#pragma once

#include "uarch/machine/path_writer.h"

namespace zs::uarch {

class BoundPathWriter final : public PathWriter {
 public:
  /// filter  of the core
  BoundPathWriter(const PathPlaces& places, const MemorySystem::Filter& filter, std::uint8_t* at,
                  std::span<const SimpleBlock> blocks, std::span<const arch::AddressTerm> terms, bool spacious)
      : PathWriter(places, at, blocks, terms, spacious),
        filter_(filter),
        tournament_(places.branches.tournament()->inline_part()) {}

 private:
  void write_block(const SimpleBlock& block, const SimpleBlock* before) override;
  void write_look(Look look, std::size_t number);
  bool write_conditional(const SimpleBlock& block) override;

  const MemorySystem::Filter& filter_;
  TournamentPredictor::Inline tournament_;
};

}  // namespace zs::uarch
