// GuestMap: what the program's limits allow it to map.
// source: Linux, mm/mmap.c: may_expand_vm(), is_data_mapping()
#include <sys/mman.h>

#include <algorithm>

#include "engine/memory/guest_map.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

/// What the kernel has mapped of a stack when a program begins, with its arguments. Ours is there whole.
constexpr std::uint64_t kFirstStackBytes = 132 << 10;

bool is_data(const GuestMapping& mapping) {
  return (mapping.prot & PROT_WRITE) != 0 && !mapping.shared() && mapping.kind != MapKind::Stack &&
         mapping.kind != MapKind::Arguments && (mapping.flags & MAP_GROWSDOWN) == 0;
}

std::uint64_t counted(const GuestMapping& mapping) {
  if (mapping.kind == MapKind::Arguments) return 0;
  return mapping.kind == MapKind::Stack ? std::min(mapping.range().size(), kFirstStackBytes) : mapping.range().size();
}

}  // namespace

std::uint64_t GuestMap::data_limit() const {
  if (limits_ != nullptr) return limits_->data();
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  raw_syscall(SYS_prlimit64, 0, RLIMIT_DATA, nullptr, &limit);
  return limit.rlim_cur;
}

bool GuestMap::may_expand(const GuestMapping& like, std::uint64_t bytes) const {
  if (limits_ == nullptr || !limits_->any()) return true;
  std::uint64_t all = 0, data = 0;
  for (const auto& [start, mapping] : mappings_) {
    all += counted(mapping);
    if (is_data(mapping)) data += mapping.range().size();
  }
  const auto fits = [bytes](std::uint64_t used, std::uint64_t limit) {
    return bytes <= limit && used <= limit - bytes;
  };
  return fits(all, page_down(limits_->address_space())) && (!is_data(like) || fits(data, page_down(limits_->data())));
}

bool GuestMap::may_become_data(const GuestMapping& piece, std::uint32_t prot) const {
  GuestMapping changed = piece;
  changed.prot = prot;
  if (is_data(piece) || !is_data(changed)) return true;
  return may_expand(changed, changed.range().size()) || !may_expand(piece, piece.range().size());
}

/// Of `range`, that the program has mapped already.
std::uint64_t GuestMap::mapped_bytes(AddressRange range) const {
  std::uint64_t bytes = 0;
  for (const AddressRange part : owned(range)) bytes += part.size();
  return bytes;
}

/// Pages that nobody has touched lie below the lowest that is in memory.
void GuestMap::lower_stack_limit(std::uint64_t bytes) {
  const GuestMapping* const found = find(layout_.stack_top() - 1);
  if (found == nullptr || found->kind != MapKind::Stack) return;
  const AddressRange stack = found->range();
  std::uint64_t lowest = stack.start;
  unsigned char present[256];
  for (bool any = false; lowest < stack.end && !any;) {
    const std::uint64_t pages = std::min<std::uint64_t>(sizeof present, (stack.end - lowest) / kPageSize);
    if (is_error(raw_syscall(SYS_mincore, lowest, pages * kPageSize, present))) return;
    const auto* const first =
        std::find_if(present, present + pages, [](unsigned char page) { return (page & 1) != 0; });
    any = first != present + pages;
    lowest += static_cast<std::uint64_t>(first - present) * kPageSize;
  }
  const std::uint64_t keep =
      std::min({lowest, stack.end - std::min(bytes, stack.size()), stack.end - kFirstStackBytes});
  if (keep > stack.start) munmap(stack.start, keep - stack.start);
}

}  // namespace zs::engine
