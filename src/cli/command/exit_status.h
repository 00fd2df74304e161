// Exit statuses of zeroskid itself. Anything else is the profiled program's own.
#pragma once

#include <string_view>

namespace zs::cli {

inline constexpr int kToolFailed = 125;
inline constexpr int kNotExecutable = 126;
inline constexpr int kNotFound = 127;
inline constexpr int kKilledBySignal = 128;  // + the signal's number, as shells have it
inline constexpr int kUsage = 129;           // perf's number: wrong usage, unknown event

/// A line of what --help and the man pages say of them.
struct ExitRow {
  std::string_view status, meaning;
};

/// Of verbs that run a program.
inline constexpr ExitRow kStatusesOfRuns[] = {
    {"N", "the program's own"},          {"128+N", "signal N killed the program"},
    {"125", "zeroskid failed"},          {"126", "the program cannot be executed"},
    {"127", "the program is not found"}, {"129", "wrong usage"},
};

/// Of verbs that read a recording.
inline constexpr ExitRow kStatusesOfReaders[] = {
    {"0", "read and printed"},
    {"125", "the recording cannot be read"},
    {"129", "wrong usage"},
};

}  // namespace zs::cli
