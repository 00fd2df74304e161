#include "cli/verbs.h"

namespace zs::cli {

std::span<const Verb* const> verbs() {
  static constexpr const Verb* kVerbs[] = {
      &kStatVerb,
      &kRecordVerb,
      &kReportVerb,
      &kAnnotateVerb,
      &kScriptVerb,
      &kListVerb,
      &kDoctorVerb,
  };
  return kVerbs;
}

}  // namespace zs::cli
