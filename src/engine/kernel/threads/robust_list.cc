#include "engine/kernel/threads/robust_list.h"

#include <linux/futex.h>

#include "engine/memory/guest_access.h"
#include "engine/raw_syscall.h"

namespace zs::engine {

// source: Linux, kernel/futex/core.c, exit_robust_list() and handle_futex_death().
void leave_robust_list(GuestMemory& memory, const ThreadSet& threads, const Thread& thread) {
  struct Head {
    std::uint64_t first;
    std::int64_t offset;
    std::uint64_t pending;
  };
  const auto id = static_cast<std::uint32_t>(threads.ids.shown(thread.id.tid));
  std::uint64_t at = 0;
  std::size_t length = 0;
  if (id == static_cast<std::uint32_t>(thread.id.tid) ||
      is_error(raw_syscall(SYS_get_robust_list, thread.id.tid, &at, &length)) || at == 0)
    return;
  const auto head = read_guest_value<Head>(at);
  if (!head) return;
  constexpr std::uint64_t kInherits = 1;  // priority: such a word has no waiters that it could wake
  const auto leave = [&](std::uint64_t entry) {
    const std::uint64_t address = (entry & ~kInherits) + static_cast<std::uint64_t>(head->offset);
    const auto word = read_guest_value<std::uint32_t>(address);
    if (!word || (*word & FUTEX_TID_MASK) != id) return;
    const std::uint32_t left = (*word & FUTEX_WAITERS) | FUTEX_OWNER_DIED;
    const bool wakes = (*word & FUTEX_WAITERS) != 0 && (entry & kInherits) == 0;
    if (memory.write(address, &left, sizeof left) == sizeof left && wakes)
      raw_syscall(SYS_futex, address, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  };
  std::uint64_t entry = head->first;
  for (int limit = 2048; limit != 0 && (entry & ~kInherits) != at; --limit) {
    const auto next = read_guest_value<std::uint64_t>(entry & ~kInherits);
    if (entry != head->pending) leave(entry);
    if (!next) break;
    entry = *next;
  }
  if (head->pending != 0) leave(head->pending);
}

}  // namespace zs::engine
