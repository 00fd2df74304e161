#include "host/targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "host/first_line.h"
#include "host/running_processes.h"

namespace zs::host {
namespace {

/// The whole of `text` as a number from 0 up.
template <typename Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0;
}

/// Calls `take` for each word between commas; stops when it returns false.
bool for_each_word(std::string_view text, const auto& take) {
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    more = comma != std::string_view::npos;
    if (!take(text.substr(0, comma))) return false;
    if (more) text.remove_prefix(comma + 1);
  }
  return true;
}

}  // namespace

Result<std::vector<pid_t>> parse_ids(std::string_view option, std::string_view text, pid_t least) {
  std::vector<pid_t> ids;
  const bool right = for_each_word(text, [&](std::string_view word) {
    pid_t id = 0;
    if (!parse_number(word, id) || id < least) return false;
    ids.push_back(id);
    return true;
  });
  if (!right)
    return Error{fmt::format("{} {}: not the number of a process or thread", option, text), "for example 1234,1240"};
  return ids;
}

Result<std::vector<int>> parse_cpus(std::string_view text) {
  std::vector<int> cpus;
  const bool right = for_each_word(text, [&](std::string_view word) {
    const std::size_t dash = word.find('-');
    int first = 0, last = 0;
    if (!parse_number(word.substr(0, dash), first)) return false;
    last = first;
    if (dash != std::string_view::npos && !parse_number(word.substr(dash + 1), last)) return false;
    constexpr int kMostCpus = 8192;
    if (last < first || last >= kMostCpus) return false;
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    return true;
  });
  if (!right) return Error{fmt::format("{}: not a list of CPUs", text), "for example 0-3,7"};
  std::ranges::sort(cpus);
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
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
