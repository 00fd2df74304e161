// A line that threads fought over, with what it holds and what would help: what `c2c report` prints of the model's log
// of it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "uarch/coherence/line_log.h"

namespace zs::report {

/// A part of a line that has a name, or that accesses show to be one piece.
struct SharedField {
  std::string object;                               // "shared", "heap: main+0x3a (two_blocks.c:20)"
  std::string member;                               // ".counter", "[3]", "+8"; "" where the object has no parts
  std::uint64_t object_start = 0, object_size = 0;  // linear; size 0: not known
  std::uint64_t start = 0, size = 0;                // of all of it, also what lies beyond the line; linear
  bool element = false;                             // of an array
  bool block = false;                               // `object` is a block of the heap
  unsigned number = 0;                              // of that block among those of the line, if there are several
  bool typed = false;                               // debug information says so

  std::string name() const { return object + (number == 0 ? "" : " #" + std::to_string(number)) + member; }
};

enum class Sharing : std::uint8_t { True, False, Mixed, Once };

struct PredictedCounts {
  std::uint64_t hand_overs = 0, hitm = 0;
};

/// A way to lay out the line's bytes.
struct SharingFix {
  std::string text;  // "alignas(64) on shared.setting"
  PredictedCounts left;
  std::uint64_t bytes = 0;  // of padding
};

struct SharedLine {
  const uarch::LineLog* log = nullptr;
  std::int32_t pid = 0;
  const std::vector<std::int32_t>* threads = nullptr;  // by LineUse::thread
  std::vector<std::string> instructions;               // by number of a use: "count+0x8 (false_sharing.c:20)"
  std::vector<SharedField> fields;                     // by address
  std::vector<std::uint32_t> field_of_use;
  Sharing sharing = Sharing::Once;
  std::optional<SharingFix> fix;  // nothing would help
  std::vector<SharingFix> what_if;

  /// What its fields are of: "guarded", "[heap], heap: new_job+0x1d (jobs.c:12)".
  std::string objects() const;
};

}  // namespace zs::report
