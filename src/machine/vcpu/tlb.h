// Software translation look-aside buffers: direct-mapped, one for user and one for supervisor accesses, so that a
// change of privilege flushes nothing. An entry carries a fast tag for loads and one for stores; they match only where
// a plain host access does all there is to do: permission given, D set, ordinary memory, no decoded instructions on the
// page.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "machine/vcpu/insn.h"

namespace zs::machine::vcpu {

class DecodedPage;

inline constexpr std::uint64_t kPageBytes = 4096, kPageOffset = kPageBytes - 1, kPageMask = ~kPageOffset;
inline constexpr unsigned kTlbEntries = 1024;
inline constexpr std::uint64_t kNoPage = 1;  // no page address

struct TlbEntry {
  std::uint64_t read_tag = kNoPage, write_tag = kNoPage;  // linear page for which the fast path may be taken
  std::uint64_t addend = 0;                               // host address = addend + linear
  std::uint64_t page = kNoPage;                           // linear page that `physical` and `writable` are about
  std::uint64_t physical = 0;
  bool writable = false;           // permission checked and D set
  bool memory = false;             // addend is valid
  bool rom = false;                // stores go to the bus all the same
  bool listed = false;             // in Tlbs::filled
  std::uint8_t shift = 12;         // of the page that the tables map, of which this is 4 KiB
  Mode mode = Mode::Real16;        // of `decoded`
  DecodedPage* decoded = nullptr;  // code entries: what is decoded of the page; flushed before pages are freed
};

inline unsigned tlb_slot(std::uint64_t linear) { return static_cast<unsigned>(linear >> 12) % kTlbEntries; }

struct Tlbs {
  std::array<TlbEntry, kTlbEntries> supervisor, user;
  std::array<TlbEntry, kTlbEntries> never_hits;  // stays empty
  std::array<TlbEntry, kTlbEntries> supervisor_code, user_code;
  std::vector<TlbEntry*> filled;  // all that may hold something: a flush need not look at the others

  /// Which parts of the linear space have entries of large pages, by the number of their 2 MiB; what is larger than 4
  /// MiB is in none.
  std::array<bool, 256> large{};
  bool huge = false;
  bool& large_at(std::uint64_t linear) { return large[(linear >> 21) % large.size()]; }
};

}  // namespace zs::machine::vcpu
