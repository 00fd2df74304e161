#include "machine/endless_loop.h"

#include <array>
#include <cstddef>
#include <span>

#include "machine/vcpu/vcpu.h"

namespace zs::machine {

EndlessLoop::EndlessLoop(const Vcpu& cpu) : met_(cpu.state()) {}

bool EndlessLoop::closed(const Vcpu& cpu) {
  ++steps_;
  bool same = cpu.rip() == met_.rip;
  for (unsigned n = 0; same && n < met_.gpr.size(); ++n) same = cpu.gpr(static_cast<Gpr>(n)) == met_.gpr[n];
  if (same && cpu.state() == met_) return true;
  if (steps_ == keep_) {  // source: Brent's way of finding cycles
    met_ = cpu.state();
    keep_ *= 2;
    steps_ = 0;
  }
  return false;
}

bool returns_to_halt(Vcpu& cpu) {
  constexpr unsigned kMostInstructions = 16, kHltBytes = 1;
  const std::uint64_t base = cpu.segment(kCs).base;
  const auto halt = static_cast<std::uint16_t>(cpu.rip() - kHltBytes);
  std::uint16_t ip = static_cast<std::uint16_t>(cpu.rip());
  for (unsigned n = 0; n < kMostInstructions; ++n) {
    std::array<std::uint8_t, 4> code{};
    if (!cpu.peek(base + ip, std::as_writable_bytes(std::span(code)))) return false;
    constexpr std::uint8_t kNop = 0x90, kSti = 0xFB, kHlt = 0xF4, kShortJump = 0xEB, kNearJump = 0xE9;
    if (code == std::array<std::uint8_t, 4>{}) return true;  // no code: where a program ends in padding
    switch (code[0]) {
      case kNop:
      case kSti: ++ip; break;
      case kHlt: return ip == halt;
      case kShortJump: ip = static_cast<std::uint16_t>(ip + 2 + static_cast<std::int8_t>(code[1])); break;
      case kNearJump: ip = static_cast<std::uint16_t>(ip + 3 + (code[1] | code[2] << 8)); break;
      default: return false;
    }
  }
  return true;  // a jump to itself
}

}  // namespace zs::machine
