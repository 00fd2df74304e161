#include "engine/memory/address_space.h"

#include <errno.h>
#include <sys/mman.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "engine/memory/real_maps.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

long real_mmap(AddressRange where, int prot, int flags, int fd, std::uint64_t offset) {
  return raw_syscall(SYS_mmap, where.start, where.size(), prot, flags, fd, offset);
}

void release(const std::vector<AddressRange>& claimed) {
  for (const AddressRange each : claimed) raw_syscall(SYS_munmap, each.start, each.size());
}

}  // namespace

// --- What is kept for the engine -------------------------------------------------------------------------------------

void AddressSpace::publish(ShownCode& shown) {
  shown_ = &shown;
  for (const AddressRange range : placement_.reserved()) shown.add_engine(range);
  shown.add_engine(placement_.yielding());
  mappings_.for_each([&](const GuestMapping& mapping) { shown.set(mapping.range(), mapping.prot); });
}

void AddressSpace::reserve(AddressRange range) {
  if (shown_ != nullptr) shown_->add_engine(range);
  placement_.reserve(range);
}

void AddressSpace::reserve_until_wanted(AddressRange range) {
  if (shown_ != nullptr) {
    shown_->drop_engine(placement_.yielding());
    shown_->add_engine(range);
  }
  placement_.reserve_until_wanted(range);
}

void AddressSpace::make_way(AddressRange wanted) {
  if (!wanted.overlaps(placement_.yielding())) return;
  reserve_until_wanted({});
  code_.give_way();
}

void AddressSpace::reserve_foreign() {
  for (const RealMapping& real : read_real_maps()) {
    if (!placement_.is_in_a_zone(real.range())) continue;
    for (const AddressRange gap : mappings_.gaps(real.range())) {
      if (!placement_.is_reserved(gap)) reserve(gap);
    }
  }
}

bool AddressSpace::touches_tool_memory(AddressRange range) const {
  bool touches = placement_.is_reserved(range);
  mappings_.for_each_in(range, [&](const GuestMapping& each) { touches = touches || each.shown_only(); });
  return touches;
}

bool AddressSpace::is_tools(std::uint64_t address) const {
  if (placement_.is_reserved({address, address + 1}) || placement_.yielding().contains(address)) return true;
  const auto has = [address](AddressRange range) { return range.contains(address); };
  return address < kTaskSize && std::ranges::none_of(kHintRanges, has) && mappings_.find(address) == nullptr;
}

// --- The list --------------------------------------------------------------------------------------------------------

void AddressSpace::add(GuestMapping mapping) {
  const AddressRange range = mapping.range();
  CHECK(!range.empty() && mappings_.none_in(range), range.start, range.end);
  if ((mapping.prot & PROT_EXEC) != 0) code_.became_executable(range);
  placement_.take(range);
  if (shown_ != nullptr) shown_->set(range, mapping.prot);
  mappings_.add(std::move(mapping));
}

void AddressSpace::forget(AddressRange range) {
  if (range.empty()) return;
  if (shown_ != nullptr) shown_->set(range, PROT_NONE);
  mappings_.for_each_in(range, [&](const GuestMapping& each) {
    const AddressRange part{std::max(range.start, each.start), std::min(range.end, each.end)};
    placement_.give(part);
    note_gone(part);
  });
  mappings_.erase(range);
}

void AddressSpace::update(AddressRange range, const std::function<void(GuestMapping&)>& change) {
  mappings_.update(range, [&](GuestMapping& mapping) {
    change(mapping);
    if (shown_ != nullptr) shown_->set(mapping.range(), mapping.prot);
  });
}

// --- Mapping ---------------------------------------------------------------------------------------------------------

long AddressSpace::map_exactly(const GuestMapping& wanted, int flags, int fd) {
  const int prot = real_.of(wanted.prot);
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
  locks_.lock_new(wanted.range());
  return result;
}

/// Some drivers choose the place themselves and refuse any other (the rings of io_uring). What they choose is not a
/// function of the run.
long AddressSpace::map_where_the_kernel_wants(GuestMapping wanted, std::uint64_t length, int flags, int fd) {
  const long result = real_mmap({0, length}, real_.of(wanted.prot), flags & ~kPlacementFlags, fd, wanted.offset);
  if (is_error(result)) return result;
  wanted.start = static_cast<std::uint64_t>(result);
  wanted.end = wanted.start + length;
  if (!mappings_.none_in(wanted.range()) || placement_.is_reserved(wanted.range())) {
    raw_syscall(SYS_munmap, wanted.start, length);
    return -ENOMEM;
  }
  const AddressRange range = wanted.range();
  add(std::move(wanted));
  locks_.lock_new(range);
  return result;
}

long AddressSpace::map_somewhere(GuestMapping wanted, std::uint64_t length, std::uint64_t hint, Zone zone,
                                 std::uint64_t alignment, int flags, int fd) {
  const auto try_at = [&](std::uint64_t start) {
    wanted.start = start;
    wanted.end = start + length;
    return map_exactly(wanted, flags, fd);
  };
  const AddressRange hinted{hint, hint + length};
  if (hint != 0 && (hint & (alignment - 1)) == 0 && placement_.honours_hint(hinted) && mappings_.none_in(hinted)) {
    const long result = try_at(hint);
    if (result != -EEXIST) return result;
  }
  // Large anonymous memory starts on a huge page, as the kernel places it, so that it can be backed by one.
  const bool huge = !wanted.file && zone == Zone::High && length % kHugePageSize == 0;
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto start = placement_.place(zone, length, huge ? std::max(alignment, kHugePageSize) : alignment);
    if (!start && huge) start = placement_.place(zone, length, alignment);
    if (!start) return -ENOMEM;
    const long result = try_at(*start);
    if (result == -EINVAL && wanted.file && fd >= 0)
      return map_where_the_kernel_wants(std::move(wanted), length, flags, fd);
    if (result != -EEXIST) return result;
    reserve_foreign();
  }
  return -ENOMEM;
}

long AddressSpace::map_over(const GuestMapping& wanted, int flags, int fd) {
  const AddressRange range = wanted.range();
  if (touches_tool_memory(range)) return -ENOMEM;
  if (mappings_.none_in(range)) {
    const long result = map_exactly(wanted, flags, fd);
    return result == -EEXIST ? -ENOMEM : result;
  }
  std::vector<AddressRange> claimed;
  if (const long result = claim(range, claimed); is_error(result)) return result == -EEXIST ? -ENOMEM : result;
  code_.will_change(range);
  const long result =
      real_mmap(range, real_.of(wanted.prot), (flags & ~kPlacementFlags) | MAP_FIXED, fd, wanted.offset);
  if (is_error(result)) {
    give_up(range, claimed);  // some failures come after the old mappings are gone
    return result;
  }
  forget(range);
  add(wanted);
  locks_.lock_new(range);
  return result;
}

long AddressSpace::unmap(std::uint64_t address, std::uint64_t length) {
  follow_grown_stacks();
  if (address % kPageSize != 0 || address > kTaskSize || length > kTaskSize - address || page_up(length) == 0) {
    return -EINVAL;
  }
  const AddressRange range{address, address + page_up(length)};
  code_.will_change(range);
  for (const AddressRange part : mappings_.owned(range)) {
    const long result = raw_syscall(SYS_munmap, part.start, part.size());
    if (is_error(result)) return result;
    forget(part);
  }
  forget(range);  // what is only shown
  return 0;
}

// --- What the kernel does besides ------------------------------------------------------------------------------------

long AddressSpace::claim(AddressRange range, std::vector<AddressRange>& claimed) {
  for (const AddressRange gap : mappings_.gaps(range)) {
    const long result =
        real_mmap(gap, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (!is_error(result) && static_cast<std::uint64_t>(result) == gap.start) {
      claimed.push_back(gap);
      continue;
    }
    if (!is_error(result)) raw_syscall(SYS_munmap, result, gap.size());
    release(claimed);
    claimed.clear();
    return is_error(result) ? result : -EEXIST;
  }
  return 0;
}

void AddressSpace::give_up(AddressRange range, const std::vector<AddressRange>& claimed) {
  release(claimed);
  resync(range);
}

/// After a system call that failed halfway: forgets what is no longer there.
void AddressSpace::resync(AddressRange range) {
  std::uint64_t at = range.start;
  for (const RealMapping& real : read_real_maps()) {
    if (real.end <= range.start) continue;
    if (real.start >= range.end) break;
    if (real.start > at) forget({at, real.start});
    at = real.end;
  }
  if (at < range.end) forget({at, range.end});
}

void AddressSpace::follow_grown_stacks() {
  if (!mappings_.any_grows_down()) return;
  for (const RealMapping& real : read_real_maps()) {
    const GuestMapping* const found = mappings_.at_or_after(real.start);
    if (found == nullptr || found->start >= real.end) continue;
    if (found->start > real.start && (found->flags & MAP_GROWSDOWN)) {
      GuestMapping grown = *found;
      grown.end = grown.start;
      grown.start = real.start;
      add(std::move(grown));
    }
  }
}

}  // namespace zs::engine
