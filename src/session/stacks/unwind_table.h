// The unwind tables of one file as it is mapped into the program: .eh_frame, found by its sorted index (.eh_frame_hdr)
// or,
// in static programs, which have none, read through once; or Go's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "session/stacks/call_frame_info.h"
#include "session/stacks/go_table.h"
#include "session/stacks/table_bytes.h"

namespace zs::session {

/// Where a file's tables lie in memory; 0: it has no such.
struct TablePlaces {
  std::uint64_t index = 0;                      // .eh_frame_hdr
  std::uint64_t frames = 0, frames_length = 0;  // .eh_frame
  std::uint64_t go = 0;                         // .gopclntab
};

class UnwindTable {
 public:
  UnwindTable(TableBytes& bytes, Expressions& expressions, const TablePlaces& places);

  /// The rule at `pc`; nothing if no table covers it.
  std::optional<FrameRule> rule_at(std::uint64_t pc);

 private:
  struct Index {
    std::uint64_t base = 0, entries = 0, count = 0;  // addresses; entries are pairs of 32-bit distances from base
  };
  struct Entry {
    std::uint64_t address = 0, end = 0;  // of what follows its length
    std::uint64_t common = 0;            // address of the CIE of an FDE; 0: it is a CIE
  };
  std::optional<Entry> entry_at(std::uint64_t address);
  const CommonFrameInfo* common_at(std::uint64_t address);
  void open_index(std::uint64_t address);
  void read_through(const TablePlaces& places);
  std::optional<std::uint64_t> function_by_index(std::uint64_t pc);
  std::optional<std::uint64_t> function_by_start(std::uint64_t pc) const;
  ByteReader bytes_of(const Entry& entry, std::vector<std::byte>& into);

  TableBytes& bytes_;
  Expressions& expressions_;
  Index index_;
  std::map<std::uint64_t, std::uint64_t> by_start_;  // addresses of FDEs, by the start of their code; without an index
  std::map<std::uint64_t, std::optional<CommonFrameInfo>> common_;  // by address
  std::optional<GoTable> go_;
};

}  // namespace zs::session
