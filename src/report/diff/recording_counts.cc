#include "report/diff/recording_counts.h"

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "profile/perf_data/address_space.h"
#include "profile/perf_data/recording.h"
#include "profile/symbols/function_code.h"

namespace zs::report {
namespace {

using profile::ImageAddress;
using profile::Location;

/// Of one event in one function, by instruction.
struct CodeSum {
  Location somewhere;
  std::map<ImageAddress, Sum> instructions;
};
using CodeSums = std::map<std::pair<const profile::Dso*, const profile::Symbol*>, CodeSum>;

/// FNV-1a.
struct Hash {
  void add(std::uint32_t part) { value = (value ^ part) * 0x01000193; }
  std::uint32_t value = 0x811c9dc5;
};

constexpr unsigned kAddressSize = 4;

/// Whether the last four bytes of an instruction are an address of something in its file: of one that is not loaded
/// anywhere else.
bool ends_in_address(const profile::ElfImage& image, const isa::Insn& insn) {
  constexpr std::uint32_t kLeast = 0x400000;
  std::uint32_t last = 0;
  if (insn.length <= insn.opcode_at + kAddressSize) return false;
  std::memcpy(&last, &insn.bytes[insn.length - kAddressSize], kAddressSize);
  return last >= kLeast && image.file_offset_of(ImageAddress{last}).has_value();
}

CodeHash code_hash(const profile::ElfImage& image, const profile::Symbol& function) {
  constexpr std::uint8_t kEscape = 0x0F, kNop = 0x90, kFirstHint = 0x18, kLastHint = 0x1F;
  Hash opcodes, all;
  profile::for_each_insn(image, function, [&](const isa::Insn& insn) {
    const std::uint8_t opcode = insn.bytes[insn.opcode_at];
    const bool escaped = insn.opcode_at != 0 && insn.bytes[insn.opcode_at - 1U] == kEscape;
    if (escaped ? opcode >= kFirstHint && opcode <= kLastHint : opcode == kNop) return;
    const bool jumps = insn.flow == isa::Flow::Jump || insn.flow == isa::Flow::ConditionalJump;  // short or long
    const unsigned what = jumps ? insn.condition : opcode | (escaped ? 0x100U : 0U);
    for (Hash* const hash : {&opcodes, &all}) hash->add(static_cast<unsigned>(insn.flow)), hash->add(what);
    if (insn.target != 0) return;
    const unsigned left_out = insn.rip_relative              ? insn.disp_at
                              : ends_in_address(image, insn) ? insn.length - kAddressSize
                                                             : insn.length;
    for (unsigned i = 0; i < insn.length; ++i) {
      if (i < left_out || i >= left_out + kAddressSize) all.add(insn.bytes[i]);
    }
  });
  return {.opcodes = opcodes.value, .all = all.value};
}

class CountsOfEvent {
 public:
  CountsOfEvent(profile::Symbolizer& symbolizer, bool lines) : symbolizer_(symbolizer), lines_(lines) {}

  void add(const CodeSum& heat) {
    const profile::Symbol* const symbol = heat.somewhere.symbol;
    const profile::Dso* const dso = heat.somewhere.dso;
    const std::string file = dso != nullptr ? dso->short_name : "[unknown]";
    const std::string name =
        symbol != nullptr ? std::string(without_suffixes(symbol->name())) : "[unknown in " + file + "]";
    Function& function = functions_[{file, name}];
    if (symbol != nullptr && (function.begins.second == 0 || symbol->name() == name)) {
      Location first = heat.somewhere;
      first.image_address = symbol->start;
      if (const auto place = line_of(first)) function.begins = *place;
      if (dso->image != nullptr) function.code = code_hash(*dso->image, *symbol);
    }
    for (const auto& [address, sum] : heat.instructions) {
      Location at = heat.somewhere;
      at.image_address = address;
      std::vector<std::string> inlined;
      for (const profile::InlineFrame& frame : symbolizer_.inlines_of(at)) inlined.push_back(frame.function);
      if (!inlined.empty()) inlined.pop_back();  // the last is the function itself
      FunctionCounts& part = function.parts[std::move(inlined)];
      part.sum.add(sum);
      if (!lines_) continue;
      if (const auto place = line_of(at)) part.lines[*place].add(sum);
    }
  }

  std::vector<FunctionCounts> finish() {
    std::vector<FunctionCounts> all;
    for (auto& [key, function] : functions_) {
      for (auto& [inlined, counts] : function.parts) {
        FunctionCounts& part = all.emplace_back(std::move(counts));
        std::tie(part.dso, part.name) = key;
        part.begins = function.begins;
        part.code = function.code;
        part.inlined = inlined;
      }
    }
    return all;
  }

 private:
  struct Function {
    SourcePlace begins;
    CodeHash code;
    std::map<std::vector<std::string>, FunctionCounts> parts;  // by what is inlined there
  };

  std::optional<SourcePlace> line_of(const Location& location) {
    if (location.dso == nullptr) return std::nullopt;
    const auto& line = symbolizer_.line_of(location);
    if (!line) return std::nullopt;
    return SourcePlace(profile::base_name(line->file), line->line);
  }

  profile::Symbolizer& symbolizer_;
  bool lines_;
  std::map<std::pair<std::string, std::string>, Function> functions_;
};

}  // namespace

std::vector<EventCounts> recording_counts(const profile::PerfDataReader& reader, profile::Symbolizer& symbolizer,
                                          bool lines) {
  const bool exact = is_exact_profile(reader.description());
  symbolizer.expect(reader);
  profile::AddressSpaces spaces;
  std::vector<CodeSums> heats(reader.events().size());
  for_each_sample(reader, spaces, [&](const profile::SampleRecord& taken) {
    const session::Sample& sample = taken.sample;
    if (exact && sample.event == session::kRanInContexts) return;  // the same once more
    const Location at = symbolizer.locate(spaces, sample.pid, sample.ip, taken.cpumode);
    CodeSum& heat = heats[sample.event][{at.dso, at.symbol}];
    heat.somewhere = at;
    const auto period = static_cast<double>(sample.period);
    heat.instructions[at.image_address].add({.value = period, .squared_error = exact ? 0 : 4 * period * period});
  });
  std::vector<EventCounts> events;
  for (std::size_t i = 0; i < heats.size(); ++i) {
    if (heats[i].empty()) continue;
    CountsOfEvent counts(symbolizer, lines);
    for (const auto& [key, heat] : heats[i]) counts.add(heat);
    EventCounts& event = events.emplace_back();
    event.event = reader.events()[i].name;
    event.value_class = exact ? "exact" : "sampled";
    event.functions = counts.finish();
    for (const FunctionCounts& function : event.functions) event.whole.add(function.sum);
  }
  return events;
}

}  // namespace zs::report
