// The bytes of unwind tables as they lie in the program's memory, fetched page by page as they are asked for and kept:
// a table of a large program has megabytes, of which a recording reads some pages.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "session/memory/program_memory.h"

namespace zs::session {

class TableBytes {
 public:
  explicit TableBytes(ProgramMemory& memory) : memory_(memory) {}

  /// returns how many bytes from `address` on there are, up to those of `into`
  std::size_t read(std::uint64_t address, std::span<std::byte> into) {
    std::size_t done = 0;
    while (done < into.size()) {
      const std::uint64_t at = address + done;
      const Page* const page = page_of(at / kPageBytes);
      if (page == nullptr) break;
      const std::size_t within = at % kPageBytes;
      const std::size_t piece = std::min<std::size_t>(kPageBytes - within, into.size() - done);
      std::memcpy(into.data() + done, page->data() + within, piece);
      done += piece;
    }
    return done;
  }

  template <typename T>
    requires std::is_trivially_copyable_v<T> std::optional<T> read(std::uint64_t address) {
      T value;
      if (read(address, std::as_writable_bytes(std::span(&value, 1))) != sizeof value) return std::nullopt;
      return value;
    }

  /// Other code lies there now.
  void forget() { pages_.clear(); }

 private:
  static constexpr std::size_t kPageBytes = 4096;
  using Page = std::array<std::byte, kPageBytes>;

  const Page* page_of(std::uint64_t number) {
    const auto [found, added] = pages_.try_emplace(number);
    if (added) {
      auto page = std::make_unique<Page>();
      if (memory_.read(number * kPageBytes, *page) == kPageBytes) found->second = std::move(page);
    }
    return found->second.get();
  }

  ProgramMemory& memory_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;  // null: not readable
};

}  // namespace zs::session
