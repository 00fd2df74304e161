#include "engine/translate/address_slots.h"

#include <bit>

namespace zs::engine {

AddressSlots::Value AddressSlots::value_of(int reg, InsnSlots& out) {
  if (reg < 0) return {.known = true};
  Value& value = values_[static_cast<std::size_t>(reg)];
  if (!value.known) {
    value = {.known = true, .slot = static_cast<std::uint8_t>(used_++)};
    out.before[out.stores_before++] = {static_cast<std::uint8_t>(reg), value.slot};
  }
  return value;
}

bool AddressSlots::add(const Effects& effects, InsnSlots& out) {
  constexpr unsigned kMostPerInstruction = 6;
  const unsigned logged = logs_ ? 1 + static_cast<unsigned>(std::popcount(effects.written)) : 0;
  if (used_ + kMostPerInstruction + logged > kMost) return false;
  out.stores_before = out.stores_after = 0;
  out.accesses.clear();
  for (const Access& access : effects.accesses) {
    const MemoryOperand& operand = access.operand;
    const Value base = value_of(operand.base, out);
    AddressTerm term;
    term.displacement = operand.displacement + base.delta;
    term.base = base.slot;
    const auto add_index = [&](int reg, std::uint8_t scale) {
      const Value index = value_of(reg, out);
      term.displacement += index.delta * scale;
      term.index = index.slot;
      term.scale = scale;
    };
    // Of these only a part counts, so the slot must hold them as they are.
    const auto add_part = [&](int reg, AddressTerm::Flags flag) {
      Value& value = values_[static_cast<std::size_t>(reg)];
      if (value.delta != 0 || value.slot == AddressTerm::kNoSlot) value = {};
      term.part = value_of(reg, out).slot;
      term.flags |= flag;
    };
    if (operand.index >= 0 && !operand.vector_index) add_index(operand.index, operand.scale);
    if (operand.plus_al) add_part(kRax, AddressTerm::kLowByte);
    if (operand.bit_register >= 0) add_part(operand.bit_register, AddressTerm::kBitString);
    if (operand.fs) term.flags |= AddressTerm::kFs;
    if (operand.gs) term.flags |= AddressTerm::kGs;
    if (operand.address32) term.flags |= AddressTerm::kAddress32;
    term.bytes = access.bytes;
    if (access.form == arch::AccessForm::Listed) term.flags |= AddressTerm::kListed;
    if (access.form == arch::AccessForm::Repeated) term.flags |= AddressTerm::kRepeated;
    out.accesses.push_back({.kind = access.kind, .form = access.form, .instruction = 0, .address = term});
  }
  const Value summed = effects.source >= 0 ? values_[static_cast<std::uint8_t>(effects.source)] : Value{.known = true};
  for (unsigned reg = 0; reg < values_.size(); ++reg) {
    if ((effects.written >> reg & 1u) != 0) values_[reg] = {};
  }
  if (effects.target >= 0 && summed.known)
    values_[static_cast<std::uint8_t>(effects.target)] = {
        .known = true, .slot = summed.slot, .delta = summed.delta + effects.delta};
  if (logs_) log(effects, out);
  // Registers that count through memory: what they are afterwards says how many elements there were, and which way.
  for (std::size_t i = 0; i < out.accesses.size(); ++i) {
    if (out.accesses[i].form != arch::AccessForm::Repeated) continue;
    const auto reg = static_cast<std::uint8_t>(effects.accesses[i].operand.base);
    const auto slot = static_cast<std::uint8_t>(used_++);
    out.after[out.stores_after++] = {reg, slot};
    out.accesses[i].address.index = slot;
    values_[reg] = {.known = true, .slot = slot};
  }
  out.used = static_cast<std::uint8_t>(used_);
  return true;
}

void AddressSlots::log(const Effects& effects, InsnSlots& out) {
  for (std::uint8_t reg = 0; reg < values_.size(); ++reg) {
    if (values_[reg].known) continue;
    values_[reg] = {.known = true, .slot = static_cast<std::uint8_t>(used_++)};
    out.after[out.stores_after++] = {reg, values_[reg].slot};
  }
  out.target = effects.target;
  out.source = effects.source;
  out.delta = effects.delta;
  out.flags = effects.writes_flags ? static_cast<std::uint8_t>(used_++) : AddressTerm::kNoSlot;
}

}  // namespace zs::engine
