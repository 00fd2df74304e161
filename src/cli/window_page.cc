#include "cli/window_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "cli/say.h"
#include "report/json.h"
#include "session/adaptive_period.h"

namespace zs::cli {
namespace {

using profile::ValueClass;
using profile::Window;

constexpr int kNumberWidth = 8, kThreadWidth = 20, kPlaceWidth = 17, kReasonWidth = 16, kValueWidth = 13;

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

double value_of(const StatMetric& metric, const Window& window) {
  if (!metric.has_number()) return std::nan("");
  return metric.counted.value([&](std::size_t event) { return window.values[event]; });
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

WindowPage::WindowPage(WindowFormat format, profile::WindowTable table, std::vector<StatMetric> metrics,
                       std::string separator, bool threads)
    : format_(format),
      table_(std::move(table)),
      metrics_(std::move(metrics)),
      separator_(std::move(separator)),
      threads_(threads) {
  for (const profile::WindowEvent& event : table_.events) {
    widths_.push_back(column_width(event.name));
    room_of_values_ += std::max(widths_.back(), PageRow::kMostDigits);
  }
}

std::vector<const StatMetric*> WindowPage::metrics_behind(std::size_t event) const {
  std::vector<const StatMetric*> metrics;
  for (const StatMetric& metric : metrics_) {
    if (metric.event == event) metrics.push_back(&metric);
  }
  return metrics;
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
  for (const auto& event : table_.events) text += in_column(event.name, event.name);
  for (const auto& metric : metrics_) text += in_column(metric.name(), metric.name());
  return text + "\n";
}

void WindowPage::add_row(const Window& window, std::string& text) const {
  switch (format_) {
    case WindowFormat::Csv: text += window_csv_row(table_, window); break;
    case WindowFormat::HpctoolCsv: text += hpctool_csv_row(table_, window); break;
    case WindowFormat::Columns: text += columns_row(window); break;
    case WindowFormat::Json: text += json_row(window); break;
    case WindowFormat::Page: add_page_row(window, text); break;
  }
}

void WindowPage::add_page_row(const Window& window, std::string& text) const {
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
    if (table_.events[i].value_class != ValueClass::NotModelled)
      row.number(window.values[i], widths_[i], true);
    else
      row.right("not modelled", widths_[i]);
  }
  row.end();
  for (const StatMetric& metric : metrics_) {
    text +=
        in_column(metric.has_number() ? metric_text(metric, value_of(metric, window)) : "not modelled", metric.name());
  }
  text += '\n';
}

std::string WindowPage::columns_row(const Window& window) const {
  std::string text;
  const std::string where = seconds(window) + separator_ + (threads_ ? thread_name(window) + separator_ : "");
  for (std::size_t i = 0; i < table_.events.size(); ++i) {
    const profile::WindowEvent& event = table_.events[i];
    const bool number = event.value_class != ValueClass::NotModelled;
    const std::vector<const StatMetric*> metrics = metrics_behind(i);
    const auto metric_columns = [&](const StatMetric& metric) {
      return metric_number(metric, value_of(metric, window)) + separator_ + metric_unit(metric) + "\n";
    };
    text += fmt::format("{0}{1}{2}{2}{3}{2}{4}{2}100.00{2}", where,
                        number ? std::to_string(window.values[i]) : "<not supported>", separator_, event.name,
                        number ? window.instructions() : 0);
    text += metrics.empty() ? separator_ + "\n" : metric_columns(*metrics.front());
    for (std::size_t k = 1; k < metrics.size(); ++k) {
      text += fmt::format("{0}{1}{1}{1}{1}{1}{2}", where, separator_, metric_columns(*metrics[k]));
    }
  }
  return text;
}

std::string WindowPage::json_row(const Window& window) const {
  std::string text;
  for (std::size_t i = 0; i < table_.events.size(); ++i) {
    const profile::WindowEvent& event = table_.events[i];
    const bool number = event.value_class != ValueClass::NotModelled;
    const std::vector<const StatMetric*> metrics = metrics_behind(i);
    report::Json where;
    where["interval"] = static_cast<double>(window.end) / static_cast<double>(session::kNominalInstructionsPerSecond);
    if (threads_) where["thread"] = thread_name(window);
    report::Json line = where;
    line["counter-value"] = number ? std::to_string(window.values[i]) + ".000000" : "<not supported>";
    line["unit"] = "";
    line["event"] = event.name;
    line["event-runtime"] = number ? window.instructions() : 0;
    line["pcnt-running"] = 100.0;
    line["metric-value"] = 0.0;
    line["metric-unit"] = "";
    if (!metrics.empty()) put_metric(*metrics.front(), value_of(*metrics.front(), window), line);
    line["class"] = name_of(event.value_class);
    line["window"] = window.number;
    line["pid"] = window.pid;
    line["tid"] = window.tid;
    line["begin"] = window.start;
    line["end"] = window.end;
    line["ended-by"] = window.reason;
    text += one_line(line);
    for (std::size_t k = 1; k < metrics.size(); ++k) {
      report::Json further = where;
      put_metric(*metrics[k], value_of(*metrics[k], window), further);
      further["window"] = window.number;
      further["pid"] = window.pid;
      further["tid"] = window.tid;
      text += one_line(further);
    }
  }
  return text;
}

}  // namespace zs::cli
