// Names of parametrised tests: GoogleTest takes letters, digits and underlines only.
#pragma once

#include <algorithm>
#include <string>

#include "uarch/core_model.h"

namespace zs::uarch {

/// "skylake_server" for skylake-server@1.
inline std::string test_name(const CoreModel& model) {
  std::string name(model.name.substr(0, model.name.find('@')));
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace zs::uarch
