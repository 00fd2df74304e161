#include "engine/memory/code_protection.h"

#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "engine/raw_syscall.h"

namespace zs::engine {

bool CodeProtection::protect(std::uint64_t page) {
  CHECK(page % kPageSize == 0);
  const GuestMapping* const mapping = mappings_.find(page);
  CHECK(mapping != nullptr);
  if (!(mapping->prot & PROT_WRITE) || pages_.contains(page)) return true;
  if (is_error(raw_syscall(SYS_mprotect, page, kPageSize, real_.of(mapping->prot) & ~PROT_WRITE))) return false;
  pages_.insert(page);
  return true;
}

bool CodeProtection::any_protected_in(AddressRange range) const {
  const auto first = pages_.lower_bound(range.start);
  return first != pages_.end() && *first < range.end;
}

void CodeProtection::open(AddressRange range) {
  const std::uint64_t end = page_up(range.end);
  for (auto at = pages_.lower_bound(page_down(range.start)); at != pages_.end() && *at < end;
       at = pages_.lower_bound(page_down(range.start)))
    will_change({*at, *at + kPageSize});
}

void CodeProtection::forget(AddressRange range) {
  pages_.erase(pages_.lower_bound(range.start), pages_.lower_bound(range.end));
}

void CodeProtection::restore(AddressRange range) {
  const auto first = pages_.lower_bound(range.start), last = pages_.lower_bound(range.end);
  const std::vector<std::uint64_t> pages(first, last);
  pages_.erase(first, last);
  for (std::size_t i = 0; i < pages.size();) {
    const GuestMapping* const mapping = mappings_.find(pages[i]);
    CHECK(mapping != nullptr);
    AddressRange run{pages[i], pages[i] + kPageSize};
    for (++i; i < pages.size() && pages[i] == run.end && run.end < mapping->end; ++i) run.end += kPageSize;
    raw_syscall(SYS_mprotect, run.start, run.size(), real_.of(mapping->prot));
  }
}

void CodeProtection::will_change(AddressRange range) {
  if (range.empty()) return;
  if (listener_ != nullptr) {
    mappings_.for_each_in(range, [&](const GuestMapping& each) {
      if (!(each.prot & PROT_EXEC)) return;
      listener_->code_changed(std::max(range.start, each.start), std::min(range.end, each.end));
    });
  }
  restore(range);
}

void CodeProtection::became_executable(AddressRange range) const {
  if (listener_ != nullptr) listener_->code_changed(range.start, range.end);
}

void CodeProtection::give_way() const {
  if (listener_ != nullptr) listener_->give_way();
}

}  // namespace zs::engine
