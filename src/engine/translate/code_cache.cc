#include "engine/translate/code_cache.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/check.h"
#include "engine/memory/store_key.h"
#include "engine/raw_syscall.h"

namespace zs::engine {

CodeCache::CodeCache(std::uint64_t base, std::size_t code_bytes, const UntouchedEntries& untouched,
                     const CodeCache* first)
    : layout_(base, code_bytes),
      context_(first != nullptr ? first->context_ : layout_.context),
      untouched_(untouched),
      trace_(layout_.guard, layout_.slots, layout_.notes),
      direct_table_(untouched, layout_.direct_notes, layout_.direct_miss()) {
  const auto map = [](std::uint64_t start, std::uint64_t end, int protection) {
    const long result = raw_syscall(SYS_mmap, start, end - start, protection,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    CHECK(result == static_cast<long>(start));
  };
  const auto map_ours = [&map](std::uint64_t start, std::uint64_t end, int protection) {
    map(start, end, protection);
    CHECK(StoreKey::instance().protect({start, end}, protection) == 0);
  };
  map(layout_.context, layout_.hashed_tables, PROT_READ | PROT_WRITE);
  map_ours(layout_.hashed_tables, layout_.hashed_tables + HashedTables::kBytes, PROT_READ | PROT_WRITE);
  map(trace_.begin(), trace_.end(), PROT_READ | PROT_WRITE);
  map(layout_.guard, layout_.guard + TraceBuffer::kGuardBytes, PROT_NONE);
  map_ours(layout_.stubs, layout_.code, PROT_READ | PROT_WRITE | PROT_EXEC);
  map(layout_.code, layout_.code_end, PROT_NONE);       // until there is code (CodeSpace)
  map(layout_.slots, layout_.direct_notes, PROT_NONE);  // until they are needed
  map_ours(layout_.direct_notes, layout_.end, PROT_READ | PROT_WRITE);
  // Translations of a large program are spread over megabytes: small pages would miss the instruction TLB all the time.
  raw_syscall(SYS_madvise, layout_.stubs, layout_.code_end - layout_.stubs, MADV_HUGEPAGE);
}

}  // namespace zs::engine
