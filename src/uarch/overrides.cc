#include "uarch/overrides.h"

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "base/number.h"

namespace zs::uarch {

namespace {

bool parse(std::string_view text, bool& value) {
  if (text != "on" && text != "off") return false;
  value = text == "on";
  return true;
}

bool parse(std::string_view text, PolicySpec& value) {
  const auto policy = parse_policy(text);
  if (policy) value = *policy;
  return policy.has_value();
}

bool parse(std::string_view text, LlcRole& value) {
  if (text != "inclusive" && text != "victim") return false;
  value = text == "victim" ? LlcRole::Victim : LlcRole::Inclusive;
  return true;
}

template <std::unsigned_integral Number>
bool parse(std::string_view text, Number& value) {
  unsigned shift = 0;
  if (!text.empty()) {
    constexpr std::string_view kSuffixes = "KMG";
    if (const std::size_t at = kSuffixes.find(text.back()); at != std::string_view::npos) {
      shift = 10 * static_cast<unsigned>(at + 1);
      text.remove_suffix(1);
    }
  }
  const auto number = whole_number<std::uint64_t>(text);
  if (!number || *number > std::uint64_t{std::numeric_limits<Number>::max()} >> shift) return false;
  value = static_cast<Number>(*number << shift);
  return true;
}

template <typename T>
constexpr std::string_view what() {
  if constexpr (std::is_same_v<T, bool>) return "on or off";
  if constexpr (std::is_same_v<T, PolicySpec>) {
    return "lru, tree-plru, three-plru4, bit-plru, srrip or a name like qlru_h11_m1_r0_u0";
  }
  if constexpr (std::is_same_v<T, LlcRole>) return "inclusive or victim";
  return "a number, with K, M or G where it is large";
}

struct Row {
  std::string_view key;
  std::string_view takes;
  bool (*set)(CoreModel&, std::string_view);
};

template <auto access>
constexpr Row row(std::string_view key) {
  using Value = std::remove_reference_t<decltype(access(std::declval<CoreModel&>()))>;
  return {key, what<Value>(), [](CoreModel& model, std::string_view text) { return parse(text, access(model)); }};
}

// One line per number; the key is the member's name without what every key would repeat.
#define ZS_KEY(key, member)                                     \
  row < [](CoreModel & model) -> auto& { return model.member; } \
  > (key)

constexpr Row kRows[] = {
    ZS_KEY("adjacent", memory.prefetch.adjacent),
    ZS_KEY("alias.cycles", memory.alias_cycles),
    ZS_KEY("blocked-forward.cycles", memory.blocked_forward_cycles),
    ZS_KEY("dram.cycles", memory.dram_cycles),
    ZS_KEY("dram.gap", memory.dram_gap_cycles),
    ZS_KEY("dram.row-percent", memory.dram_row_percent),
    ZS_KEY("dtlb.entries", memory.dtlb.entries_4k),
    ZS_KEY("dtlb.large-entries", memory.dtlb.entries_2m),
    ZS_KEY("dtlb.large-ways", memory.dtlb.ways_2m),
    ZS_KEY("dtlb.store-entries", memory.dtlb_stores),
    ZS_KEY("dtlb.ways", memory.dtlb.ways_4k),
    ZS_KEY("fill-buffers", memory.fill_buffers),
    ZS_KEY("forward.cycles", memory.forward_cycles),
    ZS_KEY("forward.renames", memory.renames_memory),
    ZS_KEY("forward.renames-alike-only", memory.renames_alike_only),
    ZS_KEY("hitm.cycles", memory.hitm_cycles),
    ZS_KEY("ip-stride", memory.prefetch.ip_stride),
    ZS_KEY("ip-stride-ahead", memory.prefetch.ip_stride_ahead),
    ZS_KEY("ip-stride-waits", memory.prefetch.ip_stride_waits),
    ZS_KEY("itlb.entries", memory.itlb.entries_4k),
    ZS_KEY("itlb.ways", memory.itlb.ways_4k),
    ZS_KEY("l1d.bytes", memory.l1d.bytes),
    ZS_KEY("l1d.cycles", memory.l1d.load_to_use_cycles),
    ZS_KEY("l1d.policy", memory.l1d.policy),
    ZS_KEY("l1d.ways", memory.l1d.ways),
    ZS_KEY("l1i.bytes", memory.l1i.bytes),
    ZS_KEY("l1i.policy", memory.l1i.policy),
    ZS_KEY("l1i.ways", memory.l1i.ways),
    ZS_KEY("l2.bytes", memory.l2.bytes),
    ZS_KEY("l2.cycles", memory.l2.load_to_use_cycles),
    ZS_KEY("l2.gap", memory.l2_gap_cycles),
    ZS_KEY("l2.policy", memory.l2.policy),
    ZS_KEY("l2.ways", memory.l2.ways),
    ZS_KEY("llc.bytes", memory.llc.bytes),
    ZS_KEY("llc.cycles", memory.llc.load_to_use_cycles),
    ZS_KEY("llc.gap", memory.llc_gap_cycles),
    ZS_KEY("llc.hashed", memory.llc.hashed),
    ZS_KEY("llc.policy", memory.llc.policy),
    ZS_KEY("llc.role", memory.llc_role),
    ZS_KEY("llc.ways", memory.llc.ways),
    ZS_KEY("lock.cycles", memory.lock_cycles),
    ZS_KEY("next-line", memory.prefetch.next_line),
    ZS_KEY("page-split.cycles", memory.page_split_cycles),
    ZS_KEY("page-walkers", memory.page_walkers),
    ZS_KEY("pde-cache", memory.pde_cache),
    ZS_KEY("snoop-hit.cycles", memory.snoop_hit_cycles),
    ZS_KEY("split-lock.cycles", memory.split_lock_cycles),
    ZS_KEY("split.cycles", memory.split_cycles),
    ZS_KEY("stlb.cycles", memory.stlb_hit_cycles),
    ZS_KEY("stlb.entries", memory.stlb.entries_4k),
    ZS_KEY("stlb.ways", memory.stlb.ways_4k),
    ZS_KEY("store-buffer", memory.store_buffer),
    ZS_KEY("streamer.distance", memory.prefetch.streamer_distance),
    ZS_KEY("streamer.lines", memory.prefetch.streamer_lines),
    ZS_KEY("streamer.sees-prefetches", memory.prefetch.streamer_sees_prefetches),
    ZS_KEY("streamer.training", memory.prefetch.streamer_training),
    ZS_KEY("superqueue", memory.superqueue),
};
#undef ZS_KEY
static_assert(std::ranges::is_sorted(kRows, {}, &Row::key));

std::string listed(const std::vector<std::string_view>& keys) {
  std::string list;
  for (const std::string_view key : keys) list += (list.empty() ? "" : " ") + std::string(key);
  return list;
}

}  // namespace

std::vector<std::string_view> override_keys() {
  std::vector<std::string_view> keys;
  for (const Row& row : kRows) keys.push_back(row.key);
  return keys;
}

namespace {

std::string quoted(std::string_view setting) { return "'" + std::string(setting) + "'"; }

Result<void> change(CoreModel& model, std::string_view setting) {
  const std::string wrong = "model setting " + quoted(setting);
  const std::size_t equals = setting.find('=');
  if (equals == std::string_view::npos) {
    return Error{wrong + ": KEY=VALUE is needed, there is no '='", "for example l2.bytes=2M"};
  }
  const std::string_view key = setting.substr(0, equals);
  const std::string_view value = setting.substr(equals + 1);
  const auto row = std::ranges::find(kRows, key, &Row::key);
  if (row == std::end(kRows)) {
    return Error{wrong + ": there is no '" + std::string(key) + "'", "keys: " + listed(override_keys())};
  }
  if (!row->set(model, value)) {
    return Error{wrong + ": '" + std::string(value) + "' found, " + std::string(row->takes) + " needed", ""};
  }
  return {};
}

}  // namespace

Result<CoreModel> with_overrides(const CoreModel& model, const std::vector<std::string>& settings) {
  CoreModel changed = model;
  for (const std::string& setting : settings) {
    if (const auto done = change(changed, setting); !done) return done.error();
  }
  if (const char* reason = inconsistency(changed); reason != nullptr && !settings.empty()) {
    std::string all = quoted(settings.front());
    for (std::size_t n = 1; n < settings.size(); ++n) all += ", " + quoted(settings[n]);
    return Error{(settings.size() == 1 ? "model setting " + all + " makes no core: "
                                       : "model settings " + all + " make no core: ") +
                     reason,
                 ""};
  }
  return changed;
}

}  // namespace zs::uarch
