// What `zeroskid trace --to` and `profile --to` write for optimisers, coverage and viewers: a file for each format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/report/recording_input.h"

namespace zs::cli {

enum class TraceFormat : std::uint8_t { Bolt, AutoFdo, Lcov, Callgrind, Pprof, Mix, Opcodes, MixOfFunctions };

struct TraceExport {
  struct File {
    TraceFormat format = TraceFormat::Bolt;
    std::string path;
  };
  std::vector<File> files;
  RecordingInput input;
  std::vector<std::string> merged;  // of profiles: recordings that are added up, instead of `input`
  std::string dso;  // path or name of the executable or library; "": the first that was mapped, the program
};

/// profile  of an exact profile, which has more than branches
void add_export_options(CommandLine& line, TraceExport& exports, std::string& formats, bool profile);

/// formats  "fdata,autofdo=FILE"; a file without a name is called as exports.input.path and the format
/// runs     a program is to be recorded, with its calling contexts or not
Result<void> choose_formats(const std::string& formats, bool runs, bool contexts, TraceExport& exports);

/// Reads the recording and writes the files; says what it did, or what is wrong. returns the exit status
int export_trace(TraceExport exports, bool quiet);

}  // namespace zs::cli
