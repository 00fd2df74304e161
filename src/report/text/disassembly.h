// Instructions as text, by Zydis: AT&T or Intel, one per line, with the names of what they jump to and refer to.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "profile/perf_data/addresses.h"

namespace zs::report {

enum class Syntax { Att, Intel };

struct Instruction {
  profile::ImageAddress address{};
  std::size_t length = 0;
  std::string text;  // "jnz 0x401025 <leaf+0xc>"; "(bad)" for a byte that begins no instruction
};

/// "leaf+0xc" for an address, "" if nothing is there.
using NameOf = std::function<std::string(profile::ImageAddress)>;

std::vector<Instruction> disassemble(Bytes code, profile::ImageAddress start, Syntax syntax, const NameOf& name_of);

}  // namespace zs::report
