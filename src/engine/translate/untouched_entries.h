// Tables of the code cache (direct_table.h, hashed_tables.h) as they are before any target is known: every entry leads
// to C++. They lie in this program's file, so a process maps them instead of writing them: a page costs memory and a
// fault only when a first target is put into it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zs::engine {

/// Bytes of the longest stretch that can be mapped at once.
inline constexpr std::size_t kUntouchedBytes = std::size_t{1} << 20;

class UntouchedEntries {
 public:
  /// Opens this program's file.
  /// first_private_fd  its descriptor is at least this
  explicit UntouchedEntries(int first_private_fd);
  UntouchedEntries(const UntouchedEntries&) = delete;
  UntouchedEntries& operator=(const UntouchedEntries&) = delete;
  ~UntouchedEntries() { close(); }
  /// Maps nothing more.
  void close();

  /// Maps `bytes` of entries that all hold `miss` over [at, at + bytes), private and writable.
  /// returns whether the file has so many of them, and that was possible
  bool map(std::uint64_t at, std::size_t bytes, std::uint64_t miss) const;

 private:
  int file_ = -1;
};

}  // namespace zs::engine
