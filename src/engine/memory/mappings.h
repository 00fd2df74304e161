// What the program has mapped, in order of address: the engine's own list of it, from which protections and
// /proc/self/maps are answered. It makes no system call; memory/address_space.h keeps it in step with the kernel.
//
// Invariants: mappings do not overlap; neighbours differ in something that the kernel would keep apart too (else they
// are merged).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <vector>

#include "engine/memory/guest_mapping.h"
#include "engine/memory/layout.h"

namespace zs::engine {

class Mappings {
 public:
  // What is there. Pointers are valid until the next change.
  const GuestMapping* find(std::uint64_t address) const;
  /// The mapping at `address`, else the first one above it; null: neither.
  const GuestMapping* at_or_after(std::uint64_t address) const;
  std::uint32_t prot_at(std::uint64_t address) const;  // PROT_NONE where nothing is mapped
  bool is_mapped(std::uint64_t address) const { return find(address) != nullptr; }
  bool is_executable(std::uint64_t address) const;
  /// The next address above `address` at which a mapping starts or ends; kTaskSize if there is none.
  std::uint64_t next_boundary(std::uint64_t address) const;
  template <typename Visitor>
  void for_each(Visitor&& visit) const {
    for (const auto& [start, mapping] : all_) visit(mapping);
  }
  /// Those that have a part in `range`, whole.
  template <typename Visitor>
  void for_each_in(AddressRange range, Visitor&& visit) const;
  std::size_t size() const { return all_.size(); }
  bool none_in(AddressRange range) const;
  /// Whether the kernel may move the start of one by itself (MAP_GROWSDOWN).
  bool any_grows_down() const { return growing_down_ != 0; }

  /// The parts of `range` in which nothing is mapped.
  std::vector<AddressRange> gaps(AddressRange range) const;
  /// The parts of `range` that are the program's to change, neighbours joined.
  std::vector<AddressRange> owned(AddressRange range) const;
  std::uint64_t owned_bytes(AddressRange range) const;
  /// Copies of the mappings in `range`, cut to it.
  std::vector<GuestMapping> pieces(AddressRange range) const;

  // Changes.
  void add(GuestMapping mapping);  // into a place where nothing is
  void erase(AddressRange range);
  /// Mappings that reach out of `range` are split first.
  void update(AddressRange range, const std::function<void(GuestMapping&)>& change);

 private:
  using All = std::map<std::uint64_t, GuestMapping>;  // by start

  template <typename Map>
  static auto first_at_or_after(Map& all, std::uint64_t address) {
    auto next = all.upper_bound(address);
    if (next == all.begin()) return next;
    const auto before = std::prev(next);
    return before->second.end > address ? before : next;
  }
  All::iterator drop(All::iterator mapping);
  void split(std::uint64_t address);
  void merge_around(AddressRange range);

  All all_;
  std::size_t growing_down_ = 0;  // mappings with MAP_GROWSDOWN
};

template <typename Visitor>
void Mappings::for_each_in(AddressRange range, Visitor&& visit) const {
  for (auto each = first_at_or_after(all_, range.start); each != all_.end() && each->first < range.end; ++each)
    visit(each->second);
}

}  // namespace zs::engine
