// Reading and writing bytes that a file, a processor or another process laid out: little-endian, packed, untrusted.
//
// A ByteReader compares what remains with what is needed and never forms a pointer past the end. It keeps its first
// error: after that every read gives zeros and moves nothing, so a parser reads a whole record and asks once.
//   ByteReader in(bytes, "app.data");
//   const auto basic = in.read<PebsBasic>();
//   const auto gprs = in.read_if<PebsGprs>(wanted.has(Group::Gprs));
//   if (!in.ok()) return in.error("PEBS record");
// gives  app.data: at 0x2f30: PEBS record ends 12 bytes early: 96 bytes needed, 84 remain
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/result.h"

namespace zs {

static_assert(std::endian::native == std::endian::little, "records are little-endian and copied as they lie");

using Bytes = std::span<const std::byte>;

/// 0x and lower-case digits, no leading zeros: as messages write addresses.
std::string hex(std::uint64_t n);

/// A type whose bytes in memory are its bytes on the wire: standard layout, trivially copied, no padding.
template <typename T>
concept WireLayout = std::is_standard_layout_v<T> && std::is_trivially_copyable_v<T> &&
    (std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>);

/// The T that lies `at` bytes behind the beginning; the caller knows that it does.
template <WireLayout T>
T value_at(Bytes bytes, std::size_t at) {
  CHECK(at <= bytes.size() && sizeof(T) <= bytes.size() - at);
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

class ByteReader {
 public:
  /// source  what the bytes are of, for messages ("" leaves it out)
  /// origin  the place of bytes[0] in that source: what offset() and messages count from
  explicit ByteReader(Bytes bytes, std::string source = {}, std::uint64_t origin = 0)
      : bytes_(bytes), source_(std::move(source)), origin_(origin) {}

  bool ok() const { return !failure_; }
  /// Place of the next byte in the source.
  std::uint64_t offset() const { return origin_ + at_; }
  /// Bytes left; none after an error.
  std::size_t remaining() const { return failure_ ? 0 : bytes_.size() - at_; }

  /// The next T, or zeros after an error.
  template <WireLayout T>
  T read() {
    T value{};
    if (const Bytes here = take(sizeof(T)); !here.empty()) std::memcpy(&value, here.data(), sizeof(T));
    return value;
  }

  /// The next T if `present`; otherwise nothing is read.
  template <WireLayout T>
  std::optional<T> read_if(bool present) {
    if (!present) return std::nullopt;
    return read<T>();
  }

  /// The next `count` Ts. Checked before anything is allocated, so an absurd count costs nothing.
  template <WireLayout T>
  std::vector<T> read_array(std::uint64_t count) {
    std::vector<T> values;
    read_array(count, values);
    return values;
  }
  /// Likewise, into a vector whose memory may serve again. It is empty after an error.
  template <WireLayout T>
  void read_array(std::uint64_t count, std::vector<T>& values) {
    values.clear();
    if (failure_) return;
    if (count > remaining() / sizeof(T)) {
      ends_early(count > UINT64_MAX / sizeof(T) ? UINT64_MAX : count * sizeof(T));
      return;
    }
    values.resize(static_cast<std::size_t>(count));
    const Bytes here = take(values.size() * sizeof(T));
    if (!here.empty()) std::memcpy(values.data(), here.data(), here.size());
  }

  /// The next `count` bytes where they lie; empty after an error.
  Bytes take(std::uint64_t count) {
    if (count > remaining()) [[unlikely]] {
      if (!failure_) ends_early(count);
      return {};
    }
    const Bytes here = bytes_.subspan(at_, static_cast<std::size_t>(count));
    at_ += here.size();
    return here;
  }
  void skip(std::uint64_t count) { take(count); }
  /// Up to the next NUL, which is passed over. An error if there is none.
  std::string_view take_c_string();
  /// A field of `width` bytes that holds a string and NULs after it. The string may fill the field.
  std::string_view take_padded_string(std::uint64_t width);
  /// Goes to a place in the source. An error if the bytes do not hold it; their end is a place.
  void seek(std::uint64_t offset);
  /// A reader of the next `count` bytes only, which this one passes over. After an error it is empty and has it too.
  ByteReader sub(std::uint64_t count);

  /// Makes an error of the reader's own place: what is there is long enough but wrong. Keeps an earlier one.
  void fail(std::string what);

  /// The first error, told of `thing`. CHECKs that there is one.
  Error error(std::string_view thing) const;

 private:
  struct Failure {
    std::uint64_t offset = 0;
    std::uint64_t needed = 0;
    std::uint64_t remain = 0;
    std::string what;  // "": the bytes end early
  };
  void ends_early(std::uint64_t needed);

  Bytes bytes_;
  std::string source_;
  std::uint64_t origin_ = 0;
  std::size_t at_ = 0;  // <= bytes_.size()
  std::optional<Failure> failure_;
};

/// Appends to a vector that it owns; cannot fail. Sizes and counts known only later are patched in.
class ByteWriter {
 public:
  std::size_t size() const { return bytes_.size(); }
  Bytes bytes() const { return bytes_; }
  std::vector<std::byte> release() { return std::move(bytes_); }
  void clear() { bytes_.clear(); }

  template <WireLayout T>
  void write(const T& value) {
    write_bytes(std::as_bytes(std::span(&value, 1)));
  }
  void write_bytes(Bytes bytes) {
    if (bytes.empty()) return;
    const std::size_t end = bytes_.size();
    bytes_.resize(end + bytes.size());
    std::memcpy(bytes_.data() + end, bytes.data(), bytes.size());
  }
  void write_zeros(std::size_t count) { bytes_.resize(bytes_.size() + count); }
  /// The string, a NUL, and NULs up to a multiple of `alignment` of what this call wrote.
  void write_c_string(std::string_view text, std::size_t alignment = 1);
  /// Zeros up to a multiple of `alignment` from the start.
  void align(std::size_t alignment);

  /// Overwrites what was written at `offset`. CHECKs that it was.
  template <WireLayout T>
  void patch(std::size_t offset, const T& value) {
    CHECK(offset <= size() && sizeof(T) <= size() - offset, offset, size());
    std::memcpy(bytes_.data() + offset, &value, sizeof(T));
  }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace zs
