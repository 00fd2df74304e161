// What perf stat prints behind the counts of some events, wherever the events that it needs are counted beside them.
// source: perf-stat(1) of Linux 6.1, section "shadow statistics" as it prints them.
#pragma once

#include <span>

#include "arch/metrics/metric.h"

namespace zs::cli {

/// Rows whose formulas are over perf's event names. A rate is of the first event in it.
std::span<const arch::Metric> perf_rates();

}  // namespace zs::cli
