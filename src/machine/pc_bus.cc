#include "machine/pc_bus.h"

#include "machine/devices/io_apic.h"
#include "machine/devices/local_apic.h"
#include "machine/memory.h"
#include "machine/port_map.h"
#include "machine/retirement_feed.h"
#include "machine/vcpu/vcpu.h"

namespace zs::machine {
namespace {

constexpr std::uint64_t kOffset = kPageBytes - 1;

/// The BIOS shows below 4 GiB too: there the processor begins after RESET and INIT.
constexpr std::uint64_t kRomAlias = 0xFFFF0000;
constexpr std::uint64_t kTestMemory = 0xFF000000;

bool in_io_apic(std::uint64_t physical) { return (physical & ~kOffset) == IoApic::kBase; }

}  // namespace

bool PcBus::in_local_apic(std::uint64_t physical) const {
  const auto window = local_apic_.window();
  return window && (physical & ~kOffset) == *window;
}

Bus::Page PcBus::page(std::uint64_t physical) {
  physical &= a20_mask_;
  if (physical >= kRomAlias && physical < kRomAlias + kBiosBytes)
    return {memory_.page(physical - kRomAlias + kBios), false};
  if (in_local_apic(physical)) return {};
  if (physical >= kTestMemory && physical < kTestMemory + test_memory_.size())
    return {test_memory_.data() + (physical - kTestMemory), true};
  return {memory_.page(physical), memory_.kind(physical) == PhysicalMemory::Kind::Ram};
}

std::uint64_t PcBus::read(std::uint64_t physical, unsigned bytes) {
  ++device_accesses_;
  physical &= a20_mask_;
  const bool local = in_local_apic(physical);
  if (!local && !in_io_apic(physical)) return ~std::uint64_t{0} >> (64 - 8 * bytes);
  // Registers have 32 bits at multiples of 16; a wider read finds nothing behind them, a narrower one takes its part.
  const auto offset = static_cast<std::uint32_t>(physical & kOffset);
  const std::uint32_t whole = offset & ~3u;
  const std::uint64_t value = local ? local_apic_.read(whole) : io_apic_.read(whole);
  return value >> 8 * (offset & 3) & (~std::uint64_t{0} >> (64 - 8 * bytes));
}

void PcBus::write(std::uint64_t physical, unsigned bytes, std::uint64_t value) {
  ++device_accesses_;
  polls_.device_used();
  physical &= a20_mask_;
  const auto offset = static_cast<std::uint32_t>(physical & kOffset);
  if (in_local_apic(physical)) {
    if (bytes < 4) return;  // partial writes of its registers are undefined: nothing happens
    local_apic_.write(offset, static_cast<std::uint32_t>(value));
  } else if (in_io_apic(physical)) {
    // Software selects registers by bytes: a narrow write leaves the other bytes of the register as they are.
    const std::uint32_t whole = offset & ~3u, shift = 8 * (offset & 3);
    const std::uint64_t mask = bytes < 4 ? ((std::uint64_t{1} << 8 * bytes) - 1) << shift : 0xFFFFFFFF;
    io_apic_.write(whole, static_cast<std::uint32_t>((io_apic_.read(whole) & ~mask) | (value << shift & mask)));
  }
  cpu_->watch_changed();
}

/// Time passes before the device is asked, so it answers, and timers interrupt, as of then.
void PcBus::use_port() {
  ++device_accesses_;
  feed_->stall(kPortTicks);
  cpu_->watch_changed();
}

std::uint32_t PcBus::in(std::uint16_t port, unsigned bytes) {
  use_port();
  const std::uint32_t value = ports_.in(port, bytes);
  if (polls_.read(port, value)) endless_poll_(port);
  return value;
}

void PcBus::out(std::uint16_t port, unsigned bytes, std::uint32_t value) {
  use_port();
  polls_.written(port);
  ports_.out(port, bytes, value);
}

}  // namespace zs::machine
