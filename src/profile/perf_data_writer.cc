#include "profile/perf_data_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/units.h"
#include "profile/address_space.h"
#include "profile/build_id.h"
#include "profile/event_attr.h"

namespace zs::profile {
namespace {

using perf::Feature;
using perf::RecordType;

constexpr std::size_t kFlushBytes = std::size_t{1} << 20;

/// A string as features hold them: u32 length, the bytes, NULs up to a multiple of 64, at least one.
void write_feature_string(ByteWriter& out, std::string_view text) {
  const std::size_t padded = align_up(text.size() + 1, perf::kStringAlignment);
  out.write(static_cast<std::uint32_t>(padded));
  out.write_c_string(text, perf::kStringAlignment);
}

void write_words(ByteWriter& out, const std::uint64_t* words, std::size_t count) {
  out.write_bytes(std::as_bytes(std::span(words, count)));
}

std::uint32_t u32(std::int32_t value) { return static_cast<std::uint32_t>(value); }

/// The fields that every sample has, in their order.
struct SampleStart {
  std::uint64_t id, ip;
  std::uint32_t pid, tid;
  std::uint64_t time_ns, address;
  std::uint32_t cpu, zero;
  std::uint64_t period;
};
static_assert(WireLayout<SampleStart>);

/// By perf::Register.
constexpr std::array<std::uint64_t, perf::kNamedRegisters> values_of(const arch::RegisterFile& file) {
  std::array<std::uint64_t, perf::kNamedRegisters> values{};
  const auto set = [&values](perf::Register name, std::uint64_t value) {
    values[static_cast<std::size_t>(name)] = value;
  };
  using enum perf::Register;
  set(Ax, file.ax);
  set(Cx, file.cx);
  set(Bx, file.bx);
  set(Dx, file.dx);
  set(Si, file.si);
  set(Di, file.di);
  set(Bp, file.bp);
  set(Sp, file.sp);
  set(Ip, file.ip);
  set(Flags, file.flags);
  set(R8, file.r8);
  set(R9, file.r9);
  set(R10, file.r10);
  set(R11, file.r11);
  set(R12, file.r12);
  set(R13, file.r13);
  set(R14, file.r14);
  set(R15, file.r15);
  set(Cs, 0x33);  // the segments of every 64-bit Linux program; the others are 0
  set(Ss, 0x2B);
  return values;
}

void put_registers(ByteWriter& out, const arch::RegisterFile& file, std::uint64_t mask) {
  const auto values = values_of(file);
  std::array<std::uint64_t, 1 + perf::kNamedRegisters> words;
  words[0] = static_cast<std::uint64_t>(perf::RegisterAbi::Bits64);
  std::size_t count = 1;
  constexpr std::uint64_t kNamed = (std::uint64_t{1} << perf::kNamedRegisters) - 1;
  for (std::uint64_t rest = mask & kNamed; rest != 0; rest &= rest - 1)
    words[count++] = values[static_cast<std::size_t>(std::countr_zero(rest))];
  write_words(out, words.data(), count);
}

perf::BranchType branch_type_of(arch::BranchKind kind) {
  switch (kind) {
    case arch::BranchKind::Conditional: return perf::BranchType::Conditional;
    case arch::BranchKind::RelativeJump: return perf::BranchType::Unconditional;
    case arch::BranchKind::IndirectJump: return perf::BranchType::Indirect;
    case arch::BranchKind::RelativeCall: return perf::BranchType::Call;
    case arch::BranchKind::IndirectCall: return perf::BranchType::IndirectCall;
    case arch::BranchKind::Return: return perf::BranchType::Return;
    case arch::BranchKind::Far: return perf::BranchType::Syscall;
    case arch::BranchKind::None: break;
  }
  return perf::BranchType::Unknown;
}

std::string count_of(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

/// errno of a failed write as words, and what to do about it.
std::string remedy_of(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return "make room, or choose another file system with -o FILE";
    case EFBIG: return "a limit on file sizes is set (ulimit -f): raise it, or record fewer samples with a larger -c";
    case EACCES:
    case EPERM:
    case EROFS: return "choose a place that can be written with -o FILE";
    case ENOENT:
    case ENOTDIR: return "create the directory first, or choose another with -o FILE";
    case EISDIR: return "name a file, not a directory, with -o FILE";
    case ESPIPE: return "a recording is written at several places of its file: a pipe will not do";
    default: return "";
  }
}

}  // namespace

class PerfDataWriter::Impl {
 public:
  Impl(std::string path, RecordingDescription description)
      : path_(std::move(path)), description_(std::move(description)), sample_type_(sample_type_of(description_)) {}
  ~Impl() {
    if (fd_ < 0) return;
    if (!closed_) (void)flush();
    ::close(fd_);
  }

  Result<void> create();
  void append_description();

  /// The ids of an event's records: the kernel's, or its number from 1.
  std::vector<std::uint64_t> ids_of(std::uint32_t event) const {
    const auto& ids = description_.events[event].ids;
    return ids.empty() ? std::vector{id_of(event)} : ids;
  }
  /// The first of them; asked for each record.
  std::uint64_t id_of(std::uint32_t event) const {
    const auto& ids = description_.events[event].ids;
    return ids.empty() ? std::uint64_t{event} + 1 : ids.front();
  }

  // Each record: begin(), body, end().
  std::size_t begin(RecordType type, std::uint16_t misc) {
    const std::size_t at = buffer_.size();
    buffer_.write(perf::RecordHeader{static_cast<std::uint32_t>(type), misc, 0});
    return at;
  }
  void complete(std::size_t at) {
    CHECK(buffer_.size() - at <= perf::kMaxRecordBytes && buffer_.size() % 8 == 0, buffer_.size(), at);
    const auto size = static_cast<std::uint16_t>(buffer_.size() - at);
    buffer_.patch(at + offsetof(perf::RecordHeader, size), size);
  }
  Result<void> end(std::size_t at) {
    complete(at);
    return buffer_.size() >= kFlushBytes ? flush() : Result<void>{};
  }
  void trailer(std::int32_t pid, std::int32_t tid, std::uint64_t time_ns, std::uint32_t event = 0) {
    buffer_.write(u32(pid));
    buffer_.write(u32(tid));
    buffer_.write(time_ns);
    buffer_.write(std::uint64_t{0});  // CPU
    buffer_.write(id_of(event));
    latest_ns_ = std::max(latest_ns_, time_ns);
  }

  Result<void> comm(const Comm& comm);
  Result<void> mmap(Mmap mmap);
  Result<void> task(RecordType type, const Fork& task);
  Result<void> lost(const Lost& lost);
  Result<void> sample(const session::Sample& sample);
  Result<void> kernel_record(Bytes record);
  Result<void> sharing(const SharingPart& part, Bytes bytes);
  Result<void> note(const Note& note, std::uint32_t stage);
  void note_heap_block(const session::Sample& sample);
  void append_heap_block(std::int32_t pid, const session::HeapBlock& block);
  void append_blocks_of_samples();
  Result<void> round(std::uint64_t no_earlier_than_ns);
  Result<void> flush();
  Result<void> close(const Summary& summary);

  void mark_used(std::int32_t pid, std::uint64_t address) {
    if (const Mapping* mapping = spaces_.find(pid, address); mapping != nullptr) used_[mapping->image] = true;
  }

  ByteWriter features(std::uint64_t table_at, perf::FileHeader& header) const;
  Error failure(std::string_view what, int error) const;
  int write_at(std::uint64_t offset, Bytes bytes, std::size_t& done) const;

  std::string path_;
  RecordingDescription description_;
  std::uint64_t sample_type_;
  int fd_ = -1;
  bool regular_ = true;
  bool closed_ = false;
  perf::FileHeader header_;
  ByteWriter buffer_;  // whole records that are not in the file yet
  std::uint64_t samples_written_ = 0, samples_seen_ = 0;
  std::optional<std::uint64_t> first_sample_ns_;
  std::uint64_t last_sample_ns_ = 0;
  std::uint64_t latest_ns_ = 0;  // of any record
  std::uint64_t latest_at_last_round_ = 0;
  std::optional<Error> error_;
  AddressSpaces spaces_;
  std::map<const Image*, bool> used_;                                            // images that a sample hit
  std::map<std::pair<std::int32_t, std::uint64_t>, std::uint32_t> heap_blocks_;  // by process and number there
  std::uint32_t last_heap_block_ = 0;
  std::uint64_t samples_appended_ = 0;
  std::vector<std::uint32_t> blocks_of_samples_;  // of the last samples appended, of which the file does not say it yet
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t, std::uint64_t>, std::optional<BuildId>> build_ids_;
};

Error PerfDataWriter::Impl::failure(std::string_view what, int error) const {
  const std::uint64_t missing = samples_seen_ - samples_written_;
  std::string kept = fmt::format("{}: {}: {}", path_, what, std::strerror(error));
  if (samples_seen_ != 0 || header_.data.size != 0) {
    kept += fmt::format("; {} in the file and readable, {} and the summary missing",
                        samples_written_ == 0 ? "no sample is" : count_of(samples_written_, "sample") + " are",
                        missing == 0 ? "no sample" : count_of(missing, "sample"));
  }
  return Error{std::move(kept), remedy_of(error)};
}

/// returns 0 or errno; `done` bytes were written in any case
int PerfDataWriter::Impl::write_at(std::uint64_t offset, Bytes bytes, std::size_t& done) const {
  done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote = ::pwrite(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno;
    if (wrote == 0) return ENOSPC;
    done += static_cast<std::size_t>(wrote);
  }
  return 0;
}

Result<void> PerfDataWriter::Impl::create() {
  struct stat status {};
  if (lstat(path_.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    const std::string old = path_ + ".old";
    if (rename(path_.c_str(), old.c_str()) != 0) {
      return failure(fmt::format("cannot keep the old recording as {}", old), errno);
    }
  }
  fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0600);
  if (fd_ < 0) return failure("cannot create", errno == ENXIO ? ESPIPE : errno);
  if (fstat(fd_, &status) == 0) {
    regular_ = S_ISREG(status.st_mode);
    if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) return failure("cannot create", ESPIPE);
  }

  ByteWriter start;
  start.write(header_);
  const auto events = static_cast<std::uint32_t>(description_.events.size());
  std::vector<perf::Section> ids;
  for (std::uint32_t event = 0; event < events; ++event) {
    const std::vector<std::uint64_t> here = ids_of(event);
    ids.push_back({start.size(), here.size() * sizeof(std::uint64_t)});
    write_words(start, here.data(), here.size());
  }
  header_.attr_entry_bytes = sizeof(perf::EventAttr) + sizeof(perf::Section);
  header_.attrs = {start.size(), events * header_.attr_entry_bytes};
  for (std::uint32_t event = 0; event < events; ++event) {
    start.write(attr_of(description_, event));
    start.write(ids[event]);
  }
  header_.data = {start.size(), 0};

  // The records that describe the recording are in the file as soon as the header is: a data size of 0 would make
  // perf warn, and a file of a run that was killed at once still says what it was.
  append_description();
  std::size_t done = 0;
  if (const int error = write_at(header_.data.offset, buffer_.bytes(), done); error != 0) {
    return failure("cannot write", error);
  }
  header_.data.size = buffer_.size();
  buffer_.clear();
  start.patch(0, header_);
  if (const int error = write_at(0, start.bytes(), done); error != 0) return failure("cannot write", error);
  return {};
}

void PerfDataWriter::Impl::append_description() {
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

Result<void> PerfDataWriter::Impl::note(const Note& note, std::uint32_t stage) {
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

Result<void> PerfDataWriter::Impl::comm(const Comm& comm) {
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

Result<void> PerfDataWriter::Impl::mmap(Mmap mmap) {
  if (error_) return *error_;
  const bool executable = (mmap.protection & PROT_EXEC) != 0;
  // One file has one identity in all records: readers take a build-id and an inode for two files, and find no unwind
  // tables for
  // code that the other one has.
  if (!mmap.build_id && mmap.path.starts_with('/')) {
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
  } else {
    buffer_.write(perf::Mmap2Inode{mmap.device_major, mmap.device_minor, mmap.inode, mmap.inode_generation});
  }
  buffer_.write(perf::Mmap2Access{mmap.protection, mmap.flags});
  buffer_.write_c_string(std::string_view{mmap.path}.substr(0, 4096), 8);
  trailer(mmap.pid, mmap.tid, mmap.time_ns);
  return end(at);
}

Result<void> PerfDataWriter::Impl::task(RecordType type, const Fork& task) {
  if (error_) return *error_;
  if (type == RecordType::Fork) spaces_.apply(task);
  const std::size_t at = begin(type, 0);
  buffer_.write(perf::TaskBody{u32(task.pid), u32(task.parent_pid), u32(task.tid), u32(task.parent_tid), task.time_ns});
  // perf itself has the parent in the trailer of a FORK: it is the one that was running.
  const bool fork = type == RecordType::Fork;
  trailer(fork ? task.parent_pid : task.pid, fork ? task.parent_tid : task.tid, task.time_ns);
  return end(at);
}

Result<void> PerfDataWriter::Impl::lost(const Lost& lost) {
  if (error_) return *error_;
  CHECK(lost.event < description_.events.size());
  // Not LOST, which perf takes for a ring buffer that overflowed, and answers with a warning.
  const std::size_t at = begin(RecordType::LostSamples, 0);
  buffer_.write(lost.count);
  trailer(lost.pid, lost.tid, lost.time_ns, lost.event);
  return end(at);
}

Result<void> PerfDataWriter::Impl::sample(const session::Sample& sample) {
  CHECK(sample.event < description_.events.size());
  ++samples_seen_;
  if (error_) return *error_;
  const std::uint64_t fields = sample_type_;
  note_heap_block(sample);

  std::uint16_t misc = perf::misc::user;
  if (sample.exact_ip) misc |= perf::misc::exact_ip;
  const std::size_t at = begin(RecordType::Sample, misc);
  buffer_.write(SampleStart{.id = id_of(sample.event),
                            .ip = sample.ip,
                            .pid = u32(sample.pid),
                            .tid = u32(sample.tid),
                            .time_ns = sample.time_ns,
                            .address = sample.address,
                            .cpu = sample.cpu,
                            .zero = 0,
                            .period = sample.period});

  // What remains for the parts of variable length: call chain, branches and stack are cut to fit, in this order.
  std::size_t room = perf::kMaxRecordBytes - (buffer_.size() - at);
  const auto need = [&room](std::size_t bytes) { room -= std::min(room, bytes); };
  // Its length and the bytes themselves fill whole words together.
  const std::size_t raw_bytes = align_up(sizeof(std::uint32_t) + sample.raw.size(), 8) - sizeof(std::uint32_t);
  const std::size_t register_bytes = 8 + 8 * std::size_t{perf::kNamedRegisters};
  if ((fields & perf::sample_field::callchain) != 0) need(16);
  if ((fields & perf::sample_field::raw) != 0) need(sizeof(std::uint32_t) + raw_bytes);
  if ((fields & perf::sample_field::branch_stack) != 0) need(8);
  if ((fields & perf::sample_field::regs_user) != 0) need(register_bytes + 16);
  if ((fields & perf::sample_field::regs_intr) != 0) need(register_bytes);
  need(sizeof(perf::Weight) + sizeof(sample.data_source));

  if ((fields & perf::sample_field::callchain) != 0) {
    const bool unwound_later = description_.callchain == CallchainMode::Dwarf;
    const std::size_t entries = unwound_later ? 0 : std::min(sample.callchain.size(), room / 2 / 8);
    need(8 * entries);
    buffer_.write(std::uint64_t{entries == 0 ? 0 : entries + 1});
    if (entries != 0) buffer_.write(perf::kContextUser);
    write_words(buffer_, sample.callchain.data(), entries);
    for (std::size_t i = 0; i < entries; ++i) mark_used(sample.pid, sample.callchain[i]);
  }
  if ((fields & perf::sample_field::raw) != 0) {
    buffer_.write(static_cast<std::uint32_t>(raw_bytes));
    buffer_.write_bytes(sample.raw);
    buffer_.write_zeros(raw_bytes - sample.raw.size());
  }
  if ((fields & perf::sample_field::branch_stack) != 0) {
    const std::size_t entries = std::min(sample.branches.size(), room / sizeof(perf::BranchEntry));
    need(sizeof(perf::BranchEntry) * entries);
    buffer_.write(std::uint64_t{entries});
    for (std::size_t i = 0; i < entries; ++i) {
      const session::SampledBranch& branch = sample.branches[i];
      std::uint64_t flags = std::uint64_t{branch.cycles} << perf::branch_flag::cycles_shift;
      if (description_.branch_prediction_known) {
        flags |= branch.mispredicted ? perf::branch_flag::mispredicted : perf::branch_flag::predicted;
      }
      if ((description_.branch_filter & perf::branch_filter::type_save) != 0) {
        flags |= static_cast<std::uint64_t>(branch_type_of(branch.kind)) << perf::branch_flag::type_shift;
      }
      buffer_.write(perf::BranchEntry{branch.from, branch.to, flags});
      mark_used(sample.pid, branch.from);
      mark_used(sample.pid, branch.to);
    }
  }
  if ((fields & perf::sample_field::regs_user) != 0) {
    if (sample.has_registers) {
      put_registers(buffer_, sample.registers, perf::kAllGeneralRegisters);
    } else {
      buffer_.write(perf::RegisterAbi::None);
    }
  }
  if ((fields & perf::sample_field::stack_user) != 0) {
    const std::size_t copied = std::min<std::size_t>({sample.user_stack.size(), description_.stack_bytes, room});
    const std::size_t padded = std::min((copied + 7) / 8 * 8, room / 8 * 8);
    buffer_.write(std::uint64_t{padded});
    if (padded != 0) {
      const std::size_t real = std::min(copied, padded);
      buffer_.write_bytes(Bytes(sample.user_stack).first(real));
      buffer_.write_zeros(padded - real);
      buffer_.write(std::uint64_t{real});
    }
  }
  if ((fields & perf::sample_field::weight_struct) != 0) {
    buffer_.write(
        perf::Weight{.access = static_cast<std::uint32_t>(std::min<std::uint64_t>(sample.latency, UINT32_MAX)),
                     .instruction = sample.instruction_latency});
  }
  if ((fields & perf::sample_field::data_source) != 0) buffer_.write(sample.data_source);
  if ((fields & perf::sample_field::regs_intr) != 0) {
    if (sample.has_registers) {
      put_registers(buffer_, sample.registers, description_.interrupt_registers);
    } else {
      buffer_.write(perf::RegisterAbi::None);
    }
  }

  mark_used(sample.pid, sample.ip);
  first_sample_ns_ = std::min(first_sample_ns_.value_or(sample.time_ns), sample.time_ns);
  last_sample_ns_ = std::max(last_sample_ns_, sample.time_ns);
  latest_ns_ = std::max(latest_ns_, sample.time_ns);
  return end(at);
}

Result<void> PerfDataWriter::Impl::kernel_record(Bytes record) {
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

Result<void> PerfDataWriter::Impl::round(std::uint64_t no_earlier_than_ns) {
  if (error_) return *error_;
  // On the n-th FINISHED_ROUND readers emit everything up to the latest time that stood before the (n-1)-th: records
  // of the next round must not be older than that.
  if (no_earlier_than_ns < latest_at_last_round_ || latest_ns_ == latest_at_last_round_) return {};
  latest_at_last_round_ = latest_ns_;
  return end(begin(RecordType::FinishedRound, 0));
}

/// Which block of the heap the sample that comes next lies in; blocks are described before the first of theirs.
void PerfDataWriter::Impl::note_heap_block(const session::Sample& sample) {
  // Said of so many samples at once, whenever the file is written: the same recording has the same bytes.
  constexpr std::size_t kSamplesAtOnce = 256;
  if (blocks_of_samples_.size() == kSamplesAtOnce) append_blocks_of_samples();
  std::uint32_t number = 0;
  if (const session::HeapBlock* const block = sample.heap_block.get(); block != nullptr) {
    const auto [known, fresh] = heap_blocks_.try_emplace({sample.pid, block->number}, last_heap_block_ + 1);
    number = known->second;
    if (fresh) append_heap_block(sample.pid, *block);
  }
  blocks_of_samples_.push_back(number);
  ++samples_appended_;
}

Result<void> PerfDataWriter::Impl::sharing(const SharingPart& part, Bytes bytes) {
  if (error_) return *error_;
  const std::size_t at = begin(RecordType::EventType, 0);
  buffer_.write(perf::NoteBody{.stage = perf::NoteBody::kSharing});
  buffer_.write(perf::SharingBody{
      .pid = u32(part.pid), .part = part.part, .parts = part.parts, .bytes = static_cast<std::uint32_t>(bytes.size())});
  buffer_.write_bytes(bytes);
  buffer_.align(8);
  return end(at);
}

void PerfDataWriter::Impl::append_heap_block(std::int32_t pid, const session::HeapBlock& block) {
  ++last_heap_block_;
  const std::size_t at = begin(RecordType::EventType, 0);
  buffer_.write(perf::NoteBody{.stage = perf::NoteBody::kHeapBlock});
  buffer_.write(perf::HeapBlockBody{.number = block.number,
                                    .start = block.start,
                                    .size = block.size,
                                    .pid = u32(pid),
                                    .site = static_cast<std::uint32_t>(block.site.size())});
  write_words(buffer_, block.site.data(), block.site.size());
  complete(at);
  for (const std::uint64_t address : block.site) mark_used(pid, address);
}

/// Of the samples since the last such record, if any of them lies in a block.
void PerfDataWriter::Impl::append_blocks_of_samples() {
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

Result<void> PerfDataWriter::Impl::flush() {
  if (error_) return *error_;
  if (buffer_.size() == 0) return {};
  std::size_t done = 0;
  const int error = write_at(header_.data.end(), buffer_.bytes(), done);

  // Whole records that reached the file become part of it, even if the rest did not.
  std::size_t whole = 0;
  std::uint64_t samples = 0;
  while (whole < buffer_.size()) {
    perf::RecordHeader record;
    std::memcpy(&record, buffer_.bytes().data() + whole, sizeof record);
    if (whole + record.size > done) break;
    whole += record.size;
    if (record.type == static_cast<std::uint32_t>(RecordType::Sample)) ++samples;
  }
  std::uint64_t size = header_.data.size + whole;
  std::size_t ignored = 0;
  const int size_error = write_at(offsetof(perf::FileHeader, data) + offsetof(perf::Section, size),
                                  std::as_bytes(std::span(&size, 1)), ignored);
  if (size_error == 0) {
    header_.data.size = size;
    samples_written_ += samples;
  }
  buffer_.clear();
  if (error == 0 && size_error == 0) return {};
  error_ = failure("cannot write", error != 0 ? error : size_error);
  if (regular_) (void)!ftruncate(fd_, static_cast<off_t>(header_.data.end()));
  return *error_;
}

/// The feature table, to be placed at `table_at`, with the payloads behind it. Sets the header's bitmap.
ByteWriter PerfDataWriter::Impl::features(std::uint64_t table_at, perf::FileHeader& header) const {
  const Machine& machine = description_.machine;
  const std::uint32_t cpus = std::max(1u, machine.cpus);
  const std::string all_cpus = cpus == 1 ? "0" : fmt::format("0-{}", cpus - 1);
  std::map<Feature, ByteWriter> parts;  // ascending, as the table has to be

  const auto text = [&parts](Feature feature, const std::string& value) {
    if (!value.empty()) write_feature_string(parts[feature], value);
  };
  text(Feature::Hostname, machine.hostname);
  text(Feature::OsRelease, machine.os_release);
  text(Feature::Version, description_.version);
  text(Feature::Arch, machine.architecture);
  text(Feature::CpuDescription, machine.cpu_description);
  text(Feature::CpuId, machine.cpu_id);

  parts[Feature::CpuCount].write(cpus);
  parts[Feature::CpuCount].write(cpus);
  if (machine.memory_kb != 0) parts[Feature::TotalMemory].write(machine.memory_kb);

  if (!description_.command_line.empty()) {
    ByteWriter& out = parts[Feature::CommandLine];
    out.write(static_cast<std::uint32_t>(description_.command_line.size()));
    for (const std::string& argument : description_.command_line) write_feature_string(out, argument);
  }

  ByteWriter& events = parts[Feature::EventDescription];
  events.write(static_cast<std::uint32_t>(description_.events.size()));
  events.write(static_cast<std::uint32_t>(sizeof(perf::EventAttr)));
  for (std::uint32_t event = 0; event < description_.events.size(); ++event) {
    events.write(attr_of(description_, event));
    const std::vector<std::uint64_t> ids = ids_of(event);
    events.write(static_cast<std::uint32_t>(ids.size()));
    write_feature_string(events, description_.events[event].name);
    write_words(events, ids.data(), ids.size());
  }

  // One socket, one node, a core per CPU: what a software PMU plays.
  ByteWriter& topology = parts[Feature::CpuTopology];
  topology.write(std::uint32_t{1});
  write_feature_string(topology, all_cpus);
  topology.write(cpus);
  for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) write_feature_string(topology, fmt::format("{}", cpu));
  for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) {
    topology.write(cpu);
    topology.write(std::uint32_t{0});
  }
  topology.write(std::uint32_t{1});
  write_feature_string(topology, all_cpus);
  for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) topology.write(std::uint32_t{0});

  ByteWriter& numa = parts[Feature::NumaTopology];
  numa.write(std::uint32_t{1});
  numa.write(std::uint32_t{0});
  numa.write(machine.memory_kb);
  numa.write(machine.memory_kb);
  write_feature_string(numa, all_cpus);

  if (description_.branch_filter != 0) (void)parts[Feature::BranchStack];

  ByteWriter& mappings = parts[Feature::PmuMappings];
  mappings.write(std::uint32_t{2});
  mappings.write(static_cast<std::uint32_t>(perf::EventType::Raw));
  write_feature_string(mappings, "cpu");
  mappings.write(static_cast<std::uint32_t>(perf::EventType::Software));
  write_feature_string(mappings, "software");

  if (!description_.groups.empty()) {
    ByteWriter& out = parts[Feature::GroupDescription];
    out.write(static_cast<std::uint32_t>(description_.groups.size()));
    for (const EventGroup& group : description_.groups) {
      write_feature_string(out, group.name.empty() ? "{anon_group}" : group.name);
      out.write(group.leader);
      out.write(group.members);
    }
  }

  if (first_sample_ns_) {
    parts[Feature::SampleTime].write(*first_sample_ns_);
    parts[Feature::SampleTime].write(last_sample_ns_);
  }

  for (const auto& image : spaces_.images()) {
    if (!image->build_id || !used_.contains(image.get())) continue;
    ByteWriter& out = parts[Feature::BuildId];
    const std::size_t at = out.size();
    out.write(perf::RecordHeader{0, perf::misc::user | perf::misc::build_id_size, 0});
    perf::BuildIdBody body;
    body.size = image->build_id->size;
    std::copy(image->build_id->bytes.begin(), image->build_id->bytes.end(), body.bytes);
    out.write(body);
    out.write_c_string(std::string_view{image->path}.substr(0, 4096));
    out.align(8);
    out.patch(at + offsetof(perf::RecordHeader, size), static_cast<std::uint16_t>(out.size() - at));
  }

  if (!machine.pmu_capabilities.empty()) {
    ByteWriter& out = parts[Feature::CpuPmuCaps];
    out.write(static_cast<std::uint32_t>(machine.pmu_capabilities.size()));
    for (const Note& capability : machine.pmu_capabilities) {
      write_feature_string(out, capability.key);
      write_feature_string(out, capability.value);
    }
  }

  ByteWriter all;
  std::uint64_t payload_at = table_at + parts.size() * sizeof(perf::Section);
  for (const auto& [feature, payload] : parts) {
    const auto bit = static_cast<std::uint32_t>(feature);
    header.features[bit / 64] |= std::uint64_t{1} << (bit % 64);
    all.write(perf::Section{payload_at, payload.size()});
    payload_at += payload.size();
  }
  for (const auto& [feature, payload] : parts) all.write_bytes(payload.bytes());
  return all;
}

Result<void> PerfDataWriter::Impl::close(const Summary& summary) {
  if (closed_) return {};
  append_blocks_of_samples();
  (void)flush();
  if (!error_) {
    for (const Note& entry : summary.notes) (void)note(entry, 1);
    (void)flush();
  }

  perf::FileHeader ended = header_;
  const ByteWriter table = features(header_.data.end(), ended);
  std::size_t done = 0;
  int error = write_at(header_.data.end(), table.bytes(), done);
  if (error == 0) error = write_at(0, std::as_bytes(std::span(&ended, 1)), done);
  closed_ = true;

  struct stat ours {
  }, named{};
  const bool reachable = !regular_ || (fstat(fd_, &ours) == 0 && stat(path_.c_str(), &named) == 0 &&
                                       ours.st_dev == named.st_dev && ours.st_ino == named.st_ino);
  if (::close(fd_) != 0 && error == 0) error = errno;
  fd_ = -1;

  if (error_) return *error_;
  if (error != 0) {
    Error whole = failure("cannot write the features", error);
    return whole;
  }
  if (!reachable) {
    return Error{fmt::format("{}: the file was removed or replaced while it was written; {} went with it", path_,
                             samples_written_ == 0 ? "the recording" : "all " + count_of(samples_written_, "sample")),
                 "choose a place that stays with -o FILE"};
  }
  return {};
}

PerfDataWriter::PerfDataWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PerfDataWriter::PerfDataWriter(PerfDataWriter&&) noexcept = default;
PerfDataWriter& PerfDataWriter::operator=(PerfDataWriter&&) noexcept = default;
PerfDataWriter::~PerfDataWriter() = default;

Result<PerfDataWriter> PerfDataWriter::create(std::string path, RecordingDescription description) {
  CHECK(!description.events.empty());
  for (const EventGroup& group : description.groups) {
    CHECK(group.leader + std::uint64_t{group.members} <= description.events.size());
  }
  auto impl = std::make_unique<Impl>(std::move(path), std::move(description));
  if (auto created = impl->create(); !created) {
    impl->closed_ = true;
    return created.error();
  }
  return PerfDataWriter{std::move(impl)};
}

Result<void> PerfDataWriter::comm(const Comm& comm) { return impl_->comm(comm); }
Result<void> PerfDataWriter::mmap(Mmap mmap) { return impl_->mmap(std::move(mmap)); }
Result<void> PerfDataWriter::fork(const Fork& fork) { return impl_->task(RecordType::Fork, fork); }
Result<void> PerfDataWriter::exit(const Exit& exit) {
  return impl_->task(RecordType::Exit, {exit.pid, exit.parent_pid, exit.tid, exit.parent_tid, exit.time_ns});
}
Result<void> PerfDataWriter::lost(const Lost& lost) { return impl_->lost(lost); }
Result<void> PerfDataWriter::sample(const session::Sample& sample) { return impl_->sample(sample); }
Result<void> PerfDataWriter::kernel_record(Bytes record) { return impl_->kernel_record(record); }
std::uint64_t PerfDataWriter::latest_ns() const { return impl_->latest_ns_; }
Result<void> PerfDataWriter::sharing(const SharingPart& part, Bytes bytes) { return impl_->sharing(part, bytes); }
Result<void> PerfDataWriter::round(std::uint64_t no_earlier_than_ns) { return impl_->round(no_earlier_than_ns); }
Result<void> PerfDataWriter::flush() { return impl_->flush(); }
Result<void> PerfDataWriter::close(const Summary& summary) { return impl_->close(summary); }
std::uint64_t PerfDataWriter::samples_written() const { return impl_->samples_written_; }
std::uint64_t PerfDataWriter::bytes_written() const { return impl_->header_.data.end(); }
const std::string& PerfDataWriter::path() const { return impl_->path_; }

}  // namespace zs::profile
