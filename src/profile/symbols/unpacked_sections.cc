#include "profile/symbols/unpacked_sections.h"

#include <elf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "profile/perf_data/file_bytes.h"

namespace zs::profile {
namespace {

constexpr std::uint32_t kZstd = 2;  // ELFCOMPRESS_ZSTD; elf.h of Debian 12 does not have it

bool write_whole(int fd, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t done = write(fd, bytes.data(), bytes.size());
    if (done <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return true;
}

template <typename T>
bool read_at(Bytes file, std::uint64_t offset, T& value) {
  if (offset > file.size() || sizeof value > file.size() - offset) return false;
  std::memcpy(&value, file.data() + offset, sizeof value);
  return true;
}

/// What is behind the file's end in the copy, and the headers that point there.
struct Unpacked {
  std::vector<std::byte> bytes;
  std::vector<std::pair<std::uint64_t, Elf64_Shdr>> headers;  // by place
};

Unpacked unpack(Bytes file) {
  Unpacked result;
  Elf64_Ehdr elf;
  if (!read_at(file, 0, elf) || std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64) {
    return result;
  }
  for (unsigned i = 0; i < elf.e_shnum; ++i) {
    const std::uint64_t place = elf.e_shoff + std::uint64_t{i} * sizeof(Elf64_Shdr);
    Elf64_Shdr section;
    Elf64_Chdr packed;
    if (!read_at(file, place, section) || (section.sh_flags & SHF_COMPRESSED) == 0) continue;
    if (!read_at(file, section.sh_offset, packed) || packed.ch_type != kZstd) continue;
    if (section.sh_size < sizeof packed || section.sh_size > file.size() - section.sh_offset) continue;
    if (packed.ch_size > most_unpacked_bytes()) continue;
    const Bytes content = file.subspan(section.sh_offset + sizeof packed, section.sh_size - sizeof packed);
    result.bytes.resize((result.bytes.size() + 15) & ~std::size_t{15});
    const std::size_t at = result.bytes.size();
    result.bytes.resize(at + packed.ch_size);
    const std::size_t done = ZSTD_decompress(result.bytes.data() + at, packed.ch_size, content.data(), content.size());
    if (ZSTD_isError(done) != 0 || done != packed.ch_size) {
      result.bytes.resize(at);
      continue;
    }
    section.sh_offset = file.size() + at;
    section.sh_size = packed.ch_size;
    section.sh_addralign = packed.ch_addralign;
    section.sh_flags &= ~std::uint64_t{SHF_COMPRESSED};
    result.headers.emplace_back(place, section);
  }
  return result;
}

}  // namespace

int with_unpacked_sections(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return fd;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (address == MAP_FAILED) return fd;
  const Bytes file{static_cast<const std::byte*>(address), size};
  const Unpacked unpacked = unpack(file);
  int copy = -1;
  if (!unpacked.headers.empty()) copy = memfd_create("unpacked", MFD_CLOEXEC);
  bool whole = copy >= 0 && write_whole(copy, file) && write_whole(copy, unpacked.bytes);
  for (const auto& [place, header] : unpacked.headers) {
    whole = whole && pwrite(copy, &header, sizeof header, static_cast<off_t>(place)) == sizeof header;
  }
  munmap(address, size);
  if (!whole) {
    if (copy >= 0) close(copy);
    return fd;
  }
  close(fd);
  return copy;
}

}  // namespace zs::profile
