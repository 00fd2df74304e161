// Samples, aggregated: for each event of a recording, how much of it fell on each distinct value of the sort keys, with
// the call chains that led there.
//
// Weights are periods: a sample stands for as many events as its period says. With `children`, a function also gets
// what its callees got, once per sample however often it stands in the chain. In branch mode the items are the entries
// of branch stacks, each of weight 1. In memory mode a sample's weight is the latency of its access, 1 where that is
// unknown, times its period: with -F the first samples stand for fewer accesses than the later ones.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/aggregate/call_tree.h"
#include "profile/perf_data/perf_data_reader.h"
#include "profile/symbols/callchain.h"
#include "profile/symbols/frames.h"
#include "profile/symbols/symbolizer.h"
#include "profile/types/access_types.h"
#include "profile/types/data_objects.h"

namespace zs::profile {

// clang-format off
enum class SortKey : std::uint8_t {
  Comm, Pid, Tid, Cpu, Dso, Symbol, SourceLine, SourceFile, Ip, Caller,            // of samples
  DsoFrom, SymbolFrom, LineFrom, DsoTo, SymbolTo, LineTo, Mispredicted,  // of branches
  Level, DataSymbol, DataDso, Data, DataLine, LocalWeight, Weight, LocalInstructionLatency, InstructionLatency,
  Tlb, Locked, Snoop, Blocked, Type, TypeOffset, SymbolOffset, SymbolType, // of memory accesses
};
// clang-format on

/// Which of them `report` takes, or `mem report`.
enum class KeysOf : std::uint8_t { All, Report, MemoryReport };

/// The keys of "comm,dso,sym"; an Error lists those of `which`.
Result<std::vector<SortKey>> parse_sort_keys(std::string_view text, KeysOf which = KeysOf::All);
std::string sort_key_names(KeysOf which = KeysOf::All);
bool is_branch_key(SortKey key);
bool is_memory_key(SortKey key);
std::string_view column_header(SortKey key);
/// Whether the types of data must be known for it.
bool is_type_key(SortKey key);
/// Whether a column is padded even where it is the last; names of any length are not.
bool is_padded(SortKey key);

/// Whose samples have lines; an empty list lets all through. The others are in the totals alone, as perf has it.
struct SampleLists {
  std::vector<std::string> comms, dsos, symbols;  // dsos: paths or file names
  std::vector<std::int32_t> pids, tids;

  bool empty() const { return comms.empty() && dsos.empty() && symbols.empty() && pids.empty() && tids.empty(); }
};

bool lets_through(const SampleLists& lists, std::int32_t pid, std::int32_t tid, const std::string& comm,
                  const Location& place);

enum class ChainOrder { Caller, Callee };  // which end of a chain is the root of its tree

struct AggregateOptions {
  std::vector<SortKey> keys;
  bool children = false;
  bool branches = false;
  bool memory = false;
  bool weigh_periods = true;  // in memory mode; false: each sample's latency once, as perf has it
  bool call_graph = false;
  ChainOrder order = ChainOrder::Callee;
  Inlines inlines = Inlines::Always;
  std::size_t max_stack = 127;
  SampleLists only;              // not in branch mode
  bool relative_shares = false;  // of those samples, not of all
  bool named_only = false;       // samples whose place has no symbol are passed over
};

/// One sample, or one branch of it, as the sort keys see it.
struct Hit {
  std::int32_t pid = 0, tid = 0;
  std::uint32_t cpu = 0;
  const std::string* comm = nullptr;
  const std::string* process_comm = nullptr;
  const Frame* frame = nullptr;  // the place: of a branch, where it went
  Location location;
  const Frame* caller = nullptr;      // nullptr: no call chain, or its end
  const Frame* from_frame = nullptr;  // of a branch: where it came from
  Location from;
  std::uint64_t branch_flags = 0;

  // Of a memory access.
  Location data;
  const DataObject* object = nullptr;
  AccessType type;  // where a key asks for it
  std::uint64_t data_source = 0, latency = 0;
  std::uint16_t instruction_latency = 0;
};

/// Of a sampled access, and for how many accesses it stands.
struct Latency {
  std::uint32_t cycles = 0;
  std::uint64_t accesses = 1;
  auto operator<=>(const Latency&) const = default;
};

struct Entry {
  Hit example;              // of the hits that fell here: the first
  std::uint64_t own = 0;    // weight of the samples taken here
  std::uint64_t total = 0;  // and in callees
  std::uint64_t samples = 0;
  std::vector<Latency> latencies;  // in memory mode: of the samples that have one, ascending
  CallTree calls;
  std::uint64_t last_item = 0;  // the item that touched this entry last, for `children`
};

struct Histogram {
  const PerfDataReader::Event* event = nullptr;
  std::uint64_t items = 0;  // samples, or branches
  std::uint64_t weight = 0;
  std::vector<Latency> latencies;                         // in memory mode, ascending
  std::map<session::ChainEnd, std::uint64_t> chain_ends;  // how many call chains end so
  std::map<const Frame*, std::uint64_t> no_rule;          // in which functions those of NoRule do
  std::vector<const Entry*> entries;                      // heaviest first
  std::deque<Entry> storage;

  Histogram() = default;
  Histogram(Histogram&&) = default;  // a deque that moves keeps its elements where they are
  Histogram& operator=(Histogram&&) = default;
};

/// The least width of a column that holds this entry's text.
std::size_t column_width(SortKey key, const Entry& entry);

class Aggregator {
 public:
  /// All references must outlive this, and what run() returned must not outlive it.
  Aggregator(const PerfDataReader& reader, Symbolizer& symbolizer, AggregateOptions options);
  ~Aggregator();

  /// One histogram for each event of the recording, in their order.
  std::vector<Histogram> run();

  /// The text of a key's column for an entry.
  std::string text(SortKey key, const Entry& entry) const;
  /// Address spaces after the last record.
  const AddressSpaces& spaces() const { return spaces_; }

 private:
  struct Table;
  void take(const SampleRecord& record);
  Entry& entry_of(Table& table, const Hit& hit);
  void take_sample(Table& table, const SampleRecord& record, const PerfDataReader::Event& event);
  void take_branches(Table& table, const SampleRecord& record);
  void take_access(Table& table, const SampleRecord& record);
  const std::string* intern(std::string text) { return &*strings_.insert(std::move(text)).first; }
  std::string line_of(const Location& location) const { return symbolizer_.short_line(location); }
  /// The line's file; "." where it is not known, as perf has it.
  std::string file_of(const Location& location) const;
  std::pair<std::uint64_t, std::uint64_t> identity(SortKey key, const Hit& hit);
  bool known(SortKey key, const Hit& hit) const;
  bool wants_types() const;
  void sort(Histogram& histogram) const;

  const PerfDataReader& reader_;
  Symbolizer& symbolizer_;
  AggregateOptions options_;
  AddressSpaces spaces_;
  Frames frames_;
  Callchains callchains_;
  DataObjects objects_;
  AccessTypes types_;
  std::set<std::string> strings_;
  std::vector<std::unique_ptr<Table>> tables_;  // one per event
};

}  // namespace zs::profile
