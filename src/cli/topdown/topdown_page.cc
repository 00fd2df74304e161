#include "cli/topdown/topdown_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "arch/events/tables.h"
#include "arch/metrics/metric.h"
#include "base/items.h"
#include "base/units.h"
#include "cli/events/pfm_names.h"
#include "events/perf_names.h"
#include "report/text/json.h"

namespace zs::cli {
namespace {

constexpr std::size_t kNameWidth = 26, kMostBarCells = 40, kFewestBarCells = 8, kIntervalWidth = 9;
constexpr std::size_t kEighths = 8;

/// What shows where the slots of some nodes went. Of the rows of one node the first whose event the CPU model counts is
/// taken.
struct Suggestion {
  std::string_view nodes, event, command;  // in the command {} is the program; "", ":p": the event is recorded so
};
// clang-format off
constexpr std::array kSuggestions{
    Suggestion{"Frontend_Bound",                     "ic_tag_hit_miss.instruction_cache_miss", ""},
    Suggestion{"Branch_Mispredicts Bad_Speculation", "ex_ret_brn_misp",                   ""},
    Suggestion{"Backend_Bound",                      "l2_cache_req_stat.dc_access_in_l2", ""},
    Suggestion{"Heavy_Operations",                   "ex_ret_ucode_ops",                  ""},
    Suggestion{"Light_Operations Retiring",          "ex_ret_instr",                      "zeroskid record -e instructions -- {}"},
    Suggestion{"Frontend_Bound Fetch_Latency",       "frontend_retired.latency_ge_8",     ":pp"},
    Suggestion{"Frontend_Bound Fetch_Latency",       "icache_64b.iftag_miss",             ""},
    Suggestion{"Frontend_Bound Fetch_Latency",       "l2_rqsts.all_code_rd",              ""},
    Suggestion{"Fetch_Bandwidth",                    "br_inst_retired.near_taken",        ":pp"},
    Suggestion{"Branch_Mispredicts Bad_Speculation", "br_misp_retired.all_branches_pebs", ":pp"},
    Suggestion{"Branch_Mispredicts Bad_Speculation Wrong_Path", "br_misp_retired.all_branches", ":pp"},
    Suggestion{"Heavy_Operations",                   "idq.ms_uops",                       ""},
    Suggestion{"Heavy_Operations Light_Operations Retiring", "instructions",              ":ppp"},
    Suggestion{"L2_Bound",                           "mem_load_retired.l2_hit",           ":pp"},
    Suggestion{"L3_Bound",                           "mem_load_retired.l3_hit",           ":pp"},
    Suggestion{"Contested_Accesses",                 "mem_load_l3_hit_retired.xsnp_hitm", "zeroskid c2c record -- {}"},
    Suggestion{"DRAM_Bound",                         "mem_load_retired.l3_miss",          ":pp"},
};
/// What retirement waits for, by its instruction: of every other node behind the front end.
constexpr Suggestion kWaiting{"", "cycles:pp", ""};
// clang-format on

std::string command_of(const Suggestion& suggestion, const std::string& program) {
  if (suggestion.command.find('{') != std::string_view::npos)
    return fmt::format(fmt::runtime(suggestion.command), program);
  return fmt::format("zeroskid record -e {}{} -- {}", suggestion.event, suggestion.command, program);
}

/// Whether the row is of that node.
bool is_of(const Suggestion& suggestion, std::string_view node) {
  for (const std::string_view one : items_of(suggestion.nodes, ' ')) {
    if (one == node) return true;
  }
  return false;
}

bool has_share(const TopdownNode& node) {
  return node.metric->has_number() && node.share.has_number() && std::isfinite(node.share.value);
}

/// What was all modelled is no estimate.
profile::ValueClass class_in(const TopdownReport& report, profile::ValueClass value_class) {
  using profile::ValueClass;
  return value_class == ValueClass::Estimated && !report.percent_in_detail ? ValueClass::Modelled : value_class;
}

/// "(modelled)"; "(estimated +- 1.2 %; +- of shares in points)"
std::string slots_remark(const TopdownReport& report) {
  if (!report.percent_in_detail) return "(modelled)";
  if (!report.slots.has_number()) return fmt::format("(estimated: {})", report.slots.too_few);
  const std::string interval = interval_text(report.slots, false);
  return fmt::format("(estimated{}{}; +- of shares in points)", interval.empty() ? "" : " ", interval);
}

/// A bar of eighths of a cell, or of '#'.
std::string bar(double share, std::size_t cells, bool unicode) {
  const double length = std::clamp(share, 0.0, 1.0) * static_cast<double>(cells);
  if (!unicode) return std::string(static_cast<std::size_t>(std::lround(length)), '#');
  static constexpr std::array<const char*, kEighths> kBars = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<std::size_t>(std::lround(length * static_cast<double>(kEighths)));
  std::string text;
  for (std::size_t i = 0; i < eighths / kEighths; ++i) text += "█";
  return text + kBars[eighths % kEighths];
}

std::size_t cells_of(double share, std::size_t cells, bool unicode) {
  const double length = std::clamp(share, 0.0, 1.0) * static_cast<double>(cells);
  if (!unicode) return static_cast<std::size_t>(std::lround(length));
  return (static_cast<std::size_t>(std::lround(length * static_cast<double>(kEighths))) + kEighths - 1) / kEighths;
}

/// "  +- 0.43"; a blank column where a share has no interval, and "" where none has.
std::string interval_cell(const TopdownReport& report, const TopdownNode& node) {
  if (!report.percent_in_detail) return "";
  if (!node.share.half_width) return std::string(kIntervalWidth, ' ');
  return fmt::format(" {:<{}}", "+- " + two_digits(100 * *node.share.half_width), kIntervalWidth - 1);
}

/// Cells of the longest bar, which leave room for the other columns.
std::size_t bar_cells(const TopdownReport& report, const TopdownStyle& style) {
  constexpr std::size_t kShare = 11, kMark = 4;
  const std::size_t others = kNameWidth + kShare + kMark + (report.percent_in_detail ? kIntervalWidth : 0);
  if (style.width == 0) return kMostBarCells;
  return std::clamp(style.width - std::min(style.width, others), kFewestBarCells, kMostBarCells);
}

std::string node_row(const TopdownReport& report, const TopdownNode& node, const TopdownStyle& style) {
  const std::string name = std::string(2 * node.level - 1, ' ') + std::string(node.metric->name());
  const std::string head = fmt::format("{:<{}}", name, kNameWidth);
  if (!node.metric->has_number()) return head + "not modelled: needs " + node.metric->lacks + "\n";
  if (!node.share.has_number()) return head + fmt::format("too few: {}\n", node.share.too_few);
  if (!has_share(node)) return head + "      - %\n";
  const double share = node.share.value;
  std::string row = head + fmt::format("{:>7.1f} %{}  ", 100 * share, interval_cell(report, node)) +
                    bar(share, bar_cells(report, style), style.unicode);
  if (node.marked) {
    const std::string mark = style.colour ? "\033[1m<==\033[0m" : "<==";
    row += std::string(bar_cells(report, style) - cells_of(share, bar_cells(report, style), style.unicode), ' ') + " " +
           mark;
  }
  row.erase(row.find_last_not_of(' ') + 1);
  return row + "\n";
}

/// The marked nodes without marked parts: those say more.
std::vector<const TopdownNode*> deepest_marked(const std::vector<TopdownNode>& nodes) {
  std::vector<const TopdownNode*> deepest;
  for (const TopdownNode& node : nodes) {
    const bool has_marked_part = std::ranges::any_of(nodes, [&](const TopdownNode& part) {
      return part.marked && part.metric->counted.metric().parent == node.metric->name();
    });
    if (node.marked && !has_marked_part) deepest.push_back(&node);
  }
  std::ranges::stable_sort(deepest, [](const auto* a, const auto* b) { return a->share.value > b->share.value; });
  return deepest;
}

}  // namespace

std::vector<TopdownNode> topdown_tree(const std::vector<StatMetric>& metrics, const Counted& counted) {
  std::vector<TopdownNode> nodes;
  const auto add = [&](const auto& add_parts, const StatMetric& metric, const TopdownNode* parent) -> void {
    TopdownNode node{.metric = &metric, .level = parent == nullptr ? 1 : parent->level + 1};
    if (metric.has_number()) {
      node.share = estimate_of(counted, metric);
      node.marked =
          has_share(node) && node.share.value > metric.counted.metric().above && (parent == nullptr || parent->marked);
    }
    nodes.push_back(node);
    for (const StatMetric& part : metrics) {
      if (part.counted.metric().parent == metric.name()) add_parts(add_parts, part, &node);
    }
  };
  for (const StatMetric& metric : metrics) {
    if (metric.counted.metric().in_group("TopdownL1")) add(add, metric, nullptr);
  }
  return nodes;
}

std::string look_here_next(std::string_view node, const arch::CpuModel& model, const std::string& program) {
  for (const Suggestion& suggestion : kSuggestions) {
    // Parsing a name that the model does not have would look for the nearest ones, through libpfm4's tables, too.
    const bool named = arch::find_event(model, suggestion.event) || session::find_perf_name(suggestion.event);
    if (!is_of(suggestion, node) || !named || !parse_events(std::string(suggestion.event), model)) continue;
    return command_of(suggestion, program);
  }
  if (parse_events(std::string(kWaiting.event), model)) return command_of(kWaiting, program);
  return "";
}

std::string topdown_page(const TopdownReport& report, const TopdownStyle& style) {
  std::string page =
      fmt::format("\n Top-down analysis of '{}': {} issue slots {}\n\n", report.program,
                  with_thousands(static_cast<std::uint64_t>(std::llround(report.slots.value))), slots_remark(report));
  double sum = 0;
  for (const TopdownNode& node : report.nodes) {
    page += node_row(report, node, style);
    if (node.level == 1 && has_share(node)) sum += node.share.value;
  }
  page += fmt::format("{:<{}}{:>7.1f} %\n\n", " of the slots", kNameWidth, 100 * sum);
  const std::vector<const TopdownNode*> marked = deepest_marked(report.nodes);
  if (marked.empty()) return page + " No node is above its threshold.\n\n";
  if (!style.descriptions) return page;
  page += " Look here next:\n";
  for (const TopdownNode* const node : marked) {
    page += fmt::format("   {}: {}\n", node->metric->name(), node->metric->counted.metric().description);
    if (!node->next.empty()) page += "     " + node->next + "\n";
  }
  return page + "\n";
}

std::string topdown_csv(const TopdownReport& report, const std::string& separator) {
  const bool estimated = report.percent_in_detail.has_value();
  std::string csv = fmt::format("node{0}level{0}parent{0}percent{0}above{0}marked{0}class", separator);
  csv += estimated ? separator + "half-width\n" : "\n";
  for (const TopdownNode& node : report.nodes) {
    const arch::Metric& metric = node.metric->counted.metric();
    const auto number = [&](bool known, double value) { return known ? metric_number(*node.metric, value) : ""; };
    csv += fmt::format("{1}{0}{2}{0}{3}{0}{4}{0}{5:.2f}{0}{6}{0}{7}", separator, metric.name, node.level, metric.parent,
                       number(node.share.has_number(), node.share.value), 100 * metric.above, node.marked ? 1 : 0,
                       name_of(class_in(report, node.metric->value_class)));
    if (estimated) csv += separator + number(node.share.half_width.has_value(), node.share.half_width.value_or(0));
    csv += "\n";
  }
  return csv;
}

std::string topdown_json(const TopdownReport& report) {
  report::Json page;
  page["program"] = report.program;
  page["cpu-model"] = report.cpu_model;
  page["slots"] = static_cast<std::uint64_t>(std::llround(report.slots.value));
  if (report.percent_in_detail) {
    page["slots-half-width"] = nullptr;
    if (report.slots.half_width) page["slots-half-width"] = std::llround(*report.slots.half_width);
    page["detail-percent"] = *report.percent_in_detail;
  }
  page["nodes"] = report::Json::array();
  for (const TopdownNode& node : report.nodes) {
    const arch::Metric& metric = node.metric->counted.metric();
    report::Json line;
    line["node"] = metric.name;
    line["level"] = node.level;
    if (!metric.parent.empty()) line["parent"] = metric.parent;
    line["percent"] = nullptr;
    if (has_share(node)) line["percent"] = 100 * node.share.value;
    if (node.share.half_width) line["half-width"] = 100 * *node.share.half_width;
    if (!node.share.has_number()) line["too-few"] = node.share.too_few;
    line["above"] = 100 * metric.above;
    line["marked"] = node.marked;
    line["class"] = name_of(class_in(report, node.metric->value_class));
    if (!node.metric->lacks.empty()) line["lacks"] = node.metric->lacks;
    if (node.marked && !node.next.empty()) line["next"] = node.next;
    page["nodes"].push_back(line);
  }
  return page.dump(2) + "\n";
}

}  // namespace zs::cli
