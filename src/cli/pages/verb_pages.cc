#include "cli/pages/verb_pages.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

/// Put here by completion_scripts.S.
extern "C" {
extern const char zs_completion_bash[], zs_completion_fish[], zs_completion_zsh[], zs_completion_end[];
}

namespace zs::cli {
namespace {

struct Named {
  std::string_view placeholder;
  Offer::Kind kind;
  bool list;
};
constexpr Named kNamed[] = {
    {"FILE", Offer::Kind::Files, false},
    {"EVENTS", Offer::Kind::Events, true},
    {"METRICS", Offer::Kind::Metrics, true},
    {"MODEL", Offer::Kind::Models, false},
};

VerbPage page_of(const Verb& verb, std::string name) {
  VerbPage page{.verb = &verb, .table = {}, .parts = {}};
  run_verb(verb, {{name}, &page.table});
  for (const Verb* const part : verb.verbs) page.parts.push_back(page_of(*part, part->name));
  return page;
}

bool is_word(const std::string& text) {
  return !text.empty() && std::ranges::none_of(text, [](unsigned char c) { return std::isupper(c) != 0; });
}

}  // namespace

std::vector<VerbPage> verb_pages() {
  std::vector<VerbPage> pages;
  for (const Verb* const verb : verbs()) pages.push_back(page_of(*verb, verb->name));
  return pages;
}

std::vector<VerbPage> all_verb_pages() {
  std::vector<VerbPage> all;
  for (const VerbPage& page : verb_pages()) {
    all.push_back(page);
    all.insert(all.end(), page.parts.begin(), page.parts.end());
  }
  return all;
}

Offer offer_for(const OptionTable& table, const std::string& placeholder) {
  const std::string first = placeholder.substr(0, placeholder.find_first_of(" ["));
  const bool list = placeholder.ends_with("...]");
  const auto named = std::ranges::find(kNamed, first, &Named::placeholder);
  if (named != std::end(kNamed)) return {.kind = named->kind, .words = {}, .list = named->list};
  const auto known = std::ranges::find(table.known, first, &KnownWords::placeholder);
  if (known != table.known.end()) return {.kind = Offer::Kind::Words, .words = known->words, .list = list};

  Offer offer;  // a|b[,N]|c: those in small letters
  for (std::size_t at = 0; at <= placeholder.size();) {
    const std::size_t end = std::min(placeholder.find('|', at), placeholder.size());
    std::string one = placeholder.substr(at, end - at);
    one.resize(std::min(one.find('['), one.size()));
    if (is_word(one)) offer.words.push_back(std::move(one));
    at = end + 1;
  }
  if (!offer.words.empty()) offer.kind = Offer::Kind::Words;
  return offer;
}

std::string filled(Shell shell, const std::vector<std::pair<std::string_view, std::string>>& words) {
  static constexpr const char* kScripts[] = {zs_completion_bash, zs_completion_fish, zs_completion_zsh,
                                             zs_completion_end};
  const auto which = static_cast<std::size_t>(shell);
  std::string script(kScripts[which], kScripts[which + 1]);
  const auto fill = [&](std::string_view word, std::string_view text) {
    script.replace(script.find(word), word.size(), text);
  };
  fill("@VERSION@", ZEROSKID_VERSION);
  for (const auto& [word, text] : words) fill(word, text);
  return script;
}

}  // namespace zs::cli
