// The code of paths at depth `fast`, where a block takes its bound: replay_simple() of ThreadReplay, written out.
#pragma once

#include "uarch/replay/replay_code_writer.h"

namespace zs::uarch {

class ThroughputCodeWriter final : public ReplayCodeWriter {
 public:
  /// filter  of the core; plan  of the blocks
  ThroughputCodeWriter(const PathPlaces& places, const MemorySystem::Filter& filter, std::uint8_t* at,
                       std::span<const SimpleBlock> blocks, const Plan& plan, std::span<const arch::AddressTerm> terms,
                       bool inlined)
      : ReplayCodeWriter(places, at, blocks, terms, inlined),
        filter_(filter),
        plan_(plan),
        tournament_(places.branches.tournament()->inline_part()) {}

 private:
  void write_block(const SimpleBlock& block, const SimpleBlock* before) override;
  std::size_t write_looks(const SimpleBlock& block, std::size_t descriptor, std::size_t end);
  void write_look(const SimpleBlock& block, std::size_t number);
  void write_prefetch(std::size_t number);
  const Step& access(std::size_t number) const;
  void ask_of_line(Aside& aside, const SimpleBlock& block, std::size_t line);
  std::uint32_t offset_of(const Step& step) const;
  bool write_conditional(const SimpleBlock& block) override;

  const MemorySystem::Filter& filter_;
  const Plan& plan_;
  TournamentPredictor::Inline tournament_;
};

}  // namespace zs::uarch
