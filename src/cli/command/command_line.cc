#include "cli/command/command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/items.h"
#include "cli/command/exit_status.h"
#include "cli/command/perf_options.h"
#include "cli/command/say.h"
#include "cli/command/words.h"
#include "events/nearest_names.h"

namespace zs::cli {
namespace {

std::string single_blank_lines(std::string text) {
  for (std::size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n", at)) text.erase(at, 1);
  return text;
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

int CommandLine::refuse(const std::string& what, const std::string& hint) const {
  write_all(STDERR_FILENO, "zeroskid " + verb_ + ": " + what + "\nhint: " + hint + "zeroskid " + verb_ +
                               " --help lists the options\n");
  return kUsage;
}

/// An option that does not exist: those that are spelled nearly so.
int CommandLine::refuse_option(const std::string& typed) const {
  const std::string name = typed.substr(0, typed.find('='));
  constexpr std::size_t kFar = 4;  // of typing_distance: two letters wrong
  std::vector<std::string> names;
  for (const CLI::Option* const option : app_->get_options()) {
    const bool is_perfs = option->get_group().empty();
    for (const std::string& one : option->get_lnames()) {
      const std::string known = "--" + one;
      const bool begins = name.size() > 3 && known.starts_with(name);
      if (begins || (!is_perfs && session::typing_distance(name, known, kFar) <= kFar)) names.push_back(known);
    }
  }
  const std::string near = joined(session::nearest_names(name, names, 3), ", ");
  return refuse("there is no option " + typed, near.empty() ? "" : "nearest: " + near + "; ");
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

namespace {

std::vector<std::string> names_of(const PerfOption& row) {
  std::vector<std::string> names;
  for (const std::string_view name : items_of(row.names, ' ')) names.emplace_back(name);
  return names;
}

std::string listed_names(const PerfOption& row) {
  std::string names(row.names);
  std::ranges::replace(names, ' ', ',');
  return names;
}

/// Whether one of these words may be that option: spelled out, begun, with no- before it, or a letter among others.
bool may_be_typed(std::string_view name, const std::vector<std::string>& words) {
  constexpr std::string_view kNo = "--no-";
  return std::ranges::any_of(words, [&](std::string_view word) {
    word = word.substr(0, word.find('='));
    if (word.size() < 2 || word[0] != '-' || word == "--") return false;
    if (!name.starts_with("--")) return word[1] != '-' && word.find(name[1]) != std::string_view::npos;
    return name.starts_with(word) || (word.starts_with(kNo) && word.substr(kNo.size()) == name.substr(2));
  });
}

}  // namespace

/// perf's options of this verb that are typed and not ours already. All of them would take milliseconds.
void CommandLine::add_perf_options(const std::vector<std::string>& words) {
  rows_ = perf_options(verb_);
  for (const PerfOption& row : rows_) {
    std::string names, ours;
    for (const std::string& name : names_of(row)) {
      if (is_declared(name)) {
        if (ours.empty()) ours = name;
      } else if (may_be_typed(name, words)) {
        names += (names.empty() ? "" : ",") + name;
      }
    }
    if (names.empty()) continue;
    if (row.standing == Standing::Same && !ours.empty()) {
      for (const std::string_view name : items_of(names)) aliases_.emplace_back(name, ours);
      continue;
    }
    const bool value = !row.value.empty() && !row.value.starts_with(kMayBeLeftOut);
    CLI::Option* const option = value ? app_->add_option(names, unused_)->take_last() : app_->add_flag(names, unused_);
    taken_.emplace_back(option->option_text(std::string(row.value))->group(""), &row);
  }
}

bool CommandLine::is_declared(const std::string& name) const { return app_->get_option_no_throw(name) != nullptr; }

/// What another verb's rows call the same is not, where this verb lacks it.
bool CommandLine::is_refused(const PerfOption& row) const {
  if (row.standing != Standing::Same) return row.standing == Standing::Refused;
  return std::ranges::none_of(names_of(row), [this](const std::string& name) {
    const CLI::Option* const option = app_->get_option_no_throw(name);
    return option != nullptr && !option->get_group().empty();
  });
}

std::string CommandLine::text_of(const PerfOption& row) const {
  if (row.standing != Standing::Same || !is_refused(row)) return std::string(row.text);
  return "zeroskid " + verb_.substr(verb_.find(' ') + 1) + " has it";
}

/// returns  the exit status where one of them is refused
std::optional<int> CommandLine::answer_perf_options() const {
  const CLI::Option* const quiet = app_->get_option_no_throw("--quiet");
  for (const auto& [option, row] : taken_) {
    if (option->count() == 0) continue;
    const std::string name = listed_names(*row);
    if (row->standing == Standing::Same || row->standing == Standing::Refused)
      return refused({verb_ + ": perf's " + name + " is no option here", text_of(*row)});
    if (row->standing == Standing::Otherwise && (quiet == nullptr || quiet->count() == 0))
      say(name + ": " + std::string(row->text));
  }
  return std::nullopt;
}

std::string CommandLine::perf_page() const {
  struct Part {
    Standing standing;
    std::string_view title;
  };
  constexpr Part kParts[] = {{Standing::Same, "As in perf"},
                             {Standing::NoMatter, "Taken, and without effect, because it cannot matter here"},
                             {Standing::Otherwise, "Taken, and otherwise"},
                             {Standing::Refused, "Refused, and what there is instead"}};
  constexpr std::size_t kColumn = 32;
  std::string page = "The options of perf 6.1's " + verb_ + ", and what becomes of them here.\n";
  for (const Part& part : kParts) {
    std::string lines;
    for (const PerfOption& row : perf_options(verb_)) {
      if ((is_refused(row) ? Standing::Refused : row.standing) != part.standing) continue;
      std::string line = "  " + listed_names(row) + (row.value.empty() ? "" : " ") + std::string(row.value);
      const std::string text = text_of(row);
      if (!text.empty()) line.resize(std::max(kColumn, line.size() + 2), ' ');
      lines += line + text + "\n";
    }
    if (!lines.empty()) page += "\n" + std::string(part.title) + ":\n" + lines;
  }
  return page;
}

std::string CommandLine::declared(const std::string& name) const {
  if (is_declared(name)) return name;
  const auto alias = std::ranges::find(aliases_, name, &std::pair<std::string, std::string>::first);
  return alias == aliases_.end() ? "" : alias->second;
}

/// A long name as it was declared: an alias, a flag with no- before it or without its own, or the one that begins so.
void CommandLine::spell_long(std::string& word) const {
  const std::size_t end = std::min(word.find('='), word.size());
  const std::string name = word.substr(0, end), rest = word.substr(end);
  if (const std::string ours = declared(name); !ours.empty()) {
    word = ours + rest;
    return;
  }
  constexpr std::size_t kNo = std::string_view("--no-").size();
  for (const std::string& opposite :
       {"--no-" + name.substr(2), name.starts_with("--no-") ? "--" + name.substr(kNo) : ""}) {
    const std::string ours = declared(opposite);
    if (ours.empty() || !row_of(*app_->get_option(ours)).value.empty()) continue;
    word = ours + "=false";
    return;
  }
  std::string begun;
  for (const CLI::Option* const option : app_->get_options()) {
    for (const std::string& one : option->get_lnames()) {
      if (!("--" + one).starts_with(name)) continue;
      if (!begun.empty()) return;
      begun = "--" + one;
    }
  }
  if (!begun.empty()) word = begun + rest;
}

/// -z5 and -z=5 of an optional value as --compression-level=5, which CLI11 understands; and aliases.
void CommandLine::spell_short(std::string& word) const {
  const std::string letter = word.substr(0, 2), ours = declared(letter);
  if (ours.empty()) return;
  const OptionRow row = row_of(*app_->get_option(ours));
  if (row.value_may_be_left_out && word.size() > 2) {
    word = row.names.back() + "=" + word.substr(word[2] == '=' ? 3 : 2);
  } else if (ours != letter) {
    word = ours + (word.size() > 2 ? "=" : "") + word.substr(2);
  }
}

/// Whether the word behind this one is its value.
bool CommandLine::takes_next(const std::string& word) const {
  const auto needs_value = [this](const std::string& name) {
    if (!is_declared(name)) return false;
    const OptionRow row = row_of(*app_->get_option(name));
    return !row.value.empty() && !row.value_may_be_left_out;
  };
  if (word.starts_with("--")) return needs_value(word);
  for (std::size_t i = 1; i < word.size(); ++i) {
    if (needs_value({'-', word[i]})) return i + 1 == word.size();
  }
  return false;
}

/// The words in the spelling that CLI11 knows. The program's words stay.
std::vector<std::string> CommandLine::as_declared(std::vector<std::string> words) const {
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::string& word = words[i];
    if (word == "--") break;
    if (word.size() < 2 || word[0] != '-') {
      if (app_->get_prefix_command()) break;
      continue;
    }
    if (word[1] == '-') {
      spell_long(word);
    } else {
      spell_short(word);
    }
    if (takes_next(word)) ++i;
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
  if (std::ranges::find(arguments.words, "--perf") != arguments.words.end() && arguments.words.size() == 3 &&
      is_declared(arguments.words[1]) && app_->get_help_ptr()->check_name(arguments.words[1])) {
    write_prose(STDOUT_FILENO, perf_page());
    return 0;
  }
  add_perf_options(arguments.words);
  const std::vector<std::string> words = as_declared(arguments.words);
  std::vector<const char*> pointers;
  pointers.reserve(words.size());
  for (const std::string& word : words) pointers.push_back(word.c_str());
  try {
    app_->parse(static_cast<int>(pointers.size()), pointers.data());
  } catch (const CLI::CallForHelp&) {
    write_all(STDOUT_FILENO, help_page());
    return 0;
  } catch (const CLI::ArgumentMismatch& problem) {
    const std::string text = problem.what();  // "--event: 1 required TEXT missing", without a name of perf's
    const auto at = std::ranges::find_if(words, [this](const std::string& word) { return takes_next(word); });
    return refuse((text.starts_with(':') && at != words.end() ? *at : text.substr(0, text.find(':'))) +
                  " needs a value");
  } catch (const CLI::ParseError& problem) {
    return refuse(problem.what());
  }
  if (const auto refused = answer_perf_options()) return refused;
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
