#include "session/wire/wire.h"

#include <algorithm>
#include <memory>
#include <type_traits>

#include "base/bytes.h"
#include "base/check.h"
#include "base/fields.h"
#include "session/settings/config.h"
#include "session/units/unit_sums.h"

namespace zs::session {
namespace {

constexpr std::uint32_t kMessageMagic = 0x31'4B535A;  // "ZSK1"
constexpr std::size_t kDatagramHeader = 8;
constexpr std::size_t kLongestString = 4096;
constexpr std::size_t kMostCounts = 2048;  // three lists of them fit a datagram

constexpr std::size_t kMostSums = 7000;

struct MessageHead {
  std::uint16_t type = 0;  // place in Message
  std::uint16_t zero = 0;
  std::uint32_t size = 0;  // of what follows
};
static_assert(sizeof(MessageHead) == 8);

/// Scalars of a sample that always travel; lists follow with the lengths given here.
struct SampleHead {
  std::uint64_t time_ns, ip, address, period;
  std::int32_t pid, tid;
  std::uint32_t event, cpu;
  std::uint32_t stack_bytes;
  std::uint16_t callchain;
  std::uint8_t branches;
  std::uint8_t flags;  // kHasRegisters, kExactIp, kHasRaw, kHasDataSource, kHasHeapBlock; ChainEnd above them
};
static_assert(sizeof(SampleHead) == 56);
constexpr std::uint8_t kHasRegisters = 1;
constexpr std::uint8_t kExactIp = 2;
constexpr std::uint8_t kHasRaw = 4;
constexpr std::uint8_t kHasDataSource = 8;
constexpr std::uint8_t kHasHeapBlock = 16;
constexpr unsigned kChainEndShift = 5;

/// kHasDataSource: after the head.
struct DataSourceBytes {
  std::uint64_t source, latency;
  std::uint16_t instruction_latency;
  std::uint16_t zero[3];
};
static_assert(sizeof(DataSourceBytes) == 24);

/// kHasHeapBlock: after everything else; then the addresses of its site.
struct HeapBlockBytes {
  std::uint64_t number, start, size;
  std::uint64_t site;  // how many
};
static_assert(sizeof(HeapBlockBytes) == 32);

struct BranchBytes {
  std::uint64_t from, to;
  std::uint16_t cycles;
  std::uint8_t kind, mispredicted, speculation;
  std::uint8_t zero[3];
};
static_assert(sizeof(BranchBytes) == 24);

template <typename T>
auto bytes_of(const std::vector<T>& list, std::size_t count) {
  return std::as_bytes(std::span(list).first(count));
}

/// What of a sample's lists is sent.
SampleHead head_of(const Sample& s) {
  return {.time_ns = s.time_ns,
          .ip = s.ip,
          .address = s.address,
          .period = s.period,
          .pid = s.pid,
          .tid = s.tid,
          .event = s.event,
          .cpu = s.cpu,
          .stack_bytes = static_cast<std::uint32_t>(std::min<std::size_t>(s.user_stack.size(), kMaxUserStack)),
          .callchain = static_cast<std::uint16_t>(std::min<std::size_t>(s.callchain.size(), kMaxCallchain)),
          .branches = static_cast<std::uint8_t>(std::min<std::size_t>(s.branches.size(), kMaxBranches)),
          .flags = static_cast<std::uint8_t>((s.has_registers ? kHasRegisters : 0) | (s.exact_ip ? kExactIp : 0) |
                                             (s.raw.empty() ? 0 : kHasRaw) | (s.data_source != 0 ? kHasDataSource : 0) |
                                             (s.heap_block != nullptr ? kHasHeapBlock : 0) |
                                             static_cast<unsigned>(s.chain_end) << kChainEndShift)};
}

std::size_t sent_of(const HeapBlock& block) { return std::min<std::size_t>(block.site.size(), kMaxHeapSite); }

std::size_t bytes_of_body(const Sample& s) {
  const SampleHead head = head_of(s);
  const std::size_t raw = s.raw.empty() ? 0 : sizeof(std::uint32_t) + s.raw.size();
  const std::size_t block = s.heap_block == nullptr ? 0 : sizeof(HeapBlockBytes) + 8 * sent_of(*s.heap_block);
  return sizeof head + (s.data_source != 0 ? sizeof(DataSourceBytes) : 0) + (s.has_registers ? sizeof s.registers : 0) +
         std::size_t{8} * head.callchain + sizeof(BranchBytes) * head.branches + head.stack_bytes + raw + block;
}

void body(ByteWriter& out, const Sample& s) {
  const SampleHead head = head_of(s);
  out.write(head);
  if (s.data_source != 0) {
    out.write(DataSourceBytes{
        .source = s.data_source, .latency = s.latency, .instruction_latency = s.instruction_latency, .zero = {}});
  }
  if (s.has_registers) out.write(s.registers);
  out.write_bytes(bytes_of(s.callchain, head.callchain));
  for (std::size_t i = 0; i < head.branches; ++i) {
    const SampledBranch& b = s.branches[i];
    out.write(BranchBytes{.from = b.from,
                          .to = b.to,
                          .cycles = b.cycles,
                          .kind = static_cast<std::uint8_t>(b.kind),
                          .mispredicted = static_cast<std::uint8_t>(b.mispredicted),
                          .speculation = static_cast<std::uint8_t>(b.speculation),
                          .zero = {}});
  }
  out.write_bytes(bytes_of(s.user_stack, head.stack_bytes));
  if (!s.raw.empty()) {
    CHECK(s.raw.size() <= kMaxRaw, s.raw.size());
    out.write(static_cast<std::uint32_t>(s.raw.size()));
    out.write_bytes(s.raw);
  }
  if (s.heap_block == nullptr) return;
  const HeapBlock& block = *s.heap_block;
  const std::size_t site = sent_of(block);
  out.write(HeapBlockBytes{.number = block.number, .start = block.start, .size = block.size, .site = site});
  out.write_bytes(bytes_of(block.site, site));
}

/// What is longer is cut.
struct Limits {
  template <typename Element>
  static constexpr std::size_t most = kMostCounts;
};
template <>
constexpr std::size_t Limits::most<char> = kLongestString;
template <>
constexpr std::size_t Limits::most<double> = kMostSums;
template <>
constexpr std::size_t Limits::most<std::byte> = kMaxBranchTrace;
static_assert(kMaxSharingPart == kMaxBranchTrace);
template <>
constexpr std::size_t Limits::most<arch::PathCount> = kMostRan;

template <typename T>
void body(ByteWriter& out, const T& message) {
  FieldWriter<Limits> visit(out);
  T::fields(message, visit);
}

constexpr std::size_t kWindowHead = sizeof(Origin) + 3 * sizeof(std::uint64_t);
std::size_t bytes_of_body(const Window& m) {
  return kWindowHead + 2 * sizeof(std::uint32_t) + 8 * std::min(m.values.size(), kMostCounts) + 8 * m.units.size();
}
static_assert(kDatagramHeader + sizeof(MessageHead) + kWindowHead + 8 + 8 * kMostCounts +
                  8 * UnitSums::packed_size(kMostEstimated) <=
              kMaxDatagram);

void read_body(ByteReader& in, Sample& s) {
  const auto head = in.read<SampleHead>();
  s.time_ns = head.time_ns;
  s.ip = head.ip;
  s.address = head.address;
  s.period = head.period;
  s.pid = head.pid;
  s.tid = head.tid;
  s.event = head.event;
  s.cpu = head.cpu;
  s.exact_ip = (head.flags & kExactIp) != 0;
  s.chain_end = static_cast<ChainEnd>(head.flags >> kChainEndShift);
  if (s.chain_end > ChainEnd::Limit) in.fail("no end of a chain");
  s.has_registers = (head.flags & kHasRegisters) != 0;
  const auto data = in.read_if<DataSourceBytes>((head.flags & kHasDataSource) != 0).value_or(DataSourceBytes{});
  s.data_source = data.source;
  s.latency = data.latency;
  s.instruction_latency = data.instruction_latency;
  if (s.has_registers)
    s.registers = in.read<arch::RegisterFile>();
  else
    s.registers = {};
  in.read_array(head.callchain, s.callchain);
  s.branches.clear();
  for (int i = 0; i < head.branches && in.ok(); ++i) {
    const auto b = in.read<BranchBytes>();
    if (b.kind > static_cast<std::uint8_t>(arch::BranchKind::Far)) in.fail("no kind of branch");
    if (b.speculation > static_cast<std::uint8_t>(arch::BranchSpeculation::SpeculativeCorrect))
      in.fail("no kind of speculation");
    s.branches.push_back({.from = b.from,
                          .to = b.to,
                          .mispredicted = b.mispredicted != 0,
                          .cycles = b.cycles,
                          .kind = static_cast<arch::BranchKind>(b.kind),
                          .speculation = static_cast<arch::BranchSpeculation>(b.speculation)});
  }
  in.read_array(head.stack_bytes, s.user_stack);
  in.read_array((head.flags & kHasRaw) != 0 ? in.read<std::uint32_t>() : 0, s.raw);
  s.heap_block.reset();
  if ((head.flags & kHasHeapBlock) == 0) return;
  const auto block = in.read<HeapBlockBytes>();
  if (block.site > kMaxHeapSite) in.fail("too long a site");
  s.heap_block = std::make_shared<const HeapBlock>(HeapBlock{.number = block.number,
                                                             .start = block.start,
                                                             .size = block.size,
                                                             .site = in.read_array<std::uint64_t>(block.site)});
}

template <typename T>
void read_body(ByteReader& in, T& message) {
  FieldReader visit(in);
  T::fields(message, visit);
}

/// Of which there may be many, one after the other.
template <typename T>
constexpr bool kOfMany = std::is_same_v<T, Sample> || std::is_same_v<T, Window>;

/// The type on the wire is the place in the variant. A sample or a window is read into the memory of the one before.
/// returns  false if there is no such type
template <std::size_t I = 0>
bool read_message(std::size_t type, ByteReader& in, Message& message) {
  if constexpr (I < std::variant_size_v<Message>) {
    if (type != I) return read_message<I + 1>(type, in, message);
    if constexpr (kOfMany<std::variant_alternative_t<I, Message>>) {
      auto* const last = std::get_if<I>(&message);
      read_body(in, last != nullptr ? *last : message.emplace<I>());
      return true;
    }
    read_body(in, message.emplace<I>());
    return true;
  } else {
    return false;
  }
}

template <typename T, std::uint16_t I = 0>
constexpr std::uint16_t type_of() {
  if constexpr (std::is_same_v<std::variant_alternative_t<I, Message>, T>)
    return I;
  else
    return type_of<T, I + 1>();
}

Error broken(std::uint64_t position, const char* what) {
  return {"message from the profiled program: at byte " + std::to_string(position) + ": " + what,
          "the program may have overwritten the profiler's memory; what arrived before is kept"};
}

}  // namespace

MessageWriter::MessageWriter(Channel& channel, std::int32_t pid) : channel_(channel), pid_(pid) { begin_datagram(); }

void MessageWriter::begin_datagram() {
  datagram_.clear();
  datagram_.write(kMessageMagic);
  datagram_.write(pid_);
}

void MessageWriter::begin_message(std::size_t type) {
  message_.clear();
  message_.write(MessageHead{.type = static_cast<std::uint16_t>(type)});
}

void MessageWriter::end_message() {
  message_.patch(offsetof(MessageHead, size), static_cast<std::uint32_t>(message_.size() - sizeof(MessageHead)));
  CHECK(kDatagramHeader + message_.size() <= kMaxDatagram);
  if (datagram_.size() + message_.size() > kMaxDatagram) flush();
  datagram_.write_bytes(message_.bytes());
}

void MessageWriter::write(const Message& message) {
  begin_message(message.index());
  std::visit([&](const auto& m) { body(message_, m); }, message);
  end_message();
}

template <typename T>
void MessageWriter::write_in_place(const T& message, std::size_t size) {
  if (datagram_.size() + sizeof(MessageHead) + size > kMaxDatagram) flush();
  datagram_.write(MessageHead{.type = type_of<T>(), .size = static_cast<std::uint32_t>(size)});
  const std::size_t start = datagram_.size();
  body(datagram_, message);
  CHECK(datagram_.size() - start == size && datagram_.size() <= kMaxDatagram, datagram_.size(), start, size);
}

void MessageWriter::write(const Sample& sample) { write_in_place(sample, bytes_of_body(sample)); }
void MessageWriter::write(const Window& window) { write_in_place(window, bytes_of_body(window)); }

void MessageWriter::flush() {
  if (datagram_.size() == kDatagramHeader) return;
  channel_.send(datagram_.bytes());
  begin_datagram();
}

void MessageWriter::restart(std::int32_t pid) {
  pid_ = pid;
  begin_datagram();
}

Result<void> decode_datagram(std::span<const std::byte> datagram, const std::function<void(Message&&)>& receive) {
  ByteReader in(datagram);
  const auto magic = in.read<std::uint32_t>();
  in.read<std::int32_t>();  // the sender's pid: for people with a debugger
  if (!in.ok() || magic != kMessageMagic) return broken(0, "no message of zeroskid-run");
  Message message;
  while (in.remaining() != 0) {
    const std::uint64_t start = in.offset();
    const auto head = in.read<MessageHead>();
    const Bytes payload = in.take(head.size);
    if (!in.ok() || head.zero != 0) return broken(start, "a message passes the end of its datagram");
    ByteReader fields(payload);
    if (!read_message(head.type, fields, message)) return broken(start, "a message of unknown type");
    if (!fields.ok() || fields.remaining() != 0) return broken(start, "a message whose fields do not fill it");
    receive(std::move(message));
  }
  return {};
}

}  // namespace zs::session
