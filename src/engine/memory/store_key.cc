#include "engine/memory/store_key.h"

#include <sys/syscall.h>

#include <cstring>

#include "arch/this_processor.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

constexpr unsigned kRightsComponent = 9;               // of XSAVE
constexpr std::size_t kPresentAt = 512;                // XSTATE_BV
constexpr std::uint32_t kNoStore = 2, kAllRights = 3;  // bits of a key

void set_rights(std::uint32_t rights) {
  asm volatile(".byte 0x0F, 0x01, 0xEF" ::"a"(rights), "c"(0), "d"(0) : "memory");  // WRPKRU
}

/// The last of the kernel's keys, so that the program gets those that it gets natively. 0: there are none.
long take_last_key() {
  constexpr long kKeys = 16;
  long last = 0;
  for (long key = 1; key < kKeys && last + 1 == key; ++key) {
    if (raw_syscall(SYS_pkey_alloc, 0, 0) == key) last = key;
  }
  return last;
}

}  // namespace

const StoreKey& StoreKey::instance() {
  static const StoreKey key;
  return key;
}

StoreKey::StoreKey() {
  constexpr unsigned kEnabled = 1u << 4;  // OSPKE
  if ((arch::leaf_here(7).ecx & kEnabled) == 0) return;
  std::uint32_t zero = 0;
  asm volatile(".byte 0x0F, 0x01, 0xEE" : "=a"(initial_), "=d"(zero) : "c"(0));  // RDPKRU
  rights_at_ = arch::leaf_here(0xD, kRightsComponent).ebx;
  number_ = take_last_key();
  set_rights(0);
}

long StoreKey::protect(AddressRange range, int protection) const {
  if (!there()) return raw_syscall(SYS_mprotect, range.start, range.size(), protection);
  return raw_syscall(SYS_pkey_mprotect, range.start, range.size(), protection, number_);
}

void StoreKey::leave_others() const {
  for (; next_other_ < number_; ++next_other_) raw_syscall(SYS_pkey_free, next_other_);
}

void StoreKey::close_in(std::byte* area) const {
  if (there()) set_in(area, number_, kNoStore);
}

void StoreKey::begin_in(std::byte* area) const {
  if (rights_at_ == 0) return;
  set_all_in(area, initial_);
}

void StoreKey::give_in(std::byte* area, long key, std::uint64_t rights) const {
  set_rights(0);
  set_in(area, key, static_cast<std::uint32_t>(rights));
}

std::uint32_t StoreKey::shown_in(const std::byte* area) const {
  const std::uint32_t own = there() ? kAllRights << 2 * number_ : 0;
  return (all_in(area) & ~own) | (initial_ & own);
}

void StoreKey::set_in(std::byte* area, long key, std::uint32_t rights) const {
  set_all_in(area, (all_in(area) & ~(kAllRights << 2 * key)) | rights << 2 * key);
}

std::uint32_t StoreKey::all_in(const std::byte* area) const {
  std::uint64_t present;
  std::uint32_t all = 0;
  std::memcpy(&present, area + kPresentAt, sizeof present);
  if ((present >> kRightsComponent & 1) != 0) std::memcpy(&all, area + rights_at_, sizeof all);
  return all;
}

void StoreKey::set_all_in(std::byte* area, std::uint32_t rights) const {
  std::uint64_t present;
  std::memcpy(&present, area + kPresentAt, sizeof present);
  present |= std::uint64_t{1} << kRightsComponent;
  std::memcpy(area + kPresentAt, &present, sizeof present);
  std::memcpy(area + rights_at_, &rights, sizeof rights);
}

}  // namespace zs::engine
