// `zeroskid record`: runs a program under sampling PMUs and keeps what they say in a perf.data file.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <string>

#include "base/units.h"
#include "cli/command/exit_status.h"
#include "cli/command/say.h"
#include "cli/command/verb.h"
#include "cli/costs/costs.h"
#include "cli/record/record_options.h"
#include "cli/record/record_sink.h"
#include "cli/run/detail_choice.h"
#include "cli/run/progress_line.h"
#include "cli/run/run_program.h"
#include "profile/perf_data/pipe_form.h"

namespace zs::cli {
namespace {

/// `record -o -`: the recording goes to stdout, in the pipe format, when the program has ended. Until then it is a
/// temporary file, and what the program writes to stdout goes to stderr, as with perf.
class PipedOutput {
 public:
  PipedOutput() = default;
  ~PipedOutput() {
    if (!path_.empty()) unlink(path_.c_str());
    if (stdout_ >= 0) close(stdout_);
  }
  PipedOutput(const PipedOutput&) = delete;
  PipedOutput& operator=(const PipedOutput&) = delete;

  /// path  becomes the temporary file's
  Result<void> begin(std::string& path) {
    if (isatty(STDOUT_FILENO) != 0) return Error{"-o -: stdout is a terminal", "zeroskid record -o - PROGRAM > FILE"};
    const char* const folder = std::getenv("TMPDIR");
    std::string name = std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") + "/zeroskid-XXXXXX";
    const int file = mkostemp(name.data(), O_CLOEXEC);
    if (file < 0)
      return Error{"-o -: " + name + ": " + std::strerror(errno), "set TMPDIR to a folder that can be written"};
    close(file);
    path_ = path = name;
    stdout_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    if (stdout_ < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
      return Error{std::string("-o -: ") + std::strerror(errno), ""};
    return {};
  }

  /// Writes what is in the file, if begin() made one. returns whether all of it is written; if not, that has been said
  bool finish() {
    if (path_.empty()) return true;
    const auto written =
        profile::write_pipe_form(path_, [this](std::string_view piece) { return write_all(stdout_, piece); });
    if (!written) say(written.error());
    return written.has_value();
  }

 private:
  std::string path_;
  int stdout_ = -1;
};

bool is_recording_worth_keeping(const std::string& path) {
  struct stat file {};
  return lstat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) && file.st_size > 0;
}

/// The program never ran: as if we had not been called.
void take_back(const std::string& path, bool had_old) {
  struct stat file {};
  if (lstat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return;
  unlink(path.c_str());
  if (had_old) std::rename((path + ".old").c_str(), path.c_str());
}

/// name  of the recording
void summarise(const RecordOptions& options, const RecordSink& sink, const std::string& name) {
  const session::Statistics& s = sink.statistics();
  const bool trace = options.config.traces_branches();
  const std::uint64_t kept = trace ? sink.branches_in_file() : sink.samples_in_file();
  const bool profile = options.config.profiles();
  const std::string unit = profile     ? kept == 1 ? " count" : " counts"
                           : trace     ? kept == 1 ? " branch" : " branches"
                           : kept == 1 ? " sample"
                                       : " samples";
  const std::string before =
      sink.branches_dropped() != 0 ? ", the " + with_thousands(sink.branches_dropped()) + " before them dropped" : "";
  const std::string others = options.trace_filter.any() && trace ? ", " + with_thousands(s.filtered) + " filtered out"
                             : !options.times.is_everything()
                                 ? ", " + with_thousands(sink.samples_of_other_times()) + " of other times left out"
                                 : std::string();
  std::string text = std::string("[ zeroskid ") + (profile ? "profile: " : "record: ") + with_thousands(kept) + unit +
                     before + others + " -> " + name + " (" + byte_size(sink.bytes()) + ") ]\n";
  if (options.config.in_units) {
    text += "[ zeroskid record: in detail: " + detail_in_words(options.config, sink.units()) +
            "; samples of estimates are taken there, and their periods scaled ]\n";
    if (options.names_no_blocks) text += "[ zeroskid record: blocks of the heap have no names; --heap finds them ]\n";
  }
  if (options.verbose) {
    text += "[ zeroskid record: " + with_thousands(s.pmis) + " PMIs, " + with_thousands(s.records) + " PEBS records, " +
            with_thousands(s.lost) + " lost ]\n";
  }
  write_prose(STDERR_FILENO, text);
  if (s.lost != 0 && !options.verbose) say(with_thousands(s.lost) + " samples were lost");
  if (kept == 0 && options.trace_filter.any())
    say(Error{(trace ? "no branch passed: " : "nothing passed: ") + in_words(options.trace_filter),
              std::string("without it `zeroskid ") + (trace ? "trace " : "") +
                  "report` shows which functions and regions the program comes by"});
  else if (trace)
    write_prose(STDERR_FILENO, "hint: zeroskid trace report" +
                                   (sink.path() == "perf.data" ? std::string() : " -i " + sink.path()) +
                                   " shows its calls\n");
  else if (profile)
    write_prose(STDERR_FILENO, "hint: zeroskid annotate" +
                                   (sink.path() == "perf.data" ? std::string() : " -i " + sink.path()) +
                                   " shows how often each line ran, zeroskid report each function\n");
  else if (sink.samples() == 0 && sink.samples_of_other_times() == 0)
    say(Error{"no event came as often as its period", "-c 1 samples every event"});
}

std::vector<std::string> command_line_of(const Arguments& arguments, RecordKind kind) {
  std::vector<std::string> words{"zeroskid"};
  const std::string name = name_of(kind);
  const std::size_t blank = name.find(' ');
  if (blank != std::string::npos)
    words.push_back(name.substr(0, blank));  // of a verb's own verb the first word is gone
  words.insert(words.end(), arguments.words.begin(), arguments.words.end());
  return words;
}

int run(RecordOptions& options, const Arguments& arguments, RecordKind kind, const std::string& name) {
  if (options.perf_events) {
    if (!options.quiet) {
      for (const Error& notice : options.notices) say(notice);
    }
    options.perf_events->description.command_line = command_line_of(arguments, kind);
    return record_perf_events(*std::move(options.perf_events));
  }
  if (options.program.empty()) return export_trace(options.exports, options.quiet);
  ProgramToRun program;
  if (const int status = find_program_to_run(options.program, program); status != 0) return status;
  if (!options.quiet) {
    for (const Error& notice : options.notices) say(notice);
  }

  if (auto placed = place_trace_filter(options.trace_filter, program.path, options.config); !placed)
    return refused(placed.error());

  options.description.command_line = command_line_of(arguments, kind);
  OwnSignals signals;
  const bool had_old = is_recording_worth_keeping(options.output);
  auto writer = profile::PerfDataWriter::create(options.output, options.description);
  if (!writer) return failed(writer.error());
  RecordSink sink(*std::move(writer), options.config.virtual_time, options.config.estimated_events().size(),
                  options.bound);
  if (!options.times.is_everything()) sink.keep_only(options.times);
  ProgressLine progress(progress_style(options.quiet, options.verbose));
  Collector collector(sink, options.config, options.instruction_event, options.quiet,
                      [&](const Progress& now) { progress.show(now); });
  collector.listen_to([&] { return options.times.descriptor(); },
                      [&] {
                        timespec now{};
                        clock_gettime(CLOCK_MONOTONIC, &now);  // of samples, too
                        options.times.take_commands(static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
                                                    static_cast<std::uint64_t>(now.tv_nsec));
                      });
  if (!options.quiet) {
    std::string line = back_end_line(options.config, options.pmus, options.why_software);
    if (options.trace_filter.any())
      line.insert(line.size() - 1,
                  (options.config.profiles() ? "; only: " : "; of branches only: ") + in_words(options.trace_filter));
    write_prose(STDERR_FILENO, line);
  }
  say_cost(options.config, options.quiet, options.verbose);
  ProgramEnd end;
  if (!run_and_collect(program, options.config, collector, signals, end)) {
    take_back(options.output, had_old);
    return kToolFailed;
  }
  progress.clear();
  const bool whole = sink.close();
  if (!end.ran) {  // zeroskid-run has said why, unless it was killed
    say_how_it_ended(program, end);
    take_back(options.output, had_old);
    return exit_status_of(end.wait_status);
  }
  say_how_it_ended(program, end);
  if (!options.quiet) summarise(options, sink, name);
  if (!whole) return kToolFailed;
  if (!options.exports.files.empty()) {
    if (const int failed = export_trace(options.exports, options.quiet); failed != 0) return failed;
  }
  return exit_status_of(end.wait_status);
}

int run(const Arguments& arguments, RecordKind kind) {
  RecordOptions options;
  if (const auto status = parse_record_options(arguments, options, kind)) return *status;
  PipedOutput pipe;
  std::string& output = options.perf_events ? options.perf_events->output : options.output;
  const std::string name = output;
  if (name == "-") {
    if (auto begun = pipe.begin(output); !begun) return failed(begun.error());
  }
  const int status = run(options, arguments, kind, name);
  return pipe.finish() ? status : kToolFailed;
}

template <RecordKind kind>
int run_kind(const Arguments& arguments) {
  return run(arguments, kind);
}

constexpr const Verb* kTraceParts[] = {&kTraceReportVerb};

}  // namespace

const Verb kRecordVerb{"record", "Run a program and sample it into perf.data", run_kind<RecordKind::Plain>};
const Verb kProfileVerb{"profile", "Run a program and count how often each line of it runs, exactly",
                        run_kind<RecordKind::Profile>};
const Verb kMemRecordVerb{"record", "Sample loads and stores into perf.data", run_kind<RecordKind::Memory>};
const Verb kC2cRecordVerb{"record", "Sample loads and stores, and log shared lines, into perf.data",
                          run_kind<RecordKind::CacheLines>};
const Verb kTraceVerb{"trace", "Every branch a program takes: its calls as a tree, counts for BOLT and AutoFDO",
                      run_kind<RecordKind::Branches>, kTraceParts};

}  // namespace zs::cli
