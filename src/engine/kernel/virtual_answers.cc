#include "engine/kernel/virtual_answers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

#include "engine/kernel/virtual_calls.h"
#include "engine/memory/guest_access.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
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

}  // namespace

long VirtualAnswers::write_random(std::uint64_t address, std::uint64_t size) {
  std::array<std::uint64_t, 512> words;
  std::uint64_t done = 0;
  while (done < size) {
    const std::uint64_t now = std::min<std::uint64_t>(size - done, sizeof words);
    for (std::size_t i = 0; 8 * i < now; ++i) words[i] = clock_.random();
    const std::uint64_t wrote = memory_.write(address + done, words.data(), now);
    done += wrote;
    if (wrote != now) break;
  }
  return done == 0 && size != 0 ? -EFAULT : static_cast<long>(done);
}

std::optional<long> VirtualAnswers::answer(long number, const long (&a)[6]) {
  const auto out = [&](long address, const auto& value) {
    return memory_.write(static_cast<std::uint64_t>(address), &value, sizeof value) == sizeof value ? 0L
                                                                                                    : long{-EFAULT};
  };
  switch (number) {
    case SYS_clock_gettime: {
      if (a[0] < 0 || a[0] > CLOCK_TAI) return std::nullopt;
      return out(a[1], timespec_of(shown_by(static_cast<clockid_t>(a[0]), clock_.look())));
    }
    case SYS_gettimeofday: {
      const TwoWords now = timespec_of(shown_by(CLOCK_REALTIME, clock_.look()));
      return a[0] == 0 ? 0 : out(a[0], TwoWords{now[0], now[1] / 1000});
    }
    case SYS_time: {
      const std::int64_t value = shown_by(CLOCK_REALTIME, clock_.look()) / kBillion;
      if (a[0] != 0 && out(a[0], value) != 0) return -EFAULT;
      return value;
    }
    case SYS_read:
    case SYS_pread64:
      if (!is_random_device(a[0])) return std::nullopt;
      return write_random(static_cast<std::uint64_t>(a[1]), static_cast<std::uint64_t>(a[2]));
    case SYS_readv: {
      if (!is_random_device(a[0])) return std::nullopt;
      long sum = 0;
      for (long i = 0; i < a[2]; ++i) {
        const auto piece =
            read_guest_value<iovec>(static_cast<std::uint64_t>(a[1]) + sizeof(iovec) * static_cast<std::uint64_t>(i));
        const long wrote =
            !piece ? -EFAULT : write_random(reinterpret_cast<std::uint64_t>(piece->iov_base), piece->iov_len);
        if (wrote < 0) return sum == 0 ? wrote : sum;
        sum += wrote;
      }
      return sum;
    }
    case SYS_times: {
      constexpr std::array<std::byte, sizeof(tms)> kNothing{};
      if (a[0] != 0 && out(a[0], kNothing) != 0) return -EFAULT;
      return static_cast<long>(clock_.look() / 10'000'000);
    }
    case SYS_getcpu: {
      constexpr std::uint32_t kFirst = 0;
      if (a[0] != 0) out(a[0], kFirst);
      if (a[1] != 0) out(a[1], kFirst);
      return 0;
    }
    default: return std::nullopt;
  }
}

}  // namespace zs::engine
