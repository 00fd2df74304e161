#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "profile/symbols/function_code.h"
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
  struct Function {
    int line = 0;
    std::uint64_t entered = 0;
  };
  std::map<int, std::uint64_t> lines;
  std::map<int, std::vector<Branch>> branches;  // those of a line, by address
  std::map<std::string, Function> functions;
};

template <typename Key>
std::uint64_t times_of(const std::map<Key, std::uint64_t>& counts, const Key& key) {
  const auto at = counts.find(key);
  return at != counts.end() ? at->second : 0;
}

std::string functions_text(const SourceCounts& source) {
  std::string places, entries;
  std::size_t entered = 0;
  for (const auto& [name, function] : source.functions) {
    places += fmt::format("FN:{},{}\n", function.line, name);
    entries += fmt::format("FNDA:{},{}\n", function.entered, name);
    entered += function.entered != 0 ? 1 : 0;
  }
  return places + entries + fmt::format("FNF:{}\nFNH:{}\n", source.functions.size(), entered);
}

/// Of each branch two sides: taken, and not.
std::string branches_text(const SourceCounts& source) {
  std::string text;
  std::size_t sides = 0, taken = 0;
  for (const auto& [line, branches] : source.branches) {
    std::size_t number = 0;
    for (const SourceCounts::Branch& branch : branches) {
      const bool ran = branch.taken + branch.not_taken != 0;
      for (const std::uint64_t times : {branch.taken, branch.not_taken}) {
        text += fmt::format("BRDA:{},0,{},{}\n", line, number++, ran ? std::to_string(times) : "-");
        taken += times != 0 ? 1 : 0;
      }
    }
    sides += number;
  }
  return text + fmt::format("BRF:{}\nBRH:{}\n", sides, taken);
}

std::string lines_text(const SourceCounts& source) {
  std::string text;
  std::size_t ran = 0;
  for (const auto& [line, times] : source.lines) {
    text += fmt::format("DA:{},{}\n", line, times);
    ran += times != 0 ? 1 : 0;
  }
  return text + fmt::format("LF:{}\nLH:{}\n", source.lines.size(), ran);
}

class Sources {
 public:
  void add(profile::ElfImage& image, const FileCounts& counts) {
    // A line ran as often as that of its pieces that ran most often: of a `for` the condition, as gcov has it.
    image.each_line([&](ImageAddress start, std::string_view file, int line) {
      SourceCounts* const source = find(SourceLine{.file = std::string(file), .line = line});
      if (source == nullptr) return;
      std::uint64_t& times = source->lines[line];
      times = std::max(times, times_of(counts.times, value(start)));
    });
    for (const Symbol& symbol : image.symbols().symbols()) {
      if (!symbol.code || symbol.size() == 0 || symbol.is_split_off()) continue;
      const std::optional<SourceLine> at = image.line_of(symbol.start);
      SourceCounts* const source = find(at);
      if (source == nullptr) continue;
      SourceCounts::Function& function = source->functions[symbol.name()];
      function.line = at->line;
      function.entered += times_of(counts.times, value(symbol.start));
      add_branches(image, symbol, counts);
    }
  }

  std::string text() const {
    std::string text;
    for (const auto& [path, source] : files_) {
      if (!source || source->lines.empty()) continue;
      text += "TN:\nSF:" + path + "\n" + functions_text(*source) + branches_text(*source) + lines_text(*source) +
              "end_of_record\n";
    }
    return text;
  }

 private:
  /// Null where there is no such line or file: nobody could look at it.
  SourceCounts* find(const std::optional<SourceLine>& at) {
    if (!at || at->line <= 0) return nullptr;
    const auto [known, fresh] = files_.try_emplace(at->file);
    if (fresh && access(at->file.c_str(), R_OK) == 0) known->second.emplace();
    return known->second ? &*known->second : nullptr;
  }

  void add_branches(profile::ElfImage& image, const Symbol& symbol, const FileCounts& counts) {
    profile::for_each_insn(image, symbol, [&](const isa::Insn& insn) {
      if (insn.facts.branch != arch::BranchKind::Conditional) return;
      const std::optional<SourceLine> line = image.line_of(ImageAddress{insn.pc});
      SourceCounts* const source = find(line);
      if (source == nullptr) return;
      const std::uint64_t ran = times_of(counts.times, insn.pc), taken = times_of(counts.taken, {insn.pc, insn.target});
      source->branches[line->line].push_back({.taken = taken, .not_taken = ran - std::min(ran, taken)});
    });
  }

  std::map<std::string, std::optional<SourceCounts>> files_;
};

}  // namespace

std::string lcov_text(const ExactCounts& counts) {
  Sources sources;
  for (const auto& [dso, of_file] : counts.files()) {
    if (dso->image != nullptr) sources.add(*dso->image, of_file);
  }
  return sources.text();
}

}  // namespace zs::report
