#include "session/stacks/code_rule.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "isa/register_flow.h"

namespace zs::session {
namespace {

using isa::Flow;
using isa::Gpr;
using isa::Insn;
using isa::kLongestInstruction;
using Kind = RegisterRule::Kind;
using Does = isa::RegisterFlow::Kind;

/// What a step costs. Ways are followed cheapest first, because some lead elsewhere: behind a call that does not return
/// lies other code, and behind a jump perhaps another case of the same switch, which is reached through a table.
constexpr int kInstruction = 1, kDoubtful = 1 << 16, kPastCall = kDoubtful + 16, kPastJump = kDoubtful + 512;

/// What a register holds, in terms of what it was where the way began.
struct Value {
  enum class Of : std::uint8_t {
    Nothing,   // not known
    Register,  // the register's first value and `offset`
    Memory,    // the word at that address
  };
  Of of = Of::Nothing;
  Gpr reg = isa::kRax;
  std::int64_t offset = 0;
  auto operator<=>(const Value&) const = default;

  Value moved(std::int64_t by) const {
    if (of == Of::Register) return {.of = of, .reg = reg, .offset = offset + by};
    return by == 0 ? *this : Value{};
  }
};

/// One way through the code, and what registers and the stack hold where it is.
class Way {
 public:
  explicit Way(std::uint64_t from) : pc(from) {
    for (std::size_t i = 0; i < values_.size(); ++i)
      values_[i] = {.of = Value::Of::Register, .reg = static_cast<Gpr>(i), .offset = 0};
  }

  std::uint64_t pc;
  int cost = 0;

  const Value& sp() const { return values_[isa::kRsp]; }
  /// The caller's frame pointer is in place again, as behind an epilogue.
  bool frame_is_gone() const { return frame_is_gone_; }
  bool is_doubtful() const { return cost >= kDoubtful; }
  bool may_go_on_with(const isa::FlowInsn& one) const {
    return !arguments_dropped_ || one.insn.flow == Flow::Return || one.flow.kind == Does::Push;
  }

  /// A call of the instruction behind it is no call: it only pushes that instruction's address.
  void call(const Insn& insn) {
    if (insn.flow == Flow::Call && insn.target == insn.next()) return push({}, -kWord);
    forget(kChangedByCalls);
    cost += kPastCall;
  }

  void apply(const isa::RegisterFlow& flow) {
    const Value from = flow.from >= 0 ? values_[static_cast<std::uint8_t>(flow.from)] : Value{};
    Value nowhere;
    Value& to = flow.to >= 0 ? values_[static_cast<std::uint8_t>(flow.to)] : nowhere;
    switch (flow.kind) {
      case Does::Copy:
        to = from;
        set_frame_pointer_ = flow.to == isa::kRbp && flow.from == isa::kRsp;
        frame_is_gone_ = frame_is_gone_ && flow.to != isa::kRbp;
        return;
      case Does::Load: to = load(address_of(flow.memory)); return;
      case Does::Store: return store(address_of(flow.memory), from);
      case Does::Address:
        if (flow.to == isa::kRsp && flow.memory.base == isa::kRsp && flow.memory.index >= 0 &&
            flow.memory.displacement == 0) {
          arguments_dropped_ = true;
        } else {
          to = address_of(flow.memory);
        }
        return;
      case Does::Add: to = to.moved(flow.by); return;
      case Does::Exchange: values_[static_cast<std::uint8_t>(flow.from)] = std::exchange(to, from); return;
      case Does::Push: return push(from, flow.by);
      case Does::Pop: return pop(flow);
      case Does::Enter: return enter(flow);
      case Does::Leave:
        values_[isa::kRsp] = values_[isa::kRbp];
        return pop({.kind = Does::Pop, .to = isa::kRbp, .by = kWord, .memory = {}});
      case Does::Join:
      case Does::Choose:
      case Does::Other: return forget(flow.written);
    }
  }

  /// The rule of a way that has been a prologue: RBP has just become the frame pointer, and the caller's was pushed
  /// before, on the way or where it began.
  std::optional<FrameRule> behind_prologue() {
    if (!std::exchange(set_frame_pointer_, false)) return std::nullopt;
    if (sp().of != Value::Of::Register || sp().reg != isa::kRsp) return std::nullopt;
    const Value* const saved = stored(sp().offset);
    const Value first_bp{.of = Value::Of::Register, .reg = isa::kRbp, .offset = 0};
    const bool began_behind_push = sp().offset == 0 && stored_.empty();
    if (!began_behind_push && (saved == nullptr || *saved != first_bp)) return std::nullopt;
    FrameRule rule;
    rule.frame_offset = static_cast<std::int32_t>(sp().offset + 2 * kWord);
    rule.registers[arch::kDwarfReturnAddress] = {Kind::AtFrame, -8};
    if (began_behind_push) rule.registers[arch::kDwarfBp] = {Kind::AtFrame, -16};
    return rule;
  }

  /// The rule where a way has come to that began with the function.
  std::optional<FrameRule> from_start() const {
    FrameRule rule;
    const Value& base = sp().of == Value::Of::Register ? sp() : values_[isa::kRbp];
    if (base.of != Value::Of::Register || base.reg != isa::kRsp) return std::nullopt;
    rule.frame_register = &base == &sp() ? arch::kDwarfSp : arch::kDwarfBp;
    rule.frame_offset = static_cast<std::int32_t>(kWord - base.offset);
    rule.registers[arch::kDwarfReturnAddress] = {Kind::AtFrame, -8};
    for (const Gpr reg : kKeptByCalls) {
      const Value first{.of = Value::Of::Register, .reg = reg, .offset = 0};
      if (values_[reg] == first) continue;
      RegisterRule& where = rule.registers[arch::kDwarfByEncoding[reg]] = {Kind::Unknown, 0};
      for (const auto& [at, value] : stored_) {
        if (value == first) where = {Kind::AtFrame, static_cast<std::int32_t>(at - kWord)};
      }
    }
    return rule;
  }

  /// The rule where a way began that has come to a return.
  /// popped  bytes of arguments that the return takes away
  std::optional<FrameRule> at_return(std::uint16_t popped) const {
    const Value top = sp();
    if (top.of != Value::Of::Register || (top.reg != isa::kRsp && top.reg != isa::kRbp)) return std::nullopt;
    FrameRule rule;
    rule.frame_register = arch::kDwarfByEncoding[top.reg];
    rule.frame_offset = static_cast<std::int32_t>(top.offset + kWord);
    const Value target = load(top);
    const auto place = rule_of(target, top);
    if (!place) return std::nullopt;
    rule.registers[arch::kDwarfReturnAddress] = *place;
    if (popped != 0) rule.registers[arch::kDwarfSp] = {Kind::FramePlus, popped};
    for (const Gpr reg : kKeptByCalls) {
      const Value& value = values_[reg];
      if (value.of == Value::Of::Register && value.reg == reg && value.offset == 0) continue;
      rule.registers[arch::kDwarfByEncoding[reg]] = rule_of(value, top).value_or(RegisterRule{Kind::Unknown, 0});
    }
    return rule;
  }

 private:
  static constexpr std::int64_t kWord = 8;
  static constexpr std::array kKeptByCalls{isa::kRbx, isa::kRbp, isa::kR12, isa::kR13, isa::kR14, isa::kR15};
  static constexpr std::uint16_t kChangedByCalls =
      1U << isa::kRax | 1U << isa::kRcx | 1U << isa::kRdx | 1U << isa::kRsi | 1U << isa::kRdi | 0xFU << isa::kR8;

  void forget(unsigned registers) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if ((registers >> i & 1U) != 0) values_[i] = {};
    }
  }

  /// Where a value was when the way began, with the frame 8 bytes above `top`.
  static std::optional<RegisterRule> rule_of(const Value& value, const Value& top) {
    if (value.of == Value::Of::Memory && value.reg == top.reg)
      return RegisterRule{Kind::AtFrame, static_cast<std::int32_t>(value.offset - top.offset - kWord)};
    if (value.of == Value::Of::Register && value.offset == 0)
      return RegisterRule{Kind::InRegister, arch::kDwarfByEncoding[value.reg]};
    return std::nullopt;
  }

  Value address_of(const isa::MemoryOperand& memory) const {
    if (memory.base < 0 || memory.index >= 0 || memory.rip_relative || memory.fs || memory.gs || memory.address32)
      return {};
    return values_[static_cast<std::uint8_t>(memory.base)].moved(memory.displacement);
  }
  /// The word at an address: what the way stored there by RSP, or what was there before.
  Value load(const Value& address) const {
    if (address.of != Value::Of::Register) return {};
    const Value* const known = address.reg == isa::kRsp ? stored(address.offset) : nullptr;
    if (known != nullptr) return *known;
    return {.of = Value::Of::Memory, .reg = address.reg, .offset = address.offset};
  }
  void store(const Value& address, const Value& value) {
    if (address.of != Value::Of::Register || address.reg != isa::kRsp) return;
    std::erase_if(stored_, [&](const auto& one) { return one.first == address.offset; });
    stored_.emplace_back(address.offset, value);
  }
  const Value* stored(std::int64_t offset) const {
    const auto found = std::ranges::find(stored_, offset, &std::pair<std::int64_t, Value>::first);
    return found != stored_.end() ? &found->second : nullptr;
  }

  void push(const Value& value, std::int64_t by) {
    values_[isa::kRsp] = sp().moved(by);
    store(sp(), by == -kWord ? value : Value{});
  }
  void pop(const isa::RegisterFlow& flow) {
    const Value value = flow.by == kWord ? load(sp()) : Value{};
    values_[isa::kRsp] = sp().moved(flow.by);
    if (flow.to == isa::kRbp) frame_is_gone_ = true;
    if (flow.to >= 0) {
      values_[static_cast<std::uint8_t>(flow.to)] = value;
    } else {
      forget(flow.written & ~(1U << isa::kRsp));
      store(address_of(flow.memory), value);
    }
  }
  void enter(const isa::RegisterFlow& flow) {
    const Value first = sp();
    if (flow.to < 0) return forget(flow.written);
    push(values_[isa::kRbp], -kWord);
    values_[isa::kRbp] = sp();
    values_[isa::kRsp] = first.moved(flow.by);
  }

  std::array<Value, 16> values_;
  std::vector<std::pair<std::int64_t, Value>> stored_;  // by distance from the first RSP
  bool set_frame_pointer_ = false, frame_is_gone_ = false;
  /// lea rsp, [rsp + count*8], as V8 returns where it was called with more arguments than it declares: the return
  /// address is in a register, and pushed again next. RSP counts as if there were none: the caller, of a JIT too, has a
  /// frame pointer.
  bool arguments_dropped_ = false;
};

struct Dearer {
  bool operator()(const Way& a, const Way& b) const { return a.cost > b.cost; }
};

class Follower {
 public:
  /// goal    where ways shall lead; 0: to a return
  /// accept  whether a rule is right; null: the straight way alone is followed, and its rule taken
  Follower(const FetchCode& fetch, std::uint64_t goal, const AcceptRule& accept)
      : fetch_(fetch), goal_(goal), accept_(accept) {}

  /// Follows the ways from there, the cheapest first.
  /// left  how many instructions all ways together may still take
  std::optional<FrameRule> follow(std::uint64_t from, int& left) {
    for (others_.push(Way(from)); !others_.empty() && left > 0;) {
      const Way way = others_.top();
      others_.pop();
      if (const auto rule = go(way, left)) return rule;
    }
    return std::nullopt;
  }

 private:
  /// Follows one way to its end, past conditional jumps and along others.
  std::optional<FrameRule> go(Way way, int& left) {
    for (; left > 0; --left) {
      if (goal_ != 0 && way.pc == goal_) return accepted(way, way.from_start());
      if (!seen_.emplace(way.pc, way.sp()).second) return std::nullopt;
      std::array<std::byte, kLongestInstruction> bytes;
      const std::size_t got = fetch_(way.pc, bytes);
      const auto one = isa::decode_flow(way.pc, {reinterpret_cast<const std::uint8_t*>(bytes.data()), got});
      if (!one || !way.may_go_on_with(*one)) return std::nullopt;
      const Insn& insn = one->insn;
      way.pc = insn.next();
      way.cost += kInstruction;
      switch (insn.flow) {
        case Flow::Return: return goal_ != 0 ? std::nullopt : accepted(way, way.at_return(insn.return_pop));
        case Flow::Jump:
          keep(way, way.pc, kPastJump);
          way.pc = insn.target;
          break;
        case Flow::ConditionalJump:
        case Flow::CounterJump: keep(way, insn.target, 0); break;
        case Flow::Call:
        case Flow::IndirectCall: way.call(insn); break;
        // It leaves the function if the frame is gone or a table of linkage says where to; otherwise it may stay.
        case Flow::IndirectJump: {
          const bool by_linkage = insn.memory_count != 0 && insn.memory[0].rip_relative;
          if (goal_ == 0 && (by_linkage || way.frame_is_gone())) return accepted(way, way.at_return(0));
          keep(way, way.pc, kPastJump);
          const std::uint64_t slot = insn.next() + static_cast<std::uint64_t>(insn.memory[0].displacement);
          if (!by_linkage || fetch_(slot, std::as_writable_bytes(std::span(&way.pc, 1))) != sizeof way.pc)
            return std::nullopt;
          break;
        }
        case Flow::Plain:
        case Flow::Syscall:
        case Flow::Emulated:
          way.apply(one->flow);
          if (goal_ != 0) break;
          if (const auto rule = way.behind_prologue()) return accepted(way, rule);
          break;
        default: return std::nullopt;
      }
    }
    return std::nullopt;
  }

  std::optional<FrameRule> accepted(const Way& way, const std::optional<FrameRule>& rule) const {
    return rule && (!accept_ || accept_(*rule, way.is_doubtful())) ? rule : std::nullopt;
  }

  /// Remembers that another way goes on at `pc`.
  void keep(const Way& way, std::uint64_t pc, int cost) {
    if (!accept_ || seen_.contains({pc, way.sp()})) return;
    Way other = way;
    other.pc = pc;
    other.cost += cost;
    others_.push(std::move(other));
  }

  const FetchCode& fetch_;
  const std::uint64_t goal_;
  const AcceptRule& accept_;
  std::priority_queue<Way, std::vector<Way>, Dearer> others_;
  std::set<std::pair<std::uint64_t, Value>> seen_;  // where ways have led, and RSP there
};

}  // namespace

std::optional<FrameRule> rule_of_code(std::uint64_t pc, const FetchCode& fetch, int longest, const AcceptRule& accept) {
  return Follower(fetch, 0, accept).follow(pc, longest);
}

std::optional<FrameRule> rule_from_start(std::uint64_t start, std::uint64_t pc, const FetchCode& fetch, int& left,
                                         const AcceptRule& accept) {
  return Follower(fetch, pc, accept).follow(start, left);
}

std::optional<FrameRule> rule_of_signal_return(std::uint64_t pc, const FetchCode& fetch) {
  // mov rax, 15 (as long as it can be, and as short); syscall
  static constexpr std::array<std::uint8_t, 9> kLong{0x48, 0xC7, 0xC0, 0x0F, 0, 0, 0, 0x0F, 0x05};
  static constexpr std::array<std::uint8_t, 7> kShort{0xB8, 0x0F, 0, 0, 0, 0x0F, 0x05};
  std::array<std::byte, kLong.size()> bytes{};
  const std::size_t got = fetch(pc, bytes);
  const auto is = [&](const auto& pattern) {
    return got >= pattern.size() && std::memcmp(bytes.data(), pattern.data(), pattern.size()) == 0;
  };
  if (!is(kLong) && !is(kShort)) return std::nullopt;
  // struct ucontext: flags, link, stack (24 bytes), then struct sigcontext: r8 to r15, di, si, bp, bx, dx, ax, cx, sp,
  // ip source: Linux, arch/x86/include/uapi/asm/sigcontext.h, struct sigcontext_64
  constexpr std::int32_t kContext = 40;
  static constexpr std::array<std::uint8_t, arch::kDwarfRegisters> kOrder{8, 9, 10, 11, 12, 13, 14, 15, 5,
                                                                          4, 6, 3,  1,  0,  2,  7,  16};
  FrameRule rule;
  rule.frame_offset = kContext;
  rule.interrupts = rule.begins = true;
  for (std::size_t i = 0; i < kOrder.size(); ++i)
    rule.registers[kOrder[i]] = {Kind::AtFrame, static_cast<std::int32_t>(8 * i)};
  return rule;
}

}  // namespace zs::session
