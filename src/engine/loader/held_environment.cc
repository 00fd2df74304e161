#include "engine/loader/held_environment.h"

#include <algorithm>
#include <iterator>

namespace zs::engine {
namespace {

constexpr std::string_view kMark = "ZEROSKID_HELD_";

/// Beginnings of variables that a start of zeroskid-run would obey.
/// source: glibc 2.36, elf/rtld.c (process_envvars), elf/dl-tunables.list (env_alias); musl and libraries of
/// LD_AUDIT read no others. The mark itself is here so that a variable that looks held already comes through.
constexpr std::string_view kHeld[] = {"LD_", "GLIBC_TUNABLES", "MALLOC_", kMark};

}  // namespace

std::string held(std::string_view variable) {
  const bool hold = std::any_of(std::begin(kHeld), std::end(kHeld),
                                [&](std::string_view beginning) { return variable.starts_with(beginning); });
  return std::string(hold ? kMark : "") + std::string(variable);
}

std::string_view released(std::string_view variable) {
  if (variable.starts_with(kMark)) variable.remove_prefix(kMark.size());
  return variable;
}

}  // namespace zs::engine
