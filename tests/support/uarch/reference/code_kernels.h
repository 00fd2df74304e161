// Small loops whose time is known, as machine code, for tests of timing and for its documents.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "uarch/reference/code_samples.h"

namespace zs::uarch::kernels {

using Bytes = std::vector<std::uint8_t>;

inline Bytes repeated(const Bytes& piece, std::size_t times, const Bytes& tail = {}) {
  Bytes code;
  for (std::size_t i = 0; i < times; ++i) code.insert(code.end(), piece.begin(), piece.end());
  code.insert(code.end(), tail.begin(), tail.end());
  return code;
}

inline constexpr std::uint64_t kCode = 0x40'1000;

/// Everything in `code`, as one block.
inline Block block_of(const Bytes& code, std::uint64_t pc = kCode) {
  Block block;
  std::span<const std::uint8_t> rest(code);
  while (!rest.empty()) {
    const auto shape = shape_of(rest);
    if (!shape) break;
    block.push_back({pc, *shape});
    pc += shape->length;
    rest = rest.subspan(shape->length);
  }
  return block;
}

// clang-format off
/// Sums the low and high halves of words: 15 instructions, 14 slots.
inline const Bytes kHalves = {
    0x8B, 0x07,              // mov eax, [rdi]
    0x0F, 0xB7, 0xC8,        // movzx ecx, ax
    0xC1, 0xE8, 0x10,        // shr eax, 16
    0x41, 0x01, 0xC8,        // add r8d, ecx
    0x41, 0x01, 0xC1,        // add r9d, eax
    0x8B, 0x47, 0x04,        // mov eax, [rdi + 4]
    0x0F, 0xB7, 0xC8,        // movzx ecx, ax
    0xC1, 0xE8, 0x10,        // shr eax, 16
    0x41, 0x01, 0xC8,        // add r8d, ecx
    0x41, 0x01, 0xC1,        // add r9d, eax
    0x44, 0x8B, 0x57, 0x08,  // mov r10d, [rdi + 8]
    0x45, 0x01, 0xD3,        // add r11d, r10d
    0x48, 0x83, 0xC7, 0x0C,  // add rdi, 12
    0x48, 0x39, 0xF7,        // cmp rdi, rsi
    0x75, 0xD3};             // jne

/// Four multiplications, all on one port: 11 instructions, 10 slots.
inline const Bytes kMultiplications = {
    0x0F, 0xAF, 0x07,              // imul eax, [rdi]
    0x0F, 0xAF, 0x4F, 0x04,        // imul ecx, [rdi + 4]
    0x44, 0x8B, 0x47, 0x08,        // mov r8d, [rdi + 8]
    0x41, 0x0F, 0xAF, 0xD0,        // imul edx, r8d
    0x44, 0x8B, 0x4F, 0x0C,        // mov r9d, [rdi + 12]
    0x41, 0x0F, 0xAF, 0xD9,        // imul ebx, r9d
    0x45, 0x01, 0xDA,              // add r10d, r11d
    0x4D, 0x8D, 0x64, 0x24, 0x01,  // lea r12, [r12 + 1]
    0x48, 0x83, 0xC7, 0x10,        // add rdi, 16
    0x48, 0x39, 0xF7,              // cmp rdi, rsi
    0x75, 0xD8};                   // jne

/// 16 loads from L1D.
inline const Bytes kLoads = repeated({
    0x8B, 0x04, 0x24,         // mov eax, [rsp]
    0x8B, 0x4C, 0x24, 0x04,   // mov ecx, [rsp + 4]
    0x8B, 0x54, 0x24, 0x08,   // mov edx, [rsp + 8]
    0x8B, 0x5C, 0x24, 0x0C},  // mov ebx, [rsp + 12]
    4, {0x48, 0xFF, 0xCF,     // dec rdi
        0x75, 0xBF});         // jne

/// A pointer chase.
inline const Bytes kChase = {
    0x48, 0x8B, 0x00,  // mov rax, [rax]
    0x48, 0xFF, 0xC9,  // dec rcx
    0x75, 0xF8};       // jne

/// A sum of doubles in one register.
inline const Bytes kSum = {
    0xF2, 0x0F, 0x58, 0x07,  // addsd xmm0, [rdi]
    0x48, 0x83, 0xC7, 0x08,  // add rdi, 8
    0x48, 0x39, 0xF7,        // cmp rdi, rsi
    0x75, 0xF3};             // jne

/// A counter in memory: each addition has the data of the one before.
inline const Bytes kCount = {
    0x48, 0xFF, 0x07,  // inc qword [rdi]
    0x48, 0xFF, 0xC9,  // dec rcx
    0x75, 0xF8};       // jne

/// What was stored is loaded under another name.
inline const Bytes kCountElsewhere = {
    0x48, 0x8B, 0x07,  // mov rax, [rdi]
    0x48, 0x89, 0x06,  // mov [rsi], rax
    0x48, 0xFF, 0xC9,  // dec rcx
    0x75, 0xF5};       // jne

/// A sum as compilers write it that do not optimise.
inline const Bytes kCountApart = {
    0x48, 0x8B, 0x45, 0xF8,        // mov rax, [rbp - 8]
    0x48, 0x8B, 0x14, 0xC7,        // mov rdx, [rdi + 8 * rax]
    0x48, 0x01, 0x55, 0xF0,        // add [rbp - 16], rdx
    0x48, 0x83, 0x45, 0xF8, 0x01,  // add qword [rbp - 8], 1
    0x48, 0x83, 0x7D, 0xF8, 0x3F,  // cmp qword [rbp - 8], 63
    0x7E, 0xE9};                   // jle

inline const Bytes kStore = {0x89, 0x04, 0x24};  // mov [rsp], eax
inline const Bytes kNop = {0x90};
inline const Bytes kDivide = {0xF7, 0xF1};  // div ecx
// clang-format on

}  // namespace zs::uarch::kernels
