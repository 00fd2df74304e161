// libpfm4, loaded at the first question. Its tables hold 41,000 pointers that the loader would relocate at every start
// of zeroskid, and most starts ask only for names that our own tables know.
#pragma once

#include <perfmon/pfmlib.h>

namespace zs::cli {

struct PfmLibrary {
  decltype(&::pfm_initialize) initialize = nullptr;
  decltype(&::pfm_terminate) terminate = nullptr;
  decltype(&::pfm_get_event_encoding) get_event_encoding = nullptr;
  decltype(&::pfm_get_pmu_info) get_pmu_info = nullptr;
  decltype(&::pfm_get_event_next) get_event_next = nullptr;
  decltype(&::pfm_get_event_info) get_event_info = nullptr;
  decltype(&::pfm_get_event_attr_info) get_event_attr_info = nullptr;

  /// The library, until the process ends; null where it is not installed.
  static const PfmLibrary* get();
};

}  // namespace zs::cli
