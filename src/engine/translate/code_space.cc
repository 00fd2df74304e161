#include "engine/translate/code_space.h"

#include <sys/mman.h>

#include <algorithm>
#include <span>

#include "base/check.h"
#include "engine/memory/store_key.h"

namespace zs::engine {
namespace {

constexpr int kAll = PROT_READ | PROT_WRITE | PROT_EXEC;

/// A part of the snapshot lies in [at, at + bytes) from now on.
bool map_part(const Snapshot& from, Part part, std::uint64_t at) {
  if (!from.map(part, reinterpret_cast<void*>(at), kAll)) return false;
  return from.bytes(part) == 0 || StoreKey::instance().protect({at, page_up(at + from.bytes(part))}, kAll) == 0;
}

}  // namespace

// Large pages as a whole: the code cache has some.
void CodeSpace::Room::grow(std::uint64_t least) {
  const std::uint64_t to = std::min(end_, (least + kHugePageSize - 1) & ~(kHugePageSize - 1));
  const long result = StoreKey::instance().protect({here_, to}, kAll);
  CHECK(result == 0, here_, result);
  here_ = to;
}

void CodeSpace::save(SnapshotWriter& out) const {
  const auto add = [&out](Part part, AddressRange range) {
    out.add(part, std::span(reinterpret_cast<const std::byte*>(range.start), range.size()));
  };
  const FilledCode code = filled();
  add(Part::HotCode, code.hot);
  add(Part::ColdCode, code.cold);
  add(Part::NearCode, code.near);
}

// What runs often is copied, into the large pages that the code cache has for it; the rest is mapped, since most of it
// will not be looked at.
bool CodeSpace::restore(const Snapshot& from) {
  const FilledCode room{
      {begin(), cold_begin_}, {cold_begin_, near_begin_}, {near_begin_, has_near_ ? end_ : near_begin_}};
  const auto fits = [&from](Part part, AddressRange range) { return from.bytes(part) <= range.size(); };
  if (!fits(Part::HotCode, room.hot) || !fits(Part::ColdCode, room.cold) || !fits(Part::NearCode, room.near))
    return false;
  at_ = room.hot.start + from.bytes(Part::HotCode);
  cold_at_ = room.cold.start + from.bytes(Part::ColdCode);
  near_at_ = room.near.start + from.bytes(Part::NearCode);
  make_room();
  populate({room.hot.start, at_}, Populate::ForWriting);
  return from.read(Part::HotCode, reinterpret_cast<void*>(room.hot.start)) &&
         map_part(from, Part::ColdCode, room.cold.start) && map_part(from, Part::NearCode, room.near.start);
}

}  // namespace zs::engine
