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
  // One mapping, of which the code (CodeSpace), slots and notes are opened as they are needed.
  const long result = raw_syscall(SYS_mmap, layout_.context, layout_.end - layout_.context, PROT_NONE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  CHECK(result == static_cast<long>(layout_.context));
  const auto open = [](std::uint64_t start, std::uint64_t end) {
    CHECK(raw_syscall(SYS_mprotect, start, end - start, PROT_READ | PROT_WRITE) == 0);
  };
  const auto open_ours = [](std::uint64_t start, std::uint64_t end, int protection) {
    CHECK(StoreKey::instance().protect({start, end}, protection) == 0);
  };
  open(layout_.context, layout_.hashed_tables);
  open_ours(layout_.hashed_tables, layout_.hashed_tables + HashedTables::kBytes, PROT_READ | PROT_WRITE);
  open(trace_.begin(), trace_.end());
  open_ours(layout_.stubs, layout_.code, PROT_READ | PROT_WRITE | PROT_EXEC);
  open_ours(layout_.direct_notes, layout_.end, PROT_READ | PROT_WRITE);
  // Translations of a large program are spread over megabytes: small pages would miss the instruction TLB all the time.
  raw_syscall(SYS_madvise, layout_.stubs, layout_.code_end - layout_.stubs, MADV_HUGEPAGE);
}

}  // namespace zs::engine
