#include "engine/visits.h"

#include <initializer_list>
#include <utility>

namespace zs::engine {
namespace {

std::string list(std::initializer_list<std::pair<std::uint64_t, const char*>> numbers) {
  std::string out;
  for (const auto& [number, what] : numbers) out += (out.empty() ? "" : ", ") + std::to_string(number) + " " + what;
  return out;
}

}  // namespace

std::string Visits::text() const {
  std::uint64_t all = 0;
  for (const std::uint64_t number : left) all += number;
  const auto by = [this](ExitReason reason) { return left[static_cast<std::size_t>(reason)]; };
  const std::string reasons = list({{by(ExitReason::Unlinked), "unlinked"},
                                    {by(ExitReason::StepDone), "stepped"},
                                    {by(ExitReason::IndirectMiss), "indirect"},
                                    {by(ExitReason::Guard), "guard"},
                                    {by(ExitReason::Fault), "fault"},
                                    {by(ExitReason::Stopped), "stopped"}});
  const std::string next = list(
      {{full, "full"}, {quiet, "quiet"}, {logged, "logged"}, {near, "near"}, {bounded, "bounded"}, {step, "step"}});
  return std::to_string(all) + " visits (" + reasons + ") into " + next + "; " + std::to_string(passed) +
         " overflow points passed";
}

}  // namespace zs::engine
