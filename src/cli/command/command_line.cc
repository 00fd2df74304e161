#include "cli/command/command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

#include "cli/command/exit_status.h"
#include "cli/command/say.h"
#include "events/nearest_names.h"

namespace zs::cli {
namespace {

std::string single_blank_lines(std::string text) {
  for (std::size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n", at)) text.erase(at, 1);
  return text;
}

/// perf's options that have no counterpart here, and what there is instead.
struct PerfOption {
  std::string_view verbs, name, instead;
};
constexpr PerfOption kPerfOptions[] = {
    {"record stat", "-C --cpu", "programs are followed, not processors: name a program"},
    {"record", "--all-user --all-kernel", "only user space is run, and so sampled: -e EVENT:u says the same"},
    {"report", "--children", "it is so without being asked, where there are call chains"},
    {"report annotate", "--tui --gtk", "pages are text: on a terminal they open in a pager"},
    {"report script annotate mem report", "-k --vmlinux --kallsyms",
     "kernel symbols are of the running kernel, or of ~/.debug"},
    {"script", "-s --script", "script prints text: read it with any language"},
};

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const bool begins = at == 0 || words[at - 1] == ' ';
    const std::size_t end = at + word.size();
    if (begins && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

/// A value that may be left out is written [=VALUE].
constexpr std::string_view kMayBeLeftOut = "[=";
constexpr std::size_t kPageWidth = 100;

/// Breaks at blanks.
std::string wrapped(const std::string& start, const std::vector<std::string>& words) {
  std::string text = start;
  std::size_t column = start.size();
  for (const std::string& word : words) {
    const bool fits = column + 1 + word.size() <= kPageWidth;
    text += (fits ? ' ' : '\n') + word;
    column = fits ? column + 1 + word.size() : word.size();
  }
  return text + "\n";
}

std::string exit_status_lines(const std::vector<ExitRow>& rows) {
  if (rows.empty()) return "";
  constexpr std::size_t kColumn = 8;
  std::string text = "\nExit status:\n";
  for (const ExitRow& row : rows) {
    std::string status(row.status);
    status.resize(std::max(kColumn, status.size() + 2), ' ');
    text += "  " + status + std::string(row.meaning) + "\n";
  }
  return text;
}

class HelpPage : public CLI::Formatter {
 public:
  explicit HelpPage(std::string usage) : usage_(std::move(usage)) { column_width(28); }
  std::string make_usage(const CLI::App*, std::string) const override { return "Usage: " + usage_ + "\n"; }

 private:
  std::string usage_;
};

}  // namespace

CommandLine::CommandLine(const std::string& verb, const std::string& about, const std::string& usage)
    : verb_(verb),
      usage_(usage),
      operand_(usage.find("PROGRAM") == std::string::npos ? "" : "PROGRAM"),
      app_(std::make_unique<CLI::App>(about, "zeroskid " + verb)) {
  app_->formatter(std::make_shared<HelpPage>("zeroskid " + verb + " " + usage));
  app_->prefix_command(true);
}

CommandLine::~CommandLine() = default;

CLI::Option* CommandLine::grouped(CLI::Option* option) { return option->group(group_); }

void CommandLine::known_words(const std::string& placeholder, const std::string& title,
                              const std::vector<std::string>& words) {
  known_.push_back({placeholder, title, words});
}

void CommandLine::value(const std::string& names, std::string& into, const std::string& placeholder,
                        const std::string& help) {
  grouped(app_->add_option(names, into, help)->option_text(placeholder)->take_last());
}

void CommandLine::values(const std::string& names, std::vector<std::string>& into, const std::string& placeholder,
                         const std::string& help) {
  // One value per use: the next word may already be the program.
  grouped(app_->add_option(names, into, help)->option_text(placeholder)->allow_extra_args(false));
}

void CommandLine::flag(const std::string& names, bool& into, const std::string& help) {
  grouped(app_->add_flag(names, into, help));
}

void CommandLine::count(const std::string& names, std::size_t& into, const std::string& help) {
  grouped(app_->add_flag(names, into, help));
}

void CommandLine::named_value(const std::string& names, std::string& into, std::string& typed,
                              const std::string& placeholder, const std::string& help) {
  named_.push_back({CLI::detail::split(names, ','), &typed});
  value(names, into, placeholder, help);
}

/// words  the options, without the verb and the program
void CommandLine::say_names(const std::vector<std::string>& words) const {
  for (const std::string& word : words) {
    for (const Named& option : named_) {
      for (const std::string& name : option.names) {
        if (word == name || word.starts_with(name + "=")) *option.typed = name;
      }
    }
  }
}

void CommandLine::optional_value(const std::string& name, std::string& into, const std::string& placeholder,
                                 const std::string& help) {
  grouped(app_->add_flag(name, into, help)->option_text(placeholder));
}

void CommandLine::number(const std::string& names, std::uint64_t& into, std::uint64_t least,
                         const std::string& placeholder, const std::string& help) {
  CLI::Option* const option = app_->add_option(names, into, help)->option_text(placeholder)->take_last();
  option->check([least](const std::string& text) {
    std::uint64_t number = 0;
    const bool read = text.find('-') == std::string::npos && CLI::detail::lexical_cast(text, number);
    return read && number >= least ? std::string()
                                   : text + " is not a whole number from " + std::to_string(least) + " up";
  });
  grouped(option);
}

void CommandLine::words(std::vector<std::string>& into, const std::string& operand) {
  operand_ = operand;
  app_->prefix_command(false);
  app_->allow_extras();                        // an unknown option is refused in our words, by parse()
  app_->add_option("words", into)->group("");  // the usage line names them
}

int CommandLine::refuse(const std::string& what) const {
  write_all(STDERR_FILENO,
            "zeroskid " + verb_ + ": " + what + "\nhint: zeroskid " + verb_ + " --help lists the options\n");
  return kUsage;
}

/// An option that does not exist: what perf's of that name has become, or those that are spelled nearly so.
int CommandLine::refuse_option(const std::string& typed) const {
  const std::string name = typed.substr(0, typed.find('='));
  for (const PerfOption& option : kPerfOptions) {
    if (!has_word(option.verbs, verb_) || !has_word(option.name, name)) continue;
    say(Error{verb_ + ": perf's " + name + " is no option here", std::string(option.instead)});
    return kUsage;
  }
  constexpr std::size_t kFar = 4;  // of typing_distance: two letters wrong
  std::vector<std::string> names;
  for (const CLI::Option* const option : app_->get_options()) {
    for (const std::string& one : option->get_lnames()) {
      const std::string known = "--" + one;
      const bool begins = name.size() > 3 && known.starts_with(name);
      if (begins || session::typing_distance(name, known, kFar) <= kFar) names.push_back(known);
    }
  }
  std::string near;
  for (const std::string& one : session::nearest_names(name, names, 3))
    near += (near.empty() ? "nearest: " : ", ") + one;
  if (near.empty()) return refuse("there is no option " + typed);
  write_all(STDERR_FILENO, "zeroskid " + verb_ + ": there is no option " + typed + "\nhint: " + near + "; zeroskid " +
                               verb_ + " --help lists the options\n");
  return kUsage;
}

OptionRow CommandLine::row_of(const CLI::Option& option) {
  OptionRow row{.help = option.get_description(), .group = option.get_group()};
  for (const std::string& name : option.get_snames()) row.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) row.names.push_back("--" + name);
  row.value = option.get_option_text();
  if (row.value.starts_with(kMayBeLeftOut)) {
    row.value = row.value.substr(kMayBeLeftOut.size(), row.value.size() - kMayBeLeftOut.size() - 1);
    row.value_may_be_left_out = true;
  }
  row.repeats = option.get_multi_option_policy() != CLI::MultiOptionPolicy::TakeLast;
  return row;
}

OptionTable CommandLine::table() const {
  OptionTable table{.verb = verb_,
                    .about = app_->get_description(),
                    .usage = usage_,
                    .operand = operand_,
                    .known = known_,
                    .notes = notes_,
                    .statuses = statuses_};
  for (const CLI::Option* const option : app_->get_options()) {
    if (!option->get_group().empty()) table.options.push_back(row_of(*option));  // the others are in no page
  }
  return table;
}

/// -z5 and -z=5 of an optional value as --compression-level=5, which CLI11 understands. The program's words stay.
std::vector<std::string> CommandLine::with_values_spelled_out(std::vector<std::string> words) const {
  const auto has_value = [](const std::string& word) {
    return word.size() > 2 && word[0] == '-' && word[1] != '-' &&
           (word[2] == '=' || std::isdigit(static_cast<unsigned char>(word[2])) != 0);
  };
  if (std::ranges::none_of(words, has_value)) return words;
  const auto named = [this](const std::string& name) {
    const CLI::Option* const option = app_->get_option_no_throw(name);
    return option != nullptr ? std::optional(row_of(*option)) : std::nullopt;
  };
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::string& word = words[i];
    if (word == "--") break;
    if (word.size() < 2 || word[0] != '-') {
      if (app_->get_prefix_command()) break;
      continue;
    }
    if (const auto whole = named(word)) {
      if (!whole->value.empty() && !whole->value_may_be_left_out) ++i;
      continue;
    }
    if (!has_value(word)) continue;
    const auto row = named(word.substr(0, 2));
    if (!row || !row->value_may_be_left_out) continue;
    word = row->names.back() + "=" + word.substr(word[2] == '=' ? 3 : 2);
  }
  return words;
}

std::string CommandLine::help_page() const {
  std::string below;
  for (const KnownWords& known : known_) {
    if (!known.title.empty()) below += wrapped(known.title + ":", known.words);
  }
  for (const std::string& note : notes_) below += note + "\n";
  return single_blank_lines(app_->help() + "\n" + below + exit_status_lines(statuses_));
}

std::optional<int> CommandLine::parse(const Arguments& arguments) {
  if (arguments.table != nullptr) {
    *arguments.table = table();
    return 0;
  }
  const std::vector<std::string> words = with_values_spelled_out(arguments.words);
  std::vector<const char*> pointers;
  pointers.reserve(words.size());
  for (const std::string& word : words) pointers.push_back(word.c_str());
  try {
    app_->parse(static_cast<int>(pointers.size()), pointers.data());
  } catch (const CLI::CallForHelp&) {
    write_all(STDOUT_FILENO, help_page());
    return 0;
  } catch (const CLI::ArgumentMismatch& problem) {
    const std::string text = problem.what();  // "--event: 1 required TEXT missing"
    return refuse(text.substr(0, text.find(':')) + " needs a value");
  } catch (const CLI::ParseError& problem) {
    return refuse(problem.what());
  }
  program_ = app_->remaining();
  say_names({words.begin() + 1, words.end() - static_cast<std::ptrdiff_t>(program_.size())});
  if (!program_.empty() && program_.front() == "--") {
    program_.erase(program_.begin());
  } else if (!program_.empty() && program_.front().size() > 1 && program_.front().front() == '-') {
    return refuse_option(program_.front());
  }
  return std::nullopt;
}

}  // namespace zs::cli
