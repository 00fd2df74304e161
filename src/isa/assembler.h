// Writes x86-64 instructions of the few forms that our own code is made of: 64-bit or 32-bit operations between
// registers, memory and constants, and jumps whose targets are known later. uarch/replay writes with it, and the
// engine's Emitter. source: SDM vol. 2, "Instruction Format" and the opcode maps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "base/check.h"
#include "isa/registers.h"

namespace zs::isa {

/// [base + index * scale + displacement]
struct Memory {
  Gpr base;
  std::int64_t displacement = 0;  // that fits 32 bits
  Gpr index = kRsp;               // kRsp: none
  unsigned scale = 1;
};

/// [rip + distance to `address`], which is in reach.
struct Literal {
  std::uint64_t address;
};

class Assembler {
 public:
  enum Width : std::uint8_t { kDword, kQword };
  enum Condition : std::uint8_t {
    kBelow = 2,
    kNotBelow = 3,
    kEqual = 4,
    kNotEqual = 5,
    kNotAbove = 6,
    kAbove = 7,
    kLess = 12
  };
  /// The operations whose opcode is 8 * this, and a digit of the group of constants.
  enum Operation : std::uint8_t { kAdd, kOr, kAnd = 4, kSub, kXor, kCmp };

  /// Writes from `at` on, where the caller has made room.
  explicit Assembler(std::uint8_t* at) : at_(at) {}

  std::uint8_t* here() const { return at_; }

  void load(Gpr to, Literal from) { with_literal(kQword, 0x8B, to, from); }
  void store(Literal to, Gpr from) { with_literal(kQword, 0x89, from, to); }
  void store_constant_dword(Literal to, std::uint32_t value) {
    with_literal(kDword, 0xC7, 0, to, sizeof value);
    put(value);
  }
  void load(Gpr to, Memory from, Width width = kQword) { with_memory(width, {0x8B}, to, from); }
  void store(Memory to, Gpr from, Width width = kQword) { with_memory(width, {0x89}, from, to); }
  void store_constant(Memory to, std::int32_t value) {
    with_memory(kQword, {0xC7}, 0, to);
    put(value);
  }
  void store_constant_byte(Memory to, std::uint8_t value) {
    with_memory(kDword, {0xC6}, 0, to);
    byte(value);
  }
  void store_constant_dword(Memory to, std::uint32_t value) {
    with_memory(kDword, {0xC7}, 0, to);
    put(value);
  }
  void store_word(Memory to, Gpr from) {
    byte(0x66);
    with_memory(kDword, {0x89}, from, to);
  }
  void load_word(Gpr to, Memory from) { with_memory(kDword, {0x0F, 0xB7}, to, from); }
  void address(Gpr to, Memory of) { with_memory(kQword, {0x8D}, to, of); }
  void copy(Gpr to, Gpr from, Width width = kQword) { with_register(width, {0x89}, from, to); }
  void constant(Gpr to, std::uint64_t value) {
    if (value <= UINT32_MAX) {
      if (to >= kR8) byte(0x41);
      byte(0xB8 + (to & 7));
      put(static_cast<std::uint32_t>(value));
    } else {
      byte(0x48 | (to >= kR8 ? 1 : 0));
      byte(0xB8 + (to & 7));
      put(value);
    }
  }

  void operate(Operation what, Gpr to, Gpr from, Width width = kQword) {
    with_register(width, {static_cast<std::uint8_t>(8 * what + 1)}, from, to);
  }
  void operate(Operation what, Gpr to, Memory from, Width width = kQword) {
    with_memory(width, {static_cast<std::uint8_t>(8 * what + 3)}, to, from);
  }
  void operate(Operation what, Memory to, Gpr from, Width width = kQword) {
    with_memory(width, {static_cast<std::uint8_t>(8 * what + 1)}, from, to);
  }
  void operate(Operation what, Gpr to, std::int32_t value, Width width = kQword) {
    const bool is_short = value >= -128 && value <= 127;
    with_register(width, {static_cast<std::uint8_t>(is_short ? 0x83 : 0x81)}, what, to);
    is_short ? byte(static_cast<std::uint8_t>(value)) : put(value);
  }
  void operate(Operation what, Memory to, std::int32_t value, Width width = kQword) {
    const bool is_short = value >= -128 && value <= 127;
    with_memory(width, {static_cast<std::uint8_t>(is_short ? 0x83 : 0x81)}, what, to);
    is_short ? byte(static_cast<std::uint8_t>(value)) : put(value);
  }
  void shift_left(Gpr of, std::uint8_t bits, Width width = kQword) { shift(4, of, bits, width); }
  void shift_right(Gpr of, std::uint8_t bits, Width width = kQword) { shift(5, of, bits, width); }
  /// No flags are written.
  void exchange(Gpr a, Gpr b) { with_register(kQword, {0x87}, a, b); }
  void complement(Gpr of) { with_register(kQword, {0xF7}, 2, of); }
  void increment(Gpr of, Width width = kQword) { with_register(width, {0xFF}, 0, of); }
  void increment(Memory of) { with_memory(kQword, {0xFF}, 0, of); }
  void sign_extend(Gpr to, Gpr from) { with_register(kQword, {0x63}, to, from); }  // 32 bits
  void test(Gpr a, Gpr b, Width width = kQword) { with_register(width, {0x85}, b, a); }
  void test_byte(Gpr of, std::uint8_t value) {  // of kRax to kRdx
    with_register(kDword, {0xF6}, 0, of);
    byte(value);
  }
  void move_if(Condition condition, Gpr to, Gpr from, Width width = kDword) {
    with_register(width, {0x0F, static_cast<std::uint8_t>(0x40 + condition)}, to, from);
  }
  // AVX2, on 16 bytes.
  enum Vector : std::uint8_t {};
  /// to[i] = a[i] + b[i], four 32-bit integers
  void add_vector(Vector to, Vector a, Memory b) { with_vex(kSize, kFirst, 0xFE, to, a, b); }
  void add_vector(Vector to, Vector a, Vector b) { with_vex(kSize, kFirst, 0xFE, to, a, b); }
  /// The same of their signed maxima.
  void maximum_vector(Vector to, Vector a, Vector b) { with_vex(kSize, kSecond, 0x3D, to, a, b); }
  /// All four are that.
  void broadcast(Vector to, Memory from) { with_vex(kSize, kSecond, 0x58, to, Vector{}, from); }
  void broadcast(Vector to, Gpr from) {
    with_vex(kSize, kFirst, 0x6E, to, Vector{}, static_cast<Vector>(from));
    with_vex(kSize, kSecond, 0x58, to, Vector{}, to);
  }
  /// One of the four, from 0.
  void store_lane(Memory to, Vector from, std::uint8_t lane) {
    with_vex(kSize, kThird, 0x16, from, Vector{}, to);
    byte(lane);
  }
  void first_lane(Gpr to, Vector from) { with_vex(kSize, kFirst, 0x7E, from, Vector{}, static_cast<Vector>(to)); }

  void push(Gpr from) {
    if (from >= kR8) byte(0x41);
    byte(0x50 + (from & 7));
  }
  void pop(Gpr to) {
    if (to >= kR8) byte(0x41);
    byte(0x58 + (to & 7));
  }
  void push(Literal from) { with_literal(kDword, 0xFF, 6, from); }
  /// Sign-extends to 64 bits.
  void push_constant(std::uint32_t value) {
    byte(0x68);
    put(value);
  }
  void ret() { byte(0xC3); }
  void call(const std::uint8_t* target) {
    byte(0xE8);
    relative(target);
  }
  void call(Memory target) { with_memory(kDword, {0xFF}, 2, target); }
  void jump(Memory target) { with_memory(kDword, {0xFF}, 4, target); }
  void jump(Literal target) { with_literal(kDword, 0xFF, 4, target); }
  void jump(const std::uint8_t* target) {
    byte(0xE9);
    relative(target);
  }
  void jump_if(Condition condition, const std::uint8_t* target) {
    byte(0x0F);
    byte(0x80 + condition);
    relative(target);
  }
  // Jumps whose target aim() sets later.
  [[nodiscard]] std::uint8_t* jump_later(Condition condition) {
    jump_if(condition, at_);
    return at_;
  }
  [[nodiscard]] std::uint8_t* jump_later() {
    jump(at_);
    return at_;
  }
  static void aim(std::uint8_t* behind_jump, const std::uint8_t* target) {
    const std::int32_t distance = distance_of(target - behind_jump);
    std::memcpy(behind_jump - sizeof distance, &distance, sizeof distance);
  }

  // What has no name here.
  void byte(unsigned value) { *at_++ = static_cast<std::uint8_t>(value); }
  template <typename T>
  void put(T value) {
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }
  void copy_bytes(const void* data, std::size_t size) {
    std::memcpy(at_, data, size);
    at_ += size;
  }
  /// Of 16 bytes, all of which are written, `length` count.
  void instruction(const std::uint8_t (&code)[16], std::size_t length) {
    std::memcpy(at_, code, sizeof code);
    at_ += length;
  }
  /// The distance to `target` from behind the constant of so many bytes that follows.
  void put_distance(Literal target, unsigned constant_bytes = 0) {
    put(distance_of(
        static_cast<std::int64_t>(target.address - (reinterpret_cast<std::uint64_t>(at_) + 4 + constant_bytes))));
  }

 private:
  static std::int32_t distance_of(std::int64_t distance) {
    CHECK(distance == static_cast<std::int32_t>(distance), distance);
    return static_cast<std::int32_t>(distance);
  }
  void relative(const std::uint8_t* target) { put(distance_of(target - (at_ + 4))); }
  void with_literal(Width width, std::uint8_t opcode, unsigned reg, Literal at, unsigned constant_bytes = 0) {
    const unsigned rex = (width == kQword ? 8U : 0U) | (reg >= 8 ? 4U : 0U);
    if (rex != 0) byte(0x40 | rex);
    byte(opcode);
    byte(0x05 | (reg & 7) << 3);
    put_distance(at, constant_bytes);
  }

  void shift(unsigned digit, Gpr of, std::uint8_t bits, Width width) {
    with_register(width, {0xC1}, digit, of);
    byte(bits);
  }
  void with_register(Width width, std::initializer_list<std::uint8_t> opcode, unsigned reg, unsigned rm) {
    const unsigned rex = (width == kQword ? 8U : 0U) | (reg >= 8 ? 4U : 0U) | (rm >= 8 ? 1U : 0U);
    if (rex != 0) byte(0x40 | rex);
    for (const std::uint8_t part : opcode) byte(part);
    byte(0xC0 | (reg & 7) << 3 | (rm & 7));
  }
  void with_memory(Width width, std::initializer_list<std::uint8_t> opcode, unsigned reg, Memory memory) {
    const bool indexed = memory.index != kRsp;
    const unsigned rex = (width == kQword ? 8U : 0U) | (reg >= 8 ? 4U : 0U) | (indexed && memory.index >= 8 ? 2U : 0U) |
                         (memory.base >= 8 ? 1U : 0U);
    if (rex != 0) byte(0x40 | rex);
    for (const std::uint8_t part : opcode) byte(part);
    place(reg, memory);
  }

  enum Prefix : std::uint8_t { kSize = 1 };                       // 66H
  enum OpcodeMap : std::uint8_t { kFirst = 1, kSecond, kThird };  // 0FH, 0F38H, 0F3AH
  /// source: SDM vol. 2, "The VEX Prefix": the three-byte form, of 128 bits.
  void vex(Prefix prefix, OpcodeMap map, std::uint8_t opcode, unsigned reg, unsigned other, bool x, bool b) {
    byte(0xC4);
    byte((reg >= 8 ? 0U : 0x80U) | (x ? 0U : 0x40U) | (b ? 0U : 0x20U) | map);
    byte((~other & 15U) << 3 | prefix);
    byte(opcode);
  }
  void with_vex(Prefix prefix, OpcodeMap map, std::uint8_t opcode, unsigned reg, unsigned other, Vector rm) {
    vex(prefix, map, opcode, reg, other, false, rm >= 8);
    byte(0xC0 | (reg & 7U) << 3 | (rm & 7U));
  }
  void with_vex(Prefix prefix, OpcodeMap map, std::uint8_t opcode, unsigned reg, unsigned other, Memory memory) {
    vex(prefix, map, opcode, reg, other, memory.index != kRsp && memory.index >= 8, memory.base >= 8);
    place(reg, memory);
  }
  /// ModRM, SIB and displacement.
  void place(unsigned reg, Memory memory) {
    const bool indexed = memory.index != kRsp;
    const bool is_short = memory.displacement >= -128 && memory.displacement <= 127;
    const unsigned mode = is_short ? 0x40 : 0x80;
    const bool scaled = indexed || (memory.base & 7) == kRsp;
    byte(mode | (reg & 7) << 3 | (scaled ? 4U : (memory.base & 7U)));
    if (scaled) {
      const unsigned scale = memory.scale == 8 ? 3 : memory.scale == 4 ? 2 : memory.scale == 2 ? 1 : 0;
      byte(scale << 6 | (memory.index & 7U) << 3 | (memory.base & 7U));
    }
    if (is_short) {
      byte(static_cast<std::uint8_t>(memory.displacement));
    } else {
      put(static_cast<std::int32_t>(memory.displacement));
    }
  }

  std::uint8_t* at_;
};

}  // namespace zs::isa
