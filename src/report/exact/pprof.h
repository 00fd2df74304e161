// An exact profile as pprof's profile.proto, gzipped, for `go tool pprof` and what else reads it: samples of
// instructions, with their calling contexts where there are any, and of taken branches; inlined functions as lines of
// their locations.
// source: github.com/google/pprof, proto/profile.proto, whose numbers of fields are below.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "profile/perf_data/address_space.h"
#include "profile/perf_data/perf_data_reader.h"
#include "profile/symbols/symbolizer.h"

namespace zs::report {

class PprofProfile {
 public:
  explicit PprofProfile(profile::Symbolizer& symbolizer) : symbolizer_(symbolizer) {}

  /// All of a recording of `zeroskid profile`, beside what there is.
  void add(const profile::PerfDataReader& reader);
  std::string gzipped();

 private:
  using Stack = std::vector<std::uint64_t>;  // numbers of locations, innermost first
  using Values = std::array<std::uint64_t, 2>;

  std::uint64_t location_of(std::int32_t pid, std::uint64_t address);
  std::uint64_t text(const std::string& text);
  std::uint64_t mapping_of(const profile::Dso& dso);
  std::string line(const profile::Location& at, const std::string& name, const profile::SourceLine& source);

  profile::Symbolizer& symbolizer_;
  std::list<profile::AddressSpaces> spaces_;  // the symbolizer knows images by where they are
  std::map<Stack, Values> samples_;
  std::map<std::pair<const profile::Dso*, std::uint64_t>, std::uint64_t> locations_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> functions_;  // by name and file
  std::map<const profile::Dso*, std::uint64_t> mappings_;
  std::map<std::string, std::uint64_t> numbers_{{"", 0}};  // of texts_
  std::vector<std::string> texts_{""};
  std::string tables_;  // mappings, locations and functions, as they are written
};

}  // namespace zs::report
