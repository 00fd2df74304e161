#include "cli/recording_input.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>

#include "cli/command_line.h"
#include "cli/exit_status.h"
#include "cli/say.h"
#include "cli/terminal.h"

namespace zs::cli {

void add_input_options(CommandLine& line, RecordingInput& input) {
  line.value("-i,--input", input.path, "FILE", "The recording [perf.data]");
  line.flag("--truncated", input.truncated, "Read a damaged recording up to the damage");
}

std::optional<profile::PerfDataReader> open_recording(const RecordingInput& input) {
  auto reader = profile::PerfDataReader::open(input.path, {.truncated = input.truncated});
  if (!reader) {
    say(reader.error());
    return std::nullopt;
  }
  for (const std::string& remark : reader->remarks()) say(remark);
  if (reader->damage()) {
    say(reader->damage()->message);
    say(reader->name() + ": what follows is of the " + with_separators(reader->sample_count()) +
        " samples before this point");
  } else if (!reader->finished()) {
    say(reader->name() +
        ": the recording was interrupted: its samples up to then are all here, its summary is missing");
  }
  return std::move(*reader);
}

void say_remarks(const profile::Symbolizer& symbolizer) {
  for (const std::string& remark : symbolizer.remarks()) say(remark);
}

Result<double> parse_percent_limit(const std::string& text) {
  double limit = 0;
  if (text.empty()) return limit;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
  if (error != std::errc{} || end != text.data() + text.size() || !(limit >= 0)) {
    return Error{"--percent-limit is a percentage, not '" + text + "'", ""};
  }
  return limit;
}

Result<bool> parse_page_colour(const std::string& text) {
  ColourChoice choice{};
  if (!parse_colour(text, choice)) return Error{"--color is auto, always or never, not '" + text + "'", ""};
  return use_colour(choice, STDOUT_FILENO);
}

std::string wrapped(const std::string& text) {
  std::string out;
  std::size_t column = 0;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const bool fits = column + 1 + word.size() <= 100;
    if (column != 0) out += fits ? ' ' : '\n';
    column = fits && column != 0 ? column + 1 + word.size() : word.size();
    out += word;
  }
  return out;
}

void Page::print(std::string_view text) {
  while (ok_ && !text.empty()) {
    const ssize_t done = write(STDOUT_FILENO, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      ok_ = false;
      if (errno != EPIPE) say(std::string("stdout: cannot write: ") + std::strerror(errno));
      return;
    }
    text.remove_prefix(static_cast<std::size_t>(done));
  }
}

int Page::status() const { return ok_ ? 0 : kToolFailed; }

void print_list_preamble(Page& page, const profile::PerfDataReader& reader, bool with_header) {
  if (!with_header) {
    page.print("# To display the perf.data header info, please use --header/--header-only options.\n#\n");
  }
  page.print("#\n# Total Lost Samples: " + std::to_string(reader.lost_count()) + "\n#\n");
}

}  // namespace zs::cli
