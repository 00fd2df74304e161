#include "cli/c2c/shared_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profile/symbols/symbolizer.h"
#include "profile/types/access_types.h"
#include "profile/types/data_objects.h"
#include "profile/types/data_types.h"
#include "report/c2c/shared_line.h"
#include "report/text/class_text.h"
#include "session/driver/core_choice.h"
#include "session/recording/process_sharing.h"

namespace zs::cli {
namespace {

using profile::DataObject;
using report::SharedField;
using report::SharedLine;

/// Pieces that no debug information knows, and that accesses go across, are one.
void merge_untyped(std::vector<SharedField>& fields) {
  for (std::size_t i = 0; i + 1 < fields.size();) {
    SharedField& one = fields[i];
    const SharedField& next = fields[i + 1];
    if (next.start >= one.start + one.size || one.object != next.object || one.typed || next.typed) {
      ++i;
      continue;
    }
    one.size = std::max(one.start + one.size, next.start + next.size) - one.start;
    fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

/// The newest of those that lay there.
const session::HeapBlock* block_at(const session::ProcessSharing& process, std::uint64_t address) {
  const session::HeapBlock* block = nullptr;
  for (const session::HeapBlock& one : process.blocks) {
    if (address >= one.start && address - one.start < one.size) block = &one;
  }
  return block;
}

/// So that blocks of one site can be told apart.
void number_blocks(std::vector<SharedField>& fields) {
  std::map<std::uint64_t, unsigned> numbers;
  for (const SharedField& field : fields) {
    if (field.block) numbers.try_emplace(field.object_start, static_cast<unsigned>(numbers.size() + 1));
  }
  if (numbers.size() < 2) return;
  for (SharedField& field : fields) {
    if (field.block) field.number = numbers[field.object_start];
  }
}

/// Names what lies in a line that threads fought over: variables and their members by debug information, blocks of the
/// heap by who asked for them; where neither tells, what accesses show to be one piece.
class SharedFields {
 public:
  /// All must outlive this; objects has learnt from the recording's samples, and spaces are those after its last
  /// record.
  SharedFields(const profile::AddressSpaces& spaces, profile::Symbolizer& symbolizer, profile::DataObjects& objects)
      : spaces_(spaces), symbolizer_(symbolizer), objects_(objects), types_(symbolizer) {}

  /// The fields of a line's used bytes and which of them each use is of; what its instructions are called.
  void name(std::int32_t pid, const session::ProcessSharing& process, SharedLine& line) {
    const uarch::LineLog& log = *line.log;
    for (const uarch::LineUse& use : log.uses) {
      const std::uint64_t address = log.linear + use.offset;
      const session::HeapBlock* const block = block_at(process, address);
      if (block != nullptr) learn_block_type(pid, *block, use.instruction, address);
    }
    std::vector<SharedField> fields;
    for (const uarch::LineUse& use : log.uses) {
      fields.push_back(field_at(pid, process, log.linear + use.offset, use.bytes));
      line.instructions.push_back(place_of(pid, use.instruction));
    }
    std::ranges::stable_sort(fields, {}, [](const SharedField& field) { return std::pair(field.start, ~field.size); });
    const auto same = std::unique(fields.begin(), fields.end(), [](const SharedField& a, const SharedField& b) {
      return a.start == b.start && a.object == b.object && (a.typed || a.size == b.size);
    });
    fields.erase(same, fields.end());
    merge_untyped(fields);
    number_blocks(fields);
    for (const uarch::LineUse& use : log.uses) {
      const std::uint64_t at = log.linear + use.offset;
      const auto holds = [&](const SharedField& field) { return at >= field.start && at - field.start < field.size; };
      const auto found = std::ranges::find_if(fields, holds);
      line.field_of_use.push_back(static_cast<std::uint32_t>(found - fields.begin()));
    }
    line.fields = std::move(fields);
  }

 private:
  SharedField field_at(std::int32_t pid, const session::ProcessSharing& process, std::uint64_t address,
                       std::uint64_t bytes) {
    if (const session::HeapBlock* const block = block_at(process, address))
      return field_of_block(pid, *block, address, bytes);
    if (const auto place = objects_.image_place(pid, address)) {
      profile::DataTypes& types = types_.types_of(*place->dso);
      if (const auto* variable = types.variable_at(place->address)) {
        const std::uint64_t start = address - (value(place->address) - variable->start);
        const profile::Member member = types.member_at(variable->type, address - start);
        return {.object = variable->name,
                .member = member.path,
                .object_start = start,
                .object_size = variable->size,
                .start = start + member.offset,
                .size = std::max<std::uint64_t>(member.size, 1),
                .element = member.path.starts_with('['),
                .typed = true};
      }
    }
    session::Sample sample;
    sample.pid = pid;
    sample.address = address;
    const DataObject* const object = objects_.of(sample);
    const auto symbol = objects_.symbol_at(pid, address);
    SharedField field{.object = object->name, .start = address, .size = bytes};
    if (symbol) {
      field.object_start = symbol->start;
      field.object_size = symbol->size;
      field.member = fmt::format("+{}", address - symbol->start);
    } else {
      field.member = fmt::format(" {:#x}", address);
    }
    return field;
  }

  SharedField field_of_block(std::int32_t pid, const session::HeapBlock& block, std::uint64_t address,
                             std::uint64_t bytes) {
    if (const auto known = block_types_.find(&block); known != block_types_.end()) {
      const BlockType& of = known->second;
      const std::uint64_t size = of.types->size_of(of.type);
      // A block of one is a value; a longer one an array, whatever element the pointer was to.
      const std::uint64_t first = (of.start - block.start) % size;
      if (address >= block.start + first) {
        const std::uint64_t number = (address - block.start - first) / size;
        const std::uint64_t start = block.start + first + number * size;
        const profile::Member member = of.types->member_at(of.type, address - start);
        return {.object = objects_.site_of(pid, block),
                .member = (block.size >= 2 * size ? fmt::format("[{}]", number) : "") + member.path,
                .object_start = block.start,
                .object_size = block.size,
                .start = start + member.offset,
                .size = std::max<std::uint64_t>(member.size, 1),
                .block = true,
                .typed = true};
      }
    }
    return {.object = objects_.site_of(pid, block),
            .member = fmt::format("+{}", address - block.start),
            .object_start = block.start,
            .object_size = block.size,
            .start = address,
            .size = bytes,
            .block = true};
  }

  /// What lies in a block from `start` on, by an instruction that has a pointer to it in a register.
  struct BlockType {
    profile::DataTypes* types = nullptr;
    profile::DataTypes::Type type = 0;
    std::uint64_t start = 0;
  };

  void learn_block_type(std::int32_t pid, const session::HeapBlock& block, std::uint64_t instruction,
                        std::uint64_t address) {
    if (block_types_.contains(&block)) return;
    const profile::AccessType access = types_.told_by(spaces_, pid, instruction, address);
    if (access.kind != profile::AccessType::Kind::Known) return;
    const std::uint64_t start = address - access.offset;
    const std::uint64_t size = access.types->size_of(access.type);
    if (start < block.start || start + size > block.start + block.size) return;
    block_types_[&block] = {.types = access.types, .type = access.type, .start = start};
  }

  std::string place_of(std::int32_t pid, std::uint64_t instruction) {
    const profile::Location at = symbolizer_.locate(spaces_, pid, instruction);
    if (at.dso == nullptr) return fmt::format("{:#x}", instruction);
    const std::string place = at.symbol == nullptr
                                  ? fmt::format("{}+{:#x}", at.dso->short_name, value(at.image_address))
                                  : fmt::format("{}+{:#x}", at.symbol->name(), at.offset_in_symbol());
    const auto& line = symbolizer_.line_of(at);
    return line ? fmt::format("{} ({}:{})", place, profile::base_name(line->file), line->line) : place;
  }

  const profile::AddressSpaces& spaces_;
  profile::Symbolizer& symbolizer_;
  profile::DataObjects& objects_;
  profile::AccessTypes types_;
  std::map<const session::HeapBlock*, BlockType> block_types_;
};

const session::ProcessSharing& process_of(const SharedLines& shared, const report::SharedLine& line) {
  return *std::ranges::find_if(shared.processes,
                               [&](const session::ProcessSharing& one) { return &one.threads == line.threads; });
}

}  // namespace

Result<uarch::CoreModel> recorded_core(const profile::PerfDataReader& reader) {
  const std::string* const name = report::find_note(reader, "CPU model");
  const arch::CpuModel* const model = name == nullptr ? nullptr : arch::find_cpu_model(*name);
  if (model == nullptr) {
    return Error{reader.name() + ": the CPU model " + (name == nullptr ? "is not said" : *name + " is not known here"),
                 "record it again with this zeroskid"};
  }
  session::RecordingConfig config;
  config.cpu_model = *name;
  if (const std::string* const core = report::find_note(reader, "modelled core")) {
    // "full, l2.bytes=2M": the depth, then settings
    std::string_view rest = *core;
    for (std::size_t comma = rest.find(", "); comma != std::string_view::npos; comma = rest.find(", ")) {
      rest.remove_prefix(comma + 2);
      config.model_settings.emplace_back(rest.substr(0, rest.find(", ")));
    }
  }
  return session::chosen_core(config, *model);
}

Result<void> read_shared_lines(const profile::PerfDataReader& reader, SharedLines& shared) {
  shared.processes.reserve(reader.notes().sharing().size());
  for (const profile::ProcessBytes& bytes : reader.notes().sharing()) {
    if (!bytes.complete) continue;  // the recording was cut short there
    auto process =
        session::decode_sharing(bytes.bytes, reader.name() + ": lines of process " + std::to_string(bytes.pid));
    if (!process) return process.error();
    shared.left_out += process->hand_overs_left_out;
    shared.processes.push_back(*std::move(process));
    const session::ProcessSharing& kept = shared.processes.back();
    for (const uarch::LineLog& log : kept.lines)
      shared.lines.push_back({.log = &log, .pid = bytes.pid, .threads = &kept.threads});
  }
  std::ranges::stable_sort(shared.lines, [](const report::SharedLine& a, const report::SharedLine& b) {
    return a.log->hand_overs > b.log->hand_overs;
  });
  return {};
}

void name_fields(const profile::PerfDataReader& reader, const profile::AddressSpaces& spaces,
                 profile::Symbolizer& symbolizer, SharedLines& shared, std::size_t wanted) {
  profile::DataObjects objects(spaces, symbolizer);
  reader.for_each(profile::PerfDataReader::Order::File, [&](const profile::Record& record) {
    if (const auto* const sample = std::get_if<profile::SampleRecord>(&record)) objects.learn(sample->sample);
  });
  SharedFields fields(spaces, symbolizer, objects);
  for (std::size_t i = 0; i < std::min(wanted, shared.lines.size()); ++i) {
    report::SharedLine& line = shared.lines[i];
    fields.name(line.pid, process_of(shared, line), line);
  }
}

std::size_t SharedLines::heavy() const {
  const auto light =
      std::ranges::find_if(lines, [](const report::SharedLine& one) { return one.log->hand_overs < kFewestHandOvers; });
  return static_cast<std::size_t>(light - lines.begin());
}

}  // namespace zs::cli
