// Prints blocks of the C library with their cycles as a loop on each modelled core, for compare.
#include <Zydis/Mnemonic.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

#include "uarch/core_model.h"
#include "uarch/reference/code_samples.h"
#include "uarch/timing/core_clock.h"

namespace {

using namespace zs::uarch;

/// llvm-mca knows no stack engine: to it, pushes, pops and calls are a chain through rsp.
bool uses_stack_engine(const Block& block) {
  return std::ranges::any_of(block, [](const PlacedInstruction& i) {
    return i.shape.mnemonic == ZYDIS_MNEMONIC_PUSH || i.shape.mnemonic == ZYDIS_MNEMONIC_POP ||
           i.shape.branch == zs::arch::BranchKind::RelativeCall ||
           i.shape.branch == zs::arch::BranchKind::IndirectCall || i.shape.branch == zs::arch::BranchKind::Return;
  });
}

double loop_cycles(const CoreModel& core, const Block& block) {
  const MemoryLimits memory = memory_limits(core.memory);
  const BlockTiming timing(core.timing, memory, block, 0);
  CoreClock clock(core.timing);
  constexpr int iterations = 100;  // from a cold start, as llvm-mca counts
  for (int i = 0; i < iterations; ++i) clock.run(timing);
  return static_cast<double>(clock.drained_cycles()) / iterations;
}

}  // namespace

int main(int argc, char**) {
  constexpr std::size_t step = 30, most = 300;
  std::printf("blocks");
  for (const CoreModel& core : core_models()) {
    std::printf(" %s", std::string(core.name.substr(0, core.name.find('@'))).c_str());
  }
  std::printf("\n");
  const auto blocks = libc_blocks(60'000);
  const auto code = libc_code();
  std::size_t printed = 0;
  for (std::size_t i = 0; i < blocks.size() && printed < most; i += step) {
    const Block& block = blocks[i];
    if (block.size() < 4 || uses_stack_engine(block)) continue;
    const std::size_t first = block.front().pc - 0x40'0000;
    const std::size_t last = block.back().pc - 0x40'0000 + block.back().shape.length;
    for (std::size_t at = first; at < last; ++at) std::printf("%02x", code[at]);
    for (const CoreModel& core : core_models()) std::printf(" %.3f", loop_cycles(core, block));
    std::printf("\n");
    ++printed;
  }
  return argc > 1 ? 1 : 0;
}
