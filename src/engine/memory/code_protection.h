// The program's code as its translations need it watched. Pages with translations that the program may write are
// really write-protected, which the program cannot see: a store faults, and the engine learns of it. What a system
// call changes is told beforehand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>

#include "engine/memory/layout.h"
#include "engine/memory/mappings.h"
#include "engine/memory/real_protection.h"

namespace zs::engine {

/// Told before executable memory of the program changes in any way that may matter to its translations: unmapped,
/// replaced, moved, discarded, made non-executable or made writable; and when memory has become executable, because
/// somebody may have jumped there before.
class CodeListener {
 public:
  virtual ~CodeListener() = default;
  /// May end the protection of pages; must not change mappings.
  virtual void code_changed(std::uint64_t start, std::uint64_t end) = 0;
  /// The program asks for a place in what was kept with GuestMap::reserve_until_wanted(). Unmaps all of that.
  virtual void give_way() {}
};

class CodeProtection {
 public:
  CodeProtection(const Mappings& mappings, RealProtection real) : mappings_(mappings), real_(real) {}

  /// At most one listener; null for none.
  void listen(CodeListener* listener) { listener_ = listener; }

  // Write protection.
  /// `page` is page-aligned and mapped writable by the program. False if the kernel refuses (too many mappings).
  bool protect(std::uint64_t page);
  void unprotect(std::uint64_t page) { restore({page, page + kPageSize}); }  // no effect where not protected
  bool is_protected(std::uint64_t page) const { return pages_.contains(page); }
  bool any_protected_in(AddressRange range) const;
  std::size_t protected_pages() const { return pages_.size(); }
  /// The kernel, or the engine on its behalf, is about to write in `range`: write protection there ends, after
  /// code_changed().
  void open(AddressRange range);
  /// The program may no longer write in `range`, and the kernel knows: no page there is protected by us.
  void forget(AddressRange range);

  // What the listener hears. The mappings are those before the change.
  /// What is executable in `range` is about to change; write protection there ends.
  void will_change(AddressRange range);
  void became_executable(AddressRange range) const;
  void give_way() const;

 private:
  void restore(AddressRange range);

  const Mappings& mappings_;
  RealProtection real_;
  CodeListener* listener_ = nullptr;
  std::set<std::uint64_t> pages_;  // really write-protected, though the program may write them
};

}  // namespace zs::engine
