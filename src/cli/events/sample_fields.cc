#include "cli/events/sample_fields.h"

#include <algorithm>
#include <cctype>

#include "arch/events/event.h"
#include "base/items.h"
#include "base/number.h"
#include "cli/command/words.h"
#include "profile/perf_data/perf_data.h"
#include "session/wire/wire.h"

namespace zs::cli {
namespace {

using session::Callchain;

constexpr std::uint32_t kUsualStackBytes = 8192;

}  // namespace

profile::CallchainMode mode_in_file(Callchain mode) {
  switch (mode) {
    case Callchain::None: return profile::CallchainMode::None;
    case Callchain::Exact:
    case Callchain::FramePointers: return profile::CallchainMode::FramePointers;
    case Callchain::Dwarf: return profile::CallchainMode::Dwarf;
    case Callchain::LbrCallStack: return profile::CallchainMode::LastBranches;
  }
  return profile::CallchainMode::None;
}

Result<CallchainChoice> parse_callchain(const std::string& text) {
  if (text == "exact") return CallchainChoice{.mode = Callchain::Exact};
  if (text == "fp") return CallchainChoice{.mode = Callchain::FramePointers};
  if (text == "lbr") return CallchainChoice{.mode = Callchain::LbrCallStack};
  if (text == "dwarf") return CallchainChoice{.mode = Callchain::Dwarf, .stack_bytes = kUsualStackBytes};
  if (text.starts_with("dwarf,")) {
    constexpr std::uint32_t kMostOfPerf = 65528;
    const std::uint32_t bytes = whole_number<std::uint32_t>(std::string_view(text).substr(6)).value_or(0);
    if (bytes == 0 || bytes > kMostOfPerf) {
      return Error{"--call-graph " + text + ": the stack size must be a number up to " + std::to_string(kMostOfPerf),
                   "--call-graph dwarf takes " + std::to_string(kUsualStackBytes)};
    }
    const std::uint32_t rounded = (bytes + 7) / 8 * 8;
    return CallchainChoice{
        .mode = Callchain::Dwarf, .stack_bytes = std::min(rounded, session::kMaxUserStack), .asked_bytes = rounded};
  }
  return Error{"--call-graph " + text + ": no such way to get call chains", "exact, fp, dwarf, dwarf,SIZE, or lbr"};
}

std::vector<std::string> register_names() {
  namespace perf = profile::perf;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < perf::kNamedRegisters; ++i) {
    if ((perf::kAllGeneralRegisters >> i & 1) == 0) continue;
    std::string& name = names.emplace_back(perf::kRegisterNames[i]);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  }
  return names;
}

Result<std::uint64_t> parse_registers(const std::string& text) {
  if (text == "none") return 0;
  namespace perf = profile::perf;
  if (text == "true") return perf::kAllGeneralRegisters;
  std::uint64_t mask = 0;
  for (const std::string_view name : items_of(text)) {
    std::uint64_t bit = 0;
    for (std::size_t i = 0; i < perf::kNamedRegisters; ++i) {
      if ((perf::kAllGeneralRegisters >> i & 1) == 0) continue;
      if (arch::equal_case_blind(perf::kRegisterNames[i], name)) bit = std::uint64_t{1} << i;
    }
    if (bit == 0)
      return Error{"--intr-regs: no register " + std::string(name), "registers: " + joined(register_names())};
    mask |= bit;
  }
  return mask;
}

}  // namespace zs::cli
