// `zeroskid stat`: runs a program and prints what it did, counted exactly, in perf stat's layout.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "cli/exit_status.h"
#include "cli/progress_line.h"
#include "cli/run_program.h"
#include "cli/say.h"
#include "cli/stat_options.h"
#include "cli/stat_page.h"
#include "cli/stat_totals.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "cli/window_page.h"
#include "cli/window_rows.h"

namespace zs::cli {
namespace {

double seconds(const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; }

/// From values by counted event to values by printed event.
std::vector<std::uint64_t> as_printed(const std::vector<std::uint64_t>& counted, const StatOptions& options) {
  std::vector<std::uint64_t> printed;
  for (const std::size_t event : options.counted_as) printed.push_back(event == kNotCounted ? 0 : counted[event]);
  return printed;
}

/// Text on its way to where it was asked for. Nobody need listen to stderr; a file must become whole.
class Output {
 public:
  /// returns the exit status if there is nowhere to write; that has been said
  std::optional<int> open_file(const std::string& path) {
    if (path.empty()) return std::nullopt;
    path_ = path;
    descriptor_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) return std::nullopt;
    say(Error{path + ": cannot create: " + std::strerror(errno), "choose another place with -o FILE"});
    return kToolFailed;
  }
  int descriptor() const { return descriptor_; }

  void add(const std::string& text) {
    text_ += text;
    if (text_.size() >= kMuch) flush();
  }
  /// returns false if a file that was asked for is not whole; that has been said, once
  bool flush() {
    for (std::string_view rest = text_; !rest.empty() && whole_;) {
      const ssize_t done = write(descriptor_, rest.data(), rest.size());
      if (done < 0 && errno == EINTR) continue;
      if (done > 0) {
        rest.remove_prefix(static_cast<std::size_t>(done));
        continue;
      }
      whole_ = false;
      if (path_.empty()) break;
      say(Error{path_ + ": " + std::strerror(errno) + "; the counts are not in it, or not all of them",
                "choose another place with -o FILE"});
    }
    text_.clear();
    return whole_ || path_.empty();
  }

 private:
  static constexpr std::size_t kMuch = 64 * 1024;
  std::string path_, text_;
  int descriptor_ = STDERR_FILENO;
  bool whole_ = true;
};

/// Totals, and windows as they come.
class StatSink final : public RecordingSink {
 public:
  StatSink(const StatOptions& options, Output& output)
      : totals(options.config.events.size()),
        output_(output),
        page_(options.window_format, window_table(options), options.separator, options.per_thread),
        windows_({.closers = options.window_plan.closers,
                  .counted_as = options.counted_as,
                  .times = options.window_plan.in_time},
                 [this](const profile::Window& window) { output_.add(page_.row(window)); }) {
    if (!options.has_windows()) return;
    if (options.window_format == WindowFormat::Page) output_.add(back_end_line(options.config, options.pmus));
    output_.add(page_.head());
  }
  StatSink(const StatSink&) = delete;

  void receive(session::Message&& message) override {
    windows_.look_at(message);
    totals.receive(std::move(message));
  }
  void breathe() override { output_.flush(); }

  StatTotals totals;

 private:
  Output& output_;
  WindowPage page_;
  WindowRows windows_;
};

/// returns the program's exit status, or what stands for our own failure
int run_once(const ProgramToRun& program, StatOptions& options, OwnSignals& signals, Output& output, bool& go_on) {
  StatSink sink(options, output);
  ProgressLine progress(progress_style(options.quiet, options.verbose));
  Collector collector(sink, options.config, options.instruction_event,
                      [&](const Progress& now) { progress.show(now); });
  ProgramEnd end;
  go_on = run_and_collect(program, options.config, collector, signals, end);
  if (!go_on) return kToolFailed;
  progress.clear();
  go_on = end.ran && !WIFSIGNALED(end.wait_status) && !signals.asked_to_end();
  output.flush();
  say_how_it_ended(program, end);
  if (!end.ran) return exit_status_of(end.wait_status);  // zeroskid-run has said why, unless it was killed
  StatReport& report = options.report;
  report.runs.push_back({.values = as_printed(sink.totals.totals(), options),
                         .elapsed = end.elapsed_seconds,
                         .user = seconds(end.usage.ru_utime),
                         .system = seconds(end.usage.ru_stime)});
  report.incomplete = report.incomplete || sink.totals.incomplete();
  if (options.per_thread) {
    report.threads = sink.totals.threads();
    for (ThreadTotals& thread : report.threads) thread.values = as_printed(thread.values, options);
  }
  return exit_status_of(end.wait_status);
}

std::string printed(const StatOptions& options, int descriptor) {
  if (options.has_windows()) return "";  // printed as they came
  if (!options.separator.empty()) return stat_columns(options.report, options.separator);
  if (options.json) return stat_json(options.report);
  return back_end_line(options.config, options.pmus) +
         stat_page(options.report, use_colour(options.colour_choice, descriptor));
}

int run_stat(int argc, char** argv) {
  StatOptions options;
  if (const auto status = parse_stat_options(argc, argv, options)) return *status;
  ProgramToRun program;
  if (const int status = find_program_to_run(options.program, program); status != 0) return status;
  for (const std::string& word : options.program) {
    options.report.command += (options.report.command.empty() ? "" : " ") + word;
  }
  Output output;
  if (const auto status = output.open_file(options.output)) return *status;
  OwnSignals signals;
  int status = 0;
  bool go_on = true;
  for (std::uint64_t i = 0; i < options.repeat && go_on; ++i) {
    status = run_once(program, options, signals, output, go_on);
  }
  if (!options.report.runs.empty()) output.add(printed(options, output.descriptor()));
  return output.flush() ? status : kToolFailed;
}

}  // namespace

const Verb kStatVerb{"stat", "Run a program and count events exactly", run_stat};

}  // namespace zs::cli
