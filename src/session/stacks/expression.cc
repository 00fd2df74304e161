#include "session/stacks/expression.h"

#include <dwarf.h>

#include <array>

#include "base/dwarf_numbers.h"

namespace zs::session {
namespace {

constexpr std::size_t kDeepest = 32;
constexpr int kMostSteps = 1000;  // of an expression that branches back

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
    if (operation >= DW_OP_lit0 && operation <= DW_OP_lit31) {
      push(operation - DW_OP_lit0);
      return true;
    }
    if (operation >= DW_OP_breg0 && operation <= DW_OP_breg31) return push_register(operation - DW_OP_breg0);
    switch (operation) {
      case DW_OP_addr:
      case DW_OP_const8u:
      case DW_OP_const8s: return push_read<std::uint64_t>();
      case DW_OP_const1u: return push_read<std::uint8_t>();
      case DW_OP_const1s: return push_read<std::int8_t>();
      case DW_OP_const2u: return push_read<std::uint16_t>();
      case DW_OP_const2s: return push_read<std::int16_t>();
      case DW_OP_const4u: return push_read<std::uint32_t>();
      case DW_OP_const4s: return push_read<std::int32_t>();
      case DW_OP_constu: push(read_uleb(in_)); return true;
      case DW_OP_consts: push(static_cast<std::uint64_t>(read_sleb(in_))); return true;
      case DW_OP_bregx: return push_register(read_uleb(in_));
      default: return false;
    }
  }

  bool of_stack(std::uint8_t operation) {
    switch (operation) {
      case DW_OP_dup: push(peek(0)); return true;
      case DW_OP_drop: pop(); return true;
      case DW_OP_over: push(peek(1)); return true;
      case DW_OP_pick: push(peek(in_.read<std::uint8_t>())); return true;
      case DW_OP_swap: rotate(2); return true;
      case DW_OP_rot: rotate(3); return true;
      case DW_OP_deref: return dereference(8);
      case DW_OP_deref_size: return dereference(in_.read<std::uint8_t>());
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
      case DW_OP_plus_uconst: push(pop() + read_uleb(in_)); return true;
      case DW_OP_neg: push(0 - pop()); return true;
      case DW_OP_not: push(~pop()); return true;
      case DW_OP_abs: {
        const std::uint64_t value = pop();
        push(static_cast<std::int64_t>(value) < 0 ? 0 - value : value);
        return true;
      }
      default: break;
    }
    if (operation < DW_OP_and || operation > DW_OP_ne || operation == DW_OP_bra) return false;
    const std::uint64_t b = pop();
    const std::uint64_t a = pop();
    return binary(operation, a, b);
  }

  bool binary(std::uint8_t operation, std::uint64_t a, std::uint64_t b) {
    const auto x = static_cast<std::int64_t>(a), y = static_cast<std::int64_t>(b);
    switch (operation) {
      case DW_OP_and: push(a & b); return true;
      case DW_OP_or: push(a | b); return true;
      case DW_OP_xor: push(a ^ b); return true;
      case DW_OP_plus: push(a + b); return true;
      case DW_OP_minus: push(a - b); return true;
      case DW_OP_mul: push(a * b); return true;
      case DW_OP_div:
        if (y == 0 || y == -1) return false;
        push(static_cast<std::uint64_t>(x / y));
        return true;
      case DW_OP_mod:
        if (b == 0) return false;
        push(a % b);
        return true;
      case DW_OP_shl: push(b < 64 ? a << b : 0); return true;
      case DW_OP_shr: push(b < 64 ? a >> b : 0); return true;
      case DW_OP_shra: push(static_cast<std::uint64_t>(x >> (b < 64 ? b : 63))); return true;
      case DW_OP_eq: push(x == y ? 1 : 0); return true;
      case DW_OP_ne: push(x != y ? 1 : 0); return true;
      case DW_OP_ge: push(x >= y ? 1 : 0); return true;
      case DW_OP_gt: push(x > y ? 1 : 0); return true;
      case DW_OP_le: push(x <= y ? 1 : 0); return true;
      case DW_OP_lt: push(x < y ? 1 : 0); return true;
      default: return false;
    }
  }

  bool flow(std::uint8_t operation) {
    if (operation == DW_OP_nop) return true;
    if (operation != DW_OP_skip && operation != DW_OP_bra) return false;
    const auto distance = std::int64_t{in_.read<std::int16_t>()};
    if (operation == DW_OP_bra && pop() == 0) return true;
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
