// Starts an ELF kernel by the PVH convention: a note names the entry of 32-bit code, which finds command line, memory
// map and modules by EBX. Linux built with CONFIG_PVH has it (vmlinux), as other kernels that Xen and QEMU boot.
// source: Xen, docs/misc/pvh.pandoc; public/arch-x86/hvm/start_info.h; public/elfnote.h, XEN_ELFNOTE_PHYS32_ENTRY.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "machine/boot/multiboot2.h"

namespace zs::machine {

/// The entry's physical address; nothing if the file is no ELF64 that has one.
std::optional<std::uint32_t> pvh_entry(Bytes file);

/// What EBX leads to, made to lie at `address`.
std::vector<std::byte> pvh_info(std::uint64_t address, const std::string& command_line,
                                const std::vector<MapRange>& map, const std::vector<LoadedModule>& modules);

}  // namespace zs::machine
