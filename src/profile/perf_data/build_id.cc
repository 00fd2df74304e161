#include "profile/perf_data/build_id.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace zs::profile {

std::optional<BuildId> read_build_id(const std::string& path) {
  elf_version(EV_CURRENT);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  std::optional<BuildId> found;
  struct stat status {};
  Elf* elf = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? elf_begin(fd, ELF_C_READ_MMAP, nullptr) : nullptr;
  const void* bytes = nullptr;
  const ssize_t size = elf != nullptr && elf_kind(elf) == ELF_K_ELF ? dwelf_elf_gnu_build_id(elf, &bytes) : 0;
  if (size > 0) {
    found.emplace();
    found->size = static_cast<std::uint8_t>(std::min<std::size_t>(static_cast<std::size_t>(size), found->bytes.size()));
    std::copy_n(static_cast<const std::uint8_t*>(bytes), found->size, found->bytes.begin());
  }
  elf_end(elf);
  close(fd);
  return found;
}

std::string cached_path(const BuildId& id, std::string_view kind, const std::string& symfs) {
  const char* const home = symfs.empty() ? std::getenv("HOME") : symfs.c_str();
  const std::string hex = id.hex();
  if (home == nullptr || hex.size() < 4) return "";
  return fmt::format("{}/.debug/.build-id/{}/{}/{}", home, hex.substr(0, 2), hex.substr(2), kind);
}

}  // namespace zs::profile
