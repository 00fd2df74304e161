// A hash that tells damaged or different bytes from those that were stored: fast, and not made against people who look
// for two inputs alike. What is hashed lies in files that the user alone may write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace zs::engine {

/// Sixteen bytes a multiplication, four of them at a time.
/// source: wyhash's mixing of two words by a product of 128 bits, with its constants; shorter rests are padded with
/// zeros.
inline std::uint64_t hash_bytes(std::span<const std::byte> bytes) {
  constexpr std::uint64_t kSecrets[] = {0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3, 0x589965CC75374CC3};
  constexpr std::size_t kAccumulators = 4, kWords = 2 * kAccumulators, kStep = kWords * sizeof(std::uint64_t);
  __extension__ using Wide = unsigned __int128;
  const auto mixed = [](std::uint64_t a, std::uint64_t b) {
    const Wide product = Wide{a} * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  std::uint64_t a = kSecrets[0], b = kSecrets[1], c = kSecrets[2], d = kSecrets[3];
  const auto take = [&](const std::byte* from) {
    std::uint64_t words[kWords];
    std::memcpy(words, from, kStep);
    a = mixed(words[0] ^ kSecrets[0], words[1] ^ a);
    b = mixed(words[2] ^ kSecrets[1], words[3] ^ b);
    c = mixed(words[4] ^ kSecrets[2], words[5] ^ c);
    d = mixed(words[6] ^ kSecrets[3], words[7] ^ d);
  };
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= kStep; at += kStep, left -= kStep) take(at);
  if (left != 0) {
    std::byte rest[kStep] = {};
    std::memcpy(rest, at, left);
    take(rest);
  }
  return mixed(mixed(a ^ kSecrets[1], b ^ kSecrets[2]) ^ kSecrets[3],
               mixed(c ^ kSecrets[1], d ^ kSecrets[2]) ^ bytes.size());
}

template <typename T>
std::uint64_t hash_of(std::span<const T> values) {
  return hash_bytes(std::as_bytes(values));
}

}  // namespace zs::engine
