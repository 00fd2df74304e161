// What a core model is told of translated code: each path once, and from then on the addresses of its accesses, computed from the
// registers that the path stored.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "arch/core_feed.h"
#include "engine/translator.h"

namespace zs::engine {

class CorePaths {
 public:
  /// One path, numbered as the exit that it leads to.
  struct Path {
    std::uint64_t first = 0;  // pc, also where there is no instruction
    std::uint64_t next = 0;   // where it goes on; 0: an indirect branch decides
    std::uint32_t terms_at = 0;
    std::uint16_t terms = 0;
    std::uint16_t instructions = 0;
    std::uint8_t slots = 0;
    std::uint8_t passing = 0;  // not 0: its terms are in passing_, there
    bool plain : 1 = false;    // every access is one address, in no segment
    bool single : 1 = false;   // and a slot plus a constant
  };
  /// What addresses depend on besides the slots.
  struct Bases {
    std::uint64_t fs = 0, gs = 0;
  };

  /// The path, if `number` is described.
  const Path* find(std::uint32_t number) const {
    return number < at_.size() && at_[number] != kNone ? &paths_[at_[number]] : nullptr;
  }
  std::size_t size() const { return paths_.size(); }
  /// Of memory, roughly.
  std::size_t bytes() const {
    return at_.size() * sizeof at_[0] + paths_.size() * sizeof(Path) + terms_.size() * sizeof(AddressTerm);
  }
  const Path& operator[](std::uint32_t number) const { return paths_[at_[number]]; }  // one that is described
  /// Describes it to the engine and to `core`.
  const Path& describe(std::uint32_t number, std::uint64_t first, std::span<const Translator::PathInsn> insns,
                       std::uint64_t next, arch::CoreFeed& core);
  /// All numbers name something new from now on.
  void forget_all();

  /// Appends the words of one execution of `path` to `out`, which has room for most_words(path).
  /// listed  the words of AccessForm::Listed, in order
  /// returns the end
  std::uint64_t* expand(const Path& path, const std::uint64_t* slots, Bases bases,
                        std::span<const std::uint64_t> listed, std::uint64_t* out) const {
    const AddressTerm* const terms = path.passing != 0 ? passing_[path.passing].data() : terms_.data() + path.terms_at;
    if (!path.plain) return expand_any(path, terms, slots, bases, listed, out);
    // Mostly one register and a constant; a path with others says so, and the rest of a group of four is overwritten by what follows.
    if (path.single) {
      for (std::size_t i = 0; i < path.terms; i += 4) {
        for (std::size_t k = i; k < i + 4; ++k)
          out[k] = static_cast<std::uint64_t>(terms[k].displacement) + slots[terms[k].base];
      }
      return out + path.terms;
    }
    for (std::size_t i = 0; i < path.terms; ++i) {
      const AddressTerm& term = terms[i];
      std::uint64_t sum = static_cast<std::uint64_t>(term.displacement);
      if (term.base != AddressTerm::kNoSlot) sum += slots[term.base];
      if (term.index != AddressTerm::kNoSlot) sum += slots[term.index] * term.scale;
      out[i] = sum;
    }
    return out + path.terms;
  }
  static std::size_t most_words(const Path& path, std::size_t listed) { return 2u * path.terms + listed + 4; }

 private:
  std::uint64_t* expand_any(const Path& path, const AddressTerm* terms, const std::uint64_t* slots, Bases bases,
                            std::span<const std::uint64_t> listed, std::uint64_t* out) const;

  static constexpr std::uint32_t kNone = 0;
  // Those that are described lie close together, because of most exits nobody ever leaves. In front the numbers that name something
  // else each time have their places.
  std::vector<std::uint32_t> at_;  // in paths_, by number
  std::vector<Path> paths_ = std::vector<Path>(1 + Translator::kFirstKept);
  std::vector<AddressTerm> terms_;
  std::vector<AddressTerm> passing_[1 + Translator::kFirstKept];  // by place
  // scratch of describe()
  std::vector<arch::PathInstruction> instructions_;
  std::vector<arch::PathAccess> accesses_;
};

}  // namespace zs::engine
