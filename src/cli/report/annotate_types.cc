#include "cli/report/annotate_types.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "cli/command/exit_status.h"
#include "cli/command/say.h"
#include "cli/command/words.h"
#include "profile/aggregate/type_heat.h"

namespace zs::cli {
namespace {

/// Whether a person who asks for `wanted` means the type: its name, without the kind, or without that and the
/// arguments of its template.
bool is_meant(std::string_view name, std::string_view wanted) {
  if (name == wanted) return true;
  for (const std::string_view kind : {"struct ", "union "}) {
    if (name.starts_with(kind)) name.remove_prefix(kind.size());
  }
  return name == wanted || name.substr(0, name.find('<')) == wanted;
}

std::string some_names(const profile::TypeHeats& heats) {
  constexpr std::size_t kMost = 10;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(kMost, heats.types.size()); ++i) names.push_back(heats.types[i].name);
  return names.empty() ? "no sample is of a struct" : "types with samples: " + joined(names);
}

}  // namespace

int annotate_types(const RecordingInput& input, const std::string& wanted, bool all, const report::TypeStyle& style) {
  const auto reader = open_recording(input);
  if (!reader) return kToolFailed;
  if (!reader->description().data_sources) {
    say(Error{reader->name() + ": the samples do not say where their data was", "record with: zeroskid mem record"});
    return kToolFailed;
  }
  if (!has_samples(*reader, kRecordMore)) return empty_status(*reader);
  profile::Symbolizer symbolizer(input.names());
  profile::TypeHeatReader types(symbolizer);
  const profile::TypeHeats heats = types.read(*reader);
  const bool named = wanted != "true";
  Page page(input.pager());
  page.print(report::type_shares(heats));
  std::size_t shown = 0;
  for (const profile::TypeHeat& heat : heats.types) {
    if (named ? !is_meant(heat.name, wanted) : shown != 0 && !all) continue;
    page.print(report::type_text(heat, style));
    ++shown;
  }
  if (!named && shown < heats.types.size()) {
    page.print("\n# --data-type=TYPE another type, --all every one: " + std::to_string(heats.types.size() - shown) +
               " more " + (heats.types.size() - shown == 1 ? "has" : "have") + " samples\n");
  }
  say_remarks(page, symbolizer);
  if (shown != 0) return page.status();
  say(Error{reader->name() + ": " +
                (named ? "no sample is of a type named '" + wanted + "'" : "no sample is of a struct that is known"),
            named ? some_names(heats) : "compile with -g: types are in debug information"});
  return kToolFailed;
}

}  // namespace zs::cli
