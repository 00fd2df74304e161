#include "report/text/annotate_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "report/text/fit.h"
#include "report/text/percent.h"
#include "report/text/source_bar.h"

namespace zs::report {
namespace {

using profile::FunctionHeat;
using profile::Heat;
using profile::ImageAddress;
using profile::Location;
using profile::SourceLine;

constexpr int kShareWidth = 8;

double weight_percent(const Heat& part, const Heat& whole) { return report::percent_of(part.weight, whole.weight); }

/// Source files, read once.
class Sources {
 public:
  /// nullptr: the file or the line is not there
  const std::string* line(const SourceLine& at) {
    const auto [found, added] = files_.try_emplace(at.file);
    if (added) {
      std::ifstream in(at.file);
      for (std::string text; std::getline(in, text);) found->second.push_back(std::move(text));
    }
    const auto number = static_cast<std::size_t>(at.line);
    return number >= 1 && number <= found->second.size() ? &found->second[number - 1] : nullptr;
  }

 private:
  std::unordered_map<std::string, std::vector<std::string>> files_;
};

class Annotation {
 public:
  Annotation(const FunctionHeat& heat, profile::Symbolizer& symbolizer, const AnnotateStyle& style)
      : heat_(heat), symbolizer_(symbolizer), style_(style) {}

  std::string text(const std::vector<Instruction>& instructions) {
    place_heat(instructions);
    if (style_.lines) line_summary(instructions);
    head();
    const std::vector<bool> wanted = wanted_instructions(instructions);
    std::size_t left_out = 0;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      if (!wanted[i]) {
        ++left_out;
        continue;
      }
      gap(left_out);
      left_out = 0;
      instruction(instructions[i]);
    }
    gap(left_out);
    return std::move(out_);
  }

 private:
  Location location_of(ImageAddress address) const {
    Location location;
    location.dso = heat_.dso;
    location.symbol = heat_.symbol;
    location.image_address = address;
    return location;
  }

  /// A sample whose address begins no instruction belongs to the one it lies in.
  void place_heat(const std::vector<Instruction>& instructions) {
    for (const auto& [address, heat] : heat_.instructions) {
      auto at = std::upper_bound(instructions.begin(), instructions.end(), address,
                                 [](ImageAddress wanted, const Instruction& one) { return wanted < one.address; });
      if (at == instructions.begin()) continue;
      heat_of_[std::prev(at)->address].add(heat);
      if (const auto& line = symbolizer_.line_of(location_of(std::prev(at)->address))) {
        heat_of_line_[{line->file, line->line}].add(heat);
      }
    }
  }

  /// Those with samples and so many around each of them; all of them without such a limit.
  std::vector<bool> wanted_instructions(const std::vector<Instruction>& instructions) const {
    std::vector<bool> wanted(instructions.size(), !style_.context);
    for (std::size_t i = 0; i < instructions.size() && style_.context; ++i) {
      if (!heat_of_.contains(instructions[i].address)) continue;
      const std::size_t last = std::min(instructions.size(), i + *style_.context + 1);
      for (std::size_t near = i - std::min(i, *style_.context); near < last; ++near) wanted[near] = true;
    }
    return wanted;
  }

  /// Says how many instructions without samples are not shown here.
  void gap(std::size_t left_out) {
    if (left_out == 0) return;
    row(fmt::format("... {} instruction{} {}", left_out, left_out == 1 ? "" : "s",
                    style_.times ? "that never ran" : "without samples"));
    line_.reset();  // what follows shows its source again
  }

  std::size_t times_width() const { return style_.times ? 16 : 0; }

  /// Of a branch that was not always taken: how often.
  std::string taken_at(ImageAddress address, std::uint64_t times) const {
    const auto at = heat_.taken.find(address);
    if (!style_.times || at == heat_.taken.end() || at->second >= times) return "";
    return fmt::format("  # taken {} of {}", at->second, times);
  }

  Heat heat_at(ImageAddress address) const {
    const auto found = heat_of_.find(address);
    return found != heat_of_.end() ? found->second : Heat{};
  }

  std::string short_line(const SourceLine& line) const {
    return fmt::format("{}:{}", profile::base_name(line.file), line.line);
  }

  void line_summary(const std::vector<Instruction>& instructions) {
    std::map<std::string, Heat> lines;
    for (const Instruction& one : instructions) {
      const auto& line = symbolizer_.line_of(location_of(one.address));
      if (!line) continue;
      lines[short_line(*line)].add(heat_at(one.address));
    }
    std::vector<std::pair<std::string, Heat>> sorted(lines.begin(), lines.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second.weight > b.second.weight; });
    out_ += fmt::format("\nSorted summary for file {}\n----------------------------------------------\n\n",
                        heat_.dso->path);
    for (const auto& [line, heat] : sorted) {
      const double percent = weight_percent(heat, heat_.whole);
      if (percent < 0.5) break;
      out_ += fmt::format("{} {}\n", percent_colored(fmt::format("{:>8.2f}", percent), percent, style_.color), line);
    }
  }

  void head() {
    const std::string title =
        style_.times
            ? fmt::format(" Percent           Times |\tSource code & Disassembly of {} ({} {}, exact)",
                          heat_.dso->short_name, heat_.whole.weight, heat_.event->name)
            : fmt::format(" Percent |\tSource code & Disassembly of {} for {} ({} samples, percent: local period)",
                          heat_.dso->short_name, heat_.event->name, heat_.whole.samples);
    constexpr std::size_t kTab = 7;  // what a tab in the title takes
    const std::string fitting = style_.width != 0 ? cut_off(title, style_.width - kTab) : title;
    out_ += fitting + "\n" + std::string(fitting.size() + kTab, '-') + "\n";
    const std::string section = heat_.dso->image->section_of(heat_.symbol->start);
    if (!section.empty()) row(fmt::format("Disassembly of section {}:", section));
    row("");
    row(fmt::format("{:016x} <{}>:", value(heat_.symbol->start), heat_.symbol->name()));
  }

  void row(std::string_view text) {
    out_ += std::string(kShareWidth + times_width() + 1, ' ') + ":";
    const std::size_t before = kShareWidth + times_width() + 6;
    if (!text.empty())
      out_.append("    ").append(style_.width != 0 ? cut_off(without_tabs(text), style_.width - before) : text);
    out_ += '\n';
  }

  /// The source line of an instruction, if it is another than that of the one before.
  void source(ImageAddress address) {
    const Location location = location_of(address);
    const auto& line = symbolizer_.line_of(location);
    if (!line || (line_ && *line == *line_)) return;
    const auto& inlines = symbolizer_.inlines_of(location);
    const std::string function = inlines.empty() ? heat_.symbol->name() : inlines.front().function;
    if (!line_ || line->file != line_->file || function != function_) {
      row(fmt::format("{}():  {}", function, profile::base_name(line->file)));
      function_ = function;
    }
    line_ = line;
    if (const std::string* text = sources_.line(*line)) {
      row(fmt::format("{:<6} {}", line->line, *text));
    } else {
      row(fmt::format("{:<6} (the source is not here: {})", line->line, line->file));
    }
    if (const auto heat = heat_of_line_.find({line->file, line->line}); heat != heat_of_line_.end()) {
      const std::string bar = source_bar(heat->second);
      if (!bar.empty()) row(fmt::format("{:<6} {}", "", bar));
    }
  }

  void instruction(const Instruction& one) {
    if (style_.source) source(one.address);
    const Heat heat = heat_at(one.address);
    const double percent = weight_percent(heat, heat_.whole);
    out_ += percent_colored(fmt::format("{:>{}.2f}", percent, kShareWidth), percent, style_.color);
    if (style_.times) out_ += fmt::format("{:>{}}", heat.weight, times_width());
    const std::string address = fmt::format(" :    {:>6x}:   ", value(one.address));
    const std::size_t before = kShareWidth + times_width() + address.size();
    const std::string text = one.text + taken_at(one.address, heat.weight);
    out_ += address + (style_.width != 0 ? shortened(text, style_.width - before) : text);
    if (style_.lines) {
      const auto& line = symbolizer_.line_of(location_of(one.address));
      if (line && (!marked_ || *line != *marked_)) {
        out_ += fmt::format(" // {}", short_line(*line));
        marked_ = line;
      }
    }
    out_ += '\n';
  }

  const FunctionHeat& heat_;
  profile::Symbolizer& symbolizer_;
  const AnnotateStyle& style_;
  Sources sources_;
  std::map<ImageAddress, Heat> heat_of_;
  std::map<std::pair<std::string, int>, Heat> heat_of_line_;  // by file and line
  std::optional<SourceLine> line_, marked_;                   // last shown
  std::string function_;
  std::string out_;
};

}  // namespace

Result<std::string> annotate_text(const FunctionHeat& heat, profile::Symbolizer& symbolizer,
                                  const AnnotateStyle& style) {
  if (heat.dso->image == nullptr) {
    return Error{fmt::format("{}: {}: its code was in memory only, and memory is not part of a recording",
                             heat.dso->path, heat.symbol->name()),
                 ""};
  }
  profile::ElfImage& image = *heat.dso->image;
  const Bytes code = image.code(heat.symbol->start, heat.symbol->size());
  if (code.empty()) {
    return Error{fmt::format("{}: {}: its code is not in the file", heat.dso->path, heat.symbol->name()), ""};
  }
  const auto name_of = [&image](ImageAddress address) -> std::string {
    const profile::Symbol* symbol = image.symbols().find(address);
    if (symbol == nullptr) return "";
    const std::uint64_t offset = address - symbol->start;
    return offset == 0 ? symbol->name() : fmt::format("{}+{:#x}", symbol->name(), offset);
  };
  const auto instructions = disassemble(code, heat.symbol->start, style.syntax, name_of);
  return Annotation(heat, symbolizer, style).text(instructions);
}

}  // namespace zs::report
