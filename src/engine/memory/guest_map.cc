#include "engine/memory/guest_map.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/memory/real_maps.h"
#include "engine/raw_syscall.h"

namespace zs::engine {

GuestMap::GuestMap(const Layout& layout, bool strip_exec)
    : layout_(layout),
      strip_exec_(strip_exec),
      low_(layout.low),
      high_(layout.high),
      spare_(layout.spare),
      vast_(layout.vast) {
  reserve(layout.engine);
  set_brk_start(layout.heap.start);
}

void GuestMap::reserve(AddressRange range) {
  if (range.empty()) return;
  engine_.push_back(range);
  if (shown_ != nullptr) shown_->add_engine(range);
  for (FreeSpace* zone : {&low_, &high_, &spare_, &vast_}) zone->take(range);
}

void GuestMap::reserve_until_wanted(AddressRange range) {
  if (shown_ != nullptr) {
    shown_->drop_engine(yielding_);
    shown_->add_engine(range);
  }
  yielding_ = range;
}

void GuestMap::publish(ShownCode& shown) {
  shown_ = &shown;
  for (const AddressRange range : engine_) shown.add_engine(range);
  shown.add_engine(yielding_);
  for (const auto& [start, mapping] : mappings_) shown.set(mapping.range(), mapping.prot);
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
  if ((mapping.prot & PROT_EXEC) != 0 && listener_ != nullptr) listener_->code_changed(range.start, range.end);
  for (FreeSpace* zone : {&low_, &high_, &spare_, &vast_}) zone->take(range);
  if (shown_ != nullptr) shown_->set(range, mapping.prot);
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
  if (shown_ != nullptr) shown_->set(range, PROT_NONE);
  for (auto each = mappings_.lower_bound(range.start); each != mappings_.end() && each->first < range.end;) {
    for (FreeSpace* zone : {&low_, &high_, &spare_, &vast_}) {
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

void GuestMap::update(AddressRange range, const std::function<void(GuestMapping&)>& change) {
  split(range.start);
  split(range.end);
  for (auto each = mappings_.lower_bound(range.start); each != mappings_.end() && each->first < range.end; ++each) {
    change(each->second);
    if (shown_ != nullptr) shown_->set(each->second.range(), each->second.prot);
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
    if (each->second.shown_only()) return true;
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
    if (each->second.shown_only()) continue;
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

void GuestMap::open_code_pages(AddressRange range) {
  const std::uint64_t end = page_up(range.end);
  for (auto at = code_pages_.lower_bound(page_down(range.start)); at != code_pages_.end() && *at < end;
       at = code_pages_.lower_bound(page_down(range.start)))
    code_will_change({*at, *at + kPageSize});
}

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
      const bool is_file = kernels != real.end() && kernels->start <= start && kernels->path.starts_with('/');
      if (is_file) {  // the first shared memory of System V has the inode 0
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
