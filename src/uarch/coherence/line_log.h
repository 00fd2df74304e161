// What cores did to lines that they fought over, as the coherence model saw it: who used which bytes by which
// instruction, how often the line changed hands and whether any byte was meant, and one after the other the stints in
// which a thread had it.
//
// All of it is modelled. What a core does to a line that nobody fights over is not in it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace zs::uarch {

/// How an access uses its bytes.
enum LineAccess : std::uint8_t {
  kReads = 1,
  kWrites = 2,
  kLocks = 4,  // a locked read-modify-write, which does both
};

/// What one instruction of one thread did to some bytes of a line.
struct LineUse {
  std::uint64_t instruction = 0;  // its address
  std::uint64_t accesses = 0;
  std::uint64_t hand_overs = 0;  // how often the line came, or came back, for it
  std::uint64_t hitm = 0;        // loads that found it modified in another core
  std::uint64_t waited = 0;      // cycles beyond those of an L1 hit
  std::uint16_t thread = 0;      // in the order in which threads came to the machine, from 0
  std::uint8_t offset = 0, bytes = 0;
  std::uint8_t access = 0;  // LineAccess
  std::uint8_t zero[3] = {};

  bool reads() const { return (access & kReads) != 0; }
  bool writes() const { return (access & kWrites) != 0; }
  std::uint64_t mask() const { return (bytes >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bytes) - 1) << offset; }
  bool operator==(const LineUse&) const = default;
};
static_assert(WireLayout<LineUse> && sizeof(LineUse) == 48);

/// So many times the use of that number, in a stint.
struct StintPart {
  std::uint32_t use = 0, count = 0;
  bool operator==(const StintPart&) const = default;
};

/// From one time that a thread had to fetch the line, or the right to write it, until the next.
struct Stint {
  std::uint64_t begin = 0, end = 0;  // its core's cycles of the first and the last access; when that one had room
  std::uint32_t waited = 0;          // of the first
  std::uint32_t first_part = 0;      // in LineLog::parts; the first part has the first access
  std::uint16_t parts = 0;
  std::uint16_t thread = 0;
  std::uint8_t flags = 0;  // StintFlag
  std::uint8_t zero = 0;
  std::uint16_t held_up = 0;  // cycles that its stores had no room in the store buffer; at most 65,535
  bool operator==(const Stint&) const = default;
};
static_assert(WireLayout<StintPart> && WireLayout<Stint> && sizeof(Stint) == 32);

enum StintFlag : std::uint8_t {
  kHandedOver = 1,  // a write moved the line here, or took it from others
  kMeant = 2,  // with bytes that the stint used, and that another thread had written; or it wrote what another used
  kFirst = 4,  // nothing is known of what others did before
};

/// A thread's number where nobody is known.
inline constexpr std::uint16_t kNobody = 0xFFFF;

struct LineLog {
  std::uint64_t linear = 0;  // address of its first byte
  std::uint64_t hand_overs = 0, meant = 0,
                unknown = 0;  // unknown: the first, of which nobody knows whether it was meant
  std::uint64_t hitm = 0, waited = 0;
  std::uint64_t stints_left_out = 0;     // there was no room for the last ones; 0: the log is in full
  std::uint64_t uses_left_out = 0;       // accesses
  std::uint16_t first_holder = kNobody;  // the thread that had the line before the first stint,
  bool first_owned = false;              // and was the only one that did
  std::vector<LineUse> uses;
  std::vector<Stint> stints;  // in the order in which they began
  std::vector<StintPart> parts;

  bool operator==(const LineLog&) const = default;
};

void encode(const LineLog& log, ByteWriter& out);
/// Nothing, and `in` has an error, where the bytes are none.
std::optional<LineLog> decode_line_log(ByteReader& in);

}  // namespace zs::uarch
