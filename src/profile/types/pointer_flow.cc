#include "profile/types/pointer_flow.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>

#include "isa/register_flow.h"
#include "isa/registers.h"

namespace zs::profile {
namespace {

using In = VariablePlace::In;
using ValueKind = PointerValue::Kind;
using isa::MemoryOperand;
using Flow = isa::RegisterFlow::Kind;

/// Those that a function may change.
/// source: System V ABI, AMD64 supplement, "Register Usage".
constexpr isa::Gpr kCallerSaved[] = {isa::kRax, isa::kRcx, isa::kRdx, isa::kRsi, isa::kRdi,
                                     isa::kR8,  isa::kR9,  isa::kR10, isa::kR11};

const PointerValue& meet(const PointerValue& a, const PointerValue& b) {
  static constexpr PointerValue kUnknown;
  return a == b ? a : kUnknown;
}

/// returns  whether `into` changed
bool meet_into(PointerState& into, const PointerState& from) {
  PointerState met;
  for (std::size_t i = 0; i < met.registers.size(); ++i) met.registers[i] = meet(into.registers[i], from.registers[i]);
  std::ranges::set_intersection(into.slots, from.slots, std::back_inserter(met.slots), {},
                                &std::pair<std::int64_t, PointerValue>::first,
                                &std::pair<std::int64_t, PointerValue>::first);
  for (auto& [place, value] : met.slots) {
    const auto other = std::ranges::lower_bound(from.slots, place, {}, &std::pair<std::int64_t, PointerValue>::first);
    value = meet(value, other->second);
  }
  std::erase_if(met.slots, [](const auto& slot) { return slot.second.kind == ValueKind::Unknown; });
  if (met == into) return false;
  into = std::move(met);
  return true;
}

/// As registers subtract: damaged information may say any number.
std::int64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

std::int64_t sum(std::int64_t a, std::int64_t b) { return difference(a, difference(0, b)); }

PointerValue slot_at(const PointerState& state, std::int64_t place) {
  const auto slot = std::ranges::lower_bound(state.slots, place, {}, &std::pair<std::int64_t, PointerValue>::first);
  return slot != state.slots.end() && slot->first == place ? slot->second : PointerValue{};
}

void set_slot(PointerState& state, std::int64_t place, const PointerValue& value) {
  auto slot = std::ranges::lower_bound(state.slots, place, {}, &std::pair<std::int64_t, PointerValue>::first);
  const bool known = slot != state.slots.end() && slot->first == place;
  if (value.kind == ValueKind::Unknown) {
    if (known) state.slots.erase(slot);
  } else if (known) {
    slot->second = value;
  } else if (state.slots.size() < PointerFlow::kMostSlots) {
    state.slots.emplace(slot, place, value);
  }
}

}  // namespace

/// One function: its code, and the values at the beginning of each of its blocks.
class PointerFlow::Function {
 public:
  Function(DataTypes& types, FunctionTable& functions, ImageAddress start, std::uint64_t size)
      : types_(types), functions_(functions), variables_(functions.at(start)) {
    decode(start, size);
    find_live();
    if (!insns_.empty()) follow(start);
  }

  std::optional<OperandPart> part_of(ImageAddress pc, const MemoryOperand& operand, std::uint64_t next) {
    PointerState state = before(pc);
    return resolve(state, pc, operand, next);
  }

 private:
  /// chosen: what find_live() keeps in all, 32 MiB; code behind that has no variables.
  static constexpr std::size_t kMostLive = std::size_t{1} << 22;

  struct Block {
    bool reached = false;
    PointerState in;
  };

  void decode(ImageAddress start, std::uint64_t size) {
    const Bytes code = types_.image().code(start, size);
    const std::span<const std::uint8_t> bytes{reinterpret_cast<const std::uint8_t*>(code.data()), code.size()};
    for (std::size_t at = 0; at < bytes.size();) {
      auto insn = isa::decode_flow(value(start) + at, bytes.subspan(at));
      if (!insn) break;
      at += insn->insn.length;
      insns_.push_back(*insn);
      if (insns_.size() > kMostInsns) return insns_.clear();
    }
    leaders_.insert(value(start));
    for (const isa::FlowInsn& one : insns_) {
      const isa::Flow flow = one.insn.flow;
      if (flow == isa::Flow::Plain || flow == isa::Flow::Call || flow == isa::Flow::IndirectCall) continue;
      leaders_.insert(one.insn.next());
      if (one.insn.target != 0) leaders_.insert(one.insn.target);
    }
  }

  using Live = std::vector<const VariablePlace*>;

  /// Which variables are where at each instruction: every one of them would be asked for all of them otherwise.
  void find_live() {
    live_of_.assign(insns_.size(), 0);
    live_.emplace_back();
    if (variables_ == nullptr) return;
    struct Change {
      std::size_t index;
      const VariablePlace* place;
      bool begins;
    };
    std::vector<Change> changes;
    const auto index_from = [&](ImageAddress pc) {
      const auto at = std::ranges::lower_bound(insns_, value(pc), {}, [](const auto& one) { return one.insn.pc; });
      return static_cast<std::size_t>(at - insns_.begin());
    };
    for (const VariablePlace& place : variables_->places) {
      const std::size_t first = index_from(place.start), end = index_from(place.end);
      if (first >= end) continue;
      changes.push_back({.index = first, .place = &place, .begins = true});
      changes.push_back({.index = end, .place = &place, .begins = false});
    }
    std::ranges::stable_sort(changes, {}, &Change::index);
    std::size_t room = kMostLive;
    auto change = changes.begin();
    for (std::size_t i = 0; i < insns_.size(); ++i) {
      if (change != changes.end() && change->index == i) {
        Live now = live_.back();
        for (; change != changes.end() && change->index == i; ++change) {
          const auto at = std::ranges::lower_bound(now, change->place);  // in the order that they were told in
          if (change->begins) now.insert(at, change->place);
          if (!change->begins && at != now.end() && *at == change->place) now.erase(at);
        }
        if (now.size() > room) return;
        room -= now.size();
        live_.push_back(std::move(now));
      }
      live_of_[i] = live_.size() - 1;
    }
  }

  const Live& live_at(ImageAddress pc) {
    if (const std::size_t index = index_of(value(pc)); index != insns_.size()) return live_[live_of_[index]];
    outside_.clear();
    for (std::size_t i = 0; variables_ != nullptr && i < variables_->places.size(); ++i) {
      if (variables_->places[i].covers(pc)) outside_.push_back(&variables_->places[i]);
    }
    return outside_;
  }

  std::size_t index_of(std::uint64_t pc) const {
    const auto at = std::ranges::lower_bound(insns_, pc, {}, [](const isa::FlowInsn& one) { return one.insn.pc; });
    return at != insns_.end() && at->insn.pc == pc ? static_cast<std::size_t>(at - insns_.begin()) : insns_.size();
  }

  // ---- values through the code ----

  void follow(ImageAddress start) {
    PointerState entry;
    entry.registers[isa::kRsp] = {.kind = ValueKind::Frame, .type = 0, .offset = -8};
    reach(value(start), entry);
    drain();
    // What only tables of jumps lead to. Where there are none, what is left is padding and code for exceptions, of
    // which nothing is known that others should have to agree with.
    if (!indirect_) return;
    const PointerState at_jumps = *indirect_;
    for (const std::uint64_t leader : leaders_) {
      if (steps_ > kMostRounds * insns_.size()) return;
      const std::size_t index = index_of(leader);
      if (index == insns_.size() || blocks_[leader].reached || is_padding(insns_[index].insn)) continue;
      reach(leader, at_jumps);
      drain();
    }
  }

  /// NOP of any length.
  static bool is_padding(const isa::Insn& insn) {
    const std::uint8_t at = insn.opcode_at;
    return insn.bytes[at] == 0x90 || (at > 0 && insn.bytes[at - 1] == 0x0F && insn.bytes[at] == 0x1F);
  }

  void reach(std::uint64_t pc, const PointerState& state) {
    if (index_of(pc) == insns_.size()) return;
    Block& block = blocks_[pc];
    if (!block.reached) {
      block = {.reached = true, .in = state};
    } else if (!meet_into(block.in, state)) {
      return;
    }
    waiting_.insert(pc);
  }

  void drain() {
    while (!waiting_.empty()) {
      const std::uint64_t leader = *waiting_.begin();
      waiting_.erase(waiting_.begin());
      run_block(leader);
      if (steps_ <= kMostRounds * insns_.size()) continue;
      blocks_.clear();
      waiting_.clear();
    }
  }

  void run_block(std::uint64_t leader) {
    PointerState state = blocks_[leader].in;
    for (std::size_t i = index_of(leader); i < insns_.size(); ++i) {
      const isa::FlowInsn& one = insns_[i];
      if (one.insn.pc != leader && leaders_.contains(one.insn.pc)) return reach(one.insn.pc, state);
      ++steps_;
      apply(state, one);
      switch (one.insn.flow) {
        case isa::Flow::Plain:
        case isa::Flow::Call:
        case isa::Flow::IndirectCall: continue;
        case isa::Flow::Jump: return reach(one.insn.target, state);
        case isa::Flow::ConditionalJump:
        case isa::Flow::CounterJump: reach(one.insn.target, state); return reach(one.insn.next(), state);
        case isa::Flow::IndirectJump:
          if (indirect_) {
            meet_into(*indirect_, state);
          } else {
            indirect_ = state;
          }
          return;
        case isa::Flow::Return:
        case isa::Flow::Stop:
        case isa::Flow::FarReturn: return;
        default: return reach(one.insn.next(), state);
      }
    }
  }

  PointerState before(ImageAddress pc) {
    PointerState state;
    auto leader = leaders_.upper_bound(value(pc));
    if (index_of(value(pc)) != insns_.size() && leader != leaders_.begin()) {
      state = blocks_[*--leader].in;
      for (std::size_t i = index_of(*leader); i < insns_.size() && insns_[i].insn.pc < value(pc); ++i)
        apply(state, insns_[i]);
    }
    add_known(state, pc);
    return state;
  }

  // ---- what debug information says at an instruction ----

  void add_known(PointerState& state, ImageAddress pc) {
    if (pc < frame_.start || pc >= frame_.end) frame_ = functions_.frame_at(pc);
    if (frame_.base != kFrameAddress)
      state.registers[frame_.base] = {.kind = ValueKind::Frame, .type = 0, .offset = difference(0, frame_.offset)};
    for (const VariablePlace* const one : live_at(pc)) {
      const VariablePlace& place = *one;
      if (place.base >= state.registers.size()) continue;
      PointerValue& value = state.registers[place.base];
      if (place.in == In::Register || place.in == In::Sum) {
        // Compilers that move a pointer on instead of computing it anew leave sums behind that are no longer true: what
        // the code says goes before them.
        if (place.in == In::Sum && value.kind != ValueKind::Unknown) continue;
        const DataTypes::Type pointee = types_.pointee_at(place.type, place.piece);
        if (pointee != 0 && place.stride % std::max<std::uint64_t>(types_.size_of(pointee), 1) == 0)
          learn(value, points(pointee, difference(0, place.offset)));
      } else if (place.in == In::Memory && place.stride == 0 && place.base != isa::kRsp && place.base != isa::kRbp) {
        learn(value, points(place.type, difference(static_cast<std::int64_t>(place.piece), place.offset)));
      }
    }
  }

  /// What the code told may be the more exact: a pointer to the struct around a member.
  void learn(PointerValue& value, const PointerValue& declared) {
    if (value.kind == ValueKind::Frame) return;
    if (value.kind == ValueKind::Points && types_.is_struct(value.type)) {
      if (types_.has_at(value.type, static_cast<std::uint64_t>(value.offset), declared.type)) return;
      if (types_.size_of(declared.type) == 1) return;  // bytes of it
    }
    value = declared;
  }

  /// A pointer that far into a value of the type, which is one of an array of them.
  PointerValue points(DataTypes::Type type, std::int64_t offset) {
    const DataTypes::Spot spot = types_.spot_at(type, offset);
    if (spot.type == 0) return {};
    return {.kind = ValueKind::Points, .type = spot.type, .offset = static_cast<std::int64_t>(spot.offset)};
  }

  // ---- one instruction ----

  void apply(PointerState& state, const isa::FlowInsn& one) {
    const ImageAddress pc{one.insn.pc};
    add_known(state, pc);
    const isa::RegisterFlow& flow = one.flow;
    const PointerValue from = flow.from >= 0 ? state.of(flow.from) : PointerValue{};
    const PointerValue old = flow.to >= 0 ? state.of(flow.to) : PointerValue{};
    PointerValue& sp = state.registers[isa::kRsp];
    PointerValue result;
    PointerValue sp_after = sp;
    switch (flow.kind) {
      case Flow::Copy: result = from; break;
      case Flow::Load: result = loaded(state, pc, flow.memory, one.insn.next()); break;
      case Flow::Address: result = address(state, pc, flow.memory, one.insn.next()); break;
      case Flow::Add: result = moved(old, flow.by); break;
      case Flow::Join: result = joined(old, from); break;
      case Flow::Choose: result = meet(old, from); break;
      case Flow::Store:
        if (const auto place = frame_place(state, flow.memory)) set_slot(state, *place, from);
        break;
      case Flow::Push:
        sp_after = moved(sp, flow.by);
        if (sp_after.kind == ValueKind::Frame) set_slot(state, sp_after.offset, from);
        break;
      case Flow::Pop:
        if (sp.kind == ValueKind::Frame) result = slot_at(state, sp.offset);
        sp_after = moved(sp, flow.by);
        break;
      case Flow::Exchange:
      case Flow::Enter:
      case Flow::Leave:
      case Flow::Other: break;
    }
    for (std::size_t i = 0; i < state.registers.size(); ++i) {
      if ((flow.written >> i & 1u) != 0) state.registers[i] = {};
    }
    if (flow.kind == Flow::Push || flow.kind == Flow::Pop) sp = sp_after;
    if (flow.to >= 0 && flow.kind != Flow::Other && flow.kind != Flow::Store) state.of(flow.to) = result;
    if (one.insn.flow == isa::Flow::Call || one.insn.flow == isa::Flow::IndirectCall) {
      sp = sp_after;
      returned(state, one.insn);
    }
  }

  void returned(PointerState& state, const isa::Insn& call) {
    for (const isa::Gpr saved : kCallerSaved) state.registers[saved] = {};
    if (call.flow != isa::Flow::Call) return;
    const FunctionVariables* const callee = functions_.at(ImageAddress{call.target});
    if (callee != nullptr && callee->returned != 0) state.registers[isa::kRax] = points(callee->returned, 0);
  }

  PointerValue moved(const PointerValue& value, std::int64_t by) {
    switch (value.kind) {
      case ValueKind::Points: return points(value.type, sum(value.offset, by));
      case ValueKind::Frame:
      case ValueKind::Thread: return {.kind = value.kind, .type = 0, .offset = sum(value.offset, by)};
      case ValueKind::Unknown: break;
    }
    return {};
  }

  /// A pointer and a number of bytes: whole values, however many.
  static PointerValue joined(const PointerValue& a, const PointerValue& b) {
    if (a.kind == ValueKind::Points && b.kind == ValueKind::Unknown) return a;
    if (b.kind == ValueKind::Points && a.kind == ValueKind::Unknown) return b;
    return {};
  }

  static std::optional<std::int64_t> frame_place(const PointerState& state, const MemoryOperand& operand) {
    if (operand.base < 0 || operand.index >= 0 || operand.fs || operand.gs) return std::nullopt;
    const PointerValue& base = state.of(operand.base);
    return base.kind == ValueKind::Frame ? std::optional(sum(base.offset, operand.displacement)) : std::nullopt;
  }

  PointerValue loaded(const PointerState& state, ImageAddress pc, const MemoryOperand& operand, std::uint64_t next) {
    // source: System V ABI, AMD64 supplement, "Thread-Local Storage": at %fs:0 lies the thread pointer itself.
    if (operand.fs && operand.base < 0 && operand.index < 0 && operand.displacement == 0)
      return {.kind = ValueKind::Thread, .type = 0, .offset = 0};
    if (const VariablePlace* const place = frame_variable(state, pc, operand);
        place != nullptr && place->in == In::PointedFromThere)
      return points(place->type, 0);
    if (const auto part = resolve(state, pc, operand, next)) {
      const DataTypes::Type pointee = types_.pointee_at(part->type, part->offset);
      if (pointee != 0) return points(pointee, 0);
    }
    const auto place = frame_place(state, operand);
    return place ? slot_at(state, *place) : PointerValue{};
  }

  PointerValue address(const PointerState& state, ImageAddress pc, const MemoryOperand& operand, std::uint64_t next) {
    if (operand.base >= 0 && operand.index < 0) {
      const PointerValue& base = state.of(operand.base);
      if (base.kind == ValueKind::Points) return moved(base, operand.displacement);
    }
    const auto part = resolve(state, pc, operand, next);
    if (part && operand.index >= 0) return indexed(*part, operand);
    if (part) return points(part->type, static_cast<std::int64_t>(part->offset));
    if (operand.base >= 0 && operand.index < 0 && state.of(operand.base).kind == ValueKind::Thread)
      return moved(state.of(operand.base), operand.displacement);
    const auto place = frame_place(state, operand);
    return place ? PointerValue{.kind = ValueKind::Frame, .type = 0, .offset = *place} : PointerValue{};
  }

  /// An element, of the array in the struct where the steps are as wide as its elements, else of an array of structs.
  PointerValue indexed(const OperandPart& part, const MemoryOperand& operand) {
    const DataTypes::Type inner = types_.array_element_at(part.type, part.offset);
    if (inner != 0 && operand.scale > 1 && types_.size_of(inner) == operand.scale) return points(inner, 0);
    return points(part.type, static_cast<std::int64_t>(part.offset));
  }

  // ---- operands ----

  /// The variable in the frame that an operand touches.
  const VariablePlace* frame_variable(const PointerState& state, ImageAddress pc, const MemoryOperand& operand) {
    if (operand.base < 0 || operand.fs || operand.gs) return nullptr;
    const PointerValue& base = state.of(operand.base);
    for (const VariablePlace* const one : live_at(pc)) {
      const VariablePlace& place = *one;
      if (place.stride != 0) continue;
      if (place.in != In::Memory && place.in != In::PointedFromThere) continue;
      auto at = static_cast<std::uint64_t>(operand.displacement);
      if (place.base == kFrameAddress && base.kind == ValueKind::Frame) {
        at += static_cast<std::uint64_t>(base.offset);
      } else if (place.base != static_cast<std::uint8_t>(operand.base)) {
        continue;
      }
      const std::uint64_t size = place.in == In::Memory ? place.size : sizeof(std::uint64_t);
      if (at - static_cast<std::uint64_t>(place.offset) < size) return one;
    }
    return nullptr;
  }

  std::optional<OperandPart> fixed_variable(std::uint64_t address) {
    const auto* variable = types_.variable_at(ImageAddress{address});
    if (variable == nullptr) return std::nullopt;
    return OperandPart{.type = variable->type, .offset = address - variable->start, .variable = &variable->name};
  }

  std::optional<OperandPart> thread_variable(std::int64_t from_thread_pointer) {
    const auto offset = types_.image().thread_offset(from_thread_pointer);
    const auto* variable = offset ? types_.thread_variable_at(*offset) : nullptr;
    if (variable == nullptr) return std::nullopt;
    return OperandPart{.type = variable->type, .offset = *offset - variable->start, .variable = &variable->name};
  }

  std::optional<OperandPart> through(const PointerState& state, std::int8_t pointer, std::int64_t displacement) {
    const PointerValue& base = state.of(pointer);
    if (base.kind != ValueKind::Points) return std::nullopt;
    const PointerValue at = moved(base, displacement);
    return OperandPart{
        .type = at.type, .offset = static_cast<std::uint64_t>(at.offset), .variable = nullptr, .pointer = pointer};
  }

  std::optional<OperandPart> resolve(const PointerState& state, ImageAddress pc, const MemoryOperand& operand,
                                     std::uint64_t next) {
    if (operand.gs || operand.vector_index || operand.address32) return std::nullopt;
    if (operand.fs) return operand.base < 0 ? thread_variable(operand.displacement) : std::nullopt;
    const auto displacement = static_cast<std::uint64_t>(operand.displacement);
    if (operand.rip_relative) return fixed_variable(next + displacement);
    if (operand.base < 0) return fixed_variable(displacement);
    if (const VariablePlace* const place = frame_variable(state, pc, operand);
        place != nullptr && place->in == In::Memory) {
      const PointerValue& base = state.of(operand.base);
      const std::int64_t at = sum(operand.displacement, place->base == kFrameAddress ? base.offset : 0);
      return OperandPart{.type = place->type,
                         .offset = place->piece + static_cast<std::uint64_t>(difference(at, place->offset)),
                         .variable = place->name};
    }
    if (const PointerValue& base = state.of(operand.base); base.kind == ValueKind::Thread)
      return thread_variable(sum(base.offset, operand.displacement));
    if (auto part = through(state, operand.base, operand.displacement)) return part;
    if (operand.index >= 0 && operand.scale == 1) return through(state, operand.index, operand.displacement);
    return std::nullopt;
  }

  DataTypes& types_;
  FunctionTable& functions_;
  const FunctionVariables* variables_;
  std::vector<isa::FlowInsn> insns_;  // by address
  std::vector<Live> live_;            // the first: none
  std::vector<std::size_t> live_of_;  // which of them, by instruction
  Live outside_;                      // of code that is none of them, last asked for
  std::set<std::uint64_t> leaders_;
  std::unordered_map<std::uint64_t, Block> blocks_;  // by leader
  std::set<std::uint64_t> waiting_;
  std::size_t steps_ = 0;                 // instructions gone through
  std::optional<PointerState> indirect_;  // at jumps through tables
  FunctionTable::FrameRule frame_;        // last asked for
};

PointerFlow::PointerFlow(DataTypes& types, FunctionTable& functions) : types_(types), functions_(functions) {}
PointerFlow::~PointerFlow() = default;

PointerFlow::Function& PointerFlow::function_at(ImageAddress pc) {
  const Symbol* const symbol = types_.image().symbols().find(pc);
  // Code without a symbol: what debug information says there is all there is.
  const ImageAddress start = symbol != nullptr ? symbol->start : pc;
  auto& flow = flows_[value(start)];
  if (flow == nullptr)
    flow = std::make_unique<Function>(types_, functions_, start, symbol != nullptr ? symbol->size() : 0);
  return *flow;
}

std::optional<OperandPart> PointerFlow::part_of(ImageAddress pc, const isa::MemoryOperand& operand,
                                                std::uint64_t next) {
  return function_at(pc).part_of(pc, operand, next);
}

}  // namespace zs::profile
