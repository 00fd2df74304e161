#include "session/settings/config.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/fields.h"

namespace zs::session {
namespace {

constexpr std::uint64_t kConfigMagic = 0x31474643'4B53455A;  // "ZESKCFG1"
constexpr std::uint32_t kConfigVersion = 12;
constexpr std::size_t kHeaderBytes = 8 + 4 + 4 + 8;

/// FNV-1a: the memfd is ours and sealed, so this guards against mistakes, not against enemies.
std::uint64_t checksum(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325;
  for (const std::byte b : bytes) hash = (hash ^ static_cast<std::uint64_t>(b)) * 0x100'0000'01B3;
  return hash;
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
    return e.kind <= EventKind::RanInContexts && e.precise <= 3 && e.leader < c.events.size() && e.detail <= c.detail;
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

bool RecordingConfig::profiles() const {
  return std::ranges::any_of(events, [](const EventSpec& e) { return is_profile(e.kind); });
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
  FieldWriter save(out);
  RecordingConfig::fields(config, save);
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
  FieldReader load(in);
  RecordingConfig::fields(config, load);
  if (!in.ok() || in.remaining() != 0) return damaged("ends inside a field");
  if (!is_consistent(config)) return damaged("a field is out of range");
  return config;
}

}  // namespace zs::session
