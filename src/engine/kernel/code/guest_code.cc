#include "engine/kernel/code/guest_code.h"

#include <sys/mman.h>

#include <algorithm>

#include "engine/memory/copy_code.h"

namespace zs::engine {

std::span<const std::uint8_t> GuestCode::fetch(std::uint64_t pc) {
  if (!fetch_range_.contains(pc)) {
    const GuestMapping* mapping = run_.map.mappings().find(pc);
    if (mapping == nullptr || (mapping->prot & 4u) == 0) return {};
    fetch_range_ = mapping->range();
    // A file that nobody can write any more is as good as private; of shared mappings that is not looked into.
    fetch_shared_ = mapping->shared() || (mapping->file && written_.may_be_written(*mapping->file));
  }
  std::uint64_t end = fetch_range_.end;
  if (end - pc < kLongestInstruction && run_.map.mappings().is_executable(end)) end = pc + kLongestInstruction;
  const std::size_t size = std::min(end - pc, kLongestInstruction);
  const bool in_one_page = (pc & (kPageSize - 1)) <= kPageSize - fetched_.size();
  if (in_one_page && zs_copy_code16(fetched_.data(), pc)) return {fetched_.data(), size};
  return {fetched_.data(), zs_copy_code(fetched_.data(), pc, size)};
}

bool GuestCode::may_change_unseen(std::uint64_t pc) {
  if (!fetch_range_.contains(pc)) static_cast<void>(fetch(pc));
  return fetch_range_.contains(pc) && fetch_shared_;
}

void GuestCode::translated(std::uint64_t page) {
  const std::uint64_t address = page * kPageSize;
  if (address == open_page_) return;
  constexpr std::uint32_t kWritableCode = PROT_WRITE | PROT_EXEC;
  if ((run_.map.mappings().prot_at(address) & kWritableCode) == kWritableCode && !run_.map.code().is_protected(address))
    run_.map.code().protect(address);
}

void GuestCode::code_changed(std::uint64_t start, std::uint64_t end) {
  fetch_range_ = {};
  probes_.code_changed();
  run_.invalidate(start, end);
}

void GuestCode::give_way() {
  run_.for_each_code_cache([](CodeCache& each) { each.direct_table().unmap(); });
  translates_anew_ = true;
}

// A store into a page that has translations: they are dropped, and the store runs alone with the page writable.
bool GuestCode::handle_write(std::uint64_t address) {
  bool ours = false;
  const std::uint64_t first = page_down(address);
  // A store may straddle two pages; the faulting address is in one of them.
  for (const std::uint64_t page : {first, first + kPageSize}) {
    if (!run_.map.code().is_protected(page)) continue;
    if (page != first && address + 64 <= page) continue;
    probes_.code_changed();
    run_.invalidate(page, page + kPageSize);
    run_.map.code().unprotect(page);
    if (page == first) {
      ours = true;
      open_page_ = page;
    }
  }
  return ours;
}

}  // namespace zs::engine
