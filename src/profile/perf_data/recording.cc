#include "profile/perf_data/recording.h"

#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>

namespace zs::profile {

Machine this_machine() {
  Machine machine;
  utsname name{};
  if (uname(&name) == 0) {
    machine.hostname = name.nodename;
    machine.os_release = name.release;
    machine.architecture = name.machine;
  }
  machine.cpus = static_cast<std::uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF)));
  struct sysinfo memory {};
  if (sysinfo(&memory) == 0) machine.memory_kb = std::uint64_t{memory.totalram} * memory.mem_unit / 1024;
  return machine;
}

std::optional<BuildId> BuildId::of(const std::uint8_t* bytes, std::uint8_t size) {
  BuildId id;
  if (size == 0 || size > id.bytes.size()) return std::nullopt;
  std::copy_n(bytes, size, id.bytes.begin());
  id.size = size;
  return id;
}

std::string BuildId::hex() const {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < size; ++i) {
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}

}  // namespace zs::profile
