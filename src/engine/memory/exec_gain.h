// PR_SET_MDWE: memory that the program has denied itself, which is both written and executed or becomes executable. The
// kernel is not told, because the engine's own memory is such.
// source: Linux, kernel/sys.c: prctl_set_mdwe(); include/linux/mman.h: map_deny_write_exec()
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>

namespace zs::engine {

class ExecGain {
 public:
  static constexpr std::uint64_t kRefuse = 1, kNotInherited = 2;

  std::uint64_t bits() const { return bits_; }
  /// What children and new images begin with.
  std::uint64_t inherited_bits() const { return (bits_ & kNotInherited) != 0 ? 0 : bits_; }
  void begin(std::uint64_t bits) { bits_ = bits; }

  /// As the system call.
  long set(std::uint64_t wanted) {
    if ((wanted & ~(kRefuse | kNotInherited)) != 0 || wanted == kNotInherited) return -EINVAL;
    if (bits_ != 0 && bits_ != wanted) return -EPERM;
    bits_ = wanted;
    return 0;
  }

  /// Whether memory may not be made so.
  bool denies(std::uint32_t prot) const { return denies(prot, prot); }
  /// before  its protection so far
  bool denies(std::uint32_t before, std::uint32_t prot) const {
    return bits_ != 0 && (prot & PROT_EXEC) != 0 && ((prot & PROT_WRITE) != 0 || (before & PROT_EXEC) == 0);
  }

 private:
  std::uint64_t bits_ = 0;
};

}  // namespace zs::engine
