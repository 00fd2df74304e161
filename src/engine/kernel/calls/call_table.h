// One row per system call of x86-64 of which the engine has to know something; the kernel answers the rest. What
// depends on the arguments of one call (whether a futex operation waits, say) stands where it is asked.
// source: Linux, arch/x86/entry/syscalls/syscall_64.tbl, and the manual page of each call.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <vector>

#include "engine/call.h"
#include "engine/memory/layout.h"

namespace zs::engine {

/// Call::traits.
enum CallTrait : std::uint32_t {
  // Neither waits nor takes long, so that the engine lock stays with the caller: a hand-over would cost more, and the
  // order of threads stays a matter of what they compute.
  kQuick = 1u << 0,
  kMayWait = 1u << 1,     // a thread may stay in it for long, and be killed
  kEndsImage = 1u << 2,   // ends or replaces what holds the thread's signals
  kReadsFile = 1u << 3,   // reads the descriptor that is its first argument,
  kWritesFile = 1u << 4,  // or writes it: over at once where that is a file
  kId1 = 1u << 7,         // the argument is a process id (shown_ids.h); kId1 << 1 of the second
  kId2 = 1u << 8,
  kId3 = 1u << 9,
  kIdResult = 1u << 10,
  kReadsFaults = 1u << 11,  // may read what a userfaultfd reports: awaited_memory.h
  // Its first argument is a descriptor, which must not be one of the tool's (hidden_descriptors.h); kDescriptor1 << 1:
  // its second.
  kDescriptor1 = 1u << 12,
  kDescriptor2 = 1u << 13,
  kDescriptor3 = 1u << 14,
  kDescriptor4 = 1u << 15,
  kDescriptor5 = 1u << 16,
  // Its first argument points at what the kernel reads; kPointer1 << 1: its second. Only where nothing else in its row
  // says so.
  kPointer1 = 1u << 17,
  kPointer2 = 1u << 18,
  kPointer3 = 1u << 19,
  kPointer4 = 1u << 20,
  kPointer5 = 1u << 21,
  kPointer6 = 1u << 22,
  kOpens = 1u << 23,        // a file by its path; the argument behind that is the flags
  kReadsLink = 1u << 24,    // at its path, into the argument behind that, which has a size behind it
  kTellsStatus = 1u << 25,  // of a file: `written` is a struct stat
  kOnlyNames = 1u << 26,    // its arguments may be addresses, but none that it reads from
  kStaysAtLink = 1u << 27,  // a path that ends at a link means the link
};

/// Whom it may wait for, where processes take turns (turn_calls.cc). Elsewhere: it cannot be tried beforehand whether
/// it would.
enum class Waits : std::uint8_t { Never, Input, Output, Child, Poll, Suspend, Elsewhere };

enum class TimeUnit : std::uint8_t { None, Milliseconds, Timeval, Timespec };
/// How a call says how long it may wait.
struct TimeLimit {
  int argument = 0;
  TimeUnit unit = TimeUnit::None;  // of it, or of what it points at; None: there is no limit
  bool told = false;               // the kernel writes there how much was left
  long when_over = 0;              // result of a call that waited for all of it
};

/// Memory that the kernel writes during a call, as its arguments say. At least that much: what is never there is not
/// written either.
struct WrittenMemory {
  enum class Form : std::uint8_t {
    None,
    Bytes,          // `size` bytes
    Sized,          // as many as argument `count` says, and `size`
    Array,          // `count` elements of `size`
    SizedAt,        // as many as the 32-bit word at argument `count` says
    Vectors,        // iovec[count], and what they point at
    Message,        // msghdr, and what it points at
    Messages,       // mmsghdr[count], likewise
    ControlBlocks,  // iocb *[count], and what those that read point at
  };
  std::int8_t argument = 0;
  std::int8_t count = 0;
  Form form = Form::None;
  std::uint16_t size = 0;
};

/// A flag in one of the arguments; in none by itself.
struct FlagIn {
  std::int8_t argument = -1;
  int flag = 0;

  bool is_set(const CallArguments& made) const { return argument >= 0 && (made.a[argument] & flag) != 0; }
};

/// A process id, so far behind what an argument points at; by itself there is none.
struct IdInMemory {
  std::int8_t argument = -1;
  std::uint16_t offset = 0;
};

/// The mask of signals that a call asks for while it waits.
struct MaskInCall {
  enum class Form : std::uint8_t {
    None,
    Direct,  // the argument points at it, the next one is its size
    Pair,    // the argument points at both
    Ring,    // as the flags in front of the argument say
  };
  std::int8_t argument = 0;
  Form form = Form::None;
  bool with_any_result = false;  // a signal may have ended the wait where the result is not EINTR
};

/// Descriptors that a call finds in memory.
struct DescriptorsInMemory {
  enum class Form : std::uint8_t {
    None,
    Array,          // `count` elements of `size` bytes, each with one at `offset`
    Sets,           // fd_set of the argument, and of the two behind it
    Message,        // those that the control message of a msghdr passes on (SCM_RIGHTS)
    Messages,       // mmsghdr[count], likewise
    ControlBlocks,  // iocb *[count]
  };
  static constexpr std::int8_t kOne = -1;  // `count`: there is one element
  std::int8_t argument = 0;
  std::int8_t count = kOne;
  Form form = Form::None;
  std::uint8_t size = 0, offset = 0;
  std::uint8_t answer_offset = 0, answer_size = 0;  // what the kernel writes into each element
};

using CallHandler = HandlesCall*;

struct Call {
  long number = -1;
  const char* name = "";
  CallHandler handler = nullptr;  // call_handlers.h; null: the kernel answers it, but for what the rest of the row says
  std::uint32_t traits = 0;
  int command = -1;  // the argument that decides what the others are (call_commands.h); -1: there is none
  int path = -1;     // the argument that is the path of a file, where one below /proc may be meant; -1: there is none
  FlagIn stays_at_link = {};  // with which kStaysAtLink holds
  int position = -1;          // the argument that is where in the file; -1: it is where the descriptor stands
  int usage = -1;             // the argument where the kernel writes what was used (rusage); -1: nowhere
  IdInMemory told_id = {};    // that the kernel writes
  Waits waits = Waits::Never;
  FlagIn never_waits = {};  // with which it does not
  TimeLimit limit = {};
  MaskInCall mask = {};
  std::array<WrittenMemory, 4> written = {};
  DescriptorsInMemory descriptors = {};
  WrittenMemory read = {};  // of Form::Vectors or Message: the same of memory that the kernel reads

  bool has(CallTrait trait) const { return (traits & trait) != 0; }
};

/// A number that no row has: a row without a name, which says nothing.
const Call& call_of(long number);

/// What a call with kOpens opens, as stat tells it; 0: there is no such file.
mode_t mode_of_opened(const CallArguments& made);

/// A bit for each argument that is an address at which the kernel reads or writes.
std::uint32_t pointers_of(const Call& call);

/// The ranges of the program's memory that the kernel writes in this call, if it succeeds.
std::vector<AddressRange> written_by(const Call& call, const long (&arguments)[6]);

}  // namespace zs::engine
