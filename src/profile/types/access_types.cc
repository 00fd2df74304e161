#include "profile/types/access_types.h"

#include <algorithm>

#include "arch/dwarf_registers.h"
#include "isa/registers.h"
#include "profile/perf_data/data_source_text.h"
#include "profile/perf_data/perf_data_reader.h"

namespace zs::profile {
namespace {

using In = VariablePlace::In;
using Kind = AccessType::Kind;
using Flow = isa::RegisterFlow::Kind;

/// chosen: of the accesses to blocks of one site so many must say the same for the rest to be taken for it.
constexpr double kAgreed = 0.95;

/// What a register held before the instruction; nothing where that is not known any more.
std::optional<std::uint64_t> value_of(std::int8_t number, const isa::FlowInsn& code, const session::Sample& sample) {
  if (!sample.has_registers || number < 0 || (code.flow.written >> number & 1u) != 0) return std::nullopt;
  return arch::dwarf_registers(sample.registers)[arch::kDwarfByEncoding[static_cast<std::uint8_t>(number)]];
}

bool is_stack_operation(const isa::FlowInsn& code, const isa::MemoryOperand& operand) {
  if (operand.base != isa::kRsp || operand.index >= 0) return false;
  switch (code.insn.flow) {
    case isa::Flow::Call:
    case isa::Flow::IndirectCall: return operand.write;
    case isa::Flow::Return: return true;
    default: break;
  }
  return (code.flow.kind == Flow::Push && operand.write) || (code.flow.kind == Flow::Pop && operand.read);
}

/// Of two operands the one that does what was sampled.
std::size_t sampled_operand(const isa::Insn& insn, std::uint64_t data_source) {
  if (insn.memory_count < 2) return 0;
  return (is_store(data_source) ? insn.memory[0].write : insn.memory[0].read) ? 0 : 1;
}

AccessType known_type(DataTypes& types, DataTypes::Type type, std::int64_t offset, const std::string* variable) {
  const DataTypes::Spot spot = types.spot_at(type, offset);
  if (spot.type == 0) return {};
  return {.kind = Kind::Known, .types = &types, .type = spot.type, .offset = spot.offset, .variable = variable};
}

void add(std::vector<AccessTypes::Vote>& votes, const AccessTypes::Vote& one) {
  const auto same = std::ranges::find_if(votes, [&](const AccessTypes::Vote& other) {
    return other.types == one.types && other.type == one.type && other.start == one.start;
  });
  if (same == votes.end()) {
    votes.push_back(one);
  } else {
    same->count += one.count;
  }
}

/// Whether a vote is for a part of what the other is for.
bool is_within(const AccessTypes::Vote& part, const AccessTypes::Vote& whole) {
  if (part.types != whole.types) return false;
  const std::uint64_t size = whole.types->size_of(whole.type);
  const std::uint64_t at = (part.start % size + size - whole.start % size) % size;
  return part.type == whole.type ? at == 0 : whole.types->has_at(whole.type, at, part.type);
}

}  // namespace

std::string AccessType::type_text() const {
  switch (kind) {
    case Kind::StackOperation: return "(stack operation)";
    case Kind::Known: return types->name_of(type);
    case Kind::Unknown: break;
  }
  return "(unknown)";
}

std::string AccessType::member_text() const {
  return kind == Kind::Known ? types->member_at(type, offset).path : std::string();
}

AccessTypes::Image& AccessTypes::image_of(Dso& dso) {
  auto& image = images_[&dso];
  if (image == nullptr) image = std::make_unique<Image>(*dso.image);
  return *image;
}

/// Null: its code is not known.
const AccessTypes::Instruction* AccessTypes::instruction_at(const AddressSpaces& spaces, std::int32_t pid,
                                                            std::uint64_t ip) {
  const Location at = symbolizer_.locate(spaces, pid, ip);
  if (at.dso == nullptr || at.dso->image == nullptr) return nullptr;
  auto [found, fresh] = instructions_.try_emplace({at.dso, value(at.image_address)});
  if (!fresh) return found->second.get();
  constexpr std::size_t kLongest = 15;
  const Bytes code = at.dso->image->code(at.image_address, kLongest);
  const auto decoded =
      isa::decode_flow(value(at.image_address), {reinterpret_cast<const std::uint8_t*>(code.data()), code.size()});
  if (!decoded) return nullptr;
  Image& image = image_of(*at.dso);
  auto one = std::make_unique<Instruction>(Instruction{.code = *decoded, .image = &image});
  for (std::size_t i = 0; i < decoded->insn.memory_count; ++i)
    one->parts[i] = image.flow.part_of(at.image_address, decoded->insn.memory[i], decoded->insn.next());
  one->frame = image.functions.frame_at(at.image_address);
  if (const FunctionVariables* const variables = image.functions.at(at.image_address)) {
    for (const VariablePlace& place : variables->places) {
      if (place.in == In::Memory && place.stride == 0 && place.covers(at.image_address))
        one->in_memory.push_back(&place);
    }
  }
  found->second = std::move(one);
  return found->second.get();
}

/// A variable of the function that lies in memory there.
std::optional<AccessType> AccessTypes::in_frame(const Instruction& at, const session::Sample& sample) {
  for (const VariablePlace* const place : at.in_memory) {
    const bool by_frame = place->base == kFrameAddress;
    if (by_frame && at.frame.base == kFrameAddress) continue;
    const auto base = value_of(static_cast<std::int8_t>(by_frame ? at.frame.base : place->base), at.code, sample);
    if (!base) continue;
    const auto offset = static_cast<std::uint64_t>(place->offset);
    const auto frame = static_cast<std::uint64_t>(by_frame ? at.frame.offset : 0);
    const std::uint64_t into = sample.address - (*base + offset + frame);
    if (into >= place->size) continue;
    return known_type(at.image->types, place->type, static_cast<std::int64_t>(place->piece + into), place->name);
  }
  return std::nullopt;
}

/// The registers of the sample say how far from where the pointer points.
AccessType AccessTypes::through_pointer(const Instruction& at, std::size_t number, const session::Sample& sample) {
  const isa::MemoryOperand& operand = at.code.insn.memory[number];
  const OperandPart& part = *at.parts[number];
  auto further = std::int64_t{0};  // than the operand's displacement
  if (operand.index >= 0) {
    if (const auto pointer = value_of(part.pointer, at.code, sample)) {
      further = static_cast<std::int64_t>(sample.address - *pointer) - operand.displacement;
    } else if (const auto index = value_of(operand.index, at.code, sample); index && part.pointer == operand.base) {
      further = static_cast<std::int64_t>(*index * operand.scale);
    } else {
      return {};
    }
  }
  return known_type(at.image->types, part.type, static_cast<std::int64_t>(part.offset) + further, nullptr);
}

/// How far from the thread pointer an operand lies that goes through FS; nothing where it goes elsewhere, or is made of
/// registers that are not known any more.
std::optional<std::int64_t> AccessTypes::from_thread_pointer(const Instruction& at, std::size_t number,
                                                             const session::Sample& sample) {
  const isa::MemoryOperand& operand = at.code.insn.memory[number];
  if (!operand.fs || operand.vector_index || operand.address32) return std::nullopt;
  auto offset = static_cast<std::uint64_t>(operand.displacement);
  for (const auto& [reg, times] : {std::pair(operand.base, std::uint8_t{1}), std::pair(operand.index, operand.scale)}) {
    if (reg < 0) continue;
    const auto held = value_of(reg, at.code, sample);
    if (!held) return std::nullopt;
    offset += *held * times;
  }
  return static_cast<std::int64_t>(offset);
}

void AccessTypes::learn_thread_pointer(const AddressSpaces& spaces, const session::Sample& sample) {
  if (sample.address == 0) return;
  const Instruction* const at = instruction_at(spaces, sample.pid, sample.ip);
  if (at == nullptr || at->code.insn.memory_count == 0) return;
  const auto offset = from_thread_pointer(*at, sampled_operand(at->code.insn, sample.data_source), sample);
  if (offset) thread_pointers_.emplace(sample.pid, sample.address - static_cast<std::uint64_t>(*offset));
}

std::optional<AccessType> AccessTypes::in_thread_block(DataObjects& objects, const session::Sample& sample) {
  const auto pointer = thread_pointers_.upper_bound({sample.pid, sample.address});
  if (pointer == thread_pointers_.end() || pointer->first != sample.pid) return std::nullopt;
  Dso* const program = objects.program_of(sample.pid);
  if (program == nullptr) return std::nullopt;
  const auto offset = program->image->thread_offset(static_cast<std::int64_t>(sample.address - pointer->second));
  DataTypes& types = types_of(*program);
  const auto* const variable = offset ? types.thread_variable_at(*offset) : nullptr;
  if (variable == nullptr) return std::nullopt;
  return known_type(types, variable->type, static_cast<std::int64_t>(*offset - variable->start), &variable->name);
}

AccessType AccessTypes::infer(const AddressSpaces& spaces, DataObjects& objects, const session::Sample& sample) {
  if (const auto place = objects.image_place(sample.pid, sample.address)) {
    DataTypes& types = types_of(*place->dso);
    if (const auto* variable = types.variable_at(place->address)) {
      return known_type(types, variable->type, static_cast<std::int64_t>(value(place->address) - variable->start),
                        &variable->name);
    }
  }
  if (const auto variable = in_thread_block(objects, sample)) return *variable;
  const Instruction* const at = instruction_at(spaces, sample.pid, sample.ip);
  if (at == nullptr || at->code.insn.memory_count == 0) return {};
  const std::size_t operand = sampled_operand(at->code.insn, sample.data_source);
  if (is_stack_operation(at->code, at->code.insn.memory[operand])) return {.kind = Kind::StackOperation};
  if (const auto variable = in_frame(*at, sample)) return *variable;
  const std::optional<OperandPart>& part = at->parts[operand];
  if (!part) return {};
  if (part->variable == nullptr) return through_pointer(*at, operand, sample);
  if (at->code.insn.memory[operand].index >= 0) return {};
  return known_type(at->image->types, part->type, static_cast<std::int64_t>(part->offset), part->variable);
}

AccessType AccessTypes::told_by(const AddressSpaces& spaces, std::int32_t pid, std::uint64_t instruction,
                                std::uint64_t address) {
  const Instruction* const at = instruction_at(spaces, pid, instruction);
  if (at == nullptr) return {};
  session::Sample sample;
  sample.pid = pid;
  sample.ip = instruction;
  sample.address = address;
  for (std::size_t i = 0; i < at->code.insn.memory_count; ++i) {
    if (at->parts[i] && at->parts[i]->variable == nullptr) return through_pointer(*at, i, sample);
  }
  return {};
}

void AccessTypes::vote(const session::Sample& sample, const AccessType& access) {
  if (sample.heap_block == nullptr || access.kind != Kind::Known) return;
  const session::HeapBlock& block = *sample.heap_block;
  const std::uint64_t size = access.types->size_of(access.type);
  if (size <= 1 || size > block.size) return;  // bytes are what everything is made of
  // chosen: where a value begins says of which part of a struct it is; no struct that is larger is asked that of.
  constexpr std::uint64_t kNear = 256;
  const std::uint64_t into = sample.address - block.start;
  const bool is_near = into >= access.offset && into - access.offset < kNear;
  const std::uint64_t start = is_near ? into - access.offset : (into % size + size - access.offset) % size;
  const Vote one{.types = access.types, .type = access.type, .start = start, .count = 1};
  add(by_block_[{sample.pid, block.number}].all, one);
  add(by_site_[{sample.pid, block.site}].all, one);
}

/// The largest struct that the most agree with.
const AccessTypes::Vote& AccessTypes::winner(Votes& votes) {
  if (votes.winner) return *votes.winner;
  for (const Vote& one : votes.all) {
    std::uint64_t count = 0;
    for (const Vote& other : votes.all) count += is_within(other, one) ? other.count : 0;
    const bool is_struct = one.types->is_struct(one.type);
    const bool best_is = votes.winner && votes.winner->types->is_struct(votes.winner->type);
    if (votes.winner && std::pair(is_struct, count) <= std::pair(best_is, votes.agreed)) continue;
    votes.winner = one;
    votes.agreed = count;
  }
  return *votes.winner;
}

void AccessTypes::learn(const PerfDataReader& reader) {
  DataObjects objects(learning_, symbolizer_);
  for_each_sample(reader, learning_, [&](const SampleRecord& taken) {
    learn_thread_pointer(learning_, taken.sample);
    if (taken.sample.heap_block == nullptr) return;
    vote(taken.sample, infer(learning_, objects, taken.sample));
  });
}

const AccessTypes::Vote* AccessTypes::winner_of(const session::Sample& sample) {
  const session::HeapBlock& block = *sample.heap_block;
  const auto votes = by_block_.find({sample.pid, block.number});
  const Vote* const own = votes == by_block_.end() ? nullptr : &winner(votes->second);
  const auto site = by_site_.find({sample.pid, block.site});
  if (site == by_site_.end()) return own;
  const Vote* const best = &winner(site->second);
  std::uint64_t all = 0;
  for (const Vote& one : site->second.all) all += one.count;
  if (static_cast<double>(site->second.agreed) < kAgreed * static_cast<double>(all)) return own;
  // A base class, where the site's other blocks say what stands on it.
  return own == nullptr || is_within(*own, *best) ? best : own;
}

AccessType AccessTypes::of(const AddressSpaces& spaces, DataObjects& objects, const session::Sample& sample) {
  const AccessType own = infer(spaces, objects, sample);
  if (sample.heap_block == nullptr || own.kind == Kind::StackOperation) return own;
  const Vote* const block = winner_of(sample);
  if (block == nullptr) return own;
  const auto into = static_cast<std::int64_t>(sample.address - sample.heap_block->start - block->start);
  const AccessType by_others = known_type(*block->types, block->type, into, nullptr);
  if (own.kind != Kind::Known || own.types->size_of(own.type) <= 1) return by_others;
  const bool around = by_others.types == own.types && by_others.offset >= own.offset &&
                      own.types->has_at(by_others.type, by_others.offset - own.offset, own.type);
  return around ? by_others : own;
}

}  // namespace zs::profile
