#include "host/kernel_events.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "arch/events/event.h"
#include "base/items.h"
#include "base/number.h"
#include "host/first_line.h"

namespace zs::host {
namespace {

using arch::equal_case_blind;

struct Row {
  std::string_view names;
  std::uint32_t type;
  std::uint64_t config;
};

// clang-format off
constexpr Row kRows[] = {
    {"cpu-clock",                    PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
    {"task-clock",                   PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page-faults faults",           PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"minor-faults",                 PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults",                 PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"context-switches cs",          PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations migrations",    PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"alignment-faults",             PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS},
    {"emulation-faults",             PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS},
    {"cgroup-switches",              PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CGROUP_SWITCHES},
    {"dummy",                        PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY},
    {"cycles cpu-cycles",            PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions",                 PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-references",             PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses",                 PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branches branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses",                PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"bus-cycles",                   PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
    {"stalled-cycles-frontend",      PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    {"stalled-cycles-backend",       PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    {"ref-cycles",                   PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
};

constexpr std::pair<std::string_view, std::uint64_t> kCaches[] = {
    {"L1-dcache", PERF_COUNT_HW_CACHE_L1D}, {"L1-icache", PERF_COUNT_HW_CACHE_L1I}, {"LLC", PERF_COUNT_HW_CACHE_LL},
    {"dTLB", PERF_COUNT_HW_CACHE_DTLB},     {"iTLB", PERF_COUNT_HW_CACHE_ITLB},     {"branch", PERF_COUNT_HW_CACHE_BPU},
    {"node", PERF_COUNT_HW_CACHE_NODE}};

constexpr std::uint64_t cache_use(std::uint64_t operation, std::uint64_t result) {
  return operation << 8 | result << 16;
}
constexpr std::pair<std::string_view, std::uint64_t> kCacheUses[] = {
    {"loads",           cache_use(PERF_COUNT_HW_CACHE_OP_READ,     PERF_COUNT_HW_CACHE_RESULT_ACCESS)},
    {"load-misses",     cache_use(PERF_COUNT_HW_CACHE_OP_READ,     PERF_COUNT_HW_CACHE_RESULT_MISS)},
    {"stores",          cache_use(PERF_COUNT_HW_CACHE_OP_WRITE,    PERF_COUNT_HW_CACHE_RESULT_ACCESS)},
    {"store-misses",    cache_use(PERF_COUNT_HW_CACHE_OP_WRITE,    PERF_COUNT_HW_CACHE_RESULT_MISS)},
    {"prefetches",      cache_use(PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_ACCESS)},
    {"prefetch-misses", cache_use(PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_MISS)},
};
// clang-format on

/// 12, 0x3c; nothing if that is not all of it.
std::optional<std::uint64_t> number_of(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (hexadecimal) text.remove_prefix(2);
  return whole_number<std::uint64_t>(text, hexadecimal ? 16 : 10);
}

/// Puts `value` where a format says: "config:0-7,32-35" or "config1:0-15", lowest bits first.
/// returns false if the format is none, or the value has more bits
bool place_bits(std::string_view format, std::uint64_t value, perf_event_attr& attr) {
  const std::size_t colon = format.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view word = format.substr(0, colon);
  __u64* const config = word == "config" ? &attr.config : word == "config1" ? &attr.config1 : &attr.config2;
  if (word != "config" && word != "config1" && word != "config2") return false;
  for (const std::string_view range : pieces_of(format.substr(colon + 1), ',')) {
    const std::size_t dash = range.find('-');
    const auto first = number_of(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number_of(range.substr(dash + 1));
    if (!first || !last || *last > 63 || *first > *last) return false;
    const std::uint64_t width = *last - *first + 1;
    const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
    *config = (*config & ~(mask << *first)) | (value & mask) << *first;
    value = width == 64 ? 0 : value >> width;
  }
  return value == 0;
}

/// Reads what one event of a list is.
class EventReader {
 public:
  EventReader(std::string_view typed, const std::filesystem::path& pmus) : typed_(typed), pmus_(pmus) {}

  Result<KernelEvent> read() {
    event_.name = typed_;
    event_.attr.size = sizeof event_.attr;
    const std::size_t slash = typed_.find('/');
    std::string_view modifiers;
    if (slash != std::string_view::npos) {
      const std::size_t end = typed_.rfind('/');
      if (end == slash) return wrong("a PMU's event ends with a slash", "for example cpu/event=0x3c/");
      if (auto of_pmu = read_pmu(typed_.substr(0, slash), typed_.substr(slash + 1, end - slash - 1)); !of_pmu)
        return of_pmu.error();
      modifiers = typed_.substr(end + 1);
      if (modifiers.starts_with(':')) modifiers.remove_prefix(1);
    } else {
      const std::size_t colon = typed_.find(':');
      if (!read_name(typed_.substr(0, colon))) return unknown(typed_.substr(0, colon));
      if (colon != std::string_view::npos) modifiers = typed_.substr(colon + 1);
    }
    if (auto modified = modify(modifiers); !modified) return modified.error();
    return event_;
  }

 private:
  Error wrong(std::string_view what, std::string hint) const {
    return {fmt::format("{}: {}", typed_, what), std::move(hint)};
  }
  Error unknown(std::string_view name) const {
    std::string alike;
    for (const std::string& known : kernel_event_names()) {
      if (name.size() >= 3 && (known.find(name) != std::string::npos || name.find(known) != std::string::npos))
        alike += (alike.empty() ? "" : ", ") + known;
    }
    return wrong("perf_event_open has no event of this name",
                 alike.empty()
                     ? "cpu-clock, page-faults, cycles, L1-dcache-load-misses, r01c0, cpu/event=0x3c/: perf-list(1)"
                     : "known: " + alike);
  }

  bool read_name(std::string_view name) {
    for (const Row& row : kRows) {
      for (const std::string_view one : items_of(row.names, ' ')) {
        if (equal_case_blind(name, one)) return set(row.type, row.config);
      }
    }
    for (const auto& [cache, id] : kCaches) {
      if (name.size() <= cache.size() || !equal_case_blind(name.substr(0, cache.size()), cache) ||
          name[cache.size()] != '-')
        continue;
      for (const auto& [use, code] : kCacheUses) {
        if (equal_case_blind(name.substr(cache.size() + 1), use)) return set(PERF_TYPE_HW_CACHE, id | code);
      }
    }
    if (name.size() < 2 || name[0] != 'r') return false;
    const auto code = number_of("0x" + std::string(name.substr(1)));
    return code && set(PERF_TYPE_RAW, *code);
  }

  bool set(std::uint32_t type, std::uint64_t config) {
    event_.attr.type = type;
    event_.attr.config = config;
    return true;
  }

  Result<void> read_pmu(std::string_view pmu, std::string_view terms) {
    folder_ = pmus_ / pmu;
    const auto type = number_of(first_line(folder_ / "type"));
    if (!type)
      return wrong(fmt::format("there is no PMU called {} here", pmu),
                   fmt::format("`ls {}` lists those that are", pmus_.native()));
    event_.attr.type = static_cast<std::uint32_t>(*type);
    return read_terms(terms, true);
  }

  /// by_name  an event of the PMU's own list may be among them
  Result<void> read_terms(std::string_view terms, bool by_name) {
    for (const std::string_view term : pieces_of(terms, ',')) {
      const std::size_t equals = term.find('=');
      const std::string name(term.substr(0, equals));
      if (name == "name" && equals != std::string_view::npos) {
        event_.name = term.substr(equals + 1);
        continue;
      }
      const std::string listed =
          by_name && equals == std::string_view::npos ? first_line(folder_ / "events" / name) : "";
      if (!listed.empty()) {
        if (auto its_terms = read_terms(listed, false); !its_terms) return its_terms;
        continue;
      }
      const auto value =
          equals == std::string_view::npos ? std::optional<std::uint64_t>(1) : number_of(term.substr(equals + 1));
      std::string format = first_line(folder_ / "format" / name);
      if (format.empty() && (name == "config" || name == "config1" || name == "config2")) format = name + ":0-63";
      if (format.empty() || !value)
        return wrong(fmt::format("the PMU knows no {}", term),
                     fmt::format("`ls {0}/events {0}/format`", folder_.native()));
      if (!place_bits(format, *value, event_.attr))
        return wrong(fmt::format("{} is too large: the field is {}", term, format), "");
    }
    return {};
  }

  Result<void> modify(std::string_view modifiers) {
    bool user = false, kernel = false, hypervisor = false;
    unsigned precise = 0;
    for (const char letter : modifiers) {
      switch (letter) {
        case 'u': user = true; break;
        case 'k': kernel = true; break;
        case 'h': hypervisor = true; break;
        case 'p': ++precise; break;
        case 'P': event_.most_precise = true; break;
        case 'G': event_.attr.exclude_host = 1; break;
        case 'H': event_.attr.exclude_guest = 1; break;
        case 'D': event_.attr.pinned = 1; break;
        case 'e': event_.attr.exclusive = 1; break;
        default:
          return wrong(fmt::format("no modifier {}", letter), "u, k, h, p, P, G, H, D, e, as perf-list(1) has them");
      }
    }
    if (precise > 3) return wrong("p is given more than three times", "ppp is the most");
    event_.attr.precise_ip = precise & 3u;
    event_.rings_said = user || kernel || hypervisor;
    if (event_.rings_said) {
      event_.attr.exclude_user = !user;
      event_.attr.exclude_kernel = !kernel;
      event_.attr.exclude_hv = !hypervisor;
    }
    return {};
  }

  std::string_view typed_;
  const std::filesystem::path& pmus_;
  std::filesystem::path folder_;
  KernelEvent event_;
};

/// Cuts a list at the commas that stand neither in a PMU's terms nor in a group.
class List {
 public:
  List(std::string_view text, const std::filesystem::path& pmus) : text_(text), pmus_(pmus) {}

  Result<std::vector<KernelEvent>> read() {
    bool in_terms = false;
    std::size_t leader = kNoGroup;
    std::size_t start = 0;
    for (std::size_t i = 0; i <= text_.size(); ++i) {
      const char c = i < text_.size() ? text_[i] : ',';
      if (c == '/') in_terms = !in_terms;
      const bool end = i == text_.size() || (!in_terms && (c == ',' || c == '}'));
      if (!in_terms && c == '{') {
        if (leader != kNoGroup || i != start) return wrong("a group may not stand in a name or in another group");
        leader = events_.size();
        start = i + 1;
      }
      if (!end) continue;
      if (i > start) {
        if (auto added = add(text_.substr(start, i - start), leader); !added) return added.error();
      } else if (c == ',' && (i == 0 || text_[i - 1] != '}')) {
        return wrong("an event is missing at a comma");
      }
      if (c == '}' && i < text_.size()) {
        if (leader == kNoGroup) return wrong("a } without its {");
        leader = kNoGroup;
      }
      start = i + 1;
    }
    if (leader != kNoGroup) return wrong("a { without its }");
    return events_;
  }

 private:
  static constexpr std::size_t kNoGroup = SIZE_MAX;

  Error wrong(std::string_view what) const {
    return {fmt::format("-e {}: {}", text_, what), "for example cpu-clock,{cycles:u,instructions:u}"};
  }
  Result<void> add(std::string_view typed, std::size_t leader) {
    auto event = EventReader(typed, pmus_).read();
    if (!event) return event.error();
    event->leader = leader == kNoGroup ? events_.size() : leader;
    events_.push_back(*std::move(event));
    return {};
  }

  std::string_view text_;
  const std::filesystem::path& pmus_;
  std::vector<KernelEvent> events_;
};

}  // namespace

Result<std::vector<KernelEvent>> parse_kernel_events(std::string_view list, const std::filesystem::path& pmus) {
  return List(list, pmus).read();
}

std::vector<std::string> kernel_event_names() {
  std::vector<std::string> names;
  for (const Row& row : kRows) {
    for (const std::string_view one : items_of(row.names, ' ')) names.emplace_back(one);
  }
  for (const auto& [cache, id] : kCaches) {
    for (const auto& [use, code] : kCacheUses) names.push_back(fmt::format("{}-{}", cache, use));
  }
  return names;
}

}  // namespace zs::host
