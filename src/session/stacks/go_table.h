// The table that Go programs unwind themselves by (.gopclntab): Go writes no .eh_frame.
// source: Go 1.18 to 1.24, src/runtime/symtab.go: pcHeader, functab, _func, pcvalue.
#pragma once

#include <cstdint>
#include <optional>

#include "session/stacks/frame_rule.h"
#include "session/stacks/table_bytes.h"

namespace zs::session {

class GoTable {
 public:
  /// table  where it lies in the program's memory
  /// returns nothing if that is no table of a known version
  static std::optional<GoTable> open(TableBytes& bytes, std::uint64_t table);

  std::optional<FrameRule> rule_at(std::uint64_t pc) const;

 private:
  explicit GoTable(TableBytes& bytes) : bytes_(&bytes) {}
  std::optional<std::uint64_t> function_of(std::uint32_t offset) const;
  std::optional<std::int64_t> stack_depth(std::uint64_t deltas, std::uint32_t from, std::uint32_t to) const;

  TableBytes* bytes_;
  std::uint64_t functions_ = 0, function_count_ = 0, deltas_ = 0, text_ = 0;
  std::uint32_t code_unit_ = 1, flags_at_ = 0;
};

}  // namespace zs::session
