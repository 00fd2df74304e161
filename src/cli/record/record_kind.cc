#include "cli/record/record_kind.h"

namespace zs::cli {

bool takes_samples(RecordKind kind) { return kind != RecordKind::Branches && kind != RecordKind::Profile; }

bool samples_memory(RecordKind kind) { return kind == RecordKind::Memory || kind == RecordKind::CacheLines; }

std::string name_of(RecordKind kind) {
  switch (kind) {
    case RecordKind::Plain: break;
    case RecordKind::Memory: return "mem record";
    case RecordKind::CacheLines: return "c2c record";
    case RecordKind::Branches: return "trace";
    case RecordKind::Outside: return "linux --record";
    case RecordKind::Profile: return "profile";
  }
  return "record";
}

const char* about(RecordKind kind) {
  switch (kind) {
    case RecordKind::Plain:
    case RecordKind::Outside: break;
    case RecordKind::Memory:
      return "Runs a program and samples its loads and stores, with where their data was and how long it took;\n"
             "writes perf.data, which `zeroskid mem report` and perf read.";
    case RecordKind::CacheLines:
      return "Runs a program, samples its loads and stores, and keeps how its threads hand cache lines to each other;\n"
             "writes perf.data, which `zeroskid c2c report` and perf read.";
    case RecordKind::Branches:
      return "Runs a program and traces every branch it takes: record -e intel_bts//u. Writes perf.data, which\n"
             "`zeroskid trace report` shows as a tree of calls, `zeroskid script` branch by branch, and perf reads.\n"
             "With --to, writes complete counts for optimisers: of the program, or of a recording if none is named.";
    case RecordKind::Profile:
      return "Runs a program and counts how often each of its instructions ran and each branch was taken, exactly;\n"
             "writes perf.data, whose samples stand for all of them: `zeroskid report`, `annotate` and perf read it.";
  }
  return "Runs a program and samples it; writes perf.data, which `zeroskid report` and perf read.";
}

}  // namespace zs::cli
