#include "isa/fsgsbase.h"

#include <sys/auxv.h>

namespace zs::isa {

bool has_fsgsbase() {
  constexpr unsigned long kHwcap2Fsgsbase = 1u << 1;
  static const bool has = (getauxval(AT_HWCAP2) & kHwcap2Fsgsbase) != 0;
  return has;
}

}  // namespace zs::isa
