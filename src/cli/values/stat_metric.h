// A metric among what `zeroskid stat` prints, and how its value is spelled.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "profile/windows/counted_metric.h"
#include "profile/windows/window_table.h"
#include "report/text/json.h"

namespace zs::cli {

/// A number made of the events' counts, printed behind one of them.
struct StatMetric {
  profile::CountedMetric counted;  // its columns are the events
  std::size_t event = 0;
  profile::ValueClass value_class = profile::ValueClass::Exact;
  std::string lacks;  // NotModelled: which event, and what that would need

  std::string_view name() const { return counted.metric().name; }
  bool has_number() const { return value_class != profile::ValueClass::NotModelled; }
};

/// Those that are printed behind the event.
std::vector<const StatMetric*> metrics_behind(const std::vector<StatMetric>& metrics, std::size_t event);

/// Its value for people: "1.250", "4.10%"; "nan" as perf has it, "<not modelled>".
std::string metric_text(const StatMetric& metric, double value);
/// For programs: "1.250000", a share in percent; "nan"; "" where there is none.
std::string metric_number(const StatMetric& metric, double value);
/// "IPC", "%  Frontend_Bound": its name with its scale, where perf prints units.
std::string metric_unit(const StatMetric& metric);

}  // namespace zs::cli
