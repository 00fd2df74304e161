#include "machine/boot/hand_over.h"

#include <span>

#include "machine/boot/bios_data_area.h"
#include "machine/memory.h"

namespace zs::machine {
namespace {

constexpr std::uint64_t kExtensionType = 0x10, kProtection = 1;  // of CR0

/// What the firmware did by then: caches on, FNINIT, the real-mode vector table.
CpuState after_firmware() {
  CpuState state = CpuState::after_reset();
  state.gpr.fill(0);
  state.cr0 = kExtensionType;
  state.x87 = X87{};
  state.idtr = {.base = 0, .limit = 0x3FF};
  return state;
}

}  // namespace

CpuState hand_over_to_disk(const DiskImage& disk) {
  constexpr std::uint64_t kStack = 0x7C00;
  CpuState state = after_firmware();
  for (Segment& segment : std::span(state.segments).first<kLdtr>()) {
    segment.selector = 0;
    segment.base = 0;
  }
  state.segments[kCs].selector = disk.boot_code().segment;
  state.segments[kCs].base = std::uint64_t{disk.boot_code().segment} << 4;
  state.rip = disk.boot_code().offset;
  state.gpr[kRdx] = disk.drive();
  state.gpr[kRsp] = kStack;
  state.rflags = 0x202;
  return state;
}

CpuState hand_over_to_kernel(const LoadedKernel& kernel) {
  constexpr std::uint16_t kFlatData = 0xC093, kFlatCode = 0xC09B;  // G, D/B, present, S, read/write or execute/read
  CpuState state = after_firmware();
  for (Segment& segment : std::span(state.segments).first<kLdtr>()) {
    segment = {.selector = 0x10, .attributes = kFlatData, .limit = 0xFFFFFFFF, .base = 0};
  }
  state.segments[kCs] = {.selector = 0x08, .attributes = kFlatCode, .limit = 0xFFFFFFFF, .base = 0};
  // The specification lets GDTR be anything; first kernels load segments and take interrupts by what the loaders left.
  state.gdtr = {.base = kBios + kFlatGdt, .limit = kFlatGdtBytes - 1};
  state.cr0 |= kProtection;
  state.rip = kernel.entry;
  state.gpr[kRax] = kernel.magic;
  state.gpr[kRbx] = kernel.info;
  if (kernel.parameters != 0) {
    // Linux names its segments 10H and 18H: the same descriptors, seen from eight bytes before.
    state.gpr[kRsi] = kernel.parameters;
    state.gdtr.base -= 8;
    state.gdtr.limit += 8;
    for (Segment& segment : std::span(state.segments).first<kLdtr>()) segment.selector += 8;
  }
  state.rflags = 2;
  return state;
}

}  // namespace zs::machine
