// Loads and stores that the fast path of core.h leaves: TLB misses, page and line crossings, devices, pages with
// decoded instructions, segments that are not flat, and everything while accesses are watched.
#include <algorithm>
#include <cstring>

#include "arch/linear.h"
#include "machine/vcpu/core.h"

namespace zs::machine::vcpu {
namespace {

[[noreturn]] void segment_fault(unsigned segment) {
  throw Fault{segment == kSs ? kStackFault : kGeneralProtection, true, 0};
}

/// Whether a legacy segment lets the access through.
bool allows(const Segment& segment, bool real_mode, std::uint64_t address, unsigned bytes, bool write) {
  const std::uint64_t last = address + bytes - 1;
  if (!real_mode) {
    if (!segment.present()) return false;
    const bool code = (segment.type() & 8) != 0, bit1 = (segment.type() & 2) != 0;
    if (write ? code || !bit1 : code && !bit1) return false;
    if (!code && (segment.type() & 4) != 0) {  // expand-down
      const std::uint64_t top = segment.big() ? 0xFFFFFFFF : 0xFFFF;
      return address > segment.limit && last <= top;
    }
  }
  return last <= segment.limit;
}

}  // namespace

std::uint64_t Core::checked_linear(unsigned segment, std::uint64_t address, unsigned bytes, bool write) {
  std::uint64_t linear = views[segment].base + address;
  if (code64) {
    if (!arch::is_canonical(linear) || !arch::is_canonical(linear + bytes - 1)) segment_fault(segment);
  } else {
    const Segment& s = segments[segment];
    // A flat segment of 4 GiB lets an access wrap round.
    const bool flat_wrap = s.limit == 0xFFFFFFFF && allows(s, !protected_mode, address, 1, write);
    if (!flat_wrap && !allows(s, !protected_mode, address, bytes, write)) segment_fault(segment);
    linear &= linear_mask;
  }
  if ((system_flags & flag::ac) != 0 && (cr0 & cr0::am) != 0 && cpl == 3 && bytes <= 16) {
    const unsigned align = bytes == 10 || bytes == 6 ? bytes == 6 ? 4u : 8u : bytes;
    if ((bytes & (bytes - 1)) == 0 ? (linear & (bytes - 1)) != 0 && bytes != 16 : (linear & (align - 1)) != 0)
      throw Fault{kAlignmentCheck, true, 0};
  }
  return linear;
}

void Core::note_access(std::uint64_t linear, unsigned bytes, bool write) {
  if (watch.accesses) tell_lines(linear, bytes, write);
  if (noting && access_count < accesses.size()) accesses[access_count++] = {linear, bytes, write};
  if (debug_armed()) check_data_breakpoints(linear, bytes, write);
  if (monitor.watches_data()) monitor.check_access(linear, bytes, write);
}

/// The access has just been done, so nothing is walked and nothing faults.
void Core::tell_lines(std::uint64_t linear, unsigned bytes, bool write) {
  constexpr std::uint64_t kLineBytes = 64;
  const std::uint64_t first = linear & ~(kLineBytes - 1), last = (linear + bytes - 1) & ~(kLineBytes - 1);
  for (std::uint64_t line = first;; line += kLineBytes) {
    const std::uint64_t at = line & linear_mask;
    const TlbEntry& entry = translate(at, write ? AccessKind::Write : AccessKind::Read, cpl == 3);
    observer.accessed(entry.physical | (at & kPageOffset));
    if (line == last) return;
  }
}

std::uint64_t Core::load_slow(unsigned segment, std::uint64_t address, unsigned bytes) {
  std::uint64_t value = 0;
  const std::uint64_t linear = checked_linear(segment, address, bytes, false);
  linear_read(linear, &value, bytes, cpl == 3, linear_mask);
  note_access(linear, bytes, false);
  return value;
}

void Core::store_slow(unsigned segment, std::uint64_t address, unsigned bytes, std::uint64_t value) {
  const std::uint64_t linear = checked_linear(segment, address, bytes, true);
  linear_write(linear, &value, bytes, cpl == 3, linear_mask);
  note_access(linear, bytes, true);
}

void Core::probe_store(unsigned segment, std::uint64_t address, unsigned bytes) {
  probe_linear_store(checked_linear(segment, address, bytes, true), bytes, cpl == 3, linear_mask);
}

void Core::load_bytes(unsigned segment, std::uint64_t address, void* into, unsigned bytes) {
  const std::uint64_t linear = checked_linear(segment, address, bytes, false);
  linear_read(linear, into, bytes, cpl == 3, linear_mask);
  note_access(linear, bytes, false);
}

void Core::store_bytes(unsigned segment, std::uint64_t address, const void* from, unsigned bytes) {
  const std::uint64_t linear = checked_linear(segment, address, bytes, true);
  linear_write(linear, from, bytes, cpl == 3, linear_mask);
  note_access(linear, bytes, true);
}

std::uint64_t Core::load_system(std::uint64_t linear, unsigned bytes, bool user) {
  std::uint64_t value = 0;
  linear_read(linear & system_mask, &value, bytes, user, system_mask);
  return value;
}
void Core::store_system(std::uint64_t linear, unsigned bytes, std::uint64_t value, bool user) {
  linear_write(linear & system_mask, &value, bytes, user, system_mask);
}

void Core::probe_system_store(std::uint64_t linear, unsigned bytes, bool user) {
  probe_linear_store(linear & system_mask, bytes, user, system_mask);
}

void Core::probe_linear_store(std::uint64_t linear, unsigned bytes, bool user, std::uint64_t mask) {
  translate(linear, AccessKind::Write, user);
  const std::uint64_t last = (linear + bytes - 1) & mask;
  if (((linear ^ last) & kPageMask) != 0) translate(last, AccessKind::Write, user);
}

namespace {

/// The Debug Store and system tables are read and written in words of 8 bytes, and soon after one another: copying in
/// larger pieces would wait for the smaller stores before.
void copy_words(void* to, const void* from, unsigned bytes) {
  auto* out = static_cast<char*>(to);
  const auto* in = static_cast<const char*>(from);
  for (; bytes >= 8; bytes -= 8, in += 8, out += 8) {
    std::uint64_t word;
    std::memcpy(&word, in, 8);
    asm volatile("" : "+r"(word));  // or the loop becomes a call of memcpy
    std::memcpy(out, &word, 8);
  }
  if (bytes != 0) std::memcpy(out, in, bytes);
}

}  // namespace

/// part(entry, address, count) for the one or two pages of an access, of which both are translated before a byte moves.
template <typename Part>
void Core::each_page(std::uint64_t linear, unsigned bytes, AccessKind kind, bool user, std::uint64_t mask, Part part) {
  const auto first = static_cast<unsigned>(std::min<std::uint64_t>(bytes, kPageBytes - (linear & kPageOffset)));
  const std::uint64_t next = (linear + first) & mask;
  if (first != bytes) {
    translate(linear, kind, user);
    translate(next, kind, user);
  }
  part(translate(linear, kind, user), linear, first);
  if (first != bytes) part(translate(next, kind, user), next, bytes - first);
}

void Core::linear_read(std::uint64_t linear, void* into, unsigned bytes, bool user, std::uint64_t mask) {
  auto* out = static_cast<char*>(into);
  each_page(linear, bytes, AccessKind::Read, user, mask, [&](const TlbEntry& entry, std::uint64_t at, unsigned count) {
    if (entry.memory) {
      copy_words(out, reinterpret_cast<const void*>(entry.addend + at), count);
    } else {
      physical_read(entry.physical | (at & kPageOffset), out, count);
    }
    out += count;
  });
}

void Core::linear_write(std::uint64_t linear, const void* from, unsigned bytes, bool user, std::uint64_t mask) {
  const auto* in = static_cast<const char*>(from);
  each_page(linear, bytes, AccessKind::Write, user, mask, [&](const TlbEntry& entry, std::uint64_t at, unsigned count) {
    const std::uint64_t physical = entry.physical | (at & kPageOffset);
    if (entry.memory && !entry.rom) {
      copy_words(reinterpret_cast<void*>(entry.addend + at), in, count);
      if (entry.write_tag != (at & kPageMask)) code_written(physical, count);  // else no code was decoded there
    } else {
      physical_write(physical, in, count);
    }
    in += count;
  });
}

namespace {

/// take(physical, size) of the naturally sized pieces that devices are asked in.
template <typename Take>
void each_piece(std::uint64_t physical, unsigned bytes, Take take) {
  while (bytes != 0) {
    unsigned size = 8;
    while (size > bytes || (physical & (size - 1)) != 0) size /= 2;
    take(physical, size);
    physical += size, bytes -= size;
  }
}

}  // namespace

/// Within one page.
void Core::physical_read(std::uint64_t physical, void* into, unsigned bytes) {
  const Bus::Page page = bus.page(physical & kPageMask);
  if (page.bytes != nullptr) {
    std::memcpy(into, page.bytes + (physical & kPageOffset), bytes);
    return;
  }
  flush_reports();
  auto* out = static_cast<char*>(into);
  each_piece(physical, bytes, [&](std::uint64_t at, unsigned size) {
    const std::uint64_t value = bus.read(at, size);
    std::memcpy(out, &value, size);
    out += size;
  });
}

void Core::physical_write(std::uint64_t physical, const void* from, unsigned bytes) {
  const Bus::Page page = bus.page(physical & kPageMask);
  if (page.bytes != nullptr && page.writable) {
    std::memcpy(page.bytes + (physical & kPageOffset), from, bytes);
    code_written(physical, bytes);
    return;
  }
  flush_reports();
  const auto* in = static_cast<const char*>(from);
  each_piece(physical, bytes, [&](std::uint64_t at, unsigned size) {
    std::uint64_t value = 0;
    std::memcpy(&value, in, size);
    bus.write(at, size, value);
    in += size;
  });
  code_written(physical, bytes);
}

std::uint64_t Core::physical_load(std::uint64_t physical, unsigned bytes) {
  std::uint64_t value = 0;
  physical_read(physical & physical_mask, &value, bytes);
  return value;
}
void Core::physical_store(std::uint64_t physical, unsigned bytes, std::uint64_t value) {
  physical_write(physical & physical_mask, &value, bytes);
}

}  // namespace zs::machine::vcpu
