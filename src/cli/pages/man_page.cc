#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/items.h"
#include "cli/command/exit_status.h"
#include "cli/pages/questions.h"
#include "cli/pages/verb_pages.h"

namespace zs::cli {
namespace {

/// `text` as roff prints it as it stands, without line breaks of its own.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\': out += "\\e"; break;
      case '-': out += "\\-"; break;
      case '\n': out += ' '; break;
      default: out += c;
    }
  }
  return !out.empty() && (out.front() == '.' || out.front() == '\'') ? "\\&" + out : out;
}

std::string bold(std::string_view text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + escaped(text) + "\\fR"; }

/// Lines that stay lines.
std::string as_it_stands(const std::string& text) {
  std::string out = ".nf\n";
  for (const std::string_view line : items_of(text, '\n')) out += escaped(line) + "\n";
  return out + ".fi\n";
}

std::string head(const std::string& name, std::string_view summary) {
  std::string title = name;
  std::ranges::transform(title, title.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string line(summary);
  line.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(line.front())));
  return ".TH " + escaped(title) + " 1 \"\" \"zeroskid " ZEROSKID_VERSION "\" \"zeroskid\"\n.SH NAME\n" +
         escaped(name) + " \\- " + escaped(line) + "\n";
}

std::string item(const std::string& term, std::string_view text) {
  return ".TP\n" + term + "\n" + escaped(text) + "\n";
}

std::string option_item(const OptionRow& row) {
  std::string term;
  for (const std::string& name : row.names) term += (term.empty() ? "" : ", ") + bold(name);
  if (row.value_may_be_left_out) {
    term += "[\\fB=\\fR" + italic(row.value) + "]";
  } else if (!row.value.empty()) {
    term += " " + italic(row.value);
  }
  return item(term, row.help);
}

std::string options(const OptionTable& table) {
  if (table.options.empty()) return "";
  std::string text = ".SH OPTIONS\n";
  std::string group = table.options.front().group;
  for (const OptionRow& row : table.options) {
    if (row.group != group) text += ".SS " + escaped(row.group) + "\n";
    group = row.group;
    text += option_item(row);
  }
  for (const KnownWords& known : table.known) {
    if (known.title.empty()) continue;
    text += ".SS " + known.title + "\n";
    std::string words;
    for (const std::string& word : known.words) words += (words.empty() ? "" : " ") + word;
    text += escaped(words) + "\n";
  }
  return text;
}

std::string exit_statuses(const std::vector<ExitRow>& rows) {
  if (rows.empty()) return "";
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitRow& row : rows) text += item(bold(row.status), row.meaning);
  return text;
}

std::string see_also(const std::vector<std::string>& names) {
  std::string text = ".SH SEE ALSO\n";
  for (std::size_t i = 0; i < names.size(); ++i)
    text += ".BR " + escaped(names[i]) + " (1)" + (i + 1 == names.size() ? "" : ",") + "\n";
  return text;
}

struct Place {
  std::string_view name, what;
};
constexpr Place kEnvironment[] = {
    {"ZEROSKID_PAGER, PAGER", "what long pages open in on a terminal; empty or cat: nothing. Else less"},
    {"NO_COLOR, CLICOLOR_FORCE", "no colours, or colours also where the output is no terminal"},
    {"COLUMNS", "the width of a plot"},
    {"ZEROSKID_RUN", "zeroskid-run, where it is neither beside zeroskid nor in ../libexec/zeroskid"},
};
constexpr Place kFiles[] = {
    {"perf.data, perf.data.old", "the recording, and the one before it"},
    {"~/.cache/zeroskid/costs.json", "what doctor --measure found; below XDG_CACHE_HOME where that is set"},
};

std::string places(std::string_view title, std::span<const Place> rows) {
  std::string text = ".SH " + std::string(title) + "\n";
  for (const Place& row : rows) text += item(bold(row.name), row.what);
  return text;
}

}  // namespace

std::string man_name(const OptionTable& table) {
  std::string name = "zeroskid-" + table.verb;
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string man_page(const std::vector<VerbPage>& pages) {
  std::string text = "'\\\" t\n" + head("zeroskid", "Precise event-based sampling, with or without a PMU");
  text += ".SH SYNOPSIS\n" + bold("zeroskid") + " " + italic("VERB") + " [" + italic("OPTIONS") + "]\n.br\n" +
          bold("zeroskid --help") + " | " + bold("--version") + " [" + bold("--json") + "]\n";
  text += ".SH QUESTIONS\n.TS\ntab(@);\nl r l.\n\\fBquestion\\fR@\\fBcost\\fR@\\fBcommand\\fR\n";
  for (const Question& row : questions())
    text += escaped(row.asked) + "@" + cost_text(row, {}) + "@" + escaped(row.command) + "\n";
  text += ".TE\n.PP\n" + escaped(cost_origin({})) + "\n";
  text += ".SH VERBS\n";
  std::vector<std::string> others;
  for (const VerbPage& page : pages) {
    text += item(bold(page.table.verb), page.verb->summary);
    others.push_back(man_name(page.table));
  }
  others.emplace_back("perf");
  text += exit_statuses({std::begin(kStatusesOfRuns), std::end(kStatusesOfRuns)});
  text += places("ENVIRONMENT", kEnvironment) + places("FILES", kFiles);
  return text + see_also(others);
}

std::string man_page(const VerbPage& page) {
  const OptionTable& table = page.table;
  std::string text = head(man_name(table), page.verb->summary);
  text += ".SH SYNOPSIS\n";
  std::vector<std::string> others = {"zeroskid"};
  if (page.parts.empty()) text += bold("zeroskid " + table.verb) + " " + escaped(table.usage) + "\n";
  for (const VerbPage& part : page.parts) {
    text += bold("zeroskid " + part.table.verb) + " " + escaped(part.table.usage) + "\n.br\n";
    others.push_back(man_name(part.table));
  }
  text += ".SH DESCRIPTION\n" + escaped(table.about) + "\n" + options(table);
  if (!table.notes.empty()) text += ".SH NOTES\n";
  for (const std::string& note : table.notes) text += as_it_stands(note);
  return text + exit_statuses(table.statuses) + see_also(others);
}

}  // namespace zs::cli
