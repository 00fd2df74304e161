// Reads little-endian bytes that somebody else wrote: a message, a file, a record.
// A read compares what remains with what is needed, never a pointer past the end. The reader keeps its first failure and
// from then on returns zeros, so it is asked once, at the end: `if (!in.ok())`.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace zs {

static_assert(std::endian::native == std::endian::little, "records are copied as they lie in memory");

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  bool at_end() const { return position_ == bytes_.size(); }
  std::size_t position() const { return position_; }
  std::size_t remaining() const { return bytes_.size() - position_; }

  /// A number or a plain struct as it lies in memory; T{} when too few bytes remain.
  template <typename T>
  T read() {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>);
    T value{};
    const auto from = bytes(sizeof(T));
    if (ok_) std::memcpy(&value, from.data(), sizeof(T));
    return value;
  }

  /// The next `count` bytes, in place; empty when fewer remain.
  std::span<const std::byte> bytes(std::size_t count) {
    if (!ok_ || count > remaining()) {
      fail();
      return {};
    }
    const auto taken = bytes_.subspan(position_, count);
    position_ += count;
    return taken;
  }

  /// A 32-bit length, then that many characters.
  std::string_view string() {
    const auto text = bytes(read<std::uint32_t>());
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }

  void fail() { ok_ = false; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace zs
