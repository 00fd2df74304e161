#include "cli/doctor/doctor_page.h"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/items.h"
#include "report/text/json.h"
#include "uarch/core_model.h"

namespace zs::cli {
namespace {

using host::Attempt;
using host::Diagnosis;
using host::Finding;
using host::MachineFacts;
using host::State;

constexpr std::size_t kTextColumn = 24, kPageWidth = 100;
constexpr const char* kUse = "zeroskid record -e instructions:ppp -- PROGRAM";

/// Breaks at blanks; every line after the first starts at kTextColumn.
std::string wrapped(std::string_view text) {
  std::string page;
  std::size_t column = kTextColumn;
  for (const std::string_view word : pieces_of(text, ' ')) {
    if (column > kTextColumn && column + 1 + word.size() > kPageWidth) {
      page += '\n' + std::string(kTextColumn, ' ');
      column = kTextColumn;
    } else if (column > kTextColumn) {
      page += ' ';
      ++column;
    }
    page += word;
    column += word.size();
  }
  return page;
}

std::string line(std::string_view title, std::string_view state, std::string_view why) {
  return fmt::format("{:<17}{:<7}{}\n", title, state, wrapped(why));
}

std::string lines(std::string_view title, const Finding& finding) {
  std::string page = line(title, host::name_of(finding.state), finding.why);
  for (const std::string& remedy : finding.remedies) page += line("", "", "-> " + remedy);
  return page;
}

report::Json json_of(const Finding& finding) {
  return {{"state", host::name_of(finding.state)}, {"why", finding.why}, {"remedies", finding.remedies}};
}

/// null where it worked, else the name of the errno.
report::Json json_of(const Attempt& attempt) {
  if (attempt.worked()) return nullptr;
  return host::errno_name(attempt.error);
}

constexpr const char* kModelled =
    "caches, TLBs, prefetchers, coherence, branch prediction, store buffer; cycles, latencies and top-down slots "
    "estimated";
constexpr const char* kNotModelled =
    "not: wrong paths, assists, hyper-threads, other sockets, the kernel's share; `zeroskid list` "
    "says it of each event, --detail how much is played";

/// Without its version: "skylake-server".
std::string_view short_name(const uarch::CoreModel& core) { return core.name.substr(0, core.name.find('@')); }

/// What of a core the software PMU knows, on this and any machine.
std::string modelled_lines() {
  std::string names;
  for (const uarch::CoreModel& core : uarch::core_models()) {
    if (!names.empty()) names += ", ";
    names += short_name(core);
  }
  return line("modelled core", "sw", kModelled) + line("", "", kNotModelled) + line("", "", "of " + names);
}

report::Json modelled_json() {
  report::Json names = report::Json::array();
  for (const uarch::CoreModel& core : uarch::core_models()) names.push_back(short_name(core));
  return {{"what", kModelled}, {"without", kNotModelled}, {"cpus", names}};
}

std::string translation_lines(const KeptTranslations& kept) {
  if (!kept.unusable.empty()) {
    const std::string where = kept.folder.empty() ? "" : kept.folder + ": ";
    return line("translations", "none", where + kept.unusable + "; each run translates anew") +
           line("", "", "-> a folder of yours with mode 0700 (chmod 700), or --cache-dir FOLDER");
  }
  constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
  return line("translations", "ready",
              fmt::format("{}: {} file{} of former runs, {} MiB", kept.folder, kept.files, kept.files == 1 ? "" : "s",
                          (kept.bytes + kMebibyte - 1) / kMebibyte));
}

report::Json json_of(const KeptTranslations& kept) {
  return {{"folder", kept.folder},
          {"unusable", kept.unusable.empty() ? report::Json(nullptr) : report::Json(kept.unusable)},
          {"files", kept.files},
          {"bytes", kept.bytes}};
}

/// "costs            1.3    times native: counting"
std::string cost_lines(const Costs& costs) {
  std::string page;
  for (const Cost& row : costs.rows)
    page += line(page.empty() ? "costs" : "", times_text(row.times_native), "times native: " + row.name);
  return page + line("", fmt::format("{:.0f} ms", costs.start_ms),
                     fmt::format("to start a process; CPU time, of a program of {:.0f} ms", costs.native_ms));
}

report::Json json_of(const std::optional<Costs>& costs) {
  if (!costs) return nullptr;
  report::Json times = report::Json::object();
  for (const Cost& row : costs->rows) times[row.name] = row.times_native;
  return {{"times_native", times}, {"start_ms", costs->start_ms}, {"native_ms", costs->native_ms}};
}

}  // namespace

std::string doctor_page(const MachineFacts& facts, const Diagnosis& diagnosis, const KeptTranslations& kept,
                        const std::optional<Costs>& costs) {
  std::string page = lines("hardware PMU", diagnosis.hardware);
  page += lines("software PMU", diagnosis.software);
  page += line("precise events", diagnosis.precise_events, diagnosis.precise_why);
  page += line("branch records", diagnosis.branch_records, diagnosis.branch_why);
  page += modelled_lines();
  page += lines("virtual PC", diagnosis.virtual_pc);
  page += facts.stock_perf.empty() ? line("stock perf", "none", "not needed; `zeroskid report` reads the recordings")
                                   : line("stock perf", "ready", facts.stock_perf + " reads the recordings too");
  page += translation_lines(kept);
  if (costs) page += cost_lines(*costs);
  if (diagnosis.software.state == State::Ready) page += fmt::format("Use: {}\n", kUse);
  return page;
}

std::string doctor_json(const MachineFacts& facts, const Diagnosis& diagnosis, const KeptTranslations& kept,
                        const std::optional<Costs>& costs) {
  using report::Json;
  const host::CpuidFacts& cpuid = facts.cpuid;
  Json json;
  json["schema"] = "zeroskid-doctor";
  json["version"] = 1;
  json["backends"] = {{"hardware", json_of(diagnosis.hardware)},
                      {"software", json_of(diagnosis.software)},
                      {"virtual_pc", json_of(diagnosis.virtual_pc)}};
  json["precise_events"] = {{"backend", diagnosis.precise_events}, {"why", diagnosis.precise_why}};
  json["branch_records"] = {{"backend", diagnosis.branch_records}, {"why", diagnosis.branch_why}};
  json["modelled_core"] = modelled_json();

  Json leaf_a = nullptr;
  if (cpuid.perfmon_leaf)
    leaf_a = {{"version", cpuid.perfmon_version},
              {"general_counters", cpuid.general_counters},
              {"general_bits", cpuid.general_bits},
              {"fixed_counters", cpuid.fixed_counters}};
  json["machine"] = {
      {"kernel", facts.kernel},
      {"cpu_vendor", cpuid.vendor},
      {"cpu_brand", cpuid.brand},
      {"family", cpuid.family},
      {"model", cpuid.model},
      {"stepping", cpuid.stepping},
      {"hypervisor", cpuid.hypervisor ? Json(host::hypervisor_name(cpuid)) : Json(nullptr)},
      {"cpuid_0a", leaf_a},
      {"debug_store", cpuid.debug_store},
      {"avx512", cpuid.avx512},
      {"xcr0", fmt::format("{:#x}", cpuid.xcr0)},
      {"container", facts.container.empty() ? Json(nullptr) : Json(facts.container)},
      {"seccomp_mode", facts.seccomp_mode},
      {"stock_perf", facts.stock_perf.empty() ? Json(nullptr) : Json(facts.stock_perf)},
  };
  json["perf_event_open"] = {
      {"paranoid", facts.perf.paranoid ? Json(*facts.perf.paranoid) : Json(nullptr)},
      {"may_bypass_paranoid", facts.perf.may_bypass_paranoid},
      {"software_event_error", json_of(facts.perf.software_event)},
      {"instructions_error", json_of(facts.perf.instructions)},
      {"precise_error", json_of(facts.perf.precise)},
      {"branch_stack_error", json_of(facts.perf.branch_stack)},
      {"loop_instructions", facts.perf.loop_instructions},
      {"loop_counted", facts.perf.counted},
  };
  json["engine"] = {
      {"low_window_error", json_of(facts.engine.low_window)},
      {"low_window", fmt::format("{:#x}", facts.engine.window_start)},
      {"low_window_bytes", facts.engine.window_bytes},
      {"mmap_min_addr", facts.engine.mmap_min_addr ? Json(*facts.engine.mmap_min_addr) : Json(nullptr)},
      {"memfd_error", json_of(facts.engine.memfd)},
      {"writable_code_error", json_of(facts.engine.writable_code)},
      {"fsgsbase", facts.engine.fsgsbase_enabled},
      {"descriptor_limit", facts.engine.descriptor_limit},
  };
  json["translations"] = json_of(kept);
  json["costs"] = json_of(costs);
  return json.dump(2, true) + "\n";
}

}  // namespace zs::cli
