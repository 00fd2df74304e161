// The unused parts of one zone of the address space, and the rule by which a place is chosen: the smallest gap that
// holds the request, of equal ones the lowest. A function of the history of requests only, so placement is repeatable,
// and logarithmic however many mappings a program makes (first fit would walk every small hole).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/memory/layout.h"

namespace zs::engine {

class FreeSpace {
 public:
  explicit FreeSpace(AddressRange zone);
  /// Parts outside the zone or already taken are ignored.
  void take(AddressRange range);
  /// Parts outside the zone or already free are ignored.
  void give(AddressRange range);
  bool is_free(AddressRange range) const;
  /// Does not take it. `alignment` is a power of two, at least a page.
  std::optional<std::uint64_t> find(std::uint64_t length, std::uint64_t alignment) const;
  const AddressRange& zone() const { return zone_; }

 private:
  void add(AddressRange gap);
  void remove(std::map<std::uint64_t, std::uint64_t>::iterator gap);

  AddressRange zone_;
  std::map<std::uint64_t, std::uint64_t> gaps_;                // start -> end; never touching one another
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  // (size, start) of the same gaps
};

}  // namespace zs::engine
