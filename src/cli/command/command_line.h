// A verb's options, read as perf reads them: the first word that is no option begins the program to run, and everything
// from there on is the program's; `--` says so explicitly. CLI11, which takes seconds to compile, is command_line.cc's
// alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command/option_table.h"
#include "cli/command/perf_options.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 chose it
class App;
class Option;
}  // namespace CLI

namespace zs::cli {

class CommandLine {
 public:
  /// about  one or two sentences; usage  what follows the verb, for the first line of --help
  CommandLine(const std::string& verb, const std::string& about, const std::string& usage);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// An option with a value. May be given once.
  void value(const std::string& names, std::string& into, const std::string& placeholder, const std::string& help);
  /// The same, and by which of its names it was given last: `typed`, left alone if it was not given.
  void named_value(const std::string& names, std::string& into, std::string& typed, const std::string& placeholder,
                   const std::string& help);
  /// An option with a value that may be given again and again.
  void values(const std::string& names, std::vector<std::string>& into, const std::string& placeholder,
              const std::string& help);
  /// A whole number from `least` up; 0x10 and 0b1 are numbers too.
  void number(const std::string& names, std::uint64_t& into, std::uint64_t least, const std::string& placeholder,
              const std::string& help);
  void flag(const std::string& names, bool& into, const std::string& help);
  /// A flag that may be given again and again: how often.
  void count(const std::string& names, std::size_t& into, const std::string& help);
  /// A flag that may be given a value with '=', and only so; a number also right behind a short name, as perf takes
  /// -z5. Without one, `into` becomes "true".
  void optional_value(const std::string& name, std::string& into, const std::string& placeholder,
                      const std::string& help);

  /// Words among the options, in any order: for verbs that run no program. program() is then empty.
  /// operand  what they are: FILE, EVENTS
  void words(std::vector<std::string>& into, const std::string& operand);

  /// What a placeholder stands for. With a title, "TITLE: WORD WORD ..." is a line of --help.
  void known_words(const std::string& placeholder, const std::string& title, const std::vector<std::string>& words);

  void group(const std::string& name) { group_ = name; }
  /// A paragraph below the options.
  void note(const std::string& text) { notes_.push_back(text); }
  /// What --help ends with.
  void exit_statuses(std::span<const ExitRow> rows) { statuses_.assign(rows.begin(), rows.end()); }

  /// returns nothing to go on, or the exit status: help was printed, or the options are wrong and that was said, or
  /// only their table was asked for
  std::optional<int> parse(const Arguments& arguments);

  /// The program and its arguments; empty if none was named.
  const std::vector<std::string>& program() const { return program_; }
  const std::string& verb() const { return verb_; }

 private:
  /// An option of named_value().
  struct Named {
    std::vector<std::string> names;
    std::string* typed;
  };

  static OptionRow row_of(const CLI::Option& option);
  CLI::Option* grouped(CLI::Option* option);
  OptionTable table() const;
  void add_perf_options(const std::vector<std::string>& words);
  bool is_declared(const std::string& name) const;
  bool is_refused(const PerfOption& row) const;
  std::string text_of(const PerfOption& row) const;
  std::optional<int> answer_perf_options() const;
  std::string perf_page() const;
  std::string declared(const std::string& name) const;
  void spell_long(std::string& word) const;
  void spell_short(std::string& word) const;
  bool takes_next(const std::string& word) const;
  std::vector<std::string> as_declared(std::vector<std::string> words) const;
  std::string help_page() const;
  int refuse(const std::string& what, const std::string& hint = "") const;
  int refuse_option(const std::string& typed) const;
  void say_names(const std::vector<std::string>& words) const;

  std::string verb_, usage_, operand_;
  std::vector<KnownWords> known_;
  std::vector<std::string> notes_;
  std::vector<ExitRow> statuses_;
  std::string group_ = "Options";
  std::unique_ptr<CLI::App> app_;
  std::vector<Named> named_;
  std::vector<PerfOption> rows_;                                   // of perf's verb
  std::vector<std::pair<std::string, std::string>> aliases_;       // perf's other names of our options
  std::vector<std::pair<CLI::Option*, const PerfOption*>> taken_;  // perf's that are not ours, as typed
  std::string unused_;                                             // their values
  std::vector<std::string> program_;
};

}  // namespace zs::cli
