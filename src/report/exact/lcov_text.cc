#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "isa/decode.h"
#include "report/exact/exact_counts.h"

namespace zs::report {
namespace {

using profile::ImageAddress;
using profile::SourceLine;
using profile::Symbol;

/// What lcov knows of a source file.
struct SourceCounts {
  struct Branch {
    std::uint64_t taken = 0, not_taken = 0;
  };
  std::map<int, std::uint64_t> lines;
  std::map<int, std::vector<Branch>> branches;                     // those of a line, by address
  std::map<std::string, std::pair<int, std::uint64_t>> functions;  // where, and how often entered
};

class Sources {
 public:
  void add(const profile::Dso& dso, const FileCounts& counts) {
    profile::ElfImage& image = *dso.image;
    const auto times_at = [&counts](std::uint64_t address) {
      const auto at = counts.times.find(address);
      return at != counts.times.end() ? at->second : 0;
    };
    // A line ran as often as that of its pieces that ran most often: of a `for` the condition, as gcov has it.
    image.each_line([&](ImageAddress start, std::string_view file, int line) {
      if (line <= 0) return;
      SourceCounts* const source = find(std::string(file));
      if (source == nullptr) return;
      std::uint64_t& times = source->lines[line];
      times = std::max(times, times_at(value(start)));
    });
    for (const Symbol& symbol : image.symbols().symbols()) {
      if (!symbol.code || symbol.size() == 0 || symbol.is_split_off()) continue;
      const std::optional<SourceLine> at = image.line_of(symbol.start);
      SourceCounts* const source = at ? find(at->file) : nullptr;
      if (source == nullptr) continue;
      auto& function = source->functions[symbol.name()];
      function = {at->line, function.second + times_at(value(symbol.start))};
      add_branches(image, symbol, counts);
    }
  }

  std::string text() const {
    std::string text;
    for (const auto& [path, source] : files_) {
      if (!source || source->lines.empty()) continue;
      text += "TN:\nSF:" + path + "\n";
      for (const auto& [name, at] : source->functions) text += fmt::format("FN:{},{}\n", at.first, name);
      for (const auto& [name, at] : source->functions) text += fmt::format("FNDA:{},{}\n", at.second, name);
      const auto entered = std::ranges::count_if(source->functions, [](const auto& f) { return f.second.second != 0; });
      text += fmt::format("FNF:{}\nFNH:{}\n", source->functions.size(), entered);
      std::size_t sides = 0, sides_taken = 0;
      for (const auto& [number_of_line, branches] : source->branches) {
        const int line = number_of_line;
        for (std::size_t i = 0; i < branches.size(); ++i) {
          const auto& [taken, not_taken] = branches[i];
          const bool ran = taken + not_taken != 0;
          const auto side = [&](std::size_t number, std::uint64_t times) {
            text += fmt::format("BRDA:{},0,{},{}\n", line, number, ran ? std::to_string(times) : "-");
            ++sides;
            sides_taken += times != 0 ? 1 : 0;
          };
          side(2 * i, taken);
          side(2 * i + 1, not_taken);
        }
      }
      text += fmt::format("BRF:{}\nBRH:{}\n", sides, sides_taken);
      for (const auto& [line, times] : source->lines) text += fmt::format("DA:{},{}\n", line, times);
      const auto ran = std::ranges::count_if(source->lines, [](const auto& line) { return line.second != 0; });
      text += fmt::format("LF:{}\nLH:{}\nend_of_record\n", source->lines.size(), ran);
    }
    return text;
  }

 private:
  /// Null where there is no such file: nobody could look at its lines.
  SourceCounts* find(const std::string& path) {
    const auto [at, fresh] = files_.try_emplace(path);
    if (fresh && access(path.c_str(), R_OK) == 0) at->second.emplace();
    return at->second ? &*at->second : nullptr;
  }

  void add_branches(profile::ElfImage& image, const Symbol& symbol, const FileCounts& counts) {
    const Bytes code = image.code(symbol.start, symbol.size());
    const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(code.data()), code.size());
    for (std::size_t at = 0; at < bytes.size();) {
      const std::uint64_t address = value(symbol.start) + at;
      const auto insn = isa::decode(address, bytes.subspan(at), false);
      if (!insn) return;
      at += insn->length;
      if (insn->flow != isa::Flow::ConditionalJump && insn->flow != isa::Flow::CounterJump) continue;
      const std::optional<SourceLine> line = image.line_of(ImageAddress{address});
      SourceCounts* const source = line && line->line > 0 ? find(line->file) : nullptr;
      if (source == nullptr) continue;
      const auto ran = counts.times.find(address);
      const auto taken = counts.taken.find({address, insn->target});
      const std::uint64_t times = ran != counts.times.end() ? ran->second : 0;
      const std::uint64_t gone = taken != counts.taken.end() ? taken->second : 0;
      source->branches[line->line].push_back({.taken = gone, .not_taken = times - std::min(times, gone)});
    }
  }

  std::map<std::string, std::optional<SourceCounts>> files_;
};

}  // namespace

std::string lcov_text(const ExactCounts& counts) {
  Sources sources;
  for (const auto& [dso, of_file] : counts.files()) {
    if (dso->image != nullptr) sources.add(*dso, of_file);
  }
  return sources.text();
}

}  // namespace zs::report
