// Exit statuses of zeroskid itself. Anything else is the profiled program's own.
#pragma once

namespace zs::cli {

inline constexpr int kToolFailed = 125;
inline constexpr int kNotExecutable = 126;
inline constexpr int kNotFound = 127;
inline constexpr int kKilledBySignal = 128;  // + the signal's number, as shells have it
inline constexpr int kUsage = 129;           // perf's number: wrong usage, unknown event

}  // namespace zs::cli
