// How a program is to be run, as people choose it; what follows from the program and its place is engine::Config's.
#pragma once

#include <cstdint>
#include <string>

#include "arch/cpu_level.h"
#include "isa/decode.h"

namespace zs::engine {

/// Descriptors [RunSettings::first_private_fd, +8) are the tool's. The last one is the program's file. The one before
/// is the recorder's to put something there when it needs to; until then it only keeps the program from the number.
inline constexpr int kPrivateDescriptors = 8, kSpareDescriptor = 6;

struct RunSettings {
  bool hides_descriptor(long fd) const {
    const int number = static_cast<int>(fd);
    return number >= first_private_fd && number < first_private_fd + kPrivateDescriptors;
  }
  int executable_fd() const { return first_private_fd + kPrivateDescriptors - 1; }

  bool inherit = true;  // follow children; false: they are neither counted nor told of, and what they exec is native
  bool virtual_time = false;  // time, TSC, process ids and randomness are functions of the run
  /// The processor and the machine that the program sees; not Host: fixed ones, in virtual time.
  arch::CpuLevel cpu_level = arch::CpuLevel::Host;
  std::uint32_t cpus = 4;  // of these, if it is fixed
  isa::Processor processor() const { return {.virtual_time = virtual_time, .level = cpu_level}; }
  std::string kept_variables = "*";  // of the environment: names with commas between; "*": all
  bool vdso = false;                 // give the program the kernel's vdso
  bool precise_only = false;         // one instruction per translation: slow, for cross-checking
  bool native_load = false;          // load, then jump to the entry untranslated: what the ptrace oracle steps
  bool check_cache = false;  // translate anew what is taken from `cache_directory`, and compare; in virtual time too
  bool cache_statistics = false;  // say how much was translated, and taken from it
  std::uint64_t seed = 1;
  std::uint64_t placement = 0;  // seed of where stack, heap, data and, for core models, functions lie; 0: as always
  std::uint32_t max_block_instructions = 32;
  std::uint32_t contexts = 0;   // of an exact profile: so many calling contexts are kept apart; 0: none is told
  int first_private_fd = 2040;  // descriptors from here up are the tool's; hidden from the program
  std::uint64_t code_cache_bytes = std::uint64_t{256} << 20;
  /// Folder of translations that outlive the process (engine/cache/translation_cache.h); "": there is none.
  std::string cache_directory;
  std::uint64_t cache_bytes = std::uint64_t{512} << 20;  // of all files in it

  static void fields(auto& s, auto& visit) {
    visit(s.inherit, s.virtual_time, s.cpu_level, s.cpus, s.kept_variables, s.vdso, s.precise_only, s.native_load,
          s.check_cache, s.cache_statistics, s.seed, s.placement, s.max_block_instructions, s.contexts,
          s.first_private_fd, s.code_cache_bytes, s.cache_directory, s.cache_bytes);
  }
  bool operator==(const RunSettings&) const = default;
};

}  // namespace zs::engine
