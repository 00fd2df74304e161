#include "base/auxiliary_vector.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cerrno>

namespace zs {

std::optional<std::uint64_t> auxiliary_here(std::uint64_t type) {
  if (type != AT_HWCAP) {
    errno = 0;  // 0 may be a value: of AT_HWCAP2 where there is no FSGSBASE
    const std::uint64_t value = getauxval(type);
    return value != 0 || errno == 0 ? std::optional(value) : std::nullopt;
  }
  // getauxval() answers with a value of the C library's making.
  const int file = open("/proc/self/auxv", O_RDONLY | O_CLOEXEC);
  Elf64_auxv_t entries[64] = {};
  if (file >= 0) {
    (void)!read(file, entries, sizeof entries - sizeof entries[0]);
    close(file);
  }
  for (const Elf64_auxv_t& entry : entries) {
    if (entry.a_type == AT_HWCAP) return entry.a_un.a_val;
  }
  return getauxval(AT_HWCAP);
}

}  // namespace zs
