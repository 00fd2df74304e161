#include "report/c2c/c2c_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <vector>

#include "report/text/percent.h"

namespace zs::report {
namespace {

using profile::AccessCounts;
using profile::CacheLine;
using profile::CacheLines;
using profile::HitmKind;
using profile::LinePlace;

constexpr std::string_view kRule = "=================================================\n";
/// perf's: the least share of all HITM that a line must have.
constexpr double kLeastShare = 0.001;

std::string title(std::string_view text) { return fmt::format("{}{:^49}\n{}", kRule, text, kRule); }

struct Fact {
  std::string_view name;
  std::uint64_t AccessCounts::*count;
};
// clang-format off
constexpr Fact kBeforeDram[] = {
    {"Total records", &AccessCounts::entries},
    {"Locked Load/Store Operations", &AccessCounts::locked},
    {"Load Operations", &AccessCounts::loads},
    {"Loads - uncacheable", &AccessCounts::uncached},
    {"Loads - IO", &AccessCounts::io},
    {"Loads - Miss", &AccessCounts::load_miss},
    {"Loads - no mapping", &AccessCounts::load_no_address},
    {"Load Fill Buffer Hit", &AccessCounts::fill_buffer},
    {"Load L1D hit", &AccessCounts::l1},
    {"Load L2D hit", &AccessCounts::l2},
};
constexpr Fact kAfterLlc[] = {
    {"Load Local HITM", &AccessCounts::local_hitm},
    {"Load Remote HITM", &AccessCounts::remote_hitm},
    {"Load Remote HIT", &AccessCounts::remote_hit},
    {"Load Local DRAM", &AccessCounts::local_dram},
    {"Load Remote DRAM", &AccessCounts::remote_dram},
    {"Load MESI State Exclusive", &AccessCounts::exclusive},
    {"Load MESI State Shared", &AccessCounts::shared},
};
constexpr Fact kBlocked[] = {
    {"Load access blocked by data", &AccessCounts::blocked_data},
    {"Load access blocked by address", &AccessCounts::blocked_address},
    {"Load HIT Local Peer", &AccessCounts::local_peer},
    {"Load HIT Remote Peer", &AccessCounts::remote_peer},
};
constexpr Fact kStores[] = {
    {"Store Operations", &AccessCounts::stores},
    {"Store - uncacheable", &AccessCounts::store_uncached},
    {"Store - no mapping", &AccessCounts::store_no_address},
    {"Store L1D Hit", &AccessCounts::store_l1_hits},
    {"Store L1D Miss", &AccessCounts::store_l1_misses},
    {"Store No available memory level", &AccessCounts::store_unknown},
    {"No Page Map Rejects", &AccessCounts::unmapped},
    {"Unable to parse data source", &AccessCounts::unparsed},
};
// clang-format on

std::string fact(std::string_view name, std::uint64_t count) { return fmt::format("  {:<34}: {:>10}\n", name, count); }
std::string facts(std::span<const Fact> list, const AccessCounts& counts) {
  std::string text;
  for (const Fact& one : list) text += fact(one.name, counts.*one.count);
  return text;
}

std::string share(std::string_view name, std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return fmt::format("  {:<34}: {:>10}\n", name, "-");
  return fmt::format("  {:<34}: {:>9.1f}%\n", name, 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string trace_information(const AccessCounts& all) {
  const std::uint64_t misses = all.local_dram + all.remote_dram + all.remote_hit + all.remote_hitm;
  return title("Trace Event Information") + facts(kBeforeDram, all) + fact("Load LLC hit", all.llc + all.local_hitm) +
         facts(kAfterLlc, all) + fact("Load LLC Misses", misses) + facts(kBlocked, all) +
         share("LLC Misses to Local DRAM", all.local_dram, misses) +
         share("LLC Misses to Remote DRAM", all.remote_dram, misses) +
         share("LLC Misses to Remote cache (HIT)", all.remote_hit, misses) +
         share("LLC Misses to Remote cache (HITM)", all.remote_hitm, misses) + facts(kStores, all) + "\n";
}

std::string shared_information(const AccessCounts& shared, std::uint64_t lines) {
  return title("Global Shared Cache Line Event Information") + fact("Total Shared Cache Lines", lines) +
         fact("Load HITs on shared lines", shared.loads) +
         fact("Fill Buffer Hits on shared lines", shared.fill_buffer) + fact("L1D hits on shared lines", shared.l1) +
         fact("L2D hits on shared lines", shared.l2) +
         fact("LLC hits on shared lines", shared.llc + shared.local_hitm) +
         fact("Load hits on peer cache or nodes", shared.peer()) +
         fact("Locked Access on shared lines", shared.locked) +
         fact("Blocked Access on shared lines", shared.blocked_data + shared.blocked_address) +
         fact("Store HITs on shared lines", shared.stores) +
         fact("Store L1D hits on shared lines", shared.store_l1_hits) +
         fact("Store No available memory level", shared.store_unknown) +
         fact("Total Merged records", shared.hitm() + shared.stores) + "\n";
}

struct OrderWords {
  std::string_view sentence, column, kind, total, local, remote;
};
const OrderWords& order_words_of(HitmKind order) {
  static constexpr OrderWords kWords[] = {{"Total HITMs", "Tot", "Hitm", "Hitm", "LclHitm", "RmtHitm"},
                                          {"Local HITMs", "Lcl", "Hitm", "Hitm", "LclHitm", "RmtHitm"},
                                          {"Remote HITMs", "Rmt", "Hitm", "Hitm", "LclHitm", "RmtHitm"},
                                          {"Peer Snoop", "Peer", "Peer", "Snoop", "Local", "Remote"}};
  return kWords[static_cast<std::size_t>(order)];
}

/// What ranks lines, of another core here and of another processor.
std::uint64_t local_of(const AccessCounts& counts, HitmKind order) {
  return order == HitmKind::Peer ? counts.local_peer : counts.local_hitm;
}
std::uint64_t remote_of(const AccessCounts& counts, HitmKind order) {
  return order == HitmKind::Peer ? counts.remote_peer : counts.remote_hitm;
}

std::string details(const profile::PerfDataReader& reader, HitmKind order, const C2cStyle& style) {
  std::string text = title("c2c details");
  for (const auto& event : reader.events())
    text += fmt::format("  {:<34}: {}\n", &event == &reader.events().front() ? "Events" : "", event.name);
  text += fmt::format("  {:<34}: {}\n", "Cachelines sort on", order_words_of(order).sentence);
  text += fmt::format("  {:<34}: offset,{}\n", "Cacheline data grouping", style.coalesce);
  return text + "\n";
}

std::string percent(std::uint64_t part, std::uint64_t whole) { return fmt::format("{:.2f}%", percent_of(part, whole)); }

std::string line_table(const CacheLines& lines, const std::vector<std::size_t>& shown, std::uint64_t hitm,
                       HitmKind order) {
  const OrderWords& words = order_words_of(order);
  std::string text = title("Shared Data Cache Line Table");
  text += fmt::format(
      "#\n"
      "#        ----------- Cacheline ----------  {:>7}  ------- Load {} -------    Total    Total    Total  "
      "--------- "
      "Stores --------  ----- Core Load Hit -----  - LLC Load Hit --  - RMT Load Hit --  --- Load Dram ----\n"
      "# Index             Address  Node  PA cnt  {:>7}    Total  {:>7}  {:>7}  records    Loads   Stores    "
      "L1Hit   "
      "L1Miss      N/A       FB       L1       L2    LclHit  LclHitm    RmtHit  RmtHitm       Lcl       Rmt\n"
      "# .....  ..................  ....  ......  .......  .......  .......  .......  .......  .......  .......  "
      ".......  "
      ".......  .......  .......  .......  .......  ........  .......  ........  .......  ........  ........\n"
      "#\n",
      words.column, words.kind, words.total, words.local, words.remote);
  for (std::size_t index = 0; index < shown.size(); ++index) {
    const CacheLine& line = lines.lines[shown[index]];
    const AccessCounts& c = line.counts;
    text += fmt::format(
        "{:>7}  {:>#18x}  {:>4}  {:>6}  {:>7}  {:>7}  {:>7}  {:>7}  {:>7}  {:>7}  {:>7}  {:>7}  {:>7}  {:>7}  {:>7}  "
        "{:>7}  {:>7}  {:>8}  {:>7}  {:>8}  {:>7}  {:>8}  {:>8}\n",
        index, line.address, "N/A", 0, percent(hitm_of(c, order), hitm), local_of(c, order) + remote_of(c, order),
        local_of(c, order), remote_of(c, order), c.records(), c.loads, c.stores, c.store_l1_hits, c.store_l1_misses,
        c.store_unknown, c.fill_buffer, c.l1, c.l2, c.llc, c.local_hitm, c.remote_hit, c.remote_hitm, c.local_dram,
        c.remote_dram);
  }
  return text + "\n";
}

/// The names of a place, as its columns have them.
struct PlaceText {
  std::string symbol, object, source;
};

PlaceText text_of(const LinePlace& place, profile::Symbolizer& symbolizer, const C2cStyle& style) {
  PlaceText text;
  const profile::Location& code = place.code;
  text.symbol = fmt::format("[{}] {}", code.level,
                            code.symbol != nullptr ? code.symbol->name() : fmt::format("{:#018x}", code.address));
  text.object = code.dso != nullptr ? code.dso->short_name : "[unknown]";
  if (style.source_lines) text.source = symbolizer.short_line(code);
  return text;
}

/// Of a place of a line: without stores, HITM and what peers had it says nothing of sharing.
bool is_shown(const LinePlace& place) {
  return place.counts.stores != 0 || place.counts.hitm() != 0 || place.counts.peer() != 0;
}

/// Widths of the columns of names.
struct NameWidths {
  std::size_t symbol = 6, object = 6, source = 11;
};

std::string who_of(const LinePlace& place, const profile::PlaceKeys& keys) {
  std::string text;
  if (keys.pid) text += fmt::format("{:>8}  ", place.pid);
  if (keys.tid) text += fmt::format("{:>8}  ", place.threads.empty() ? 0 : *place.threads.begin());
  if (keys.instruction) text += fmt::format("{:>#18x}  ", place.code.address);
  return text;
}

std::string place_head(const profile::PlaceKeys& keys, const NameWidths& widths, bool source, HitmKind order) {
  const bool peers = order == HitmKind::Peer;
  std::string heads, dots;
  const auto column = [&](std::string_view head, std::size_t width) {
    heads += fmt::format("{:>{}}  ", head, width);
    dots += std::string(width, '.') + "  ";
  };
  column("Num", 5);
  for (const std::string_view head :
       {peers ? "RmtPeer" : "RmtHitm", peers ? "LclPeer" : "LclHitm", "L1 Hit", "L1 Miss", "N/A"})
    column(head, 7);
  column("Offset", 18);
  column("Node", 4);
  column("PA cnt", 6);
  if (keys.pid) column("Pid", 8);
  if (keys.tid) column("Tid", 8);
  if (keys.instruction) column("Code address", 18);
  for (const std::string_view head : {peers ? "rmt peer" : "rmt hitm", peers ? "lcl peer" : "lcl hitm", "load"})
    column(head, 8);
  column("records", 7);
  column("cnt", 8);
  column("Symbol", widths.symbol);
  column("Object", widths.object);
  if (source) column("Source:Line", widths.source);
  return "#\n# " + heads.substr(0, heads.size() - 2) + "\n# " + dots.substr(0, dots.size() - 2) + "\n#\n";
}

std::string place_row(const LinePlace& place, const AccessCounts& line, const PlaceText& names,
                      const profile::PlaceKeys& keys, const NameWidths& widths, HitmKind order) {
  const AccessCounts& c = place.counts;
  const bool peers = order == HitmKind::Peer;
  std::string text = fmt::format(
      "  {:>5}  {:>7}  {:>7}  {:>7}  {:>7}  {:>7}  {:>#18x}  {:>4}  {:>6}  ", "",
      percent(remote_of(c, order), remote_of(line, order)), percent(local_of(c, order), local_of(line, order)),
      percent(c.store_l1_hits, line.store_l1_hits), percent(c.store_l1_misses, line.store_l1_misses),
      percent(c.store_unknown, line.store_unknown), place.offset, "N/A", 0);
  text += who_of(place, keys);
  text += fmt::format("{:>8}  {:>8}  {:>8}  {:>7}  {:>8}  {:<{}}  {:<{}}",
                      (peers ? place.remote_peer : place.remote_hitm).mean(),
                      (peers ? place.local_peer : place.local_hitm).mean(), place.other_loads.mean(), c.records(),
                      place.cpus.size(), names.symbol, widths.symbol, names.object, widths.object);
  return text + (names.source.empty() ? "" : "  " + names.source) + "\n";
}

std::string place_table(const CacheLines& lines, const std::vector<std::size_t>& shown, profile::Symbolizer& symbolizer,
                        const profile::PlaceKeys& keys, const C2cStyle& style) {
  NameWidths widths;
  for (const std::size_t number : shown) {
    for (const LinePlace& place : lines.lines[number].places) {
      if (!is_shown(place)) continue;
      const PlaceText names = text_of(place, symbolizer, style);
      widths.symbol = std::max(widths.symbol, names.symbol.size());
      widths.object = std::max(widths.object, names.object.size());
      widths.source = std::max(widths.source, names.source.size());
    }
  }
  std::string text =
      title("Shared Cache Line Distribution Pareto") + place_head(keys, widths, style.source_lines, lines.order);
  const std::string rule = "  " + std::string(70, '-') + "\n";
  for (std::size_t index = 0; index < shown.size(); ++index) {
    const CacheLine& line = lines.lines[shown[index]];
    const AccessCounts& c = line.counts;
    text += rule;
    text += fmt::format("  {:>5}  {:>7}  {:>7}  {:>7}  {:>7}  {:>7}  {:>#18x}\n", index, remote_of(c, lines.order),
                        local_of(c, lines.order), c.store_l1_hits, c.store_l1_misses, c.store_unknown, line.address);
    text += rule;
    for (const LinePlace& place : line.places) {
      if (is_shown(place)) text += place_row(place, c, text_of(place, symbolizer, style), keys, widths, lines.order);
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::vector<std::size_t> shown_lines(const CacheLines& lines, const C2cStyle& style) {
  std::vector<std::size_t> shown;
  const auto whole = static_cast<double>(hitm_of(lines.all, lines.order));
  for (std::size_t number = 0; number < lines.lines.size(); ++number) {
    const auto part = static_cast<double>(hitm_of(lines.lines[number].counts, lines.order));
    if (style.show_all || (part > 0 && part >= kLeastShare * whole)) shown.push_back(number);
  }
  return shown;
}

std::string c2c_text(const profile::PerfDataReader& reader, const CacheLines& lines, profile::Symbolizer& symbolizer,
                     const C2cStyle& style) {
  const std::vector<std::size_t> shown = shown_lines(lines, style);
  AccessCounts shared;
  for (const std::size_t number : shown) shared += lines.lines[number].counts;
  const auto keys = profile::parse_place_keys(style.coalesce);
  std::string sums =
      trace_information(lines.all) + shared_information(shared, shown.size()) + details(reader, lines.order, style);
  if (style.only_sums) return sums;
  return sums + line_table(lines, shown, hitm_of(shared, lines.order), lines.order) +
         place_table(lines, shown, symbolizer, *keys, style);
}

}  // namespace zs::report
