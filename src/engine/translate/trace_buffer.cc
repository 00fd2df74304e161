#include "engine/translate/trace_buffer.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>

#include "base/check.h"
#include "engine/memory/populate.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

// What the budget view repeats. Larger: fewer mappings to make, unmap and trip. Smaller: less of the first-level cache
// written over. Measured: 4 KiB to 16 KiB saves 0.27 of 10.7 ms for /bin/true, and again at each fork; a Python loop
// runs alike.
constexpr std::size_t kAliasUnit = 16 << 10;

/// The unit at `unit` at another place too. source: mremap(2), of an old size of 0: it is not moved but mapped a second
/// time
bool map_again(std::uint64_t unit, std::uint64_t at) {
  return raw_syscall(SYS_mremap, unit, 0, kAliasUnit, MREMAP_MAYMOVE | MREMAP_FIXED, at) == static_cast<long>(at);
}

}  // namespace

void TraceBuffer::trip() const { raw_syscall(SYS_mprotect, begin_, room(), PROT_NONE); }

void TraceBuffer::untrip() const { raw_syscall(SYS_mprotect, begin_, room(), PROT_READ | PROT_WRITE); }

bool TraceBuffer::open_beside(std::uint64_t address) {
  const auto opens = [address](bool& open, std::uint64_t start, std::size_t bytes) {
    if (open || address < start || address >= start + bytes) return false;
    open = raw_syscall(SYS_mprotect, start, bytes, PROT_READ | PROT_WRITE) == 0;
    return open;
  };
  return opens(has_slots_, slots_, kSlotBytes) || opens(has_notes_, notes_, kNoteBytes);
}

void TraceBuffer::map_alias() const {
  // Without a descriptor: the program may have taken all that there can be.
  const long first =
      raw_syscall(SYS_mmap, begin_, kAliasUnit, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  CHECK(first == static_cast<long>(begin_));
  for (std::uint64_t at = begin_ + kAliasUnit; at < end_; at += kAliasUnit) CHECK(map_again(begin_, at));
  populate({begin_, end_}, Populate::ForWriting);
}

void TraceBuffer::use_budget_view() {
  begin_ = end_ - kFirstViewBytes;
  map_alias();
  aliased_ = true;
}

void TraceBuffer::grow_budget_view() {
  if (room() >= kMostBytes) return;
  const std::uint64_t from = std::max(end_ - kMostBytes, begin_ - room());
  for (std::uint64_t at = from; at < begin_; at += kAliasUnit) {
    if (!map_again(begin_, at)) return;  // no more mappings for this process: it stays as it is
  }
  populate({from, begin_}, Populate::ForWriting);
  begin_ = from;
}

// A child begins as small as any process: most go on to another program soon.
void TraceBuffer::after_fork() {
  if (!aliased_) return;
  const std::uint64_t first = end_ - kFirstViewBytes;
  if (begin_ < first) {
    const long result = raw_syscall(SYS_mmap, begin_, first - begin_, PROT_NONE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    CHECK(result == static_cast<long>(begin_));
    begin_ = first;
  }
  map_alias();
}

}  // namespace zs::engine
