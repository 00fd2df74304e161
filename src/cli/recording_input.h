// What the verbs that read a recording share: which one, how much damage is bearable, and where the page goes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "profile/perf_data_reader.h"
#include "profile/symbolizer.h"

namespace zs::cli {

class CommandLine;

struct RecordingInput {
  std::string path = "perf.data";
  bool truncated = false;
};

void add_input_options(CommandLine& line, RecordingInput& input);

/// Opens it, and says on stderr what is wrong with it. returns nothing if it cannot be read
std::optional<profile::PerfDataReader> open_recording(const RecordingInput& input);

/// Says once all is printed: files whose symbols were left out, and why.
void say_remarks(const profile::Symbolizer& symbolizer);

/// What --percent-limit says; "" is 0.
Result<double> parse_percent_limit(const std::string& text);

/// Whether a page on stdout has colours, by what --color says.
Result<bool> parse_page_colour(const std::string& text);

/// `text` broken between words, so that no line of a help page is longer than 100 characters.
std::string wrapped(const std::string& text);

/// Writes to stdout. After the first failure, which is said, nothing more is written.
class Page {
 public:
  void print(std::string_view text);
  bool ok() const { return ok_; }
  int status() const;  // 0, or that of a failure of ours

 private:
  bool ok_ = true;
};

/// What stands above perf's lists. with_header: the header has been printed, and nobody needs to be told of it
void print_list_preamble(Page& page, const profile::PerfDataReader& reader, bool with_header);

}  // namespace zs::cli
