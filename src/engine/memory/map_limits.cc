#include "engine/memory/map_limits.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>

#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

bool is_data(const GuestMapping& mapping) {
  return (mapping.prot & PROT_WRITE) != 0 && !mapping.shared() && mapping.kind != MapKind::Stack &&
         mapping.kind != MapKind::Arguments && (mapping.flags & MAP_GROWSDOWN) == 0;
}

std::uint64_t counted(const GuestMapping& mapping) {
  if (mapping.kind == MapKind::Arguments) return 0;
  return mapping.kind == MapKind::Stack ? std::min(mapping.range().size(), kFirstStackBytes) : mapping.range().size();
}

}  // namespace

std::uint64_t MapLimits::data() const {
  if (limits_ != nullptr) return limits_->data();
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  raw_syscall(SYS_prlimit64, 0, RLIMIT_DATA, nullptr, &limit);
  return limit.rlim_cur;
}

bool MapLimits::may_expand(const GuestMapping& like, std::uint64_t bytes) const {
  if (limits_ == nullptr || !limits_->any()) return true;
  std::uint64_t all = 0, data = 0;
  mappings_.for_each([&](const GuestMapping& mapping) {
    all += counted(mapping);
    if (is_data(mapping)) data += mapping.range().size();
  });
  const auto fits = [bytes](std::uint64_t used, std::uint64_t limit) {
    return bytes <= limit && used <= limit - bytes;
  };
  return fits(all, page_down(limits_->address_space())) && (!is_data(like) || fits(data, page_down(limits_->data())));
}

bool MapLimits::may_become(const GuestMapping& piece, std::uint32_t prot) const {
  GuestMapping changed = piece;
  changed.prot = prot;
  if (is_data(piece) || !is_data(changed)) return true;
  return may_expand(changed, changed.range().size()) || !may_expand(piece, piece.range().size());
}

}  // namespace zs::engine
