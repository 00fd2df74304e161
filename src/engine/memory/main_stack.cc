#include "engine/memory/main_stack.h"

#include <sys/mman.h>

#include <algorithm>

#include "engine/memory/map_limits.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

constexpr std::uint64_t kUnlimitedStack = std::uint64_t{1} << 30;

}  // namespace

long MainStack::map(std::uint64_t soft_limit, bool executable) {
  const Layout& layout = space_.layout();
  const std::uint64_t most = layout.stack_top() - layout.stack.start;
  const std::uint64_t bytes =
      std::clamp(page_up(std::min(soft_limit, kUnlimitedStack)), 32 * kPageSize, page_down(most));
  const auto prot = static_cast<std::uint32_t>(PROT_READ | PROT_WRITE | (executable ? PROT_EXEC : 0));
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  const GuestMapping stack{.start = layout.stack_top() - bytes,
                           .end = layout.stack_top(),
                           .prot = prot,
                           .flags = kFlags,
                           .kind = MapKind::Stack};
  if (const long result = space_.map_exactly(stack, kFlags | MAP_STACK, -1); is_error(result)) return result;
  const GuestMapping arguments{
      .start = layout.stack_top(), .end = layout.stack.end, .prot = prot, .flags = kFlags, .kind = MapKind::Arguments};
  if (const long result = space_.map_exactly(arguments, kFlags | MAP_STACK, -1); is_error(result)) return result;
  // As in the kernel's stacks: a touched page must not become 2 MiB. An error means that there are no huge pages at
  // all.
  raw_syscall(SYS_madvise, stack.start, layout.stack.end - stack.start, MADV_NOHUGEPAGE);
  return 0;
}

const GuestMapping* MainStack::find() const {
  const GuestMapping* const found = space_.mappings().find(space_.layout().stack_top() - 1);
  return found != nullptr && found->kind == MapKind::Stack ? found : nullptr;
}

void MainStack::set_limit(std::uint64_t soft_limit) {
  const GuestMapping* const found = find();
  if (found == nullptr) return;
  const Layout& layout = space_.layout();
  GuestMapping more = *found;
  const std::uint64_t bytes = page_up(std::min(soft_limit, kUnlimitedStack));
  const std::uint64_t start = layout.stack_top() - std::min(bytes, layout.stack_top() - layout.stack.start);
  if (start > more.start) return shrink(bytes);
  if (start == more.start || !space_.mappings().none_in({start, more.start})) return;
  more.end = more.start;
  more.start = start;
  if (is_error(space_.map_exactly(more, static_cast<int>(more.flags) | MAP_STACK, -1))) return;
  raw_syscall(SYS_madvise, start, more.end - start, MADV_NOHUGEPAGE);
}

/// Pages that nobody has touched lie below the lowest that is in memory.
void MainStack::shrink(std::uint64_t bytes) {
  const AddressRange stack = find()->range();
  std::uint64_t lowest = stack.start;
  unsigned char present[256];
  for (bool any = false; lowest < stack.end && !any;) {
    const std::uint64_t pages = std::min<std::uint64_t>(sizeof present, (stack.end - lowest) / kPageSize);
    if (is_error(raw_syscall(SYS_mincore, lowest, pages * kPageSize, present))) return;
    const auto* const first =
        std::find_if(present, present + pages, [](unsigned char page) { return (page & 1) != 0; });
    any = first != present + pages;
    lowest += static_cast<std::uint64_t>(first - present) * kPageSize;
  }
  const std::uint64_t keep =
      std::min({lowest, stack.end - std::min(bytes, stack.size()), stack.end - kFirstStackBytes});
  if (keep > stack.start) space_.unmap(stack.start, keep - stack.start);
}

}  // namespace zs::engine
