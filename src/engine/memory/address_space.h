// The address space as the kernel has it and the engine's list of what is the program's, changed together. What the
// program's executable pages really are, and how nothing of the tool is ever in the way.
//
// Invariants: every mapping in the list is really mapped; nothing outside the list is ever unmapped, protected or
// replaced, which is what keeps the tool's memory safe.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "engine/memory/code_protection.h"
#include "engine/memory/guest_mapping.h"
#include "engine/memory/mappings.h"
#include "engine/memory/memory_locks.h"
#include "engine/memory/placement.h"
#include "engine/memory/real_protection.h"
#include "engine/memory/shown_code.h"

namespace zs::engine {

/// Flags of mmap that say where, which the engine decides.
inline constexpr int kPlacementFlags = MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_32BIT;

class AddressSpace {
 public:
  AddressSpace(const Layout& layout, RealProtection real) : real_(real), placement_(layout) {}
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  const Layout& layout() const { return placement_.layout(); }
  const Mappings& mappings() const { return mappings_; }
  const Placement& placement() const { return placement_; }
  RealProtection real() const { return real_; }
  CodeProtection& code() { return code_; }
  const CodeProtection& code() const { return code_; }
  MemoryLocks& locks() { return locks_; }

  /// Tells other processes, from now on, what the kernel does not know of these mappings.
  void publish(ShownCode& shown);
  void reserve(AddressRange range);
  void reserve_until_wanted(AddressRange range);
  void avoid(AddressRange range) { placement_.avoid(range); }
  /// Before anything is put where the program says.
  void make_way(AddressRange wanted);
  bool touches_tool_memory(AddressRange range) const;
  /// Whether `address` is, or may be, of the tool's memory. To the program nothing is mapped there.
  bool is_tools(std::uint64_t address) const;

  // Mapping, for real and in the list. All return the address or -errno.
  /// Where the list has nothing. -EEXIST if the tool has something there.
  long map_exactly(const GuestMapping& wanted, int flags, int fd);
  /// In place of what the program has there.
  long map_over(const GuestMapping& wanted, int flags, int fd);
  /// hint  0: none
  long map_somewhere(GuestMapping wanted, std::uint64_t length, std::uint64_t hint, Zone zone, std::uint64_t alignment,
                     int flags, int fd);
  /// As munmap(2). returns 0 or -errno
  long unmap(std::uint64_t address, std::uint64_t length);

  // For calls that map by other means (mremap, shmat).
  /// Makes every part of `range` the program's or a fresh placeholder (listed in `claimed`), so that MAP_FIXED cannot
  /// replace anything of the tool. returns 0, or without effect -EEXIST if it would, or another -errno
  long claim(AddressRange range, std::vector<AddressRange>& claimed);
  /// The call failed: the placeholders go, and what of `range` the kernel took away before it failed is forgotten.
  void give_up(AddressRange range, const std::vector<AddressRange>& claimed);
  /// Something that is not the program's is in a zone: keep off it from now on.
  void reserve_foreign();
  /// The kernel extends MAP_GROWSDOWN mappings when the program touches the page below.
  void follow_grown_stacks();

  /// What is not there any more, or is other memory, since this was asked last.
  std::vector<AddressRange> take_gone() { return std::exchange(gone_, {}); }
  void note_gone(AddressRange range) { gone_.push_back(range); }

  // The list alone: the kernel has done it, or never will.
  void add(GuestMapping mapping);  // into a place where nothing is
  void forget(AddressRange range);
  void update(AddressRange range, const std::function<void(GuestMapping&)>& change);

 private:
  long map_where_the_kernel_wants(GuestMapping wanted, std::uint64_t length, int flags, int fd);
  void resync(AddressRange range);

  RealProtection real_;
  Mappings mappings_;
  Placement placement_;
  CodeProtection code_{mappings_, real_};
  MemoryLocks locks_{mappings_};
  ShownCode* shown_ = nullptr;
  std::vector<AddressRange> gone_;
};

}  // namespace zs::engine
