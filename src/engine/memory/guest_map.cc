#include "engine/memory/guest_map.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/check.h"
#include "engine/memory/real_maps.h"
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
constexpr long kHugetlbfsMagic = 0x958458f6;
constexpr long kStatfsNoExec = 8;  // ST_NOEXEC

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

/// Mapped by the tool, shown to the program: never really changed for it.
bool is_shown_only(const GuestMapping& mapping) {
  return mapping.kind == MapKind::Vdso || mapping.kind == MapKind::Vvar;
}

bool same_file(const std::shared_ptr<const MappedFile>& a, const std::shared_ptr<const MappedFile>& b) {
  if (a == b) return true;
  return a && b && a->inode != 0 && a->inode == b->inode && a->device_major == b->device_major &&
         a->device_minor == b->device_minor && a->path == b->path && a->may_execute == b->may_execute;
}

bool mergeable(const GuestMapping& left, const GuestMapping& right) {
  return left.end == right.start && left.prot == right.prot && left.flags == right.flags && left.kind == right.kind &&
         left.inherited == right.inherited && left.charged == right.charged && same_file(left.file, right.file) &&
         (!left.file || left.offset + left.range().size() == right.offset);
}

void charge_if_writable(GuestMapping& mapping) {
  if (mapping.kind == MapKind::File && (mapping.prot & PROT_WRITE) && !(mapping.flags & (MAP_SHARED | MAP_NORESERVE))) {
    mapping.charged = true;
  }
}

long real_mmap(AddressRange where, int prot, int flags, int fd, std::uint64_t offset) {
  return raw_syscall(SYS_mmap, where.start, where.size(), prot, flags, fd, offset);
}

/// Null if `fd` is no open descriptor.
std::shared_ptr<const MappedFile> describe_file(int fd) {
  struct stat status;
  if (is_error(raw_syscall(SYS_fstat, fd, &status))) return nullptr;
  auto file = std::make_shared<MappedFile>();
  file->device_major = static_cast<std::uint32_t>(major(status.st_dev));
  file->device_minor = static_cast<std::uint32_t>(minor(status.st_dev));
  file->inode = status.st_ino;
  struct statfs system;
  if (!is_error(raw_syscall(SYS_fstatfs, fd, &system))) {
    file->may_execute = (system.f_flags & kStatfsNoExec) == 0;
    if (system.f_type == kHugetlbfsMagic) file->page_size = static_cast<std::uint64_t>(system.f_bsize);
  }
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  char path[kPageSize];
  const long length = raw_syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path);
  if (length > 0) file->path.assign(path, static_cast<std::size_t>(length));
  return file;
}

/// Shared anonymous memory is a nameless file to the kernel: two mappings of it never merge.
std::shared_ptr<const MappedFile> anonymous_file(const char* name, std::uint64_t page_size) {
  auto file = std::make_shared<MappedFile>();
  file->path = name;
  file->page_size = page_size;
  return file;
}

std::uint64_t soft_limit(unsigned resource) {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  raw_syscall(SYS_prlimit64, 0, resource, nullptr, &limit);
  return limit.rlim_cur;
}

}  // namespace

bool GuestMapping::shared() const { return (flags & MAP_SHARED) != 0; }

std::string GuestMapping::name() const {
  switch (kind) {
    case MapKind::Heap: return "[heap]";
    case MapKind::Stack: return "[stack]";
    case MapKind::Vdso: return "[vdso]";
    case MapKind::Vvar: return "[vvar]";
    case MapKind::Anonymous:
    case MapKind::File:
    case MapKind::Arguments:
    case MapKind::SharedMemory: break;
  }
  return file ? file->path : std::string();
}

GuestMap::GuestMap(const Layout& layout, bool strip_exec)
    : layout_(layout), strip_exec_(strip_exec), low_(layout.low), high_(layout.high), spare_(layout.spare) {
  reserve(layout.engine);
  set_brk_start(layout.heap.start);
}

void GuestMap::reserve(AddressRange range) {
  if (range.empty()) return;
  engine_.push_back(range);
  for (FreeSpace* zone : {&low_, &high_, &spare_}) zone->take(range);
}

// --- The shadow alone ------------------------------------------------------------------------------------------------

GuestMap::Mappings::const_iterator GuestMap::at_or_after(std::uint64_t address) const {
  auto next = mappings_.upper_bound(address);
  if (next != mappings_.begin()) {
    const auto before = std::prev(next);
    if (before->second.end > address) return before;
  }
  return next;
}

GuestMap::Mappings::iterator GuestMap::at_or_after(std::uint64_t address) {
  auto next = mappings_.upper_bound(address);
  if (next != mappings_.begin()) {
    const auto before = std::prev(next);
    if (before->second.end > address) return before;
  }
  return next;
}

void GuestMap::add(GuestMapping mapping) {
  CHECK(mapping.start < mapping.end && untouched(mapping.range()));
  const AddressRange range = mapping.range();
  if (mapping.flags & MAP_GROWSDOWN) ++growing_down_;
  for (FreeSpace* zone : {&low_, &high_, &spare_}) zone->take(range);
  mappings_.emplace(range.start, std::move(mapping));
  merge_around(range);
}

GuestMap::Mappings::iterator GuestMap::drop(Mappings::iterator mapping) {
  if (mapping->second.flags & MAP_GROWSDOWN) --growing_down_;
  return mappings_.erase(mapping);
}

void GuestMap::split(std::uint64_t address) {
  const auto found = at_or_after(address);
  if (found == mappings_.end() || found->second.start >= address) return;
  GuestMapping right = found->second;
  right.start = address;
  if (right.file) right.offset += address - found->second.start;
  found->second.end = address;
  if (right.flags & MAP_GROWSDOWN) ++growing_down_;
  mappings_.emplace_hint(std::next(found), address, std::move(right));
}

void GuestMap::erase(AddressRange range) {
  if (range.empty()) return;
  split(range.start);
  split(range.end);
  for (auto each = mappings_.lower_bound(range.start); each != mappings_.end() && each->first < range.end;) {
    for (FreeSpace* zone : {&low_, &high_, &spare_}) {
      zone->give(each->second.range());
      for (const AddressRange engine : engine_) zone->take(engine);
    }
    each = drop(each);
  }
}

void GuestMap::merge_around(AddressRange range) {
  auto left = mappings_.lower_bound(range.start);
  if (left != mappings_.begin()) --left;
  while (left != mappings_.end() && left->first < range.end) {
    const auto right = std::next(left);
    if (right == mappings_.end()) break;
    if (mergeable(left->second, right->second)) {
      left->second.end = right->second.end;
      drop(right);
    } else {
      left = right;
    }
  }
}

template <typename Change>
void GuestMap::update(AddressRange range, Change&& change) {
  split(range.start);
  split(range.end);
  for (auto each = mappings_.lower_bound(range.start); each != mappings_.end() && each->first < range.end; ++each) {
    change(each->second);
  }
  merge_around(range);
}

bool GuestMap::covered(AddressRange range) const { return gaps(range).empty(); }

bool GuestMap::untouched(AddressRange range) const {
  const auto first = at_or_after(range.start);
  return first == mappings_.end() || first->first >= range.end;
}

bool GuestMap::is_engine_range(AddressRange range) const {
  return std::any_of(engine_.begin(), engine_.end(), [range](AddressRange each) { return each.overlaps(range); });
}

bool GuestMap::touches_tool_memory(AddressRange range) const {
  if (is_engine_range(range)) return true;
  for (auto each = at_or_after(range.start); each != mappings_.end() && each->first < range.end; ++each) {
    if (is_shown_only(each->second)) return true;
  }
  return false;
}

std::vector<AddressRange> GuestMap::gaps(AddressRange range) const {
  std::vector<AddressRange> result;
  std::uint64_t at = range.start;
  for (auto each = at_or_after(range.start); each != mappings_.end() && each->first < range.end; ++each) {
    if (each->first > at) result.push_back({at, each->first});
    at = each->second.end;
  }
  if (at < range.end) result.push_back({at, range.end});
  return result;
}

/// The parts of `range` that are the program's to change, neighbours joined.
std::vector<AddressRange> GuestMap::owned(AddressRange range) const {
  std::vector<AddressRange> result;
  for (auto each = at_or_after(range.start); each != mappings_.end() && each->first < range.end; ++each) {
    if (is_shown_only(each->second)) continue;
    const AddressRange part{std::max(range.start, each->second.start), std::min(range.end, each->second.end)};
    if (!result.empty() && result.back().end == part.start) {
      result.back().end = part.end;
    } else {
      result.push_back(part);
    }
  }
  return result;
}

/// Copies of the mappings in `range`, cut to it.
std::vector<GuestMapping> GuestMap::pieces(AddressRange range) const {
  std::vector<GuestMapping> result;
  for (auto each = at_or_after(range.start); each != mappings_.end() && each->first < range.end; ++each) {
    GuestMapping piece = each->second;
    if (piece.start < range.start) {
      if (piece.file) piece.offset += range.start - piece.start;
      piece.start = range.start;
    }
    piece.end = std::min(piece.end, range.end);
    result.push_back(std::move(piece));
  }
  return result;
}

// --- Queries ---------------------------------------------------------------------------------------------------------

const GuestMapping* GuestMap::find(std::uint64_t address) const {
  const auto found = at_or_after(address);
  return found != mappings_.end() && found->first <= address ? &found->second : nullptr;
}

std::uint32_t GuestMap::prot_at(std::uint64_t address) const {
  const GuestMapping* mapping = find(address);
  return mapping ? mapping->prot : PROT_NONE;
}

bool GuestMap::is_executable(std::uint64_t address) const { return (prot_at(address) & PROT_EXEC) != 0; }

std::uint64_t GuestMap::next_boundary(std::uint64_t address) const {
  const auto found = at_or_after(address);
  if (found == mappings_.end()) return kTaskSize;
  return found->first > address ? found->first : found->second.end;
}

// --- Placement and the real address space ----------------------------------------------------------------------------

int GuestMap::real_prot(int prot) const {
  if (!strip_exec_ || (prot & PROT_EXEC) == 0) return prot;
  return (prot & ~PROT_EXEC) | PROT_READ;
}

bool GuestMap::hint_is_usable(AddressRange range) const {
  if (range.end <= range.start || !untouched(range) || is_engine_range(range)) return false;
  if (range.overlaps(layout_.heap) || range.overlaps(layout_.stack)) return false;
  return std::any_of(std::begin(kHintRanges), std::end(kHintRanges),
                     [range](AddressRange each) { return each.contains(range); });
}

std::optional<std::uint64_t> GuestMap::place(Zone zone, std::uint64_t length, std::uint64_t alignment) const {
  if (zone != Zone::High) {
    if (const auto found = low_.find(length, alignment)) return found;
    if (zone == Zone::LowOnly) return std::nullopt;
  }
  if (const auto found = high_.find(length, alignment)) return found;
  return spare_.find(length, alignment);
}

std::optional<std::uint64_t> GuestMap::find_low(std::uint64_t length, std::uint64_t alignment) const {
  return place(Zone::Low, length, alignment);
}

/// Maps where the shadow has nothing. -EEXIST if the tool has something there.
long GuestMap::map_exactly(const GuestMapping& wanted, int flags, int fd) {
  const int prot = real_prot(static_cast<int>(wanted.prot));
  const int rest = flags & ~kPlacementFlags;
  long result;
  if ((flags & MAP_SHARED_VALIDATE) == MAP_SHARED_VALIDATE) {
    // Such a mapping refuses flags that it does not know, and MAP_FIXED_NOREPLACE is one: take the place first.
    std::vector<AddressRange> claimed;
    result = claim(wanted.range(), claimed);
    if (is_error(result)) return result;
    result = real_mmap(wanted.range(), prot, rest | MAP_FIXED, fd, wanted.offset);
    if (is_error(result)) raw_syscall(SYS_munmap, wanted.start, wanted.range().size());
  } else {
    result = real_mmap(wanted.range(), prot, rest | MAP_FIXED_NOREPLACE, fd, wanted.offset);
  }
  if (is_error(result)) return result;
  if (static_cast<std::uint64_t>(result) != wanted.start) {  // a kernel before 4.17 takes the address for a hint
    raw_syscall(SYS_munmap, result, wanted.range().size());
    return -EEXIST;
  }
  add(wanted);
  return result;
}

long GuestMap::map_somewhere(GuestMapping wanted, std::uint64_t length, std::uint64_t hint, Zone zone,
                             std::uint64_t alignment, int flags, int fd) {
  const auto try_at = [&](std::uint64_t start) {
    wanted.start = start;
    wanted.end = start + length;
    return map_exactly(wanted, flags, fd);
  };
  if (hint != 0 && (hint & (alignment - 1)) == 0 && hint_is_usable({hint, hint + length})) {
    const long result = try_at(hint);
    if (result != -EEXIST) return result;
  }
  // Large anonymous memory starts on a huge page, as the kernel places it, so that it can be backed by one.
  const bool huge = !wanted.file && zone == Zone::High && length % kHugePageSize == 0;
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto start = place(zone, length, huge ? std::max(alignment, kHugePageSize) : alignment);
    if (!start && huge) start = place(zone, length, alignment);
    if (!start) return -ENOMEM;
    const long result = try_at(*start);
    if (result != -EEXIST) return result;
    reserve_foreign();
  }
  return -ENOMEM;
}

/// Something that is not the program's is in a zone: keep off it from now on.
void GuestMap::reserve_foreign() {
  for (const RealMapping& real : read_real_maps()) {
    if (!real.range().overlaps(layout_.low) && !real.range().overlaps(layout_.high) &&
        !real.range().overlaps(layout_.spare)) {
      continue;
    }
    for (const AddressRange gap : gaps(real.range())) {
      if (!is_engine_range(gap)) reserve(gap);
    }
  }
}

/// Makes every part of `range` the program's or a fresh placeholder (listed in `claimed`), so that MAP_FIXED cannot
/// replace anything of the tool. -EEXIST, without effect, if it would.
long GuestMap::claim(AddressRange range, std::vector<AddressRange>& claimed) {
  for (const AddressRange gap : gaps(range)) {
    const long result =
        real_mmap(gap, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (!is_error(result) && static_cast<std::uint64_t>(result) == gap.start) {
      claimed.push_back(gap);
      continue;
    }
    if (!is_error(result)) raw_syscall(SYS_munmap, result, gap.size());
    for (const AddressRange each : claimed) raw_syscall(SYS_munmap, each.start, each.size());
    claimed.clear();
    return is_error(result) ? result : -EEXIST;
  }
  return 0;
}

long GuestMap::map_over(const GuestMapping& wanted, int flags, int fd) {
  const AddressRange range = wanted.range();
  if (touches_tool_memory(range)) return -ENOMEM;
  if (untouched(range)) {
    const long result = map_exactly(wanted, flags, fd);
    return result == -EEXIST ? -ENOMEM : result;
  }
  std::vector<AddressRange> claimed;
  if (const long result = claim(range, claimed); is_error(result)) return result == -EEXIST ? -ENOMEM : result;
  code_will_change(range);
  const long result = real_mmap(range, real_prot(static_cast<int>(wanted.prot)), (flags & ~kPlacementFlags) | MAP_FIXED,
                                fd, wanted.offset);
  if (is_error(result)) {
    for (const AddressRange each : claimed) raw_syscall(SYS_munmap, each.start, each.size());
    resync(range);  // some failures come after the old mappings are gone
    return result;
  }
  erase(range);
  add(wanted);
  return result;
}

/// After a system call that failed halfway: forgets what is no longer there.
void GuestMap::resync(AddressRange range) {
  std::uint64_t at = range.start;
  for (const RealMapping& real : read_real_maps()) {
    if (real.end <= range.start) continue;
    if (real.start >= range.end) break;
    if (real.start > at) erase({at, real.start});
    at = real.end;
  }
  if (at < range.end) erase({at, range.end});
}

/// The kernel extends MAP_GROWSDOWN mappings when the program touches the page below.
void GuestMap::follow_grown_stacks() {
  if (growing_down_ == 0) return;
  for (const RealMapping& real : read_real_maps()) {
    const auto found = at_or_after(real.start);
    if (found == mappings_.end() || found->first >= real.end) continue;
    if (found->second.start > real.start && (found->second.flags & MAP_GROWSDOWN)) {
      GuestMapping grown = found->second;
      grown.end = grown.start;
      grown.start = real.start;
      add(grown);
    }
  }
}

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
  charge_if_writable(wanted);

  if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) {
    if (length > kTaskSize || address > kTaskSize - length) return -ENOMEM;
    if (address & (unit - 1)) return -EINVAL;
    wanted.start = address;
    wanted.end = address + length;
    if ((flags & MAP_FIXED_NOREPLACE) == 0) return map_over(wanted, flags, fd);
    if (!untouched(wanted.range()) || is_engine_range(wanted.range())) return -EEXIST;
    return map_exactly(wanted, flags, fd);
  }

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
    if (is_shown_only(each)) return -EACCES;
    if ((prot & PROT_EXEC) && each.file && !each.file->may_execute) return -EACCES;
    const auto wanted = static_cast<std::uint32_t>(prot & kProtections);
    const bool loses_exec = (each.prot & PROT_EXEC) && !(wanted & PROT_EXEC);
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
      update(each.range(), [wanted](GuestMapping& mapping) {
        mapping.prot = wanted;
        charge_if_writable(mapping);
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
  if (!found || is_shown_only(*found) || old_length > kTaskSize) return -EFAULT;
  if (old_address % unit != 0) return -EINVAL;
  const GuestMapping source = *found;
  if (old_length == 0 && !source.shared()) return -EINVAL;

  if (!fixed && !keep_old && old_length != 0 && new_length <= old_length) {
    // In place: what lies behind is unmapped, whatever it is.
    if (new_length == old_length) return static_cast<long>(old_address);
    const long result = munmap(old_address + new_length, old_length - new_length);
    return is_error(result) ? result : static_cast<long>(old_address);
  }
  // Moving or growing works within one mapping. (Since 6.17 the kernel also moves several at once if their length stays,
  // some kinds of mapping only, and fails halfway at others.)
  if (old_address + std::min(old_length, new_length) > source.end) return -EFAULT;
  if (new_length > old_length && old_address + old_length > source.end) return -EFAULT;

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
  if (address - brk_start_ > soft_limit(RLIMIT_DATA)) return unchanged;
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
  // As in the kernel's stacks: a touched page must not become 2 MiB. An error means that there are no huge pages at all.
  raw_syscall(SYS_madvise, stack.start, layout_.stack.end - stack.start, MADV_NOHUGEPAGE);
  return 0;
}

void GuestMap::set_stack_limit(std::uint64_t soft_limit_bytes) {
  const GuestMapping* found = find(layout_.stack_top() - 1);
  if (!found || found->kind != MapKind::Stack) return;
  GuestMapping more = *found;
  const std::uint64_t bytes = page_up(std::min(soft_limit_bytes, kUnlimitedStack));
  const std::uint64_t start = layout_.stack_top() - std::min(bytes, layout_.stack_top() - layout_.stack.start);
  if (start >= more.start || !untouched({start, more.start})) return;
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

// --- System V shared memory ------------------------------------------------------------------------------------------

long GuestMap::shmat(int id, std::uint64_t address, int flags) {
  follow_grown_stacks();
  shmid_ds segment{};
  if (is_error(raw_syscall(SYS_shmctl, id, IPC_STAT, &segment)) || segment.shm_segsz == 0) {
    const long result = raw_syscall(SYS_shmat, id, 0, SHM_RDONLY);
    if (is_error(result)) return result;
    raw_syscall(SYS_shmdt, result);  // attachable, but we may not know its size
    return -EACCES;
  }
  const std::uint64_t length = page_up(segment.shm_segsz);
  char name[32];
  std::snprintf(name, sizeof name, "/SYSV%08x (deleted)", static_cast<unsigned>(segment.shm_perm.__key));
  MappedFile file;
  file.path = name;
  file.inode = static_cast<std::uint64_t>(static_cast<unsigned>(id));
  const int prot = (flags & SHM_RDONLY ? PROT_READ : PROT_READ | PROT_WRITE) | (flags & SHM_EXEC ? PROT_EXEC : 0);
  const int real_flags = strip_exec_ ? flags & ~SHM_EXEC : flags;
  GuestMapping wanted{.prot = static_cast<std::uint32_t>(prot),
                      .flags = MAP_SHARED,
                      .kind = MapKind::SharedMemory,
                      .file = std::make_shared<const MappedFile>(std::move(file))};

  if (address == 0) {
    if (flags & SHM_REMAP) return -EINVAL;
    const auto start = place(Zone::High, length, kPageSize);
    if (!start) return -ENOMEM;
    address = *start;
  } else if (address % kPageSize != 0) {
    if ((flags & SHM_RND) == 0) return -EINVAL;
    address = page_down(address);
    if (address == 0 && (flags & SHM_REMAP)) return -EINVAL;
  }
  if (address > kTaskSize - length) return -EINVAL;
  wanted.start = address;
  wanted.end = address + length;
  const bool replace = (flags & SHM_REMAP) != 0;
  if (touches_tool_memory(wanted.range())) return -EINVAL;
  if (!replace && !untouched(wanted.range())) return -EINVAL;
  std::vector<AddressRange> claimed;
  if (replace) {
    if (is_error(claim(wanted.range(), claimed))) return -EINVAL;
    code_will_change(wanted.range());
  }
  const long result = raw_syscall(SYS_shmat, id, address, real_flags);
  if (is_error(result)) {
    for (const AddressRange each : claimed) raw_syscall(SYS_munmap, each.start, each.size());
    if (replace) resync(wanted.range());
    return result;
  }
  erase(wanted.range());
  add(wanted);
  return result;
}

long GuestMap::shmdt(std::uint64_t address) {
  follow_grown_stacks();
  if (address % kPageSize != 0) return -EINVAL;
  // The attachment at `address`: what is left of it lies at `address` plus its offset.
  const auto belongs = [address](const GuestMapping& mapping) {
    return mapping.kind == MapKind::SharedMemory && mapping.start - address == mapping.offset;
  };
  const auto first =
      std::find_if(at_or_after(address), mappings_.end(), [&](const auto& entry) { return belongs(entry.second); });
  if (first == mappings_.end()) return -EINVAL;
  const auto file = first->second.file;
  std::vector<AddressRange> attached;
  for (auto each = first; each != mappings_.end(); ++each) {
    if (belongs(each->second) && same_file(each->second.file, file)) attached.push_back(each->second.range());
  }
  for (const AddressRange range : attached) code_will_change(range);
  const long result = raw_syscall(SYS_shmdt, address);
  if (is_error(result)) return result;
  for (const AddressRange range : attached) erase(range);
  return result;
}

// --- Self-modifying code ---------------------------------------------------------------------------------------------

bool GuestMap::protect_code_page(std::uint64_t page) {
  CHECK(page % kPageSize == 0);
  const GuestMapping* mapping = find(page);
  CHECK(mapping != nullptr);
  if (!(mapping->prot & PROT_WRITE) || code_pages_.contains(page)) return true;
  const int prot = real_prot(static_cast<int>(mapping->prot)) & ~PROT_WRITE;
  if (is_error(raw_syscall(SYS_mprotect, page, kPageSize, prot))) return false;
  code_pages_.insert(page);
  return true;
}

void GuestMap::unprotect_code_page(std::uint64_t page) { restore_code_pages({page, page + kPageSize}); }

bool GuestMap::has_code_pages(AddressRange range) const {
  const auto first = code_pages_.lower_bound(range.start);
  return first != code_pages_.end() && *first < range.end;
}

void GuestMap::restore_code_pages(AddressRange range) {
  const auto first = code_pages_.lower_bound(range.start), last = code_pages_.lower_bound(range.end);
  const std::vector<std::uint64_t> pages(first, last);
  code_pages_.erase(first, last);
  for (std::size_t i = 0; i < pages.size();) {
    const GuestMapping* mapping = find(pages[i]);
    CHECK(mapping != nullptr);
    AddressRange run{pages[i], pages[i] + kPageSize};
    for (++i; i < pages.size() && pages[i] == run.end && run.end < mapping->end; ++i) run.end += kPageSize;
    raw_syscall(SYS_mprotect, run.start, run.size(), real_prot(static_cast<int>(mapping->prot)));
  }
}

void GuestMap::code_will_change(AddressRange range) {
  if (range.empty()) return;
  if (listener_) {
    for (auto each = at_or_after(range.start); each != mappings_.end() && each->first < range.end; ++each) {
      if (!(each->second.prot & PROT_EXEC)) continue;
      listener_->code_changed(std::max(range.start, each->second.start), std::min(range.end, each->second.end));
    }
  }
  restore_code_pages(range);
}

// --- /proc views -----------------------------------------------------------------------------------------------------

std::string GuestMap::proc_maps() const {
  const std::vector<RealMapping> real = read_real_maps();
  std::string text;
  auto kernels = real.begin();
  for (const auto& [start, mapping] : mappings_) {
    while (kernels != real.end() && kernels->end <= start) ++kernels;
    RealMapping line{.start = start,
                     .end = mapping.end,
                     .prot = mapping.prot,
                     .shared = mapping.shared(),
                     .offset = mapping.offset,
                     .path = mapping.name()};
    if (mapping.file) {
      line.device_major = mapping.file->device_major;
      line.device_minor = mapping.file->device_minor;
      line.inode = mapping.file->inode;
      // The file may have been renamed or deleted since; the kernel knows.
      if (kernels != real.end() && kernels->start <= start && kernels->inode != 0) {
        line.device_major = kernels->device_major;
        line.device_minor = kernels->device_minor;
        line.inode = kernels->inode;
        line.path = kernels->path;
      }
    }
    text += maps_line(line);
  }
  return text;
}

std::string GuestMap::proc_smaps() const {
  std::string text;
  for (RealMapping& real : read_real_smaps()) {
    const auto found = at_or_after(real.start);
    if (found == mappings_.end() || found->first >= real.end) continue;
    const GuestMapping& mapping = found->second;
    real.prot = mapping.prot;
    if (real.path.empty() || real.path.front() == '[') real.path = mapping.name();
    text += maps_line(real) + real.tail;
  }
  return text;
}

}  // namespace zs::engine
