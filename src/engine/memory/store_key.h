// A protection key of the processor's, where it has such: memory with this key is written by the engine alone. While
// code of the program runs, its stores there fault; what it loads it gets, since translated code reads there too.
// A program that sets its own keys by XRSTOR may open it until the engine runs again.
// source: SDM vol. 3A, "Protection Keys"
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/memory/layout.h"

namespace zs::engine {

class StoreKey {
 public:
  /// Of this process. The first use takes it, and opens it to the thread, and so to those that it starts.
  static const StoreKey& instance();
  StoreKey(const StoreKey&) = delete;
  StoreKey& operator=(const StoreKey&) = delete;

  bool there() const { return number_ > 0; }
  /// Whether the program, which has not allocated it, names it.
  bool is(long number) const { return there() && number == number_; }
  /// The program is about to use keys: those that had to be taken before the last one are free again.
  void leave_others() const;
  /// As mprotect(2); with the key, where there is one.
  long protect(AddressRange range, int protection) const;
  /// In the state that the program goes on with, as XSAVE has it at `area`.
  void close_in(std::byte* area) const;
  /// There, the rights with which the kernel starts a program, and the handler of a signal.
  void begin_in(std::byte* area) const;
  /// Whether the processor has the rights that the next two are about.
  bool can_be_told() const { return rights_at_ != 0; }
  /// There, what the program finds in PKRU: of the engine's key, what it began with.
  std::uint32_t shown_in(const std::byte* area) const;
  void set_all_in(std::byte* area, std::uint32_t rights) const;
  /// There, those that pkey_alloc(2) gave the program to its new key. The kernel has given them to the engine.
  void give_in(std::byte* area, long key, std::uint64_t rights) const;

 private:
  StoreKey();

  void set_in(std::byte* area, long key, std::uint32_t rights) const;
  std::uint32_t all_in(const std::byte* area) const;

  long number_ = 0;
  mutable long next_other_ = 1;  // the lowest that is still held
  std::uint32_t rights_at_ = 0;  // in the area; 0: the processor has no keys
  std::uint32_t initial_ = 0;
};

}  // namespace zs::engine
