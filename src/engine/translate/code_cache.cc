#include "engine/translate/code_cache.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/check.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

constexpr std::size_t kStubBytes = 64 << 10;
constexpr std::size_t kSlotBytes = 2 * Window::kTraceBytes + kPageSize;  // and of the block that runs into the guard
constexpr std::size_t kNoteBytes = sizeof(MarkNote) * Window::kMostBudget + kPageSize;  // likewise
constexpr std::size_t kDirectPagesBytes = page_up(Window::kDirectEnd / Window::kDirectPage / 8);
// What the budget view repeats. Larger: fewer mappings to make, unmap and trip. Smaller: less of the first-level cache
// written over. Measured: 4 KiB to 16 KiB saves 0.27 of 10.7 ms for /bin/true, and again at each fork; a Python loop runs alike.
constexpr std::size_t kAliasUnit = 16 << 10;

}  // namespace

std::size_t Window::bytes_needed(std::size_t code_bytes) {
  return kContextBytes + kTableBytes + kRoomToGrow + kTraceBytes + kGuardBytes + kStubBytes + page_up(code_bytes) +
         kSlotBytes + kNoteBytes + kDirectPagesBytes;
}

Window::Window(std::uint64_t base, std::size_t code_bytes, int first_private_fd)
    : base_(base),
      table_(base_ + kContextBytes),
      trace_(table_ + kTableBytes + kRoomToGrow),
      trace_end_(trace_ + kTraceBytes),
      stubs_(direct_miss_at(base)),
      code_(stubs_ + kStubBytes),
      end_(code_ + code_bytes),
      slots_(page_up(end_)),
      notes_(slots_ + kSlotBytes),
      direct_pages_(notes_ + kNoteBytes),
      untouched_(first_private_fd) {
  const auto map = [](std::uint64_t at, std::size_t size, int protection) {
    const long result = raw_syscall(SYS_mmap, static_cast<long>(at), static_cast<long>(size), protection,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    CHECK(result == static_cast<long>(at));
  };
  map(base_, kContextBytes + kTableBytes, PROT_READ | PROT_WRITE);
  map(trace_, kTraceBytes, PROT_READ | PROT_WRITE);
  map(trace_end_, kGuardBytes, PROT_NONE);
  map(stubs_, kStubBytes + code_bytes, PROT_READ | PROT_WRITE | PROT_EXEC);
  map(slots_, kSlotBytes + kNoteBytes + kDirectPagesBytes, PROT_READ | PROT_WRITE);
  // Translations of a large program are spread over megabytes: small pages would miss the instruction TLB all the time.
  raw_syscall(SYS_madvise, static_cast<long>(stubs_), static_cast<long>(kStubBytes + code_bytes), MADV_HUGEPAGE);
}

void Window::clear_table(std::uint64_t address, std::uint64_t miss) const {
  if (untouched_.map(address, kTableEntries * sizeof(std::uint64_t), miss)) return;
  std::fill_n(reinterpret_cast<std::uint64_t*>(address), kTableEntries, miss);
}

AddressRange Window::map_direct_table(AddressRange fixed_code) {
  const auto map = [](AddressRange range) {
    const long at =
        raw_syscall(SYS_mmap, static_cast<long>(range.start), static_cast<long>(range.size()), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
    return at == static_cast<long>(range.start);
  };
  // Whole pages of the table.
  fixed_code = {fixed_code.start & ~(kDirectPage - 1), (fixed_code.end + kDirectPage - 1) & ~(kDirectPage - 1)};
  if (!fixed_code.empty() && 8 * fixed_code.end < base_) {
    bias_ = static_cast<std::uint32_t>(base_ - 8 * fixed_code.end);
    const AddressRange slots = direct_slots(fixed_code);
    if (slots.start > fixed_code.end && map(slots))
      fixed_code_ = fixed_code;
    else
      bias_ = 0;
  }
  direct_ = map(direct_slots({kDirectFirst, kDirectEnd}));
  return fixed_code_.empty() ? AddressRange{} : direct_slots(fixed_code_);
}

void Window::unmap_direct_table() {
  forget_direct();
  if (const AddressRange table = direct_table(); !table.empty())
    raw_syscall(SYS_munmap, static_cast<long>(table.start), static_cast<long>(table.size()));
  direct_ = false;
}

bool Window::map_untouched(std::uint64_t pc, std::uint64_t miss) {
  const std::size_t stretch = pc / kDirectStretch;
  if (!tried_.test(stretch)) {
    tried_.set(stretch);
    const AddressRange covered = fixed_code_.contains(pc) ? fixed_code_ : AddressRange{kDirectFirst, kDirectEnd};
    const AddressRange slots = direct_slots(
        {std::max(covered.start, stretch * kDirectStretch), std::min(covered.end, (stretch + 1) * kDirectStretch)});
    mapped_.set(stretch, untouched_.map(slots.start, slots.size(), miss));
  }
  return mapped_.test(stretch);
}

// A page that nobody has written to is left alone where that will do: reading it would already make the kernel look for it.
void Window::expect_direct(std::uint64_t pc, std::uint64_t miss) {
  if (direct_is_touched(pc) || map_untouched(pc, miss)) return;
  touch_direct(pc);
  std::fill_n(direct_slot(pc & ~(kDirectPage - 1)), kDirectPage, miss);
}

void Window::expect_code(AddressRange code) {
  constexpr std::uint64_t kMost = 32 << 20;
  const std::uint64_t end = std::min(code.end, code.start + kMost);
  for (std::uint64_t pc = code.start; pc < end; pc = (pc / kDirectStretch + 1) * kDirectStretch) {
    if (direct_covers(pc)) map_untouched(pc, stubs_begin());
  }
}

void Window::set_direct(std::uint64_t pc, std::uint64_t entry, std::uint64_t miss) {
  expect_direct(pc, miss);
  if (!direct_is_touched(pc)) touch_direct(pc);
  *direct_slot(pc) = entry;
}

void Window::clear_direct(std::uint64_t pc, std::uint64_t miss) {
  if (direct_is_touched(pc)) *direct_slot(pc) = miss;
}

void Window::forget_direct() {
  const auto forget = [](AddressRange range) {
    raw_syscall(SYS_madvise, static_cast<long>(range.start), static_cast<long>(range.size()), MADV_DONTNEED);
  };
  if (direct_) forget(direct_slots({kDirectFirst, kDirectEnd}));
  if (!fixed_code_.empty()) forget(direct_slots(fixed_code_));
  forget({direct_pages_, direct_pages_ + kDirectPagesBytes});
  direct_pages_in_use_ = 0;
}

void Window::trip() const {
  raw_syscall(SYS_mprotect, static_cast<long>(trace_), static_cast<long>(trace_end_ - trace_), PROT_NONE);
}

void Window::untrip() const {
  raw_syscall(SYS_mprotect, static_cast<long>(trace_), static_cast<long>(trace_end_ - trace_), PROT_READ | PROT_WRITE);
}

void Window::map_alias() {
  const long fd = raw_syscall(SYS_memfd_create, reinterpret_cast<long>("zeroskid-budget"), MFD_CLOEXEC);
  CHECK(fd >= 0);
  CHECK(raw_syscall(SYS_ftruncate, fd, kAliasUnit) == 0);
  for (std::uint64_t at = trace_; at < trace_end_; at += kAliasUnit) {
    const long result =
        raw_syscall(SYS_mmap, static_cast<long>(at), kAliasUnit, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    CHECK(result == static_cast<long>(at));
  }
  raw_syscall(SYS_close, fd);
}

void Window::use_budget_view() {
  map_alias();
  aliased_ = true;
}

// What has no old size is not moved but mapped a second time.
void Window::grow_budget_view() {
  if (trace_end_ - trace_ >= kMostBudget) return;
  const std::uint64_t from = std::max(trace_end_ - kMostBudget, trace_ - (trace_end_ - trace_));
  for (std::uint64_t at = from; at < trace_; at += kAliasUnit) {
    const long result = raw_syscall(SYS_mremap, static_cast<long>(trace_), 0, kAliasUnit, MREMAP_MAYMOVE | MREMAP_FIXED,
                                    static_cast<long>(at));
    if (result != static_cast<long>(at)) return;  // no more mappings for this process: it stays as it is
  }
  trace_ = from;
}

// A child begins as small as any process: most go on to another program soon.
void Window::after_fork() {
  if (!aliased_) return;
  const std::uint64_t first = trace_end_ - kTraceBytes;
  if (trace_ < first) {
    const long result = raw_syscall(SYS_mmap, static_cast<long>(trace_), static_cast<long>(first - trace_), PROT_NONE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    CHECK(result == static_cast<long>(trace_));
    trace_ = first;
  }
  map_alias();
}

}  // namespace zs::engine
