// Loads a bzImage as the Linux boot protocol says (2.04 and later), without its 16-bit part: the kernel starts in flat
// 32-bit protected mode at its 32-bit entry, ESI at the boot parameters: command line, memory map, initial RAM disk.
// source: Linux, Documentation/arch/x86/boot.rst, "Details of Header Fields", "32-bit Boot Protocol"; zero-page.rst.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "machine/boot/multiboot.h"

namespace zs::machine {

bool is_linux_kernel(Bytes file);

/// The packed vmlinux that a bzImage holds, which ends with the length of what is packed (4 bytes).
/// returns  empty if the file does not say where it is
Bytes linux_payload(Bytes file);

/// The first module is the initial RAM disk; more are refused.
/// returns  an error that names the place, if the file is cut short or too old, or has no room
Result<LoadedKernel> load_linux(const MultibootInput& input, PhysicalMemory& memory);

}  // namespace zs::machine
