#include "engine/translate/direct_table.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>

#include "engine/memory/store_key.h"
#include "engine/raw_syscall.h"

namespace zs::engine {

AddressRange DirectTable::map(AddressRange fixed_code, std::uint64_t most) {
  const auto map = [](AddressRange range) {
    const long at = raw_syscall(SYS_mmap, range.start, range.size(), PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
    return at == static_cast<long>(range.start);
  };
  // Whole pages of the table.
  fixed_code = {fixed_code.start & ~(kPage - 1), (fixed_code.end + kPage - 1) & ~(kPage - 1)};
  if (!fixed_code.empty() && 8 * fixed_code.end < most) {
    bias_ = static_cast<std::uint32_t>(most - 8 * fixed_code.end);
    const AddressRange part = slots(fixed_code);
    if (part.start > fixed_code.end && map(part))
      fixed_code_ = fixed_code;
    else
      bias_ = 0;
  }
  mapped_ = map(slots({kFirst, kEnd}));
  return fixed_code_.empty() ? AddressRange{} : slots(fixed_code_);
}

void DirectTable::unmap() {
  forget();
  if (const AddressRange table = range(); !table.empty()) raw_syscall(SYS_munmap, table.start, table.size());
  mapped_ = false;
}

// Elsewhere the table is no memory of the program's, nor of ours: what it loads or stores there faults.
void DirectTable::map_untouched(AddressRange code) {
  const AddressRange covered = fixed_code_.contains(code.start) ? fixed_code_ : AddressRange{kFirst, kEnd};
  AddressRange mapped{};
  for (std::uint64_t pc = code.start & ~(kStretch - 1); pc < code.end; pc += kStretch) {
    const std::size_t stretch = pc / kStretch;
    if (tried_.test(stretch)) continue;
    tried_.set(stretch);
    const AddressRange part = slots({std::max(covered.start, pc), std::min(covered.end, pc + kStretch)});
    untouched_there_.set(stretch, untouched_.map(part.start, part.size(), miss_));
    mapped = {mapped.empty() ? part.start : mapped.start, part.end};
  }
  if (!mapped.empty()) StoreKey::instance().protect(mapped, PROT_READ | PROT_WRITE);
}

// A page that nobody has written to is left alone where that will do: reading it would already make the kernel look for
// it.
void DirectTable::expect(std::uint64_t pc) {
  if (is_touched(pc)) return;
  map_untouched({pc, pc + 1});
  if (untouched_there_.test(pc / kStretch)) return;
  touch(pc);
  std::fill_n(slot(pc & ~(kPage - 1)), kPage, miss_);
}

void DirectTable::expect_code(AddressRange code) {
  constexpr std::uint64_t kMost = 32 << 20;
  const std::uint64_t end = std::min(code.end, code.start + kMost);
  for (const AddressRange covered : {fixed_code_, AddressRange{kFirst, kEnd}}) {
    const AddressRange part{std::max(code.start, covered.start), std::min(end, covered.end)};
    if (mapped_ && !part.empty()) map_untouched(part);
  }
}

void DirectTable::set(std::uint64_t pc, std::uint64_t entry) {
  expect(pc);
  if (!is_touched(pc)) touch(pc);
  *slot(pc) = entry;
}

// The kernel writes the first entry of each page that is not touched yet: a call for hundreds of them, and no fault.
// Where it may not, the stores behind that do the same one by one.
void DirectTable::set(std::span<const Entry> entries) {
  constexpr std::size_t kAtOnce = 512;
  std::array<iovec, kAtOnce> from, to;
  std::size_t pages = 0;
  const auto write = [&] {
    if (pages != 0)
      raw_syscall(SYS_process_vm_writev, raw_syscall(SYS_getpid), from.data(), pages, to.data(), pages, 0L);
    pages = 0;
  };
  for (const Entry& each : entries) {
    expect(each.pc);
    if (is_touched(each.pc)) continue;
    touch(each.pc);
    from[pages] = {const_cast<std::uint64_t*>(&each.entry), sizeof each.entry};
    to[pages] = {slot(each.pc), sizeof each.entry};
    if (++pages == kAtOnce) write();
  }
  write();
  for (const Entry& each : entries) *slot(each.pc) = each.entry;
}

void DirectTable::clear(std::uint64_t pc) {
  if (is_touched(pc)) *slot(pc) = miss_;
}

void DirectTable::forget() {
  const auto forget = [](AddressRange range) { raw_syscall(SYS_madvise, range.start, range.size(), MADV_DONTNEED); };
  if (mapped_) forget(slots({kFirst, kEnd}));
  if (!fixed_code_.empty()) forget(slots(fixed_code_));
  if (pages_in_use_ != 0) forget({notes_, notes_ + kNoteBytes});
  pages_in_use_ = 0;
}

}  // namespace zs::engine
