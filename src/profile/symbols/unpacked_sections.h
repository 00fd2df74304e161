// Debug sections that zstd compressed (SHF_COMPRESSED, type 2; binutils 2.40 and lld 16 write them): libelf of Debian
// 12 knows only zlib. The file is copied into memory with those sections unpacked behind its end, where its section
// headers then point.
#pragma once

namespace zs::profile {

/// fd  of an ELF file; it is closed if another takes its place
/// returns the descriptor to read instead: `fd` itself where nothing is to be unpacked, or where it cannot be
int with_unpacked_sections(int fd);

}  // namespace zs::profile
