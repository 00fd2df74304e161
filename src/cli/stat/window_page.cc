#include "cli/stat/window_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "cli/command/say.h"
#include "report/text/json.h"
#include "session/driver/adaptive_period.h"

namespace zs::cli {
namespace {

using profile::ValueClass;
using profile::Window;

constexpr int kNumberWidth = 8, kThreadWidth = 20, kPlaceWidth = 17, kReasonWidth = 16, kValueWidth = 13;
constexpr int kIntervalWidth = 17;  // "  +- 0.12 points"
constexpr std::size_t kMostInterval = 40;

/// ",000" to ",999": a window's row is mostly numbers, and there may be a million rows a second. One more, so that four
/// bytes may be read from everywhere in one.
constexpr auto kCommaAndThree = [] {
  std::array<std::array<char, 4>, 1001> texts{};
  for (std::size_t i = 0; i < 1000; ++i)
    texts[i] = {',', static_cast<char>('0' + i / 100), static_cast<char>('0' + i / 10 % 10),
                static_cast<char>('0' + i % 10)};
  return texts;
}();

/// A row appended to a text: room is made once, and what was not used given back. What is short is copied as kAtOnce
/// characters, of which the next ones overwrite what is too much: a copy of a known size is two instructions.
class PageRow {
 public:
  /// room  of the longest that it may become
  PageRow(std::string& text, std::size_t room) : text_(text), before_(text.size()) {
    text.resize(before_ + room + kAtOnce);
    start_ = at_ = text.data() + before_;
  }
  std::size_t length() const { return static_cast<std::size_t>(at_ - start_); }
  void spaces(std::size_t count) {
    if (count <= kAtOnce)
      std::memset(at_, ' ', kAtOnce);
    else
      std::memset(at_, ' ', count);
    at_ += count;
  }
  void fill(std::size_t length) {
    if (this->length() < length) spaces(length - this->length());
  }
  void add(std::string_view what) {
    std::memcpy(at_, what.data(), what.size());
    at_ += what.size();
  }
  void right(std::string_view what, std::size_t width) {
    if (what.size() < width) spaces(width - what.size());
    add(what);
  }
  /// by_threes  with a comma between thousands
  void number(std::uint64_t value, std::size_t width, bool by_threes) {
    std::uint32_t threes[kMostDigits / 3];  // the last ones first
    std::size_t count = 0;
    for (; value >= 1000; value /= 1000) threes[count++] = static_cast<std::uint32_t>(value % 1000);
    const std::size_t not_shown = 1 + (value >= 100 ? 0 : value >= 10 ? 1 : 2);
    const std::size_t length = 4 - not_shown + count * (by_threes ? 4 : 3);
    if (length < width) spaces(width - length);
    three(value, not_shown);
    while (count != 0) three(threes[--count], by_threes ? 0 : 1);
  }
  void end() { text_.resize(before_ + length()); }

  static constexpr std::size_t kMostDigits = 32, kAtOnce = 32;

 private:
  void three(std::uint64_t value, std::size_t not_shown) {
    std::memcpy(at_, kCommaAndThree[value].data() + not_shown, 4);
    at_ += 4 - not_shown;
  }

  std::string& text_;
  std::size_t before_;
  char *start_, *at_;
};

std::size_t column_width(std::string_view name) { return std::max<std::size_t>(kValueWidth, name.size()) + 2; }

std::string in_column(std::string_view text, std::string_view name) {
  return fmt::format("{:>{}}", text, column_width(name));
}

/// "  +- 0.7 %", "  seen 3 times": what stands behind an estimate.
std::string behind(const Estimate& estimate, bool share) {
  const std::string text = estimate.has_number() ? interval_text(estimate, share) : estimate.too_few;
  return fmt::format("  {:<{}}", text, kIntervalWidth - 2);
}

std::string thread_name(const Window& window) { return window.comm + "-" + std::to_string(window.tid); }

std::string one_line(const report::Json& line) { return line.dump(-1) + "\n"; }

/// Where a window ends on the nominal clock, in seconds.
std::string seconds(const Window& window) {
  static_assert(session::kNominalInstructionsPerSecond == 1'000'000'000);
  return fmt::format("{:6}.{:09}", window.end / session::kNominalInstructionsPerSecond,
                     window.end % session::kNominalInstructionsPerSecond);
}

}  // namespace

class WindowPage::Row {
 public:
  Row(const WindowPage& page, const Window& window, const session::UnitSums* units) : window_(window) {
    if (units == nullptr) return;
    counted_.counts.assign(window.values.begin(), window.values.end());
    counted_.units = units;
    counted_.columns = &page.estimated_;
  }

  const Window& window() const { return window_; }
  Estimate event(std::size_t event) const {
    if (counted_.units == nullptr) return {.value = static_cast<double>(window_.values[event])};
    return estimate_of(counted_, event);
  }
  Estimate value(const StatMetric& metric) const {
    if (counted_.units != nullptr) return estimate_of(counted_, metric);
    if (!metric.has_number()) return {.value = std::nan("")};
    return {.value = metric.counted.value([&](std::size_t event) { return window_.values[event]; })};
  }
  ValueClass class_of(ValueClass value_class) const { return cli::class_of(counted_.units, value_class); }
  /// How much of the window was modelled, in percent.
  double percent_in_detail() const { return cli::percent_in_detail(*counted_.units); }

 private:
  const Window& window_;
  Counted counted_;
};

WindowPage::WindowPage(WindowFormat format, profile::WindowTable table, std::vector<StatMetric> metrics,
                       EstimatedColumns estimated, std::string separator, bool threads)
    : format_(format),
      table_(std::move(table)),
      metrics_(std::move(metrics)),
      estimated_(std::move(estimated)),
      separator_(std::move(separator)),
      threads_(threads) {
  for (const profile::WindowEvent& event : table_.events) {
    widths_.push_back(column_width(event.name));
    room_of_values_ += std::max(widths_.back(), PageRow::kMostDigits) + kMostInterval;
  }
}

std::string WindowPage::head() const {
  switch (format_) {
    case WindowFormat::Csv: return window_csv_head(table_);
    case WindowFormat::HpctoolCsv: return profile::hpctool_csv_head();
    case WindowFormat::Columns:
    case WindowFormat::Json: return "";
    case WindowFormat::Page: break;
  }
  std::string text;
  for (const std::string& note : table_.notes) text += "# " + note + "\n";
  text += fmt::format("#{:>{}}  {:<{}}{:>{}}{:>{}}  {:<{}}", "window", kNumberWidth - 1, "thread", kThreadWidth,
                      "begin", kPlaceWidth, "end", kPlaceWidth, "ended by", kReasonWidth);
  const auto add = [&text](std::string_view name, ValueClass value_class) {
    text += in_column(name, name);
    if (value_class == ValueClass::Estimated) text.append(kIntervalWidth, ' ');
  };
  for (const auto& event : table_.events) add(event.name, event.value_class);
  for (const auto& metric : metrics_) add(metric.name(), metric.value_class);
  return text + "\n";
}

void WindowPage::add_row(const Window& window, const session::UnitSums* units, std::string& text) const {
  switch (format_) {
    case WindowFormat::Csv: text += csv_row(window, units); break;
    case WindowFormat::HpctoolCsv: text += hpctool_csv_row(table_, window); break;
    case WindowFormat::Columns: text += columns_row({*this, window, units}); break;
    case WindowFormat::Json: text += json_row({*this, window, units}); break;
    case WindowFormat::Page: add_page_row({*this, window, units}, text); break;
  }
}

std::string WindowPage::csv_row(const Window& window, const session::UnitSums* units) const {
  if (units == nullptr) return window_csv_row(table_, window);
  const Row row(*this, window, units);
  Window with = window;
  for (std::size_t i = 0; i < table_.events.size(); ++i) {
    auto& half_width = with.half_widths.emplace_back();
    if (!estimated_[i]) continue;
    const Estimate estimate = row.event(i);
    if (estimate.has_number()) half_width = static_cast<std::uint64_t>(std::llround(estimate.half_width.value_or(0)));
  }
  return window_csv_row(table_, with);
}

void WindowPage::add_page_row(const Row& numbers, std::string& text) const {
  const Window& window = numbers.window();
  PageRow row(text, 192 + window.comm.size() + window.reason.size() + room_of_values_);
  row.number(window.number, kNumberWidth, false);
  row.spaces(2);
  const std::size_t thread = row.length();
  row.add(window.comm);
  row.add("-");
  row.number(static_cast<std::uint64_t>(window.tid), 0, false);
  row.fill(thread + kThreadWidth);
  row.number(window.start, kPlaceWidth, true);
  row.number(window.end, kPlaceWidth, true);
  row.spaces(2);
  const std::size_t reason = row.length();
  row.add(window.reason);
  row.fill(reason + kReasonWidth);
  for (std::size_t i = 0; i < table_.events.size(); ++i) {
    const ValueClass value_class = table_.events[i].value_class;
    if (value_class == ValueClass::NotModelled) {
      row.right("not modelled", widths_[i]);
    } else if (value_class == ValueClass::Estimated) {
      const Estimate estimate = numbers.event(i);
      if (estimate.has_number())
        row.number(window.values[i], widths_[i], true);
      else
        row.right("too few", widths_[i]);
      row.add(behind(estimate, false));
    } else {
      row.number(window.values[i], widths_[i], true);
    }
  }
  row.end();
  for (const StatMetric& metric : metrics_) {
    const Estimate value = numbers.value(metric);
    text += in_column(!metric.has_number() ? "not modelled"
                      : value.has_number() ? metric_text(metric, value.value)
                                           : "too few",
                      metric.name());
    if (metric.value_class == ValueClass::Estimated) text += behind(value, metric.counted.metric().is_share());
  }
  while (text.back() == ' ') text.pop_back();
  text += '\n';
}

std::string WindowPage::columns_row(const Row& row) const {
  const Window& window = row.window();
  std::string text;
  const std::string where = seconds(window) + separator_ + (threads_ ? thread_name(window) + separator_ : "");
  for (std::size_t i = 0; i < table_.events.size(); ++i) {
    const profile::WindowEvent& event = table_.events[i];
    const bool number = event.value_class != ValueClass::NotModelled;
    const std::vector<const StatMetric*> metrics = metrics_behind(metrics_, i);
    const Estimate count = row.event(i);
    const std::string shown = !number              ? "<not supported>"
                              : count.has_number() ? std::to_string(window.values[i])
                                                   : "<not counted>";
    text += fmt::format("{0}{1}{2}{2}{3}{2}{4}{2}100.00{2}", where, shown, separator_, event.name,
                        number ? window.instructions() : 0);
    const auto end = [&](const StatMetric* metric, const CountColumns& ours) {
      return end_of_columns(metric, metric != nullptr ? row.value(*metric) : Estimate{},
                            estimated_.empty() ? nullptr : &ours, separator_);
    };
    const ValueClass value_class = row.class_of(event.value_class);
    const bool estimate = value_class == ValueClass::Estimated;
    text += end(metrics.empty() ? nullptr : metrics.front(),
                {.value_class = name_of(value_class),
                 .half_width = count.half_width ? fmt::format("{:.0f}", *count.half_width) : "",
                 .percent_in_detail = estimate ? fmt::format("{:.2f}", row.percent_in_detail()) : ""});
    for (std::size_t k = 1; k < metrics.size(); ++k) {
      text += fmt::format("{0}{1}{1}{1}{1}{1}{2}", where, separator_, end(metrics[k], {}));
    }
  }
  return text;
}

std::string WindowPage::json_row(const Row& row) const {
  const Window& window = row.window();
  const auto put = [&row](const StatMetric& metric, report::Json& line) {
    put_metric(metric, row.value(metric), row.class_of(metric.value_class), line);
  };
  std::string text;
  for (std::size_t i = 0; i < table_.events.size(); ++i) {
    const profile::WindowEvent& event = table_.events[i];
    const bool number = event.value_class != ValueClass::NotModelled;
    const std::vector<const StatMetric*> metrics = metrics_behind(metrics_, i);
    report::Json where;
    where["interval"] = static_cast<double>(window.end) / static_cast<double>(session::kNominalInstructionsPerSecond);
    if (threads_) where["thread"] = thread_name(window);
    report::Json line = where;
    const Estimate count = row.event(i);
    const ValueClass value_class = row.class_of(event.value_class);
    line["counter-value"] = !number              ? "<not supported>"
                            : count.has_number() ? std::to_string(window.values[i]) + ".000000"
                                                 : "<not counted>";
    line["unit"] = "";
    line["event"] = event.name;
    line["event-runtime"] = number ? window.instructions() : 0;
    line["pcnt-running"] = 100.0;
    line["metric-value"] = 0.0;
    line["metric-unit"] = "";
    if (!metrics.empty()) put(*metrics.front(), line);
    line["class"] = name_of(value_class);
    if (value_class == ValueClass::Estimated) {
      line["half-width"] = nullptr;
      if (count.half_width) line["half-width"] = *count.half_width;
      if (!count.has_number()) line["too-few"] = count.too_few;
      line["detail-percent"] = row.percent_in_detail();
    }
    line["window"] = window.number;
    line["pid"] = window.pid;
    line["tid"] = window.tid;
    line["begin"] = window.start;
    line["end"] = window.end;
    line["ended-by"] = window.reason;
    text += one_line(line);
    for (std::size_t k = 1; k < metrics.size(); ++k) {
      report::Json further = where;
      put(*metrics[k], further);
      further["window"] = window.number;
      further["pid"] = window.pid;
      further["tid"] = window.tid;
      text += one_line(further);
    }
  }
  return text;
}

}  // namespace zs::cli
