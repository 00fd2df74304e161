#include "cli/list/known_errors.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "arch/events/event.h"
#include "base/items.h"
#include "base/number.h"
#include "cli/run/user_cache.h"

namespace zs::cli {
namespace {

constexpr std::string_view kFirstLine = "# zeroskid calibration 1: cpu, model, event, error in percent, date, program";
constexpr std::size_t kColumns = 6;

/// A column must not hold what ends it.
std::string one_column(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\t' || c == '\n'; }, ' ');
  return text;
}

std::optional<KnownError> parse_line(std::string_view line) {
  std::vector<std::string> columns;
  for (const std::string_view column : items_of(line, '\t')) columns.emplace_back(column);
  if (columns.size() != kColumns) return std::nullopt;
  KnownError error{
      .cpu = columns[0], .model = columns[1], .event = columns[2], .date = columns[4], .program = columns[5]};
  const auto percent = whole_number<decltype(error.percent)>(columns[3]);
  if (!percent || !std::isfinite(*percent)) return std::nullopt;
  error.percent = *percent;
  return error;
}

bool is_of_the_same(const KnownError& a, const KnownError& b) {
  return a.cpu == b.cpu && a.model == b.model && arch::equal_case_blind(a.event, b.event);
}

}  // namespace

std::string calibration_file() {
  const std::string cache = user_cache();
  return cache.empty() ? "" : cache + "/calibration.tsv";
}

std::vector<KnownError> kept_errors(const std::string& file) {
  std::vector<KnownError> errors;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (auto error = parse_line(line)) errors.push_back(*std::move(error));
  }
  return errors;
}

Result<void> keep_errors(const std::string& file, const std::vector<KnownError>& errors) {
  std::vector<KnownError> all = kept_errors(file);
  std::erase_if(all, [&](const KnownError& old) {
    return std::ranges::any_of(errors, [&](const KnownError& one) { return is_of_the_same(old, one); });
  });
  all.insert(all.end(), errors.begin(), errors.end());
  make_private_folder(std::filesystem::path(file).parent_path());
  const std::string fresh = fmt::format("{}.{}", file, getpid());
  std::ofstream out(fresh);
  out << kFirstLine << '\n';
  for (const KnownError& error : all) {
    out << fmt::format("{}\t{}\t{}\t{:.2f}\t{}\t{}\n", one_column(error.cpu), one_column(error.model),
                       one_column(error.event), error.percent, one_column(error.date), one_column(error.program));
  }
  out.close();
  std::error_code problem;
  if (out) std::filesystem::rename(fresh, file, problem);
  if (out && !problem) return {};
  const std::string why = problem ? problem.message() : std::strerror(errno);
  std::filesystem::remove(fresh, problem);
  return Error{file + ": the errors cannot be kept: " + why, "XDG_CACHE_HOME names another folder"};
}

void show_errors(const std::vector<KnownError>& known, std::string_view cpu, std::string_view model,
                 std::vector<ListedEvent>& events) {
  for (ListedEvent& event : events) {
    const auto is_this = [&](std::string_view name) { return arch::equal_case_blind(event.name, name); };
    for (const KnownError& error : known) {
      if (error.cpu == cpu && error.model == model &&
          (is_this(error.event) || std::ranges::any_of(event.aliases, [&](const std::string& alias) {
             return arch::equal_case_blind(alias, error.event);
           })))
        event.measured_here = fmt::format("{:+.2f} % ({}, {})", error.percent, error.program, error.date);
    }
  }
}

}  // namespace zs::cli
