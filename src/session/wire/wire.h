// The language between the processes of a profiled program and the collector: facts, samples and counts as messages,
// whole messages in datagrams of at most kMaxDatagram bytes. Every process of a recording writes to the same
// SOCK_SEQPACKET socket; a datagram arrives whole or not at all, so killing either side loses only what was not sent.
//
//   datagram   u32 magic, i32 pid of the sender, then messages up to its end
//   message    u16 type, u16 zero, u32 size of the payload, then the payload
//
// The profiled program shares its sender's process and can scribble on it: the decoder trusts no length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "arch/records/ds_excerpt.h"
#include "base/bytes.h"
#include "base/result.h"
#include "session/sample.h"

namespace zs::session {

inline constexpr std::size_t kMaxDatagram = 62 * 1024;
/// What remains of a datagram for a sample's copy of the user stack, everything else at its longest.
inline constexpr std::uint32_t kMaxUserStack = 56 * 1024;
inline constexpr std::uint32_t kMaxCallchain = 127;
inline constexpr std::uint32_t kMaxBranches = 32;
inline constexpr std::uint32_t kMaxRaw = arch::kMaxDsExcerpt;
inline constexpr std::uint32_t kMaxHeapSite = 16;
inline constexpr std::uint32_t kMaxBranchTrace = 56 * 1024;
inline constexpr std::uint32_t kMaxSharingPart = 56 * 1024;
inline constexpr std::uint32_t kMostRan = 56 * 1024 / sizeof(arch::PathCount);

// fields() of a message says in which order its fields travel (base/fields.h).

/// A thread of the program and when, in nanoseconds of the recording's clock.
struct Origin {
  /// One number for both.
  std::int64_t thread_key() const { return std::int64_t{pid} << 32 | static_cast<std::uint32_t>(tid); }

  std::int32_t pid = 0, tid = 0;
  std::uint64_t time_ns = 0;
  bool operator==(const Origin&) const = default;
};

/// A program image is about to run in this process; exec: it replaced another one.
struct Hello {
  Origin origin;
  bool exec = false;
  static void fields(auto& m, auto& visit) { visit(m.origin, m.exec); }
  bool operator==(const Hello&) const = default;
};

struct Comm {
  Origin origin;
  bool exec = false;
  std::string comm;
  static void fields(auto& m, auto& visit) { visit(m.origin, m.exec, m.comm); }
  bool operator==(const Comm&) const = default;
};

struct Mmap {
  Origin origin;
  std::uint64_t start = 0, length = 0, file_offset = 0;
  std::uint32_t protection = 0, flags = 0;  // PROT_*, MAP_*
  std::uint32_t device_major = 0, device_minor = 0;
  std::uint64_t inode = 0;
  bool identified = false;  // what is mapped was looked at for its build-id
  std::string build_id;     // its bytes, at most 20; "": it has none
  std::string path;
  static void fields(auto& m, auto& visit) {
    visit(m.origin, m.start, m.length, m.file_offset, m.inode, m.protection, m.flags, m.device_major, m.device_minor,
          m.identified, m.build_id, m.path);
  }
  bool operator==(const Mmap&) const = default;
};

struct Fork {
  Origin origin;  // the child
  std::int32_t parent_pid = 0, parent_tid = 0;
  bool by_parent = false;  // told in the parent's stream, at its time; the child tells it too, unless it is of vfork
  static void fields(auto& m, auto& visit) { visit(m.origin, m.parent_pid, m.parent_tid, m.by_parent); }
  bool operator==(const Fork&) const = default;
};

struct Exit {
  Origin origin;
  std::int32_t parent_pid = 0, parent_tid = 0;
  static void fields(auto& m, auto& visit) { visit(m.origin, m.parent_pid, m.parent_tid); }
  bool operator==(const Exit&) const = default;
};

/// Totals of one thread since it started, one value per event of the recording.
struct Counts {
  Origin origin;
  bool final = false;  // false: still running, and the last word if it is killed
  std::vector<std::uint64_t> values;
  static void fields(auto& m, auto& visit) { visit(m.origin, m.final, m.values); }
  bool operator==(const Counts&) const = default;
};

/// What units have told of one thread so far (UnitSums::packed), of RecordingConfig::estimated_events().
struct Units {
  Origin origin;
  bool final = false;  // as Counts has it
  std::vector<double> sums;
  static void fields(auto& m, auto& visit) { visit(m.origin, m.final, m.sums); }
  bool operator==(const Units&) const = default;
};

/// What one thread counted between two moments.
struct Window {
  Origin origin;
  std::uint64_t begin = 0, end = 0;   // instructions that the thread had retired in this image
  std::uint64_t ended_by = 0;         // bit i: the i-th event that closes windows; none: the thread ended
  std::vector<std::uint64_t> values;  // by event; events of the kernel are 0: nobody reads them here
  std::vector<double> units;          // where there are estimates, as Units::sums
  static void fields(auto& m, auto& visit) { visit(m.origin, m.begin, m.end, m.ended_by, m.values, m.units); }
  bool operator==(const Window&) const = default;
};

/// What one thread counted in all entries of a region that have ended.
struct Region {
  Origin origin;
  bool final = false;  // as Counts has it
  std::string name;
  std::uint64_t entries = 0;
  std::uint64_t cut = 0;                        // of those: ended without an end of their own
  std::uint64_t ends_alone = 0;                 // ends without a begin
  std::vector<std::uint64_t> sum, least, most;  // by event; least is UINT64_MAX without an entry
  std::vector<double> units;  // where there are estimates, as Units::sums: of the entries that have ended
  static void fields(auto& m, auto& visit) {
    visit(m.origin, m.final, m.name, m.entries, m.cut, m.ends_alone, m.sum, m.least, m.most, m.units);
  }
  bool operator==(const Region&) const = default;
};

/// One entry of a region, in instructions that the thread had retired in this image.
struct RegionSpan {
  Origin origin;
  std::string name;
  std::uint64_t begin = 0, end = 0;
  static void fields(auto& m, auto& visit) { visit(m.origin, m.name, m.begin, m.end); }
  bool operator==(const RegionSpan&) const = default;
};

/// Samples of one event that could not be kept.
struct Lost {
  Origin origin;
  std::uint32_t event = 0;
  std::uint64_t samples = 0;
  static void fields(auto& m, auto& visit) { visit(m.origin, m.event, m.samples); }
  bool operator==(const Lost&) const = default;
};

/// What recording one thread took; sent when it ends.
struct Statistics {
  Origin origin;
  std::uint64_t pmis = 0;      // performance-monitoring interrupts taken
  std::uint64_t records = 0;   // PEBS records drained
  std::uint64_t lost = 0;      // samples lost
  std::uint64_t filtered = 0;  // branches that did not pass the trace's filter
  static void fields(auto& m, auto& visit) { visit(m.origin, m.pmis, m.records, m.lost, m.filtered); }
  bool operator==(const Statistics&) const = default;
};

/// A part of the bytes of a process's ProcessSharing; parts come in their order.
struct Sharing {
  Origin origin;
  std::uint32_t part = 0, parts = 0;
  std::vector<std::byte> bytes;
  static void fields(auto& m, auto& visit) { visit(m.origin, m.part, m.parts, m.bytes); }
  bool operator==(const Sharing&) const = default;
};

/// Taken branches of one thread since the last such message, as the Branch Trace Store stored them: all, or those that
/// passed the recording's filter. Then a record of zeros stands before one where others did not.
struct Branches {
  Origin origin;                   // of the last one
  std::vector<std::byte> records;  // arch/records/bts.h; at most kMaxBranchTrace
  static void fields(auto& m, auto& visit) { visit(m.origin, m.records); }
  bool operator==(const Branches&) const = default;
};

/// Of an exact profile: what one thread did beside what it said before.
struct Ran {
  Origin origin;
  bool in_context = false;
  std::vector<std::uint64_t> callers;   // then: return addresses, innermost first
  std::vector<arch::PathCount> counts;  // at most kMostRan
  static void fields(auto& m, auto& visit) { visit(m.origin, m.in_context, m.callers, m.counts); }
  bool operator==(const Ran&) const = default;
};

/// One line for the user.
struct Notice {
  Origin origin;
  std::string text;
  bool refusal = false;  // the process ends for it
  static void fields(auto& m, auto& visit) { visit(m.origin, m.text, m.refusal); }
  bool operator==(const Notice&) const = default;
};

using Message = std::variant<Hello, Comm, Mmap, Fork, Exit, Sample, Counts, Lost, Statistics, Notice, Window, Region,
                             RegionSpan, Units, Sharing, Branches, Ran>;

/// Takes whole datagrams away. A datagram that nobody receives any more is dropped: the program must not notice.
class Channel {
 public:
  virtual ~Channel() = default;
  virtual void send(std::span<const std::byte> datagram) = 0;
};

/// Packs messages into datagrams and sends each one when the next message would not fit.
class MessageWriter {
 public:
  MessageWriter(Channel& channel, std::int32_t pid);

  /// Strings and lists longer than the limits above are cut.
  void write(const Message& message);
  /// The same of samples and windows, of which there may be a million a second: they are written where they stay.
  void write(const Sample& sample);
  void write(const Window& window);
  void flush();

  /// In a new process: what is buffered belongs to the parent, which will send it.
  void restart(std::int32_t pid);

 private:
  void begin_datagram();
  void begin_message(std::size_t type);
  void end_message();
  template <typename T>
  void write_in_place(const T& message, std::size_t size);

  Channel& channel_;
  std::int32_t pid_;
  ByteWriter datagram_;
  ByteWriter message_;
};

/// Hands the messages of one datagram to `receive`, in order. returns an error that names the place where the datagram
/// stops making sense; the messages before it were delivered
Result<void> decode_datagram(std::span<const std::byte> datagram, const std::function<void(Message&&)>& receive);

}  // namespace zs::session
