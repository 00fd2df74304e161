// What is really mapped for a protection that the program asks for.
#pragma once

#include <sys/mman.h>

#include <cstdint>

namespace zs::engine {

class RealProtection {
 public:
  /// strip_exec  only translations run: nothing is really PROT_EXEC, and what is to be executed can be read instead
  explicit RealProtection(bool strip_exec) : strips_exec_(strip_exec) {}

  int of(std::uint32_t prot) const {
    if (!strips_exec_ || (prot & PROT_EXEC) == 0) return static_cast<int>(prot);
    return static_cast<int>((prot & ~std::uint32_t{PROT_EXEC}) | PROT_READ);
  }
  bool strips_exec() const { return strips_exec_; }

 private:
  bool strips_exec_;
};

}  // namespace zs::engine
