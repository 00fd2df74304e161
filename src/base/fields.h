// Structures as bytes, field by field: T::fields(value, visit) lists them once, for both directions. A flag takes four
// bytes; lists and texts follow their length; what has no fields is copied as it lies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "base/bytes.h"

namespace zs {

/// How many elements of a list are written; the others are cut.
struct Uncut {
  template <typename Element>
  static constexpr std::size_t most = UINT32_MAX;
};

template <typename Limits = Uncut>
class FieldWriter {
 public:
  explicit FieldWriter(ByteWriter& out) : out_(out) {}
  template <typename... Fields>
  void operator()(const Fields&... fields) {
    (write(fields), ...);
  }

 private:
  template <typename T>
  void write(const T& value) {
    if constexpr (std::is_same_v<T, bool>)
      out_.write(static_cast<std::uint32_t>(value));
    else if constexpr (requires { typename T::value_type; })
      write_list(value);
    else if constexpr (WireLayout<T>)
      out_.write(value);
    else
      T::fields(value, *this);
  }
  template <typename List>
  void write_list(const List& list) {
    using Element = typename List::value_type;
    const std::size_t count = std::min(list.size(), Limits::template most<Element>);
    out_.write(static_cast<std::uint32_t>(count));
    if constexpr (WireLayout<Element>)
      out_.write_bytes(std::as_bytes(std::span(list).first(count)));
    else
      for (std::size_t i = 0; i < count; ++i) write(list[i]);
  }

  ByteWriter& out_;
};

/// Trusts no length.
class FieldReader {
 public:
  explicit FieldReader(ByteReader& in) : in_(in) {}
  template <typename... Fields>
  void operator()(Fields&... fields) {
    (read(fields), ...);
  }

 private:
  template <typename T>
  void read(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      const auto flag = in_.read<std::uint32_t>();
      if (flag > 1) in_.fail("neither 0 nor 1");
      value = flag == 1;
    } else if constexpr (requires { typename T::value_type; }) {
      read_list(value);
    } else if constexpr (WireLayout<T>) {
      value = in_.read<T>();
    } else {
      T::fields(value, *this);
    }
  }
  template <typename List>
  void read_list(List& list) {
    const auto count = in_.read<std::uint32_t>();
    if constexpr (std::is_same_v<List, std::string>) {
      const Bytes text = in_.take(count);
      list.assign(reinterpret_cast<const char*>(text.data()), text.size());
    } else if constexpr (WireLayout<typename List::value_type>) {
      in_.read_array(count, list);
    } else {
      list.clear();
      for (std::uint32_t i = 0; i < count && in_.ok(); ++i) read(list.emplace_back());
    }
  }

  ByteReader& in_;
};

}  // namespace zs
