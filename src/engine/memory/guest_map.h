// The memory system calls of the program, and what the loader puts into its address space.
//
// The program's executable pages are really mapped without PROT_EXEC (only translations run), its mappings are placed
// by us (memory/layout.h) and the tool's own memory is in the same address space. So every memory system call of the
// program goes through here: it is checked as the kernel would check it, done for real with a translated protection
// and address, and kept in a list (memory/mappings.h), from which protections and /proc/self/maps are answered.
//
// Not modelled: VMA splits by mlock, memory policy and madvise other than DONTFORK and WIPEONFORK.
// Not thread-safe: callers hold the engine lock.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/memory/address_space.h"
#include "engine/memory/code_protection.h"
#include "engine/memory/exec_gain.h"
#include "engine/memory/guest_mapping.h"
#include "engine/memory/layout.h"
#include "engine/memory/main_stack.h"
#include "engine/memory/map_limits.h"
#include "engine/memory/mappings.h"
#include "engine/memory/memory_limits.h"
#include "engine/memory/program_break.h"
#include "engine/memory/shown_code.h"

namespace zs::engine {

class GuestMap {
 public:
  /// strip_exec  real mappings never get PROT_EXEC; false when the program runs untranslated
  explicit GuestMap(const Layout& layout, bool strip_exec = true) : space_(layout, RealProtection(strip_exec)) {
    break_.begin(layout.heap.start);
  }

  const Layout& layout() const { return space_.layout(); }
  /// What is mapped.
  const Mappings& mappings() const { return space_.mappings(); }
  /// Which pages are write-protected because they have translations.
  CodeProtection& code() { return space_.code(); }
  const CodeProtection& code() const { return space_.code(); }

  /// Tells other processes, from now on, what the kernel does not know of these mappings.
  void publish(ShownCode& shown) { space_.publish(shown); }
  /// Keeps a range for the engine: never used for the program's mappings; MAP_FIXED over it is ENOMEM. The layout's
  /// engine range is reserved from the start. Does not map anything.
  void reserve(AddressRange range) { space_.reserve(range); }
  /// Keeps a range for something that the engine can do without: nobody else is put there, until the program asks for
  /// that very place (AddressSanitizer's shadow is where the direct table is). Replaces what was kept so before.
  void reserve_until_wanted(AddressRange range) { space_.reserve_until_wanted(range); }
  /// Part of the low zone is not chosen for a new mapping where there is room elsewhere.
  void avoid(AddressRange range) { space_.avoid(range); }
  /// Whether `address` is, or may be, of the tool's memory: to the program nothing is mapped there.
  bool is_tools(std::uint64_t address) const { return space_.is_tools(address); }
  /// What the program has denied itself.
  ExecGain& exec_gain() { return exec_gain_; }
  /// The limits of the process that makes the next call; null: none but the kernel's.
  void limit(const MemoryLimits* limits) { limits_.use(limits); }

  // The program's system calls, with its own arguments. All return what the kernel would: a result or -errno.
  long mmap(std::uint64_t address, std::uint64_t length, int prot, int flags, int fd, std::uint64_t offset);
  long munmap(std::uint64_t address, std::uint64_t length) { return space_.unmap(address, length); }
  long mremap(std::uint64_t old_address, std::uint64_t old_length, std::uint64_t new_length, int flags,
              std::uint64_t new_address);
  long mprotect(std::uint64_t address, std::uint64_t length, int prot);
  long pkey_mprotect(std::uint64_t address, std::uint64_t length, int prot, int pkey);
  long madvise(std::uint64_t address, std::uint64_t length, int advice);
  /// The program's memory alone is locked, not the engine's. flags: MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT
  long mlockall(int flags) { return space_.locks().lock_all(flags); }
  long munlockall() { return space_.locks().unlock_all(); }
  long msync(std::uint64_t address, std::uint64_t length, int flags);
  long brk(std::uint64_t address) { return break_.set(address); }
  long shmat(int id, std::uint64_t address, int flags);
  long shmdt(std::uint64_t address);
  long remap_file_pages(std::uint64_t address, std::uint64_t size, int prot, std::uint64_t page, int flags);
  /// What they took away, or put other memory in the place of, since this was asked last; those that failed, too.
  std::vector<AddressRange> take_gone() { return space_.take_gone(); }

  /// The program changed RLIMIT_STACK (setrlimit, prlimit64 on itself): its main stack may now grow that far. Call
  /// after the real system call succeeded.
  void set_stack_limit(std::uint64_t soft_limit) { stack_.set_limit(soft_limit); }
  /// In a forked child: what the parent excluded with MADV_DONTFORK is gone here.
  void in_forked_child();
  /// The program runs untranslated from here on: its pages are protected as it asked.
  void become_native();

  // For the loader.
  /// A free place for `length` bytes in the low range, else in the high zone. nullopt: neither has room.
  std::optional<std::uint64_t> find_low(std::uint64_t length, std::uint64_t alignment) const;
  /// Maps the main stack (soft RLIMIT_STACK bytes below stack_top) and the argument area.
  long map_stack(std::uint64_t soft_limit, bool executable) { return stack_.map(soft_limit, executable); }
  void set_brk_start(std::uint64_t address) { break_.begin(address); }
  void set_brk(AddressRange heap) { break_.be(heap); }
  std::uint64_t brk_start() const { return break_.start(); }
  std::uint64_t brk_end() const { return break_.end(); }
  /// Shows memory that the tool mapped (the vdso) to the program. It is never really unmapped or protected.
  void adopt(AddressRange range, int prot, MapKind kind);

 private:
  long map_at(const GuestMapping& wanted, int flags, int fd);
  long change_protection(std::uint64_t address, std::uint64_t length, int prot, int pkey);
  long change_piece(const GuestMapping& piece, int prot, int pkey);

  AddressSpace space_;
  ExecGain exec_gain_;
  MapLimits limits_{space_.mappings()};
  ProgramBreak break_{space_, limits_};
  MainStack stack_{space_};
};

}  // namespace zs::engine
