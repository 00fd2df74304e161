#include "engine/memory/remap.h"

#include <errno.h>
#include <sys/mman.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

/// The target is claimed: replaces whatever the list has there.
long move(AddressSpace& space, AddressRange from, std::uint64_t new_length, int flags, std::uint64_t target) {
  space.code().will_change(from);
  std::vector<GuestMapping> moved = space.mappings().pieces({from.start, std::max(from.end, from.start + 1)});
  const long result =
      raw_syscall(SYS_mremap, from.start, from.size(), new_length, flags | MREMAP_MAYMOVE | MREMAP_FIXED, target);
  if (is_error(result)) return result;
  if ((flags & MREMAP_DONTUNMAP) == 0)
    space.forget(from);
  else
    space.note_gone(from);
  space.forget({target, target + new_length});
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
    space.add(piece);
  }
  return result;
}

/// To where the program says.
long move_to(AddressSpace& space, const RemapCall& call) {
  const AddressRange target{call.new_address, call.new_address + call.new_length};
  space.make_way(target);
  if (space.touches_tool_memory(target)) return -ENOMEM;
  std::vector<AddressRange> claimed;
  if (const long result = space.claim(target, claimed); is_error(result)) return result == -EEXIST ? -ENOMEM : result;
  space.code().will_change(target);
  long result = 0;
  if (call.old_length > call.new_length)
    result = space.unmap(call.old_address + call.new_length, call.old_length - call.new_length);
  const AddressRange from{call.old_address, call.old_address + std::min(call.old_length, call.new_length)};
  if (!is_error(result)) result = move(space, from, call.new_length, call.flags, call.new_address);
  if (is_error(result)) space.give_up(target, claimed);  // the kernel clears the target before it looks at the rest
  return result;
}

/// To where the program says, with the length that they have: each mapping by itself, and what lies between them stays
/// where it is. source: Linux 6.17, mm/mremap.c, remap_move
long move_each(AddressSpace& space, const RemapCall& call) {
  for (const GuestMapping& piece : space.mappings().pieces({call.old_address, call.old_address + call.old_length})) {
    if (piece.shown_only()) return -EFAULT;
    const std::uint64_t length = piece.end - piece.start;
    const std::uint64_t target = piece.start - call.old_address + call.new_address;
    if (const long result = move_to(space, {piece.start, length, length, call.flags, target}); is_error(result))
      return result;
  }
  return static_cast<long>(call.new_address);
}

std::optional<std::uint64_t> choose_target(const AddressSpace& space, const GuestMapping& source,
                                           std::uint64_t new_length, std::uint64_t hint) {
  const Placement& placement = space.placement();
  const AddressRange hinted{hint, hint + new_length};
  if (hint != 0 && placement.honours_hint(hinted) && space.mappings().none_in(hinted)) return hint;
  const Zone zone = space.layout().low.contains(source.start) ? Zone::Low : Zone::High;
  if (!source.file && zone == Zone::High && new_length % kHugePageSize == 0) {
    if (const auto aligned = placement.place(zone, new_length, kHugePageSize)) return aligned;
  }
  return placement.place(zone, new_length, source.file ? source.file->page_size : kPageSize);
}

long move_anywhere(AddressSpace& space, const GuestMapping& source, AddressRange from, std::uint64_t new_length,
                   int flags, std::uint64_t hint) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    const std::uint64_t target = choose_target(space, source, new_length, hint).value_or(0);
    if (target == 0) return -ENOMEM;
    std::vector<AddressRange> claimed;
    long result = space.claim({target, target + new_length}, claimed);
    if (result == -EEXIST) {
      space.reserve_foreign();
      continue;
    }
    if (is_error(result)) return result;
    result = move(space, from, new_length, flags, target);
    if (is_error(result)) raw_syscall(SYS_munmap, target, new_length);
    return result;
  }
  return -ENOMEM;
}

/// -ENOMEM if there is no room behind it.
long grow_in_place(AddressSpace& space, const GuestMapping& source, AddressRange from, std::uint64_t new_length) {
  const AddressRange growth{from.end, from.start + new_length};
  if (growth.end > kTaskSize || !space.mappings().none_in(growth) || space.placement().is_reserved(growth) ||
      growth.overlaps(space.layout().heap) || growth.overlaps(space.layout().stack)) {
    return -ENOMEM;
  }
  const long result = raw_syscall(SYS_mremap, from.start, from.size(), new_length, 0, 0);
  if (is_error(result)) return result;
  GuestMapping more = source;
  more.start = growth.start;
  more.end = growth.end;
  if (more.file) more.offset += growth.start - source.start;
  space.add(more);
  return result;
}

/// Two mappings of a page each, to the place of two others.
bool try_to_move_two() {
  constexpr std::uint64_t kTwo = 2 * kPageSize;
  const auto map = [] {
    return raw_syscall(SYS_mmap, 0, kTwo, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  };
  const long from = map(), to = map();
  bool moved = false;
  if (!is_error(from) && !is_error(to) && raw_syscall(SYS_mprotect, from, kPageSize, PROT_READ) == 0)
    moved = raw_syscall(SYS_mremap, from, kTwo, kTwo, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to;
  if (!is_error(from) && !moved) raw_syscall(SYS_munmap, from, kTwo);
  if (!is_error(to)) raw_syscall(SYS_munmap, to, kTwo);
  return moved;
}

}  // namespace

bool kernel_moves_several() {
  static const bool moves = try_to_move_two();
  return moves;
}

long remap(AddressSpace& space, const MapLimits& limits, RemapCall call, bool moves_several) {
  space.follow_grown_stacks();
  const bool may_move = (call.flags & MREMAP_MAYMOVE) != 0;
  const bool fixed = (call.flags & MREMAP_FIXED) != 0;
  const bool keep_old = (call.flags & MREMAP_DONTUNMAP) != 0;
  if ((call.flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP)) || (fixed && !may_move) ||
      (keep_old && (!may_move || call.old_length != call.new_length)) || call.old_address % kPageSize != 0 ||
      page_up(call.new_length) == 0) {
    return -EINVAL;
  }
  const std::uint64_t old_address = call.old_address, new_address = call.new_address;
  const GuestMapping* found = space.mappings().find(old_address);
  const std::uint64_t unit = found && found->file ? found->file->page_size : kPageSize;
  const std::uint64_t old_length = call.old_length = (call.old_length + unit - 1) & ~(unit - 1);
  const std::uint64_t new_length = call.new_length = (call.new_length + unit - 1) & ~(unit - 1);
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
    const long result = space.unmap(old_address + new_length, old_length - new_length);
    return is_error(result) ? result : static_cast<long>(old_address);
  }
  if (keep_old && !limits.may_expand(source, new_length)) return -ENOMEM;
  // Moving several mappings works if they keep their length, growing within one alone.
  if (fixed && new_length == old_length && moves_several) return move_each(space, call);
  if (fixed && new_length == old_length && old_address + old_length > source.end) {
    const long cleared = space.unmap(new_address, new_length);  // first of all
    return is_error(cleared) ? cleared : -EFAULT;
  }
  if (old_address + std::min(old_length, new_length) > source.end) return -EFAULT;
  if (new_length > old_length && old_address + old_length > source.end) return -EFAULT;

  if (new_length > old_length && !limits.may_expand(source, new_length - old_length)) return -ENOMEM;
  if (fixed) return move_to(space, call);
  const AddressRange from{old_address, old_address + old_length};
  // Write-protected code pages are mappings of their own to the kernel.
  if (space.code().any_protected_in(from)) space.code().will_change(from);
  if (!keep_old && from.end == source.end && old_length != 0) {
    const long result = grow_in_place(space, source, from, new_length);
    if (result != -ENOMEM) return result;
  }
  if (!may_move) return -ENOMEM;
  return move_anywhere(space, source, from, new_length, call.flags, keep_old ? new_address : 0);
}

}  // namespace zs::engine
