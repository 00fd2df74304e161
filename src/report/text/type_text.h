// A type with its fields, what each costs, its holes, and a better order of its members.
#pragma once

#include <cstddef>
#include <string>

#include "profile/aggregate/type_heat.h"

namespace zs::report {

struct TypeStyle {
  bool color = false;
  std::size_t width = 0;  // of the page; 0: any
};

/// How much of all accesses the types are known of.
std::string type_shares(const profile::TypeHeats& heats);
std::string type_text(const profile::TypeHeat& heat, const TypeStyle& style);

}  // namespace zs::report
