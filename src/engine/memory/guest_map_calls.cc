// GuestMap: the memory system calls, in the order of checks that the kernel makes (Linux 6.1 to 6.18: mm/mmap.c,
// mm/mprotect.c, mm/mremap.c, mm/madvise.c).
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/memory/guest_map.h"
#include "engine/memory/populate.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

constexpr int kProtections = PROT_READ | PROT_WRITE | PROT_EXEC;
constexpr int kPlacementFlags = MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_32BIT;
/// The flags that the kernel remembers in a mapping.
constexpr int kKeptFlags = MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_NORESERVE | MAP_LOCKED | MAP_HUGETLB;
constexpr int kProtSem = 0x8;                   // PROT_SEM: accepted, without meaning on x86
constexpr std::uint64_t kLowestHint = 0x10000;  // vm.mmap_min_addr as every distribution sets it
/// Executable memory and shared objects go below 2 GiB; a larger piece would leave no room for the others.
constexpr std::uint64_t kLargestLowMapping = std::uint64_t{256} << 20;
constexpr std::uint64_t kUnlimitedStack = std::uint64_t{1} << 30;

/// Advice that takes contents away (or, POPULATE_WRITE, needs the real page writable).
bool advice_changes_contents(int advice) {
  constexpr int kDontneedLocked = 24, kGuardInstall = 102, kGuardRemove = 103, kPopulateWrite = 23;
  switch (advice) {
    case MADV_DONTNEED:
    case MADV_FREE:
    case MADV_REMOVE:
    case kDontneedLocked:
    case kGuardInstall:
    case kGuardRemove:
    case kPopulateWrite: return true;
    default: return false;
  }
}

/// As a dynamic loader maps the variables of a library or program, nearly all of which it relocates at once.
bool is_segment_of_data(const GuestMapping& mapping) {
  constexpr std::uint64_t kLargest = 64 * kPageSize;
  return mapping.kind == MapKind::File && !mapping.shared() && mapping.end - mapping.start <= kLargest &&
         (mapping.prot & kProtections) == (PROT_READ | PROT_WRITE);
}

/// Shared anonymous memory is a nameless file to the kernel: two mappings of it never merge.
std::shared_ptr<const MappedFile> anonymous_file(const char* name, std::uint64_t page_size) {
  auto file = std::make_shared<MappedFile>();
  file->path = name;
  file->page_size = page_size;
  return file;
}

}  // namespace

// --- mmap, munmap ----------------------------------------------------------------------------------------------------

long GuestMap::mmap(std::uint64_t address, std::uint64_t length, int prot, int flags, int fd, std::uint64_t offset) {
  follow_grown_stacks();
  const bool anonymous = (flags & MAP_ANONYMOUS) != 0;
  std::shared_ptr<const MappedFile> file = anonymous ? nullptr : describe_file(fd);
  if (offset % kPageSize != 0 || length == 0 || page_up(length) == 0 || page_up(length) > kTaskSize ||
      (!anonymous && !file)) {
    // Cannot succeed; the kernel knows the error.
    const long result = raw_syscall(SYS_mmap, 0, length, PROT_NONE, flags & ~kPlacementFlags, fd, offset);
    CHECK(is_error(result));
    return result;
  }

  std::uint64_t unit = file ? file->page_size : kPageSize;
  if (anonymous && (flags & MAP_HUGETLB)) {
    const unsigned shift = static_cast<unsigned>(flags) >> MAP_HUGE_SHIFT & MAP_HUGE_MASK;
    unit = shift >= 12 && shift < 40 ? std::uint64_t{1} << shift : kHugePageSize;
    file = anonymous_file("/anon_hugepage (deleted)", unit);
  } else if (anonymous && (flags & MAP_SHARED)) {
    file = anonymous_file("/dev/zero (deleted)", kPageSize);
  }
  length = (length + unit - 1) & ~(unit - 1);

  if ((prot & PROT_EXEC) && file && !file->may_execute) {
    const long mode = raw_syscall(SYS_fcntl, fd, F_GETFL);
    return !is_error(mode) && (mode & O_ACCMODE) == O_WRONLY ? -EACCES : -EPERM;
  }

  GuestMapping wanted;
  wanted.prot = static_cast<std::uint32_t>(prot & kProtections);
  wanted.flags = static_cast<std::uint32_t>((flags & kKeptFlags) | (flags & MAP_SHARED ? MAP_SHARED : MAP_PRIVATE));
  wanted.offset = anonymous ? 0 : offset;
  wanted.kind = anonymous ? MapKind::Anonymous : MapKind::File;
  wanted.file = std::move(file);
  wanted.charge_if_writable();

  if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) {
    if (length > kTaskSize || address > kTaskSize - length) return -ENOMEM;
    if (address & (unit - 1)) return -EINVAL;
    wanted.start = address;
    wanted.end = address + length;
    make_way(wanted.range());
    if ((flags & MAP_FIXED_NOREPLACE) == 0) {
      if (!may_expand(wanted, length - mapped_bytes(wanted.range()))) return -ENOMEM;
      const AddressRange segment = is_segment_of_data(wanted) ? wanted.range() : AddressRange{};
      const long result = map_over(wanted, flags, fd);
      if (!is_error(result) && !segment.empty()) populate(segment, Populate::ForWriting);
      return result;
    }
    if (!untouched(wanted.range()) || is_engine_range(wanted.range())) return -EEXIST;
    if (!may_expand(wanted, length)) return -ENOMEM;
    return map_exactly(wanted, flags, fd);
  }

  if (!may_expand(wanted, length)) return -ENOMEM;
  std::uint64_t hint = page_down(address);
  if (hint != 0 && hint < kLowestHint) hint = kLowestHint;
  Zone zone = Zone::High;
  if (flags & MAP_32BIT) {
    zone = Zone::LowOnly;
    if (hint + length > layout_.low.end) hint = 0;
  } else if (length <= kLargestLowMapping && ((prot & PROT_EXEC) || (!anonymous && (flags & MAP_DENYWRITE)))) {
    zone = Zone::Low;
  }
  return map_somewhere(std::move(wanted), length, hint, zone, unit, flags, fd);
}

long GuestMap::map_at(std::uint64_t address, std::uint64_t length, int prot, int flags, int fd, std::uint64_t offset) {
  return mmap(address, length, prot, flags | MAP_FIXED_NOREPLACE, fd, offset);
}

long GuestMap::munmap(std::uint64_t address, std::uint64_t length) {
  follow_grown_stacks();
  if (address % kPageSize != 0 || address > kTaskSize || length > kTaskSize - address || page_up(length) == 0) {
    return -EINVAL;
  }
  const AddressRange range{address, address + page_up(length)};
  code_will_change(range);
  for (const AddressRange part : owned(range)) {
    const long result = raw_syscall(SYS_munmap, part.start, part.size());
    if (is_error(result)) return result;
    erase(part);
  }
  erase(range);  // what is only shown
  return 0;
}

// --- Protection ------------------------------------------------------------------------------------------------------

long GuestMap::mprotect(std::uint64_t address, std::uint64_t length, int prot) {
  return change_protection(address, length, prot, -1);
}

long GuestMap::pkey_mprotect(std::uint64_t address, std::uint64_t length, int prot, int pkey) {
  return change_protection(address, length, prot, pkey);
}

long GuestMap::change_protection(std::uint64_t address, std::uint64_t length, int prot, int pkey) {
  follow_grown_stacks();
  const int grows = prot & (PROT_GROWSDOWN | PROT_GROWSUP);
  prot &= ~grows;
  if (grows == (PROT_GROWSDOWN | PROT_GROWSUP) || address % kPageSize != 0) return -EINVAL;
  if (length == 0) return 0;
  AddressRange range{address, address + page_up(length)};
  if (range.empty()) return -ENOMEM;
  if (prot & ~(kProtections | kProtSem)) return -EINVAL;
  const auto first = at_or_after(range.start);
  if (first == mappings_.end()) return -ENOMEM;
  if (grows == PROT_GROWSDOWN) {
    if (first->first >= range.end) return -ENOMEM;
    if (first->second.kind != MapKind::Stack && (first->second.flags & MAP_GROWSDOWN) == 0) return -EINVAL;
    range.start = first->first;
  } else if (first->first > range.start) {
    return -ENOMEM;
  } else if (grows == PROT_GROWSUP) {
    return -EINVAL;  // no such mappings on x86
  }

  for (const GuestMapping& each : pieces(range)) {
    if (each.start != range.start) return -ENOMEM;  // a gap; what lies before it is done
    if (each.shown_only()) return -EACCES;
    if (!may_become_data(each, static_cast<std::uint32_t>(prot & kProtections))) return -ENOMEM;
    if ((prot & PROT_EXEC) && each.file && !each.file->may_execute) return -EACCES;
    const auto wanted = static_cast<std::uint32_t>(prot & kProtections);
    const bool loses_exec = (each.prot & PROT_EXEC) && !(wanted & PROT_EXEC);
    const bool gains_exec = (wanted & PROT_EXEC) && !(each.prot & PROT_EXEC);
    const bool gains_write = (wanted & PROT_WRITE) && !(each.prot & PROT_WRITE);
    const bool unchanged = wanted == each.prot && pkey == -1;
    const bool keeps_code_pages = unchanged || !(wanted & PROT_WRITE);
    if ((each.prot & PROT_EXEC) && (loses_exec || gains_write || (!keeps_code_pages && has_code_pages(each.range())))) {
      code_will_change(each.range());
    }
    if (!(unchanged && has_code_pages(each.range()))) {
      const long result = pkey == -1
                              ? raw_syscall(SYS_mprotect, each.start, each.range().size(), real_prot(prot))
                              : raw_syscall(SYS_pkey_mprotect, each.start, each.range().size(), real_prot(prot), pkey);
      if (is_error(result)) return result;
      if (gains_exec && listener_ != nullptr) listener_->code_changed(each.start, each.end);
      update(each.range(), [wanted](GuestMapping& mapping) {
        mapping.prot = wanted;
        mapping.charge_if_writable();
      });
      if (!(wanted & PROT_WRITE)) {
        code_pages_.erase(code_pages_.lower_bound(each.start), code_pages_.lower_bound(each.end));
      }
    }
    range.start = each.end;
  }
  return range.start == range.end ? 0 : -ENOMEM;
}

// --- mremap ----------------------------------------------------------------------------------------------------------

long GuestMap::mremap(std::uint64_t old_address, std::uint64_t old_length, std::uint64_t new_length, int flags,
                      std::uint64_t new_address) {
  follow_grown_stacks();
  const bool may_move = (flags & MREMAP_MAYMOVE) != 0;
  const bool fixed = (flags & MREMAP_FIXED) != 0;
  const bool keep_old = (flags & MREMAP_DONTUNMAP) != 0;
  if ((flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP)) || (fixed && !may_move) ||
      (keep_old && (!may_move || old_length != new_length)) || old_address % kPageSize != 0 ||
      page_up(new_length) == 0) {
    return -EINVAL;
  }
  const GuestMapping* found = find(old_address);
  const std::uint64_t unit = found && found->file ? found->file->page_size : kPageSize;
  old_length = (old_length + unit - 1) & ~(unit - 1);
  new_length = (new_length + unit - 1) & ~(unit - 1);
  if (new_length > kTaskSize) return fixed || keep_old ? -EINVAL : found ? -ENOMEM : -EFAULT;
  if (fixed || keep_old) {
    if (new_address % unit != 0 || new_address > kTaskSize - new_length) return -EINVAL;
    if (old_address + old_length > new_address && new_address + new_length > old_address) return -EINVAL;
  }
  if (!found || found->shown_only() || old_length > kTaskSize) return -EFAULT;
  if (old_address % unit != 0) return -EINVAL;
  const GuestMapping source = *found;
  if (old_length == 0 && !source.shared()) return -EINVAL;

  if (!fixed && !keep_old && old_length != 0 && new_length <= old_length) {
    // In place: what lies behind is unmapped, whatever it is.
    if (new_length == old_length) return static_cast<long>(old_address);
    const long result = munmap(old_address + new_length, old_length - new_length);
    return is_error(result) ? result : static_cast<long>(old_address);
  }
  // Moving or growing works within one mapping. (Since 6.17 the kernel also moves several at once if their length
  // stays, some kinds of mapping only, and fails halfway at others.)
  if (old_address + std::min(old_length, new_length) > source.end) return -EFAULT;
  if (new_length > old_length && old_address + old_length > source.end) return -EFAULT;

  if (new_length > old_length && !may_expand(source, new_length - old_length)) return -ENOMEM;
  if (keep_old && !may_expand(source, new_length)) return -ENOMEM;
  if (fixed) return move_to(old_address, old_length, new_length, flags, new_address);
  const AddressRange old_range{old_address, old_address + old_length};
  // Write-protected code pages are mappings of their own to the kernel.
  if (has_code_pages(old_range)) code_will_change(old_range);
  if (!keep_old && old_range.end == source.end && old_length != 0) {
    const long result = grow_in_place(source, old_range, new_length);
    if (result != -ENOMEM) return result;
  }
  if (!may_move) return -ENOMEM;
  return move_anywhere(source, old_range, new_length, flags, keep_old ? new_address : 0);
}

long GuestMap::grow_in_place(const GuestMapping& source, AddressRange old_range, std::uint64_t new_length) {
  const AddressRange growth{old_range.end, old_range.start + new_length};
  if (growth.end > kTaskSize || !untouched(growth) || is_engine_range(growth) || growth.overlaps(layout_.heap) ||
      growth.overlaps(layout_.stack)) {
    return -ENOMEM;
  }
  const long result = raw_syscall(SYS_mremap, old_range.start, old_range.size(), new_length, 0, 0);
  if (is_error(result)) return result;
  GuestMapping more = source;
  more.start = growth.start;
  more.end = growth.end;
  if (more.file) more.offset += growth.start - source.start;
  add(more);
  return result;
}

long GuestMap::move_to(std::uint64_t old_address, std::uint64_t old_length, std::uint64_t new_length, int flags,
                       std::uint64_t new_address) {
  const AddressRange target{new_address, new_address + new_length};
  make_way(target);
  if (touches_tool_memory(target)) return -ENOMEM;
  std::vector<AddressRange> claimed;
  if (const long result = claim(target, claimed); is_error(result)) return result == -EEXIST ? -ENOMEM : result;
  code_will_change(target);
  long result = 0;
  if (old_length > new_length) result = munmap(old_address + new_length, old_length - new_length);
  const AddressRange old_range{old_address, old_address + std::min(old_length, new_length)};
  if (!is_error(result)) result = move(old_range, new_length, flags, new_address);
  if (is_error(result)) {
    for (const AddressRange each : claimed) raw_syscall(SYS_munmap, each.start, each.size());
    resync(target);  // the kernel clears the target before it looks at the rest
  }
  return result;
}

long GuestMap::move_anywhere(const GuestMapping& source, AddressRange old_range, std::uint64_t new_length, int flags,
                             std::uint64_t hint) {
  const std::uint64_t unit = source.file ? source.file->page_size : kPageSize;
  const Zone zone = layout_.low.contains(source.start) ? Zone::Low : Zone::High;
  const auto choose = [&]() -> std::optional<std::uint64_t> {
    if (hint != 0 && hint_is_usable({hint, hint + new_length})) return hint;
    if (!source.file && zone == Zone::High && new_length % kHugePageSize == 0) {
      if (const auto aligned = place(zone, new_length, kHugePageSize)) return aligned;
    }
    return place(zone, new_length, unit);
  };
  for (int attempt = 0; attempt < 2; ++attempt) {
    const std::uint64_t target = choose().value_or(0);
    if (target == 0) return -ENOMEM;
    std::vector<AddressRange> claimed;
    long result = claim({target, target + new_length}, claimed);
    if (result == -EEXIST) {
      reserve_foreign();
      continue;
    }
    if (is_error(result)) return result;
    result = move(old_range, new_length, flags, target);
    if (is_error(result)) raw_syscall(SYS_munmap, target, new_length);
    return result;
  }
  return -ENOMEM;
}

/// The target is claimed: replaces whatever the shadow has there.
long GuestMap::move(AddressRange from, std::uint64_t new_length, int flags, std::uint64_t target) {
  code_will_change(from);
  std::vector<GuestMapping> moved = pieces({from.start, std::max(from.end, from.start + 1)});
  const long result =
      raw_syscall(SYS_mremap, from.start, from.size(), new_length, flags | MREMAP_MAYMOVE | MREMAP_FIXED, target);
  if (is_error(result)) return result;
  if ((flags & MREMAP_DONTUNMAP) == 0) erase(from);
  erase({target, target + new_length});
  for (GuestMapping& piece : moved) {
    const std::uint64_t start = piece.start - from.start + target;
    const bool last = &piece == &moved.back();
    piece.end = last ? target + new_length : piece.end - from.start + target;
    piece.start = start;
    if (piece.kind == MapKind::Heap || piece.kind == MapKind::Stack || piece.kind == MapKind::Arguments) {
      piece.kind = MapKind::Anonymous;
    }
    if (piece.start >= target + new_length) break;
    piece.end = std::min(piece.end, target + new_length);
    add(piece);
  }
  return result;
}

long GuestMap::remap_file_pages(std::uint64_t, std::uint64_t, int, std::uint64_t, int) { return -ENOSYS; }

// --- madvise, msync --------------------------------------------------------------------------------------------------

long GuestMap::madvise(std::uint64_t address, std::uint64_t length, int advice) {
  follow_grown_stacks();
  const AddressRange range{address, address + page_up(length)};
  if (address % kPageSize != 0 || range.empty() || range.end > kTaskSize) {
    if (range.end > kTaskSize && !range.empty() && address % kPageSize == 0) return -ENOMEM;
    return raw_syscall(SYS_madvise, address, length, advice);  // EINVAL, or 0 for an empty range
  }
  if (const long result = raw_syscall(SYS_madvise, address, 0, advice); is_error(result)) return result;
  std::uint64_t at = range.start;
  for (const AddressRange part : owned(range)) {
    if (advice_changes_contents(advice)) code_will_change(part);
    const long result = raw_syscall(SYS_madvise, part.start, part.size(), advice);
    if (is_error(result)) return result;
    if (advice == MADV_DONTFORK || advice == MADV_DOFORK) {
      update(part, [advice](GuestMapping& mapping) { mapping.inherited = advice == MADV_DOFORK; });
    }
    if (part.start == at) at = part.end;
  }
  return at == range.end ? 0 : -ENOMEM;
}

long GuestMap::msync(std::uint64_t address, std::uint64_t length, int flags) {
  return raw_syscall(SYS_msync, address, length, flags);
}

// --- Heap, stack -----------------------------------------------------------------------------------------------------

void GuestMap::set_brk_start(std::uint64_t address) { brk_start_ = brk_end_ = address; }

long GuestMap::brk(std::uint64_t address) {
  follow_grown_stacks();
  const auto unchanged = static_cast<long>(brk_end_);
  if (address < brk_start_ || address > kTaskSize) return unchanged;
  if (address - brk_start_ > data_limit()) return unchanged;
  const std::uint64_t old_page = page_up(brk_end_), new_page = page_up(address);
  if (new_page < old_page) {
    if (is_error(munmap(new_page, old_page - new_page))) return unchanged;
  } else if (new_page > old_page) {
    if (is_error(grow_heap(old_page, new_page))) return unchanged;
  }
  brk_end_ = address;
  return static_cast<long>(address);
}

long GuestMap::grow_heap(std::uint64_t from, std::uint64_t to) {
  if (to > layout_.heap.end || !untouched({from, to + kPageSize})) return -ENOMEM;
  GuestMapping wanted{.start = from,
                      .end = to,
                      .prot = PROT_READ | PROT_WRITE,
                      .flags = MAP_PRIVATE | MAP_ANONYMOUS,
                      .kind = MapKind::Heap};
  if (!may_expand(wanted, to - from)) return -ENOMEM;
  return map_exactly(wanted, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

long GuestMap::map_stack(std::uint64_t soft_limit_bytes, bool executable) {
  const std::uint64_t most = layout_.stack_top() - layout_.stack.start;
  const std::uint64_t bytes =
      std::clamp(page_up(std::min(soft_limit_bytes, kUnlimitedStack)), 32 * kPageSize, page_down(most));
  const auto prot = static_cast<std::uint32_t>(PROT_READ | PROT_WRITE | (executable ? PROT_EXEC : 0));
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  const GuestMapping stack{.start = layout_.stack_top() - bytes,
                           .end = layout_.stack_top(),
                           .prot = prot,
                           .flags = kFlags,
                           .kind = MapKind::Stack};
  if (const long result = map_exactly(stack, kFlags | MAP_STACK, -1); is_error(result)) return result;
  const GuestMapping arguments{.start = layout_.stack_top(),
                               .end = layout_.stack.end,
                               .prot = prot,
                               .flags = kFlags,
                               .kind = MapKind::Arguments};
  if (const long result = map_exactly(arguments, kFlags | MAP_STACK, -1); is_error(result)) return result;
  // As in the kernel's stacks: a touched page must not become 2 MiB. An error means that there are no huge pages at
  // all.
  raw_syscall(SYS_madvise, stack.start, layout_.stack.end - stack.start, MADV_NOHUGEPAGE);
  return 0;
}

void GuestMap::set_stack_limit(std::uint64_t soft_limit_bytes) {
  const GuestMapping* found = find(layout_.stack_top() - 1);
  if (!found || found->kind != MapKind::Stack) return;
  GuestMapping more = *found;
  const std::uint64_t bytes = page_up(std::min(soft_limit_bytes, kUnlimitedStack));
  const std::uint64_t start = layout_.stack_top() - std::min(bytes, layout_.stack_top() - layout_.stack.start);
  if (start > more.start) return lower_stack_limit(bytes);
  if (start == more.start || !untouched({start, more.start})) return;
  more.end = more.start;
  more.start = start;
  if (is_error(map_exactly(more, static_cast<int>(more.flags) | MAP_STACK, -1))) return;
  raw_syscall(SYS_madvise, start, more.end - start, MADV_NOHUGEPAGE);
}

void GuestMap::adopt(AddressRange range, int prot, MapKind kind) {
  erase(range);
  add({.start = range.start,
       .end = range.end,
       .prot = static_cast<std::uint32_t>(prot),
       .flags = MAP_PRIVATE,
       .kind = kind});
}

void GuestMap::in_forked_child() {
  std::vector<AddressRange> gone;
  for (const auto& [start, mapping] : mappings_) {
    if (!mapping.inherited) gone.push_back(mapping.range());
  }
  for (const AddressRange range : gone) {
    code_will_change(range);
    erase(range);
  }
}

}  // namespace zs::engine
