#include "session/settings/config.h"

#include <algorithm>

#include "base/bytes.h"

namespace zs::session {
namespace {

constexpr std::uint64_t kConfigMagic = 0x31474643'4B53455A;  // "ZESKCFG1"
constexpr std::uint32_t kConfigVersion = 7;
constexpr std::size_t kHeaderBytes = 8 + 4 + 4 + 8;
constexpr std::uint32_t kMostEvents = 4096, kMostRegions = 65536, kMostSettings = 1024;

/// FNV-1a: the memfd is ours and sealed, so this guards against mistakes, not against enemies.
std::uint64_t checksum(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325;
  for (const std::byte b : bytes) hash = (hash ^ static_cast<std::uint64_t>(b)) * 0x100'0000'01B3;
  return hash;
}

/// One list of fields serves both directions, so that they cannot drift apart.
class Saver {
 public:
  explicit Saver(ByteWriter& out) : out_(out) {}
  template <typename T>
  void operator()(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      out_.write(static_cast<std::uint8_t>(value));
    } else if constexpr (std::is_same_v<T, std::string>) {
      out_.write(static_cast<std::uint32_t>(value.size()));
      out_.write_bytes(std::as_bytes(std::span(value)));
    } else if constexpr (std::is_same_v<T, std::vector<std::uint64_t>>) {
      out_.write(static_cast<std::uint32_t>(value.size()));
      out_.write_bytes(std::as_bytes(std::span(value)));
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      out_.write(static_cast<std::uint32_t>(value.size()));
      for (const std::string& text : value) (*this)(text);
    } else {
      out_.write(value);
    }
  }

 private:
  ByteWriter& out_;
};

class Loader {
 public:
  explicit Loader(ByteReader& in) : in_(in) {}
  template <typename T>
  void operator()(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      const auto byte = in_.read<std::uint8_t>();
      if (byte > 1) in_.fail("neither 0 nor 1");
      value = byte == 1;
    } else if constexpr (std::is_same_v<T, std::string>) {
      const Bytes text = in_.take(in_.read<std::uint32_t>());
      value.assign(reinterpret_cast<const char*>(text.data()), text.size());
    } else if constexpr (std::is_same_v<T, std::vector<std::uint64_t>>) {
      value = in_.read_array<std::uint64_t>(in_.read<std::uint32_t>());
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      const auto count = in_.read<std::uint32_t>();
      if (count > kMostSettings) in_.fail("too many");
      for (std::uint32_t i = 0; i < count && in_.ok(); ++i) (*this)(value.emplace_back());
    } else {
      value = in_.read<T>();
    }
  }

 private:
  ByteReader& in_;
};

template <typename Visitor, typename Event>
void visit_event(Visitor& visit, Event& e) {
  visit(e.name);
  visit(e.kind);
  visit(e.select);
  visit(e.counters);
  visit(e.precise_counters);
  visit(e.precise);
  visit(e.precise_distribution);
  visit(e.has_address);
  visit(e.detail);
  visit(e.only_in_units);
  visit(e.latency_threshold);
  visit(e.period);
  visit(e.frequency);
  visit(e.leader);
  visit(e.closes_window);
}

template <typename Visitor, typename File>
void visit_file(Visitor& visit, File& f) {
  visit(f.device_major);
  visit(f.device_minor);
  visit(f.inode);
}

template <typename Visitor, typename Region>
void visit_region(Visitor& visit, Region& r) {
  visit(r.name);
  visit(r.function);
  visit(r.switches);
  visit(r.in_file);
  visit_file(visit, r.file);
  visit(r.begins);
  visit(r.ends);
}

template <typename Visitor, typename Range>
void visit_range(Visitor& visit, Range& r) {
  visit_file(visit, r.file);
  visit(r.offset);
  visit(r.bytes);
}

template <typename Visitor, typename Filter>
void visit_filter(Visitor& visit, Filter& f) {
  visit(f.switched);
  visit(f.begins_on);
  visit(f.regions);
  visit(f.threads);
}

template <typename Visitor, typename Config>
void visit_options(Visitor& visit, Config& c) {
  visit(c.cpu_model);
  visit(c.detail);
  visit(c.model_settings);
  visit(c.cores);
  visit(c.ds_records);
  visit(c.callchain);
  visit(c.max_stack);
  visit(c.stack_bytes);
  visit(c.branch_stack);
  visit(c.lbr_select);
  visit(c.registers);
  visit(c.raw_records);
  visit(c.data_mappings);
  visit(c.heap_blocks);
  visit(c.log_sharing);
  visit(c.schedule_seed);
  visit(c.marked_regions);
  visit(c.region_spans);
  visit(c.position_event);
  visit(c.skid);
  visit(c.skid_instructions);
  visit(c.skid_event);
  visit(c.in_units);
  visit(c.units.complete);
  visit(c.units.unit);
  visit(c.units.warm_up);
  visit(c.units.first_period);
  visit(c.units.units_per_period);
  visit(c.units.fewest_units);
  visit(c.units.longest_period);
  visit(c.units.wanted_error);
  visit(c.units.insists);
  visit(c.units.budget);
  visit(c.units.seed);
  visit(c.inherit);
  visit(c.virtual_time);
  visit(c.vdso);
  visit(c.precise_only);
  visit(c.native_load);
  visit(c.seed);
  visit(c.max_block_instructions);
  visit(c.code_cache_bytes);
  visit(c.first_private_fd);
  visit(c.cache_directory);
  visit(c.cache_bytes);
  visit(c.check_cache);
  visit(c.cache_statistics);
}

bool is_consistent(const RecordingConfig& c) {
  if (c.detail > Detail::Full || c.cores == 0) return false;
  if (c.callchain > Callchain::Exact || c.ds_records == 0 || c.skid > Skid::Precise) return false;
  if (!c.units.possible()) return false;
  if (c.in_units && (c.detail == Detail::Exact || c.skid != Skid::None || c.closes_windows_by_an_estimate() ||
                     c.estimated_events().size() > kMostEstimated))
    return false;
  const auto names_one = [&](std::uint32_t event) { return event == kNoEvent || event < c.events.size(); };
  if (!names_one(c.position_event) || !names_one(c.skid_event)) return false;
  if ((c.has_windows() || c.region_spans) && c.position_event == kNoEvent) return false;
  // Samples have theirs appended where they are recorded.
  if (c.skid_event != kNoEvent && !is_late_interrupt(c.skid)) return false;
  if (c.has_windows() && c.skid != Skid::None && c.skid_event == kNoEvent) return false;
  return std::all_of(c.events.begin(), c.events.end(), [&](const EventSpec& e) {
    return e.kind <= EventKind::IbsFetch && e.precise <= 3 && e.leader < c.events.size() && e.detail <= c.detail;
  });
}

Error damaged(const char* what) {
  return {std::string("recording configuration: ") + what, "zeroskid and zeroskid-run must come from the same build"};
}

}  // namespace

bool RecordingConfig::samples() const {
  return std::any_of(events.begin(), events.end(), [](const EventSpec& e) { return e.samples(); });
}

bool RecordingConfig::traces_branches() const {
  return std::ranges::any_of(events, [](const EventSpec& e) { return e.kind == EventKind::BranchTrace; });
}

bool RecordingConfig::samples_by_ibs() const {
  return std::ranges::any_of(events, [](const EventSpec& e) { return is_ibs(e.kind); });
}

bool RecordingConfig::has_windows() const {
  return std::any_of(events.begin(), events.end(), [](const EventSpec& e) { return e.closes_window; });
}

bool RecordingConfig::closes_windows_by_an_estimate() const {
  return std::any_of(events.begin(), events.end(),
                     [this](const EventSpec& e) { return e.closes_window && is_estimated(e); });
}

std::uint64_t RecordingConfig::shortest_window() const {
  std::uint64_t shortest = UINT64_MAX;
  for (const EventSpec& event : events) {
    if (event.closes_window) shortest = std::min(shortest, event.period);
  }
  return shortest;
}

std::vector<std::uint32_t> RecordingConfig::estimated_events() const {
  std::vector<std::uint32_t> estimated;
  for (std::uint32_t event = 0; event < events.size(); ++event) {
    if (is_estimated(events[event])) estimated.push_back(event);
  }
  return estimated;
}

std::uint32_t RecordingConfig::records_per_pmi() const {
  const bool adaptive = std::any_of(events.begin(), events.end(), [](const EventSpec& e) { return e.frequency != 0; });
  return branch_stack || callchain != Callchain::None || adaptive ? 1 : ds_records;
}

std::vector<std::byte> encode_config(const RecordingConfig& config) {
  ByteWriter out;
  out.write(kConfigMagic);
  out.write(kConfigVersion);
  out.write(std::uint32_t{0});  // length, below
  out.write(std::uint64_t{0});  // checksum, below
  Saver save{out};
  visit_options(save, config);
  save(static_cast<std::uint32_t>(config.events.size()));
  for (const EventSpec& event : config.events) visit_event(save, event);
  save(static_cast<std::uint32_t>(config.regions.size()));
  for (const RegionSpec& region : config.regions) visit_region(save, region);
  visit_filter(save, config.trace_filter);
  save(static_cast<std::uint32_t>(config.trace_filter.ranges.size()));
  for (const TraceFilter::FileRange& range : config.trace_filter.ranges) visit_range(save, range);
  out.patch(12, static_cast<std::uint32_t>(out.size()));
  out.patch(16, checksum(out.bytes().subspan(kHeaderBytes)));
  return out.release();
}

Result<RecordingConfig> decode_config(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  const auto magic = in.read<std::uint64_t>();
  const auto version = in.read<std::uint32_t>();
  const auto length = in.read<std::uint32_t>();
  const auto sum = in.read<std::uint64_t>();
  if (!in.ok() || magic != kConfigMagic) return damaged("not one (wrong magic)");
  if (version != kConfigVersion) {
    return Error{"recording configuration: version " + std::to_string(version) + ", this zeroskid-run reads version " +
                     std::to_string(kConfigVersion),
                 "zeroskid and zeroskid-run must come from the same build"};
  }
  if (length != bytes.size()) return damaged("wrong length");
  if (sum != checksum(bytes.subspan(kHeaderBytes))) return damaged("wrong checksum");

  RecordingConfig config;
  Loader load{in};
  visit_options(load, config);
  const auto count = in.read<std::uint32_t>();
  if (count > kMostEvents) return damaged("too many events");
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) visit_event(load, config.events.emplace_back());
  const auto regions = in.read<std::uint32_t>();
  if (regions > kMostRegions) return damaged("too many regions");
  for (std::uint32_t i = 0; i < regions && in.ok(); ++i) visit_region(load, config.regions.emplace_back());
  visit_filter(load, config.trace_filter);
  const auto ranges = in.read<std::uint32_t>();
  if (ranges > kMostRegions) return damaged("too many ranges");
  for (std::uint32_t i = 0; i < ranges && in.ok(); ++i) visit_range(load, config.trace_filter.ranges.emplace_back());
  if (!in.ok() || in.remaining() != 0) return damaged("ends inside a field");
  if (!is_consistent(config)) return damaged("a field is out of range");
  return config;
}

}  // namespace zs::session
