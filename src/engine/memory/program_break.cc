#include "engine/memory/program_break.h"

#include <errno.h>
#include <sys/mman.h>

#include "engine/raw_syscall.h"

namespace zs::engine {

long ProgramBreak::set(std::uint64_t address) {
  space_.follow_grown_stacks();
  const auto unchanged = static_cast<long>(end_);
  if (address < start_ || address > kTaskSize) return unchanged;
  if (address - start_ > limits_.data()) return unchanged;
  const std::uint64_t old_page = page_up(end_), new_page = page_up(address);
  if (new_page < old_page) {
    if (is_error(space_.unmap(new_page, old_page - new_page))) return unchanged;
  } else if (new_page > old_page) {
    if (is_error(grow(old_page, new_page))) return unchanged;
  }
  end_ = address;
  return static_cast<long>(address);
}

long ProgramBreak::grow(std::uint64_t from, std::uint64_t to) {
  if (to > space_.layout().heap.end || !space_.mappings().none_in({from, to + kPageSize})) return -ENOMEM;
  const GuestMapping wanted{.start = from,
                            .end = to,
                            .prot = PROT_READ | PROT_WRITE,
                            .flags = MAP_PRIVATE | MAP_ANONYMOUS,
                            .kind = MapKind::Heap};
  if (!limits_.may_expand(wanted, to - from)) return -ENOMEM;
  return space_.map_exactly(wanted, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

}  // namespace zs::engine
