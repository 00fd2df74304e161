#include "machine/memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace zs::machine {
Result<PhysicalMemory> PhysicalMemory::make(std::uint64_t bytes) {
  if (bytes < kLeastMemory || bytes > kMostMemory || bytes % kPageBytes != 0) {
    return Error{"memory of " + std::to_string(bytes) + " bytes: 2 MiB to 3 GiB are possible, in steps of 4 KiB",
                 "--mem takes a number with K, M or G, for example 512M"};
  }
  void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    return Error{"memory of " + std::to_string(bytes) + " bytes: " + std::strerror(errno),
                 "--mem with less than this asks less of the host"};
  }
  return PhysicalMemory{static_cast<std::byte*>(base), bytes};
}

PhysicalMemory::~PhysicalMemory() {
  if (base_ != nullptr) munmap(base_, size_);
}

PhysicalMemory::PhysicalMemory(PhysicalMemory&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), size_(std::exchange(other.size_, 0)) {}

bool PhysicalMemory::all_there(std::uint64_t physical, std::uint64_t bytes) const {
  if (bytes > size_ || physical > size_ - bytes) return false;
  if (bytes == 0) return true;
  const std::uint64_t last = physical + bytes - 1;
  for (std::uint64_t page = physical & ~(kPageBytes - 1); page <= last && page < kHighRam; page += kPageBytes) {
    if (kind(page) == Kind::Nothing) return false;
  }
  return true;
}

bool PhysicalMemory::read(std::uint64_t physical, std::span<std::byte> into) const {
  if (!all_there(physical, into.size())) return false;
  if (!into.empty()) std::memcpy(into.data(), base_ + physical, into.size());
  return true;
}

bool PhysicalMemory::write(std::uint64_t physical, std::span<const std::byte> from) {
  if (!all_there(physical, from.size())) return false;
  if (!from.empty()) std::memcpy(base_ + physical, from.data(), from.size());
  return true;
}

}  // namespace zs::machine
