#include "engine/translate/code_space.h"

#include <sys/mman.h>

#include <span>

namespace zs::engine {

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
  constexpr int kAll = PROT_READ | PROT_WRITE | PROT_EXEC;
  populate({room.hot.start, room.hot.start + from.bytes(Part::HotCode)}, Populate::ForWriting);
  if (!from.read(Part::HotCode, reinterpret_cast<void*>(room.hot.start)) ||
      !from.map(Part::ColdCode, reinterpret_cast<void*>(room.cold.start), kAll) ||
      !from.map(Part::NearCode, reinterpret_cast<void*>(room.near.start), kAll))
    return false;
  at_ = room.hot.start + from.bytes(Part::HotCode);
  cold_at_ = room.cold.start + from.bytes(Part::ColdCode);
  near_at_ = room.near.start + from.bytes(Part::NearCode);
  return true;
}

}  // namespace zs::engine
