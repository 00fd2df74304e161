// Registers as the manual draws them: named fields at fixed bits. A register type is written once; reading, writing,
// printing and the mask of its reserved bits follow from that. Bit 0 is least significant.
//   struct Example : Register64<Example> {
//     using Register64::Register64;
//     static constexpr Bits<7, 0> event{"EVENT"};
//     static constexpr Bits<22> enable{"EN"};
//     static constexpr auto fields = field_list(event, enable);
//   };
//   Example{}.with(Example::event, 0xC0).with(Example::enable, 1).raw() == 0x40'00C0
// A field of another register, two fields that share a bit, and a constant too wide for its field do not compile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace zs::arch {

/// Consecutive model-specific registers of one kind.
struct MsrBlock {
  std::uint32_t first = 0;
  std::uint32_t count = 1;

  constexpr bool contains(std::uint32_t msr) const { return msr - first < count; }
  constexpr std::uint32_t operator[](std::uint32_t index) const { return first + index; }
};

/// Bits High..Low of `Register`.
template <typename Register, unsigned High, unsigned Low = High>
struct Field {
  static_assert(Low <= High && High < 64, "a field is written High, Low");
  static constexpr std::uint64_t max = ~std::uint64_t{0} >> (63 - (High - Low));
  static constexpr std::uint64_t mask = max << Low;
  const char* name;
};

/// One bit in each of Count equal groups of Stride bits, the first at bit First: IA32_FIXED_CTR_CTRL has such.
template <typename Register, unsigned First, unsigned Stride, unsigned Count>
struct RepeatedBit {
  static_assert(First + Stride * (Count - 1) < 64);
  static constexpr std::uint64_t mask = [] {
    std::uint64_t bits = 0;
    for (unsigned i = 0; i < Count; ++i) bits |= std::uint64_t{1} << (First + Stride * i);
    return bits;
  }();
  const char* name;
};

/// A field for people: what print loops and tests walk.
struct FieldFact {
  const char* name;
  unsigned high, low;
  unsigned stride = 0, count = 1;  // RepeatedBit: `count` such fields, `stride` bits apart
};

template <std::size_t Count>
struct FieldList {
  std::array<FieldFact, Count> facts;
  std::uint64_t mask;

  constexpr auto begin() const { return facts.begin(); }
  constexpr auto end() const { return facts.end(); }
};

namespace detail {

template <typename Register, unsigned High, unsigned Low>
consteval FieldFact fact(Field<Register, High, Low> field) {
  return {field.name, High, Low};
}

template <typename Register, unsigned First, unsigned Stride, unsigned Count>
consteval FieldFact fact(RepeatedBit<Register, First, Stride, Count> field) {
  return {field.name, First, First, Stride, Count};
}

// Not constexpr on purpose: reaching it during constant evaluation is the compile error.
inline void two_fields_share_a_bit() {}

}  // namespace detail

template <typename... Fields>
consteval FieldList<sizeof...(Fields)> field_list(Fields... fields) {
  std::uint64_t mask = 0;
  for (const std::uint64_t bits : {Fields::mask...}) {
    if ((mask & bits) != 0) detail::two_fields_share_a_bit();
    mask |= bits;
  }
  return {{detail::fact(fields)...}, mask};
}

/// The value of one 64-bit register. `Self` is the type that derives from it.
template <typename Self>
class Register64 {
 public:
  template <unsigned High, unsigned Low = High>
  using Bits = Field<Self, High, Low>;
  template <unsigned First, unsigned Stride, unsigned Count>
  using BitOfEach = RepeatedBit<Self, First, Stride, Count>;

  constexpr Register64() = default;
  constexpr explicit Register64(std::uint64_t raw) : raw_(raw) {}

  constexpr std::uint64_t raw() const { return raw_; }

  template <unsigned High, unsigned Low>
  constexpr std::uint64_t get(Field<Self, High, Low>) const {
    return raw_ >> Low & Field<Self, High, Low>::max;
  }
  template <unsigned High, unsigned Low>
  constexpr bool has(Field<Self, High, Low> field) const {
    return get(field) != 0;
  }
  template <unsigned First, unsigned Stride, unsigned Count>
  constexpr bool has(RepeatedBit<Self, First, Stride, Count>, unsigned index) const {
    CHECK(index < Count);
    return (raw_ >> (First + Stride * index) & 1) != 0;
  }

  template <unsigned High, unsigned Low>
  constexpr Self with(Field<Self, High, Low>, std::uint64_t value) const {
    CHECK(value <= (Field<Self, High, Low>::max));
    return Self{(raw_ & ~Field<Self, High, Low>::mask) | value << Low};
  }
  template <unsigned First, unsigned Stride, unsigned Count>
  constexpr Self with(RepeatedBit<Self, First, Stride, Count>, unsigned index, bool value) const {
    CHECK(index < Count);
    const std::uint64_t bit = std::uint64_t{1} << (First + Stride * index);
    return Self{value ? raw_ | bit : raw_ & ~bit};
  }

  /// Bits that no field names.
  static constexpr std::uint64_t reserved() { return ~Self::fields.mask; }

  /// Calls visit(name, index, value) for every field that is not 0; index is -1 except for bits that repeat.
  template <typename Visit>
  constexpr void for_each_set_field(Visit visit) const {
    for (const FieldFact& field : Self::fields) {
      for (unsigned i = 0; i < field.count; ++i) {
        const std::uint64_t max = ~std::uint64_t{0} >> (63 - (field.high - field.low));
        const std::uint64_t value = raw_ >> (field.low + field.stride * i) & max;
        if (value != 0) visit(field.name, field.count == 1 ? -1 : static_cast<int>(i), value);
      }
    }
  }

  friend constexpr bool operator==(Register64 a, Register64 b) { return a.raw_ == b.raw_; }

 private:
  std::uint64_t raw_ = 0;
};

}  // namespace zs::arch
