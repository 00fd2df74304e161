// Where the parts of a code cache lie (code_cache.h): arithmetic, known before anything is mapped.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/memory/layout.h"
#include "engine/translate/direct_table.h"
#include "engine/translate/hashed_tables.h"
#include "engine/translate/trace_buffer.h"

namespace zs::engine {

struct CodeCacheLayout {
  static constexpr std::size_t kContextBytes = 64 << 10, kStubBytes = 64 << 10;

  constexpr explicit CodeCacheLayout(std::uint64_t base, std::size_t code_bytes = 0)
      : context(base),
        hashed_tables(context + kContextBytes),
        guard(hashed_tables + HashedTables::kBytes + TraceBuffer::kMostBytes),
        stubs(guard + TraceBuffer::kGuardBytes),
        code(stubs + kStubBytes),
        code_end(code + code_bytes),
        slots(page_up(code_end)),
        notes(slots + TraceBuffer::kSlotBytes),
        direct_notes(notes + TraceBuffer::kNoteBytes),
        end(direct_notes + DirectTable::kNoteBytes) {}

  /// The first two stubs, where untouched entries of the direct and of the hashed tables lead.
  constexpr std::uint64_t direct_miss() const { return stubs; }
  constexpr std::uint64_t hashed_miss() const { return stubs + 16; }
  /// The code itself, and the glue stubs in front of it.
  constexpr AddressRange executed() const { return {stubs, code_end}; }

  std::uint64_t context, hashed_tables;
  std::uint64_t guard;  // the trace ends there, and what it may grow to fits behind the tables
  std::uint64_t stubs, code, code_end;
  std::uint64_t slots, notes;  // of the trace
  std::uint64_t direct_notes;  // of the direct table
  std::uint64_t end;
};

}  // namespace zs::engine
