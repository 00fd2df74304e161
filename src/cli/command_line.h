// A verb's options, read as perf reads them: the first word that is no option begins the program to run, and everything
// from there on is the program's; `--` says so explicitly. Includes CLI11: for verbs' .cc files only.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zs::cli {

class CommandLine {
 public:
  /// about  one or two sentences; usage  what follows the verb, for the first line of --help
  CommandLine(const std::string& verb, const std::string& about, const std::string& usage);

  /// An option with a value. May be given once.
  template <typename T>
  CLI::Option* value(const std::string& names, T& into, const std::string& placeholder, const std::string& help) {
    return grouped(app_.add_option(names, into, help)->option_text(placeholder)->take_last());
  }
  /// The same, and by which of its names it was given last: `typed`, left alone if it was not given.
  CLI::Option* named_value(const std::string& names, std::string& into, std::string& typed,
                           const std::string& placeholder, const std::string& help);
  /// An option with a value that may be given again and again.
  CLI::Option* values(const std::string& names, std::vector<std::string>& into, const std::string& placeholder,
                      const std::string& help);
  /// A whole number from `least` up; 0x10 and 0b1 are numbers too.
  CLI::Option* number(const std::string& names, std::uint64_t& into, std::uint64_t least,
                      const std::string& placeholder, const std::string& help);
  CLI::Option* flag(const std::string& names, bool& into, const std::string& help);
  /// A flag that may be given again and again: how often.
  CLI::Option* count(const std::string& names, std::size_t& into, const std::string& help);
  /// A flag that may be given a value with '=', and only so. Without one, `into` becomes "true".
  CLI::Option* optional_value(const std::string& name, std::string& into, const std::string& placeholder,
                              const std::string& help);

  /// Words among the options, in any order: for verbs that run no program. program() is then empty.
  void words(std::vector<std::string>& into);

  void group(const std::string& name) { group_ = name; }
  void footer(const std::string& text) { app_.footer(text); }

  /// returns nothing to go on, or the exit status: help was printed, or the options are wrong and that was said
  std::optional<int> parse(int argc, char** argv);

  /// The program and its arguments; empty if none was named.
  const std::vector<std::string>& program() const { return program_; }

 private:
  /// An option of named_value().
  struct Named {
    std::vector<std::string> names;
    std::string* typed;
  };

  CLI::Option* grouped(CLI::Option* option);
  int refuse(const std::string& what) const;
  void say_names(const std::vector<std::string>& words) const;

  std::string verb_;
  std::string group_ = "Options";
  CLI::App app_;
  std::vector<Named> named_;
  std::vector<std::string> program_;
};

}  // namespace zs::cli
