#include "cli/command/verbs.h"

namespace zs::cli {

std::span<const Verb* const> verbs() {
  // clang-format off
  static constexpr const Verb* kVerbs[] = {
      &kStatVerb,
      &kTopdownVerb,
      &kRecordVerb,
      &kProfileVerb,
      &kReportVerb,
      &kMemVerb,
      &kC2cVerb,
      &kTraceVerb,
      &kAnnotateVerb,
      &kScriptVerb,
      &kPlotVerb,
      &kListVerb,
      &kDoctorVerb,
      &kCalibrateVerb,
      &kBootVerb,
      &kLinuxVerb,
  };
  // clang-format on
  return kVerbs;
}

}  // namespace zs::cli
