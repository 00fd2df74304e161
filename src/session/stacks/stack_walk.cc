#include "session/stacks/stack_walk.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "isa/decode.h"
#include "session/stacks/expression.h"

namespace zs::session {
namespace {

using arch::DwarfRegisters;
using isa::kLongestInstruction;
using Kind = RegisterRule::Kind;

constexpr int kLongestWay = 256;    // instructions to a return, in files: found once
constexpr int kLongestWays = 1024;  // instructions of all ways from a place together
constexpr std::uint64_t kLargestFrame = 8192;
constexpr int kLongestWayOfJit = 48;  // in code that may be another one the next time
constexpr std::size_t kMostKnown = std::size_t{1} << 20;
constexpr std::size_t kLongestCall = 7;
constexpr std::size_t kSyscallBytes = 2;
constexpr std::uint64_t kFunctionAlignment = 16;
/// So near behind an instruction is no other function: a return there would need a call between the two.
constexpr std::uint64_t kNear = 5;

}  // namespace

/// The thread's stack: pages of it, fetched once in a walk.
class StackWalk::Stack final : public WordSource {
 public:
  explicit Stack(ProgramMemory& memory) : memory_(memory) {}

  std::optional<std::uint64_t> word(std::uint64_t address) override {
    std::uint64_t value = 0;
    if (address % kPage <= kPage - sizeof value) {
      const std::byte* const at = byte(address);
      if (at == nullptr) return std::nullopt;
      std::memcpy(&value, at, sizeof value);
      return value;
    }
    if (memory_.read(address, std::as_writable_bytes(std::span(&value, 1))) != sizeof value) return std::nullopt;
    return value;
  }

 private:
  static constexpr std::size_t kPage = 4096;
  struct Page {
    std::uint64_t start = 1;  // no page starts there
    bool readable = false;
    std::array<std::byte, kPage> bytes;
  };

  const std::byte* byte(std::uint64_t address) {
    const std::uint64_t start = address / kPage * kPage;
    if (pages_[newest_].start != start) newest_ ^= 1;
    Page& page = pages_[newest_];
    if (page.start != start) {
      page.start = start;
      page.readable = memory_.read(start, page.bytes) == kPage;
    }
    return page.readable ? page.bytes.data() + address % kPage : nullptr;
  }

  ProgramMemory& memory_;
  std::array<Page, 2> pages_;  // a frame may lie on two
  unsigned newest_ = 0;
};

namespace {

/// Puts the caller's registers in place of the callee's. returns false if nobody called, or memory does not have them
bool apply(const FrameRule& rule, const Expressions& expressions, WordSource& stack, DwarfRegisters& registers) {
  const DwarfRegisters callee = registers;
  std::uint64_t frame = 0;
  if (rule.by_expression) {
    const auto found = evaluate(expressions[rule.frame_offset], callee, stack, std::nullopt);
    if (!found) return false;
    frame = *found;
  } else {
    frame = callee[rule.frame_register] + static_cast<std::uint64_t>(std::int64_t{rule.frame_offset});
  }
  registers[arch::kDwarfSp] = frame;
  for (std::size_t i = 0; i < registers.size(); ++i) {
    const RegisterRule& where = rule.registers[i];
    const std::uint64_t near_frame = frame + static_cast<std::uint64_t>(std::int64_t{where.value});
    std::optional<std::uint64_t> found;
    switch (where.kind) {
      case Kind::Same: continue;
      case Kind::Unknown:
        if (i == arch::kDwarfReturnAddress) return false;
        registers[i] = 0;
        continue;
      case Kind::AtFrame: found = stack.word(near_frame); break;
      case Kind::FramePlus: found = near_frame; break;
      case Kind::InRegister: found = callee[static_cast<std::size_t>(where.value)]; break;
      case Kind::AtExpression:
        found = evaluate(expressions[where.value], callee, stack, frame);
        // gcc's tables keep the rule of a realigned frame ("RBP is at RBP") for two instructions behind its end.
        if (found && !rule.interrupts && (*found < callee[arch::kDwarfSp] || *found >= frame)) continue;
        if (found) found = stack.word(*found);
        break;
      case Kind::ByExpression: found = evaluate(expressions[where.value], callee, stack, frame); break;
    }
    if (found)
      registers[i] = *found;
    else if (i == arch::kDwarfReturnAddress)
      return false;
  }
  return true;
}

bool nobody_called(const FrameRule* rule) {
  return rule != nullptr && rule->registers[arch::kDwarfReturnAddress].kind == Kind::Unknown;
}

}  // namespace

StackWalk::StackWalk(ProgramMemory& memory)
    : memory_(memory),
      fetch_([this](std::uint64_t address, std::span<std::byte> into) { return memory_.read(address, into); }),
      table_bytes_(memory) {}

void StackWalk::mapped(const engine::Mapping& mapping) {
  if (!code_.mapped(mapping)) return;
  known_ = {};
  flows_ = {};
  tables_.clear();
  table_bytes_.forget();
}

UnwindTable& StackWalk::table_of(const MappedArea& area) {
  std::unique_ptr<UnwindTable>& table = tables_[area.start];
  if (!table) table = std::make_unique<UnwindTable>(table_bytes_, expressions_, code_.tables_of(area, table_bytes_));
  return *table;
}

std::optional<FrameRule> StackWalk::find_rule(const Place& place, const MappedArea& area,
                                              const DwarfRegisters& registers, Stack& stack) {
  // Reading code is a system call, and code that signals return to begins a function, mostly an aligned one.
  const bool may_be_signals = place.returned_to && place.pc % kFunctionAlignment == 0;
  if (may_be_signals) {
    if (auto rule = rule_of_signal_return(place.pc, fetch_)) return rule;
  }
  UnwindTable& table = table_of(area);
  if (auto rule = table.rule_at(place.in_function())) return rule;
  if (place.returned_to && !may_be_signals) {
    if (auto rule = rule_of_signal_return(place.pc, fetch_)) return rule;
  }
  // A function that was never called: its address was put where it will be returned to (makecontext).
  if (place.returned_to) {
    if (auto rule = table.rule_at(place.pc)) {
      rule->begins = true;
      return rule;
    }
  }
  return rule_without_table(place.pc, registers, stack);
}

std::optional<isa::Insn> StackWalk::call_in_file(std::uint64_t back) {
  const MappedArea* const area = code_.find(back - 1);
  return area != nullptr && area->is_of_a_file() ? call_before(back) : std::nullopt;
}

/// Ways past no call are sure, because only a call can fail to return. Where there is none, the return address is
/// looked for on the stack: that of a direct call is right, if the called function's code leads to `pc` with the stack
/// as deep as it is. At last any way from `pc` to a return is taken, if a call is before what that finds.
std::optional<FrameRule> StackWalk::rule_without_table(std::uint64_t pc, const DwarfRegisters& registers,
                                                       Stack& stack) {
  const auto has_caller = [&](const FrameRule& one) {
    DwarfRegisters caller = registers;
    if (!apply(one, expressions_, stack, caller)) return false;
    const std::uint64_t back = caller[arch::kDwarfReturnAddress];
    return call_in_file(back) || returns_from_signal(back);
  };
  const auto by_any_way = [&](bool doubts) {
    return rule_of_code(pc, fetch_, kLongestWays, [&](const FrameRule& one, bool doubtful) {
      // A way on which a register of the caller's is lost is none of this function.
      const bool keeps_all = std::ranges::count(one.registers, RegisterRule{Kind::Unknown, 0}) == 0;
      return (doubts || !doubtful) && keeps_all && has_caller(one);
    });
  };
  if (auto rule = by_any_way(false)) return rule;
  int left = kLongestWays;
  for (std::uint64_t at = registers[arch::kDwarfSp]; at < registers[arch::kDwarfSp] + kLargestFrame; at += 8) {
    const auto back = stack.word(at);
    if (!back) break;
    const auto call = call_in_file(*back);
    if (!call || call->flow != isa::Flow::Call) continue;
    const auto is_there = [&](const FrameRule& one, bool) {
      return registers[one.frame_register] + static_cast<std::uint64_t>(std::int64_t{one.frame_offset}) == at + 8;
    };
    if (auto rule = rule_from_start(call->target, pc, fetch_, left, is_there)) return rule;
  }
  auto straight = rule_of_code(pc, fetch_, kLongestWay);
  if (straight && has_caller(*straight)) return straight;
  auto rule = by_any_way(true);
  return rule ? rule : straight;
}

/// registers, stack  as they are there
/// returns null if no code lies there; otherwise what holds until the next call
const FrameRule* StackWalk::rule_at(const Place& place, const DwarfRegisters& registers, Stack& stack) {
  if (const std::uint32_t* const known = known_.find(place.key())) return rules_[*known];
  const MappedArea* const area = code_.find(place.in_function());
  if (area == nullptr) return nullptr;
  if (!area->is_of_a_file()) {
    // A JIT's callers have their frame pointers in place; the innermost function may be about to set or to leave its
    // own.
    const auto rule = place.returned_to ? std::nullopt : rule_of_code(place.pc, fetch_, kLongestWayOfJit);
    passing_ = rule.value_or(FrameRule::by_frame_pointer());
    return &passing_;
  }
  const FrameRule rule = find_rule(place, *area, registers, stack).value_or(FrameRule::by_frame_pointer());
  const auto [found, added] = rule_numbers_.try_emplace(rule, static_cast<std::uint32_t>(rules_.size()));
  if (added) rules_.push_back(&found->first);
  if (known_.size() == kMostKnown) known_ = {};
  known_[place.key()] = found->second;
  return rules_[found->second];
}

bool StackWalk::returns_from_signal(std::uint64_t pc) { return rule_of_signal_return(pc, fetch_).has_value(); }

/// The call instruction that ends at `pc`: CALL rel32, or CALL r/m in any of its lengths.
std::optional<isa::Insn> StackWalk::call_before(std::uint64_t pc) {
  std::array<std::byte, kLongestCall> bytes{};
  if (memory_.read(pc - kLongestCall, bytes) != bytes.size()) return std::nullopt;
  for (std::size_t length = 2; length <= kLongestCall; ++length) {
    const auto* const at = reinterpret_cast<const std::uint8_t*>(bytes.data()) + (kLongestCall - length);
    const auto insn = isa::decode(pc - length, {at, length});
    if (insn && insn->length == length && (insn->flow == isa::Flow::Call || insn->flow == isa::Flow::IndirectCall))
      return insn;
  }
  return std::nullopt;
}

isa::Flow StackWalk::flow_at(std::uint64_t pc) {
  if (const isa::Flow* const known = flows_.find(pc)) return *known;
  std::array<std::byte, kLongestInstruction> bytes;
  const std::size_t got = memory_.read(pc, bytes);
  const auto insn = isa::decode(pc, {reinterpret_cast<const std::uint8_t*>(bytes.data()), got});
  const isa::Flow flow = insn ? insn->flow : isa::Flow::Plain;
  const MappedArea* const area = code_.find(pc);
  if (area == nullptr || !area->is_of_a_file()) return flow;
  if (flows_.size() == kMostKnown) flows_ = {};
  return flows_[pc] = flow;
}

/// `registers` are those behind the instruction at `ip`. Where that has gone to another function, the frame that `ip`
/// belongs to is
/// put in place.
/// returns whether `place` and `registers` are of the caller of the function that `ip` is in; otherwise they are of
/// that function
bool StackWalk::begin(std::uint64_t ip, DwarfRegisters& registers, Stack& stack, Place& place) {
  const std::uint64_t next = registers[arch::kDwarfReturnAddress];
  place = {.pc = next, .returned_to = false};
  if (next - ip <= kNear) return false;
  switch (flow_at(ip)) {
    case isa::Flow::Call:
    case isa::Flow::IndirectCall: {
      const auto back = stack.word(registers[arch::kDwarfSp]);
      if (!back) return false;
      registers[arch::kDwarfSp] += 8;
      registers[arch::kDwarfReturnAddress] = *back;
      place = {.pc = *back, .returned_to = true};
      return false;
    }
    case isa::Flow::Return:
      if (call_before(next) || returns_from_signal(next)) {
        place = {.pc = next, .returned_to = true};
        return true;
      }
      // Behind the first function of a goroutine lies goexit, which nobody called. Otherwise it is a jump: of
      // swapcontext, of a guard against speculation.
      return nobody_called(rule_at(place, registers, stack));
    case isa::Flow::Syscall: return next != ip + kSyscallBytes;  // rt_sigreturn: what was interrupted goes on
    default: return false;
  }
}

std::vector<std::uint64_t> StackWalk::walk(std::uint64_t ip, const arch::RegisterFile& from, std::size_t longest,
                                           ChainEnd& end) {
  std::vector<std::uint64_t> chain{ip};
  DwarfRegisters registers = arch::dwarf_registers(from);
  Stack stack{memory_};
  Place place;
  bool is_caller = begin(ip, registers, stack, place);
  end = ChainEnd::BrokenStack;
  while (chain.size() < longest) {
    const FrameRule* const rule = rule_at(place, registers, stack);
    if (rule == nullptr) return chain;
    if (is_caller) chain.push_back(rule->begins ? place.pc : place.in_function());
    is_caller = true;
    const std::uint64_t sp = registers[arch::kDwarfSp];
    const std::uint64_t pc = place.pc;
    const bool interrupts = rule->interrupts;
    const bool by_frame_pointer = !rule->by_expression && rule->frame_register == arch::kDwarfBp;
    end = rule->guessed ? ChainEnd::NoRule : ChainEnd::BrokenStack;
    // source: System V ABI, AMD64, "The Stack Frame": the outermost frame has a frame pointer of 0.
    const bool is_outermost = nobody_called(rule) || (rule->guessed && registers[arch::kDwarfBp] == 0);
    const bool found = !is_outermost && apply(*rule, expressions_, stack, registers);
    place = {.pc = registers[arch::kDwarfReturnAddress], .returned_to = !interrupts};
    if (is_outermost || (found && place.pc == 0 && !rule->guessed)) {
      end = ChainEnd::Outermost;
      return chain;
    }
    const std::uint64_t caller_sp = registers[arch::kDwarfSp];
    if (!found || place.pc == 0 || (place.pc == pc && caller_sp == sp) || (by_frame_pointer && caller_sp <= sp))
      return chain;
  }
  end = ChainEnd::Limit;
  return chain;
}

}  // namespace zs::session
