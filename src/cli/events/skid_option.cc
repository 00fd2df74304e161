#include "cli/events/skid_option.h"

#include <charconv>

#include "arch/events/tables.h"
#include "arch/msrs.h"
#include "session/driver/skid_replay.h"

namespace zs::cli {
namespace {

using session::EventSpec;
using session::Skid;

/// Leaves room for sums, and is longer than any run.
constexpr std::uint64_t kLongest = std::uint64_t{1} << 60;
constexpr const char* kOfWindows = "--skid 85: instructions; --skid pmi: as a real interrupt is late";
constexpr const char* kOfSamples =
    "--skid pmi: as a real interrupt is late; --skid 85: by so many instructions; --skid pebs, --skid pdist: as PEBS";

Result<SkidChoice> parse(const std::string& text, bool of_samples) {
  const char* const spellings = of_samples ? kOfSamples : kOfWindows;
  if (text == "pmi" || text == "dist") {  // dist: what it was called when windows alone had it
    return SkidChoice{.skid = Skid::Distribution,
                      .late_by = "5 to 205 instructions, as one machine was seen to (median 78)"};
  }
  if (text == "pebs" || text == "pdist") {
    if (!of_samples)
      return Error{"--skid " + text + ": an interrupt ends a window; PEBS writes records, and ends none", spellings};
    return SkidChoice{.skid = text == "pebs" ? Skid::Armed : Skid::Precise};
  }
  if (text.starts_with('-')) return Error{"--skid " + text + ": no interrupt is early", spellings};
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  if (failure == std::errc::result_out_of_range || number > kLongest)
    return Error{"--skid " + text + ": too large", "at most " + std::to_string(kLongest)};
  if (failure != std::errc() || stop != end) {
    return Error{
        "--skid " + text + ": neither a number of instructions nor " + (of_samples ? "pmi, pebs or pdist" : "pmi"),
        spellings};
  }
  return SkidChoice{
      .skid = Skid::Fixed, .instructions = number, .late_by = text + (number == 1 ? " instruction" : " instructions")};
}

/// returns what is wrong with sampling it late
Result<void> check(const EventSpec& event, const std::string& option, bool by_pebs, const arch::CpuModel& model) {
  if (event.kind != session::EventKind::Hardware) {
    return Error{event.name + ": no counter of the PMU's overflows, which " + option + " would be late after",
                 "-e instructions, or another event that `zeroskid list` calls precise"};
  }
  if (event.precise != 0) {
    return Error{event.name + " and " + option + " exclude each other: both say which instruction a sample shows",
                 "leave the :p out"};
  }
  const arch::Event* const row = arch::find_event(model, arch::PerfEvtSel{event.select});
  const bool is_precise =
      row != nullptr && (row->precise == arch::Precise::Yes || row->precise == arch::Precise::Distribution);
  if (row != nullptr && row->precise == arch::Precise::Always) {
    return Error{event.name + ": " + std::string(model.name) + " counts it through PEBS alone, and " + option +
                     " replays what happens to counters",
                 "-e mem_inst_retired.all_loads, or another event that `zeroskid list` calls precise"};
  }
  if (by_pebs && !model.has_pebs())
    return Error{option + ": " + std::string(model.name) + " has no PEBS", "--skid pmi, or another --model"};
  // What the core model tells of may belong to a time and to no instruction.
  const bool of_an_instruction =
      is_precise || (row != nullptr && row->tick == arch::Tick::None && event.detail == session::Detail::Exact);
  if (!of_an_instruction) {
    return Error{event.name + ": belongs to no instruction that " + option + " could be late after",
                 "-e instructions, or another event that `zeroskid list` calls precise"};
  }
  return {};
}

}  // namespace

Result<SkidChoice> parse_window_skid(const std::string& text) { return parse(text, false); }

Result<std::string> set_sample_skid(const std::string& text, const arch::CpuModel& model,
                                    session::RecordingConfig& config) {
  const auto choice = parse(text, true);
  if (!choice) return choice.error();
  const bool by_pebs = !session::is_late_interrupt(choice->skid);
  for (const EventSpec& event : config.events) {
    if (auto fits = check(event, "--skid " + text, by_pebs, model); !fits) return fits.error();
  }
  config.skid = choice->skid;
  config.skid_instructions = choice->instructions;
  if (choice->skid == Skid::Armed) {
    return "pebs: an overflow arms, and the next event behind " + std::to_string(session::SkidReplay::kShadow) +
           " instructions is recorded (modelled)";
  }
  if (choice->skid == Skid::Precise) return std::string("pdist: the instruction that overflows is recorded (exact)");
  const std::string seed = choice->skid == Skid::Distribution ? "; seed " + std::to_string(config.seed) : "";
  return (choice->skid == Skid::Fixed ? "" : "pmi: ") + ("interrupts are late by " + choice->late_by) +
         (choice->skid == Skid::Fixed ? " (chosen)" : " (modelled)") + seed;
}

}  // namespace zs::cli
