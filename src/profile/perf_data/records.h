// What a recording consists of, apart from its samples (session/sample.h): who ran, under what name, and what was
// mapped where. The writer takes these and the reader gives them back, field by field the same.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "session/sample.h"

namespace zs::profile {

/// The GNU build-id of an ELF file: up to 20 bytes that name its contents.
struct BuildId {
  std::array<std::uint8_t, 20> bytes{};
  std::uint8_t size = 0;
  bool operator==(const BuildId&) const = default;
  std::string hex() const;
  /// Of a record's field; nothing if `size` is none that it can have.
  static std::optional<BuildId> of(const std::uint8_t* bytes, std::uint8_t size);
};

struct Comm {
  std::int32_t pid = 0, tid = 0;
  std::uint64_t time_ns = 0;
  std::string name;   // 15 characters at most are kept, as in the kernel
  bool exec = false;  // the name came with a new program image: old mappings are gone
};

struct Mmap {
  std::int32_t pid = 0, tid = 0;  // pid -1: the kernel
  std::uint64_t time_ns = 0;
  std::uint64_t start = 0, length = 0;
  std::uint64_t file_offset = 0;  // of `start` in the file
  std::uint32_t protection = 0;   // PROT_*
  std::uint32_t flags = 0;        // MAP_*
  std::uint32_t device_major = 0, device_minor = 0;
  std::uint64_t inode = 0, inode_generation = 0;
  std::optional<BuildId> build_id;  // in the file it replaces device and inode
  bool identified = false;          // by who saw what is mapped; otherwise the writer looks at what the path leads to
  std::string path;                 // a file, "[stack]", "[heap]", "[vdso]", "//anon"
  std::uint64_t end() const { return start + length; }
};

/// A new thread (pid == parent_pid) or a new process.
struct Fork {
  std::int32_t pid = 0, parent_pid = 0, tid = 0, parent_tid = 0;
  std::uint64_t time_ns = 0;
};

struct Exit {
  std::int32_t pid = 0, parent_pid = 0, tid = 0, parent_tid = 0;
  std::uint64_t time_ns = 0;
};

/// Samples of one event that could not be kept.
struct Lost {
  std::uint32_t event = 0;
  std::uint64_t count = 0;
  std::int32_t pid = 0, tid = 0;
  std::uint64_t time_ns = 0;
};

/// Whose branches a piece of a trace has, and when the last of them was.
struct TracePiece {
  std::int32_t pid = 0, tid = 0;
  std::uint64_t time_ns = 0;
};

/// Where a part of what is known of a process belongs.
struct ProcessPart {
  std::int32_t pid = 0;
  std::uint32_t part = 0, parts = 0;
};
/// All of it. complete: no part is missing
struct ProcessBytes {
  std::int32_t pid = 0;
  bool complete = false;
  std::vector<std::byte> bytes;
};

/// A sample as a perf.data file has it: more than we write, because perf's own files are read too.
struct SampleRecord {
  session::Sample sample;
  std::uint16_t cpumode = 2;                        // perf::misc: kernel, user...
  bool branch_prediction_known = false;             // some branch says predicted or mispredicted
  std::vector<std::uint64_t> branch_flags;          // as in the file, one per branch
  std::vector<std::uint64_t> callchain_with_marks;  // as in the file, with kContext... entries
  std::uint64_t interrupt_registers_abi = 0;
  std::vector<std::uint64_t> interrupt_registers;  // by ascending bit of the event's mask
  std::uint64_t user_registers_abi = 0;
  std::vector<std::uint64_t> user_registers;
  std::uint64_t physical_address = 0;
  struct Counter {
    std::uint64_t id, value;
  };
  std::vector<Counter> counters;  // of the event and its group, if the sample holds them by id
};

/// The next taken branches of a thread, a piece of its trace.
struct TracedBranches {
  std::int32_t pid = 0, tid = 0;
  std::uint64_t time_ns = 0;  // when the last of them was
  Bytes records;              // of the Branch Trace Store: profile/perf_data/file_traces.h goes through them
};

using Record = std::variant<Comm, Mmap, Fork, Exit, Lost, SampleRecord, TracedBranches>;

/// A fact for people, in their order: "cpu model" = "skylake-server@1".
struct Note {
  std::string key, value;
  bool operator==(const Note&) const = default;
};

}  // namespace zs::profile
