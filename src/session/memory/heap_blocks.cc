#include "session/memory/heap_blocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

namespace zs::session {
namespace {

using engine::ProbeTime;

/// What was asked for; no allocator gives as much as this where the product is too large.
std::uint64_t product(std::uint64_t count, std::uint64_t size) {
  std::uint64_t bytes = 0;
  return __builtin_mul_overflow(count, size, &bytes) ? 0 : bytes;
}

}  // namespace

void HeapBlocks::mapped(const engine::Mapping& mapping) {
  if ((mapping.protection & PROT_EXEC) == 0) return;
  code_[mapping.start] = mapping.start + mapping.length;
  std::erase_if(calls_, [&](const auto& one) { return one.first - mapping.start < mapping.length; });
  if (!mapping.path.starts_with('/') || mapping.inode == 0) return;
  const auto [file, fresh] = files_.try_emplace(File{mapping.device_major, mapping.device_minor, mapping.inode});
  if (fresh) file->second = find_allocators_of_file(mapping.path.c_str(), mapping.inode);
  for (const AllocatorEntry& entry : file->second) {
    if (entry.file_offset - mapping.file_offset >= mapping.length) continue;
    const std::uint64_t pc = mapping.start + (entry.file_offset - mapping.file_offset);
    calls_[pc] = entry.call;
    new_.push_back({.pc = pc, .time = ProbeTime::Before, .with_registers = true});
  }
}

bool HeapBlocks::is_code(std::uint64_t address) const {
  const auto above = code_.upper_bound(address);
  return above != code_.begin() && address < std::prev(above)->second;
}

// In code without frame pointers BP holds anything: what it points to is believed where it is close above on the stack
// and says that a mapping with code follows.
std::vector<std::uint64_t> HeapBlocks::callers(const arch::RegisterFile& at_entry) {
  constexpr std::size_t kMostCallers = 8;
  std::array<std::uint64_t, 128> stack;
  const std::size_t words = memory_.read(at_entry.sp, std::as_writable_bytes(std::span(stack))) / sizeof stack[0];
  std::vector<std::uint64_t> callers;
  if (words == 0) return callers;
  callers.push_back(stack[0]);
  if (returns_.insert(stack[0]).second)
    new_.push_back({.pc = stack[0], .time = ProbeTime::Before, .with_registers = true});
  std::uint64_t bp = at_entry.bp;
  for (std::uint64_t above = at_entry.sp; callers.size() < kMostCallers && bp > above && bp % 8 == 0;) {
    const std::uint64_t at = (bp - at_entry.sp) / 8;
    if (at + 1 >= words || !is_code(stack[at + 1])) break;
    callers.push_back(stack[at + 1]);
    above = bp;
    bp = stack[at];
  }
  return callers;
}

std::uint64_t HeapBlocks::number_of(std::uint64_t start) {
  const auto block = blocks_.at(start);
  return block ? block->number : 0;
}

std::uint32_t HeapBlocks::number_of_site(Site site) {
  if (sites_.size() >> BlockTable::kSiteBits != 0 && !site_numbers_.contains(site)) return 0;
  const auto [known, fresh] = site_numbers_.try_emplace(std::move(site), static_cast<std::uint32_t>(sites_.size()));
  if (fresh) sites_.push_back(&known->first);
  return known->second;
}

void HeapBlocks::add(std::uint64_t start, std::uint64_t size, Site site) {
  if (size >> BlockTable::kSizeBits != 0) return;  // a function of that name, but no allocator
  // What lies there already was given back in a way that nobody saw.
  blocks_.add({.start = start, .size = size, .number = ++last_number_, .site = number_of_site(std::move(site))});
}

std::shared_ptr<const HeapBlock> HeapBlocks::find(std::uint64_t address) {
  const auto block = blocks_.find(address);
  if (!block) return nullptr;
  if (last_found_ == nullptr || last_found_->number != block->number) {
    last_found_ = std::make_shared<const HeapBlock>(
        HeapBlock{.number = block->number, .start = block->start, .size = block->size, .site = *sites_[block->site]});
  }
  return last_found_;
}

// The stack grows down: a function whose entry lies below the stack pointer has been left. Where it returns to, it did
// so properly.
void ThreadHeap::leave(std::uint64_t pc, const arch::RegisterFile& registers) {
  while (!open_.empty() && open_.back().sp < registers.sp) {
    const Open left = std::move(open_.back());
    open_.pop_back();
    if (!left.callers.empty() && pc == left.callers.front() && registers.sp == left.sp + sizeof(std::uint64_t))
      returned(left, registers.ax);
  }
}

void ThreadHeap::enter(std::uint64_t pc, const arch::RegisterFile& registers) {
  const AllocatorCall* const call = blocks_.call_at(pc);
  if (call == nullptr) return;
  // One jumped to the other, which returns for both.
  if (!open_.empty() && open_.back().sp == registers.sp) open_.pop_back();
  if (!open_.empty() && open_.back().call != AllocatorCall::PassOn) return;
  if (*call == AllocatorCall::Free) {
    if (blocks_.number_of(registers.di) != 0) change_ = Change{.removed = registers.di, .site = {}};
    return;
  }
  Open open{.call = *call, .sp = registers.sp, .callers = blocks_.callers(registers)};
  switch (*call) {
    case AllocatorCall::Allocate: open.size = registers.di; break;
    case AllocatorCall::AllocateArray: open.size = product(registers.di, registers.si); break;
    case AllocatorCall::AllocateAfter: open.size = registers.si; break;
    case AllocatorCall::AllocateInto:
      open.size = registers.dx;
      open.old = registers.di;
      break;
    case AllocatorCall::Resize:
    case AllocatorCall::ResizeArray:
      open.size = *call == AllocatorCall::Resize ? registers.si : product(registers.si, registers.dx);
      open.old = registers.di;
      open.old_number = blocks_.number_of(registers.di);
      break;
    case AllocatorCall::Free:
    case AllocatorCall::PassOn: break;
  }
  open_.push_back(std::move(open));
}

void ThreadHeap::returned(const Open& call, std::uint64_t result) {
  if (call.call == AllocatorCall::PassOn) return;
  Change change{.added = result, .size = call.size, .site = {}};
  if (call.call == AllocatorCall::AllocateInto) {
    if (static_cast<std::uint32_t>(result) != 0) return;
    const std::size_t got = blocks_.memory().read(call.old, std::as_writable_bytes(std::span(&change.added, 1)));
    if (got != sizeof change.added) return;
  } else if (call.old_number != 0 && (result != 0 || call.size == 0)) {
    change.removed = call.old;
    change.removed_number = call.old_number;
  }
  if (change.added == 0 && change.removed == 0) return;
  change.site = open_.empty() ? call.callers : open_.front().callers;
  change_ = std::move(change);
}

void ThreadHeap::apply(Change change) {
  const bool is_same = change.removed_number == 0 || blocks_.number_of(change.removed) == change.removed_number;
  if (change.removed != 0 && is_same) blocks_.remove(change.removed);
  if (change.added != 0) blocks_.add(change.added, change.size, std::move(change.site));
}

}  // namespace zs::session
