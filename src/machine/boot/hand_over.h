// The processor's state where the firmware hands over to what it booted. What is not told here is as after RESET
// (CpuState::after_reset); what devices and memory hold, Bios::install leaves. hand_over_test.cc has all of it as a
// table.
#pragma once

#include <cstdint>

#include "machine/boot/disk_image.h"
#include "machine/boot/multiboot.h"
#include "machine/vcpu/cpu_state.h"

namespace zs::machine {

/// In real mode at the boot code, interrupts on, DL the drive.
CpuState hand_over_to_disk(const DiskImage& disk);

/// As Multiboot wants it: flat 32-bit segments, no paging, interrupts off.
CpuState hand_over_to_kernel(const LoadedKernel& kernel);

}  // namespace zs::machine
