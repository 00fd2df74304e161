#include "engine/untouched_entries.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <array>

#include "engine/code_cache.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

constexpr std::size_t kEntries = kUntouchedBytes / sizeof(std::uint64_t);
/// In the engine window that nearly every program gets.
constexpr std::uint64_t kMiss = Window::stubs_at(kEngineWindows[0].start);

alignas(kPageSize) constexpr auto kUntouched = [] {
  std::array<std::uint64_t, kEntries> entries{};
  for (std::uint64_t& entry : entries) entry = kMiss;
  return entries;
}();

/// Where `address`, which belongs to this program's image, is in its file; -1: nowhere.
long file_offset(const void* address) {
  const auto* const headers = reinterpret_cast<const Elf64_Phdr*>(getauxval(AT_PHDR));
  const std::size_t count = getauxval(AT_PHNUM);
  if (headers == nullptr) return -1;
  std::uint64_t base = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (headers[i].p_type == PT_PHDR) base = reinterpret_cast<std::uint64_t>(headers) - headers[i].p_vaddr;
  }
  const std::uint64_t linked_at = reinterpret_cast<std::uint64_t>(address) - base;
  for (std::size_t i = 0; i < count; ++i) {
    const Elf64_Phdr& part = headers[i];
    if (part.p_type == PT_LOAD && linked_at >= part.p_vaddr && linked_at - part.p_vaddr < part.p_filesz)
      return static_cast<long>(linked_at - part.p_vaddr + part.p_offset);
  }
  return -1;
}

}  // namespace

UntouchedEntries::UntouchedEntries(int first_private_fd) : offset_(file_offset(kUntouched.data())) {
  if (offset_ < 0) return;
  const long low = raw_syscall(SYS_open, "/proc/self/exe", O_RDONLY | O_CLOEXEC, 0);
  if (is_error(low)) return;
  std::uint64_t first = 0;
  const bool is_it = raw_syscall(SYS_pread64, low, &first, sizeof first, offset_) == sizeof first && first == kMiss;
  const long high = is_it ? raw_syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, first_private_fd) : -1;
  raw_syscall(SYS_close, low);
  if (!is_error(high)) file_ = static_cast<int>(high);
}

void UntouchedEntries::close() {
  if (file_ >= 0) raw_syscall(SYS_close, file_);
  file_ = -1;
}

bool UntouchedEntries::map(std::uint64_t at, std::size_t bytes, std::uint64_t miss) const {
  if (file_ < 0 || miss != kMiss) return false;
  const long result = raw_syscall(SYS_mmap, static_cast<long>(at), static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file_, offset_);
  return result == static_cast<long>(at);
}

}  // namespace zs::engine
