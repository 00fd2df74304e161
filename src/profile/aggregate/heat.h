// How hot each instruction of each function is: what annotate shows.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/perf_data/data_source_text.h"
#include "profile/perf_data/perf_data_reader.h"
#include "profile/symbols/symbolizer.h"

namespace zs::profile {

struct Heat {
  std::uint64_t samples = 0, weight = 0;              // weight: sum of periods
  std::array<std::uint64_t, kSourceKinds> sources{};  // weight by SourceKind; all 0 where samples do not say
  double latency = 0;                                 // sum of cycles, each times its sample's weight

  void add(const Heat& more);
};

/// Of one sample.
Heat heat_of(const session::Sample& sample, std::uint64_t weight);

/// The samples of one event that fell into one function.
struct FunctionHeat {
  const PerfDataReader::Event* event = nullptr;
  std::uint32_t event_index = 0;
  Dso* dso = nullptr;
  const Symbol* symbol = nullptr;
  Heat whole;
  std::map<ImageAddress, Heat> instructions;
  std::map<ImageAddress, std::uint64_t> taken;  // of an exact profile: how often the branch there was
};

struct HeatOptions {
  std::string symbol;  // only functions of this name, demangled or not; "": all
  std::string dso;     // only in the file of this name or path; "": all
};

/// By event, the hottest function first. `outside` counts the samples that no symbol covers.
std::vector<FunctionHeat> function_heats(const PerfDataReader& reader, Symbolizer& symbolizer,
                                         const HeatOptions& options, std::uint64_t& outside);

}  // namespace zs::profile
