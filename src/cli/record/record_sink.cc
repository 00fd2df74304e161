#include "cli/record/record_sink.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <span>
#include <utility>

#include "arch/records/bts.h"
#include "base/units.h"
#include "cli/command/say.h"
#include "cli/run/detail_choice.h"
#include "profile/symbols/jit_map.h"

namespace zs::cli {
namespace {

using session::Origin;

void add(session::Statistics& sum, const session::Statistics& more) {
  sum.pmis += more.pmis;
  sum.records += more.records;
  sum.lost += more.lost;
  sum.filtered += more.filtered;
}

}  // namespace

RecordSink::RecordSink(profile::PerfDataWriter writer, bool virtual_time, std::size_t estimated, TraceBound bound)
    : writer_(std::move(writer)), units_(0, estimated) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);  // what files' times are told by
  began_at_ns_ = now.tv_sec * 1'000'000'000 + now.tv_nsec;
  const auto parent = std::filesystem::path(writer_.path()).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (bound.any()) last_branches_.emplace(bound, profile::PerfDataWriter::kBytesBesidesBranches, folder);
  if (!virtual_time) return;
  order_ = std::make_unique<ProcessOrder>(
      folder, [this](session::Message&& message) { std::visit([this](auto& m) { take(m); }, message); });
}

void RecordSink::receive(session::Message&& message) {
  if (order_ != nullptr) return keep(order_->receive(std::move(message)));
  std::visit([this](auto& m) { take(m); }, message);
}

void RecordSink::breathe() { keep(writer_.flush()); }

/// Remembers the first error and tells of it at once: the program may run for hours yet.
void RecordSink::keep(const Result<void>& result) {
  if (result || error_) return;
  error_ = result.error();
  error_is_told_ = say(*error_);
  say("the program runs on, unrecorded");
}

void RecordSink::take(session::Sample& sample) {
  if (times_ != nullptr && !times_->includes(sample.time_ns)) {
    ++of_other_times_;
    return;
  }
  ++samples_;
  keep(writer_.sample(sample));
}

void RecordSink::take(session::Hello& hello) {
  if (times_ != nullptr) times_->begin(hello.origin.time_ns);
  if (hello.exec) waiting_exits_.erase(hello.origin.pid);
  units_.receive(session::Hello(hello));
}

void RecordSink::take(session::Comm& comm) {
  const Origin& o = comm.origin;
  keep(writer_.comm(
      {.pid = o.pid, .tid = o.tid, .time_ns = o.time_ns, .name = std::move(comm.comm), .exec = comm.exec}));
}

void RecordSink::take(session::Mmap& mmap) {
  const Origin& o = mmap.origin;
  keep(writer_.mmap({.pid = o.pid,
                     .tid = o.tid,
                     .time_ns = o.time_ns,
                     .start = mmap.start,
                     .length = mmap.length,
                     .file_offset = mmap.file_offset,
                     .protection = mmap.protection,
                     .flags = mmap.flags,
                     .device_major = mmap.device_major,
                     .device_minor = mmap.device_minor,
                     .inode = mmap.inode,
                     .build_id = profile::BuildId::of(reinterpret_cast<const std::uint8_t*>(mmap.build_id.data()),
                                                      static_cast<std::uint8_t>(mmap.build_id.size())),
                     .identified = mmap.identified,
                     .path = std::move(mmap.path)}));
}

void RecordSink::take(session::Fork& fork) {
  const Origin& o = fork.origin;
  if (o.pid != fork.parent_pid) {
    if (const auto waiting = waiting_exits_.extract(o.pid)) keep(writer_.exit(waiting.mapped()));
  }
  keep(writer_.fork({.pid = o.pid,
                     .parent_pid = fork.parent_pid,
                     .tid = o.tid,
                     .parent_tid = fork.parent_tid,
                     .time_ns = o.time_ns}));
}

void RecordSink::take(session::Exit& exit) {
  const Origin& o = exit.origin;
  const profile::Exit record{
      .pid = o.pid, .parent_pid = exit.parent_pid, .tid = o.tid, .parent_tid = exit.parent_tid, .time_ns = o.time_ns};
  if (const auto counted = running_.extract(o.thread_key())) add(ended_, counted.mapped());
  if (o.pid == o.tid) {
    waiting_exits_[o.pid] = record;
  } else {
    keep(writer_.exit(record));
  }
}

void RecordSink::take(session::Lost& lost) {
  const Origin& o = lost.origin;
  keep(writer_.lost({.event = lost.event, .count = lost.samples, .pid = o.pid, .tid = o.tid, .time_ns = o.time_ns}));
}

void RecordSink::take(session::Statistics& statistics) { running_[statistics.origin.thread_key()] = statistics; }

void RecordSink::take(session::Units& units) { units_.receive(std::move(units)); }

void RecordSink::take(session::Counts& counts) {
  units_.receive(session::Counts{.origin = counts.origin, .final = counts.final, .values = {}});
}

void RecordSink::take(session::Sharing& sharing) {
  keep(writer_.sharing({.pid = sharing.origin.pid, .part = sharing.part, .parts = sharing.parts}, sharing.bytes));
}

void RecordSink::take(session::Branches& branches) {
  if (last_branches_) {
    keep(last_branches_->add(std::move(branches)));
  } else {
    write(branches);
  }
}

void RecordSink::take(session::Ran& ran) {
  session::Sample sample{.pid = ran.origin.pid, .tid = ran.origin.tid, .time_ns = ran.origin.time_ns, .exact_ip = true};
  for (const arch::PathCount& count : ran.counts) {
    sample.event = ran.in_context  ? session::kRanInContexts
                   : count.to == 0 ? session::kRanInstructions
                                   : session::kRanBranches;
    sample.ip = count.from;
    sample.address = count.to;
    sample.period = count.times;
    if (ran.in_context) {
      sample.callchain.assign(ran.callers.begin(), ran.callers.end());
      sample.callchain.insert(sample.callchain.begin(), count.from);
    }
    take(sample);
  }
}

void RecordSink::write(const session::Branches& branches) {
  const Origin& o = branches.origin;
  keep(writer_.branches({.pid = o.pid, .tid = o.tid, .time_ns = o.time_ns}, branches.records));
}

/// Compilers wrote them while they ran; a later process of the same id would write over them.
void RecordSink::keep_jit_maps() {
  for (const auto& image : writer_.spaces().images()) {
    if (image->jit_pid == 0) continue;
    std::string problem;
    const auto text =
        profile::read_jit_map(profile::jit_map_path(image->jit_pid), {.written_from = began_at_ns_}, problem);
    if (!problem.empty()) say(problem);
    if (!text) continue;
    const Bytes all = std::as_bytes(std::span(*text));
    const std::size_t parts = (all.size() + session::kMaxSharingPart - 1) / session::kMaxSharingPart;
    for (std::size_t part = 0; part < parts; ++part) {
      const Bytes rest = all.subspan(part * session::kMaxSharingPart);
      keep(writer_.jit_map(
          {.pid = image->jit_pid, .part = static_cast<std::uint32_t>(part), .parts = static_cast<std::uint32_t>(parts)},
          rest.first(std::min<std::size_t>(rest.size(), session::kMaxSharingPart))));
    }
  }
}

/// As many as fit into the file beside everything else that comes into it.
void RecordSink::write_last_branches(const profile::Summary& summary) {
  const std::uint64_t besides =
      writer_.bytes_if_closed(summary) + waiting_exits_.size() * profile::PerfDataWriter::kBytesOfExit;
  const std::uint64_t most = last_branches_->most_bytes();
  const std::uint64_t left = most > besides ? most - besides : 0;
  keep(last_branches_->take(left, [this](const session::Branches& piece) { write(piece); }));
  if (most != 0 && last_branches_->dropped() == last_branches_->seen() && last_branches_->seen() != 0) {
    say(Error{"--max-size " + std::to_string(most) +
                  ": there is no room for branches: what else is in the file takes " + with_thousands(besides) +
                  " bytes",
              "choose a larger size"});
  }
}

profile::Summary RecordSink::summary(std::uint64_t dropped) const {
  profile::Summary summary{.notes = {{"PMIs", std::to_string(ended_.pmis)},
                                     {"PEBS records", std::to_string(ended_.records)},
                                     {"lost samples", std::to_string(ended_.lost)}}};
  if (dropped != 0) summary.notes.push_back({"branches dropped before the first", std::to_string(dropped)});
  if (ended_.filtered != 0) summary.notes.push_back({"branches filtered out", std::to_string(ended_.filtered)});
  if (const session::UnitSums units = units_.units(); units.instructions() != 0) {
    summary.notes.push_back({"in detail", share_in_words(units)});
  }
  return summary;
}

bool RecordSink::close() {
  if (order_ != nullptr) keep(order_->finish());
  for (const auto& [thread, statistics] : running_) add(ended_, statistics);  // killed, or still running
  running_.clear();
  keep_jit_maps();
  if (last_branches_) write_last_branches(summary(last_branches_->seen()));  // a longer number than is dropped
  for (const auto& [pid, exit] : waiting_exits_) keep(writer_.exit(exit));
  waiting_exits_.clear();
  const auto closed = writer_.close(summary(branches_dropped()));
  if (!closed && !error_) error_ = closed.error();
  if (error_ && !error_is_told_) say(*error_);
  if (error_) {
    const std::uint64_t branches = last_branches_ ? last_branches_->seen() : writer_.branches_seen();
    const bool trace = branches != 0;
    const std::uint64_t came = trace ? branches - branches_dropped() : samples_,
                        kept = trace ? branches_in_file() : samples_in_file();
    say(with_thousands(came - kept) + " of " + with_thousands(came) + (trace ? " branches" : " samples") +
        " are not in " + path());
  }
  return !error_;
}

}  // namespace zs::cli
