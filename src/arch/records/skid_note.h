// What a sample of `record --skid` says of its own way: which instruction made the counter overflow, and how far from
// there the one lies that the sample shows. It is the sample's PERF_SAMPLE_RAW.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace zs::arch {

/// Why the sample shows another instruction than the one that made the counter overflow.
enum class SkidCause : std::uint8_t {
  None,       // it shows that one
  Interrupt,  // what comes after the instructions that retired until the interrupt came
  Arming,     // the next one with the event, behind the shadow
};

struct SkidNote {
  static constexpr std::uint32_t kMagic = 0x31444B53;  // "SKD1"
  std::uint32_t magic = kMagic;
  SkidCause cause = SkidCause::None;
  std::uint8_t zero = 0;
  std::uint16_t hidden = 0;  // Arming: events in the shadow, which are in no sample; 65535: so many or more
  std::uint64_t ip = 0;      // of the instruction that made the counter overflow
  /// From that one to the one that the sample shows, in the order of execution: 0, the same; 1, the next one.
  std::uint64_t instructions = 0;
};
static_assert(WireLayout<SkidNote> && sizeof(SkidNote) == 24);

/// Nothing if `bytes` are none. Bytes behind it are passed over.
inline std::optional<SkidNote> read_skid_note(Bytes bytes) {
  ByteReader in{bytes};
  const auto note = in.read<SkidNote>();
  if (!in.ok() || note.magic != SkidNote::kMagic || note.cause > SkidCause::Arming) return std::nullopt;
  return note;
}

}  // namespace zs::arch
