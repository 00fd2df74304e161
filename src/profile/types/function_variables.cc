#include "profile/types/function_variables.h"

#include <elfutils/libdwfl.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "arch/dwarf_registers.h"
#include "profile/symbols/dwarf_dies.h"
#include "profile/types/type_table.h"

namespace zs::profile {
namespace {

using In = VariablePlace::In;

std::optional<std::uint8_t> encoding_of(std::uint64_t dwarf_register) {
  if (dwarf_register >= arch::kEncodingByDwarf.size()) return std::nullopt;
  return arch::kEncodingByDwarf[dwarf_register];
}

/// A base and an offset to it.
struct Spot {
  std::uint8_t base = 0;
  std::int64_t offset = 0;
};

/// DW_OP_breg0 ... and DW_OP_bregx.
std::optional<Spot> register_sum(const Dwarf_Op& op) {
  if (op.atom == DW_OP_bregx) {
    const auto base = encoding_of(op.number);
    return base ? std::optional(Spot{*base, static_cast<std::int64_t>(op.number2)}) : std::nullopt;
  }
  if (op.atom < DW_OP_breg0 || op.atom > DW_OP_breg31) return std::nullopt;
  const auto base = encoding_of(op.atom - DW_OP_breg0);
  return base ? std::optional(Spot{*base, static_cast<std::int64_t>(op.number)}) : std::nullopt;
}

std::optional<std::uint8_t> plain_register(const Dwarf_Op& op) {
  if (op.atom == DW_OP_regx) return encoding_of(op.number);
  if (op.atom < DW_OP_reg0 || op.atom > DW_OP_reg31) return std::nullopt;
  return encoding_of(op.atom - DW_OP_reg0);
}

struct Where {
  In in = In::Register;
  Spot spot;
  std::uint64_t stride = 0;
};

/// A sum of registers times constants, and a constant: what an expression on the way to a location comes to.
struct Sum {
  std::array<std::uint64_t, kFrameAddress + 1> times{};  // by register; negative ones as their complement
  std::uint64_t constant = 0;

  bool is_constant() const {
    return std::ranges::all_of(times, [](std::uint64_t one) { return one == 0; });
  }
  Sum& add(const Sum& other, std::uint64_t factor) {
    for (std::size_t i = 0; i < times.size(); ++i) times[i] += other.times[i] * factor;
    constant += other.constant * factor;
    return *this;
  }
};

/// Runs DWARF's stack machine on such sums. The operations that add, move and scale; no memory.
class SumMachine {
 public:
  explicit SumMachine(const std::optional<Spot>& frame_base) : frame_base_(frame_base) {}

  /// returns  whether it could
  bool run(const Dwarf_Op& op) {
    if (const auto spot = pushed_register(op)) return push(*spot);
    if (op.atom >= DW_OP_lit0 && op.atom <= DW_OP_lit31) return push_constant(op.atom - DW_OP_lit0);
    switch (op.atom) {
      case DW_OP_const1u:
      case DW_OP_const1s:
      case DW_OP_const2u:
      case DW_OP_const2s:
      case DW_OP_const4u:
      case DW_OP_const4s:
      case DW_OP_const8u:
      case DW_OP_const8s:
      case DW_OP_constu:
      case DW_OP_consts: return push_constant(op.number);
      case DW_OP_plus_uconst: return push_constant(op.number) && combine(1);
      case DW_OP_plus: return combine(1);
      case DW_OP_minus: return combine(~std::uint64_t{0});
      case DW_OP_mul: return scale(false);
      case DW_OP_shl: return scale(true);
      default: return false;
    }
  }
  const Sum* result() const { return stack_.size() == 1 ? &stack_.back() : nullptr; }

 private:
  std::optional<Spot> pushed_register(const Dwarf_Op& op) const {
    if (op.atom == DW_OP_call_frame_cfa) return Spot{kFrameAddress, 0};
    if (op.atom == DW_OP_fbreg && frame_base_)
      return Spot{frame_base_->base,
                  static_cast<std::int64_t>(static_cast<std::uint64_t>(frame_base_->offset) + op.number)};
    return register_sum(op);
  }
  bool push(const Spot& spot) {
    Sum sum{.times = {}, .constant = static_cast<std::uint64_t>(spot.offset)};
    sum.times[spot.base] = 1;
    stack_.push_back(sum);
    return true;
  }
  bool push_constant(std::uint64_t number) {
    stack_.push_back({.times = {}, .constant = number});
    return true;
  }
  bool combine(std::uint64_t factor) {
    if (stack_.size() < 2) return false;
    const Sum top = stack_.back();
    stack_.pop_back();
    stack_.back().add(top, factor);
    return true;
  }
  bool scale(bool by_power) {
    constexpr std::uint64_t kMostPower = 20;  // chosen: no element is larger
    if (stack_.size() < 2 || !stack_.back().is_constant()) return false;
    const std::uint64_t number = stack_.back().constant;
    if (number > (by_power ? kMostPower : std::uint64_t{1} << kMostPower)) return false;
    stack_.pop_back();
    Sum scaled;
    stack_.back() = scaled.add(stack_.back(), by_power ? std::uint64_t{1} << number : number);
    return true;
  }

  const std::optional<Spot>& frame_base_;
  std::vector<Sum> stack_;
};

/// One register as it is; what else is added comes in steps.
std::optional<Where> in_terms_of_one(const Sum& sum) {
  Where where;
  bool found = false;
  for (std::size_t i = 0; i < sum.times.size(); ++i) {
    if (sum.times[i] == 0) continue;
    if (sum.times[i] == 1 && !found) {
      where.spot = {static_cast<std::uint8_t>(i), static_cast<std::int64_t>(sum.constant)};
      found = true;
    } else {
      const std::uint64_t complement = 0 - sum.times[i];
      where.stride = std::gcd(where.stride, std::min(sum.times[i], complement));
    }
  }
  return found ? std::optional(where) : std::nullopt;
}

/// Of one piece; nothing where it is not in terms of one register.
std::optional<Where> place_of(std::span<const Dwarf_Op> ops, const std::optional<Spot>& frame_base) {
  if (ops.empty()) return std::nullopt;
  if (const auto in = plain_register(ops[0]); in && ops.size() == 1) return Where{In::Register, {*in, 0}};
  In in = In::Memory;
  if (ops.back().atom == DW_OP_stack_value) in = In::Sum;
  if (ops.back().atom == DW_OP_deref) in = In::PointedFromThere;
  if (in != In::Memory) ops = ops.first(ops.size() - 1);
  SumMachine machine(frame_base);
  for (const Dwarf_Op& op : ops) {
    if (!machine.run(op)) return std::nullopt;
  }
  auto where = machine.result() == nullptr ? std::nullopt : in_terms_of_one(*machine.result());
  if (where) where->in = in;
  return where;
}

using Ranges = std::vector<std::pair<Dwarf_Addr, Dwarf_Addr>>;

Ranges ranges_of(Dwarf_Die* die) {
  constexpr std::size_t kMost = 4096;  // chosen: of one function or block
  Ranges all;
  Dwarf_Addr base = 0, start = 0, end = 0;
  for (std::ptrdiff_t at = 0; all.size() < kMost && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0;)
    all.emplace_back(start, end);
  return all;
}

}  // namespace

/// A compilation unit: its functions, and of those that were asked for, their variables.
struct FunctionTable::Unit {
  struct Function {
    Dwarf_Die die;
    std::unique_ptr<FunctionVariables> variables;
  };
  std::deque<Function> functions;
  struct Range {
    ImageAddress start{}, end{};
    Function* function = nullptr;
  };
  std::vector<Range> ranges;  // by start
  std::uint64_t bias = 0;     // image addresses are the unit's plus this
  std::deque<std::string> names;
};

/// Reads the variables of one function.
class FunctionTable::Reader {
 public:
  Reader(DataTypes& types, Unit& unit, Dwarf_Die function)
      : types_(types), unit_(unit), function_(function), frame_base_(frame_base()) {}

  FunctionVariables read() {
    scope(function_, ranges_of(&function_), 0);
    if (const auto type = dwarf::type_of(&function_)) out_.returned = types_.table().pointee_of(*type);
    return std::move(out_);
  }

 private:
  std::optional<Spot> frame_base() {
    Dwarf_Attribute attribute;
    Dwarf_Op* ops = nullptr;
    std::size_t count = 0;
    if (dwarf_attr_integrate(&function_, DW_AT_frame_base, &attribute) == nullptr ||
        dwarf_getlocation(&attribute, &ops, &count) != 0 || count != 1)
      return std::nullopt;
    if (ops[0].atom == DW_OP_call_frame_cfa) return Spot{kFrameAddress, 0};
    if (const auto in = plain_register(ops[0])) return Spot{*in, 0};
    return register_sum(ops[0]);
  }

  /// chosen: beyond what functions have. Each variable of a scope in pieces has a place in each of them.
  static constexpr std::size_t kMostPlaces = std::size_t{1} << 17;

  void scope(Dwarf_Die die, const Ranges& ranges, int depth) {
    if (depth == dwarf::kDeepest) return;
    dwarf::each_child(&die, progress_, [&](Dwarf_Die* child) {
      switch (dwarf_tag(child)) {
        case DW_TAG_formal_parameter:
        case DW_TAG_variable: variable(child, ranges); break;
        case DW_TAG_lexical_block:
        case DW_TAG_inlined_subroutine: {
          const Ranges own = ranges_of(child);
          scope(*child, own.empty() ? ranges : own, depth + 1);
          break;
        }
        default: break;
      }
    });
  }

  void variable(Dwarf_Die* die, const Ranges& scope) {
    Dwarf_Attribute attribute;
    const auto type = dwarf::type_of(die);
    if (!type || dwarf_attr(die, DW_AT_location, &attribute) == nullptr) return;
    const DataTypes::Type number = types_.table().number_of(*type);
    if (number == 0) return;
    const std::string* name = nullptr;
    Dwarf_Addr base = 0, start = 0, end = 0;
    Dwarf_Op* ops = nullptr;
    std::size_t count = 0;
    const bool is_list = dwarf_whatform(&attribute) != DW_FORM_exprloc && dwarf_whatform(&attribute) != DW_FORM_block1;
    for (std::ptrdiff_t at = 0; (at = dwarf_getlocations(&attribute, at, &base, &start, &end, &ops, &count)) > 0;) {
      if (name == nullptr) name = &unit_.names.emplace_back(dwarf::name_of(die));
      if (is_list) {
        pieces({ops, count}, start, end, number, name);
      } else {
        for (const auto& [from, to] : scope) pieces({ops, count}, from, to, number, name);
      }
    }
  }

  void pieces(std::span<const Dwarf_Op> ops, Dwarf_Addr start, Dwarf_Addr end, DataTypes::Type type,
              const std::string* name) {
    std::uint64_t at = 0;
    const std::uint64_t whole = types_.size_of(type);
    while (!ops.empty() && out_.places.size() < kMostPlaces) {
      const auto stop = std::ranges::find(ops, DW_OP_piece, &Dwarf_Op::atom);
      const std::span<const Dwarf_Op> own = ops.first(static_cast<std::size_t>(stop - ops.begin()));
      const std::uint64_t size = stop == ops.end() ? whole - std::min(whole, at) : stop->number;
      if (const auto where = place_of(own, frame_base_)) {
        out_.places.push_back({.start = ImageAddress{start + unit_.bias},
                               .end = ImageAddress{end + unit_.bias},
                               .in = where->in,
                               .base = where->spot.base,
                               .offset = where->spot.offset,
                               .stride = where->stride,
                               .type = type,
                               .piece = at,
                               .size = size,
                               .name = name});
      }
      at += size;
      if (stop == ops.end()) return;
      ops = ops.subspan(own.size() + 1);
    }
  }

  DataTypes& types_;
  Unit& unit_;
  Dwarf_Die function_;
  std::optional<Spot> frame_base_;
  dwarf::Progress progress_;
  FunctionVariables out_;
};

FunctionTable::FunctionTable(DataTypes& types) : types_(types) {}
FunctionTable::~FunctionTable() = default;

FunctionTable::Unit& FunctionTable::unit_of(void* entry, std::uint64_t bias) {
  auto& unit = units_[entry];
  if (unit != nullptr) return *unit;
  unit = std::make_unique<Unit>();
  unit->bias = bias - types_.image().debug_module().bias;
  constexpr std::size_t kMostRanges = std::size_t{1} << 22;  // chosen: of a unit
  dwarf::Progress progress;
  const auto walk = [&](const auto& self, Dwarf_Die* parent, int depth) -> void {
    if (depth == dwarf::kDeepest) return;
    dwarf::each_child(parent, progress, [&](Dwarf_Die* child) {
      switch (dwarf_tag(child)) {
        case DW_TAG_subprogram: {
          const Ranges ranges = ranges_of(child);
          if (ranges.empty() || unit->ranges.size() > kMostRanges) break;
          Unit::Function& function = unit->functions.emplace_back(Unit::Function{.die = *child, .variables = nullptr});
          for (const auto& [start, end] : ranges) {
            unit->ranges.push_back({.start = ImageAddress{start + unit->bias},
                                    .end = ImageAddress{end + unit->bias},
                                    .function = &function});
          }
          break;
        }
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_lexical_block:
        case DW_TAG_structure_type:
        case DW_TAG_class_type: break;
        default: return;
      }
      self(self, child, depth + 1);
    });
  };
  Dwarf_Die whole = dwarf::whole_unit(static_cast<Dwarf_Die*>(entry));
  walk(walk, &whole, 0);
  std::ranges::stable_sort(unit->ranges, {}, &Unit::Range::start);
  return *unit;
}

const FunctionVariables* FunctionTable::at(ImageAddress address) {
  std::uint64_t bias = 0;
  void* const entry = types_.image().debug_unit(address, bias);
  if (entry == nullptr) return nullptr;
  Unit& unit = unit_of(entry, bias);
  auto range = std::ranges::upper_bound(unit.ranges, address, {}, &Unit::Range::start);
  if (range == unit.ranges.begin() || address >= (--range)->end) return nullptr;
  Unit::Function& function = *range->function;
  if (function.variables == nullptr)
    function.variables = std::make_unique<FunctionVariables>(Reader(types_, unit, function.die).read());
  return function.variables.get();
}

FunctionTable::FrameRule FunctionTable::frame_at(ImageAddress address) {
  const ElfImage::DebugModule debug = types_.image().debug_module();
  FrameRule rule{.start = address, .end = address + 1};
  Dwarf_Addr bias = 0;
  Dwarf_CFI* tables = dwfl_module_eh_cfi(debug.module, &bias);
  if (tables == nullptr) tables = dwfl_module_dwarf_cfi(debug.module, &bias);
  Dwarf_Frame* frame = nullptr;
  if (tables == nullptr || dwarf_cfi_addrframe(tables, value(address) + debug.bias - bias, &frame) != 0) return rule;
  const std::unique_ptr<Dwarf_Frame, void (*)(void*)> keep{frame, std::free};
  Dwarf_Addr start = 0, end = 0;
  bool signal = false;
  if (dwarf_frame_info(frame, &start, &end, &signal) >= 0 && end > start) {
    rule.start = ImageAddress{start + bias - debug.bias};
    rule.end = ImageAddress{end + bias - debug.bias};
  }
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count != 1) return rule;
  if (const auto spot = register_sum(ops[0])) {
    rule.base = spot->base;
    rule.offset = spot->offset;
  }
  return rule;
}

}  // namespace zs::profile
