// From an instruction pointer to a decoded instruction: the code page at hand, other decoded pages, and decoding
// itself.
// An instruction that lies across a page boundary, or in memory that is not plain, is decoded each time it runs: its
// second half may change without the first.
#include <algorithm>
#include <array>
#include <cstring>

#include "arch/linear.h"
#include "machine/vcpu/core.h"
#include "machine/vcpu/lower.h"

namespace zs::machine::vcpu {

const Insn* Core::fetch_slow() {
  const std::uint64_t ip = regs[kIp];
  if (code64) {  // another page that code has run in before: no segment to look at, and its entry says the rest
    const TlbEntry& known = (cpl == 3 ? tlbs->user_code : tlbs->supervisor_code)[tlb_slot(ip)];
    if (known.page == (ip & kPageMask) && known.decoded != nullptr && known.mode == mode) {
      code = {known.decoded, known.page, kPageBytes};
      if (const Insn* insn = known.decoded->find(static_cast<unsigned>(ip & kPageOffset))) return insn;
    }
  }
  decoded.bury();
  const Segment& cs = segments[kCs];
  if (code64) {
    if (!arch::is_canonical(ip)) raise_gp();
  } else if (ip > cs.limit) {
    raise_gp();
  }
  const std::uint64_t linear = ((code64 ? 0 : cs.base) + ip) & linear_mask;
  TlbEntry& entry = translate(linear, AccessKind::Fetch, cpl == 3);
  const auto offset = static_cast<unsigned>(linear & kPageOffset);
  const std::uint64_t physical = entry.physical;
  const std::uint64_t to_limit =
      code64 ? kPageBytes : std::uint64_t{cs.limit} - ip + 1;  // bytes of the segment from here

  if (entry.memory) {
    if (entry.decoded == nullptr || entry.mode != mode) {
      if (decoded.full()) {
        decoded.clear();
        flush_tlb();
        return fetch_slow();
      }
      const bool first_time = !decoded.has(physical);
      entry.decoded = &decoded.page(physical, mode);
      entry.mode = mode;
      if (first_time) drop_fast_stores(physical);
    }
    DecodedPage& page = *entry.decoded;
    const std::uint64_t first_ip = ip - offset;
    const bool whole_page = code64 || (ip >= offset && to_limit >= kPageBytes - offset);
    if (whole_page) {
      code.page = &page;
      code.first_ip = first_ip;
      code.bytes = kPageBytes;
      if (const Insn* insn = page.find(offset)) return insn;
    } else {
      forget_code_page();
      if (const Insn* insn = page.find(offset); insn != nullptr && insn->length <= to_limit) return insn;
    }
  }

  std::array<std::uint8_t, 15> bytes{};
  unsigned available = static_cast<unsigned>(std::min<std::uint64_t>(15, kPageBytes - offset));
  bool limited = false;
  if (available > to_limit) available = static_cast<unsigned>(to_limit), limited = true;
  if (entry.memory) {
    std::memcpy(bytes.data(), reinterpret_cast<const void*>(entry.addend + linear), available);
  } else {
    physical_read(physical | offset, bytes.data(), available);
  }
  const bool watched_place = monitor.may_watch(linear, real_addressing());
  Lowered lowered = lower(*this, std::span(bytes.data(), available), mode);
  if (lowered.outcome == Lowered::Outcome::Incomplete) {
    if (limited) raise_gp();
    if (available == 15) raise_gp();
    const unsigned more = static_cast<unsigned>(std::min<std::uint64_t>(15, to_limit)) - available;
    const std::uint64_t next = (linear + available) & linear_mask;
    if (code64 && !arch::is_canonical(next)) raise_gp();
    if (more == 0) raise_gp();
    const TlbEntry& second = translate(next, AccessKind::Fetch, cpl == 3);
    if (second.memory) {
      std::memcpy(bytes.data() + available, reinterpret_cast<const void*>(second.addend + next), more);
    } else {
      physical_read(second.physical, bytes.data() + available, more);
    }
    lowered = lower(*this, std::span(bytes.data(), available + more), mode);
    if (lowered.outcome == Lowered::Outcome::Incomplete) raise_gp();
    scratch[0] = lowered.insn;
    return scratch.data();
  }
  if (watched_place) monitor.put_in_front(linear, lowered.insn);
  if (!entry.memory) {
    scratch[0] = lowered.insn;
    return scratch.data();
  }
  decoded.mark(physical, offset, lowered.insn.length);
  return decoded.page(physical, mode).add(offset, lowered.insn);
}

void Core::code_written(std::uint64_t physical, unsigned bytes) { decoded.written(physical, bytes); }

/// A page gets its first decoded instruction: stores to it must come by here from now on.
void Core::drop_fast_stores(std::uint64_t physical_page) {
  for (auto* table : {&tlbs->supervisor, &tlbs->user}) {
    for (TlbEntry& entry : *table) {
      if (entry.page != kNoPage && entry.physical == physical_page) entry.write_tag = kNoPage;
    }
  }
}

}  // namespace zs::machine::vcpu
