#include "profile/perf_data/perf_data_writer.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <span>

#include "arch/records/bts.h"
#include "base/check.h"
#include "profile/perf_data/build_id.h"
#include "profile/perf_data/compressed_records.h"
#include "profile/perf_data/write_units.h"

namespace zs::profile {
namespace {

using perf::RecordType;

constexpr std::size_t kFlushBytes = std::size_t{1} << 17;  // what is larger does not stay in the second cache

std::uint32_t u32(std::int32_t value) { return static_cast<std::uint32_t>(value); }

}  // namespace

std::string PerfDataWriter::CountedAs::count(std::uint64_t number) const {
  return fmt::format("{} {}", number, number == 1 ? one : many);
}

// ---- records

std::size_t PerfDataWriter::begin(RecordType type, std::uint16_t misc) {
  const std::size_t at = buffer_.size();
  buffer_.write(perf::RecordHeader{static_cast<std::uint32_t>(type), misc, 0});
  return at;
}

void PerfDataWriter::complete(std::size_t at) {
  CHECK(buffer_.size() - at <= perf::kMaxRecordBytes && buffer_.size() % 8 == 0, buffer_.size(), at);
  const auto size = static_cast<std::uint16_t>(buffer_.size() - at);
  buffer_.patch(at + offsetof(perf::RecordHeader, size), size);
}

Result<void> PerfDataWriter::end(std::size_t at) {
  complete(at);
  return buffer_.size() >= kFlushBytes ? flush() : Result<void>{};
}

void PerfDataWriter::trailer(std::int32_t pid, std::int32_t tid, std::uint64_t time_ns, std::uint32_t event) {
  buffer_.write(u32(pid));
  buffer_.write(u32(tid));
  buffer_.write(time_ns);
  buffer_.write(std::uint64_t{0});  // CPU
  buffer_.write(id_of(event));
  latest_ns_ = std::max(latest_ns_, time_ns);
}

void PerfDataWriter::mark_used(std::int32_t pid, std::uint64_t address) {
  if (const Mapping* mapping = spaces_.find(pid, address); mapping != nullptr) used_.insert(mapping->image);
}

Error PerfDataWriter::failure(std::string_view what, int error) const {
  const std::uint64_t seen = is_trace() ? branches_seen_ : samples_seen_, missing = seen - written();
  std::string kept = fmt::format("{}: {}: {}", file_.path(), what, std::strerror(error));
  if (seen != 0 || header_.data.size != 0) {
    const std::string none = fmt::format("no {}", unit().one);
    kept += fmt::format("; {} in the file and readable, {} and the summary missing",
                        written() == 0 ? none + " is" : unit().count(written()) + " are",
                        missing == 0 ? none : unit().count(missing));
  }
  return Error{std::move(kept), remedy_of(error)};
}

Result<void> PerfDataWriter::begin_file() {
  if (const auto failed = file_.create()) return failure(failed->what, failed->error);

  ByteWriter start;
  start.write(header_);
  const auto events = static_cast<std::uint32_t>(description_.events.size());
  std::vector<perf::Section> ids;
  for (std::uint32_t event = 0; event < events; ++event) {
    const std::vector<std::uint64_t> here = record_ids_of(description_, event);
    ids.push_back({start.size(), here.size() * sizeof(std::uint64_t)});
    start.write_bytes(std::as_bytes(std::span(here)));
  }
  header_.attr_entry_bytes = sizeof(perf::EventAttr) + sizeof(perf::Section);
  header_.attrs = {start.size(), events * header_.attr_entry_bytes};
  for (std::uint32_t event = 0; event < events; ++event) {
    start.write(attr_of(description_, event));
    start.write(ids[event]);
  }
  header_.data = {start.size(), 0};

  // The records that describe the recording are in the file as soon as the header is, by one call: a data size of 0
  // would make perf warn, and a file of a run that was killed at once still says what it was.
  append_description();
  perf::FileHeader begun = header_;
  begun.data.size = buffer_.size();
  start.patch(0, begun);
  start.write_bytes(buffer_.bytes());
  buffer_.clear();
  if (description_.compression_level != 0) packer_ = std::make_unique<RecordPacker>(description_.compression_level);
  std::size_t done = 0;
  if (const int error = file_.write_at(0, start.bytes(), done); error != 0) return failure("cannot write", error);
  header_ = begun;
  return {};
}

void PerfDataWriter::append_description() {
  if (is_trace()) {
    const std::size_t at = begin(RecordType::AuxtraceInfo, 0);
    buffer_.write(perf::BranchTraceInfo{});
    (void)end(at);
  }
  // The name of each event, for readers of a file whose features were never written (EVENT_UPDATE, kind NAME).
  for (std::uint32_t event = 0; event < description_.events.size(); ++event) {
    const std::size_t at = begin(RecordType::EventUpdate, 0);
    buffer_.write(std::uint64_t{2});
    buffer_.write(id_of(event));
    buffer_.write_c_string(std::string_view{description_.events[event].name}.substr(0, 4096), 8);
    (void)end(at);
  }
  for (const Note& entry : description_.notes) (void)note(entry, 0);
}

Result<void> PerfDataWriter::note(const Note& note, std::uint32_t stage) {
  const std::string text = (note.key + '\0' + note.value).substr(0, 60000);
  const std::size_t at = begin(RecordType::EventType, 0);
  perf::NoteBody body;
  body.magic = perf::NoteBody::kNoteMagic;
  body.stage = stage;
  body.text_bytes = static_cast<std::uint32_t>(text.size());
  buffer_.write(body);
  buffer_.write_c_string(text, 8);
  return end(at);
}

Result<void> PerfDataWriter::comm(const Comm& comm) {
  if (error_) return *error_;
  spaces_.apply(comm);
  if (comm.exec) {  // another image, whose blocks are numbered from 1
    heap_blocks_.erase(heap_blocks_.lower_bound({comm.pid, 0}), heap_blocks_.lower_bound({comm.pid + 1, 0}));
  }
  const std::size_t at = begin(RecordType::Comm, comm.exec ? perf::misc::comm_exec : std::uint16_t{0});
  buffer_.write(u32(comm.pid));
  buffer_.write(u32(comm.tid));
  buffer_.write_c_string(std::string_view{comm.name}.substr(0, 15), 8);
  trailer(comm.pid, comm.tid, comm.time_ns);
  return end(at);
}

Result<void> PerfDataWriter::mmap(Mmap mmap) {
  if (error_) return *error_;
  const bool executable = (mmap.protection & PROT_EXEC) != 0;
  // One file has one identity in all records: readers take a build-id and an inode for two files, and find no unwind
  // tables for code that the other one has.
  if (!mmap.build_id && !mmap.identified && mmap.path.starts_with('/')) {
    const auto key = std::tuple{mmap.path, mmap.device_major, mmap.device_minor, mmap.inode};
    const auto [found, added] = build_ids_.try_emplace(key);
    if (added) found->second = read_build_id(mmap.path);
    mmap.build_id = found->second;
  }
  if (executable) spaces_.apply(mmap);

  std::uint16_t misc = mmap.pid < 0 ? perf::misc::kernel : perf::misc::user;
  if (!executable) misc |= perf::misc::mmap_data;
  if (mmap.build_id) misc |= perf::misc::mmap_build_id;
  const std::size_t at = begin(RecordType::Mmap2, misc);
  buffer_.write(perf::Mmap2Place{u32(mmap.pid), u32(mmap.tid), mmap.start, mmap.length, mmap.file_offset});
  if (mmap.build_id) {
    perf::Mmap2BuildId id;
    id.size = mmap.build_id->size;
    std::copy(mmap.build_id->bytes.begin(), mmap.build_id->bytes.end(), id.bytes);
    buffer_.write(id);
  } else if (!description_.file_numbers) {
    buffer_.write(perf::Mmap2Inode{});
  } else {
    buffer_.write(perf::Mmap2Inode{mmap.device_major, mmap.device_minor, mmap.inode, mmap.inode_generation});
  }
  buffer_.write(perf::Mmap2Access{mmap.protection, mmap.flags});
  buffer_.write_c_string(std::string_view{mmap.path}.substr(0, 4096), 8);
  trailer(mmap.pid, mmap.tid, mmap.time_ns);
  return end(at);
}

Result<void> PerfDataWriter::task(RecordType type, const Fork& task) {
  if (error_) return *error_;
  if (type == RecordType::Fork) spaces_.apply(task);
  const std::size_t at = begin(type, 0);
  buffer_.write(perf::TaskBody{u32(task.pid), u32(task.parent_pid), u32(task.tid), u32(task.parent_tid), task.time_ns});
  // perf itself has the parent in the trailer of a FORK: it is the one that was running.
  const bool fork = type == RecordType::Fork;
  trailer(fork ? task.parent_pid : task.pid, fork ? task.parent_tid : task.tid, task.time_ns);
  return end(at);
}

Result<void> PerfDataWriter::fork(const Fork& fork) { return task(RecordType::Fork, fork); }
Result<void> PerfDataWriter::exit(const Exit& exit) {
  return task(RecordType::Exit, {exit.pid, exit.parent_pid, exit.tid, exit.parent_tid, exit.time_ns});
}

Result<void> PerfDataWriter::lost(const Lost& lost) {
  if (error_) return *error_;
  CHECK(lost.event < description_.events.size());
  // Not LOST, which perf takes for a ring buffer that overflowed, and answers with a warning.
  const std::size_t at = begin(RecordType::LostSamples, 0);
  buffer_.write(lost.count);
  trailer(lost.pid, lost.tid, lost.time_ns, lost.event);
  return end(at);
}

Result<void> PerfDataWriter::sample(const session::Sample& sample) {
  CHECK(sample.event < description_.events.size());
  ++samples_seen_;
  if (error_) return *error_;
  note_heap_block(sample);

  const bool kernel = !description_.events[sample.event].exclude_kernel && sample.ip >> 63 != 0;
  auto misc = static_cast<std::uint16_t>((kernel ? perf::misc::kernel : perf::misc::user) |
                                         static_cast<unsigned>(sample.chain_end) << perf::misc::chain_end_shift);
  if (sample.exact_ip) misc |= perf::misc::exact_ip;
  const std::size_t at = begin(RecordType::Sample, misc);
  sample_body_.write(buffer_, at, sample, id_of(sample.event),
                     [&](std::uint64_t address) { mark_used(sample.pid, address); });
  first_sample_ns_ = std::min(first_sample_ns_.value_or(sample.time_ns), sample.time_ns);
  last_sample_ns_ = std::max(last_sample_ns_, sample.time_ns);
  latest_ns_ = std::max(latest_ns_, sample.time_ns);
  return end(at);
}

Result<void> PerfDataWriter::kernel_record(Bytes record) {
  perf::RecordHeader head;
  CHECK(record.size() >= sizeof head);
  std::memcpy(&head, record.data(), sizeof head);
  CHECK(head.size == record.size() && head.size % 8 == 0);
  const bool is_sample = head.type == static_cast<std::uint32_t>(RecordType::Sample);
  samples_seen_ += is_sample ? 1 : 0;
  if (error_) return *error_;
  // Where the time is follows from attr_of(): behind pid and tid in the trailer, behind id, ip, pid and tid in a
  // sample.
  constexpr std::size_t kTrailerBytes = 32, kTimeInTrailer = 8;
  const std::size_t time_at =
      is_sample ? sizeof head + offsetof(SampleStart, time_ns) : record.size() - kTrailerBytes + kTimeInTrailer;
  if (record.size() >= sizeof head + kTrailerBytes) {
    std::uint64_t time_ns = 0;
    std::memcpy(&time_ns, record.data() + time_at, sizeof time_ns);
    latest_ns_ = std::max(latest_ns_, time_ns);
    if (is_sample) {
      first_sample_ns_ = std::min(first_sample_ns_.value_or(time_ns), time_ns);
      last_sample_ns_ = std::max(last_sample_ns_, time_ns);
    }
  }
  buffer_.write_bytes(record);
  return buffer_.size() >= kFlushBytes ? flush() : Result<void>{};
}

Result<void> PerfDataWriter::round(std::uint64_t no_earlier_than_ns) {
  if (error_) return *error_;
  // On the n-th FINISHED_ROUND readers emit everything up to the latest time that stood before the (n-1)-th: records
  // of the next round must not be older than that.
  if (no_earlier_than_ns < latest_at_last_round_ || latest_ns_ == latest_at_last_round_) return {};
  latest_at_last_round_ = latest_ns_;
  return end(begin(RecordType::FinishedRound, 0));
}

/// Which block of the heap the sample that comes next lies in; blocks are described before the first of theirs.
void PerfDataWriter::note_heap_block(const session::Sample& sample) {
  // Said of so many samples at once, whenever the file is written: the same recording has the same bytes.
  constexpr std::size_t kSamplesAtOnce = 256;
  if (blocks_of_samples_.size() == kSamplesAtOnce) append_blocks_of_samples();
  ++samples_appended_;
  const session::HeapBlock* const block = sample.heap_block.get();
  if (block == nullptr) return blocks_of_samples_.push_back(0);
  const auto [known, fresh] = heap_blocks_.try_emplace({sample.pid, block->number}, last_heap_block_ + 1);
  blocks_of_samples_.push_back(known->second);
  if (!fresh) return;
  ++last_heap_block_;
  const std::size_t at = begin(RecordType::EventType, 0);
  buffer_.write(perf::NoteBody{.stage = perf::NoteBody::kHeapBlock});
  buffer_.write(perf::HeapBlockBody{.number = block->number,
                                    .start = block->start,
                                    .size = block->size,
                                    .pid = u32(sample.pid),
                                    .site = static_cast<std::uint32_t>(block->site.size())});
  buffer_.write_bytes(std::as_bytes(std::span(block->site)));
  complete(at);
  for (const std::uint64_t address : block->site) mark_used(sample.pid, address);
}

Result<void> PerfDataWriter::part_of_process(std::uint32_t stage, const ProcessPart& part, Bytes bytes) {
  if (error_) return *error_;
  const std::size_t at = begin(RecordType::EventType, 0);
  buffer_.write(perf::NoteBody{.stage = stage});
  buffer_.write(perf::ProcessPartBody{
      .pid = u32(part.pid), .part = part.part, .parts = part.parts, .bytes = static_cast<std::uint32_t>(bytes.size())});
  buffer_.write_bytes(bytes);
  buffer_.align(8);
  return end(at);
}

Result<void> PerfDataWriter::sharing(const ProcessPart& part, Bytes bytes) {
  return part_of_process(perf::NoteBody::kSharing, part, bytes);
}
Result<void> PerfDataWriter::jit_map(const ProcessPart& part, Bytes bytes) {
  return part_of_process(perf::NoteBody::kJitMap, part, bytes);
}

Result<void> PerfDataWriter::branches(const TracePiece& piece, Bytes records) {
  const auto event =
      std::ranges::find_if(description_.events, &EventDescription::is_branch_trace) - description_.events.begin();
  CHECK(static_cast<std::size_t>(event) < description_.events.size());
  CHECK(records.size() % sizeof(arch::BtsRecord) == 0, records.size());
  branches_seen_ += arch::branches_in(records);
  if (error_) return *error_;
  TraceQueue& queue =
      trace_queues_.try_emplace({piece.pid, piece.tid}, TraceQueue{static_cast<std::uint32_t>(trace_queues_.size())})
          .first->second;
  // perf leaves the last record of a piece out, and passes over a record of zeros: one is put behind each piece.
  const std::uint64_t bytes = records.size() + sizeof(arch::BtsRecord);
  const std::size_t aux = begin(RecordType::Aux, 0);
  buffer_.write(perf::AuxBody{.offset = queue.bytes, .bytes = bytes});
  trailer(piece.pid, piece.tid, piece.time_ns, static_cast<std::uint32_t>(event));
  complete(aux);
  const std::size_t at = begin(RecordType::Auxtrace, 0);
  buffer_.write(perf::AuxtraceBody{.bytes = bytes,
                                   .offset = queue.bytes,
                                   .reference = piece.time_ns,
                                   .queue = queue.number,
                                   .tid = u32(piece.tid),
                                   .cpu = perf::AuxtraceBody::kNoCpu});
  complete(at);
  buffer_.write_bytes(records);
  buffer_.write(arch::BtsRecord{});
  queue.bytes += bytes;
  return buffer_.size() >= kFlushBytes ? flush() : Result<void>{};
}

/// Of the samples since the last such record, if any of them lies in a block.
void PerfDataWriter::append_blocks_of_samples() {
  const std::vector<std::uint32_t> numbers = std::exchange(blocks_of_samples_, {});
  if (std::ranges::all_of(numbers, [](std::uint32_t number) { return number == 0; })) return;
  const std::size_t at = begin(RecordType::EventType, 0);
  buffer_.write(perf::NoteBody{.stage = perf::NoteBody::kBlocksOfSamples});
  buffer_.write(perf::BlocksOfSamplesBody{.first = samples_appended_ - numbers.size(),
                                          .count = static_cast<std::uint32_t>(numbers.size())});
  buffer_.write_bytes(std::as_bytes(std::span(numbers)));
  buffer_.align(8);
  complete(at);
}

Result<void> PerfDataWriter::flush() {
  if (error_) return *error_;
  if (buffer_.size() == 0) return {};
  // Of plain records, all of which arrive as a rule, nobody need know where each ends.
  const bool plain = packer_ == nullptr && !is_trace();
  std::vector<WriteUnit> units;
  if (!plain) units = write_units(buffer_.bytes());
  if (packer_ != nullptr) buffer_ = packed_apart_from_traces(buffer_.bytes(), *packer_, units);
  std::size_t done = 0;
  const int error = file_.write_at(header_.data.end(), buffer_.bytes(), done);

  // What reached the file as a whole becomes part of it, even if the rest did not.
  if (plain && error == 0)
    units.push_back({.end = done, .samples = samples_seen_ - samples_written_});
  else if (plain)
    units = write_units(buffer_.bytes());
  std::uint64_t whole = 0, samples = 0, branches = 0;
  std::vector<AuxtracePlace> traces;
  for (const WriteUnit& unit : units) {
    if (unit.end > done) break;
    whole = unit.end;
    samples += unit.samples;
    branches += unit.branches;
    if (unit.trace) traces.push_back({.offset = header_.data.end() + unit.trace->offset, .bytes = unit.trace->bytes});
  }
  std::uint64_t size = header_.data.size + whole;
  std::size_t ignored = 0;
  const int size_error = file_.write_at(offsetof(perf::FileHeader, data) + offsetof(perf::Section, size),
                                        std::as_bytes(std::span(&size, 1)), ignored);
  if (size_error == 0) {
    header_.data.size = size;
    samples_written_ += samples;
    branches_written_ += branches;
    traces_.insert(traces_.end(), traces.begin(), traces.end());
  }
  buffer_.clear();
  if (error == 0 && size_error == 0) return {};
  error_ = failure("cannot write", error != 0 ? error : size_error);
  file_.cut_to(header_.data.end());
  return *error_;
}

ByteWriter PerfDataWriter::features(perf::FileHeader& header) const {
  return feature_table({.description = description_,
                        .spaces = spaces_,
                        .used = used_,
                        .first_sample_ns = first_sample_ns_,
                        .last_sample_ns = last_sample_ns_,
                        .traces = traces_,
                        .packer = packer_.get()},
                       header_.data.end(), header);
}

std::uint64_t PerfDataWriter::bytes_if_closed(const Summary& summary) const {
  perf::FileHeader ended = header_;
  std::uint64_t bytes = header_.data.end() + buffer_.size() + features(ended).size();
  if (traces_.empty()) bytes += sizeof(perf::Section) + sizeof(std::uint64_t);  // the list of them
  constexpr std::uint64_t kPackedWorst = 256;  // what little there is may become larger
  if (packer_ != nullptr) bytes += kPackedWorst;
  for (const Note& note : summary.notes) {
    const std::uint64_t text = note.key.size() + 1 + note.value.size();
    bytes += sizeof(perf::RecordHeader) + sizeof(perf::NoteBody) + (text / 8 + 1) * 8;
  }
  return bytes;
}

Result<void> PerfDataWriter::close(const Summary& summary) {
  if (closed_) return {};
  append_blocks_of_samples();
  (void)flush();
  if (!error_) {
    for (const Note& entry : summary.notes) (void)note(entry, 1);
    (void)flush();
  }

  perf::FileHeader ended = header_;
  const ByteWriter table = features(ended);
  std::size_t done = 0;
  int error = file_.write_at(header_.data.end(), table.bytes(), done);
  if (error == 0) error = file_.write_at(0, std::as_bytes(std::span(&ended, 1)), done);
  closed_ = true;

  const bool reachable = file_.is_reachable();
  if (const int failed = file_.close(); error == 0) error = failed;

  if (error_) return *error_;
  if (error != 0) return failure("cannot write the features", error);
  if (!reachable) {
    return Error{fmt::format("{}: the file was removed or replaced while it was written; {} went with it", file_.path(),
                             written() == 0 ? "the recording" : "all " + unit().count(written())),
                 "choose a place that stays with -o FILE"};
  }
  return {};
}

Result<PerfDataWriter> PerfDataWriter::create(std::string path, RecordingDescription description) {
  CHECK(!description.events.empty());
  for (const EventGroup& group : description.groups) {
    CHECK(group.leader + std::uint64_t{group.members} <= description.events.size());
  }
  PerfDataWriter writer(std::move(path), std::move(description));
  if (auto begun = writer.begin_file(); !begun) {
    writer.closed_ = true;
    return begun.error();
  }
  return writer;
}

PerfDataWriter::~PerfDataWriter() {
  if (file_.is_open() && !closed_) (void)flush();
}

}  // namespace zs::profile
