#include "cli/record/record_kind.h"

namespace zs::cli {
namespace {

struct KindFacts {
  const char *name, *about;
};
constexpr KindFacts kKinds[] = {
    {"record", "Runs a program and samples it; writes perf.data, which `zeroskid report` and perf read."},
    {"mem record",
     "Runs a program and samples its loads and stores, with where their data was and how long it took;\n"
     "writes perf.data, which `zeroskid mem report` and perf read."},
    {"c2c record",
     "Runs a program, samples its loads and stores, and keeps how its threads hand cache lines to each other;\n"
     "writes perf.data, which `zeroskid c2c report` and perf read."},
    {"trace",
     "Runs a program and traces every branch it takes: record -e intel_bts//u. Writes perf.data, which\n"
     "`zeroskid trace report` shows as a tree of calls, `zeroskid script` branch by branch, and perf reads.\n"
     "With --to, writes complete counts for optimisers: of the program, or of a recording if none is named."},
    {"linux --record", ""},
    {"profile",
     "Runs a program and counts how often each of its instructions ran and each branch was taken, exactly;\n"
     "writes perf.data, whose samples stand for all of them: `zeroskid report`, `annotate` and perf read it."},
};

const KindFacts& facts_of(RecordKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

}  // namespace

bool takes_samples(RecordKind kind) { return kind != RecordKind::Branches && kind != RecordKind::Profile; }

bool samples_memory(RecordKind kind) { return kind == RecordKind::Memory || kind == RecordKind::CacheLines; }

std::string name_of(RecordKind kind) { return facts_of(kind).name; }

const char* about(RecordKind kind) { return facts_of(kind).about; }

}  // namespace zs::cli
