#include "report/class_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace zs::report {
namespace {

const std::string* note(const profile::PerfDataReader& reader, const std::string& key) {
  const auto& notes = reader.description().notes;
  const auto at = std::find_if(notes.begin(), notes.end(), [&](const profile::Note& one) { return one.key == key; });
  return at != notes.end() ? &at->value : nullptr;
}

}  // namespace

std::string class_text(const profile::PerfDataReader& reader, const profile::PerfDataReader::Event& event) {
  const std::string* const kind = note(reader, "class of " + event.name);
  if (kind == nullptr) return "";
  const std::string* const model = note(reader, "CPU model");
  const bool by_model = *kind != "exact" && model != nullptr;
  return fmt::format("# Class: {}{}{}\n", *kind, by_model ? " by " : "", by_model ? *model : "");
}

}  // namespace zs::report
