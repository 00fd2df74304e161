// Linear to physical: no paging, 32-bit, PAE and 4-level paging with 4 MiB, 2 MiB and 1 GiB pages, NX, WP, U/S, SMEP
// and SMAP, and the accessed and dirty bits, set by the access that needs them and by no other.
// source: SDM vol. 3A, chapter "Paging": tables of the entries' formats, "Access Rights", "Page-Fault Exceptions".
// Not played: PCID, protection keys, 5-level paging, PAT (memory types have no effect here).
#include <span>

#include "arch/linear.h"
#include "machine/vcpu/core.h"

namespace zs::machine::vcpu {
namespace {

namespace pte {
constexpr std::uint64_t p = 1, rw = 2, us = 4, a = 32, d = 64, ps = 128, nx = std::uint64_t{1} << 63;
}
namespace error {
constexpr std::uint32_t p = 1, w = 2, u = 4, reserved = 8, i = 16;
}

/// Where the walk stands: rights collected over the levels.
struct Walk {
  bool writable = true, user = true, executable = true;
  void pass(std::uint64_t entry, bool nx_enabled) {
    writable = writable && (entry & pte::rw) != 0;
    user = user && (entry & pte::us) != 0;
    executable = executable && !(nx_enabled && (entry & pte::nx) != 0);
  }
};

}  // namespace

void Core::page_fault(std::uint64_t linear, AccessKind kind, bool user, std::uint32_t bits) {
  if (kind == AccessKind::Write) bits |= error::w;
  if (user) bits |= error::u;
  const bool reports_fetch = (nx_enabled && (cr4 & cr4::pae) != 0) || (cr4 & cr4::smep) != 0;
  if (kind == AccessKind::Fetch && reports_fetch) bits |= error::i;
  cr2 = linear;
  throw Fault{kPageFault, true, bits};
}

TlbEntry& Core::translate(std::uint64_t linear, AccessKind kind, bool user) {
  const std::uint64_t page = linear & kPageMask;
  auto& table = kind == AccessKind::Fetch ? (user ? tlbs->user_code : tlbs->supervisor_code)
                                          : (user ? tlbs->user : tlbs->supervisor);
  TlbEntry& entry = table[tlb_slot(linear)];
  if (entry.page == page && (kind != AccessKind::Write || entry.writable)) return entry;

  TlbEntry found;
  const std::uint64_t physical = walk(linear, kind, user, found) & kPageMask;
  if (!entry.listed) tlbs->filled.push_back(&entry);
  entry = found;
  entry.listed = true;
  entry.page = page;
  entry.physical = physical;
  const Bus::Page memory = bus.page(physical);
  if (memory.bytes != nullptr) {
    entry.memory = true;
    entry.rom = !memory.writable;
    entry.addend = reinterpret_cast<std::uint64_t>(memory.bytes) - page;
    if (kind != AccessKind::Fetch) {
      entry.read_tag = page;
      if (entry.writable && memory.writable && !decoded.has(physical)) entry.write_tag = page;
    }
  }
  return entry;
}

std::uint64_t Core::walk(std::uint64_t linear, AccessKind kind, bool user, TlbEntry& found) {
  if ((cr0 & cr0::pg) == 0) {
    found.writable = true;
    return linear & 0xFFFFFFFF & physical_mask;
  }
  const bool wide = (cr4 & cr4::pae) != 0;
  const unsigned entry_bytes = wide ? 8 : 4;
  const unsigned index_bits = wide ? 9 : 10;
  Walk rights;
  std::uint64_t addresses[4] = {}, entries[4] = {};
  unsigned depth = 0;
  std::uint64_t table = 0;
  int level = 0;  // 1: entries map 4 KiB pages
  if (long_mode) {
    if (!arch::is_canonical(linear)) raise_gp();
    table = cr3 & physical_mask & kPageMask;
    level = 4;
  } else if (wide) {
    const std::uint64_t pdpte = pdptes[linear >> 30 & 3];
    if ((pdpte & pte::p) == 0) page_fault(linear, kind, user, 0);
    table = pdpte & physical_mask & kPageMask;
    level = 2;
  } else {
    table = cr3 & 0xFFFFF000;
    level = 2;
  }
  std::uint64_t physical = 0;
  for (;; --level) {
    const unsigned shift = 12 + static_cast<unsigned>(level - 1) * index_bits;
    const std::uint64_t at = table + (linear >> shift & ((1u << index_bits) - 1)) * entry_bytes;
    const std::uint64_t entry = physical_load(at, entry_bytes);
    if ((entry & pte::p) == 0) page_fault(linear, kind, user, 0);
    std::uint64_t reserved = 0;
    if (wide) {
      reserved = ~physical_mask & 0x000FFFFFFFFFF000;
      if (!long_mode) reserved |= 0x7FF0000000000000;
      if (!nx_enabled) reserved |= pte::nx;
    }
    const bool sizeable = wide || (cr4 & cr4::pse) != 0;
    const bool large = level > 1 && sizeable && (entry & pte::ps) != 0;
    if (large) {
      if (level == 4 || (level == 3 && !has_1g_pages)) {
        reserved |= pte::ps;
      } else if (!wide) {
        reserved |= 1u << 21;
      } else {
        reserved |= ((std::uint64_t{1} << shift) - 1) & ~std::uint64_t{0x1FFF};
      }
    }
    if ((entry & reserved) != 0) page_fault(linear, kind, user, error::p | error::reserved);
    rights.pass(entry, nx_enabled && wide);
    addresses[depth] = at;
    entries[depth++] = entry;
    if (level == 1 || large) {
      const std::uint64_t offset = (std::uint64_t{1} << shift) - 1;
      if (large && !wide) {
        physical = (entry & 0xFFC00000) | (entry & 0x1FE000) << 19;  // PSE-36
      } else {
        physical = entry & physical_mask & ~offset & ~pte::nx;
      }
      physical = (physical | (linear & offset)) & physical_mask;
      found.shift = static_cast<std::uint8_t>(shift);
      if (shift > 22) tlbs->huge = true;
      if (large) tlbs->large_at(linear) = tlbs->large_at(linear ^ (1u << 21)) = true;  // 4 MiB pages have two parts
      break;
    }
    table = entry & physical_mask & kPageMask;
    if (!wide) table &= 0xFFFFF000;
  }

  bool allowed = true;
  const bool protects = user || (cr0 & cr0::wp) != 0;
  if (user) {
    allowed = rights.user;
  } else if (rights.user) {
    if (kind == AccessKind::Fetch) allowed = (cr4 & cr4::smep) == 0;
    if (kind != AccessKind::Fetch) allowed = (cr4 & cr4::smap) == 0 || (system_flags & flag::ac) != 0;
  }
  if (kind == AccessKind::Write && protects && !rights.writable) allowed = false;
  if (kind == AccessKind::Fetch && !rights.executable) allowed = false;
  if (!allowed) page_fault(linear, kind, user, error::p);

  for (unsigned n = 0; n < depth; ++n) {
    std::uint64_t wanted = entries[n] | pte::a;
    if (n + 1 == depth && kind == AccessKind::Write) wanted |= pte::d;
    if (wanted != entries[n]) physical_store(addresses[n], entry_bytes, wanted), entries[n] = wanted;
  }
  found.writable = (entries[depth - 1] & pte::d) != 0 && (rights.writable || !protects);
  return physical;
}

bool Core::peek_translation(std::uint64_t linear, std::uint64_t& physical) {
  if ((cr0 & cr0::pg) == 0) {
    physical = linear & 0xFFFFFFFF & physical_mask;
    return true;
  }
  const bool wide = (cr4 & cr4::pae) != 0;
  const unsigned index_bits = wide ? 9 : 10;
  int level = long_mode ? 4 : 2;
  std::uint64_t table = cr3 & physical_mask & kPageMask;
  if (long_mode && !arch::is_canonical(linear)) return false;
  if (wide && !long_mode) {
    if ((pdptes[linear >> 30 & 3] & pte::p) == 0) return false;
    table = pdptes[linear >> 30 & 3] & physical_mask & kPageMask;
  }
  for (;; --level) {
    const unsigned shift = 12 + static_cast<unsigned>(level - 1) * index_bits;
    const std::uint64_t at = table + (linear >> shift & ((1u << index_bits) - 1)) * (wide ? 8 : 4);
    if (bus.page(at & physical_mask & kPageMask).bytes == nullptr) return false;
    const std::uint64_t entry = physical_load(at, wide ? 8 : 4);
    if ((entry & pte::p) == 0) return false;
    const bool large = level > 1 && (wide || (cr4 & cr4::pse) != 0) && (entry & pte::ps) != 0;
    if (level == 1 || large) {
      const std::uint64_t offset = (std::uint64_t{1} << shift) - 1;
      physical = large && !wide ? (entry & 0xFFC00000) | (entry & 0x1FE000) << 19 : entry & ~offset & ~pte::nx;
      physical = (physical | (linear & offset)) & physical_mask;
      return true;
    }
    table = entry & physical_mask & kPageMask;
  }
}

/// MOV to CR3 (and CR0, CR4) in PAE mode loads the four PDPTEs; reserved bits in a present one are #GP(0).
void Core::load_pdptes(std::uint64_t root) {
  std::array<std::uint64_t, 4> loaded{};
  for (unsigned n = 0; n < 4; ++n) {
    loaded[n] = physical_load((root & 0xFFFFFFE0) + 8 * n, 8);
    const std::uint64_t reserved = 0x1E6 | (~physical_mask & kPageMask);
    if ((loaded[n] & pte::p) != 0 && (loaded[n] & reserved) != 0) raise_gp();
  }
  pdptes = loaded;
}

void Core::flush_tlb() {
  for (TlbEntry* entry : tlbs->filled) *entry = {};
  tlbs->filled.clear();
  tlbs->large.fill(false);
  tlbs->huge = false;
  forget_code_page();
}

/// A large page may sit in any number of entries; where none is near, the page has one in each table at most.
void Core::flush_page(std::uint64_t linear) {
  const bool all = tlbs->huge || tlbs->large_at(linear);
  const unsigned first = all ? 0 : tlb_slot(linear), end = all ? kTlbEntries : first + 1;
  for (auto* table : {&tlbs->supervisor, &tlbs->user, &tlbs->supervisor_code, &tlbs->user_code}) {
    for (TlbEntry& entry : std::span(*table).subspan(first, end - first)) {
      if ((entry.page ^ linear) >> entry.shift == 0) entry = {.listed = entry.listed};
    }
  }
  forget_code_page();
}

}  // namespace zs::machine::vcpu
