// Tells whoever wants to know what the program has mapped: the recording, the code cache, the translations that are
// kept.
#pragma once

#include <cstdint>

#include "engine/account/probes.h"
#include "engine/cache/translation_cache.h"
#include "engine/kernel/written_files.h"
#include "engine/run.h"

namespace zs::engine {

class MappingReports {
 public:
  MappingReports(Run& run, Probes& probes, TranslationCache& cache, WrittenFiles& written)
      : run_(run), probes_(probes), cache_(cache), written_(written) {}

  void report(std::uint64_t address, std::uint64_t length);

 private:
  Run& run_;
  Probes& probes_;
  TranslationCache& cache_;
  WrittenFiles& written_;
};

}  // namespace zs::engine
