// What the program has mapped, as the program sees it, and the memory system calls that change it.
//
// The program's executable pages are really mapped without PROT_EXEC (only translations run), its mappings are placed
// by us (memory/layout.h) and the tool's own memory is in the same address space. So every memory system call of the
// program goes through here: it is checked as the kernel would check it, done for real with a translated protection
// and address, and kept in an ordered shadow of intervals, from which protections and /proc/self/maps are answered.
//
// Invariants: intervals do not overlap; adjacent intervals differ in something the kernel would also keep apart (else
// they are merged); every interval is really mapped; nothing outside the intervals is ever unmapped, protected or
// replaced, which is what keeps the tool's memory safe.
// Not modelled: VMA splits by mlock, memory policy and madvise other than DONTFORK; mremap across such a split gets the
// kernel's own answer. mremap never moves several mappings at once (as before Linux 6.17). remap_file_pages is ENOSYS.
// Not thread-safe: callers hold the engine lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/memory/free_space.h"
#include "engine/memory/guest_mapping.h"
#include "engine/memory/layout.h"
#include "engine/memory/memory_limits.h"
#include "engine/memory/shown_code.h"

namespace zs::engine {

/// Told before executable memory of the program changes in any way that may matter to its translations: unmapped,
/// replaced, moved, discarded, made non-executable or made writable; and when memory has become executable, because
/// somebody may have jumped there before.
class CodeListener {
 public:
  virtual ~CodeListener() = default;
  /// May call unprotect_code_page(); must not change mappings.
  virtual void code_changed(std::uint64_t start, std::uint64_t end) = 0;
  /// The program asks for a place in what was kept with reserve_until_wanted(). Unmaps all of that.
  virtual void give_way() {}
};

class GuestMap {
 public:
  /// strip_exec  real mappings never get PROT_EXEC; false when the program runs untranslated
  explicit GuestMap(const Layout& layout, bool strip_exec = true);
  GuestMap(const GuestMap&) = delete;
  GuestMap& operator=(const GuestMap&) = delete;

  const Layout& layout() const { return layout_; }
  /// At most one listener; null for none.
  void listen(CodeListener* listener) { listener_ = listener; }
  /// Tells other processes, from now on, what the kernel does not know of these mappings.
  void publish(ShownCode& shown);
  /// Keeps a range for the engine: never used for the program's mappings; MAP_FIXED over it is ENOMEM. The layout's
  /// engine window is reserved from the start. Does not map anything.
  void reserve(AddressRange range);
  /// Keeps a range for something that the engine can do without: nobody else is put there, until the program asks for
  /// that very place (AddressSanitizer's shadow is where the direct table is). Replaces what was kept so before.
  void reserve_until_wanted(AddressRange range);

  // The program's system calls, with its own arguments. All return what the kernel would: a result or -errno.
  long mmap(std::uint64_t address, std::uint64_t length, int prot, int flags, int fd, std::uint64_t offset);
  long munmap(std::uint64_t address, std::uint64_t length);
  long mremap(std::uint64_t old_address, std::uint64_t old_length, std::uint64_t new_length, int flags,
              std::uint64_t new_address);
  long mprotect(std::uint64_t address, std::uint64_t length, int prot);
  long pkey_mprotect(std::uint64_t address, std::uint64_t length, int prot, int pkey);
  long madvise(std::uint64_t address, std::uint64_t length, int advice);
  /// The program's memory alone is locked, not the engine's. flags: MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT
  long mlockall(int flags);
  long munlockall();
  long msync(std::uint64_t address, std::uint64_t length, int flags);
  long brk(std::uint64_t address);
  long shmat(int id, std::uint64_t address, int flags);
  long shmdt(std::uint64_t address);
  long remap_file_pages(std::uint64_t address, std::uint64_t size, int prot, std::uint64_t page_offset, int flags);

  /// The program changed RLIMIT_STACK (setrlimit, prlimit64 on itself): its main stack may now grow that far. Call
  /// after the real system call succeeded. Where the stack has not been touched below a lower limit, nothing is mapped
  /// any more.
  void set_stack_limit(std::uint64_t soft_limit);
  /// Those of the process that makes the next call; null: none but the kernel's.
  void limit(const MemoryLimits* limits) { limits_ = limits; }
  /// In a forked child: what the parent excluded with MADV_DONTFORK is gone here.
  void in_forked_child();

  // Queries. Pointers are valid until the next change.
  const GuestMapping* find(std::uint64_t address) const;
  std::uint32_t prot_at(std::uint64_t address) const;  // PROT_NONE where nothing is mapped
  bool is_mapped(std::uint64_t address) const { return find(address) != nullptr; }
  bool is_executable(std::uint64_t address) const;
  /// The next address above `address` at which a mapping starts or ends; kTaskSize if there is none.
  std::uint64_t next_boundary(std::uint64_t address) const;
  template <typename Visitor>
  void for_each(Visitor&& visit) const {
    for (const auto& [start, mapping] : mappings_) visit(mapping);
  }
  std::size_t size() const { return mappings_.size(); }
  bool is_engine_range(AddressRange range) const;

  // Self-modifying code: pages with translations that the program may write are really write-protected, which the
  // program cannot see. code_changed() over a page, and mprotect that takes PROT_WRITE from it, end the protection.
  /// `page` is page-aligned and mapped writable by the program. False if the kernel refuses (too many mappings).
  bool protect_code_page(std::uint64_t page);
  void unprotect_code_page(std::uint64_t page);  // no effect where not protected
  bool page_is_write_protected_for_code(std::uint64_t page) const { return code_pages_.contains(page); }
  std::size_t protected_code_pages() const { return code_pages_.size(); }
  /// The kernel, or the engine on its behalf, is about to write in `range`: write protection there ends, after
  /// code_changed().
  void open_code_pages(AddressRange range);

  /// /proc/self/maps as the program should see it, in the kernel's format.
  std::string proc_maps() const;
  /// The same for /proc/self/smaps: the kernel's numbers, for the program's mappings only.
  std::string proc_smaps() const;

  // For the loader.
  /// A free place for `length` bytes in the low window, else in the high zone. nullopt: neither has room.
  std::optional<std::uint64_t> find_low(std::uint64_t length, std::uint64_t alignment) const;
  /// mmap at exactly `address`, -EEXIST if anything of the program or the tool is there.
  long map_at(std::uint64_t address, std::uint64_t length, int prot, int flags, int fd, std::uint64_t offset);
  /// Maps the main stack (soft RLIMIT_STACK bytes below stack_top) and the argument area.
  long map_stack(std::uint64_t soft_limit, bool executable);
  void set_brk_start(std::uint64_t address);
  std::uint64_t brk_start() const { return brk_start_; }
  std::uint64_t brk_end() const { return brk_end_; }
  /// Shows memory that the tool mapped (the vdso) to the program. It is never really unmapped or protected.
  void adopt(AddressRange range, int prot, MapKind kind);

 private:
  using Mappings = std::map<std::uint64_t, GuestMapping>;
  enum class Zone : std::uint8_t { Low, LowOnly, High };

  // The shadow alone: guest_map.cc.
  Mappings::const_iterator at_or_after(std::uint64_t address) const;
  Mappings::iterator at_or_after(std::uint64_t address);
  void lock_new(AddressRange range) const;
  long map_where_the_kernel_wants(GuestMapping wanted, std::uint64_t length, int flags, int fd);
  void add(GuestMapping mapping);  // into a place where nothing is
  Mappings::iterator drop(Mappings::iterator mapping);
  void split(std::uint64_t address);
  void erase(AddressRange range);
  void merge_around(AddressRange range);
  void update(AddressRange range, const std::function<void(GuestMapping&)>& change);
  bool covered(AddressRange range) const;
  bool untouched(AddressRange range) const;
  bool touches_tool_memory(AddressRange range) const;
  std::vector<AddressRange> gaps(AddressRange range) const;
  std::vector<AddressRange> owned(AddressRange range) const;
  std::vector<GuestMapping> pieces(AddressRange range) const;

  // Placement and the real address space: guest_map_placement.cc.
  int real_prot(int prot) const;
  bool hint_is_usable(AddressRange range) const;
  std::optional<std::uint64_t> place(Zone zone, std::uint64_t length, std::uint64_t alignment) const;
  long map_somewhere(GuestMapping wanted, std::uint64_t length, std::uint64_t hint, Zone zone, std::uint64_t alignment,
                     int flags, int fd);
  long map_exactly(const GuestMapping& wanted, int flags, int fd);
  long map_over(const GuestMapping& wanted, int flags, int fd);
  long claim(AddressRange range, std::vector<AddressRange>& claimed);
  void make_way(AddressRange wanted);
  void reserve_foreign();
  void resync(AddressRange range);
  void follow_grown_stacks();

  // Parts of the system calls: guest_map_calls.cc.
  long grow_in_place(const GuestMapping& source, AddressRange old_range, std::uint64_t new_length);
  long move_to(std::uint64_t old_address, std::uint64_t old_length, std::uint64_t new_length, int flags,
               std::uint64_t new_address);
  long move_anywhere(const GuestMapping& source, AddressRange old_range, std::uint64_t new_length, int flags,
                     std::uint64_t hint);
  long move(AddressRange from, std::uint64_t new_length, int flags, std::uint64_t target);
  long change_protection(std::uint64_t address, std::uint64_t length, int prot, int pkey);
  long grow_heap(std::uint64_t from, std::uint64_t to);

  // The program's limits: guest_map_limits.cc.
  std::uint64_t data_limit() const;
  bool may_expand(const GuestMapping& like, std::uint64_t bytes) const;
  bool may_become_data(const GuestMapping& piece, std::uint32_t prot) const;
  std::uint64_t mapped_bytes(AddressRange range) const;
  void lower_stack_limit(std::uint64_t bytes);

  bool has_code_pages(AddressRange range) const;
  void code_will_change(AddressRange range);
  void restore_code_pages(AddressRange range);

  Layout layout_;
  bool strip_exec_;
  CodeListener* listener_ = nullptr;
  ShownCode* shown_ = nullptr;
  const MemoryLimits* limits_ = nullptr;
  Mappings mappings_;
  std::vector<AddressRange> engine_;
  AddressRange yielding_{};  // of reserve_until_wanted()
  FreeSpace low_, high_, spare_, vast_;
  std::optional<int> locks_future_;  // flags of mlock2 for what will be mapped; none: it is not locked
  std::set<std::uint64_t> code_pages_;
  std::uint64_t brk_start_ = 0, brk_end_ = 0;
  std::size_t growing_down_ = 0;  // mappings with MAP_GROWSDOWN: the kernel moves their start by itself
};

}  // namespace zs::engine
