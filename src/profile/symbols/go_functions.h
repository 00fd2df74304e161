// The functions of a Go program by its own table, which a stripped one still has.
#pragma once

#include <libelf.h>

#include <cstdint>
#include <functional>
#include <string>

namespace zs::profile {

/// visit(start, size, name) for each, addresses as the file's headers count; none where there is no table of a known
/// version.
/// What is damaged is left out.
void each_go_function(Elf* elf,
                      const std::function<void(std::uint64_t start, std::uint64_t size, std::string name)>& visit);

}  // namespace zs::profile
