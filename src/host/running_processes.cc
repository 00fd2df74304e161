#include "host/running_processes.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/number.h"
#include "host/first_line.h"

namespace zs::host {
namespace {

/// Takes a number and the character behind it off the front.
template <typename Number>
bool take_number(std::string_view& text, Number& number, int base, char behind) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end == text.data() + text.size() || *end != behind) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return true;
}

/// The number behind "NAME:" in a status file.
std::optional<pid_t> status_number(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::string_view rest = line;
    if (!rest.starts_with(name) || !rest.substr(name.size()).starts_with(":")) continue;
    rest.remove_prefix(std::min(rest.find_first_of("0123456789"), rest.size()));
    pid_t number = 0;
    if (std::from_chars(rest.data(), rest.data() + rest.size(), number).ec == std::errc()) return number;
  }
  return std::nullopt;
}

/// The names in a folder that are numbers, ascending.
std::vector<pid_t> numbers_in(const std::string& folder) {
  std::vector<pid_t> numbers;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(folder, gone)) {
    if (const auto number = whole_number<pid_t>(entry.path().filename().native())) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

}  // namespace

std::optional<RunningMapping> parse_mapping(std::string_view line) {
  RunningMapping mapping;
  if (!take_number(line, mapping.start, 16, '-') || !take_number(line, mapping.end, 16, ' ')) return std::nullopt;
  if (line.size() < 5 || line[4] != ' ') return std::nullopt;
  if (line[0] == 'r') mapping.protection |= PROT_READ;
  if (line[1] == 'w') mapping.protection |= PROT_WRITE;
  if (line[2] == 'x') mapping.protection |= PROT_EXEC;
  mapping.shared = line[3] == 's';
  line.remove_prefix(5);
  if (!take_number(line, mapping.file_offset, 16, ' ') || !take_number(line, mapping.device_major, 16, ':') ||
      !take_number(line, mapping.device_minor, 16, ' '))
    return std::nullopt;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), mapping.inode);
  if (error != std::errc()) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  mapping.path = line;
  return mapping;
}

std::optional<RunningProcess> look_at_process(pid_t pid) {
  const std::string folder = fmt::format("/proc/{}", pid);
  RunningProcess process{.pid = pid, .parent = 0, .threads = {}, .mappings = {}};
  const auto parent = status_number(folder + "/status", "PPid");
  if (!parent) return std::nullopt;
  process.parent = *parent;
  for (const pid_t tid : threads_of(pid))
    process.threads.push_back({tid, first_line(fmt::format("{}/task/{}/comm", folder, tid))});
  if (process.threads.empty()) return std::nullopt;
  std::ifstream maps(folder + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (auto mapping = parse_mapping(line)) process.mappings.push_back(*std::move(mapping));
  }
  return process;
}

std::string name_of_thread(pid_t thread) { return first_line(fmt::format("/proc/{}/comm", thread)); }

bool is_running(pid_t thread) {
  const std::string line = first_line(fmt::format("/proc/{}/stat", thread));
  const std::size_t name_end = line.rfind(") ");  // the name may hold anything
  return name_end != std::string::npos && name_end + 2 < line.size() && line[name_end + 2] != 'Z' &&
         line[name_end + 2] != 'X';
}

std::vector<pid_t> all_processes() { return numbers_in("/proc"); }

std::vector<pid_t> threads_of(pid_t process) { return numbers_in(fmt::format("/proc/{}/task", process)); }

std::optional<pid_t> process_of(pid_t thread) { return status_number(fmt::format("/proc/{}/status", thread), "Tgid"); }

}  // namespace zs::host
