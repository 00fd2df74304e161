// In the order of checks that the kernel makes (Linux 6.1 to 6.18: mm/mmap.c, mm/mprotect.c, mm/madvise.c).
#include "engine/memory/guest_map.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/memory/populate.h"
#include "engine/memory/remap.h"
#include "engine/memory/shared_memory.h"
#include "engine/memory/store_key.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

constexpr int kProtections = PROT_READ | PROT_WRITE | PROT_EXEC;
/// The flags that the kernel remembers in a mapping.
constexpr int kKeptFlags = MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_NORESERVE | MAP_LOCKED | MAP_HUGETLB;
constexpr int kProtSem = 0x8;                   // PROT_SEM: accepted, without meaning on x86
constexpr std::uint64_t kLowestHint = 0x10000;  // vm.mmap_min_addr as every distribution sets it
/// Executable memory and shared objects go below 2 GiB; a larger piece would leave no room for the others.
constexpr std::uint64_t kLargestLowMapping = std::uint64_t{256} << 20;

/// What advice is to the engine, whatever the kernel does.
struct Advice {
  int number;
  bool changes_contents = false;  // takes them away, or needs the real page writable
  bool ends_at_a_gap = false;     // at the first address where nothing is; other advice goes on behind it
  void (*note)(GuestMapping&) = nullptr;
};
constexpr bool kChanges = true, kEndsAtAGap = true;

// Numbers where older headers have no names. Not here: those that only say how memory will be used or kept.
// source: Linux 6.18, uapi/asm-generic/mman-common.h
constexpr Advice kAdvice[] = {
    {MADV_DONTNEED, kChanges},
    {MADV_FREE, kChanges},
    {MADV_REMOVE, kChanges},
    {MADV_DONTFORK, !kChanges, !kEndsAtAGap, [](GuestMapping& mapping) { mapping.inherited = false; }},
    {MADV_DOFORK, !kChanges, !kEndsAtAGap, [](GuestMapping& mapping) { mapping.inherited = true; }},
    {MADV_WIPEONFORK, !kChanges, !kEndsAtAGap, [](GuestMapping& mapping) { mapping.wiped = true; }},
    {MADV_KEEPONFORK, !kChanges, !kEndsAtAGap, [](GuestMapping& mapping) { mapping.wiped = false; }},
    {22 /* MADV_POPULATE_READ */, !kChanges, kEndsAtAGap},
    {23 /* MADV_POPULATE_WRITE */, kChanges, kEndsAtAGap},
    {24 /* MADV_DONTNEED_LOCKED */, kChanges},
    {MADV_HWPOISON, kChanges},
    {102 /* MADV_GUARD_INSTALL */, kChanges},
    {103 /* MADV_GUARD_REMOVE */, kChanges},
};

Advice advice_of(int number) {
  const auto* const found = std::ranges::find(kAdvice, number, &Advice::number);
  return found != std::end(kAdvice) ? *found : Advice{number};
}

/// As a dynamic loader maps the variables of a library or program, nearly all of which it relocates at once.
bool is_segment_of_data(const GuestMapping& mapping) {
  constexpr std::uint64_t kLargest = 64 * kPageSize;
  return mapping.kind == MapKind::File && !mapping.shared() && mapping.end - mapping.start <= kLargest &&
         (mapping.prot & kProtections) == (PROT_READ | PROT_WRITE);
}

/// Memory without a file of the program's. Shared, it is a nameless file to the kernel: two mappings of it never merge.
std::shared_ptr<const MappedFile> anonymous_file(int flags) {
  if ((flags & (MAP_HUGETLB | MAP_SHARED)) == 0) return nullptr;
  auto file = std::make_shared<MappedFile>();
  file->path = "/dev/zero (deleted)";
  if ((flags & MAP_HUGETLB) != 0) {
    file->path = "/anon_hugepage (deleted)";
    const unsigned shift = static_cast<unsigned>(flags) >> MAP_HUGE_SHIFT & MAP_HUGE_MASK;
    file->page_size = shift >= 12 && shift < 40 ? std::uint64_t{1} << shift : kHugePageSize;
  }
  return file;
}

}  // namespace

// --- mmap ------------------------------------------------------------------------------------------------------------

long GuestMap::mmap(std::uint64_t address, std::uint64_t length, int prot, int flags, int fd, std::uint64_t offset) {
  space_.follow_grown_stacks();
  const bool anonymous = (flags & MAP_ANONYMOUS) != 0;
  std::shared_ptr<const MappedFile> file;
  if (!anonymous) {
    const GuestMapping* const there = mappings().find(address);
    file = describe_file(fd, there != nullptr || address == 0 ? there : mappings().find(address - 1));
  }
  if (offset % kPageSize != 0 || length == 0 || page_up(length) == 0 || page_up(length) > kTaskSize ||
      (!anonymous && !file)) {
    // Cannot succeed; the kernel knows the error.
    const long result = raw_syscall(SYS_mmap, 0, length, PROT_NONE, flags & ~kPlacementFlags, fd, offset);
    CHECK(is_error(result));
    return result;
  }
  if (anonymous) file = anonymous_file(flags);
  const std::uint64_t unit = file ? file->page_size : kPageSize;
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
    if (exec_gain_.denies(wanted.prot)) return -EACCES;
    return map_at(wanted, flags, fd);
  }

  if (exec_gain_.denies(wanted.prot)) return -EACCES;
  if (!limits_.may_expand(wanted, length)) return -ENOMEM;
  std::uint64_t hint = page_down(address);
  if (hint != 0 && hint < kLowestHint) hint = kLowestHint;
  Zone zone = Zone::High;
  if (flags & MAP_32BIT) {
    zone = Zone::LowOnly;
    if (hint + length > layout().low.end) hint = 0;
  } else if (length <= kLargestLowMapping && ((prot & PROT_EXEC) || (!anonymous && (flags & MAP_DENYWRITE)))) {
    zone = Zone::Low;
  }
  return space_.map_somewhere(std::move(wanted), length, hint, zone, unit, flags, fd);
}

/// Where the program says: MAP_FIXED, MAP_FIXED_NOREPLACE.
long GuestMap::map_at(const GuestMapping& wanted, int flags, int fd) {
  const AddressRange range = wanted.range();
  space_.make_way(range);
  if ((flags & MAP_FIXED_NOREPLACE) != 0) {
    if (!mappings().none_in(range) || space_.placement().is_reserved(range)) return -EEXIST;
    if (!limits_.may_expand(wanted, range.size())) return -ENOMEM;
    return space_.map_exactly(wanted, flags, fd);
  }
  if (!limits_.may_expand(wanted, range.size() - mappings().owned_bytes(range))) return -ENOMEM;
  const bool used_soon = is_segment_of_data(wanted);
  const long result = space_.map_over(wanted, flags, fd);
  if (!is_error(result) && used_soon) populate(range, Populate::ForWriting);
  return result;
}

// --- Protection ------------------------------------------------------------------------------------------------------

long GuestMap::mprotect(std::uint64_t address, std::uint64_t length, int prot) {
  return change_protection(address, length, prot, -1);
}

long GuestMap::pkey_mprotect(std::uint64_t address, std::uint64_t length, int prot, int pkey) {
  StoreKey::instance().leave_others();
  return StoreKey::instance().is(pkey) ? -EINVAL : change_protection(address, length, prot, pkey);
}

long GuestMap::change_protection(std::uint64_t address, std::uint64_t length, int prot, int pkey) {
  space_.follow_grown_stacks();
  const int grows = prot & (PROT_GROWSDOWN | PROT_GROWSUP);
  prot &= ~grows;
  if (grows == (PROT_GROWSDOWN | PROT_GROWSUP) || address % kPageSize != 0) return -EINVAL;
  if (length == 0) return 0;
  AddressRange range{address, address + page_up(length)};
  if (range.empty()) return -ENOMEM;
  if (prot & ~(kProtections | kProtSem)) return -EINVAL;
  const GuestMapping* const first = mappings().at_or_after(range.start);
  if (first == nullptr) return -ENOMEM;
  if (grows == PROT_GROWSDOWN) {
    if (first->start >= range.end) return -ENOMEM;
    if (first->kind != MapKind::Stack && (first->flags & MAP_GROWSDOWN) == 0) return -EINVAL;
    range.start = first->start;
  } else if (first->start > range.start) {
    return -ENOMEM;
  } else if (grows == PROT_GROWSUP) {
    return -EINVAL;  // no such mappings on x86
  }

  for (const GuestMapping& each : mappings().pieces(range)) {
    if (each.start != range.start) return -ENOMEM;  // a gap; what lies before it is done
    if (const long result = change_piece(each, prot, pkey); is_error(result)) return result;
    range.start = each.end;
  }
  return range.start == range.end ? 0 : -ENOMEM;
}

/// `piece` lies in one mapping. pkey: -1 for none
long GuestMap::change_piece(const GuestMapping& piece, int prot, int pkey) {
  const auto wanted = static_cast<std::uint32_t>(prot & kProtections);
  const AddressRange range = piece.range();
  CodeProtection& code = space_.code();
  if (piece.shown_only() || exec_gain_.denies(piece.prot, wanted)) return -EACCES;
  if (!limits_.may_become(piece, wanted)) return -ENOMEM;
  if ((prot & PROT_EXEC) && piece.file && !piece.file->may_execute) return -EACCES;
  const bool loses_exec = (piece.prot & PROT_EXEC) && !(wanted & PROT_EXEC);
  const bool gains_exec = (wanted & PROT_EXEC) && !(piece.prot & PROT_EXEC);
  const bool gains_write = (wanted & PROT_WRITE) && !(piece.prot & PROT_WRITE);
  const bool unchanged = wanted == piece.prot && pkey == -1;
  const bool keeps_code_pages = unchanged || !(wanted & PROT_WRITE);
  if ((piece.prot & PROT_EXEC) && (loses_exec || gains_write || (!keeps_code_pages && code.any_protected_in(range))))
    code.will_change(range);
  if (unchanged && code.any_protected_in(range)) return 0;

  const int real = space_.real().of(static_cast<std::uint32_t>(prot));
  const long result = pkey == -1 ? raw_syscall(SYS_mprotect, range.start, range.size(), real)
                                 : raw_syscall(SYS_pkey_mprotect, range.start, range.size(), real, pkey);
  if (is_error(result)) return result;
  if (gains_exec) code.became_executable(range);
  space_.update(range, [wanted](GuestMapping& mapping) {
    mapping.prot = wanted;
    mapping.charge_if_writable();
  });
  if (!(wanted & PROT_WRITE)) code.forget(range);
  return 0;
}

// --- mremap, madvise, msync, shared memory ---------------------------------------------------------------------------

long GuestMap::mremap(std::uint64_t old_address, std::uint64_t old_length, std::uint64_t new_length, int flags,
                      std::uint64_t new_address) {
  return remap(space_, limits_, {old_address, old_length, new_length, flags, new_address}, kernel_moves_several());
}

// The kernel maps the pages anew, with the protection that they have. What is wrong with the call it says itself.
long GuestMap::remap_file_pages(std::uint64_t address, std::uint64_t size, int prot, std::uint64_t page, int flags) {
  const AddressRange range{address & ~(kPageSize - 1), (address & ~(kPageSize - 1)) + (size & ~(kPageSize - 1))};
  const GuestMapping* const first = mappings().find(range.start);
  if (range.empty() || range.end > kTaskSize || first == nullptr) return -EINVAL;
  space_.code().will_change(range);
  const long result = raw_syscall(SYS_remap_file_pages, address, size, prot, page, flags);
  if (is_error(result)) return result;
  space_.note_gone(range);
  space_.update(range,
                [&](GuestMapping& mapping) { mapping.offset = page * kPageSize + (mapping.start - range.start); });
  return result;
}

long GuestMap::madvise(std::uint64_t address, std::uint64_t length, int advice) {
  space_.follow_grown_stacks();
  const AddressRange range{address, address + page_up(length)};
  if (address % kPageSize != 0 || range.empty() || range.end > kTaskSize) {
    if (range.end > kTaskSize && !range.empty() && address % kPageSize == 0) return -ENOMEM;
    return raw_syscall(SYS_madvise, address, length, advice);  // EINVAL, or 0 for an empty range
  }
  if (const long result = raw_syscall(SYS_madvise, address, 0, advice); is_error(result)) return result;
  const Advice about = advice_of(advice);
  std::uint64_t at = range.start;
  for (const AddressRange part : mappings().owned(range)) {
    if (part.start != at && about.ends_at_a_gap) return -ENOMEM;
    if (about.changes_contents) space_.code().will_change(part);
    const long result = raw_syscall(SYS_madvise, part.start, part.size(), advice);
    if (is_error(result)) return result;
    if (about.note != nullptr) space_.update(part, about.note);
    if (part.start == at) at = part.end;
  }
  return at == range.end ? 0 : -ENOMEM;
}

long GuestMap::msync(std::uint64_t address, std::uint64_t length, int flags) {
  return raw_syscall(SYS_msync, address, length, flags);
}

long GuestMap::shmat(int id, std::uint64_t address, int flags) {
  const bool writes = (flags & SHM_RDONLY) == 0;
  if ((flags & SHM_EXEC) != 0 && exec_gain_.denies(PROT_READ | PROT_EXEC | (writes ? PROT_WRITE : 0))) return -EACCES;
  return attach_shared_memory(space_, limits_, id, address, flags);
}

long GuestMap::shmdt(std::uint64_t address) { return detach_shared_memory(space_, address); }

// --- The loader, children --------------------------------------------------------------------------------------------

std::optional<std::uint64_t> GuestMap::find_low(std::uint64_t length, std::uint64_t alignment) const {
  return space_.placement().place(Zone::Low, length, alignment);
}

void GuestMap::adopt(AddressRange range, int prot, MapKind kind) {
  space_.forget(range);
  space_.add({.start = range.start,
              .end = range.end,
              .prot = static_cast<std::uint32_t>(prot),
              .flags = MAP_PRIVATE,
              .kind = kind});
}

void GuestMap::become_native() {
  space_.code().open({0, kTaskSize});
  mappings().for_each([](const GuestMapping& mapping) {
    if ((mapping.prot & PROT_EXEC) != 0 && !mapping.shown_only())
      raw_syscall(SYS_mprotect, mapping.start, mapping.range().size(), mapping.prot);
  });
}

void GuestMap::in_forked_child() {
  exec_gain_.begin(exec_gain_.inherited_bits());
  std::vector<AddressRange> gone;
  mappings().for_each([&](const GuestMapping& mapping) {
    if (!mapping.inherited) gone.push_back(mapping.range());
    if (mapping.wiped) space_.code().will_change(mapping.range());
  });
  for (const AddressRange range : gone) {
    space_.code().will_change(range);
    space_.forget(range);
  }
}

}  // namespace zs::engine
