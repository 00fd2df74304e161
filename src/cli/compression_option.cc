#include "cli/compression_option.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "cli/option_table.h"
#include "profile/record_packer.h"

namespace zs::cli {

void add_compression_option(CommandLine& line, std::string& level) {
  line.optional_value("-z,--compression-level", level, "[=LEVEL]",
                      "Compress the records with zstd, from 1, the fastest, to 22. Branches of a trace stay as they "
                      "are:\nperf could not read them [1]");
}

Result<int> compression_level(const std::string& text) {
  constexpr int kUsual = 1;
  if (text.empty()) return 0;
  if (text == "true") return kUsual;
  int level = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, level);
  if (failure != std::errc() || stop != end || level < 1 || level > profile::RecordPacker::kHighestLevel) {
    return Error{"-z=" + text + ": no level of compression",
                 "1, which is the fastest, to " + std::to_string(profile::RecordPacker::kHighestLevel)};
  }
  return level;
}

Arguments with_level_spelled_out(CommandLine& line, Arguments arguments) {
  OptionTable table;
  line.parse({.words = {}, .table = &table});
  const auto takes_a_word = [&](const std::string& option) {
    return std::ranges::any_of(table.options, [&](const OptionRow& row) {
      return !row.value.empty() && !row.value_may_be_left_out &&
             std::ranges::find(row.names, option) != row.names.end();
    });
  };
  for (std::size_t i = 1; i < arguments.words.size(); ++i) {
    std::string& word = arguments.words[i];
    if (word.size() < 2 || word[0] != '-' || word == "--") break;
    if (word.size() > 2 && word.starts_with("-z") &&
        (word[2] == '=' || std::isdigit(static_cast<unsigned char>(word[2])) != 0))
      word = "--compression-level=" + word.substr(word[2] == '=' ? 3 : 2);
    else if (takes_a_word(word))
      ++i;
  }
  return arguments;
}

}  // namespace zs::cli
