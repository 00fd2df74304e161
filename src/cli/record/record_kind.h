// The verbs that record, which are one with other events and options.
#pragma once

#include <cstdint>
#include <string>

namespace zs::cli {

/// `record`; or `mem record` and `c2c record`: the same with other events and fields as usual; or `trace`: branches; or
/// `linux --record`: a kernel and its programs; or `profile`: how often each instruction ran.
enum class RecordKind : std::uint8_t { Plain, Memory, CacheLines, Branches, Outside, Profile };
/// "record", "mem record", "c2c record", "trace", "linux --record", "profile"
std::string name_of(RecordKind kind);
/// What its help begins with.
const char* about(RecordKind kind);
/// Whether counters are sampled: then there are events, periods and fields to choose.
bool takes_samples(RecordKind kind);
/// Whether loads and stores are, with where their data was.
bool samples_memory(RecordKind kind);

}  // namespace zs::cli
