#include "engine/translate/code_cache.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "engine/memory/populate.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

constexpr std::size_t kStubBytes = 64 << 10;
constexpr std::size_t kSlotBytes = 2 * Window::kTraceBytes + kPageSize;  // and of the block that runs into the guard
constexpr std::size_t kNoteBytes = sizeof(MarkNote) * Window::kMostBudget + kPageSize;  // likewise
constexpr std::size_t kDirectPagesBytes = page_up(Window::kDirectEnd / Window::kDirectPage / 8);
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

std::size_t Window::bytes_needed(std::size_t code_bytes) {
  return kContextBytes + kTableBytes + kRoomToGrow + kTraceBytes + kGuardBytes + kStubBytes + page_up(code_bytes) +
         kSlotBytes + kNoteBytes + kDirectPagesBytes;
}

Window::View Window::lay_out(std::uint64_t base, std::size_t code_bytes) {
  View view;
  view.table = base + kContextBytes;
  view.trace = view.table + kTableBytes + kRoomToGrow;
  view.trace_end = view.trace + kTraceBytes;
  view.stubs = direct_miss_at(base);
  view.code = view.stubs + kStubBytes;
  view.end = view.code + code_bytes;
  view.slots = page_up(view.end);
  view.notes = view.slots + kSlotBytes;
  return view;
}

void Window::map_view(const View& view) {
  const auto map = [](std::uint64_t at, std::size_t size, int protection) {
    const long result = raw_syscall(SYS_mmap, static_cast<long>(at), static_cast<long>(size), protection,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    CHECK(result == static_cast<long>(at));
  };
  map(view.table - kContextBytes, kContextBytes + kTableBytes, PROT_READ | PROT_WRITE);
  map(view.trace, kTraceBytes, PROT_READ | PROT_WRITE);
  map(view.trace_end, kGuardBytes, PROT_NONE);
  map(view.stubs, view.end - view.stubs, PROT_READ | PROT_WRITE | PROT_EXEC);
  map(view.slots, kSlotBytes + kNoteBytes + kDirectPagesBytes, PROT_READ | PROT_WRITE);
  // Translations of a large program are spread over megabytes: small pages would miss the instruction TLB all the time.
  raw_syscall(SYS_madvise, static_cast<long>(view.stubs), static_cast<long>(view.end - view.stubs), MADV_HUGEPAGE);
}

Window::Window(std::uint64_t base, std::size_t code_bytes, int first_private_fd)
    : base_(base),
      view_(lay_out(base, code_bytes)),
      direct_pages_(view_.notes + kNoteBytes),
      untouched_(first_private_fd) {
  view_.first = true;
  map_view(view_);
}

void Window::add_view(std::uint64_t base, std::size_t code_bytes) {
  other_ = lay_out(base, code_bytes);
  map_view(other_);
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
  view_.direct = map(direct_slots({kDirectFirst, kDirectEnd}));
  return fixed_code_.empty() ? AddressRange{} : direct_slots(fixed_code_);
}

void Window::unmap_direct_table() {
  const bool second = is_second_view();
  if (second) swap_views();
  forget_direct();
  if (const AddressRange table = direct_table(); !table.empty())
    raw_syscall(SYS_munmap, static_cast<long>(table.start), static_cast<long>(table.size()));
  view_.direct = false;
  if (second) swap_views();
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

// A page that nobody has written to is left alone where that will do: reading it would already make the kernel look for
// it.
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

// The kernel writes the first entry of each page that is not touched yet: a call for hundreds of them, and no fault.
// Where it may not, the stores behind that do the same one by one.
void Window::set_direct(std::span<const DirectEntry> entries, std::uint64_t miss) {
  constexpr std::size_t kAtOnce = 512;
  std::array<iovec, kAtOnce> from, to;
  std::size_t pages = 0;
  const auto touch = [&] {
    if (pages != 0)
      raw_syscall(SYS_process_vm_writev, raw_syscall(SYS_getpid), from.data(), pages, to.data(), pages, 0L);
    pages = 0;
  };
  for (const DirectEntry& each : entries) {
    expect_direct(each.pc, miss);
    if (direct_is_touched(each.pc)) continue;
    touch_direct(each.pc);
    from[pages] = {const_cast<std::uint64_t*>(&each.entry), sizeof each.entry};
    to[pages] = {direct_slot(each.pc), sizeof each.entry};
    if (++pages == kAtOnce) touch();
  }
  touch();
  for (const DirectEntry& each : entries) *direct_slot(each.pc) = each.entry;
}

void Window::clear_direct(std::uint64_t pc, std::uint64_t miss) {
  if (direct_is_touched(pc)) *direct_slot(pc) = miss;
}

void Window::forget_direct() {
  const auto forget = [](AddressRange range) {
    raw_syscall(SYS_madvise, static_cast<long>(range.start), static_cast<long>(range.size()), MADV_DONTNEED);
  };
  if (!view_.first) return;  // it is the other view's
  if (view_.direct) forget(direct_slots({kDirectFirst, kDirectEnd}));
  if (!fixed_code_.empty()) forget(direct_slots(fixed_code_));
  forget({direct_pages_, direct_pages_ + kDirectPagesBytes});
  direct_pages_in_use_ = 0;
}

void Window::trip() const {
  raw_syscall(SYS_mprotect, static_cast<long>(view_.trace), static_cast<long>(view_.trace_end - view_.trace),
              PROT_NONE);
}

void Window::untrip() const {
  raw_syscall(SYS_mprotect, static_cast<long>(view_.trace), static_cast<long>(view_.trace_end - view_.trace),
              PROT_READ | PROT_WRITE);
}

void Window::map_alias(const View& view) {
  // Without a descriptor: the program may have taken all that there can be.
  const long first = raw_syscall(SYS_mmap, static_cast<long>(view.trace), kAliasUnit, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  CHECK(first == static_cast<long>(view.trace));
  for (std::uint64_t at = view.trace + kAliasUnit; at < view.trace_end; at += kAliasUnit)
    CHECK(map_again(view.trace, at));
  populate({view.trace, view.trace_end}, Populate::ForWriting);
}

void Window::use_budget_view() {
  map_alias(view_);
  view_.aliased = true;
}

void Window::grow_budget_view() {
  if (view_.trace_end - view_.trace >= kMostBudget) return;
  const std::uint64_t from = std::max(view_.trace_end - kMostBudget, view_.trace - (view_.trace_end - view_.trace));
  for (std::uint64_t at = from; at < view_.trace; at += kAliasUnit) {
    if (!map_again(view_.trace, at)) return;  // no more mappings for this process: it stays as it is
  }
  populate({from, view_.trace}, Populate::ForWriting);
  view_.trace = from;
}

// A child begins as small as any process: most go on to another program soon.
void Window::restart_alias(View& view) {
  if (!view.aliased) return;
  const std::uint64_t first = view.trace_end - kTraceBytes;
  if (view.trace < first) {
    const long result = raw_syscall(SYS_mmap, static_cast<long>(view.trace), static_cast<long>(first - view.trace),
                                    PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    CHECK(result == static_cast<long>(view.trace));
    view.trace = first;
  }
  map_alias(view);
}

void Window::after_fork() {
  restart_alias(view_);
  restart_alias(other_);
}

}  // namespace zs::engine
