#include "engine/memory/store_key.h"

#include <cpuid.h>
#include <sys/syscall.h>

#include <cstring>

#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

constexpr unsigned kRightsComponent = 9;  // of XSAVE

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
  for (long key = 1; key < last; ++key) raw_syscall(SYS_pkey_free, key);
  return last;
}

}  // namespace

const StoreKey& StoreKey::instance() {
  static const StoreKey key;
  return key;
}

StoreKey::StoreKey() : number_(take_last_key()) {
  if (!there()) return;
  unsigned a = 0, b = 0, c = 0, d = 0;
  __get_cpuid_count(0xD, kRightsComponent, &a, &b, &c, &d);
  rights_at_ = b;
  set_rights(0);
}

long StoreKey::protect(AddressRange range, int protection) const {
  if (!there()) return raw_syscall(SYS_mprotect, range.start, range.size(), protection);
  return raw_syscall(SYS_pkey_mprotect, range.start, range.size(), protection, number_);
}

void StoreKey::close_in(std::byte* area) const {
  if (!there()) return;
  constexpr std::size_t kPresentAt = 512;  // XSTATE_BV
  constexpr std::uint32_t kNoAccess = 1, kNoStore = 2;
  std::uint64_t present;
  std::uint32_t rights = 0;
  std::memcpy(&present, area + kPresentAt, sizeof present);
  if ((present >> kRightsComponent & 1) != 0) std::memcpy(&rights, area + rights_at_, sizeof rights);
  present |= std::uint64_t{1} << kRightsComponent;
  rights = (rights & ~(kNoAccess << 2 * number_)) | kNoStore << 2 * number_;
  std::memcpy(area + kPresentAt, &present, sizeof present);
  std::memcpy(area + rights_at_, &rights, sizeof rights);
}

}  // namespace zs::engine
