#include "engine/code_cache.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/check.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

constexpr std::size_t kContextBytes = 64 << 10;
constexpr std::size_t kTableBytes = Window::kTableEntries * 8;
constexpr std::size_t kTraceBytes = 512 << 10;
constexpr std::size_t kStubBytes = 64 << 10;
constexpr std::size_t kAliasUnit = 4096;

}  // namespace

std::size_t Window::bytes_needed(std::size_t code_bytes) {
  return kContextBytes + kTableBytes + kTraceBytes + kGuardBytes + kStubBytes + code_bytes;
}

Window::Window(std::uint64_t base, std::size_t code_bytes)
    : base_(base),
      table_(base_ + kContextBytes),
      trace_(table_ + kTableBytes),
      stubs_(trace_ + kTraceBytes + kGuardBytes),
      code_(stubs_ + kStubBytes),
      end_(code_ + code_bytes),
      trace_bytes_(kTraceBytes) {
  const auto map = [](std::uint64_t at, std::size_t size, int protection) {
    const long result = raw_syscall(SYS_mmap, static_cast<long>(at), static_cast<long>(size), protection,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    CHECK(result == static_cast<long>(at));
  };
  map(base_, kContextBytes + kTableBytes + kTraceBytes, PROT_READ | PROT_WRITE);
  map(trace_ + kTraceBytes, kGuardBytes, PROT_NONE);
  map(stubs_, kStubBytes + code_bytes, PROT_READ | PROT_WRITE | PROT_EXEC);
  const long table = raw_syscall(SYS_mmap, 8 * kDirectFirst, 8 * (kDirectEnd - kDirectFirst), PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
  direct_ = table == static_cast<long>(8 * kDirectFirst);
}

AddressRange Window::cover_fixed_program(std::uint64_t program_end) {
  const AddressRange table{8 * kFixedFirst, 8 * kFixedEnd};
  if (program_end > table.start) return {};
  const long at = raw_syscall(SYS_mmap, table.start, table.size(), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
  direct_fixed_ = at == static_cast<long>(table.start);
  return direct_fixed_ ? table : AddressRange{};
}

// A page of the table that is written to for the first time answers "miss" for all its other entries.
void Window::set_direct(std::uint64_t pc, std::uint64_t entry, std::uint64_t miss) {
  auto* slot = reinterpret_cast<std::uint64_t*>(8 * pc);
  if (*slot == 0) {
    auto* page = reinterpret_cast<std::uint64_t*>(8 * pc & ~std::uint64_t{4095});
    for (std::size_t i = 0; i < 512; ++i) {
      if (page[i] == 0) page[i] = miss;
    }
  }
  *slot = entry;
}

void Window::clear_direct(std::uint64_t pc, std::uint64_t miss) {
  auto* slot = reinterpret_cast<std::uint64_t*>(8 * pc);
  if (*slot != 0) *slot = miss;
}

void Window::forget_direct() {
  if (direct_) raw_syscall(SYS_madvise, 8 * kDirectFirst, 8 * (kDirectEnd - kDirectFirst), MADV_DONTNEED);
  if (direct_fixed_) raw_syscall(SYS_madvise, 8 * kFixedFirst, 8 * (kFixedEnd - kFixedFirst), MADV_DONTNEED);
}

void Window::trip() const {
  raw_syscall(SYS_mprotect, static_cast<long>(trace_), static_cast<long>(trace_bytes_), PROT_NONE);
}

void Window::untrip() const {
  raw_syscall(SYS_mprotect, static_cast<long>(trace_), static_cast<long>(trace_bytes_), PROT_READ | PROT_WRITE);
}

void Window::map_alias() {
  const long fd = raw_syscall(SYS_memfd_create, reinterpret_cast<long>("zeroskid-budget"), MFD_CLOEXEC);
  CHECK(fd >= 0);
  CHECK(raw_syscall(SYS_ftruncate, fd, kAliasUnit) == 0);
  for (std::size_t at = 0; at < trace_bytes_; at += kAliasUnit) {
    const long result = raw_syscall(SYS_mmap, static_cast<long>(trace_ + at), kAliasUnit, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_FIXED, fd, 0);
    CHECK(result == static_cast<long>(trace_ + at));
  }
  raw_syscall(SYS_close, fd);
}

void Window::use_budget_view(bool on) {
  if (on) map_alias();
  aliased_ = on;
}

void Window::after_fork() {
  if (aliased_) map_alias();
}

}  // namespace zs::engine
