// The program's memory: what is mapped where, and what is in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/memory/guest_map.h"
#include "engine/run/thread_set.h"

namespace zs::engine {

struct GuestMemory {
  /// threads  must outlive this; whether the kernel has to copy follows from the one that runs
  GuestMemory(const Layout& layout, bool with_placement, const ThreadSet& threads)
      : map(layout, with_placement), threads_(threads) {}

  /// Writes as the kernel does for the program: a page that is write-protected only because it has translations is
  /// opened. returns the bytes before the first one that cannot be written
  std::size_t write(std::uint64_t address, const void* data, std::size_t size);
  /// returns the bytes before the first one that cannot be read
  std::size_t read(std::uint64_t address, void* data, std::size_t size) const;
  /// Copies between here and the program without the kernel. returns how much; the kernel may be able to copy the rest
  std::size_t copy(std::uint64_t guest, void* to, std::uint64_t from, std::size_t size) const;
  template <typename T>
  std::optional<T> value_at(std::uint64_t address) const {
    T value;
    return read(address, &value, sizeof value) == sizeof value ? std::optional(value) : std::nullopt;
  }

  GuestMap map;

 private:
  const ThreadSet& threads_;
};

}  // namespace zs::engine
