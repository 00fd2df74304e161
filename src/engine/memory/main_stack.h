// The main thread's stack and, above it, the area of arguments and environment. The stack is mapped whole, as large as
// RLIMIT_STACK lets it become.
#pragma once

#include <cstdint>

#include "engine/memory/address_space.h"

namespace zs::engine {

class MainStack {
 public:
  explicit MainStack(AddressSpace& space) : space_(space) {}

  /// soft_limit  in bytes, below the layout's stack_top()
  /// returns     0 or -errno
  long map(std::uint64_t soft_limit, bool executable);
  /// It may now grow that far. Where it has not been touched below a lower limit, nothing is mapped any more.
  void set_limit(std::uint64_t soft_limit);

 private:
  const GuestMapping* find() const;
  void shrink(std::uint64_t bytes);

  AddressSpace& space_;
};

}  // namespace zs::engine
