#include "engine/run/guest_memory.h"

#include "engine/memory/copy_code.h"
#include "engine/memory/guest_access.h"

namespace zs::engine {

std::size_t GuestMemory::write(std::uint64_t address, const void* data, std::size_t size) {
  if (map.code().protected_pages() != 0) map.code().open({address, address + size});
  const std::size_t copied =
      copy(address, reinterpret_cast<void*>(address), reinterpret_cast<std::uint64_t>(data), size);
  return copied + write_guest(address + copied, static_cast<const std::byte*>(data) + copied, size - copied);
}

std::size_t GuestMemory::read(std::uint64_t address, void* data, std::size_t size) const {
  const std::size_t copied = copy(address, data, address, size);
  return copied + read_guest(address + copied, static_cast<std::byte*>(data) + copied, size - copied);
}

// Two system calls less than when the kernel copies (guest_access.h). A tracer would be stopped by the fault.
std::size_t GuestMemory::copy(std::uint64_t guest, void* to, std::uint64_t from, std::size_t size) const {
  const Thread* const thread = threads_.thread;
  const bool answers = thread != nullptr && thread->takes_faults && !thread->process->traced;
  const bool is_guests = size != 0 && !is_out_of_reach(guest) && !is_out_of_reach(guest + size - 1);
  return answers && is_guests && size <= kTaskSize && guest <= kTaskSize - size ? zs_copy_code(to, from, size) : 0;
}

}  // namespace zs::engine
