// Needs bash 4.4, and nothing of bash-completion; that is asked for the program's own arguments where it is there.
#include <algorithm>

#include "cli/command/words.h"
#include "cli/pages/verb_pages.h"

namespace zs::cli {
namespace {

std::string text_of(const Offer& offer) {
  static constexpr const char* kTexts[] = {"", "", "@files", "@events", "@metrics", "@models"};  // by Offer::Kind
  return (offer.list ? "," : "") + joined(offer.words) + kTexts[static_cast<std::size_t>(offer.kind)];
}

std::string operand_of(const OptionTable& table) {
  return table.operand == "PROGRAM" ? "@program" : text_of(offer_for(table, table.operand));
}

std::string case_of(const VerbPage& page) {
  const OptionTable& table = page.table;
  std::vector<std::string> names;
  std::string values;
  for (const OptionRow& row : table.options) {
    for (const std::string& name : row.names) {
      names.push_back(name);
      if (row.value.empty()) continue;
      const std::string key = name + (row.value_may_be_left_out ? "=" : "");
      if (row.value_may_be_left_out && name.starts_with("--")) names.push_back(key);
      values += "        [" + key + "]='" + text_of(offer_for(table, row.value)) + "'\n";
    }
  }
  for (const VerbPage& part : page.parts) names.emplace_back(part.verb->name);
  std::string text = "    '" + table.verb + "')\n      options='" + joined(names) + "'\n";
  const std::string operand = page.parts.empty() ? operand_of(table) : "verbs";
  if (!operand.empty()) text += "      operand='" + operand + "'\n";
  if (!values.empty()) text += "      values=(\n" + values + "      )\n";
  return text + "      ;;\n";
}

}  // namespace

std::string bash_completion(const std::vector<VerbPage>& pages) {
  std::vector<std::string> verbs;
  std::string cases;
  for (const VerbPage& page : pages) {
    verbs.emplace_back(page.verb->name);
    cases += case_of(page);
    for (const VerbPage& part : page.parts) cases += case_of(part);
  }
  cases.pop_back();  // its end of a line
  return filled(Shell::Bash, {{"@VERBS@", joined(verbs)}, {"@CASES@", cases}});
}

}  // namespace zs::cli
