#include "cli/gate/baseline.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string_view>

#include "base/descriptor.h"
#include "base/number.h"

namespace zs::cli {
namespace {

using report::Json;

constexpr const char* kFormat = "zeroskid check baseline 1";
constexpr std::size_t kMostFunctions = 200;
constexpr double kLeastShare = 0.0001, kLeastShareOfLines = 0.005;  // of all instructions
constexpr std::size_t kMostLines = 100;                             // of a function, the hottest

Json row_json(const GateRow& row) {
  Json json{{"name", row.name}, {"event", row.event}, {"class", row.value_class}, {"value", number_json(row.value)}};
  if (row.is_exact_number()) return json;
  json["low"] = number_json(row.low);
  json["high"] = number_json(row.high);
  return json;
}

Json lines_json(const report::FunctionCounts& function) {
  std::vector<std::pair<report::SourcePlace, report::Sum>> lines(function.lines.begin(), function.lines.end());
  if (lines.size() > kMostLines) {
    std::ranges::stable_sort(lines, std::greater<>(), [](const auto& line) { return line.second.value; });
    lines.resize(kMostLines);
    std::ranges::sort(lines, {}, [](const auto& line) { return line.first; });
  }
  Json json = Json::array();
  for (const auto& [place, sum] : lines)
    json.push_back(std::vector<Json>{place.first, place.second, number_json(sum.value)});
  return json;
}

Json function_json(const report::FunctionCounts& function) {
  Json json{{"function", function.name}, {"dso", function.dso}, {"instructions", number_json(function.sum.value)}};
  if (function.begins.second != 0) json["file"] = function.begins.first, json["line"] = function.begins.second;
  if (function.code.is_known()) json["code"] = fmt::format("{:08x}{:08x}", function.code.opcodes, function.code.all);
  if (!function.lines.empty()) json["lines"] = lines_json(function);
  return json;
}

/// Each on a line of its own: "{"a":1},\n{"a":2}"
template <typename Row, typename ToJson>
std::string lines_of(const std::vector<Row>& rows, const ToJson& to_json) {
  std::string text;
  for (const Row& row : rows) text += (text.empty() ? "\n  " : ",\n  ") + to_json(row).dump(-1);
  return text + "\n ";
}

/// Reads members, and keeps that one was missing or of another kind.
class Reader {
 public:
  explicit Reader(const Json& object) : object_(object) {}

  std::string text(const char* name) {
    const Json* const member = object_.find(name);
    const auto text = member != nullptr ? member->text() : std::nullopt;
    if (!text) missing_ = name;
    return std::string(text.value_or(""));
  }
  double number(const char* name, std::optional<double> otherwise = std::nullopt) {
    const Json* const member = object_.find(name);
    const auto number = member != nullptr ? member->number() : otherwise;
    if (!number || !std::isfinite(*number) || *number < 0) missing_ = name;
    return number.value_or(0);
  }
  std::span<const Json> elements(const char* name) const {
    const Json* const member = object_.find(name);
    return member != nullptr ? member->elements() : std::span<const Json>();
  }
  bool has(const char* name) const { return object_.find(name) != nullptr; }
  /// "": all was there
  const std::string& missing() const { return missing_; }

 private:
  const Json& object_;
  std::string missing_;
};

/// Of two numbers of eight digits each.
report::CodeHash code_of(const std::string& text) {
  constexpr unsigned kBits = 32;
  const auto both = whole_number<std::uint64_t>(text, 16).value_or(0);
  return {.opcodes = static_cast<std::uint32_t>(both >> kBits), .all = static_cast<std::uint32_t>(both)};
}

/// Of [file, number, count]; nothing if it is not that.
std::optional<std::pair<report::SourcePlace, double>> line_of(const Json& json) {
  const auto parts = json.elements();
  if (parts.size() != 3 || !parts[0].text() || !parts[1].number() || !parts[2].number()) return std::nullopt;
  constexpr double kMostLine = 1e9;
  const double number = *parts[1].number();
  if (!(number >= 0 && number < kMostLine)) return std::nullopt;
  return std::pair(report::SourcePlace(*parts[0].text(), static_cast<int>(number)), *parts[2].number());
}

}  // namespace

Json number_json(double number) {
  constexpr double kWholeBelow = 9007199254740992;  // 2^53
  if (number == std::floor(number) && std::abs(number) < kWholeBelow) return static_cast<std::int64_t>(number);
  return number;
}

report::EventCounts most_of(report::EventCounts counts) {
  std::vector<report::FunctionCounts>& all = counts.functions;
  all = report::joined_functions(all, report::own_names(all));
  std::ranges::stable_sort(all, std::greater<>(), [](const auto& one) { return one.sum.value; });
  report::FunctionCounts others;
  others.name = report::kOtherFunctions;
  while (all.size() >= kMostFunctions || (!all.empty() && all.back().sum.value < kLeastShare * counts.whole.value)) {
    others.sum.add(all.back().sum);
    all.pop_back();
  }
  for (report::FunctionCounts& one : all) {
    if (one.sum.value < kLeastShareOfLines * counts.whole.value) one.lines.clear();
  }
  if (others.sum.value != 0) all.push_back(std::move(others));
  std::ranges::sort(all, {}, [](const auto& one) { return std::pair(one.name, one.dso); });
  return counts;
}

std::string baseline_text(const GateRun& run) {
  std::vector<GateRow> rows = run.rows;
  std::ranges::sort(rows, {}, [](const GateRow& row) { return std::pair(row.name, row.event); });
  std::string text = std::string("{\"format\":") + Json(kFormat).dump(-1);
  const auto member = [&](const char* name, const Json& value) {
    text += ",\n \"" + std::string(name) + "\":" + value.dump(-1);
  };
  member("version", run.version);
  member("model", run.model);
  member("setting", run.setting);
  member("command", run.command);
  member("exit-status", run.exit_status);
  member("layouts", run.layouts);
  text += ",\n \"rows\":[" + lines_of(rows, row_json) + "]";
  if (run.functions) {
    member("functions-event", run.functions->event);
    text += ",\n \"functions\":[" + lines_of(run.functions->functions, function_json) + "]";
  }
  return text + "}\n";
}

bool is_baseline(const Json& document) {
  const Json* const format = document.find("format");
  return format != nullptr && format->text() == kFormat;
}

Result<GateRun> parse_baseline(const std::string& text, const std::string& name) {
  const Error none{name + ": is no baseline of zeroskid check, or not all of one", "--update makes it anew"};
  const auto document = Json::parse(text);
  if (!document || !is_baseline(*document)) return none;
  Reader all(*document);
  GateRun run;
  run.version = all.text("version");
  run.model = all.text("model");
  run.setting = all.text("setting");
  run.exit_status = static_cast<int>(std::min(all.number("exit-status"), 255.0));
  run.layouts = static_cast<std::uint64_t>(std::min(all.number("layouts"), 1e9));
  for (const Json& word : all.elements("command")) run.command.emplace_back(word.text().value_or(""));
  for (const Json& row : all.elements("rows")) {
    Reader member(row);
    GateRow& made = run.rows.emplace_back(GateRow{.name = member.text("name"),
                                                  .event = member.text("event"),
                                                  .value_class = member.text("class"),
                                                  .value = member.number("value")});
    made.low = member.number("low", made.value);
    made.high = member.number("high", made.value);
    if (!member.missing().empty() || made.low > made.value || made.high < made.value) return none;
  }
  if (all.has("functions")) {
    report::EventCounts& functions = run.functions.emplace();
    functions.event = all.text("functions-event");
    functions.value_class = "exact";
    for (const Json& row : all.elements("functions")) {
      Reader member(row);
      report::FunctionCounts made;
      made.name = member.text("function");
      made.dso = member.text("dso");
      made.sum.value = member.number("instructions");
      if (member.has("file"))
        made.begins = {member.text("file"), static_cast<int>(std::min(member.number("line"), 1e9))};
      if (member.has("code")) made.code = code_of(member.text("code"));
      for (const Json& json : member.elements("lines")) {
        const auto line = line_of(json);
        if (!line) return none;
        made.lines[line->first].add({.value = line->second});
      }
      if (!member.missing().empty()) return none;
      functions.whole.add(made.sum);
      functions.functions.push_back(std::move(made));
    }
  }
  if (!all.missing().empty() || run.rows.empty()) return none;
  return run;
}

Result<void> replace_file(const std::string& path, const std::string& text) {
  std::error_code unresolved;
  std::string place = std::filesystem::weakly_canonical(path, unresolved);  // a link stays one
  if (unresolved) place = path;
  const auto failed = [&](const char* doing) {
    return Error{path + ": cannot " + doing + ": " + std::strerror(errno), "what was there before is unchanged"};
  };
  struct stat old {};
  const bool exists = stat(place.c_str(), &old) == 0;
  if (exists && !S_ISREG(old.st_mode)) return Error{path + ": is no regular file", "name another place"};
  std::string name = place + ".XXXXXX";
  Descriptor file(mkostemp(name.data(), O_CLOEXEC));
  if (!file) return failed("create a file beside it");
  const auto give_up = [&](const char* doing) {
    Error error = failed(doing);
    unlink(name.c_str());
    return error;
  };
  const mode_t mask = umask(0);
  umask(mask);
  if (fchmod(file.get(), exists ? old.st_mode & 07777 : 0666 & ~mask) != 0) return give_up("write");
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t done = write(file.get(), rest.data(), rest.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return give_up("write");
    rest.remove_prefix(static_cast<std::size_t>(done));
  }
  if (fsync(file.get()) != 0) return give_up("write");
  if (rename(name.c_str(), place.c_str()) != 0) return give_up("put in its place");
  const std::string folder = std::filesystem::path(place).parent_path();
  if (const Descriptor directory(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      directory)
    fsync(directory.get());
  return {};
}

Result<std::string> read_text(const std::string& path, std::size_t most) {
  const auto failed = [&](const char* doing) {
    return Error{path + ": cannot " + doing + ": " + std::strerror(errno), ""};
  };
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return failed("open");
  std::string text;
  char piece[64 << 10];
  for (;;) {
    const ssize_t got = read(file.get(), piece, std::min(sizeof piece, most - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("read");
    if (got == 0) return text;
    text.append(piece, static_cast<std::size_t>(got));
  }
}

}  // namespace zs::cli
