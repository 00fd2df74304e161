#include "cli/command/perf_options.h"

#include <algorithm>

#include "base/items.h"
#include "cli/command/perf_option_tables.h"

namespace zs::cli {
namespace {

/// Whose options perf's verb has: its own come first.
struct VerbRows {
  std::string_view verb;
  const std::span<const PerfOption>*own, *passed_on = nullptr;
};
constexpr VerbRows kRowsOfVerbs[] = {
    {"record", &kPerfRecord},
    {"stat", &kPerfStat},
    {"mem record", &kPerfMemRecord, &kPerfRecord},
    {"trace", &kPerfTrace},
    {"report", &kPerfReport},
    {"c2c record", &kPerfC2cRecord, &kPerfRecord},
    {"script", &kPerfScript},
    {"annotate", &kPerfAnnotate},
    {"mem report", &kPerfMemReport, &kPerfReport},
    {"list", &kPerfList},
    {"c2c report", &kPerfC2cReport},
};

// clang-format off
constexpr PerfVerb kPerfVerbs[] = {
    {"archive",       "copy the recording and the programs it names: report --symfs DIR reads them from DIR"},
    {"bench",         "perf bench measures the kernel; it runs under zeroskid stat and record as any program"},
    {"buildid-cache", "programs are looked for where they were, and in ~/.debug; perf buildid-cache fills that"},
    {"buildid-list",  "perf buildid-list -i FILE reads recordings of zeroskid"},
    {"config",        "there is no file of settings: options and environment say all"},
    {"daemon",        "zeroskid record runs until its program ends"},
    {"data",          "zeroskid script prints samples as text; perf data convert reads recordings of zeroskid"},
    {"diff",          "zeroskid stat --virtual-time of both, or perf diff OLD NEW, which reads recordings of zeroskid"},
    {"evlist",        "zeroskid report --header-only lists the events of a recording"},
    {"ftrace",        "it traces the kernel's functions; zeroskid trace records those of a program"},
    {"inject",        "zeroskid record knows the code of JIT compilers and the build ids by itself"},
    {"iostat",        "no model has I/O counters"},
    {"kallsyms",      "/proc/kallsyms has the kernel's symbols"},
    {"kmem",          "it traces the kernel's allocations; zeroskid mem record names blocks of the program's heap"},
    {"kvm",           "zeroskid linux --record samples a guest's kernel and programs from outside"},
    {"kwork",         "it traces the kernel's work"},
    {"lock",          "it traces locks of the kernel; zeroskid c2c record shows what threads wait for each other"},
    {"probe",         "zeroskid stat --region FUNCTION counts between places, without changing the program"},
    {"sched",         "it traces the kernel's scheduler"},
    {"test",          "zeroskid doctor says what works here"},
    {"timechart",     "zeroskid plot draws what zeroskid stat -I wrote"},
    {"top",           "zeroskid record PROGRAM; zeroskid report. A running process: zeroskid record -p PID"},
    {"version",       "zeroskid --version"},
};
// clang-format on

}  // namespace

std::vector<PerfOption> perf_options(std::string_view verb) {
  const auto rows = std::ranges::find(kRowsOfVerbs, verb, &VerbRows::verb);
  if (rows == std::end(kRowsOfVerbs)) return {};
  std::vector<PerfOption> all(rows->own->begin(), rows->own->end());
  if (rows->passed_on == nullptr) return all;
  const auto is_own = [&](std::string_view name) {
    for (const PerfOption& own : *rows->own) {
      for (const std::string_view one : items_of(own.names, ' ')) {
        if (one == name) return true;
      }
    }
    return false;
  };
  for (PerfOption row : *rows->passed_on) {
    const std::size_t first = std::min(row.names.find(' '), row.names.size());
    if (first < row.names.size() && is_own(row.names.substr(first + 1))) row.names = row.names.substr(0, first);
    if (is_own(row.names.substr(0, first))) row.names.remove_prefix(std::min(first + 1, row.names.size()));
    if (!row.names.empty()) all.push_back(row);
  }
  return all;
}

std::span<const PerfVerb> perf_verbs() { return kPerfVerbs; }

}  // namespace zs::cli
