#include "profile/perf_data/file_traces.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace zs::profile {

std::optional<Error> FileTraces::read_info(ByteReader& body) {
  ByteReader ahead = body;
  kind_ = ahead.read<std::uint32_t>();
  if (!is_branches()) return std::nullopt;
  info_ = body.read<perf::BranchTraceInfo>();
  if (body.ok() && info_.time_shift > 63) body.fail(fmt::format("has a clock of 2^{} ticks", info_.time_shift));
  if (!body.ok()) return body.error("AUXTRACE_INFO record");
  return std::nullopt;
}

std::optional<Error> FileTraces::read_piece(ByteReader& body) {
  if (!is_branches()) {
    bytes_ += body.read<std::uint64_t>();
    return std::nullopt;
  }
  const auto piece = body.read_if<perf::AuxtraceBody>(true);
  if (body.ok() && piece->bytes % sizeof(arch::BtsRecord) != 0) {
    body.fail(fmt::format("has {} bytes, no whole number of BTS records of {}", piece->bytes, sizeof(arch::BtsRecord)));
  }
  if (!body.ok()) return body.error("piece of a branch trace");
  bytes_ += piece->bytes;
  return std::nullopt;
}

void FileTraces::read_aux(ByteReader& body) {
  const auto aux = body.read<perf::AuxBody>();
  if (body.ok() && (aux.flags & perf::AuxBody::kTruncated) != 0) ++pieces_cut_;
}

std::string_view FileTraces::kind() const {
  static constexpr std::string_view kinds[] = {"an unknown unit", "Intel PT",    "Intel BTS",    "ARM CoreSight",
                                               "ARM SPE",         "s390 cpumsf", "HiSilicon PTT"};
  if (bytes_ == 0 && kind_ == 0) return "";
  return kinds[kind_ < std::size(kinds) ? kind_ : 0];
}

std::uint64_t FileTraces::time_ns_of(std::uint64_t reference) const {
  const std::uint64_t whole = reference >> info_.time_shift;
  const std::uint64_t rest = reference & ((std::uint64_t{1} << info_.time_shift) - 1);
  return info_.time_zero + whole * info_.time_multiplier + (rest * info_.time_multiplier >> info_.time_shift);
}

FileEvent& FileTraces::make_event(FileEvents& events) {
  for (std::uint32_t event = 0; event < events.size(); ++event) {
    if (events[event].attr.type == info_.pmu_type) event_ = event;
  }
  namespace field = perf::sample_field;
  constexpr std::uint64_t kBranchInstructions = 4;
  FileEvent& event = events[event_];
  event.traced_as = std::exchange(event.name, "branches:uH");
  event.attr.type = static_cast<std::uint32_t>(perf::EventType::Hardware);
  event.attr.config = kBranchInstructions;
  event.attr.sample_period = 1;
  event.attr.sample_type = field::ip | field::tid | field::period | field::address;
  event.attr.sample_regs_intr = 0;
  return event;
}

void FileTraces::give(const TracedBranches& piece, Record& record,
                      const std::function<void(const Record&)>& take) const {
  if (wanted_ == Traces::Pieces) {
    record = piece;
    take(record);
    return;
  }
  SampleRecord& sample = record.emplace<SampleRecord>();
  sample.sample.event = event_;
  sample.sample.pid = piece.pid;
  sample.sample.tid = piece.tid;
  sample.sample.time_ns = piece.time_ns;
  sample.sample.period = 1;
  for_each_branch(piece.records, [&](std::uint64_t from, std::uint64_t to) {
    sample.sample.ip = from;
    sample.sample.address = to;
    sample.cpumode = from >> 63 != 0 ? perf::misc::kernel : perf::misc::user;
    take(record);
  });
}

std::vector<std::string> FileTraces::remarks() const {
  std::vector<std::string> all;
  if (!has_branches()) return all;
  if (pieces_cut_ != 0) {
    all.push_back(fmt::format("branches were lost while it was recorded: {} piece{} of the trace {} marked as cut",
                              pieces_cut_, pieces_cut_ == 1 ? "" : "s", pieces_cut_ == 1 ? "is" : "are"));
  }
  if (info_.snapshot != 0) all.emplace_back("snapshots of a trace may overlap: a branch can be in it twice");
  return all;
}

}  // namespace zs::profile
