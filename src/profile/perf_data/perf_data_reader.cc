#include "profile/perf_data/perf_data_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "profile/perf_data/compressed_records.h"
#include "profile/perf_data/file_bytes.h"
#include "profile/perf_data/record_decoder.h"

namespace zs::profile {
namespace {

using perf::RecordType;

constexpr std::size_t kMostEvents = 65536;

std::string bytes_of(std::uint64_t count) { return fmt::format("{} byte{}", count, count == 1 ? "" : "s"); }

std::uint64_t time_of(const Record& record) {
  if (const auto* sample = std::get_if<SampleRecord>(&record)) return sample->sample.time_ns;
  return std::visit(
      [](const auto& other) -> std::uint64_t {
        if constexpr (requires { other.time_ns; }) return other.time_ns;
        return 0;
      },
      record);
}

}  // namespace

// ---- opening -----------------------------------------------------------------------------------------------------

Result<PerfDataReader> PerfDataReader::open(const std::string& path, PerfDataOptions options) {
  auto file = read_file_bytes(path);
  if (!file) return file.error();
  PerfDataReader reader;
  reader.name_ = path == "-" ? "standard input" : path;
  if (!file->packed_by.empty()) reader.name_ += ", unpacked";
  reader.storage_ = std::move(file->storage);
  reader.bytes_ = file->bytes;
  reader.captured_at_ = file->modified_at;
  return read(std::move(reader), std::move(options), std::move(file->damage));
}

Result<PerfDataReader> PerfDataReader::from_bytes(std::string name, Bytes bytes, PerfDataOptions options) {
  PerfDataReader reader;
  reader.name_ = std::move(name);
  reader.bytes_ = bytes;
  return read(std::move(reader), std::move(options), std::nullopt);
}

Result<PerfDataReader> PerfDataReader::read(PerfDataReader reader, PerfDataOptions options,
                                            std::optional<Error> packed_damage) {
  reader.traces_.want(options.traces);
  const std::string& name = reader.name_;
  if (packed_damage && reader.bytes_.size() < sizeof(perf::FileHeader)) return *packed_damage;
  if (auto kind = reader.check_kind(); !kind) return kind.error();
  ByteReader in(reader.bytes_, name);
  const std::uint64_t file_bytes = reader.bytes_.size();
  if (ByteReader(reader.bytes_).read<std::array<std::uint64_t, 2>>()[1] == perf::kPipeHeaderBytes) {
    reader.header_.header_bytes = perf::kPipeHeaderBytes;
    reader.header_.data = {.offset = perf::kPipeHeaderBytes, .size = file_bytes - perf::kPipeHeaderBytes};
  } else {
    reader.header_ = in.read<perf::FileHeader>();
    if (!in.ok()) return in.error("file header");
    if (auto events = reader.read_events(); !events) return events.error();
  }

  const perf::Section data = reader.header_.data;
  if (data.offset > file_bytes) {
    return Error{fmt::format("{}: at 0x28: the data is said to begin at {:#x}, but the file ends at {:#x}", name,
                             data.offset, file_bytes),
                 ""};
  }
  // A size of 0: perf was killed before it wrote the size; the data is all that follows.
  const std::uint64_t claimed = data.size != 0 ? data.size : file_bytes - data.offset;
  const std::uint64_t available = std::min(claimed, file_bytes - data.offset);
  reader.records_ = reader.bytes_;
  reader.records_name_ = name;
  reader.extent_.first = data.offset;
  reader.extent_.end = data.offset + available;

  const std::optional<Error> unpacking_damage = reader.unpack();
  std::optional<Error> damage = reader.walk();
  auto times = parse_times(options.times, reader.first_sample_ns(), reader.last_sample_ns());
  if (!times) return times.error();
  reader.choice_ = {.times = *std::move(times), .cpus = std::move(options.cpus)};
  // What is cut is so everywhere: the packed file, the compressed records, the last record. The outermost tells most.
  if (unpacking_damage) damage = unpacking_damage;
  if (packed_damage) damage = std::move(packed_damage);
  if (!damage && claimed > available) {
    damage = Error{fmt::format("{}: at {:#x}: data ends {} early: {} needed, {} remain", name, data.offset,
                               bytes_of(claimed - available), bytes_of(claimed), available),
                   ""};
  }
  if (!damage && reader.events_.empty()) return Error{name + ": the recording has no event", ""};
  if (damage) {
    if (reader.events_.empty()) return *damage;
    if (damage->hint.empty()) {
      const bool cut = claimed > available || data.size == 0 || reader.is_pipe_format();
      const std::uint64_t samples = reader.found_.samples;
      const std::string kept = samples == 0 && reader.traces_.has_branches()
                                   ? "branches"
                                   : fmt::format("{} sample{}", samples, samples == 1 ? "" : "s");
      damage->hint = fmt::format("the recording was {}; --truncated reads the {} before this point",
                                 cut ? "cut short" : "damaged", kept);
    }
    if (!options.truncated) return *damage;
    reader.damage_ = std::move(damage);
  }
  if (claimed == available && data.size != 0 && !reader.is_pipe_format()) reader.read_features();
  reader.describe();
  if (reader.traces_.makes_samples() && !reader.events_.empty()) reader.make_samples_of_traces();
  reader.description_.notes = reader.notes_.of_beginning();
  reader.summary_.notes = reader.notes_.of_end();
  reader.remark_on_unread();
  return reader;
}

/// Puts the records of `perf record -z` in the place of those that are compressed.
std::optional<Error> PerfDataReader::unpack() {
  const Bytes packed = bytes_.subspan(extent_.first, extent_.end - extent_.first);
  if (!has_compressed_records(packed)) return std::nullopt;
  UnpackedRecords unpacked = unpack_records(name_, packed, extent_.first);
  auto kept = std::make_shared<const std::vector<std::byte>>(std::move(unpacked.records));
  records_ = *kept;
  records_storage_ = std::move(kept);
  records_name_ = name_ + ", unpacked records";
  extent_.first = 0;
  extent_.end = records_.size();
  return std::move(unpacked.damage);
}

/// Tells the files that are no perf.data, or one that is not read, by their first bytes.
Result<void> PerfDataReader::check_kind() const {
  std::uint64_t first[2] = {};
  std::memcpy(first, bytes_.data(), std::min(sizeof first, bytes_.size()));
  const std::uint64_t magic = first[0];
  if (magic == perf::kMagicBigEndian) {
    return Error{fmt::format("{}: written on a big-endian machine; only little-endian recordings are read", name_),
                 "read it with perf on a machine of that kind"};
  }
  if (magic == perf::kMagicVersion1) {
    return Error{fmt::format("{}: perf's first format (PERFFILE), of before Linux 2.6.37; PERFILE2 is read", name_),
                 "perf reads it, and writes the second format: perf inject -i FILE -o OTHER"};
  }
  if (magic != perf::kMagic) {
    std::string found;
    for (std::size_t i = 0; i < std::min<std::size_t>(8, bytes_.size()); ++i) {
      found += fmt::format(" {:02x}", std::to_integer<unsigned>(bytes_[i]));
    }
    return Error{fmt::format("{}: not a perf.data file: begins with{}, not with PERFILE2", name_, found),
                 "name a recording with -i FILE"};
  }
  return {};
}

/// Every record, checked and put into the index. returns the first damage
std::optional<Error> PerfDataReader::walk() {
  for (std::uint64_t offset = extent_.first; offset < extent_.end;) {
    const std::uint64_t remain = extent_.end - offset;
    ByteReader in(records_.subspan(offset, remain), records_name_, offset);
    const auto head = in.read<perf::RecordHeader>();
    if (!in.ok()) return in.error("record header");
    if (head.size < sizeof head) {
      return Error{fmt::format("{}: at {:#x}: a record of type {} says it has {}, fewer than its header's {}",
                               records_name_, offset, head.type, bytes_of(head.size), sizeof head),
                   ""};
    }
    if (head.size > remain) return cut_record(offset, head, remain);
    if (auto damage = take_record(offset, head)) return damage;
    offset += head.size;

    in.skip(head.size - sizeof head);
    const std::uint64_t behind = bytes_behind_record(records_.subspan(offset - head.size, head.size));
    in.skip(behind);
    if (!in.ok()) {
      const bool trace = static_cast<RecordType>(head.type) == RecordType::Auxtrace;
      return in.error(trace ? "auxiliary trace" : "descriptions of tracepoints");
    }
    offset += behind;
  }
  return std::nullopt;
}

Error PerfDataReader::cut_record(std::uint64_t offset, const perf::RecordHeader& head, std::uint64_t remain) const {
  std::string what = fmt::format("needs {}, {} remain", bytes_of(head.size), remain);
  if (static_cast<RecordType>(head.type) == RecordType::Sample && !events_.empty()) {
    const Bytes body = records_.subspan(offset + sizeof head, remain - sizeof head);
    if (const auto event = RecordDecoder(records_name_, records_, events_).event_of_sample(body, offset)) {
      what = fmt::format("event {} ({}) {}", *event + 1, events_[*event].name, what);
    }
  }
  return Error{fmt::format("{}: at {:#x}: {} ends {} early: {}", records_name_, offset, record_name(head.type),
                           bytes_of(head.size - remain), what),
               ""};
}

std::optional<Error> PerfDataReader::take_record(std::uint64_t offset, const perf::RecordHeader& head) {
  ByteReader body(records_.subspan(offset + sizeof head, head.size - sizeof head), records_name_, offset + sizeof head);
  switch (static_cast<RecordType>(head.type)) {
    case RecordType::HeaderAttr: return read_attr(body);
    case RecordType::HeaderFeature: {
      const auto feature = body.read<std::uint64_t>();
      if (feature >= 256) return std::nullopt;
      header_.features[feature / 64] |= std::uint64_t{1} << (feature % 64);
      read_feature(static_cast<perf::Feature>(feature), body);
      if (!body.ok()) remarks_.push_back(body.error(fmt::format("feature {}", feature)).message);
      return std::nullopt;
    }
    case RecordType::BuildId: read_build_id(head, body); return std::nullopt;
    case RecordType::AuxtraceInfo: return traces_.read_info(body);
    case RecordType::Auxtrace: return read_trace(offset, body);
    case RecordType::Aux: traces_.read_aux(body); return std::nullopt;
    case RecordType::EventType: return notes_.read(body, found_.samples);
    case RecordType::EventUpdate: {
      const auto kind = body.read<std::uint64_t>();
      const auto event = events_.of_record(body.read<std::uint64_t>());
      const std::string_view text = body.take_padded_string(body.remaining());
      if (body.ok() && kind == 2 && event && !text.empty()) events_[*event].name = text;
      return std::nullopt;
    }
    default: break;
  }
  if (events_.empty()) {
    if (head.type >= perf::kFirstUserRecord) return std::nullopt;
    return Error{fmt::format("{}: at {:#x}: {} before the attributes of any event", records_name_, offset,
                             record_name(head.type)),
                 ""};
  }
  if (!perf::is_known_record(head.type)) ++unknown_types_[head.type];
  const auto kind = RecordDecoder(records_name_, records_, events_).decode(offset, head, scratch_);
  if (!kind) return kind.error();
  if (*kind == RecordDecoder::Kind::Given) index(scratch_, offset);
  return std::nullopt;
}

/// Of the pipe format: an event's attributes, then its ids.
std::optional<Error> PerfDataReader::read_attr(ByteReader& body) {
  const std::uint64_t at = body.offset();
  std::uint32_t type_and_size[2] = {};
  ByteReader ahead = body;
  for (std::uint32_t& word : type_and_size) word = ahead.read<std::uint32_t>();
  if (ahead.ok() && (type_and_size[1] < perf::kOldestAttrBytes || type_and_size[1] % 8 != 0)) {
    body.fail(fmt::format("are said to have {} bytes; {} or more needed", type_and_size[1], perf::kOldestAttrBytes));
  }
  const Bytes attr_bytes = body.take(type_and_size[1]);
  const std::size_t index = events_.size() + 1;
  if (!body.ok()) return body.error(fmt::format("attributes of event {}", index));
  if (index > kMostEvents) {
    return Error{fmt::format("{}: at {:#x}: more than {} events", records_name_, at, kMostEvents), ""};
  }
  return events_.add(attr_bytes, body.read_array<std::uint64_t>(body.remaining() / sizeof(std::uint64_t)), name_, at);
}

std::optional<Error> PerfDataReader::read_trace(std::uint64_t offset, ByteReader& body) {
  if (auto damage = traces_.read_piece(body)) return damage;
  if (traces_.reads_branches()) index(piece_at(offset), offset);
  return std::nullopt;
}

/// The piece behind an AUXTRACE that has been checked, as much of it as is there; `pid` as `tid`.
TracedBranches PerfDataReader::piece_at(std::uint64_t offset) const {
  ByteReader in(records_.subspan(offset, extent_.end - offset));
  const auto head = in.read<perf::RecordHeader>();
  ByteReader fields = in.sub(head.size - sizeof head);
  const auto body = fields.read<perf::AuxtraceBody>();
  const auto tid = static_cast<std::int32_t>(body.tid);
  const std::uint64_t there = std::min<std::uint64_t>(body.bytes, in.remaining());
  return {.pid = tid,
          .tid = tid,
          .time_ns = traces_.time_ns_of(body.reference),
          .records = in.take(there - there % sizeof(arch::BtsRecord))};
}

void PerfDataReader::make_samples_of_traces() {
  FileEvent& event = traces_.make_event(events_);
  for (const Place& place : places_) {
    perf::RecordHeader head;
    std::memcpy(&head, records_.data() + place.offset, sizeof head);
    if (static_cast<RecordType>(head.type) != RecordType::Auxtrace) continue;
    for_each_branch(piece_at(place.offset).records, [&](std::uint64_t, std::uint64_t) { ++event.samples; });
  }
  found_.samples += event.samples;
}

/// Nothing is passed over in silence.
void PerfDataReader::remark_on_unread() {
  if (traces_.bytes() != 0 && !traces_.reads_branches()) {
    remarks_.push_back(fmt::format("{}: auxiliary traces are passed over: {} by {}", name_, bytes_of(traces_.bytes()),
                                   traces_.kind()));
  }
  for (const std::string& remark : traces_.remarks()) remarks_.push_back(name_ + ": " + remark);
  for (const auto& [type, count] : unknown_types_) {
    remarks_.push_back(fmt::format("{}: {} record{} of type {} passed over, which {} not known here", name_, count,
                                   count == 1 ? "" : "s", type, count == 1 ? "is" : "are"));
  }
}

void PerfDataReader::index(const Record& record, std::uint64_t offset) {
  const std::uint64_t time_ns = time_of(record);
  if (const auto* sample = std::get_if<SampleRecord>(&record)) {
    found_.first_sample_ns = sample_offsets_.empty() ? time_ns : std::min(found_.first_sample_ns, time_ns);
    found_.last_sample_ns = std::max(found_.last_sample_ns, time_ns);
    sample_offsets_.push_back(offset);
    readings_.each(*sample, events_, [this](std::uint32_t event, std::uint64_t) {
      ++found_.samples;
      ++events_[event].samples;
    });
    if (sample->branch_prediction_known) description_.branch_prediction_known = true;
  } else if (const auto* lost = std::get_if<Lost>(&record)) {
    found_.lost += lost->count;
    events_[lost->event].lost += lost->count;
  }
  in_time_order_ = in_time_order_ && (places_.empty() || places_.back().time_ns <= time_ns);
  places_.push_back({time_ns, offset});
}

Result<void> PerfDataReader::read_events() {
  const std::uint64_t entry = header_.attr_entry_bytes;
  const auto wrong = [this](std::uint64_t at, std::string what) {
    return Error{fmt::format("{}: at {:#x}: {}", name_, at, what), ""};
  };
  if (entry < perf::kOldestAttrBytes + sizeof(perf::Section) || entry > 4096 || entry % 8 != 0) {
    return wrong(0x10, fmt::format("an event's attributes are said to have {}; 80 to 4096 needed", bytes_of(entry)));
  }
  const std::uint64_t count = header_.attrs.size / entry;
  if (count == 0) return wrong(0x18, "the recording has no event");
  if (count > kMostEvents) return wrong(0x18, fmt::format("{} events; at most {} are read", count, kMostEvents));

  ByteReader in(bytes_, name_);
  in.seek(header_.attrs.offset);
  std::uint64_t ids_left = bytes_.size() / sizeof(std::uint64_t);
  for (std::uint32_t index = 0; index < count; ++index) {
    ByteReader row = in.sub(entry);
    const Bytes attr_bytes = row.take(entry - sizeof(perf::Section));
    const auto ids = row.read<perf::Section>();
    if (!row.ok()) return row.error(fmt::format("attributes of event {}", index + 1));

    ByteReader list(bytes_, name_);
    list.seek(ids.offset);
    const std::uint64_t id_count = ids.size / sizeof(std::uint64_t);
    // Lists that overlap could add up to more than the file: not with us.
    if (id_count > ids_left) list.fail(fmt::format("has {} ids, for which the file is too small", id_count));
    std::vector<std::uint64_t> known = list.read_array<std::uint64_t>(id_count);
    if (!list.ok() && id_count != 0) return list.error(fmt::format("list of the ids of event {}", index + 1));
    ids_left -= std::min(ids_left, id_count);
    if (auto error = events_.add(attr_bytes, std::move(known), name_, in.offset() - entry)) return *error;
  }
  return {};
}

// ---- reading -----------------------------------------------------------------------------------------------------

void PerfDataReader::for_each(Order order, const std::function<void(const Record&)>& take_all) const {
  const std::function<void(const Record&)> take_chosen = [&](const Record& one) {
    const auto* const sample = std::get_if<SampleRecord>(&one);
    if (sample == nullptr || choice_.takes(sample->sample)) take_all(one);
  };
  const std::function<void(const Record&)>& take = choice_.is_everything() ? take_all : take_chosen;
  RecordDecoder decoder(records_name_, records_, events_);
  Record record;
  CounterReadings readings;
  const auto add_heap_block = [&](Record& one, std::uint64_t offset) {
    auto* const sample = std::get_if<SampleRecord>(&one);
    if (sample == nullptr) return;
    const auto at =
        static_cast<std::size_t>(std::ranges::lower_bound(sample_offsets_, offset) - sample_offsets_.begin());
    sample->sample.heap_block = notes_.heap_block_of(at);
  };
  std::unordered_map<std::int32_t, std::int32_t> pid_of_tid;  // pieces of a trace name the thread alone
  const auto give = [&](const Place& place) {
    perf::RecordHeader head;
    std::memcpy(&head, records_.data() + place.offset, sizeof head);
    if (static_cast<RecordType>(head.type) == RecordType::Auxtrace) {
      TracedBranches piece = piece_at(place.offset);
      if (const auto known = pid_of_tid.find(piece.tid); known != pid_of_tid.end()) piece.pid = known->second;
      traces_.give(piece, record, take);
      return;
    }
    const auto kind = decoder.decode(place.offset, head, record);
    CHECK(kind.has_value(), place.offset);
    if (notes_.has_heap_blocks()) add_heap_block(record, place.offset);
    if (const auto* comm = std::get_if<Comm>(&record)) pid_of_tid[comm->tid] = comm->pid;
    if (const auto* fork = std::get_if<Fork>(&record)) pid_of_tid[fork->tid] = fork->pid;
    auto* const sample = std::get_if<SampleRecord>(&record);
    if (sample == nullptr) return take(record);
    readings.each(*sample, events_, [&](std::uint32_t event, std::uint64_t period) {
      sample->sample.event = event;
      sample->sample.period = period;
      take(record);
    });
  };
  if (order == Order::File || in_time_order_) {
    std::for_each(places_.begin(), places_.end(), give);
    return;
  }
  std::vector<Place> sorted = places_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Place& a, const Place& b) { return a.time_ns < b.time_ns; });
  std::for_each(sorted.begin(), sorted.end(), give);
}

}  // namespace zs::profile
