// What a core model is told of translated code: each path once, and how the addresses of its accesses come from the
// registers that it stores. What is kept of it here is what the list of runs needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "arch/core_feed.h"
#include "engine/run/moved_code.h"
#include "engine/translate/superblock.h"

namespace zs::engine {

class CorePaths {
 public:
  /// moved  where the core sees its code
  explicit CorePaths(MovedCode& moved) : moved_(moved) {}

  /// One path, numbered as the exit that it leads to. Eight bytes: each run of it looks here.
  struct Path {
    enum Kind : std::uint8_t {
      Unknown,
      Direct,
      Indirect,  // ends in an indirect branch, and what runs behind it says where that went
      Followed,  // likewise, and its exit says it
      Empty,     // there is no instruction; it has a place all the same
    };
    static constexpr unsigned kKindBits = 3;
    static constexpr std::uint64_t kPcBits = ~std::uint64_t{0} >> kKindBits;

    std::uint64_t pc : 64 - kKindBits =
        0;  // of its first instruction; a linear address, whose upper bits are all alike
    Kind kind : kKindBits = Unknown;

    std::uint64_t first() const {
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(std::uint64_t{pc} << kKindBits) >> kKindBits);
    }
  };
  static_assert(sizeof(Path) == 8);

  /// Of a number that is not described: Path::Unknown.
  Path operator[](std::uint32_t number) const { return number < paths_.size() ? paths_[number] : Path{}; }
  /// Numbers that were described.
  std::size_t size() const { return described_; }
  /// Of memory, roughly.
  std::size_t bytes() const { return paths_.size() * sizeof(Path); }
  /// Describes it to the engine and to `core`.
  /// next  where it goes on; 0: an indirect branch decides
  Path describe(std::uint32_t number, std::uint64_t first, std::span<const PathInsn> insns, std::uint64_t next,
                arch::CoreFeed& core);
  /// All numbers name something new from now on.
  void forget_all();

 private:
  MovedCode& moved_;
  std::vector<Path> paths_;  // by number
  std::size_t described_ = 0;
  // scratch of describe()
  std::vector<arch::PathInstruction> instructions_;
  std::vector<arch::PathAccess> accesses_;
};

}  // namespace zs::engine
