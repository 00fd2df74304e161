#include "host/targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/items.h"
#include "base/number.h"
#include "host/first_line.h"
#include "host/running_processes.h"

namespace zs::host {
namespace {

/// From 0 up.
std::optional<int> number_from_0(std::string_view text) {
  const auto number = whole_number<int>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

/// Of words like 3 and 0-3, joined by commas; nothing if one is none.
std::optional<std::vector<int>> cpus_in(std::string_view text) {
  constexpr int kMostCpus = 8192;
  std::vector<int> cpus;
  for (const std::string_view word : items_of(text)) {
    const std::size_t dash = word.find('-');
    const auto first = number_from_0(word.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number_from_0(word.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= kMostCpus) return std::nullopt;
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace

Result<std::vector<pid_t>> parse_ids(std::string_view option, std::string_view text, pid_t least) {
  std::vector<pid_t> ids;
  for (const std::string_view word : items_of(text)) {
    const auto id = number_from_0(word);
    if (!id || *id < least)
      return Error{fmt::format("{} {}: not the number of a process or thread", option, text), "for example 1234,1240"};
    ids.push_back(*id);
  }
  return ids;
}

Result<std::vector<int>> parse_cpus(std::string_view text) {
  auto cpus = cpus_in(text);
  if (!cpus) return Error{fmt::format("{}: not a list of CPUs", text), "for example 0-3,7"};
  std::ranges::sort(*cpus);
  cpus->erase(std::unique(cpus->begin(), cpus->end()), cpus->end());
  return *std::move(cpus);
}

Result<std::vector<int>> online_cpus() {
  const std::string text = first_line("/sys/devices/system/cpu/online");
  if (text.empty())
    return Error{"/sys/devices/system/cpu/online cannot be read, so the CPUs are not known", "name them with -C"};
  return parse_cpus(text);
}

Result<std::vector<Place>> places_of(const Targets& targets, pid_t child) {
  std::vector<int> cpus = targets.cpus;
  if (cpus.empty()) {
    auto online = online_cpus();
    if (!online) return online.error();
    cpus = *std::move(online);
  }
  std::vector<pid_t> tids = targets.threads;
  for (const pid_t process : targets.processes) {
    const std::vector<pid_t> threads = threads_of(process);
    if (threads.empty()) return Error{fmt::format("-p {}: there is no such process", process), "`ps` lists them"};
    tids.insert(tids.end(), threads.begin(), threads.end());
  }
  const bool started = tids.empty() && !targets.is_system();
  if (tids.empty()) tids.push_back(started ? child : -1);
  std::vector<Place> places;
  for (const pid_t tid : tids) {
    const bool on_any_cpu = targets.per_thread || (targets.wherever && targets.cpus.empty());
    if (on_any_cpu && tid >= 0) {
      places.push_back({.tid = tid, .cpu = -1, .started = started});
      continue;
    }
    for (const int cpu : cpus) places.push_back({.tid = tid, .cpu = cpu, .started = started});
  }
  return places;
}

}  // namespace zs::host
