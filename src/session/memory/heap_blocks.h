// The blocks of the program's heap: which memory it has asked its allocator for and not given back, and who asked.
//
// The allocator is whatever functions of the known names do (session/memory/allocators.h), in the program and in all
// that it loads. Their entries are probed, and the places that they return to; probes tell the registers. Of functions
// that call one another, the outermost counts: a block is what the program was given, however the allocator came by it,
// and its site is where the program's own code called. A block ends where it is handed to free, not where free returns:
// from then on it may be another thread's.
//
// Left out: memory that the program gets from the kernel itself, and what it makes of a block by an allocator of its
// own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "arch/retired.h"
#include "engine/observer.h"
#include "session/memory/allocators.h"
#include "session/memory/block_table.h"
#include "session/memory/program_memory.h"
#include "session/sample.h"

namespace zs::session {

/// Of one process.
class HeapBlocks {
 public:
  explicit HeapBlocks(ProgramMemory& memory) : memory_(memory) { number_of_site({}); }

  /// The code that `mapping` made visible may have functions of the allocator.
  void mapped(const engine::Mapping& mapping);
  std::vector<engine::CodeProbe> take_new_probes() { return std::exchange(new_, {}); }
  const AllocatorCall* call_at(std::uint64_t pc) const {
    const auto found = calls_.find(pc);
    return found == calls_.end() ? nullptr : &found->second;
  }
  /// Where the function that was entered so returns to, which is probed; behind it, where the functions around its
  /// caller return to, as far as they keep frame pointers. Empty: nowhere
  std::vector<std::uint64_t> callers(const arch::RegisterFile& at_entry);
  ProgramMemory& memory() { return memory_; }

  /// returns  the number of the block that begins at `start`, or 0
  std::uint64_t number_of(std::uint64_t start);
  void add(std::uint64_t start, std::uint64_t size, std::vector<std::uint64_t> site);
  void remove(std::uint64_t start) { blocks_.remove(start); }
  /// The block that holds `address`, or null.
  std::shared_ptr<const HeapBlock> find(std::uint64_t address);

 private:
  using Site = std::vector<std::uint64_t>;

  bool is_code(std::uint64_t address) const;
  std::uint32_t number_of_site(Site site);

  ProgramMemory& memory_;
  std::map<std::uint64_t, std::uint64_t> code_;             // ends of executable mappings, by start
  std::unordered_map<std::uint64_t, AllocatorCall> calls_;  // by address
  std::unordered_set<std::uint64_t> returns_;
  std::vector<engine::CodeProbe> new_;
  using File = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;  // device, inode
  std::map<File, std::vector<AllocatorEntry>> files_;
  BlockTable blocks_;
  std::uint64_t last_number_ = 0;
  std::map<Site, std::uint32_t> site_numbers_;
  std::vector<const Site*> sites_;  // by number; 0 is that of sites beyond those that fit the table: an empty one
  std::shared_ptr<const HeapBlock> last_found_;
};

/// The calls that one thread is in.
class ThreadHeap {
 public:
  explicit ThreadHeap(HeapBlocks& blocks) : blocks_(blocks) {}

  /// As engine::Observer::reached, of one probe, with registers.
  /// before_change  is called before any block comes or goes
  template <typename BeforeChange>
  void reached(std::uint64_t pc, const arch::RegisterFile& registers, BeforeChange before_change) {
    leave(pc, registers);
    enter(pc, registers);
    if (!change_) return;
    before_change();
    apply(*std::exchange(change_, std::nullopt));
  }

 private:
  struct Open {
    AllocatorCall call;
    std::uint64_t sp = 0;  // at entry
    std::vector<std::uint64_t> callers;
    std::uint64_t size = 0;
    std::uint64_t old = 0, old_number = 0;  // of a block that is resized; or where the pointer is put
  };
  struct Change {
    std::uint64_t removed = 0, removed_number = 0;  // number 0: whichever block it is
    std::uint64_t added = 0, size = 0;
    std::vector<std::uint64_t> site;
  };
  void leave(std::uint64_t pc, const arch::RegisterFile& registers);
  void enter(std::uint64_t pc, const arch::RegisterFile& registers);
  void returned(const Open& call, std::uint64_t result);
  void apply(Change change);

  HeapBlocks& blocks_;
  std::vector<Open> open_;  // those that pass on, then at most one other
  std::optional<Change> change_;
};

}  // namespace zs::session
