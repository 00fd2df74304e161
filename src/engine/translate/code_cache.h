// The memory of one translation of the program, below 2 GiB: context page, hashed tables, trace with its guard page,
// glue stubs, and the code itself. Anonymous and private, so that fork copies it like everything else.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/memory/layout.h"
#include "engine/translate/code_cache_layout.h"
#include "engine/translate/context.h"
#include "engine/translate/direct_table.h"
#include "engine/translate/trace_buffer.h"
#include "engine/translate/untouched_entries.h"

namespace zs::engine {

class CodeCache {
 public:
  /// Maps it at `base`; CHECKs that the kernel gave it (the caller reserved the range).
  /// first    the one whose Context its code uses too; null: its own
  CodeCache(std::uint64_t base, std::size_t code_bytes, const UntouchedEntries& untouched,
            const CodeCache* first = nullptr);
  CodeCache(const CodeCache&) = delete;
  CodeCache& operator=(const CodeCache&) = delete;

  static std::size_t bytes_needed(std::size_t code_bytes) { return CodeCacheLayout(0, code_bytes).end; }

  Context& context() const { return *reinterpret_cast<Context*>(context_); }
  std::uint64_t context_address() const { return context_; }
  const CodeCacheLayout& layout() const { return layout_; }
  /// Whether `address` is of its code, or of the stubs.
  bool executes(std::uint64_t address) const { return layout_.executed().contains(address); }
  /// From here to the end of the code: what is seldom run, so that it does not lie between what is run often.
  std::uint64_t cold_begin() const { return layout_.code + page_down((layout_.code_end - layout_.code) / 2); }
  /// What hashed tables are filled with before any target is known.
  const UntouchedEntries& untouched() const { return untouched_; }

  TraceBuffer& trace() { return trace_; }
  const TraceBuffer& trace() const { return trace_; }
  /// Of the first code cache; a second one maps none, since its code is another.
  DirectTable& direct_table() { return direct_table_; }
  const DirectTable& direct_table() const { return direct_table_; }

 private:
  CodeCacheLayout layout_;
  std::uint64_t context_;
  const UntouchedEntries& untouched_;
  TraceBuffer trace_;
  DirectTable direct_table_;
};

}  // namespace zs::engine
