// GuestMap: where mappings go, and how nothing of the tool is ever in the way.
#include <errno.h>
#include <sys/mman.h>

#include <algorithm>
#include <iterator>

#include "engine/memory/guest_map.h"
#include "engine/memory/real_maps.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

constexpr int kPlacementFlags = MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_32BIT;

long real_mmap(AddressRange where, int prot, int flags, int fd, std::uint64_t offset) {
  return raw_syscall(SYS_mmap, where.start, where.size(), prot, flags, fd, offset);
}

}  // namespace

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
  if (const auto found = spare_.find(length, alignment)) return found;
  return vast_.find(length, alignment);
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
  lock_new(wanted.range());
  return result;
}

/// Some drivers choose the place themselves and refuse any other (the rings of io_uring). What they choose is not a
/// function of the run.
long GuestMap::map_where_the_kernel_wants(GuestMapping wanted, std::uint64_t length, int flags, int fd) {
  const long result =
      real_mmap({0, length}, real_prot(static_cast<int>(wanted.prot)), flags & ~kPlacementFlags, fd, wanted.offset);
  if (is_error(result)) return result;
  wanted.start = static_cast<std::uint64_t>(result);
  wanted.end = wanted.start + length;
  if (!untouched(wanted.range()) || is_engine_range(wanted.range())) {
    raw_syscall(SYS_munmap, wanted.start, length);
    return -ENOMEM;
  }
  add(wanted);
  lock_new(wanted.range());
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
    if (result == -EINVAL && wanted.file && fd >= 0)
      return map_where_the_kernel_wants(std::move(wanted), length, flags, fd);
    if (result != -EEXIST) return result;
    reserve_foreign();
  }
  return -ENOMEM;
}

/// Before anything is put where the program says.
void GuestMap::make_way(AddressRange wanted) {
  if (!wanted.overlaps(yielding_)) return;
  reserve_until_wanted({});
  if (listener_ != nullptr) listener_->give_way();
}

/// Something that is not the program's is in a zone: keep off it from now on.
void GuestMap::reserve_foreign() {
  for (const RealMapping& real : read_real_maps()) {
    if (!real.range().overlaps(layout_.low) && !real.range().overlaps(layout_.high) &&
        !real.range().overlaps(layout_.spare) && !real.range().overlaps(layout_.vast)) {
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
  lock_new(range);
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

}  // namespace zs::engine
