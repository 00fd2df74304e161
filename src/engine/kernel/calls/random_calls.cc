// Random bytes: under --virtual-time a stream of the run's, which follows from its seed.

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "engine/kernel/calls/call_handlers.h"
#include "engine/kernel/guest_kernel.h"
#include "engine/memory/guest_access.h"
#include "engine/raw_syscall.h"

namespace zs::engine::calls {
namespace {

/// /dev/random or /dev/urandom, open for reading.
bool is_random_device(long fd) {
  // source: Linux, admin-guide/devices.txt, "Memory devices"
  constexpr unsigned kMemory = 1, kRandom = 8, kUrandom = 9;
  struct stat status {};
  if (raw_syscall(SYS_fstat, fd, &status) != 0 || !S_ISCHR(status.st_mode) || major(status.st_rdev) != kMemory)
    return false;
  const unsigned number = minor(status.st_rdev);
  const long mode = raw_syscall(SYS_fcntl, fd, F_GETFL);
  return (number == kRandom || number == kUrandom) && !is_error(mode) && (mode & O_ACCMODE) != O_WRONLY;
}

/// As far as they can be written. returns how many, as read and getrandom do
long write_random(GuestKernel& kernel, std::uint64_t address, std::uint64_t size) {
  std::array<std::uint64_t, 512> words;
  std::uint64_t done = 0;
  while (done < size) {
    const std::uint64_t now = std::min<std::uint64_t>(size - done, sizeof words);
    for (std::size_t i = 0; 8 * i < now; ++i) words[i] = kernel.clock.random();
    const std::uint64_t wrote = kernel.memory.write(address + done, words.data(), now);
    done += wrote;
    if (wrote != now) break;
  }
  return done == 0 && size != 0 ? -EFAULT : static_cast<long>(done);
}

}  // namespace

Outcome read(GuestKernel& kernel, const CallArguments& made) {
  if (!kernel.run.config.virtual_time || !is_random_device(made.a[0])) return {kernel.host.call(made)};
  if (made.number != SYS_readv) return {write_random(kernel, made.u(1), made.u(2))};
  long sum = 0;
  for (std::uint64_t i = 0; static_cast<long>(i) < made.a[2]; ++i) {
    const auto piece = read_guest_value<iovec>(made.u(1) + sizeof(iovec) * i);
    const long wrote =
        !piece ? -EFAULT : write_random(kernel, reinterpret_cast<std::uint64_t>(piece->iov_base), piece->iov_len);
    if (wrote < 0) return {sum == 0 ? wrote : sum};
    sum += wrote;
  }
  return {sum};
}

// Callers that accept weaker bytes (hash seeds, heap keys) get repeatable ones; keys are the kernel's business.
Outcome getrandom(GuestKernel& kernel, const CallArguments& made) {
  constexpr std::uint64_t kMost = 0x7FFF'F000;  // that one call transfers (MAX_RW_COUNT)
  const std::uint32_t flags = static_cast<std::uint32_t>(made.u(2));
  const bool wrong = (flags & ~(GRND_NONBLOCK | GRND_RANDOM | GRND_INSECURE)) != 0 ||
                     (flags & (GRND_RANDOM | GRND_INSECURE)) == (GRND_RANDOM | GRND_INSECURE);
  const bool weak = (flags & (GRND_NONBLOCK | GRND_INSECURE)) != 0;
  if (wrong || (!weak && !kernel.run.config.virtual_time)) return {kernel.host.call(made)};
  return {write_random(kernel, made.u(0), std::min(made.u(1), kMost))};
}

}  // namespace zs::engine::calls
