#include <string_view>

#include "cli/command/words.h"
#include "cli/pages/verb_pages.h"

namespace zs::cli {
namespace {

std::string replaced(std::string_view text, std::string_view special, char with) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += with;
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

/// A word in single quotes.
std::string in_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// What _arguments does at a value: MESSAGE:ACTION.
std::string action_of(const Offer& offer, const std::string& placeholder) {
  const std::string message = replaced(placeholder, ":\\", '\\');
  if (offer.kind == Offer::Kind::Words)
    return message + (offer.list ? ":_values -s , 'one of' " + joined(offer.words) : ":(" + joined(offer.words) + ")");
  static constexpr const char* kTexts[] = {
      ": ", "", ":_files", ":_zeroskid_events", ":_zeroskid_metrics", ":_zeroskid_models"};  // by Offer::Kind
  return message + kTexts[static_cast<std::size_t>(offer.kind)];
}

/// '(-e --event)'{-e+,--event=}'[help]:EVENTS:_zeroskid_events'
std::string spec_of(const OptionTable& table, const OptionRow& row) {
  std::vector<std::string> names;
  for (const std::string& name : row.names) {
    const bool is_long = name.starts_with("--");
    const std::string sign = row.value.empty()           ? ""
                             : row.value_may_be_left_out ? (is_long ? "=-" : "")
                             : is_long                   ? "="
                                                         : "+";
    names.push_back(name + sign);
  }
  std::string tail = "[" + replaced(row.help, "[]\\", '\\') + "]";
  if (!row.value.empty())
    tail += (row.value_may_be_left_out ? "::" : ":") + action_of(offer_for(table, row.value), row.value);
  std::string spec = row.repeats && !row.value.empty() ? "'*'" : "'(" + joined(row.names) + ")'";
  spec += names.size() == 1 ? names.front() : "{" + joined(names, ",") + "}";
  return spec + in_quotes(tail);
}

std::string operand_specs(const OptionTable& table) {
  if (table.operand == "PROGRAM") return " \\\n        '(-)1:program:_command_names -e' '*::arguments:_normal'";
  if (table.operand.empty()) return "";
  return " \\\n        " + in_quotes("*:" + action_of(offer_for(table, table.operand), table.operand));
}

std::string descriptions(const std::vector<VerbPage>& pages) {
  std::string text;
  for (const VerbPage& page : pages)
    text += " " + in_quotes(std::string(page.verb->name) + ":" + replaced(page.verb->summary, "\\", '\\'));
  return text;
}

std::string function_name(const OptionTable& table) { return "_zeroskid_verb_" + joined(words_of(table.verb), "_"); }

std::string function_of(const VerbPage& page) {
  std::string text = function_name(page.table) + "() {\n";
  if (!page.parts.empty()) {
    text += "  local -a verbs\n  verbs=(" + descriptions(page.parts) + ")\n" +
            "  if ((CURRENT == 2)); then\n    _describe -t verbs verb verbs\n    return\n  fi\n" +
            "  shift words\n  ((CURRENT--))\n  local run=" + function_name(page.table) + "_$words[1]\n" +
            "  (($+functions[$run])) && $run\n}\n";
    for (const VerbPage& part : page.parts) text += function_of(part);
    return text;
  }
  text += "  _arguments -s -S";
  for (const OptionRow& row : page.table.options) text += " \\\n        " + spec_of(page.table, row);
  return text + operand_specs(page.table) + "\n}\n";
}

}  // namespace

std::string zsh_completion(const std::vector<VerbPage>& pages) {
  std::string functions;
  for (const VerbPage& page : pages) functions += function_of(page);
  functions.pop_back();  // its end of a line
  return filled(Shell::Zsh, {{"@FUNCTIONS@", functions}, {"@VERBS@", descriptions(pages)}});
}

}  // namespace zs::cli
