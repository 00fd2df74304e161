// A stretch of the direct table (code_cache.h) as it is before any target in it is known: every entry leads to C++. It lies in this program's file,
// so a process maps it instead of writing it: a page costs memory and a fault only when a first target is put into it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zs::engine {

/// Bytes of the stretch.
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

  /// Maps the first `bytes` of it over [at, at + bytes), private and writable.
  /// returns whether that was possible and `miss` is what they hold
  bool map(std::uint64_t at, std::size_t bytes, std::uint64_t miss) const;

 private:
  int file_ = -1;
  long offset_ = 0;
};

}  // namespace zs::engine
