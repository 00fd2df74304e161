#include "cli/window_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/say.h"
#include "session/adaptive_period.h"

namespace zs::cli {
namespace {

using profile::ValueClass;
using profile::Window;

constexpr int kNumberWidth = 8, kThreadWidth = 20, kPlaceWidth = 17, kReasonWidth = 16, kValueWidth = 13;

std::string right(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}
std::string left(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, text.size()), ' ');
}

std::size_t column_width(const profile::WindowEvent& event) {
  return std::max<std::size_t>(kValueWidth, event.name.size()) + 2;
}

std::string thread_name(const Window& window) { return window.comm + "-" + std::to_string(window.tid); }

/// Where a window ends on the nominal clock, in seconds.
std::string seconds(const Window& window) {
  static_assert(session::kNominalInstructionsPerSecond == 1'000'000'000);
  const std::string fraction = std::to_string(window.end % session::kNominalInstructionsPerSecond);
  return right(std::to_string(window.end / session::kNominalInstructionsPerSecond), 6) + "." +
         std::string(9 - fraction.size(), '0') + fraction;
}

}  // namespace

WindowPage::WindowPage(WindowFormat format, profile::WindowTable table, std::string separator, bool threads)
    : format_(format), table_(std::move(table)), separator_(std::move(separator)), threads_(threads) {}

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
  text += "#" + right("window", kNumberWidth - 1) + "  " + left("thread", kThreadWidth) + right("begin", kPlaceWidth) +
          right("end", kPlaceWidth) + "  " + left("ended by", kReasonWidth);
  for (const auto& event : table_.events) text += right(event.name, column_width(event));
  return text + "\n";
}

std::string WindowPage::row(const Window& window) const {
  switch (format_) {
    case WindowFormat::Csv: return window_csv_row(table_, window);
    case WindowFormat::HpctoolCsv: return hpctool_csv_row(table_, window);
    case WindowFormat::Columns: return columns_row(window);
    case WindowFormat::Json: return json_row(window);
    case WindowFormat::Page: break;
  }
  return page_row(window);
}

std::string WindowPage::page_row(const Window& window) const {
  std::string text = right(std::to_string(window.number), kNumberWidth) + "  " +
                     left(thread_name(window), kThreadWidth) + right(with_separators(window.start), kPlaceWidth) +
                     right(with_separators(window.end), kPlaceWidth) + "  " + left(window.reason, kReasonWidth);
  for (std::size_t i = 0; i < table_.events.size(); ++i) {
    const profile::WindowEvent& event = table_.events[i];
    const bool number = event.value_class != ValueClass::NotModelled;
    text += right(number ? with_separators(window.values[i]) : "not modelled", column_width(event));
  }
  return text + "\n";
}

std::string WindowPage::columns_row(const Window& window) const {
  std::string text;
  const std::string where = seconds(window) + separator_ + (threads_ ? thread_name(window) + separator_ : "");
  for (std::size_t i = 0; i < table_.events.size(); ++i) {
    const profile::WindowEvent& event = table_.events[i];
    const bool number = event.value_class != ValueClass::NotModelled;
    text += fmt::format("{0}{1}{2}{2}{3}{2}{4}{2}100.00{2}{2}\n", where,
                        number ? std::to_string(window.values[i]) : "<not supported>", separator_, event.name,
                        number ? window.instructions() : 0);
  }
  return text;
}

std::string WindowPage::json_row(const Window& window) const {
  std::string text;
  for (std::size_t i = 0; i < table_.events.size(); ++i) {
    const profile::WindowEvent& event = table_.events[i];
    const bool number = event.value_class != ValueClass::NotModelled;
    nlohmann::ordered_json line;
    line["interval"] = static_cast<double>(window.end) / static_cast<double>(session::kNominalInstructionsPerSecond);
    if (threads_) line["thread"] = thread_name(window);
    line["counter-value"] = number ? std::to_string(window.values[i]) + ".000000" : "<not supported>";
    line["unit"] = "";
    line["event"] = event.name;
    line["event-runtime"] = number ? window.instructions() : 0;
    line["pcnt-running"] = 100.0;
    line["metric-value"] = 0.0;
    line["metric-unit"] = "";
    line["class"] = name_of(event.value_class);
    line["window"] = window.number;
    line["pid"] = window.pid;
    line["tid"] = window.tid;
    line["begin"] = window.start;
    line["end"] = window.end;
    line["ended-by"] = window.reason;
    text += line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  }
  return text;
}

}  // namespace zs::cli
