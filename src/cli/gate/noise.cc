#include "cli/gate/noise.h"

#include <fmt/format.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "cli/command/verb.h"
#include "cli/command/words.h"
#include "cli/gate/counted_run.h"
#include "isa/decode.h"
#include "report/text/fit.h"
#include "report/text/markup.h"
#include "report/trace/branch_counts.h"

namespace zs::cli {
namespace {

using report::Step;

constexpr std::size_t kLineWidth = 80, kMostThreads = 15;

/// What differs between machines, users and folders, and the calls of the kernel that ask for it.
struct LeftAsItIs {
  std::string_view what;
  std::initializer_list<std::uint32_t> calls;
};
constexpr LeftAsItIs kLeftAsItIs[] = {
    {"user and groups",
     {SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getgroups, SYS_getresuid, SYS_getresgid}},
    {"umask", {SYS_umask}},
    {"limits", {SYS_getrlimit, SYS_prlimit64}},
    {"processors that a thread pins itself to", {SYS_sched_setaffinity}},
    {"order of a large folder's entries", {SYS_getdents, SYS_getdents64}},
    {"numbers, times and owners of files", {SYS_stat, SYS_fstat, SYS_lstat, SYS_newfstatat, SYS_statx}},
    {"room on file systems", {SYS_statfs, SYS_fstatfs}},
    {"what comes by network", {SYS_connect, SYS_accept, SYS_accept4, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg}},
};

/// Which call of the kernel a step ends with, if the number is loaded in that step.
std::optional<std::uint32_t> call_of(const Step& step) {
  const profile::Dso* const dso = step.begin.location.dso;
  if (step.flow != isa::Flow::Syscall || step.known != report::Known::Whole || dso->image == nullptr) return {};
  const Bytes bytes = dso->image->code(step.begin.location.image_address, step.from.address - step.begin.address);
  const std::span<const std::uint8_t> code(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  constexpr std::uint8_t kMovEax = 0xB8;
  std::optional<std::uint32_t> number;
  for (std::size_t at = 0; at < code.size();) {
    const auto insn = isa::decode(at, code.subspan(at));
    if (!insn) return {};
    if (insn->bytes[0] == kMovEax && insn->length == 5) {
      std::uint32_t loaded = 0;
      std::memcpy(&loaded, &insn->bytes[1], sizeof loaded);
      number = loaded;
    } else if (insn->mentions(isa::kRax)) {
      number.reset();
    }
    at += insn->length;
  }
  return number;
}

std::string text_of(const report::TracedPlace& place) {
  const std::string file = place.location.dso != nullptr ? place.location.dso->short_name : "no file";
  const std::string name = report::shortened(report::printable_text(place.function->name), kLineWidth / 2);
  return fmt::format("{}+{:#x} ({})", name, place.location.offset_in_symbol(), report::printable_text(file));
}

std::string side_text(const Step* step) {
  return step == nullptr ? "ends there" : "goes from " + text_of(step->from) + " to " + text_of(step->to);
}

struct Parting {
  std::int32_t thread = 0;
  std::size_t same = 0;                         // branches before
  const Step *one = nullptr, *other = nullptr;  // what follows in each run; null: nothing
};

/// The branches of one run by thread, and where those of another differ from them.
class TwoRuns {
 public:
  TwoRuns(const profile::PerfDataReader& one, const profile::PerfDataReader& other) {
    symbolizer_.expect(one);
    walk(one, one_, [this](std::int32_t thread, const Step& step) {
      threads_[thread].push_back(&step);
      ++branches_;
    });
    constexpr std::size_t kParted = std::numeric_limits<std::size_t>::max();
    std::map<std::int32_t, std::size_t> seen;
    walk(other, other_, [&](std::int32_t thread, const Step& step) {
      std::size_t& at = seen[thread];
      if (at == kParted) return;
      const std::vector<const Step*>& steps = threads_[thread];
      const Step* const there = at < steps.size() ? steps[at] : nullptr;
      if (there != nullptr && there->from.address == step.from.address && there->to.address == step.to.address) {
        ++at;
      } else {
        partings_.push_back({thread, at, there, &step});
        at = kParted;
      }
    });
    for (const auto& [thread, steps] : threads_) {
      if (seen[thread] < steps.size()) partings_.push_back({thread, seen[thread], steps[seen[thread]], nullptr});
    }
  }

  const std::vector<Parting>& partings() const { return partings_; }
  std::uint64_t branches() const { return branches_; }

  std::string text(const Parting& parting) const {
    const std::span before(threads_.at(parting.thread).data(), parting.same);
    const auto is_call = [](const Step* step) { return step->flow == isa::Flow::Syscall; };
    const auto call = std::find_if(before.rbegin(), before.rend(), is_call);
    std::string text = fmt::format("\n thread {}, after {} branches that are the same\n", parting.thread,
                                   with_thousands(parting.same));
    if (call != before.rend()) {
      const auto number = call_of(**call);
      text += "   last system call: " + (number ? fmt::format("{}, ", *number) : "") + text_of((*call)->from) + "\n";
    }
    if (!before.empty()) text += "   both are at " + text_of(before.back()->to) + "\n";
    return text + "   one " + side_text(parting.one) + "\n   the other " + side_text(parting.other) + "\n";
  }

  /// Where the first run makes one of these calls first.
  const Step* asks(const LeftAsItIs& what) const {
    for (const Step& step : one_.steps().all()) {
      const auto number = call_of(step);
      if (number && std::ranges::find(what.calls, *number) != what.calls.end()) return &step;
    }
    return nullptr;
  }

 private:
  static void walk(const profile::PerfDataReader& reader, report::BranchCounts& run,
                   const report::BranchCounts::Visit& visit) {
    reader.for_each(profile::PerfDataReader::Order::Time,
                    [&](const profile::Record& record) { run.take(record, visit); });
  }

  profile::Symbolizer symbolizer_;
  report::BranchCounts one_{symbolizer_}, other_{symbolizer_};
  std::map<std::int32_t, std::vector<const Step*>> threads_;
  std::vector<Parting> partings_;
  std::uint64_t branches_ = 0;  // of the first
};

}  // namespace

Result<bool> explain_noise(const StatOptions& options, Output& output) {
  const auto one = run_again(kTraceVerb, options), other = one ? run_again(kTraceVerb, options) : one.error();
  if (!other) return other.error();
  const TwoRuns runs(*one, *other);
  const std::vector<Parting>& partings = runs.partings();
  std::string text =
      "\n zeroskid check --explain-noise of '" + report::printable_text(joined(options.program)) + "': " +
      (partings.empty() ? fmt::format("two runs take the same {} branches", with_thousands(runs.branches()))
                        : "two runs part") +
      "\n";
  for (std::size_t i = 0; i < std::min(partings.size(), kMostThreads); ++i) text += runs.text(partings[i]);
  if (partings.size() > kMostThreads) text += fmt::format("\n and {} threads more\n", partings.size() - kMostThreads);

  text += "\n Virtual time leaves as they are, and the program asks for:\n";
  std::vector<std::string> unasked;
  for (const LeftAsItIs& what : kLeftAsItIs) {
    if (const Step* const step = runs.asks(what)) {
      text += fmt::format("   {}, at {}\n", what.what, text_of(step->from));
    } else {
      unasked.emplace_back(what.what);
    }
  }
  if (!unasked.empty()) text += " and it does not ask for: " + joined(unasked, "; ") + "\n";
  output.add(report::folded(text, kLineWidth) + "\n");
  return !partings.empty();
}

}  // namespace zs::cli
