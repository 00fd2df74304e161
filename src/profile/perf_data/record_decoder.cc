#include "profile/perf_data/record_decoder.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <optional>
#include <variant>

namespace zs::profile {
namespace {

using perf::RecordType;

template <typename Task>
static Task task(const perf::TaskBody& body) {
  return {.pid = static_cast<std::int32_t>(body.pid),
          .parent_pid = static_cast<std::int32_t>(body.ppid),
          .tid = static_cast<std::int32_t>(body.tid),
          .parent_tid = static_cast<std::int32_t>(body.ptid),
          .time_ns = body.time};
}

}  // namespace

std::string_view record_name(std::uint32_t type) {
  switch (static_cast<RecordType>(type)) {
    case RecordType::Mmap: return "MMAP record";
    case RecordType::Lost: return "LOST record";
    case RecordType::Comm: return "COMM record";
    case RecordType::Exit: return "EXIT record";
    case RecordType::Fork: return "FORK record";
    case RecordType::Sample: return "sample";
    case RecordType::Mmap2: return "MMAP2 record";
    case RecordType::LostSamples: return "LOST_SAMPLES record";
    case RecordType::EventType: return "note";
    case RecordType::EventUpdate: return "EVENT_UPDATE record";
    case RecordType::Auxtrace: return "AUXTRACE record";
    default: return "record";
  }
}

Result<RecordDecoder::Kind> RecordDecoder::decode(std::uint64_t offset, const perf::RecordHeader& header,
                                                  Record& record) {
  const Bytes body = records_.subspan(offset + sizeof header, header.size - sizeof header);
  ByteReader in(body, {}, offset + sizeof header);
  const auto type = static_cast<RecordType>(header.type);
  if (type == RecordType::Sample) return sample(in, header, record);
  if (type != RecordType::Comm && type != RecordType::Mmap && type != RecordType::Mmap2 && type != RecordType::Fork &&
      type != RecordType::Exit && type != RecordType::Lost && type != RecordType::LostSamples) {
    return Kind::PassedOver;
  }

  auto event = event_of_trailer(body, offset + sizeof header);
  if (!event) return event.error();
  const SampleLayout& layout = events_[*event].layout;
  const std::size_t trailer_bytes = layout.trailer_bytes();
  if (body.size() < trailer_bytes) {
    in.skip(trailer_bytes);
    return failure(in, fmt::format("trailer of a {}", record_name(header.type)));
  }
  ByteReader fields(body.first(body.size() - trailer_bytes), {}, offset + sizeof header);
  ByteReader end(body.last(trailer_bytes), {}, offset + header.size - trailer_bytes);
  const Trailer trailer = layout.read_trailer(end);

  switch (type) {
    case RecordType::Comm: record = comm(fields, header, trailer); break;
    case RecordType::Mmap:
    case RecordType::Mmap2: record = mmap(fields, header, trailer); break;
    case RecordType::Fork: record = task<Fork>(fields.read<perf::TaskBody>()); break;
    case RecordType::Exit: record = task<Exit>(fields.read<perf::TaskBody>()); break;
    default: {
      Lost lost{.event = *event, .pid = trailer.pid, .tid = trailer.tid, .time_ns = trailer.time_ns};
      if (type == RecordType::Lost) {
        lost.event = events_.with_id(fields.read<std::uint64_t>()).value_or(*event);
      }
      lost.count = fields.read<std::uint64_t>();
      record = lost;
    }
  }
  if (!fields.ok()) return failure(fields, record_name(header.type));
  return Kind::Given;
}

Result<std::uint32_t> RecordDecoder::event_of_sample(Bytes body, std::uint64_t at) const {
  const auto place = events_[0].layout.id_offset_in_sample();
  if (!place) return std::uint32_t{0};
  ByteReader in(body, {}, at);
  in.skip(*place);
  const auto id = in.read<std::uint64_t>();
  if (!in.ok()) return failure(in, "sample");
  return event_or_error(id, at + *place, "sample");
}

Result<std::uint32_t> RecordDecoder::event_of_trailer(Bytes body, std::uint64_t at) const {
  const auto place = events_[0].layout.id_offset_from_end();
  if (!place || body.size() < *place) return std::uint32_t{0};
  ByteReader in(body.last(*place), {}, at + body.size() - *place);
  return event_or_error(in.read<std::uint64_t>(), at + body.size() - *place, "record");
}

Result<std::uint32_t> RecordDecoder::event_or_error(std::uint64_t id, std::uint64_t at, std::string_view thing) const {
  if (const auto event = events_.of_record(id)) return *event;
  return Error{fmt::format("{}: at {:#x}: {} has the event id {}, which none of the {} events has", name_, at, thing,
                           id, events_.size()),
               ""};
}

Error RecordDecoder::failure(const ByteReader& in, std::string_view thing) const {
  Error error = in.error(thing);
  error.message = name_ + ": " + error.message;
  return error;
}

Result<RecordDecoder::Kind> RecordDecoder::sample(ByteReader& in, const perf::RecordHeader& header,
                                                  Record& record) const {
  const Bytes body = records_.subspan(in.offset(), header.size - sizeof header);
  const auto event = event_of_sample(body, in.offset());
  if (!event) return event.error();
  auto* out = std::get_if<SampleRecord>(&record);
  if (out == nullptr) out = &record.emplace<SampleRecord>();
  out->sample.event = *event;
  const FileEvent& of = events_[*event];
  if (const char* where = of.layout.read_sample(in, header.misc, *out); where != nullptr) {
    return failure(in, fmt::format("{} of a sample of event {} ({})", where, *event + 1, of.name));
  }
  return Kind::Given;
}

Comm RecordDecoder::comm(ByteReader& in, const perf::RecordHeader& header, const Trailer& trailer) {
  Comm comm{.time_ns = trailer.time_ns, .exec = (header.misc & perf::misc::comm_exec) != 0};
  comm.pid = in.read<std::int32_t>();
  comm.tid = in.read<std::int32_t>();
  comm.name = in.take_padded_string(in.remaining());
  return comm;
}

Mmap RecordDecoder::mmap(ByteReader& in, const perf::RecordHeader& header, const Trailer& trailer) {
  const auto place = in.read<perf::Mmap2Place>();
  Mmap mmap{.pid = static_cast<std::int32_t>(place.pid),
            .tid = static_cast<std::int32_t>(place.tid),
            .time_ns = trailer.time_ns,
            .start = place.address,
            .length = place.length,
            .file_offset = place.page_offset};
  if (static_cast<RecordType>(header.type) == RecordType::Mmap) {
    // The record says no more; perf itself takes what is not marked as data for executable.
    mmap.protection = (header.misc & perf::misc::mmap_data) != 0 ? PROT_READ : PROT_READ | PROT_EXEC;
  } else {
    if ((header.misc & perf::misc::mmap_build_id) != 0) {
      const auto id = in.read<perf::Mmap2BuildId>();
      mmap.build_id = BuildId::of(id.bytes, id.size);
    } else {
      const auto inode = in.read<perf::Mmap2Inode>();
      mmap.device_major = inode.major;
      mmap.device_minor = inode.minor;
      mmap.inode = inode.inode;
      mmap.inode_generation = inode.generation;
    }
    const auto access = in.read<perf::Mmap2Access>();
    mmap.protection = access.protection;
    mmap.flags = access.flags;
  }
  mmap.path = in.take_padded_string(in.remaining());
  return mmap;
}

}  // namespace zs::profile
