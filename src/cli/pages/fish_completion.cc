#include "cli/command/words.h"
#include "cli/pages/verb_pages.h"

namespace zs::cli {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

/// What `complete` is told of a value.
std::string arguments_of(const Offer& offer) {
  static constexpr const char* kTexts[] = {"-x",
                                           "-x -a ",
                                           "-r -F",
                                           "-x -a '(__zeroskid_list (__zeroskid_names))'",
                                           "-x -a '(__zeroskid_list (__zeroskid_names metrics))'",
                                           "-x -a '(__zeroskid_models) host'"};  // by Offer::Kind
  std::string text = kTexts[static_cast<std::size_t>(offer.kind)];
  const std::string words = joined(offer.words);
  if (offer.kind != Offer::Kind::Words) return text;
  return text + quoted(offer.list ? "(__zeroskid_list " + words + ")" : words);
}

/// complete -c zeroskid -n '__zeroskid_at ...'
std::string line_for(const std::string& condition) { return "complete -c zeroskid -n " + quoted(condition) + " "; }

std::string lines_of(const VerbPage& page) {
  const OptionTable& table = page.table;
  std::string text;
  for (const VerbPage& part : page.parts) {
    text += line_for("__zeroskid_needs_verb_of " + table.verb) + "-a " + part.verb->name + " -d " +
            quoted(part.verb->summary) + "\n";
  }
  const bool program = table.operand == "PROGRAM";
  const std::string at = "__zeroskid_at \"" + table.verb + "\"";
  const std::string condition = at + (program ? " program" : "");
  for (const OptionRow& row : table.options) {
    text += line_for(condition);
    for (const std::string& name : row.names)
      text += name.starts_with("--") ? "-l " + name.substr(2) + " " : "-s " + name.substr(1) + " ";
    if (!row.value.empty() && !row.value_may_be_left_out) text += arguments_of(offer_for(table, row.value)) + " ";
    text += "-d " + quoted(row.help) + "\n";
  }
  if (program) {
    text += line_for(at) + "-a '(__zeroskid_program)'\n";
  } else if (const Offer offer = offer_for(table, table.operand); offer.kind == Offer::Kind::Files) {
    text += line_for(at) + "-F\n";
  } else if (offer.kind == Offer::Kind::Events) {
    text += line_for(at) + "-a '(__zeroskid_names) metrics models'\n";
  }
  return text;
}

std::string with_value_case(const VerbPage& page) {
  std::vector<std::string> names;
  for (const OptionRow& row : page.table.options) {
    if (!row.value.empty() && !row.value_may_be_left_out) names.insert(names.end(), row.names.begin(), row.names.end());
  }
  if (names.empty()) return "";
  return "        case '" + page.table.verb + "'\n            printf '%s\\n' " + joined(names) + "\n";
}

}  // namespace

std::string fish_completion(const std::vector<VerbPage>& pages) {
  std::string lines, cases, nested;
  for (const VerbPage& page : pages) {
    lines += line_for("__zeroskid_needs_verb") + "-a " + page.verb->name + " -d " + quoted(page.verb->summary) + "\n";
    if (!page.parts.empty()) nested += std::string(" ") + page.verb->name;
  }
  for (const VerbPage& page : pages)
    lines += line_for("__zeroskid_needs_verb_of help") + "-a " + page.verb->name + "\n";
  lines += line_for("__zeroskid_needs_verb") + "-a help -d 'Say more of one verb'\n";
  lines += line_for("__zeroskid_needs_verb") + "-l help -d 'What there is'\n";
  lines += line_for("__zeroskid_needs_verb") + "-l version -d 'Which zeroskid this is'\n";
  for (const VerbPage& page : pages) {
    for (const VerbPage& part : page.parts) {
      lines += lines_of(part);
      cases += with_value_case(part);
    }
    lines += lines_of(page);
    cases += with_value_case(page);
  }
  cases.pop_back();  // ends of lines
  lines.pop_back();
  return filled(Shell::Fish, {{"@NESTED@", nested}, {"@CASES@", cases}, {"@LINES@", lines}});
}

}  // namespace zs::cli
