// What the kernel does not know of the program's memory, and what other processes under zeroskid are to see of it in
// /proc/PID/maps: which parts are executable (really none is), with which protection the program has them (really they
// may be write-protected), and what there is the engine's. It lies in static memory, where another process of the same
// zeroskid-run finds it (loader/shown_maps.h). Not a container of the library: it is read from outside while it
// changes, and must be allocated nowhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/memory/layout.h"

namespace zs::engine {

struct ShownRange {
  std::uint64_t start = 0, end = 0;
  std::uint32_t prot = 0, unused = 0;
};

class ShownCode {
 public:
  static constexpr std::size_t kMostCode = 2000, kMostEngine = 16;

  /// The program has `range` with this protection now, 0 if it has not: what is not executable is forgotten. More code
  /// than kMostCode pieces is shown as not executable.
  void set(AddressRange range, std::uint32_t prot);
  /// Never the program's.
  void add_engine(AddressRange range);
  void drop_engine(AddressRange range);

  /// Ascending.
  std::span<const ShownRange> code() const { return {code_, code_count_}; }
  std::span<const ShownRange> engine() const { return {engine_, engine_count_}; }
  /// Odd while it changes.
  std::uint32_t version() const { return version_; }

 private:
  void replace(std::size_t first, std::size_t last, const ShownRange* with, std::size_t count);

  std::uint32_t version_ = 0;
  std::uint32_t code_count_ = 0, engine_count_ = 0;
  [[maybe_unused]] std::uint32_t unused_ = 0;
  ShownRange engine_[kMostEngine];
  ShownRange code_[kMostCode];
};

/// This process's.
ShownCode& shown_code();

}  // namespace zs::engine
