// For tests: a program in pieces, each at the beginning of a page of its own, so that one can be killed without the
// others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "engine/translate/superblock.h"

namespace zs::engine {

class Pages final : public CodeSource {
 public:
  using Bytes = std::vector<std::uint8_t>;
  static constexpr std::uint64_t kFirst = 0x4000'0000;
  static constexpr std::uint64_t pc(std::uint64_t page) { return kFirst + 4096 * page; }

  void put(std::uint64_t page, const Bytes& code) { pages_[page] = code; }
  std::span<const std::uint8_t> fetch(std::uint64_t pc) override {
    const auto page = pages_.find((pc - kFirst) / 4096);
    const std::uint64_t offset = pc % 4096;
    if (page == pages_.end() || offset >= page->second.size()) return {};
    return std::span(page->second).subspan(offset, std::min<std::size_t>(15, page->second.size() - offset));
  }
  bool may_change_unseen(std::uint64_t /*pc*/) override { return false; }
  Probe probe(const Insn& insn) override { return probes ? probes(insn) : Probe{}; }
  void translated(std::uint64_t /*page*/) override {}

  std::function<Probe(const Insn&)> probes;

 private:
  std::map<std::uint64_t, Bytes> pages_;
};

}  // namespace zs::engine
