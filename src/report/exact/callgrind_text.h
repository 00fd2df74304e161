// An exact profile with contexts in Callgrind's format, for callgrind_annotate and KCachegrind: what each instruction
// counted itself, how often each call was made, and what ran inside it.
// source: Valgrind's manual, "Callgrind Format Specification".
#pragma once

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

class CallGraph {
 public:
  struct Place {
    std::uint64_t file = 0;  // number of its Dso, from 1; 0: of none
    std::uint64_t address = 0;
    profile::Dso* dso = nullptr;
    bool operator<(const Place& other) const {
      return file != other.file ? file < other.file : address < other.address;
    }
  };
  /// A transfer of control from one function to another that returns: a call, or a jump at a function's end.
  struct Edge {
    std::uint64_t times = 0, inside = 0;
    std::uint64_t last_context = 0;  // that counted for `inside`
    bool is_call = false;
  };
  using Edges = std::map<std::pair<Place, Place>, Edge>;

  explicit CallGraph(profile::Symbolizer& symbolizer) : symbolizer_(symbolizer) {}

  /// All of a recording of `zeroskid profile -g`, beside what there is.
  void add(const profile::PerfDataReader& reader);
  /// Of what program, as the first recording says.
  std::string text() const;

 private:
  using Function = std::pair<std::uint64_t, const profile::Symbol*>;  // without a symbol: all such code of its file
  using Way = std::vector<Edge*>;

  void add_edges(const Edges& branches);
  void add_contexts(const profile::PerfDataReader& reader);
  const Way& way(const Place& returns_to, const Place& inner);
  Way find_way(const Place& site, const Place& inner);
  static const profile::Symbol* symbol_of(const Place& place);
  static Function function_of(const Place& place) { return {place.file, symbol_of(place)}; }

  profile::Symbolizer& symbolizer_;
  std::string command_, version_;
  std::list<profile::AddressSpaces> spaces_;  // the symbolizer knows images by where they are
  std::map<Place, std::uint64_t> times_;
  Edges edges_;
  std::map<Function, std::vector<Edges::iterator>> jumps_;  // out of a function
  std::map<std::pair<Place, Function>, Way> ways_;
  std::uint64_t contexts_ = 0;
};

}  // namespace zs::report
