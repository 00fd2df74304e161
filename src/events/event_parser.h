// What follows -e: an event list, in every spelling that people bring along. Case-blind, and case is kept for output.
//
//   LIST     = ITEM { "," ITEM }
//   ITEM     = EVENT | "{" EVENT { "," EVENT } "}" [ ":" MODIFIERS ]
//   EVENT    = NAME [ ":" MODIFIERS ] | PMU "/" [ TERM { "," TERM } ] "/" [ [ ":" ] MODIFIERS ]
//   NAME     = mem_inst_retired.all_loads          Intel
//            | [skx::]MEM_INST_RETIRED:ALL_LOADS   libpfm4, whose attributes (c=2, i, e, t, u=1) are modifiers
//            | instructions | page-faults | ...    perf (perf_names.h), also as perf::INSTRUCTIONS
//            | r81d0                               perf's raw config, hexadecimal
//            | 0x4181D0                            IA32_PERFEVTSELx as HPCTool is given it
//   PMU      = cpu | ibs_op (TERM: cnt_ctl l3missonly swfilt period=N freq=N name=TEXT) | ibs_fetch (rand_en instead of
//            cnt_ctl) | intel_bts (no TERM)
//   TERM     = event=N umask=N cmask=N inv edge any pc config=N name=TEXT period=N freq=N, or a NAME
//   MODIFIERS: u, p pp ppp, P; D W I H change nothing here; h G S are refused by name, and k but for who sees a kernel
//
// Without :k or :u an event counts ring 3, which is all that a program run by zeroskid retires; both rings where a
// kernel is seen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/cpu_model.h"
#include "arch/events/event.h"
#include "arch/msrs.h"
#include "base/result.h"
#include "session/settings/config.h"

namespace zs::session {

/// One event as asked for.
struct ParsedEvent {
  std::string spelling;  // as typed, modifiers included
  std::string name;      // what output calls it: name=TEXT, else the spelling
  EventKind kind =
      EventKind::Hardware;  // what follows is empty where no counter counts it, but for `select` where is_ibs()

  const arch::Event* row = nullptr;             // null also for FP_ARITH umasks that no row names
  const arch::EventMeaning* meaning = nullptr;  // null also for time
  arch::Tick tick = arch::Tick::None;
  arch::PerfEvtSel select;            // EVENT, UMASK, E, PC, ANY, INV, CMASK, USR; neither EN nor INT
  arch::CounterSet counters;          // that can count it, fixed ones included
  arch::CounterSet precise_counters;  // that can sample it through PEBS

  bool user = true;                     // ring 3
  bool kernel = false;                  // ring 0, which `select` does not say
  int precise = 0;                      // 0: PMI; 1 :p, 2 :pp, 3 :ppp
  bool precise_distribution = false;    // :ppp on instructions
  bool has_address = false;             // its PEBS records carry a data address
  Detail detail = Detail::Exact;        // the least that counts it
  std::uint16_t latency_threshold = 0;  // load latency: core cycles
  std::optional<std::uint64_t> period;
  std::optional<std::uint64_t> frequency;
};

struct EventGroup {
  std::vector<ParsedEvent> events;  // never empty; one event where there were no braces
};

/// A further list of names, asked where the CPU model's own table has none: zeroskid gives libpfm4's. An interface,
/// because zeroskid-run links this layer and must not load that library.
class EventNames {
 public:
  virtual ~EventNames() = default;
  /// The raw config (EVENT, UMASK, E, ANY, INV, CMASK) behind a libpfm4 spelling without attributes.
  virtual std::optional<std::uint64_t> config_of(const arch::CpuModel& cpu, std::string_view name) const = 0;
  /// Every name, as EVENT.UMASK.
  virtual std::vector<std::string> all(const arch::CpuModel& cpu) const = 0;
};

/// ring_0  may be counted, too
/// returns one group per item of the list, in its order, or an error that names the column (1 is the first byte)
Result<std::vector<EventGroup>> parse_events(std::string_view text, const arch::CpuModel& cpu,
                                             const EventNames* more = nullptr, bool ring_0 = false);

inline constexpr std::size_t kLongestEventList = 65536;
inline constexpr std::size_t kMostParsedEvents = 1024;

}  // namespace zs::session
