// perf's word for the source of data, union perf_mem_data_src: groups of bits, one or several of each set.
// source: Linux 6.1, uapi/linux/perf_event.h. A test compares with the system's copy of that header.
#pragma once

#include <cstdint>

namespace zs::arch::perf_mem {

struct Word {
  std::uint64_t bits = 0;
  constexpr friend Word operator|(Word a, Word b) { return {a.bits | b.bits}; }
  constexpr bool has(Word all) const { return (bits & all.bits) == all.bits; }
  constexpr Word without(Word other) const { return {bits & ~other.bits}; }
  friend constexpr bool operator==(Word, Word) = default;
};

struct Field {
  unsigned shift, width;
  constexpr Word value(std::uint64_t n) const { return {n << shift}; }
  constexpr std::uint64_t of(Word word) const { return word.bits >> shift & ((std::uint64_t{1} << width) - 1); }
};

inline constexpr Field kOperation{0, 5}, kLevel{5, 14}, kSnoop{19, 5}, kLock{24, 2}, kTlb{26, 7}, kLevelNumber{33, 4},
    kRemoteFlag{37, 1}, kSnoopMore{38, 2}, kBlock{40, 3}, kHops{43, 3};

inline constexpr Word kOperationNa = kOperation.value(1), kLoad = kOperation.value(2), kStore = kOperation.value(4),
                      kPrefetch = kOperation.value(8), kExecute = kOperation.value(16);

inline constexpr Word kLevelNa = kLevel.value(0x1), kHit = kLevel.value(0x2), kMiss = kLevel.value(0x4),
                      kL1 = kLevel.value(0x8), kFillBuffer = kLevel.value(0x10), kL2 = kLevel.value(0x20),
                      kL3 = kLevel.value(0x40), kLocalRam = kLevel.value(0x80), kRemoteRam1 = kLevel.value(0x100),
                      kRemoteRam2 = kLevel.value(0x200), kRemoteCache1 = kLevel.value(0x400),
                      kRemoteCache2 = kLevel.value(0x800), kIo = kLevel.value(0x1000), kUncached = kLevel.value(0x2000);

inline constexpr Word kSnoopNa = kSnoop.value(0x1), kSnoopNone = kSnoop.value(0x2), kSnoopHit = kSnoop.value(0x4),
                      kSnoopMiss = kSnoop.value(0x8), kSnoopHitm = kSnoop.value(0x10);
inline constexpr Word kForwarded = kSnoopMore.value(1), kPeer = kSnoopMore.value(2);

inline constexpr Word kLockNa = kLock.value(1), kLocked = kLock.value(2);

inline constexpr Word kTlbNa = kTlb.value(0x1), kTlbHit = kTlb.value(0x2), kTlbMiss = kTlb.value(0x4),
                      kTlbL1 = kTlb.value(0x8), kTlbL2 = kTlb.value(0x10), kTlbWalker = kTlb.value(0x20),
                      kTlbFault = kTlb.value(0x40);

/// L1 to L4.
constexpr Word number(unsigned level) { return kLevelNumber.value(level); }
inline constexpr Word kNumberAnyCache = kLevelNumber.value(0xB), kNumberFillBuffer = kLevelNumber.value(0xC),
                      kNumberRam = kLevelNumber.value(0xD), kNumberPersistent = kLevelNumber.value(0xE),
                      kNumberNa = kLevelNumber.value(0xF);
inline constexpr Word kRemote = kRemoteFlag.value(1);

inline constexpr Word kBlockNa = kBlock.value(1), kBlockedByData = kBlock.value(2), kBlockedByAddress = kBlock.value(4);

/// Of a sample whose event tells nothing.
inline constexpr Word kNothingKnown = kOperationNa | kLevelNa | kSnoopNa | kLockNa | kTlbNa;
static_assert(kNothingKnown.bits == 0x508'0021);

}  // namespace zs::arch::perf_mem
