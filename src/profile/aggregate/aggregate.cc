#include "profile/aggregate/aggregate.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "arch/records/perf_mem.h"
#include "base/items.h"
#include "profile/perf_data/data_source_text.h"

namespace zs::profile {
namespace {

enum class Of : std::uint8_t { Sample, Branch, Access };

struct KeyRow {
  SortKey key;
  std::string_view name, short_name;
  std::string_view header;
  Of of;
  bool padded;
  std::size_t least = 0;  // width of the column
};

// clang-format off
constexpr KeyRow kKeys[] = {
    // key                  name            short        header                   of          padded
    {SortKey::Comm,          "comm",         "",          "Command",               Of::Sample, true},
    {SortKey::Pid,           "pid",          "",          "    Pid:Command",       Of::Sample, true},
    {SortKey::Tid,           "tid",          "",          "    Tid:Command",       Of::Sample, true},
    {SortKey::Cpu,           "cpu",          "",          "CPU",                   Of::Sample, true},
    {SortKey::Dso,           "dso",          "",          "Shared Object",         Of::Sample, true},
    {SortKey::Symbol,        "symbol",       "sym",       "Symbol",                Of::Sample, false},
    {SortKey::SourceLine,    "srcline",      "",          "Source:Line",           Of::Sample, false},
    {SortKey::SourceFile,    "srcfile",      "",          "Source File",           Of::Sample, false},
    {SortKey::Ip,            "ip",           "",          "Instruction",           Of::Sample, false},
    {SortKey::Caller,        "caller",       "",          "Caller",                Of::Sample, false},
    {SortKey::DsoFrom,       "dso_from",     "",          "Source Shared Object",  Of::Branch, true},
    {SortKey::SymbolFrom,    "symbol_from",  "sym_from",  "Source Symbol",         Of::Branch, false},
    {SortKey::LineFrom,      "srcline_from", "",          "From Source:Line",      Of::Branch, false},
    {SortKey::DsoTo,         "dso_to",       "",          "Target Shared Object",  Of::Branch, true},
    {SortKey::SymbolTo,      "symbol_to",    "sym_to",    "Target Symbol",         Of::Branch, false},
    {SortKey::LineTo,        "srcline_to",   "",          "To Source:Line",        Of::Branch, false},
    {SortKey::Mispredicted,  "mispredict",   "",          "Branch Mispredicted",   Of::Branch, true},
    {SortKey::Level,         "mem",          "",          "Memory access",         Of::Access, true, 24},
    {SortKey::DataSymbol,    "symbol_daddr", "",          "Data Symbol",           Of::Access, false},
    {SortKey::DataDso,       "dso_daddr",    "",          "Data Object",           Of::Access, true},
    {SortKey::Data,          "data",         "",          "Data",                  Of::Access, true},
    {SortKey::DataLine,      "dcacheline",   "",          "Data Cacheline",        Of::Access, false},
    {SortKey::LocalWeight,   "local_weight", "",          "Local Weight",          Of::Access, true},
    {SortKey::Weight,        "weight",       "",          "Weight",                Of::Access, true, 12},
    {SortKey::LocalInstructionLatency, "local_ins_lat", "", "Local INSTR Latency", Of::Access, true, 13},
    {SortKey::InstructionLatency, "ins_lat", "",          "INSTR Latency",         Of::Access, true, 13},
    {SortKey::Tlb,           "tlb",          "",          "TLB access",            Of::Access, true, 22},
    {SortKey::Locked,        "locked",       "",          "Locked",                Of::Access, true, 6},
    {SortKey::Snoop,         "snoop",        "",          "Snoop",                 Of::Access, true, 12},
    {SortKey::Blocked,       "blocked",      "",          "Blocked",               Of::Access, false, 10},
    {SortKey::Type,          "type",         "",          "Data Type",             Of::Access, true},
    {SortKey::TypeOffset,    "typeoff",      "",          "Data Type Offset",      Of::Access, true},
    {SortKey::SymbolOffset,  "symoff",       "",          "Symbol Offset",         Of::Access, true},
    {SortKey::SymbolType,    "symtype",      "",          "Data",                  Of::Access, true},
};
// clang-format on

const KeyRow& row_of(SortKey key) {
  return *std::find_if(std::begin(kKeys), std::end(kKeys), [key](const KeyRow& row) { return row.key == key; });
}

std::string symbol_text(const Frame* frame, const Location& location) {
  if (frame->named) return fmt::format("[{}] {}", frame->level, frame->name);
  const std::uint64_t address = value(location.image_address);
  return fmt::format("[{}] {}{:016x}", location.level, address != 0 ? "0x" : "", address);  // 0 bare, as perf has it
}

/// What symbols are sorted by: names; addresses as numbers. (The ends of branches, as with perf, by address alone.)
std::string rank_text(const Frame& frame) { return frame.named ? frame.name : fmt::format("{:016x}", frame.address); }

std::string dso_text(const Location& location) {
  return location.dso != nullptr ? location.dso->short_name : "[unknown]";
}

constexpr std::uint64_t kLineMask = ~std::uint64_t{63};

/// As perf has it: code by its name, a variable with the place in it, else the address.
std::string data_text(const Location& location, std::uint64_t address) {
  const Symbol* const symbol = location.symbol;
  if (symbol == nullptr) return fmt::format("[{}] {}{:016x}", location.level, address != 0 ? "0x" : "", address);
  if (symbol->code) return fmt::format("[{}] {}", location.level, symbol->name());
  const std::uint64_t offset = location.offset_in_symbol() - (location.address - address);
  return fmt::format("[{}] {}+{:#x}", location.level, symbol->name(), offset);
}

/// Places in a data source's word that tell one level from another.
std::uint64_t level_bits(std::uint64_t data_source) {
  namespace mem = arch::perf_mem;
  const auto field = [&](mem::Field one) { return one.value(one.of({data_source})).bits; };
  return field(mem::kLevel) | field(mem::kLevelNumber) | field(mem::kRemoteFlag) | field(mem::kHops);
}

/// At most what 64 bits hold less room for sums: a file may say anything.
std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kMost = UINT64_MAX >> 20;
  return a > kMost / b ? kMost : a * b;
}

/// As perf has it: "struct node +0x8 (next)".
std::string type_offset_text(const AccessType& access) {
  if (access.kind != AccessType::Kind::Known) return access.type_text();
  const std::string member = access.member_text();
  return fmt::format("{} +{:#x} ({})", access.type_text(), access.offset,
                     member.empty() ? "no field" : member.substr(member.front() == '.' ? 1 : 0));
}

std::string symbol_offset_text(const Location& location) {
  if (location.symbol == nullptr) return fmt::format("[{}] {:#x}", location.level, value(location.image_address));
  return fmt::format("[{}] {} +{:#x}", location.level, location.symbol->name(), location.offset_in_symbol());
}

/// "shared.setting", "heap: build+0x3a (tree.c:42), 12 blocks, 1.5 KiB: struct node.left"
std::string symbol_type_text(const DataObject& object, const AccessType& access) {
  const std::string& name = access.variable != nullptr ? *access.variable : object.name;
  if (access.kind != AccessType::Kind::Known) return fmt::format("{}: {}", name, access.type_text());
  return fmt::format("{}: {}{}", name, access.type_text(), access.member_text());
}

std::uint64_t bits(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

struct WordsHash {
  std::size_t operator()(const std::vector<std::uint64_t>& words) const {
    std::uint64_t hash = 0xCBF29CE484222325;
    for (const std::uint64_t word : words) hash = (hash ^ word ^ word >> 32) * 0x100000001B3;
    return hash ^ hash >> 29;
  }
};

}  // namespace

std::string sort_key_names(KeysOf which) {
  std::string names;
  for (const KeyRow& row : kKeys) {
    if (which == KeysOf::Report && row.of == Of::Access) continue;
    if (which == KeysOf::MemoryReport && row.of == Of::Branch) continue;
    names += fmt::format("{}{}", names.empty() ? "" : " ", row.name);
  }
  return names;
}

Result<std::vector<SortKey>> parse_sort_keys(std::string_view text, KeysOf which) {
  if (text.empty()) return Error{"no sort key given", fmt::format("the sort keys are: {}", sort_key_names(which))};
  std::vector<SortKey> keys;
  for (const std::string_view name : items_of(text)) {
    const auto* row = std::find_if(std::begin(kKeys), std::end(kKeys),
                                   [name](const KeyRow& one) { return one.name == name || one.short_name == name; });
    if (name.empty() || row == std::end(kKeys)) {
      return Error{fmt::format("cannot sort by '{}'", name),
                   fmt::format("the sort keys are: {}", sort_key_names(which))};
    }
    if (std::find(keys.begin(), keys.end(), row->key) == keys.end()) keys.push_back(row->key);
  }
  return keys;
}

bool is_branch_key(SortKey key) { return row_of(key).of == Of::Branch; }
bool is_type_key(SortKey key) {
  return key == SortKey::Type || key == SortKey::TypeOffset || key == SortKey::SymbolType;
}
bool is_memory_key(SortKey key) { return row_of(key).of == Of::Access; }
std::string_view column_header(SortKey key) { return row_of(key).header; }
bool is_padded(SortKey key) { return row_of(key).padded; }

std::size_t column_width(SortKey key, const Entry& entry) {
  constexpr std::size_t kAddress = 16, kAround = 6;  // perf leaves room for an address and what stands around it
  const Location& data = entry.example.data;
  switch (key) {
    case SortKey::DataSymbol:
    case SortKey::DataLine: return kAddress + kAround + (data.symbol != nullptr ? data.symbol->name().size() : 0);
    case SortKey::DataDso: return data.dso == nullptr ? kAddress : 0;
    default: return row_of(key).least;
  }
}

/// A histogram under construction.
struct Aggregator::Table {
  Histogram histogram;
  std::unordered_map<std::vector<std::uint64_t>, Entry*, WordsHash> entries;
  std::vector<std::uint64_t> words;  // scratch: the identity being looked up
  std::vector<const Frame*> chain;   // scratch
};

Aggregator::Aggregator(const PerfDataReader& reader, Symbolizer& symbolizer, AggregateOptions options)
    : reader_(reader),
      symbolizer_(symbolizer),
      options_(std::move(options)),
      callchains_(symbolizer, frames_, options_.inlines, options_.max_stack),
      objects_(spaces_, symbolizer),
      types_(symbolizer) {
  symbolizer_.expect(reader);
}

Aggregator::~Aggregator() = default;

std::pair<std::uint64_t, std::uint64_t> Aggregator::identity(SortKey key, const Hit& hit) {
  const auto line = [this](const Location& location) { return bits(intern(line_of(location))); };
  switch (key) {
    case SortKey::Comm: return {bits(hit.comm), 0};
    case SortKey::Pid: return {static_cast<std::uint64_t>(hit.pid), bits(hit.process_comm)};
    case SortKey::Tid: return {static_cast<std::uint64_t>(hit.tid), bits(hit.comm)};
    case SortKey::Cpu: return {hit.cpu, 0};
    case SortKey::Dso:
    case SortKey::DsoTo: return {bits(hit.location.dso), 0};
    case SortKey::Symbol:
    case SortKey::SymbolTo: return {bits(hit.frame), 0};
    case SortKey::SourceLine:
    case SortKey::LineTo: return {line(hit.location), bits(hit.frame->inlined ? hit.frame : nullptr)};
    case SortKey::SourceFile: return {bits(intern(file_of(hit.location))), 0};
    case SortKey::Ip: return {bits(hit.location.dso), value(hit.location.image_address)};
    case SortKey::Caller: return {bits(hit.caller), 0};
    case SortKey::DsoFrom: return {bits(hit.from.dso), 0};
    case SortKey::SymbolFrom: return {bits(hit.from_frame), 0};
    case SortKey::LineFrom: return {line(hit.from), 0};
    case SortKey::Mispredicted:
      return {hit.branch_flags & (perf::branch_flag::mispredicted | perf::branch_flag::predicted), 0};
    case SortKey::Level: return {level_bits(hit.data_source), 0};
    case SortKey::DataSymbol: return {hit.data.address, static_cast<std::uint64_t>(hit.pid)};
    case SortKey::DataDso: return {bits(hit.data.dso), 0};
    case SortKey::Data: return {bits(hit.object), 0};
    case SortKey::DataLine: return {hit.data.address & kLineMask, static_cast<std::uint64_t>(hit.pid)};
    case SortKey::LocalWeight:
    case SortKey::Weight: return {hit.latency, 0};
    case SortKey::LocalInstructionLatency:
    case SortKey::InstructionLatency: return {hit.instruction_latency, 0};
    case SortKey::Tlb: return {arch::perf_mem::kTlb.of({hit.data_source}), 0};
    case SortKey::Locked: return {arch::perf_mem::kLock.of({hit.data_source}), 0};
    case SortKey::Snoop:
      return {arch::perf_mem::kSnoop.of({hit.data_source}), arch::perf_mem::kSnoopMore.of({hit.data_source})};
    case SortKey::Blocked: return {arch::perf_mem::kBlock.of({hit.data_source}), 0};
    case SortKey::Type: return {bits(intern(hit.type.type_text())), 0};
    case SortKey::TypeOffset: return {bits(intern(type_offset_text(hit.type))), 0};
    case SortKey::SymbolOffset: return {bits(hit.location.symbol), value(hit.location.image_address)};
    case SortKey::SymbolType: return {bits(hit.object), bits(intern(symbol_type_text(DataObject{}, hit.type)))};
  }
  return {};
}

bool Aggregator::known(SortKey key, const Hit& hit) const {
  switch (key) {
    case SortKey::Dso:
    case SortKey::DsoTo: return hit.location.dso != nullptr;
    case SortKey::Symbol:
    case SortKey::SymbolTo: return hit.frame->named;
    case SortKey::DsoFrom: return hit.from.dso != nullptr;
    case SortKey::SymbolFrom: return hit.from_frame->named;
    case SortKey::Caller: return hit.caller != nullptr;
    case SortKey::DataSymbol:
    case SortKey::DataLine: return hit.data.symbol != nullptr;
    case SortKey::DataDso: return hit.data.dso != nullptr;
    case SortKey::Data: return hit.object->kind != DataKind::Unknown;
    case SortKey::Type:
    case SortKey::TypeOffset:
    case SortKey::SymbolType: return hit.type.kind == AccessType::Kind::Known;
    default: return true;
  }
}

std::string Aggregator::text(SortKey key, const Entry& entry) const {
  const Hit& hit = entry.example;
  switch (key) {
    case SortKey::Comm: return *hit.comm;
    case SortKey::Pid: return fmt::format("{:>7}:{}", hit.pid, *hit.process_comm);
    case SortKey::Tid: return fmt::format("{:>7}:{}", hit.tid, *hit.comm);
    case SortKey::Cpu: return fmt::format("{:03}", hit.cpu);
    case SortKey::Dso:
    case SortKey::DsoTo: return dso_text(hit.location);
    case SortKey::Symbol:
    case SortKey::SymbolTo: return symbol_text(hit.frame, hit.location);
    case SortKey::SourceLine:
    case SortKey::LineTo: return line_of(hit.location);
    case SortKey::SourceFile: return file_of(hit.location);
    case SortKey::Ip: {
      const Location& at = hit.location;
      if (at.symbol == nullptr) return fmt::format("{:#x}", value(at.image_address));
      return fmt::format("{:#x} {}+{:#x}", value(at.image_address), at.symbol->name(), at.offset_in_symbol());
    }
    case SortKey::Caller: return hit.caller != nullptr ? hit.caller->name : "[none]";
    case SortKey::DsoFrom: return dso_text(hit.from);
    case SortKey::SymbolFrom: return symbol_text(hit.from_frame, hit.from);
    case SortKey::LineFrom: return line_of(hit.from);
    case SortKey::Mispredicted:
      if ((hit.branch_flags & perf::branch_flag::mispredicted) != 0) return "Y";
      return (hit.branch_flags & perf::branch_flag::predicted) != 0 ? "N" : "N/A";
    case SortKey::Level: return level_text(hit.data_source);
    case SortKey::DataSymbol: return data_text(hit.data, hit.data.address);
    case SortKey::DataDso: return dso_text(hit.data);
    case SortKey::Data: return hit.object->name;
    case SortKey::DataLine: return data_text(hit.data, hit.data.address & kLineMask);
    case SortKey::LocalWeight: return std::to_string(hit.latency);
    case SortKey::Weight: return std::to_string(hit.latency * entry.samples);
    case SortKey::LocalInstructionLatency: return std::to_string(hit.instruction_latency);
    case SortKey::InstructionLatency: return std::to_string(hit.instruction_latency * entry.samples);
    case SortKey::Tlb: return tlb_text(hit.data_source);
    case SortKey::Locked: return lock_text(hit.data_source);
    case SortKey::Snoop: return snoop_text(hit.data_source);
    case SortKey::Blocked: return block_text(hit.data_source);
    case SortKey::Type: return hit.type.type_text();
    case SortKey::TypeOffset: return type_offset_text(hit.type);
    case SortKey::SymbolOffset: return symbol_offset_text(hit.location);
    case SortKey::SymbolType: return symbol_type_text(*hit.object, hit.type);
  }
  return "";
}

std::string Aggregator::file_of(const Location& location) const {
  const std::string line = line_of(location);
  return line.ends_with(']') ? "." : line.substr(0, line.rfind(':'));
}

bool Aggregator::wants_types() const { return std::ranges::any_of(options_.keys, is_type_key); }

Entry& Aggregator::entry_of(Table& table, const Hit& hit) {
  table.words.clear();
  for (const SortKey key : options_.keys) {
    const auto [first, second] = identity(key, hit);
    table.words.push_back(first);
    table.words.push_back(second);
  }
  const auto [found, added] = table.entries.try_emplace(table.words, nullptr);
  if (added) {
    found->second = &table.histogram.storage.emplace_back();
    found->second->example = hit;
  }
  return *found->second;
}

void Aggregator::take(const SampleRecord& record) {
  Table& table = *tables_[record.sample.event];
  if (options_.branches) {
    take_branches(table, record);
  } else if (options_.memory) {
    take_access(table, record);
  } else {
    take_sample(table, record, reader_.events()[record.sample.event]);
  }
}

void Aggregator::take_branches(Table& table, const SampleRecord& record) {
  const session::Sample& sample = record.sample;
  Hit hit{.pid = sample.pid, .tid = sample.tid, .cpu = sample.cpu};
  hit.comm = intern(spaces_.comm(sample.pid, sample.tid));
  hit.process_comm = intern(spaces_.comm(sample.pid, sample.pid));
  for (std::size_t i = 0; i < sample.branches.size(); ++i) {
    hit.location = symbolizer_.locate(spaces_, sample.pid, sample.branches[i].to);
    hit.from = symbolizer_.locate(spaces_, sample.pid, sample.branches[i].from);
    hit.frame = frames_.of(hit.location);
    hit.from_frame = frames_.of(hit.from);
    hit.branch_flags = record.branch_flags[i];
    Entry& entry = entry_of(table, hit);
    entry.own += 1;
    entry.total += 1;
    ++entry.samples;
    ++table.histogram.items;
    ++table.histogram.weight;
  }
}

void Aggregator::take_access(Table& table, const SampleRecord& record) {
  const session::Sample& sample = record.sample;
  const std::uint64_t accesses = options_.weigh_periods ? std::max<std::uint64_t>(sample.period, 1) : 1;
  const std::uint64_t weight = product(std::max<std::uint64_t>(sample.latency, 1), accesses);
  ++table.histogram.items;
  table.histogram.weight += weight;
  Hit hit{.pid = sample.pid, .tid = sample.tid, .cpu = sample.cpu};
  hit.comm = intern(spaces_.comm(sample.pid, sample.tid));
  hit.process_comm = intern(spaces_.comm(sample.pid, sample.pid));
  hit.location = symbolizer_.locate(spaces_, sample.pid, sample.ip, record.cpumode);
  hit.frame = frames_.of(hit.location);
  hit.data = symbolizer_.locate(spaces_, sample.pid, sample.address);
  hit.object = objects_.of(sample);
  if (wants_types()) hit.type = types_.of(spaces_, objects_, sample);
  hit.data_source = sample.data_source;
  hit.latency = sample.latency;
  hit.instruction_latency = sample.instruction_latency;
  Entry& entry = entry_of(table, hit);
  entry.own += weight;
  entry.total += weight;
  ++entry.samples;
  if (sample.latency == 0) return;
  const auto cycles = static_cast<std::uint32_t>(std::min<std::uint64_t>(sample.latency, UINT32_MAX));
  entry.latencies.push_back({cycles, accesses});
  table.histogram.latencies.push_back({cycles, accesses});
}

bool lets_through(const SampleLists& lists, std::int32_t pid, std::int32_t tid, const std::string& comm,
                  const Location& place) {
  const auto lets = [](const auto& list, const auto&... any) {
    return list.empty() || ((std::ranges::find(list, any) != list.end()) || ...);
  };
  const Dso* const dso = place.dso;
  const Symbol* const symbol = place.symbol;
  const std::string none;
  return lets(lists.pids, pid) && lets(lists.tids, tid) && lets(lists.comms, comm) &&
         lets(lists.dsos, dso != nullptr ? dso->path : none, dso != nullptr ? dso->short_name : none) &&
         lets(lists.symbols, symbol != nullptr ? symbol->name() : none);
}

void Aggregator::take_sample(Table& table, const SampleRecord& record, const PerfDataReader::Event& event) {
  const session::Sample& sample = record.sample;
  const std::uint64_t weight = sample.period;
  Hit hit{.pid = sample.pid, .tid = sample.tid, .cpu = sample.cpu};
  hit.comm = intern(spaces_.comm(sample.pid, sample.tid));
  hit.process_comm = intern(spaces_.comm(sample.pid, sample.pid));
  hit.location = symbolizer_.locate(spaces_, sample.pid, sample.ip, record.cpumode);
  if (options_.named_only && hit.location.symbol == nullptr) return;
  const bool passes = options_.only.empty() || lets_through(options_.only, hit.pid, hit.tid, *hit.comm, hit.location);
  if (!passes && options_.relative_shares) return;
  const std::uint64_t item = ++table.histogram.items;
  table.histogram.weight += weight;
  if (!passes) return;
  hit.frame = frames_.of(hit.location);

  static const std::vector<ChainEntry> none;
  const bool wants_caller =
      std::find(options_.keys.begin(), options_.keys.end(), SortKey::Caller) != options_.keys.end();
  const bool wants_chain = options_.children || options_.call_graph || wants_caller;
  const std::vector<ChainEntry>& chain = wants_chain ? callchains_.of(spaces_, event, record) : none;
  const auto caller_of = [&chain](std::size_t i) { return i + 1 < chain.size() ? chain[i + 1].frame : nullptr; };
  hit.caller = caller_of(0);
  ++table.histogram.chain_ends[sample.chain_end];
  if (sample.chain_end == session::ChainEnd::NoRule && !record.callchain_with_marks.empty()) {
    const std::uint64_t last = record.callchain_with_marks.back();
    ++table.histogram.no_rule[frames_.of(symbolizer_.locate(spaces_, sample.pid, last, record.cpumode))];
  }

  table.chain.clear();
  for (const ChainEntry& entry : chain) table.chain.push_back(entry.frame);
  if (options_.order == ChainOrder::Caller) std::reverse(table.chain.begin(), table.chain.end());
  const std::span<const Frame* const> frames = table.chain;

  Entry& own = entry_of(table, hit);
  own.own += weight;
  own.total += weight;
  ++own.samples;
  own.last_item = item;
  if (options_.call_graph && !frames.empty()) own.calls.add(frames, weight);
  if (!options_.children) return;

  for (std::size_t i = 0; i < chain.size(); ++i) {
    const std::size_t place = options_.order == ChainOrder::Caller ? chain.size() - 1 - i : i;
    hit.location = chain[place].location;
    hit.frame = chain[place].frame;
    hit.caller = caller_of(place);
    Entry& entry = entry_of(table, hit);
    if (entry.last_item == item) continue;  // recursion, or the sample's own place
    entry.last_item = item;
    entry.total += weight;
    if (options_.call_graph) entry.calls.add(frames.subspan(i), weight);
  }
}

void Aggregator::sort(Histogram& histogram) const {
  struct Row {
    const Entry* entry;
    std::vector<std::pair<bool, std::string>> texts;  // unknown ones last
  };
  std::vector<Row> rows;
  std::sort(histogram.latencies.begin(), histogram.latencies.end());
  for (Entry& entry : histogram.storage) {
    entry.calls.sort();
    std::sort(entry.latencies.begin(), entry.latencies.end());
    Row row{&entry, {}};
    for (const SortKey key : options_.keys) {
      std::string shown = text(key, entry);
      if (key == SortKey::Symbol) shown = rank_text(*entry.example.frame);
      if (key == SortKey::SymbolFrom) shown = fmt::format("{:016x}", entry.example.from_frame->address);
      if (key == SortKey::SymbolTo) shown = fmt::format("{:016x}", entry.example.frame->address);
      row.texts.emplace_back(!known(key, entry.example), std::move(shown));
    }
    rows.push_back(std::move(row));
  }
  const bool deep_first = options_.order == ChainOrder::Caller;
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    const std::uint64_t weight_a = options_.children ? a.entry->total : a.entry->own;
    const std::uint64_t weight_b = options_.children ? b.entry->total : b.entry->own;
    if (weight_a != weight_b) return weight_a > weight_b;
    // Callers above callees where both have the same weight: in caller order theirs is the longer chain.
    const std::size_t depth_a = a.entry->calls.depth(), depth_b = b.entry->calls.depth();
    if (options_.children && depth_a != depth_b) return deep_first ? depth_a > depth_b : depth_a < depth_b;
    if (a.entry->own != b.entry->own) return a.entry->own > b.entry->own;
    return a.texts < b.texts;
  });
  for (const Row& row : rows) histogram.entries.push_back(row.entry);
}

std::vector<Histogram> Aggregator::run() {
  tables_.clear();
  for (const auto& event : reader_.events()) {
    tables_.push_back(std::make_unique<Table>());
    tables_.back()->histogram.event = &event;
  }
  if (wants_types()) types_.learn(reader_);
  for_each_sample(reader_, spaces_, [this](const SampleRecord& sample) {
    if (options_.memory) objects_.learn(sample.sample);
    take(sample);
  });
  std::vector<Histogram> histograms;
  for (auto& table : tables_) {
    sort(table->histogram);
    histograms.push_back(std::move(table->histogram));
  }
  return histograms;
}

}  // namespace zs::profile
