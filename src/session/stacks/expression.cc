#include "session/stacks/expression.h"

#include <array>

#include "base/dwarf_numbers.h"

namespace zs::session {
namespace {

constexpr std::size_t kDeepest = 32;
constexpr int kMostSteps = 1000;  // of an expression that branches back

enum : std::uint8_t {
  kAddress = 0x03,
  kDereference = 0x06,
  kConst1u = 0x08,
  kConst1s,
  kConst2u,
  kConst2s,
  kConst4u,
  kConst4s,
  kConst8u,
  kConst8s,
  kConstu,
  kConsts,
  kDuplicate,
  kDrop,
  kOver,
  kPick,
  kSwap,
  kRotate,
  kAbsolute = 0x19,
  kAnd,
  kDivide,
  kMinus,
  kModulo,
  kTimes,
  kNegate,
  kNot,
  kOr,
  kPlus,
  kPlusConstant,
  kShiftLeft,
  kShiftRight,
  kShiftRightArithmetic,
  kXor,
  kBranchIf,
  kEqual,
  kGreaterOrEqual,
  kGreater,
  kLessOrEqual,
  kLess,
  kNotEqual,
  kSkip = 0x2F,
  kLiteral0 = 0x30,
  kLiteral31 = 0x4F,
  kBaseRegister0 = 0x70,
  kBaseRegister31 = 0x8F,
  kBaseRegisterExtended = 0x92,
  kDereferenceSize = 0x94,
  kNop = 0x96,
};

class Evaluator {
 public:
  Evaluator(Bytes expression, const arch::DwarfRegisters& registers, WordSource& memory)
      : in_(expression), length_(expression.size()), registers_(registers), memory_(memory) {}

  void push(std::uint64_t value) {
    if (depth_ == kDeepest)
      failed_ = true;
    else
      stack_[depth_++] = value;
  }

  std::optional<std::uint64_t> run() {
    for (int steps = 0; in_.ok() && !failed_ && in_.remaining() != 0; ++steps) {
      if (steps == kMostSteps) return std::nullopt;
      const auto operation = in_.read<std::uint8_t>();
      if (!constant(operation) && !of_stack(operation) && !arithmetic(operation) && !flow(operation))
        return std::nullopt;
    }
    if (!in_.ok() || failed_ || depth_ == 0) return std::nullopt;
    return stack_[depth_ - 1];
  }

 private:
  std::uint64_t pop() {
    if (depth_ == 0) {
      failed_ = true;
      return 0;
    }
    return stack_[--depth_];
  }
  std::uint64_t peek(std::uint64_t below) {
    if (below >= depth_) {
      failed_ = true;
      return 0;
    }
    return stack_[depth_ - 1 - below];
  }

  template <typename T>
  bool push_read() {
    push(static_cast<std::uint64_t>(static_cast<std::int64_t>(in_.read<T>())));
    return true;
  }

  bool push_register(std::uint64_t reg) {
    const auto offset = static_cast<std::uint64_t>(read_sleb(in_));
    if (reg >= registers_.size()) return false;
    push(registers_[reg] + offset);
    return true;
  }

  bool constant(std::uint8_t operation) {
    if (operation >= kLiteral0 && operation <= kLiteral31) {
      push(operation - kLiteral0);
      return true;
    }
    if (operation >= kBaseRegister0 && operation <= kBaseRegister31) return push_register(operation - kBaseRegister0);
    switch (operation) {
      case kAddress:
      case kConst8u:
      case kConst8s: return push_read<std::uint64_t>();
      case kConst1u: return push_read<std::uint8_t>();
      case kConst1s: return push_read<std::int8_t>();
      case kConst2u: return push_read<std::uint16_t>();
      case kConst2s: return push_read<std::int16_t>();
      case kConst4u: return push_read<std::uint32_t>();
      case kConst4s: return push_read<std::int32_t>();
      case kConstu: push(read_uleb(in_)); return true;
      case kConsts: push(static_cast<std::uint64_t>(read_sleb(in_))); return true;
      case kBaseRegisterExtended: return push_register(read_uleb(in_));
      default: return false;
    }
  }

  bool of_stack(std::uint8_t operation) {
    switch (operation) {
      case kDuplicate: push(peek(0)); return true;
      case kDrop: pop(); return true;
      case kOver: push(peek(1)); return true;
      case kPick: push(peek(in_.read<std::uint8_t>())); return true;
      case kSwap: rotate(2); return true;
      case kRotate: rotate(3); return true;
      case kDereference: return dereference(8);
      case kDereferenceSize: return dereference(in_.read<std::uint8_t>());
      default: return false;
    }
  }

  /// The top goes below the `count` - 1 behind it.
  void rotate(std::size_t count) {
    if (depth_ < count) {
      failed_ = true;
      return;
    }
    const std::uint64_t top = stack_[depth_ - 1];
    for (std::size_t i = 1; i < count; ++i) stack_[depth_ - i] = stack_[depth_ - i - 1];
    stack_[depth_ - count] = top;
  }

  bool dereference(unsigned bytes) {
    const auto word = memory_.word(pop());
    if (!word || bytes == 0 || bytes > 8) return false;
    push(bytes == 8 ? *word : *word & ((std::uint64_t{1} << 8 * bytes) - 1));
    return true;
  }

  bool arithmetic(std::uint8_t operation) {
    switch (operation) {
      case kPlusConstant: push(pop() + read_uleb(in_)); return true;
      case kNegate: push(0 - pop()); return true;
      case kNot: push(~pop()); return true;
      case kAbsolute: {
        const std::uint64_t value = pop();
        push(static_cast<std::int64_t>(value) < 0 ? 0 - value : value);
        return true;
      }
      default: break;
    }
    if (operation < kAnd || operation > kNotEqual || operation == kBranchIf) return false;
    const std::uint64_t b = pop();
    const std::uint64_t a = pop();
    return binary(operation, a, b);
  }

  bool binary(std::uint8_t operation, std::uint64_t a, std::uint64_t b) {
    const auto x = static_cast<std::int64_t>(a), y = static_cast<std::int64_t>(b);
    switch (operation) {
      case kAnd: push(a & b); return true;
      case kOr: push(a | b); return true;
      case kXor: push(a ^ b); return true;
      case kPlus: push(a + b); return true;
      case kMinus: push(a - b); return true;
      case kTimes: push(a * b); return true;
      case kDivide:
        if (y == 0 || y == -1) return false;
        push(static_cast<std::uint64_t>(x / y));
        return true;
      case kModulo:
        if (b == 0) return false;
        push(a % b);
        return true;
      case kShiftLeft: push(b < 64 ? a << b : 0); return true;
      case kShiftRight: push(b < 64 ? a >> b : 0); return true;
      case kShiftRightArithmetic: push(static_cast<std::uint64_t>(x >> (b < 64 ? b : 63))); return true;
      case kEqual: push(x == y ? 1 : 0); return true;
      case kNotEqual: push(x != y ? 1 : 0); return true;
      case kGreaterOrEqual: push(x >= y ? 1 : 0); return true;
      case kGreater: push(x > y ? 1 : 0); return true;
      case kLessOrEqual: push(x <= y ? 1 : 0); return true;
      case kLess: push(x < y ? 1 : 0); return true;
      default: return false;
    }
  }

  bool flow(std::uint8_t operation) {
    if (operation == kNop) return true;
    if (operation != kSkip && operation != kBranchIf) return false;
    const auto distance = std::int64_t{in_.read<std::int16_t>()};
    if (operation == kBranchIf && pop() == 0) return true;
    const std::int64_t target = static_cast<std::int64_t>(in_.offset()) + distance;
    if (target < 0 || static_cast<std::uint64_t>(target) > length_) return false;
    in_.seek(static_cast<std::uint64_t>(target));
    return true;
  }

  ByteReader in_;
  const std::size_t length_;
  const arch::DwarfRegisters& registers_;
  WordSource& memory_;
  std::array<std::uint64_t, kDeepest> stack_{};
  std::size_t depth_ = 0;
  bool failed_ = false;
};

}  // namespace

std::optional<std::uint64_t> evaluate(Bytes expression, const arch::DwarfRegisters& registers, WordSource& memory,
                                      std::optional<std::uint64_t> on_stack) {
  Evaluator evaluator(expression, registers, memory);
  if (on_stack) evaluator.push(*on_stack);
  return evaluator.run();
}

}  // namespace zs::session
