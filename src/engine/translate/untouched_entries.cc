#include "engine/translate/untouched_entries.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/own_image.h"
#include "engine/raw_syscall.h"
#include "engine/translate/code_cache_layout.h"

namespace zs::engine {
namespace {

template <std::size_t kBytes, std::uint64_t kMiss>
alignas(kPageSize) constexpr auto kEntries = [] {
  std::array<std::uint64_t, kBytes / sizeof(std::uint64_t)> entries{};
  for (std::uint64_t& entry : entries) entry = kMiss;
  return entries;
}();

struct Kind {
  std::uint64_t miss;
  const std::uint64_t* entries;
  std::size_t bytes;
};
/// Of the code cache in the engine range that nearly every program gets.
constexpr CodeCacheLayout kFirst(Layout{}.code_cache());
constexpr std::uint64_t kDirectMiss = kFirst.direct_miss(), kHashedMiss = kFirst.hashed_miss();
constexpr Kind kKinds[] = {
    {kDirectMiss, kEntries<kUntouchedBytes, kDirectMiss>.data(), kUntouchedBytes},
    {kHashedMiss, kEntries<HashedTables::kTableBytes, kHashedMiss>.data(), HashedTables::kTableBytes},
};

/// Where `address`, which belongs to this program's image, is in its file; -1: nowhere.
long file_offset(const void* address) {
  const std::uint64_t linked_at = reinterpret_cast<std::uint64_t>(address) - own_bias();
  for (const Elf64_Phdr& part : own_segments()) {
    if (part.p_type == PT_LOAD && linked_at >= part.p_vaddr && linked_at - part.p_vaddr < part.p_filesz)
      return static_cast<long>(linked_at - part.p_vaddr + part.p_offset);
  }
  return -1;
}

}  // namespace

UntouchedEntries::UntouchedEntries(int first_private_fd) {
  const long low = raw_syscall(SYS_open, "/proc/self/exe", O_RDONLY | O_CLOEXEC, 0);
  if (is_error(low)) return;
  const bool is_it = std::ranges::all_of(kKinds, [low](const Kind& kind) {
    std::uint64_t first = 0;
    const long offset = file_offset(kind.entries);
    return offset >= 0 && raw_syscall(SYS_pread64, low, &first, sizeof first, offset) == sizeof first &&
           first == kind.miss;
  });
  const long high = is_it ? raw_syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, first_private_fd) : -1;
  raw_syscall(SYS_close, low);
  if (!is_error(high)) file_ = static_cast<int>(high);
}

void UntouchedEntries::close() {
  if (file_ >= 0) raw_syscall(SYS_close, file_);
  file_ = -1;
}

bool UntouchedEntries::map(std::uint64_t at, std::size_t bytes, std::uint64_t miss) const {
  const Kind* const kind =
      std::ranges::find_if(kKinds, [&](const Kind& each) { return each.miss == miss && bytes <= each.bytes; });
  if (file_ < 0 || kind == std::end(kKinds)) return false;
  const long result = raw_syscall(SYS_mmap, static_cast<long>(at), static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file_, file_offset(kind->entries));
  return result == static_cast<long>(at);
}

}  // namespace zs::engine
