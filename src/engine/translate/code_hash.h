// A hash that tells damaged or different bytes from those that were stored: fast, and not made against people who look for two inputs alike. What
// is hashed lies in files that the user alone may write.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace zs::engine {

/// source: xxHash's 64-bit form, of which this is the main loop with its constants; shorter rests are padded with zeros.
inline std::uint64_t hash_bytes(std::span<const std::byte> bytes) {
  constexpr std::uint64_t kFirst = 0x9E3779B185EBCA87, kSecond = 0xC2B2AE3D27D4EB4F, kThird = 0x165667B19E3779F9;
  const auto mixed = [](std::uint64_t lane, std::uint64_t word) { return std::rotl(lane + word * kSecond, 31) * kFirst; };
  constexpr std::size_t kLanes = 4, kStep = kLanes * sizeof(std::uint64_t);
  std::uint64_t lanes[kLanes] = {kFirst + kSecond, kSecond, 0, 0 - kFirst};
  std::uint64_t words[kLanes];
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= kStep; at += kStep, left -= kStep) {
    std::memcpy(words, at, kStep);
    for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = mixed(lanes[i], words[i]);
  }
  if (left != 0) {
    std::memset(words, 0, sizeof words);
    std::memcpy(words, at, left);
    for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = mixed(lanes[i], words[i]);
  }
  std::uint64_t sum = bytes.size() * kThird;
  for (const std::uint64_t lane : lanes) sum = (std::rotl(sum, 27) ^ mixed(0, lane)) * kFirst + kThird;
  sum = (sum ^ sum >> 33) * kSecond;
  sum = (sum ^ sum >> 29) * kThird;
  return sum ^ sum >> 32;
}

template <typename T>
std::uint64_t hash_of(std::span<const T> values) {
  return hash_bytes(std::as_bytes(values));
}

}  // namespace zs::engine
