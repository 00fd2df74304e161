// Any bytes as code in any mode, with any registers, page tables and descriptor tables: no crash, no access outside
// guest memory (the sanitizers watch the buffers), no hang beyond the limit, and counts that agree with each other.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "machine/vcpu/test_machine.h"

namespace {

constexpr std::uint64_t kRam = 0x18000;

using namespace zs::machine;

/// One machine for all inputs: what one leaves behind is a start for the next, as reset() must not care. Its memory
/// starts as one of three images: vectors, 32-bit or 64-bit tables, with handlers that halt or return.
struct Fuzzed {
  TestMachine m{kRam};
  std::vector<std::byte> images[3];
  std::byte* ram = m.at(0);

  Fuzzed() {
    for (unsigned kind = 0; kind < 3; ++kind) {
      std::memset(ram, 0, kRam);
      if (kind == 1) m.protected_state(0);
      if (kind == 2) m.long_state(0);
      for (unsigned v = 0; v < 32; ++v) {
        const std::uint32_t handler = 0x3000 + 16 * v;
        if (kind == 0) m.write<std::uint32_t>(4 * v, handler);
        if (kind == 1) m.gate32(v, 8, handler);
        if (kind == 2) m.gate64(v, 0x18, handler);
        *m.at(handler) = std::byte{static_cast<std::uint8_t>(v % 2 != 0 ? 0xCF : 0xF4)};
      }
      images[kind].assign(ram, ram + kRam);
    }
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 24) return 0;
  static Fuzzed fuzzed;
  TestMachine& m = fuzzed.m;
  m.observer.each.clear();
  m.observer.branches.clear();
  m.bus.device_reads.clear();
  m.bus.device_writes.clear();
  m.bus.ports.clear();
  m.observer.keep = false;
  m.cpu->reset();

  const unsigned mode = data[0] % 6, level = (data[0] & 0x80) != 0 ? 3 : 0;
  CpuState s;
  if (mode == 0) {
    s = CpuState::after_reset();
    s.segments[kCs] = {.selector = 0, .attributes = 0x93, .limit = 0xFFFF, .base = 0};
    s.rip = TestMachine::kCode;
    s.gpr[kRsp] = TestMachine::kStack;
  } else {
    s = mode >= 3 ? m.long_registers(level) : m.protected_registers(level);
    if (mode == 2) s.segments[kCs].attributes &= 0xBFFF;
    if (mode == 4)
      s.segments[kCs] = TestMachine::flat(static_cast<std::uint16_t>(level == 0 ? 8 : 0x2B), 0xC09B | level << 5);
  }
  for (unsigned n = 0; n < 16; ++n) s.gpr[n] = n == kRsp ? s.gpr[n] : data[4 + n] * 0x101u;
  s.rflags = 2 | (data[1] << 4 & 0xFD0u) | (data[2] & 0x40 ? 0x40000u : 0);
  m.observer.wanted = {.retirements = static_cast<Watch::Retirements>(data[2] % 3),
                       .branches = (data[2] & 4) != 0,
                       .horizon = 1u + data[3]};
  const unsigned image = mode == 0 ? 0 : mode >= 3 ? 2 : 1;
  std::memcpy(fuzzed.ram, fuzzed.images[image].data(), kRam);
  // The rest is code, then whatever tables it is long enough to reach.
  const std::size_t code = std::min<std::size_t>(size - 20, 0x3000);
  for (std::size_t n = 0; n < code; ++n) fuzzed.ram[TestMachine::kCode + n] = static_cast<std::byte>(data[20 + n]);
  m.cpu->memory_written(0, kRam);
  m.cpu->set_state(s);
  if ((data[3] & 1) != 0) m.cpu->request_nmi();
  if ((data[3] & 2) != 0) m.cpu->set_interrupt_line(true);
  if ((data[3] & 4) != 0) m.cpu->request_smi();

  constexpr std::uint64_t kLimit = 100;
  const std::uint64_t before = m.cpu->retired(), counted = m.observer.count;
  for (unsigned again = 0; again < 4; ++again) {
    const Stop stop = m.cpu->run(kLimit);
    if (stop.kind == StopKind::Limit || stop.kind == StopKind::TripleFault || stop.kind == StopKind::Unsupported) break;
  }
  CHECK(m.cpu->retired() - before <= 4 * kLimit, m.cpu->retired(), before);
  CHECK(m.observer.count - counted == m.cpu->retired() - before, m.observer.count - counted, m.cpu->retired() - before);
  m.cpu->set_interrupt_line(false);
  return 0;
}
